/* SPDX-License-Identifier: MIT */
/* Moves a thread between the ordinary class and real time (realtime.h). */
#include "base/realtime.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>

#define SLICE_NS 10000000ll  /* CPU time in real time, without a pause */
#define SHARE	 5	     /* one part in so many of the time */
#define SAVED_NS 300000000ll /* what can be saved up */

#define STACK_SIZE (256u << 10)
#define NICE_MOST  (-20)
#define WAKE	   SIGXCPU /* blocked in the supervisor, which is the only thread to get it */

/* Linux include/uapi/linux/sched/types.h: struct sched_attr, SCHED_ATTR_SIZE_VER0 */
struct class_attr {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime_ns, deadline_ns, period_ns;
};

#define RESET_ON_FORK 1u /* SCHED_FLAG_RESET_ON_FORK */

enum class { CLASS_ORDINARY, CLASS_RAISED, CLASS_SUPERVISOR };

struct realtime {
	pthread_t supervisor;
	pid_t tid;	 /* the thread that has the share */
	clockid_t clock; /* its CPU time */
	bool is_nice;	 /* real time is refused: nice -20 */
	int64_t left_ns; /* of the share; below 0 after a slice that was too long */
	_Atomic pid_t supervisor_tid;
	_Atomic uint64_t lent_ns; /* CPU time of processes that the class was lent to */
	uint64_t lent_from;	  /* their CPU time when it was lent; UINT64_MAX: it is not lent */
	atomic_bool is_raised, is_hurried, is_over;
};

/* The share of the calling thread. */
static _Thread_local struct realtime *own;

static bool class_set(pid_t tid, enum class class, bool is_nice)
{
	struct class_attr a = {.size = sizeof(a), .policy = SCHED_OTHER, .flags = RESET_ON_FORK};

	if (class != CLASS_ORDINARY && is_nice) {
		a.nice = NICE_MOST;
	} else if (class != CLASS_ORDINARY) {
		a.policy = SCHED_RR;
		a.priority = class == CLASS_SUPERVISOR ? 2 : 1;
	}
	return syscall(SYS_sched_setattr, tid, &a, 0) == 0;
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) == 0
		       ? (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec
		       : 0;
}

/* ---- the supervisor -------------------------------------------------------------------------- */

/* Waits for a wake-up, or until time is up. */
static void wait_ns(uint64_t ns)
{
	struct timespec ts = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, WAKE);
	while (sigtimedwait(&set, NULL, &ts) < 0 && errno == EINTR)
		;
}

/*
 * Waits until the thread has been in real time for a slice. A long sleep bounds what a lost signal
 * of the timer could do.
 */
static void slice_wait(const struct realtime *r, timer_t timer, uint64_t from)
{
	struct itimerspec slice = {.it_value = {0, SLICE_NS}};

	while (!atomic_load(&r->is_over) && !atomic_load(&r->is_hurried)) {
		uint64_t used = clock_ns(r->clock) - from + atomic_load(&r->lent_ns);

		if (used >= (uint64_t)SLICE_NS)
			return;
		slice.it_value.tv_nsec = (long)((uint64_t)SLICE_NS - used);
		(void)timer_settime(timer, 0, &slice, NULL);
		wait_ns(60000000000ull);
	}
}

static void *supervisor_run(void *arg)
{
	struct realtime *r = arg;
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = WAKE};
	uint64_t at = now_ns(), now, from, used;
	timer_t timer;

	if (r->is_nice)
		(void)class_set(0, CLASS_SUPERVISOR, true);
	ev._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	atomic_store(&r->supervisor_tid, ev._sigev_un._tid);
	if (timer_create(r->clock, &ev, &timer) != 0) {
		(void)class_set(r->tid, CLASS_ORDINARY, r->is_nice);
		return NULL;
	}
	from = clock_ns(r->clock);
	while (!atomic_load(&r->is_over)) {
		if (!class_set(r->tid, CLASS_RAISED, r->is_nice))
			break; /* the thread has ended, or may not be in this class any more */
		atomic_store(&r->is_raised, true);
		slice_wait(r, timer, from);
		atomic_store(&r->is_raised, false);
		(void)class_set(r->tid, CLASS_ORDINARY, r->is_nice);
		used = clock_ns(r->clock) - from + atomic_exchange(&r->lent_ns, 0);
		now = now_ns();
		r->left_ns = MIN(r->left_ns + (int64_t)(now - at) / SHARE, SAVED_NS);
		r->left_ns = MAX(r->left_ns - (int64_t)used, -SAVED_NS);
		at = now;
		if (!atomic_load(&r->is_over) && !atomic_load(&r->is_hurried))
			wait_ns((uint64_t)MAX((SLICE_NS - r->left_ns) * SHARE, SLICE_NS));
		if (atomic_exchange(&r->is_hurried, false))
			r->left_ns = SAVED_NS;
		from = clock_ns(r->clock);
	}
	(void)timer_delete(timer);
	return NULL;
}

