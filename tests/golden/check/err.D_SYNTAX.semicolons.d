/* A ';' that is missing behind a '}' is said where it belongs, once each; all that follows is understood. */
struct a { int x; struct { int y; } struct b *z; int w; }
typedef struct a a_t;
union u { int x; }
a_t var;
enum e { E1, E2 }
self int k;
struct c { int x; }
BEGIN { trace(((a_t *)0)->x); }
struct d { int x; } dvar;
struct g { int x; } const gvar;
struct f { int x; }
inline int five = 5;
BEGIN { trace(five); }
struct z { int x; }
