/* An unknown type in a cast is said to be one, once; a structure's tag lacks a word. */
struct shop { int x; };
BEGIN { trace((foo_t *)arg0 + (foo_t)1); trace((foo_t)x); }
BEGIN { trace((shop *)arg0); trace((unit32_t)"1"); }
