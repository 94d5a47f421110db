struct out { int a, b; };
translator struct out < int i > { a = i; };
BEGIN { this->x = xlate<struct out *>(1); trace(this->x->a); trace(this->x->b); trace(this->x->c); trace(this->x.a); }
