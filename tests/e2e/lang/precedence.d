/* The whole table of operators in one go. */
#pragma D option quiet

int x;
BEGIN
{
	x = 5;
	printf("%d %d %d\n", 2 + 3 * 4, (2 + 3) * 4, 20 - 6 - 4);
	printf("%d %d %d\n", 1 + 2 << 3, 7 & 3 == 3, 6 ^ 3 | 8);
	printf("%d %d %d\n", 1 < 2 == 1, 5 > 3 > 1, !0 + 1);
	printf("%d %d %d\n", 1 || 0 && 0, 1 ^^ 1 || 1, 1 ^^ 0 && 0);
	printf("%d %d %d\n", 0 ? 1 : 0 ? 2 : 3, -x + 10, ~x & 7);
	printf("%d %d\n", x == 5 ? x > 4 ? 44 : 33 : 22, x - -x);
	printf("%d %d\n", sizeof (int) * 2, (int)3 + 1);
	x = x == 5; printf("%d\n", x);
	exit(0);
}
