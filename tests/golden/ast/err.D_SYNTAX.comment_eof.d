BEGIN { trace(1); }
/* not closed
