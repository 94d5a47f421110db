BEGIN { trace(1 / 0); x = 1; x %= 2 - 2; }
