BEGIN { @a = 1; @b = strlen("a"); @c = trace(1); @d += count(); x = @e = count(); }
