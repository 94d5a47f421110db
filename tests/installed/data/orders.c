/* SPDX-License-Identifier: MIT */
/*
 * An order that leads to a list of items, memory to which nothing points, and two threads that
 * wait for each other's mutex; "ready" when all of it is there.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct item {
	struct item *next;
	int number;
	char name[8];
};

struct order {
	struct item *items;
	long id;
	unsigned is_paid : 1;
};

struct order *order;
pthread_mutex_t stock = PTHREAD_MUTEX_INITIALIZER, till = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;

static void *wait_with(pthread_mutex_t *own, pthread_mutex_t *other)
{
	pthread_mutex_lock(own);
	pthread_barrier_wait(&both);
	pthread_mutex_lock(other);
	return NULL;
}

static void *cook(void *arg)
{
	return wait_with(&stock, &till);
}

static void *cashier(void *arg)
{
	return wait_with(&till, &stock);
}

__attribute__((noinline)) int known_here(void)
{
	char line[8];

	puts("ready");
	fflush(stdout);
	return read(0, line, sizeof(line)) > 0;
}

__attribute__((noinline)) int known_outer(int id)
{
	order = calloc(1, sizeof(*order));
	order->id = id;
	order->is_paid = 1;
	for (int n = 99; n >= 0; n--) {
		struct item *item = calloc(1, sizeof(*item));

		item->next = order->items;
		item->number = n;
		strcpy(item->name, "bread");
		order->items = item;
	}
	for (int n = 0; n < 7; n++)
		memset(malloc(3000), 'x', 3000);
	while (stock.__data.__lock != 2 || till.__data.__lock != 2) /* 2: a thread waits */
		sched_yield();
	return known_here() + 1;
}

int main(void)
{
	pthread_t t;

	pthread_barrier_init(&both, NULL, 2);
	pthread_create(&t, NULL, cook, NULL);
	pthread_setname_np(t, "cook");
	pthread_create(&t, NULL, cashier, NULL);
	pthread_setname_np(t, "cashier");
	return known_outer(4711) + 1;
}
