BEGIN { p = alloca(8); trace(p + 1); p++; }
