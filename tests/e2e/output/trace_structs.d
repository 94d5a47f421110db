/* trace() of a structure depends on its type only: of 1, 2, 4, 8 bytes it prints as an integer, of others as a dump,
   also where the members happen to look like text (d-language.md 6.2). So do keys. */
struct one { char c; }; struct two { char c[2]; }; struct four { int i; }; union eight { long l; char c[8]; };
struct three { char c[3]; };
struct one a; struct two b; struct four c; union eight d; struct three e;
struct four in_array[int];

BEGIN
{
	a.c = 'A'; b.c[0] = 'A'; b.c[1] = 'B'; c.i = 0x41424344; d.l = 0x4142434445464748; e.c[0] = 'A'; e.c[1] = 'B';
	trace(a); trace(b); trace(c); trace(d); trace(e);
}
BEGIN { c.i = -2; d.l = -3; trace(c); trace(d); in_array[1] = c; trace(in_array[1]); }
BEGIN { @[c, d, a] = count(); @three[e] = count(); exit(0); }
