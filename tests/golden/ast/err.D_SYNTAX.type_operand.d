BEGIN { trace(int64_t); }
