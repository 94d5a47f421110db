/* Division and remainder truncate towards zero; the one that overflows wraps. */
#pragma D option quiet

int32_t i, j; uint32_t u; int64_t l, m;
BEGIN
{
	i = -7; j = 2;
	printf("%d %d %d %d\n", i / j, i % j, -i / j, -i % j);
	j = -2;
	printf("%d %d %d %d\n", i / j, i % j, 7 / j, 7 % j);
	u = 0xfffffff9; printf("%d %d %d\n", u / 2, u % 10, u / u);
	l = 0x8000000000000000; m = -1;
	printf("%d %d\n", l / m, l % m);
	printf("%d %d %d %d\n", -7 / 2, -7 % 3, 7 / -2, 7 % -3);
	l = 10; l /= 3; m = 10; m %= 4; printf("%d %d\n", l, m);
	exit(0);
}
