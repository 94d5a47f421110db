/* Byte order, Internet addresses, device numbers. */
#pragma D option quiet

BEGIN
{
	printf("%x %x %x\n", htons(0x1234), htonl(0x12345678), htonll(0x123456789abcdef0));
	printf("%x %x %x\n", ntohs(0x1234), ntohl(0x12345678), ntohll(0x123456789abcdef0));
	a = (uint32_t *)alloca(4); *a = 0x0100007f;
	printf("%s %s\n", inet_ntop(2, a), inet_ntoa(a));
	b = (uint8_t *)alloca(16); *(uint64_t *)b = 0; *((uint64_t *)b + 1) = 0; b[0] = 0x20; b[1] = 1; b[15] = 1;
	printf("%s %s\n", inet_ntop(10, b), inet_ntoa6((struct in6_addr *)b));
	printf("%d %d\n", getmajor(0x800001), getminor(0x800001));
	exit(0);
}
