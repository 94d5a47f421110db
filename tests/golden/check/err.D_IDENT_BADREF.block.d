/* a block without parentheses @@opts: helper errtags */
inline void f(int a) { this->x = a; }
dtrace:helper:ustack: { f; }
