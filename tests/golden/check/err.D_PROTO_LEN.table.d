/* a row with too few values @@opts: helper errtags */
table T { uint64_t key = 1, 2; uint8_t a = 255; };
dtrace:helper:ustack: { this->a = T[arg0]; this->b = a; }
