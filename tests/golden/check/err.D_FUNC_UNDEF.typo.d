BEGIN { trace(strlne("a")); quantise(1); @x = cuont(); }
