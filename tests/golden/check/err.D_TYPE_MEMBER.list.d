/* Nothing near: the members are listed, those of anonymous parts too. */
struct price { int alpha; int beta; union { int gamma; struct { int delta; }; }; };
typedef struct price price_t;
translator price_t < int i > { alpha = i; };
BEGIN { trace(((struct price *)0)->amount); trace(((price_t *)0)->detla); trace(xlate <price_t> (1).amount); }
BEGIN { trace(offsetof(price_t, size)); }
