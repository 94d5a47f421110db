/* a block has no value @@opts: helper */
inline int f() { 1; }
dtrace:helper:ustack: { f(); }
