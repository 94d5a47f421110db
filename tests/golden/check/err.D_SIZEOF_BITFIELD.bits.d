struct s { int a:3; };
struct s *p;
BEGIN { trace(sizeof(p->a)); }
