/* a value that the row has no room for @@opts: helper errtags */
table T { uint64_t key = 1, 2; uint8_t a = 255, 256; };
dtrace:helper:ustack: { this->a = T[arg0]; this->b = a; }
