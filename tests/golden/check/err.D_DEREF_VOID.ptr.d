BEGIN { p = alloca(8); trace(*p); trace(p[1]); }
