BEGIN { trace(!execname); }
