/* What only has a name cannot be shown (d-language.md 6.5). */

struct unknown *p;
BEGIN { print(p); }
