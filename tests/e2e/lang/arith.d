#pragma D option quiet
int a; int b; int64_t big; unsigned char uc; signed char sc;
BEGIN
{
	a = 7; b = -2; big = 0x7fffffffffffffff;
	printf("%d %d %d %d %d\n", a + b, a - b, a * b, a / b, a % b);
	printf("%d %d %d %d\n", a << 2, b >> 1, a & 3, (a | 8) ^ 1);
	printf("%d %d %d\n", ~a, !a, -a);
	printf("%d\n", big + 1);
	uc = 300; sc = 200;
	printf("%d %d\n", uc, sc);
	printf("%d %d %d\n", a > b, (unsigned)b > 5, a == 7 && b != 7);
	printf("%d %d %d\n", 1 ^^ 1, 1 ^^ 0, 0 || 0);
	printf("%s\n", a > 3 ? b > 3 ? "x" : "y" : "z");
	a += 3; printf("%d ", a); a -= 1; printf("%d ", a); a *= 2; printf("%d ", a); a /= 3; printf("%d ", a);
	a %= 4; printf("%d ", a); a <<= 3; printf("%d ", a); a >>= 1; printf("%d ", a); a |= 3; printf("%d ", a);
	a &= 6; printf("%d ", a); a ^= 5; printf("%d\n", a);
	printf("%d %d %d\n", a++, ++a, a--);
	exit(0);
}
