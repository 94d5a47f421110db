/* The left operand decides the type; >> of a signed value is arithmetic. */
#pragma D option quiet

int32_t i; uint32_t u; int64_t l; uint8_t n;
BEGIN
{
	i = -16; u = 0xfffffff0; l = -16; n = 2;
	printf("%d %d %d\n", i >> n, u >> n, l >> n);
	printf("%d %d %d\n", i << n, u << n, l << n);
	printf("%d %d\n", 1L << 40, 1 << 4 >> 2);
	l = 1; l <<= 62; printf("%d\n", l);
	l >>= 61; printf("%d\n", l);
	printf("%x %x\n", ~0 & 0xff, (0xf0 | 0x0f) ^ 0xff00);
	exit(0);
}
