BEGIN { trace(a``b); trace(``c); }
