BEGIN { speculate(1); if (pid) { exit(0); } }
