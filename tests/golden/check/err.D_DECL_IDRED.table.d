/* two columns with one key @@opts: helper errtags */
table T { uint64_t key = 1, 2, 1; uint8_t a = 255, 1, 2; };
dtrace:helper:ustack: { this->a = T[arg0]; this->b = a; }
