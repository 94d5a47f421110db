/* Floating-point types describe data; there is no arithmetic on them (d-language.md 3.1) */
struct s { float a; double b; long double c; };
struct s v;
BEGIN { trace(v.c); trace(v.a + 1); trace(-v.b); trace(v.a < v.b); v.b += 1; }
