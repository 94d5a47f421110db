struct s { int a[4]; };
struct s *p;
BEGIN { trace(p->a[3] + p->a[4]); }
