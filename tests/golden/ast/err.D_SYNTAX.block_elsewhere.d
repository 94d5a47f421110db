/* blocks are for helpers */
inline void f() { trace(1); }
BEGIN { f(); }
