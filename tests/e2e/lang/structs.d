#pragma D option quiet
typedef struct point { int x; short y; char name[8]; } point_t;
union u { uint32_t w; uint8_t b[4]; };
struct bits { unsigned int a:3; int b:5; unsigned int c:24; };
enum colour { RED, GREEN = 5, BLUE };
point_t g;
struct bits f;
union u un;
BEGIN
{
	g.x = -5; g.y = 12;
	this->p = g;
	f.a = 9; f.b = -3; f.c = 0x123456;
	un.w = 0x04030201;
	printf("%d %d %d\n", g.x, g.y, this->p.y);
	printf("%d %d %x\n", f.a, f.b, f.c);
	printf("%d %d\n", un.b[0], un.b[3]);
	printf("%d %d %d %d\n", sizeof(point_t), sizeof(g.name), offsetof(point_t, y), sizeof(struct bits));
	printf("%d %d %d\n", RED, GREEN, BLUE);
	exit(0);
}
