BEGIN { printf(execname); system(1); }
