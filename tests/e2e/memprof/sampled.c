/* SPDX-License-Identifier: MIT */
/*
 * Blocks for a sample: kept, grown, freed at once, freed by another thread, in a child, made and
 * freed by threads that end.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, optimize("no-optimize-sibling-calls")))
#define N     20000

static void *volatile kept[N], *volatile given[N], *volatile grown[1000], *volatile zeroed[N];
static void *aligned[2000];

APART void leak(int i)
{
	kept[i] = malloc(1000);
}

APART void zero(int i)
{
	zeroed[i] = calloc(10, 50);
}

/* memprof leaves these out where it samples glibc's malloc. */
APART void align(int i)
{
	if (posix_memalign(&aligned[i], 64, 3000))
		abort();
}

APART void garbage(void)
{
	void *volatile p = malloc(1000);

	free(p);
}

/* Only the last size of a block counts. */
APART void grow(int i)
{
	grown[i] = malloc(10);
	for (size_t n = 500; n <= 5000; n += 500)
		grown[i] = realloc(grown[i], n);
}

APART void give(int i)
{
	given[i] = malloc(1000);
}

static void *giver(void *arg)
{
	for (int i = 0; i < N; i++)
		free(given[i]);
	return arg;
}

APART void thread_garbage(void)
{
	void *volatile list[100];

	for (int i = 0; i < 100; i++)
		list[i] = malloc(2000);
	for (int i = 0; i < 100; i++)
		free(list[i]);
}

static void *worker(void *arg)
{
	for (int i = 0; i < 10; i++)
		thread_garbage();
	return arg;
}

APART void thread_run(void *(*f)(void *), int n)
{
	pthread_t t[8];

	for (int i = 0; i < n; i++)
		pthread_create(&t[i], NULL, f, NULL);
	for (int i = 0; i < n; i++)
		pthread_join(t[i], NULL);
}

int main(void)
{
	int status;

	for (int i = 0; i < N; i++) {
		leak(i);
		zero(i);
		garbage();
		give(i);
	}
	for (int i = 0; i < 1000; i++)
		grow(i);
	for (int i = 0; i < 2000; i++)
		align(i);
	thread_run(giver, 1);
	for (int i = 0; i < 10; i++)
		thread_run(worker, 8);
	if (fork() == 0) { /* the parent's blocks stay */
		for (int i = 0; i < N; i++)
			free(kept[i]);
		_exit(0);
	}
	wait(&status);
	return 0;
}
