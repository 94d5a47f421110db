nowhere:::x, dtrace:::BEGN, BEGIN { trace(args[0]); }
