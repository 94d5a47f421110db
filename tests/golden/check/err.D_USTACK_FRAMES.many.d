BEGIN { ustack(16384); ustack(16385); ustack(1 << 40); }
