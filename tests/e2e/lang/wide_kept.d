/* What later assignments and keys have beyond the first type is kept, in 64 bits; the sign is that of the values (d-language.md 3.5). */
#pragma D option quiet

int last[int];

BEGIN
{
	x = (uint32_t)1; self->y = (uint32_t)2; this->z = (uint8_t)3; a[0, "k"] = (uint16_t)4; self->b[1] = 1; last[5] = 1;
	u = (uint32_t)5; v = -5; chain = (short)1; small = (uint8_t)7; parts = (char)1; e = (uint32_t)9; f = (int8_t)1;
	x = 0x1122334455667788; self->y = (uint64_t)0x8877665544332211; this->z = 0x12345678; a[0x100000000, "k"] = 0x99999;
	self->b[0x100000001] = 2; last[0x700000005] = 2;
	printf("%x %x %x %x %d\n", x, self->y, this->z, a[0x100000000, "k"], a[0, "k"]);
	printf("%d %d %d %d\n", self->b[1], self->b[0x100000001], last[5], last[0x700000005]);

	/* an unsigned variable that gets a negative number has a sign; one that gets larger unsigned ones has none */
	u = -1; e = (uint64_t)-1; v = (uint32_t)0xffff0000; f = x >> 60 == 1 ? (uint8_t)200 : 2;
	printf("%d %d %d %d %x %d\n", u, u == -1, u < 0, e > 0, v, f);
	/* through another variable */
	chain = self->y;
	printf("%x\n", chain);
	/* what fits widens nothing */
	small = small + 1; small = small > 3; small = !small; small = 255; small = 'x'; small += 2; small <<= 1;
	printf("%d %d %d %d %d\n", sizeof (x), sizeof (this->z), sizeof (small), sizeof (v), sizeof (parts));
	exit(0);
}
END
{
	@[1, "k"] = count(); @[0x100000001, "k"] = count(); @[-1, "k"] = count();
	@n[(uint32_t)1] = count(); @n[(int)-1] = count();
	@same[(char)1] = count(); @same['x'] = count();
}
