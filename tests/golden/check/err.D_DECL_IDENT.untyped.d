foo_t x;
self foo_t y;
struct s { foo_t z; };
