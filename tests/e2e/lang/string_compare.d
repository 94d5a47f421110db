/* Strings compare byte by byte, unsigned, with all six operators. */
#pragma D option quiet

BEGIN
{
	a = "abc"; b = "abd"; e = "";
	printf("%d%d%d%d%d%d\n", a < b, a <= b, a > b, a >= b, a == b, a != b);
	printf("%d%d%d\n", a == "abc", "abc" == a, a == "abcd");
	printf("%d%d%d\n", e == "", e < a, "\377" > "a");
	printf("%d%d\n", "ab" < "abc", "B" < "a");
	c = (char *)alloca(4); c[0] = 'a'; c[1] = 'b'; c[2] = 'c';  c[3] = 0;
	printf("%d %d\n", stringof(c) == a, a == c);
	printf("%d %s\n", execname == execname, a < b ? a : b);
	exit(0);
}
