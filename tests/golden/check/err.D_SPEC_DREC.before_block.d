BEGIN { trace(2); if (pid) { speculate(1); trace(1); } }
