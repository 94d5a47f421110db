BEGIN { trace(((struct no_such_tag *)NULL)->x); exit(0); }
