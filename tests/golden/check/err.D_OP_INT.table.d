/* values of a table are constants, and its types are those of its words @@opts: helper errtags */
table T { uint64_t key = 1, 2; uint8_t a = 3, pid; };
table U { uint8_t small = 1; };
table V { uint64_t number = 1; int c = 2; };
table W { uint64_t other = 1; string s = 2; };
dtrace:helper:ustack: { this->a = T[arg0]; this->b = a; }
