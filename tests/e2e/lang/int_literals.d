/* Bases, suffixes and the type that the value asks for. */
#pragma D option quiet

BEGIN
{
	printf("%d %d %d %d\n", 10, 010, 0x10, 0XfF);
	printf("%d %d %d %d %d\n", sizeof(1), sizeof(2147483647), sizeof(2147483648), sizeof(0x80000000), sizeof(1L));
	printf("%d %d %d %d\n", sizeof(1u), sizeof(1ull), sizeof(4294967296u), sizeof('a'));
	printf("%d %u %x\n", 9223372036854775807, 18446744073709551615u, 0xffffffffffffffff);
	printf("%d %d\n", 0x80000000, -2147483648);
	printf("%d %x %x %d %d\n", 'a', 'ab', 'abcd', '\n', '\377');
	printf("%d %d %d %d\n", '\0', '\x41', '\101', '\\');
	exit(0);
}
