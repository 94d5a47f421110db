io:::start { trace(args[1].major); }
struct buf { int size; };
translator struct buf < struct in *i > { size = 1; };
io:::start { trace(args[0]->size); }
io:::start { trace(args[3]); }
