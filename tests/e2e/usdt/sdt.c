/* SPDX-License-Identifier: MIT */
#ifdef COUNTERS
#define _SDT_HAS_SEMAPHORES 1
#endif
#include <sys/sdt.h>
#ifdef COUNTERS
#define E(p, n) DTRACE_PROBE_ENABLED(p, n)
DTRACE_PROBE_SEMAPHORE(app, none);
DTRACE_PROBE_SEMAPHORE(app, ints);
DTRACE_PROBE_SEMAPHORE(app, floats);
DTRACE_PROBE_SEMAPHORE(app, pointers);
DTRACE_PROBE_SEMAPHORE(app, many);
DTRACE_PROBE_SEMAPHORE(app, bits);
#else
#define E(p, n) 1
#endif
#define PROVIDER app
struct hidden;
enum color { RED, GREEN };
struct bits {
	int a : 3;
	unsigned b : 5;
	unsigned long l;
};
int f(signed char c, unsigned char uc, short s, unsigned short us, int i, unsigned int ui, long l,
      unsigned long ul, struct bits *b, double d, float fl, struct hidden *h, const char *text,
      void *v);
int f(signed char c, unsigned char uc, short s, unsigned short us, int i, unsigned int ui, long l,
      unsigned long ul, struct bits *b, double d, float fl, struct hidden *h, const char *text,
      void *v)
{
	char array[10] = "abc";
	const volatile int cv = i;
	enum color e = GREEN;
	if (E(app, none))
		DTRACE_PROBE(PROVIDER, none);
	else
		e = RED;
	DTRACE_PROBE8(app, ints, c, uc, s, us, i, ui, l, ul);
	DTRACE_PROBE4(app, floats, d, fl, d * 2.0, 2.5);
	STAP_PROBE6(app, pointers, h, text, v, array, text + 2, (void *)0);
	DTRACE_PROBE12(app, many, i, 1, -2, i * 3, i - 4, i ^ 5, i & 6, 7L, 8UL, i | 9, sizeof(i),
		       cv);
	STAP_PROBE4(app, bits, b->a, b->b, e, cv);
	return i;
}
int main(int argc, char **argv)
{
	struct bits b;
	b.a = -2;
	b.b = 30;
	b.l = 0;
	return f(-1, 255, -2, 65535, -3, 4000000000U, -5L, 6UL, &b, 1.5, 2.5f, (struct hidden *)&b,
		 argv[0], &argc) != -3;
}
