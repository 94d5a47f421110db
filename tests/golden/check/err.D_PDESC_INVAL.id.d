99 { trace(1); }
