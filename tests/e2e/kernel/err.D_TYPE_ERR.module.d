BEGIN { trace((struct nosuch`file *)NULL); exit(0); }
