/* Size prefixes, and conversions that take the size from the argument. */
#pragma D option quiet

BEGIN
{
	printf("%hd %hu %hx\n", (short)-1, (unsigned short)-1, (unsigned short)-1);
	printf("%ld %lu %lx %lo\n", -1L, (unsigned long)-1, (unsigned long)-1, 8L);
	printf("%lld %llu %llx\n", -1LL, (unsigned long long)-1, (unsigned long long)-1);
	printf("%d %u %x %o\n", (char)-1, (char)-1, (char)-1, (char)-1);
	printf("%d %u %x\n", (short)-1, (short)-1, (short)-1);
	printf("%d %u %x\n", -1, -1, -1);
	printf("%d %u %x\n", -1L, -1L, -1L);
	printf("%d %i\n", (unsigned)-1, (uint64_t)-1);
	exit(0);
}
