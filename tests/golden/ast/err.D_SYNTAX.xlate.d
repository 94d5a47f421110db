BEGIN { xlate <int> x; xlate int (x); xlate <nosuch_t> (x); offsetof(int); offsetof(int, a.b); }
