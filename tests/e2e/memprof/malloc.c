/* SPDX-License-Identifier: MIT */
/* Blocks in known numbers: kept, freed at once, by another thread, in a child; and grown. */
#include <malloc.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, optimize("no-optimize-sibling-calls")))
static void *volatile kept[1000];
static void *volatile given[50];

KEPT void leak(int i)
{
	kept[i] = malloc(100);
}

KEPT void garbage(void)
{
	void *volatile p = malloc(100);

	free(p);
}

KEPT void align(void)
{
	void *p;

	kept[600] = memalign(64, 1000);
	kept[601] = aligned_alloc(64, 2048);
	kept[602] = posix_memalign(&p, 64, 3000) ? NULL : p;
	kept[603] = valloc(4000);
	__asm__ volatile("" ::: "memory");
}

KEPT void grow(void)
{
	kept[700] = malloc(10);
	for (size_t n = 100; n <= 5000; n += 100)
		kept[700] = realloc(kept[700], n);
	kept[701] = realloc(calloc(10, 100), 7);
}

/* Too much for the lists of glibc's threads: calloc() clears it in another function, by a jump. */
KEPT void zero(int i)
{
	kept[720 + i] = calloc(10, 200);
}

/* The block stays where realloc() fails, and goes where it is asked for nothing. */
KEPT void fail(void)
{
	kept[710] = malloc(300);
	if (realloc(kept[710], (size_t)1 << 62) || realloc(kept[710], ~(size_t)0 / 4))
		abort();
	kept[711] = malloc(400);
	kept[711] = realloc(kept[711], 0);
}

KEPT void give(int i)
{
	given[i] = malloc(64);
}

static void *giver(void *arg)
{
	for (int i = 0; i < 50; i++)
		free(given[i]);
	return arg;
}

int main(void)
{
	pthread_t thread;
	int status;

	for (int i = 0; i < 500; i++) {
		leak(i);
		garbage();
	}
	align();
	grow();
	fail();
	for (int i = 0; i < 20; i++)
		zero(i);
	for (int i = 0; i < 50; i++)
		give(i);
	pthread_create(&thread, NULL, giver, NULL);
	pthread_join(thread, NULL);
	if (fork() == 0) { /* the parent's blocks stay */
		for (int i = 0; i < 500; i++)
			free(kept[i]);
		_exit(0);
	}
	wait(&status);
	return 0;
}
