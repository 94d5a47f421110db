/* SPDX-License-Identifier: MIT */
/*
 * Uses locks of the C library an exact number of times: e2e/declared/plockstat.sh has the numbers.
 * With a number, it acquires and releases one mutex so often, and prints the nanoseconds of a pair.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CHECK(x)                                                                                   \
	do {                                                                                       \
		if (!(x)) {                                                                        \
			fprintf(stderr, "line %d: %s\n", __LINE__, #x);                            \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static pthread_mutex_t plain = PTHREAD_MUTEX_INITIALIZER, recursive, strict, inheriting;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static _Atomic pid_t other;

static void mutex_make(pthread_mutex_t *m, int type, int protocol)
{
	pthread_mutexattr_t a;

	CHECK(!pthread_mutexattr_init(&a));
	CHECK(!pthread_mutexattr_settype(&a, type));
	CHECK(!pthread_mutexattr_setprotocol(&a, protocol));
	CHECK(!pthread_mutex_init(m, &a));
}

static void *locker(void *m)
{
	other = (pid_t)syscall(SYS_gettid);
	CHECK(!pthread_mutex_lock(m));
	CHECK(!pthread_mutex_unlock(m));
	return NULL;
}

static void *reader(void *l)
{
	other = (pid_t)syscall(SYS_gettid);
	CHECK(!pthread_rwlock_rdlock(l));
	CHECK(!pthread_rwlock_unlock(l));
	return NULL;
}

static void *writer(void *l)
{
	other = (pid_t)syscall(SYS_gettid);
	CHECK(!pthread_rwlock_wrlock(l));
	CHECK(!pthread_rwlock_unlock(l));
	return NULL;
}

/* Waits until the other thread sleeps in futex(). */
static void other_wait(void)
{
	long nr = -1;

	while (nr != SYS_futex) {
		char path[64];
		FILE *f;

		sched_yield();
		(void)snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", (int)other);
		f = other ? fopen(path, "re") : NULL;
		if (f && fscanf(f, "%ld", &nr) != 1)
			nr = -1;
		if (f)
			(void)fclose(f);
	}
}

/* Another thread asks for the lock, which this thread holds, waits for it, and gets it. */
static void contend(void *(*func)(void *), void *lock)
{
	pthread_t t;

	other = 0;
	CHECK(!pthread_create(&t, NULL, func, lock));
	other_wait();
	CHECK(!(func == locker ? pthread_mutex_unlock(lock) : pthread_rwlock_unlock(lock)));
	CHECK(!pthread_join(t, NULL));
}

static struct timespec soon(void)
{
	struct timespec t;

	CHECK(!clock_gettime(CLOCK_REALTIME, &t));
	t.tv_nsec += 10000000;
	t.tv_sec += t.tv_nsec / 1000000000;
	t.tv_nsec %= 1000000000;
	return t;
}

static void *in_vain(void *m)
{
	struct timespec t = soon();

	CHECK(pthread_mutex_timedlock(m, &t) == ETIMEDOUT);
	CHECK(pthread_mutex_trylock(m) == EBUSY);
	return NULL;
}

static void mutexes(void)
{
	pthread_mutex_t *fresh = mmap(NULL, sizeof(*fresh), PROT_READ | PROT_WRITE,
				      MAP_ANONYMOUS | MAP_PRIVATE, -1, 0);
	struct timespec t;
	pthread_t other_thread;

	for (int i = 0; i < 100; i++)
		locker(&plain);
	for (int i = 0; i < 3; i++) {
		CHECK(!pthread_mutex_lock(&plain));
		contend(locker, &plain);
	}
	locker(fresh); /* memory that nobody has touched */
	for (int i = 0; i < 4; i++) {
		CHECK(!pthread_mutex_lock(&recursive));
		locker(&recursive);
		CHECK(!pthread_mutex_unlock(&recursive));
	}
	CHECK(!pthread_mutex_lock(&strict));
	CHECK(pthread_mutex_lock(&strict) == EDEADLK);
	CHECK(!pthread_mutex_unlock(&strict));
	CHECK(pthread_mutex_unlock(&strict) == EPERM);
	CHECK(!pthread_mutex_lock(&inheriting));
	contend(locker, &inheriting);
	CHECK(!pthread_mutex_lock(&plain));
	CHECK(!pthread_create(&other_thread, NULL, in_vain, &plain));
	CHECK(!pthread_join(other_thread, NULL));
	t = soon();
	CHECK(pthread_cond_timedwait(&cond, &plain, &t) == ETIMEDOUT);
	CHECK(!pthread_mutex_unlock(&plain));
	CHECK(!pthread_mutex_trylock(&plain));
	CHECK(!pthread_mutex_unlock(&plain));
}

static void rwlocks(void)
{
	for (int i = 0; i < 5; i++)
		reader(&rw);
	for (int i = 0; i < 6; i++)
		writer(&rw);
	CHECK(!pthread_rwlock_tryrdlock(&rw));
	CHECK(pthread_rwlock_trywrlock(&rw) == EBUSY);
	reader(&rw);
	contend(writer, &rw);
	CHECK(!pthread_rwlock_wrlock(&rw));
	CHECK(pthread_rwlock_rdlock(&rw) == EDEADLK);
	contend(reader, &rw);
	CHECK(!pthread_rwlock_wrlock(&rw));
	contend(writer, &rw);
}

static void pairs_measure(long n)
{
	struct timespec from, to;

	CHECK(!clock_gettime(CLOCK_MONOTONIC, &from));
	for (long i = 0; i < n; i++) {
		CHECK(!pthread_mutex_lock(&plain));
		CHECK(!pthread_mutex_unlock(&plain));
	}
	CHECK(!clock_gettime(CLOCK_MONOTONIC, &to));
	printf("%.1f\n",
	       ((double)(to.tv_sec - from.tv_sec) * 1e9 + (double)(to.tv_nsec - from.tv_nsec)) /
		       (double)n);
}

int main(int argc, char **argv)
{
	if (argc > 1) {
		pairs_measure(atol(argv[1]));
		return 0;
	}
	mutex_make(&recursive, PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE);
	mutex_make(&strict, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_PRIO_NONE);
	mutex_make(&inheriting, PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT);
	mutexes();
	rwlocks();
	printf("%p %p %p %p %p\n", (void *)&plain, (void *)&recursive, (void *)&strict,
	       (void *)&inheriting, (void *)&rw);
	return 0;
}
