struct part { int p; };
struct out { struct part a; int *b; char c[4]; struct part *d; };
translator struct part < int i > { p = i; };
translator struct out < int i > { a = i; b = "x"; c = 1; d = xlate<struct part>(i); };
