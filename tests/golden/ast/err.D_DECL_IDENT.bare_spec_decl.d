foo_t x;
BEGIN { trace(; }
