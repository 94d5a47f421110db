/* A type that is not known is reported once, and what is declared with it is known. */
typedef struct foo { int a; nosuch_t b; nosuch_t c; other_t *d; } foo_t;
BEGIN { trace(((foo_t *)0)->a); trace((nosuch_t)1); }
