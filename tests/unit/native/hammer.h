/* SPDX-License-Identifier: MIT */
/*
 * Threads that call the blob as fast as they can, each interrupted by a timer whose handler calls
 * it again. CPUs are chosen at random for each call, as if a thread moved between any two
 * instructions.
 */
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "native/env.h"
#include "tap.h"

/* Fails a check if there is an error. */
__attribute__((unused)) static bool env_ok(struct err *e, const char *what)
{
	if (e)
		printf("# %s: %s\n", what, err_text(e));
	if (e)
		ok(false, "%s", what);
	err_destroy(e);
	return !e;
}

#define HAMMER_THREADS 3
#define HAMMER_PERIOD  100000 /* ns between two signals */

struct hammer;

/* One operation; is_nested: in the handler, which has interrupted another one. */
typedef void hammer_op_f(struct hammer *h, uint64_t *seed, uint32_t writer);

struct hammer {
	struct env *env;
	hammer_op_f *op;
	uint64_t n; /* operations of a thread, without those of its handler */
	uint32_t nrunning;
	uint64_t nsignals;
	pthread_t threads[HAMMER_THREADS];
	void *arg;
};

struct hammer_thread {
	struct hammer *h;
	uint64_t seed, handler_seed;
	uint32_t number; /* of the thread; its handler is writer number + HAMMER_THREADS */
};
static __thread struct hammer_thread *hammer_self;

static void hammer_handle(int sig)
{
	struct hammer_thread *t = hammer_self;

	if (!t)
		return;
	(void)__atomic_fetch_add(&t->h->nsignals, 1, __ATOMIC_RELAXED);
	t->h->op(t->h, &t->handler_seed, t->number + HAMMER_THREADS);
}

static void *hammer_run(void *arg)
{
	struct hammer_thread *t = arg;
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	struct itimerspec period = {{0, HAMMER_PERIOD}, {0, HAMMER_PERIOD}};
	timer_t timer;

	ev._sigev_un._tid = (int)syscall(SYS_gettid);
	hammer_self = t;
	if (timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0 ||
	    timer_settime(timer, 0, &period, NULL) != 0)
		BUG("timer");
	for (uint64_t i = 0; i < t->h->n; i++)
		t->h->op(t->h, &t->seed, t->number);
	(void)timer_delete(timer);
	hammer_self = NULL;
	(void)__atomic_fetch_sub(&t->h->nrunning, 1, __ATOMIC_RELEASE);
	return NULL;
}

static struct hammer_thread hammer_threads[HAMMER_THREADS];

static void hammer_start(struct hammer *h)
{
	struct sigaction sa = {.sa_handler = hammer_handle, .sa_flags = SA_RESTART};

	(void)sigaction(SIGALRM, &sa, NULL);
	h->nrunning = HAMMER_THREADS;
	for (uint32_t i = 0; i < HAMMER_THREADS; i++) {
		hammer_threads[i] = (struct hammer_thread){h, 0x1234567 + i * 77, 0x7654321 + i, i};
		if (pthread_create(&h->threads[i], NULL, hammer_run, &hammer_threads[i]) != 0)
			BUG("pthread_create");
	}
}

__attribute__((unused)) static bool hammer_runs(const struct hammer *h)
{
	return __atomic_load_n(&h->nrunning, __ATOMIC_ACQUIRE) != 0;
}

static void hammer_join(struct hammer *h)
{
	for (uint32_t i = 0; i < HAMMER_THREADS; i++)
		(void)pthread_join(h->threads[i], NULL);
}
