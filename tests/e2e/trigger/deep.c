/* SPDX-License-Identifier: MIT */
/*
 * A chain of 40 functions without frame pointers: main -> f40 -> ... -> f1 -> leaf.
 *
 *     deep syscall N     leaf calls getppid() of the C library
 *     deep signal N      a signal handler does, of a signal that leaf raises
 *     deep altstack N    the same on a stack of its own
 *     deep thread N      all of it in a second thread
 *     deep slow N        like syscall, a millisecond apart
 *     deep spin MS       leaf computes
 *     deep vdso MS       leaf asks for the time
 *     deep plug N LIB    LIB is loaded, and its plug() called, a millisecond apart
 *     deep stop N        leaf stops the process by SIGSTOP
 *     deep stop-signal N, stop-altstack N, stop-thread N
 *                        a signal handler does, on a stack of its own; a second thread does
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static long count;
static void (*once)(void);
static long (*plug)(long);
static volatile long sink;

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

NOINLINE static void once_syscall(void)
{
	sink += getppid();
}

NOINLINE static void once_slow(void)
{
	sink += getppid();
	usleep(1000);
}

NOINLINE static void once_signal(void)
{
	raise(SIGUSR1);
	sink++;
}

NOINLINE static void once_plug(void)
{
	sink += plug(1);
	usleep(1000);
}

NOINLINE static void once_spin(void)
{
	double end = now_ms() + (double)count;

	while (now_ms() < end)
		for (long i = 0; i < 200000; i++)
			sink += i * i;
	count = 1;
}

NOINLINE static void once_vdso(void)
{
	double end = now_ms() + (double)count;

	while (now_ms() < end)
		sink++;
	count = 1;
}

NOINLINE static void once_stop(void)
{
	raise(SIGSTOP);
	sink++;
}

static void handler(int sig)
{
	sink += getppid() + sig;
}

static void stopping_handler(int sig)
{
	raise(SIGSTOP);
	sink += sig;
}

NOINLINE static long leaf(long x)
{
	for (long i = 0; i < count; i++)
		once();
	return x + sink;
}

/* Frames of many sizes. */
/* clang-format off */
#define F(n, callee)                            \
	NOINLINE static long f##n(long x)       \
	{                                       \
		volatile char room[n * 9 + 8];  \
						\
		room[0] = (char)x;              \
		sink += callee(x + 1);          \
		return sink + room[0];          \
	}
/* clang-format on */
#define F5(a, b, c, d, e, callee) F(a, callee) F(b, f##a) F(c, f##b) F(d, f##c) F(e, f##d)
/* clang-format off */
F5(1, 2, 3, 4, 5, leaf)
F5(6, 7, 8, 9, 10, f5)
F5(11, 12, 13, 14, 15, f10)
F5(16, 17, 18, 19, 20, f15)
F5(21, 22, 23, 24, 25, f20)
F5(26, 27, 28, 29, 30, f25)
F5(31, 32, 33, 34, 35, f30)
F5(36, 37, 38, 39, 40, f35)

static const struct {
	const char *name;
	void (*once)(void);
} modes[] = {
	{"syscall", once_syscall}, {"signal", once_signal}, {"altstack", once_signal}, {"thread", once_syscall},
	{"slow", once_slow}, {"spin", once_spin}, {"vdso", once_vdso}, {"plug", once_plug},
	{"stop", once_stop}, {"stop-signal", once_signal}, {"stop-altstack", once_signal}, {"stop-thread", once_stop},
};
/* clang-format on */

static void *in_thread(void *arg)
{
	sink += f40((long)arg);
	return NULL;
}

static void handle_signals(void (*func)(int), int flags)
{
	static char room[64 << 10];
	stack_t alt = {.ss_sp = room, .ss_size = sizeof(room)};
	struct sigaction sa = {.sa_handler = func, .sa_flags = flags};

	sigaltstack(&alt, NULL);
	sigaction(SIGUSR1, &sa, NULL);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (argc < 3)
		return 2;
	count = strtol(argv[2], NULL, 10);
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(modes[i].name, argv[1]) == 0)
			once = modes[i].once;
	if (!once)
		return 2;
	handle_signals(strncmp(argv[1], "stop", 4) == 0 ? stopping_handler : handler,
		       strstr(argv[1], "altstack") ? SA_ONSTACK : 0);
	if (argc > 3) {
		void *lib = dlopen(argv[3], RTLD_NOW);

		plug = lib ? (long (*)(long))dlsym(lib, "plug") : NULL;
		if (!plug)
			return 3;
	}
	if (strstr(argv[1], "thread")) {
		if (pthread_create(&thread, NULL, in_thread, NULL) == 0)
			pthread_join(thread, NULL);
	} else {
		sink += f40(0);
	}
	return 0;
}
