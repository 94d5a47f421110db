BEGIN { if (pid) { speculate(1); trace(1); } trace(2); }
