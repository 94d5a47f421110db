/* Option printsize bounds what print() records and shows. */
/* @@runtest-opts: -q -x printsize=10 */
struct s { int a; int b; int c; char t[8]; };
struct s v; int n[4];
BEGIN
{
	v.a = 1; v.b = 2; v.c = 3; n[0] = 1;
	print(v); print(n); print("longer than ten bytes");
	setopt("printsize", "4");
}
BEGIN { print(v); exit(0); }
