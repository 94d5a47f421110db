BEGIN { trace(strlen()); trace(substr("a")); trace(index("a", "b", 1, 2)); trace(1, 2); @a = count(1); exit(); }
