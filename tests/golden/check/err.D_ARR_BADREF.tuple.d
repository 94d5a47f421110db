int *p;
BEGIN { trace(p[1, 2]); }
