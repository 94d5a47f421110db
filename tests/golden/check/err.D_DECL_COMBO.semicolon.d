/* The ';' behind '}' is missing: that is the message, and struct bar is known afterwards. */
struct foo { int a; char b; }
struct bar { struct foo f; int c; };
BEGIN { this->p = (struct bar *)0; trace(this->p->c); }
