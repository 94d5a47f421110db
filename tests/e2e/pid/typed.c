/* SPDX-License-Identifier: MIT */
/*
 * Functions whose parameters are passed in every way, for typed args[]. All are used: a compiler
 * does not pass what is not.
 */
struct point {
	int x, y;
};
enum color { RED, GREEN = 5, BLUE };
typedef struct point point_t;
struct opaque; /* defined in no file */
struct item {
	const char *name;
	struct item *next;
	point_t at;
	struct opaque *hidden;
	unsigned flag : 1, level : 5;
	int signed_bits : 4;
	enum color color;
	union {
		int anon_int;
		float anon_float;
	};
	char text[16];
	short table[2][3];
	void (*call)(int);
};
struct big {
	long a[5];
};
struct pair {
	long a;
	double d;
};
static struct item second = {.name = "second", .at = {3, 4}};
__attribute__((noinline)) int take(struct item *it, int n, double d, unsigned char c, const char *s)
{
	__asm__ volatile("" ::"r"((int)c), "r"(s), "x"(d) : "memory");
	return n + it->at.x;
}
__attribute__((noinline)) long mixed(struct big b, int i, struct pair p, struct point pt, char *s,
				     long l5, long l6, short last)
{
	__asm__ volatile("" ::"r"(s), "r"(l5), "r"(l6), "r"(pt.x), "x"(p.d) : "memory");
	return i + last + b.a[0];
}
__attribute__((noinline)) struct big large(int i)
{
	struct big b = {{i}};
	__asm__ volatile("" ::: "memory");
	return b;
}
__attribute__((noinline)) struct item *get(int i)
{
	__asm__ volatile("" ::: "memory");
	return &second;
}
/* Not bound to the calling convention: what the compiler makes of it is up to it. */
__attribute__((noinline)) static int hidden(double unused, struct point *p, int dead, int n)
{
	__asm__ volatile("" ::: "memory");
	return p->x + n;
}

int main(void)
{
	const volatile char *touch = "touch";
	struct item it = {"first",
			  &second,
			  {-1, 2},
			  0,
			  1,
			  17,
			  -3,
			  GREEN,
			  {7},
			  "hello",
			  {{1, 2, 3}, {4, 5, 6}},
			  0};
	struct big b = {{42}};
	struct pair p = {1, 2.0};
	struct point pt = {8, 9};
	(void)*touch; /* a page that was never touched cannot be read */
	for (int i = 0; i < 1; i++) {
		take(&it, -5, 1.5, 200, "str");
		mixed(b, -7, p, pt, "chars", 55, 66, -77);
		large(11);
		get(2);
	}
	return *touch + hidden(1, &pt, 2, 3) > 0 ? 0 : 1;
}
