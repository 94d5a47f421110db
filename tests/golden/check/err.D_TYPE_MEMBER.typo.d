struct s { int alpha, beta; };
struct s *p;
BEGIN { trace(p->alhpa); }
