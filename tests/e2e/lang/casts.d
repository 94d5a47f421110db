/* Casts between widths, signs and pointers. */
#pragma D option quiet

int64_t l; uint64_t u; char c;
BEGIN
{
	l = 0x1ffffff80; u = 0xffffffff80000001;
	printf("%d %d %d %d\n", (char)l, (unsigned char)l, (short)l, (int)l);
	printf("%d %u %d %d\n", (int)u, (unsigned)u, (int64_t)u, (int64_t)(int)u);
	printf("%d %d\n", (uint64_t)(char)-1 == 0xffffffffffffffff, (uint8_t)-1 == 255);
	c = -1; printf("%d %d %x\n", (unsigned char)c, (int)c, c);
	printf("%x %d\n", (uintptr_t)(char *)0x1234, (int *)8 - (int *)0);
	printf("%s\n", (string)"text");
	(void)l++; printf("%x\n", l);
	exit(0);
}
