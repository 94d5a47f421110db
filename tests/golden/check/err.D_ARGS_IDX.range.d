syscall::read:entry { trace(args[3]); }
BEGIN { trace(args[0]); }
