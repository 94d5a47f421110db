/* SPDX-License-Identifier: MIT */
/*
 * A program that crashes in the way that its argument says. What debuggers find in its core is
 * known: fail(3) called by fail(2) and so on, and a list of three nodes.
 */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

struct node {
	struct node *next;
	char name[200];
};
struct node *list;
char *big;
static const char *how;
static pthread_barrier_t all;

static void *idle(void *arg)
{
	pthread_barrier_wait(&all);
	pause();
	return arg;
}

static void on_signal(int n)
{
	abort();
}

__attribute__((noinline)) int die(void)
{
	volatile int zero = 0, *bad = (int *)0x1234;
	char *page;

	if (strcmp(how, "abrt") == 0)
		abort();
	if (strcmp(how, "fpe") == 0)
		return 100 / zero;
	if (strcmp(how, "ill") == 0)
		__builtin_trap();
	if (strcmp(how, "bus") == 0) {
		FILE *f = tmpfile();

		page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fileno(f), 0);
		return *page;
	}
	if (strcmp(how, "quit") == 0)
		return kill(getpid(), SIGQUIT), pause();
	return *bad;
}

__attribute__((noinline)) int fail(int n)
{
	volatile int deeper = n + 1;

	if (n == 3)
		return die() + deeper;
	return fail(deeper) + 1;
}

static void *fail_thread(void *arg)
{
	if (arg)
		pthread_join(*(pthread_t *)arg, NULL);
	fail(0);
	return NULL;
}

static void threads_start(int n)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&all, NULL, (unsigned)n + 1);
	for (int i = 0; i < n; i++)
		if (pthread_create(&t, &attr, idle, NULL))
			exit(3);
	pthread_barrier_wait(&all);
}

int main(int argc, char **argv)
{
	static char stack[64 << 10];
	static pthread_t self;
	pthread_t t;

	how = argc > 1 ? argv[1] : "segv";
	for (int i = 3; i > 0; i--) {
		struct node *n = malloc(sizeof(*n));

		snprintf(n->name, sizeof(n->name), "node %d", i);
		n->next = list;
		list = n;
	}
	if (argc > 2) {
		size_t len = (size_t)atoi(argv[2]) << 20;

		/* every second page, so that a copy has to skip some */
		big = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		madvise(big, len, MADV_NOHUGEPAGE);
		for (size_t i = 0; i < len; i += 8192)
			memset(big + i, (int)(i >> 13) | 1, 4096);
	}
	if (strcmp(how, "thread") == 0) {
		threads_start(2);
		pthread_create(&t, NULL, fail_thread, NULL);
		pthread_join(t, NULL);
	}
	if (strcmp(how, "many") == 0)
		threads_start(500);
	if (strcmp(how, "leader") == 0) { /* the first thread is gone */
		self = pthread_self();
		pthread_create(&t, NULL, fail_thread, &self);
		pthread_exit(NULL);
	}
	if (strcmp(how, "altstack") == 0) {
		sigaltstack(&(stack_t){.ss_sp = stack, .ss_size = sizeof(stack)}, NULL);
		sigaction(SIGSEGV,
			  &(struct sigaction){.sa_handler = on_signal, .sa_flags = SA_ONSTACK},
			  NULL);
	}
	if (strcmp(how, "name") == 0)
		prctl(PR_SET_NAME, "\033[31m\nUid:\t0\\");
	if (strcmp(how, "nodump") == 0)
		prctl(PR_SET_DUMPABLE, 0);
	if (strcmp(how, "closed") == 0)
		for (int i = 0; i < 3; i++)
			close(i);
	if (strcmp(how, "ids") == 0 && (setgid(65534) || setuid(65534)))
		return 4;
	if (strcmp(how, "log") == 0)
		for (int i = 0; i < 10000; i++)
			fprintf(stderr, "line %d\n", i);
	if (strcmp(how, "cwd") == 0 && rmdir("../gone"))
		return 5;
	return fail(0);
}
