syscall::r*: { trace(args[0]); }
