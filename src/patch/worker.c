/* SPDX-License-Identifier: MIT */
/* Threads of ours that hold processes: with their end, the kernel lets all threads go. */
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>

#include "patch/patch_impl.h"

#define STACK_SIZE (1 << 20)
#define BUSY_NS	   50000000

struct worker {
	void (*run)(void *ctx);
	void *ctx;
};

static void *worker_main(void *arg)
{
	const struct worker *w = arg;

	/* a process that is stopped must not wait for a CPU; an ordinary user may not do it */
	(void)setpriority(PRIO_PROCESS, (id_t)gettid(), -20);
	/* nor for our sleep between two looks at its threads, to which the kernel adds 50 us */
	(void)prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
	w->run(w->ctx);
	return NULL;
}

bool busy_wait(uint64_t until, const atomic_int *is_interrupted)
{
	static const struct timespec pause = {.tv_nsec = BUSY_NS};

	if (now_ns() >= until || (is_interrupted && *is_interrupted))
		return false;
	(void)nanosleep(&pause, NULL);
	return true;
}

/* Ctrl-Z waits until the process runs again: whom a thread of ours holds would stand until fg. */
static void stops_block(sigset_t *ret_old)
{
	sigset_t stops;

	sigemptyset(&stops);
	sigaddset(&stops, SIGTSTP);
	sigaddset(&stops, SIGTTIN);
	sigaddset(&stops, SIGTTOU);
	(void)pthread_sigmask(SIG_BLOCK, &stops, ret_old);
}

struct err *worker_run(void (*run)(void *ctx), void *ctx)
{
	struct worker w = {run, ctx};
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old, before;
	int sys;

	sigfillset(&all);
	stops_block(&before);
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	sys = pthread_create(&thread, &attr, worker_main, &w);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	(void)pthread_attr_destroy(&attr);
	if (!sys)
		(void)pthread_join(thread, NULL);
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return sys ? err_sys(sys, "cannot start the thread that holds the process") : NULL;
}