/* Starts the supervisor, in its class from its first instruction: it must not wait for a CPU. */
static bool supervisor_start(struct realtime *r)
{
	struct sched_param param = {.sched_priority = 2};
	pthread_attr_t attr;
	sigset_t all, before;
	bool is_on;

	if (pthread_attr_init(&attr) != 0)
		return false;
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	if (!r->is_nice) {
		(void)pthread_attr_setinheritsched(&attr, PTHREAD_EXPLICIT_SCHED);
		(void)pthread_attr_setschedpolicy(&attr, SCHED_RR);
		(void)pthread_attr_setschedparam(&attr, &param);
	}
	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	is_on = pthread_create(&r->supervisor, &attr, supervisor_run, r) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	(void)pthread_attr_destroy(&attr);
	return is_on;
}

static void supervisor_wake(const struct realtime *r)
{
	pid_t tid = atomic_load(&r->supervisor_tid);

	if (tid)
		(void)syscall(SYS_tgkill, getpid(), tid, WAKE);
}

/* ---- a thread's share ------------------------------------------------------------------------ */

/* Nobody has chosen a class or a nice value for the calling thread. */
static bool is_ordinary(void)
{
	int nice;

	errno = 0;
	nice = getpriority(PRIO_PROCESS, 0);
	return (sched_getscheduler(0) & ~SCHED_RESET_ON_FORK) == SCHED_OTHER && nice == 0 &&
	       errno == 0;
}

struct realtime *realtime_begin(void)
{
	struct realtime *r;

	if (own || !is_ordinary())
		return NULL;
	r = xcalloc(1, sizeof(*r));
	r->tid = (pid_t)syscall(SYS_gettid);
	r->left_ns = SAVED_NS;
	r->lent_from = UINT64_MAX;
	r->is_nice = !class_set(r->tid, CLASS_RAISED, false);
	if ((r->is_nice && !class_set(r->tid, CLASS_RAISED, true)) ||
	    pthread_getcpuclockid(pthread_self(), &r->clock) != 0 || !supervisor_start(r)) {
		(void)class_set(r->tid, CLASS_ORDINARY, false);
		free(r);
		return NULL;
	}
	own = r;
	return r;
}

void realtime_end(struct realtime *r)
{
	if (!r)
		return;
	atomic_store(&r->is_over, true);
	supervisor_wake(r);
	(void)pthread_join(r->supervisor, NULL);
	(void)class_set(r->tid, CLASS_ORDINARY, r->is_nice);
	if (own == r)
		own = NULL;
	free(r);
}

void realtime_hurry(struct realtime *r)
{
	if (!r)
		return;
	atomic_store(&r->is_hurried, true);
	supervisor_wake(r);
}

/* ---- processes that work for the thread ------------------------------------------------------ */

/* The CPU time of another process: Linux include/linux/posix-timers_types.h, CPUCLOCK_SCHED. */
static clockid_t clock_of(pid_t pid)
{
	return (clockid_t)(~(unsigned int)pid << 3 | 2);
}

void realtime_lend(pid_t pid)
{
	if (!own || !atomic_load(&own->is_raised) || !class_set(pid, CLASS_RAISED, own->is_nice))
		return;
	own->lent_from = clock_ns(clock_of(pid));
}

void realtime_take_back(pid_t pid)
{
	uint64_t now;

	if (!own || own->lent_from == UINT64_MAX)
		return;
	(void)class_set(pid, CLASS_ORDINARY, own->is_nice);
	now = clock_ns(clock_of(pid));
	if (now > own->lent_from)
		atomic_fetch_add(&own->lent_ns, now - own->lent_from);
	own->lent_from = UINT64_MAX;
}
