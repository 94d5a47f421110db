/* What is wrong with the use of an inline or a translated member is wrong there, not where it was defined. */
struct in { int x; };
struct part { int y; };
struct out { int a; struct part p; };
translator struct part < struct in *I > { y = I->x; };
translator struct out < struct in *I > { a = I->x; p = xlate <struct part> (I); };
inline struct out *o = xlate <struct out *> ((struct in *)0);
BEGIN { trace(o[0]); }
BEGIN { x = o; y = o->p; }
BEGIN { trace(o->p); }
