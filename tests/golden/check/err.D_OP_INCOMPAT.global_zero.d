/* only array elements and thread-locals are freed by 0; pointers and strings have a NULL */
struct s { int i; };
struct s g;
BEGIN { g = 0; }
