BEGIN { trace(curthread->nosuch); exit(0); }
