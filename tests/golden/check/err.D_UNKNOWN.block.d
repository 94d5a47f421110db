/* a block that uses itself @@opts: helper errtags */
inline void f() { g(); }
inline void g() { f(); }
dtrace:helper:ustack: { f(); }
