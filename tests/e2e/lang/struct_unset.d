/* Parts of a struct in an element that is not there: reading faults, writing makes it. */
#pragma D option quiet
struct p { int x; int y; }; struct p a[int]; self struct p s;
BEGIN { a[2].y = 3; self->s.x = 4; printf("%d %d %d %d\n", a[2].x, a[2].y, self->s.x, self->s.y); }
BEGIN { printf("%d\n", a[1].x); }
BEGIN { a[2] = 0; printf("%d\n", a[2].y); }
BEGIN { exit(0); }
ERROR { printf("fault %d at %d\n", arg4 == DTRACEFLT_BADADDR, arg5); }
