syscall::raed:entry { trace(1); }
BEGIN, nothing:::here { trace(2); }
