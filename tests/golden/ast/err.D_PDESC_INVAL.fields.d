a:b:c:d:e { }
BEGIN { trace(; }
