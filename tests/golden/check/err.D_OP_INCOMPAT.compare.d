BEGIN { trace(curthread == 3); trace(execname == 1); }
