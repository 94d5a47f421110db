BEGIN { stack(16384); stack(16385); stack(1 << 40); }
