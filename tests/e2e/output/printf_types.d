/* d-language.md B.9 */
#pragma D option quiet
BEGIN
{
	printf("%d\n", -1);
	printf("%u\n", -1);
	printf("%d\n", 4294967295);
	printf("%x\n", (char)-1);
	printf("%5d|%-5d|%05d\n", 42, 42, 42);
	printf("%p\n", 255);
	printf("%?p\n", 255);
	printf("%.3s\n", "abcdef");
	printf("%S\n", "a\n");
	printf("%c\n", 65);
	printf("%Y\n", (uint64_t)0);
	printf("%s|%10s|%-10s|\n", "x", "right", "left");
	printf("%o %#o %X %#x\n", 8, 8, 255, 255);
	printf("%+d % d %'d\n", 7, 7, 1234567);
	printf("%*d|%-*d|\n", 6, 42, 6, 42);
	printf("%hd %ld %lld\n", (short)-7, (long)-8, (long long)-9);
	printf("100%%\n");
	exit(0);
}
