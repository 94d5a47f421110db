/* SPDX-License-Identifier: MIT */
/* The traced process of calls.py: calls functions in the ways of compilers, and answers with what came back. */
#include <dlfcn.h>
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone, noipa))

extern "C" {

static void *callers[64];
static int ncallers;

/* Notes behind which calls it was called. */
OWN long called(long a, long b)
{
	void *caller = __builtin_return_address(0);

	for (int i = 0; i < ncallers; i++)
		if (callers[i] == caller)
			return a + b;
	callers[ncallers++] = caller;
	return a + b;
}

OWN long plain(long a)
{
	return a + 1;
}

/* The last call of this function is a jump. */
OWN long tail(long a)
{
	return plain(a + 1);
}

OWN long eight(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + b + c + d + e + f + g * h;
}

OWN long eight_tail(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return eight(a, b, c, d, e, f, g, h);
}

OWN long recursive(long n)
{
	long a, b;

	if (n < 2)
		return n;
	a = recursive(n - 1);
	__asm__ volatile("" : "+r"(a)); /* else compilers make a loop of it */
	b = recursive(n - 2);
	__asm__ volatile("" : "+r"(b));
	return a + b;
}

OWN int depth(void)
{
	void *list[64];

	return backtrace(list, 64);
}

OWN int deep(int n)
{
	int got = n ? deep(n - 1) : depth();

	__asm__ volatile("" ::: "memory");
	return got;
}

OWN void jumps(jmp_buf at, int n)
{
	if (n)
		longjmp(at, n);
}

static OWN long other_ways(long n)
{
	long (*volatile by_pointer)(long, long) = called;
	long sum = 0;

	for (long i = 0; i < n; i++) {
		char *p = (char *)malloc((size_t)(i + 1));

		sum += called(i, 1);
		sum += called(i, 2) + by_pointer(i, 3);
		sum += tail(i) + plain(i) + recursive(4);
		sum += eight(i, 1, 2, 3, 4, 5, 6, 7) + eight_tail(i, 1, 2, 3, 4, 5, 60, 70);
		sum += atol("17") + (long)strlen(strcpy(p, ""));
		free(p);
	}
	return sum;
}

}

OWN void throws(int n)
{
	if (n % 2)
		throw n;
}

OWN void throws_deep(int n)
{
	throws(n);
	__asm__ volatile("" ::: "memory");
}

OWN long exceptions(long n)
{
	long sum = 0;

	for (int i = 0; i < n; i++) {
		try {
			throws_deep(i);
			sum += 100;
		} catch (int got) {
			sum += got;
		}
	}
	return sum;
}

OWN long long_jumps(long n)
{
	volatile long sum = 0;
	jmp_buf at;

	for (volatile int i = 0; i < n; i = i + 1) {
		int got = setjmp(at);

		if (!got)
			jumps(at, i);
		sum = sum + got;
	}
	return sum;
}

static volatile sig_atomic_t nsignals, is_over;

static void on_signal(int)
{
	void *list[64];

	nsignals = nsignals + (backtrace(list, 64) > 1);
	for (int i = 0; i < 3; i++)
		(void)tail(i);
}

static void *in_thread(void *)
{
	long sum = 0;

	while (!is_over)
		sum += other_ways(2) + exceptions(2) + long_jumps(2);
	return (void *)sum;
}

int main()
{
	char line[256];
	pthread_t threads[3];
	void *lib = NULL;

	setvbuf(stdout, NULL, _IOLBF, 0);
	(void)depth(); /* what backtrace() loads */
	signal(SIGALRM, on_signal);
	printf("0\n");
	while (fgets(line, sizeof(line), stdin)) {
		long n = atol(line + 1), result = 0;

		switch (line[0]) {
		case 'o': result = other_ways(n); break;
		case 'e': result = exceptions(n); break;
		case 'j': result = long_jumps(n); break;
		case 'b': result = deep((int)n); break;
		case 'l': /* a library that comes */
			lib = lib ? lib : dlopen(getenv("LIBRARY"), RTLD_NOW);
			result = lib ? ((long (*)(long))dlsym(lib, "come"))(n) : -1;
			break;
		case 'f':
			if (fork() == 0)
				_exit((int)other_ways(n) & 0x7f);
			wait(NULL);
			break;
		case 't': /* threads, and signals for them, until 'T' */
			is_over = 0;
			for (auto &t : threads)
				pthread_create(&t, NULL, in_thread, NULL);
			break;
		case 's':
			for (long i = 0; i < n; i++) {
				pthread_kill(threads[i % 3], SIGALRM);
				usleep(100);
			}
			break;
		case 'T':
			is_over = 1;
			for (auto &t : threads)
				pthread_join(t, NULL);
			break;
		default: /* the callers of called(), as offsets from it */
			for (int i = 0; i < ncallers; i++)
				printf("%ld ", (long)((char *)callers[i] - (char *)called));
			break;
		}
		printf("%ld\n", result);
	}
	return 0;
}
