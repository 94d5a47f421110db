BEGIN { trace(a.out``main); exit(0); }
