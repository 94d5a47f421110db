/* Which action faulted: keys, values and printf arguments count. */
#pragma D option quiet
int x[int, int]; int y; struct s { int a; }; struct s *p;
BEGIN { y = 0; x[1, 1] = 4; }
BEGIN /x[1, 1] / y/ { trace(1); }
BEGIN { printf("%d %d\n", 1, 1 % y); }
BEGIN { @[1, 2 / y] = count(); }
BEGIN { @z = sum(1); @b[1] = sum(3 / y); }
BEGIN { z[5 / y] = 1; }
BEGIN { tracemem(0x8, 16); }
BEGIN { trace(stringof(0x8)); }
BEGIN { trace(copyinstr(0)); }
BEGIN { trace("ok"); trace(strlen((char *)7)); }
BEGIN { if (1 / y) { trace(1); } trace(2); }
BEGIN { trace(p->a); }
BEGIN { trace(copyin(0, 8)); }
BEGIN { trace(y ? 1 : 2 / y); }
BEGIN { printf("fine %d\n", y && 1 / y); }
BEGIN { trace(alloca(arg0 + 100000000)); }
BEGIN { exit(0); }
ERROR { printf("E %d %d %d %x\n", arg1, arg2, arg4, arg5); }
