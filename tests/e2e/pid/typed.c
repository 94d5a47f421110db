/* Functions whose parameters are passed in every way, for typed args[]. */
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
__attribute__((noinline)) static int take(struct item *it, int n, double d, unsigned char c,
					  const char *s)
{
	__asm__ volatile("" ::: "memory");
	return n + it->at.x;
}
__attribute__((noinline)) static long mixed(struct big b, int i, struct pair p, struct point pt,
					    char *s, long l5, long l6, short last)
{
	__asm__ volatile("" ::: "memory");
	return i + last + b.a[0];
}
__attribute__((noinline)) static struct big large(int i)
{
	struct big b = {{i}};
	__asm__ volatile("" ::: "memory");
	return b;
}
__attribute__((noinline)) static struct item *get(int i)
{
	__asm__ volatile("" ::: "memory");
	return &second;
}
int main(void)
{
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
	for (int i = 0; i < 1; i++) {
		take(&it, -5, 1.5, 200, "str");
		mixed(b, -7, p, pt, "chars", 55, 66, -77);
		large(11);
		get(2);
	}
	return 0;
}
