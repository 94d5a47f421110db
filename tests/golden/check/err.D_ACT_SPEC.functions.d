BEGIN { speculate(1); copyoutstr("a", 1, 2); }
BEGIN { speculate(1); x = (copyout(alloca(4), 1, 4), 1); }
BEGIN { if (pid) speculate(1); copyout(alloca(4), 1, 4); }
BEGIN { speculate(1); if (pid) { printf("%d", (copyout(alloca(4), 1, 4), 2)); } }
BEGIN { copyout(alloca(4), 1, 4); speculate(1); trace(1); }
