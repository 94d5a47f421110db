/* Signed and unsigned operands: the higher rank decides, comparisons are signed only when both are. */
#pragma D option quiet

int32_t i; uint32_t u; int64_t l; uint64_t ul; int8_t c; uint8_t uc;
BEGIN
{
	i = -1; u = 1; l = -1; ul = 1; c = -1; uc = 1;
	printf("%d %d %d %d\n", i < u, l < ul, c < uc, i < l);
	printf("%d %d %d %d\n", i < ul, l < u, uc > i, c == i);
	printf("%d %d\n", -1 < 1, -1 < 1u);
	printf("%d %d %d\n", i / 2, ul - 2, u - 2);
	printf("%d %d %d\n", i >> 1, u << 31, l >> 63);
	ul = 0x8000000000000000; l = 0x8000000000000000;
	printf("%d %d %d %d\n", ul >> 63, l >> 63, ul / 2, l / 2);
	printf("%d %d\n", ul > l, ul == l);
	exit(0);
}
