BEGIN { ustack(5, 1 << 40); }
