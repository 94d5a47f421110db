/* SPDX-License-Identifier: MIT */
/*
 * The traced process of usdt.py: fires its probes as often as a line says, and answers. With
 * -DLIBRARY it is a library with a probe.
 */
#define _SDT_HAS_SEMAPHORES 1
#include <dtrace/sdt.h>

#ifdef LIBRARY
DTRACE_PROBE_SEMAPHORE(lib, fired);

long library(long n);
long library(long n)
{
	DTRACE_PROBE1(lib, fired, n);
	return n + 1;
}
#else

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OWN	      __attribute__((noinline, noclone, noipa))
#define SIZEOF(value) ((__typeof__(value))-1 > 0 ? -(int)sizeof(value) : (int)sizeof(value))

/* A probe with one argument that is where the constraint says, and with that nop. */
#define P(nop, name, where, value)                                                                 \
	__asm__ volatile("990: " nop "\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"    \
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: "          \
			 ".balign 4\n993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"kinds\"\n"      \
			 ".asciz \"" #name                                                         \
			 "\"\n.ascii \"%n1\"\n.asciz \"@%0\"\n994: .balign 4\n.popsection\n"       \
			 :                                                                         \
			 : where(value), "n"(SIZEOF(value))                                        \
			 : "memory")
/* The same with an operand as a text. */
#define P_TEXT(name, text, input)                                                                  \
	__asm__ volatile("990: nop\n.pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"        \
			 ".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: "          \
			 ".balign 4\n993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"kinds\"\n"      \
			 ".asciz \"" #name "\"\n.asciz \"" text                                    \
			 "\"\n994: .balign 4\n.popsection\n"                                       \
			 :                                                                         \
			 : "d"(input)                                                              \
			 : "memory")
#define NOP2 ".byte 0x66, 0x90"

long table[8];

/* All sizes in registers, with and without a sign; numbers. */
OWN static void registers(long n)
{
	P("nop", s1, "r", (signed char)(n - 100));
	P("nop", u1, "r", (unsigned char)(n + 200));
	P("nop", s2, "r", (short)(n - 30000));
	P("nop", u2, "r", (unsigned short)(n + 60000));
	P("nop", s4, "r", (int)(n - 2000000000));
	P("nop", u4, "r", (unsigned)(n + 4000000000u));
	P("nop", s8, "r", n - 5);
	P("nop", u8, "r", (unsigned long)n + 0xfedcba9876543210u);
	P_TEXT(high, "1@%%dh", (n & 255) << 8);
	P("nop", c1, "n", -7);
	P("nop", c8, "n", 0x123456789abcdefl);
	P_TEXT(address, "8@table@GOTPCREL(%%rip)", 0);
	P(NOP2, two, "r", n * 3);
	table[0] += n;
}

/* Words of the function's own stack, all sizes. */
OWN static long stacks(long n)
{
	volatile struct {
		signed char a;
		unsigned short b;
		int c;
		unsigned d;
		long e;
	} s = {(signed char)-n, (unsigned short)(n + 65000), (int)-n, (unsigned)n, n << 40};
	char text[600];

	P("nop", m1, "m", s.a);
	memset(text, (int)n, sizeof(text));
	P("nop", m2, "m", s.b);
	P("nop", m4, "m", s.c);
	P("nop", mu4, "m", s.d);
	__asm__ volatile("" : : "r"(text) : "memory");
	P("nop", m8, "m", s.e);
	return s.e + text[5];
}

/* Words below the stack pointer of a function that calls none. */
OWN static long leaf(long n)
{
	volatile long s = n * 7, t = n * 9;

	P("nop", red, "m", s);
	return s + t;
}

/* Arguments of the caller, and memory elsewhere: these stay uprobes. */
OWN static long far(long a, long b, long c, long d, long e, long f, long g)
{
	P("nop", caller, "m", g);
	P("nop", global, "m", table[0]);
	return a + b + c + d + e + f + g;
}

DTRACE_PROBE_SEMAPHORE(app, often);
DTRACE_PROBE_SEMAPHORE(app, asked);
DTRACE_PROBE_SEMAPHORE(app, twice);

OWN static long often(long n)
{
	long sum = n;

	for (long i = 0; i < 3; i++) {
		DTRACE_PROBE2(app, often, i, sum);
		sum += i * n;
	}
	if (DTRACE_PROBE_ENABLED(app, asked)) {
		DTRACE_PROBE1(app, asked, sum);
		sum++;
	}
	return sum;
}

/* One probe, whose sites are one behind the other, and in another function. */
OWN static long twice(long n)
{
	DTRACE_PROBE1(app, twice, n);
	DTRACE_PROBE1(app, twice, n + 1);
	return n ^ 1;
}

/* Control comes to behind the nop from elsewhere, too. */
OWN static long joins(long n)
{
	if (n & 1)
		__asm__ volatile("nop");
	__asm__ volatile(
		"test $1, %%dil\njz 1f\n990: nop\n"
		".pushsection .note.stapsdt,\"?\",\"note\"\n.balign 4\n"
		".4byte 992f-991f, 994f-993f, 3\n991: .asciz \"stapsdt\"\n992: .balign 4\n"
		"993: .8byte 990b, _.stapsdt.base, 0\n.asciz \"kinds\"\n.asciz \"joins\"\n.asciz \"\"\n"
		"994: .balign 4\n.popsection\n"
		"1: lea 1(%%rdi), %%rax\nadd $5, %%rax"
		:
		: "D"(n)
		: "rax", "cc");
	return n;
}

int main(int argc, char **argv)
{
	char line[256];
	void *lib = argc > 1 ? dlopen(argv[1], RTLD_NOW) : NULL;
	long (*library)(long) = lib ? (long (*)(long))dlsym(lib, "library") : NULL;
	unsigned short *counter = lib ? dlsym(lib, "lib_fired_semaphore") : NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("0\n");
	while (fgets(line, sizeof(line), stdin)) {
		long sum = 0;

		if (line[0] == 'c') { /* what the counters are */
			printf("%d\n", (!!app_often_semaphore) | (!!app_asked_semaphore) << 1 |
					       (!!app_twice_semaphore) << 2 |
					       (counter && *counter) << 3);
			continue;
		}
		for (long i = 0, n = atol(line); i < n; i++) {
			registers(i);
			sum += stacks(i) + leaf(i) + far(1, 2, 3, 4, 5, 6, i) + often(i) +
			       twice(i) + joins(i);
			sum += library ? library(i) : 0;
		}
		printf("%d\n", (int)(sum & 0xffffff));
	}
	return 0;
}
#endif
