fbt:::entry { trace(args[1]); }
