/* Bit-fields: cut when stored, extended by their sign when read, neighbours untouched. */
#pragma D option quiet

struct bits { unsigned a:3; int b:5; unsigned c:24; uint64_t d:40; int e:1; };
struct bits v; this struct bits t;
BEGIN
{
	v.a = 9; v.b = -3; v.c = 0xabcdef; v.d = 0x1234567890; v.e = 1;
	printf("%d %d %x %x %d\n", v.a, v.b, v.c, v.d, v.e);
	v.b = 20; v.a++; v.c += 0x1000000; v.d <<= 8;
	printf("%d %d %x %x\n", v.a, v.b, v.c, v.d);
	v.a = 7; v.a++; printf("%d %d %x\n", v.a, v.b, v.c);
	this->t = v; this->t.b = 0; printf("%d %d %x\n", this->t.b, v.b, this->t.c);
	printf("%d\n", sizeof(struct bits));
	exit(0);
}
