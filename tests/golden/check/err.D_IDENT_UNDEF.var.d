BEGIN { trace(foo); }
