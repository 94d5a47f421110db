/* New names have no scope: types, tags, variables, enumerators. */
struct a`b { int x; };
typedef int c`d;
enum e { f`g };
int h`i;
