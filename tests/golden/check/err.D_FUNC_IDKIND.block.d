/* a block has no value @@opts: helper errtags */
inline void f() { this->x = 1; }
dtrace:helper:ustack: { this->y = f(); }
