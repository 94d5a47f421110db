/* SPDX-License-Identifier: MIT */
/* Takes and gives back objects in known numbers: take(size, place) and give(object). */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char reused[64], never[64];

__attribute__((noinline)) void *take(unsigned long size, int place)
{
	return place == 5 ? reused : malloc(size);
}

__attribute__((noinline)) void give(void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
	if (p != reused && p != never)
		free(p);
}

static void *giver(void *arg)
{
	void **objects = arg;

	for (int i = 0; i < 50; i++)
		give(objects[i]);
	return NULL;
}

__attribute__((noinline)) static void all(void)
{
	void *objects[50], *kept[10];
	pthread_t thread;
	int status;
	pid_t child;

	for (int i = 0; i < 500; i++) {
		if (i < 100)
			(void)take(24, 1);
		give(take(64, 2));
	}
	for (int i = 0; i < 10; i++) { /* realloc() up */
		kept[i] = take(40, 3);
		give(kept[i]);
		kept[i] = take(100, 3);
	}
	for (int i = 0; i < 50; i++)
		objects[i] = take(8, 4);
	pthread_create(&thread, NULL, giver, objects);
	pthread_join(thread, NULL);
	for (unsigned long i = 1; i <= 20; i++) /* the same address again and again */
		(void)take(i, 5);
	give(never); /* nobody has taken it */
	child = fork();
	if (child == 0) {
		for (int i = 0; i < 10; i++)
			give(kept[i]); /* the parent's stay */
		for (int i = 0; i < 5; i++)
			(void)take(7, 7);
		_exit(0);
	}
	waitpid(child, &status, 0);
}

/* Takes what others give back, at the same addresses, and leaves ten. */
static void *racer(void *arg)
{
	void *mine[8] = {0};

	for (int i = 0; i < 400; i++) {
		if (mine[i % 8])
			give(mine[i % 8]);
		mine[i % 8] = take(32, 8);
	}
	for (int i = 0; i < 8; i++)
		give(mine[i]);
	for (int i = 0; i < 10; i++)
		(void)take(32, 9);
	return arg;
}

static int race(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, racer, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	void *objects[100];
	char line[8];

	if (argc < 2) {
		all();
		return 0;
	}
	if (strcmp(argv[1], "race") == 0)
		return race();
	for (int i = 0; i < 1000 && strcmp(argv[1], "many") == 0; i++)
		(void)take(16, 6);
	if (strcmp(argv[1], "many") == 0)
		return 0;
	for (int i = 0; i < 100 && strcmp(argv[1], "again") != 0; i++)
		objects[i] = take(24, 1);
	if (strcmp(argv[1], "exec") == 0) {
		execl(argv[0], argv[0], "again", NULL);
		return 1;
	}
	if (strcmp(argv[1], "wait") != 0) {
		for (int i = 0; i < 3; i++)
			(void)take(5, 2);
		return 0;
	}
	puts("taken");
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 50; i++)
		give(objects[i]);
	return 0;
}
