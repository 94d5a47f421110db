/* SPDX-License-Identifier: MIT */
/*
 * Calls work() in the ways that argv[1] names, argv[2] times in each loop, and says how often.
 *
 * What runs with the thread pointer of another thread touches nothing of the C library.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define STACK (256 << 10)

static volatile int total;
static atomic_long ncalls;
static long n;
static atomic_int has_ended, is_told, wants_end;
static unsigned long owners_block;

__attribute__((noinline, noipa)) int work(int i)
{
	total += i; /* too short for a jump without it */
	return i + 1;
}

static void loop(long times)
{
	for (long i = 0; i < times; i++)
		(void)work(1);
	ncalls += times;
}

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static void told(void)
{
	printf("begin\n");
	fflush(stdout);
	if (getchar() == EOF)
		exit(1);
	is_told = 1;
}

/* ---- tasks with the thread pointer of their maker -------------------------------------------- */

static int twin(void *arg)
{
	(void)arg;
	loop(n);
	has_ended++;
	syscall(SYS_exit, 0);
	return 0;
}

static void twin_make(int (*run)(void *), int flags)
{
	char *stack = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (stack == MAP_FAILED || clone(run, stack + STACK, CLONE_VM | flags, NULL) < 0)
		die("clone");
}

#define THREAD (CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM)

static void twins(int flags)
{
	loop(n);
	for (int i = 1; i <= 3; i++) {
		twin_make(twin, flags);
		loop(n);
		while (has_ended < i)
			;
	}
}

/* ---- signals --------------------------------------------------------------------------------- */

static void on_signal(int sig)
{
	(void)sig;
	loop(3);
}

static void signals_start(void)
{
	struct itimerval every = {{0, 300}, {0, 300}};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART | SA_NODEFER};

	sigaction(SIGPROF, &sa, NULL);
	setitimer(ITIMER_PROF, &every, NULL);
}

static void signals_stop(void)
{
	setitimer(ITIMER_PROF, &(struct itimerval){0}, NULL);
}

/* ---- threads and children -------------------------------------------------------------------- */

static void *thread_run(void *arg)
{
	loop(n);
	return arg;
}

static void vforks(int times)
{
	for (int i = 0; i < times; i++) {
		pid_t child = vfork();

		if (!child) {
			loop(100);
			_exit(0);
		}
		(void)waitpid(child, NULL, 0);
		loop(100);
	}
}

static void *vforks_run(void *arg)
{
	vforks(100);
	return arg;
}

static void threads(void *(*run)(void *), int some)
{
	pthread_t t[8];

	for (int i = 0; i < some; i++)
		if (pthread_create(&t[i], NULL, run, NULL))
			die("pthread_create");
	for (int i = 0; i < some; i++)
		pthread_join(t[i], NULL);
}

/* The thread that uses a CPU most, and so becomes the owner. */
static void *busy_run(void *arg)
{
	owners_block = (unsigned long)pthread_self();
	while (!is_told)
		;
	loop(n);
	while (wants_end)
		loop(1000);
	return arg;
}

/* Runs with the thread pointer of that thread. */
static void *liar_run(void *arg)
{
	unsigned long own = (unsigned long)pthread_self();

	syscall(SYS_arch_prctl, ARCH_SET_FS, owners_block);
	loop(n);
	syscall(SYS_arch_prctl, ARCH_SET_FS, own);
	wants_end = 0;
	return arg;
}

/* ---- modes ----------------------------------------------------------------------------------- */

static void owner_ends(void)
{
	pthread_t busy;

	pthread_create(&busy, NULL, busy_run, NULL);
	told();
	pthread_join(busy, NULL);
	for (int i = 0; i < 20; i++) /* the stack of the owner, and its block, are a new thread's */
		threads(thread_run, 1 + i % 4);
}

static void owner_is_claimed(void)
{
	pthread_t busy;

	wants_end = 1;
	pthread_create(&busy, NULL, busy_run, NULL);
	told();
	threads(liar_run, 1);
	pthread_join(busy, NULL);
}

static int early_twin(void *arg)
{
	while (!is_told)
		;
	return twin(arg);
}

static void twin_is_there(void)
{
	twin_make(early_twin, THREAD);
	told();
	loop(n);
	while (!has_ended)
		;
}

static void signals(void)
{
	told();
	signals_start();
	loop(n);
	signals_stop();
}

static void children(void)
{
	told();
	vforks(2000);
	threads(vforks_run, 4);
}

static void churn(void)
{
	told();
	for (int i = 0; i < 50; i++) {
		threads(thread_run, 4);
		loop(n);
	}
}

static void twins_of(int flags)
{
	told();
	twins(flags);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";

	n = argc > 2 ? atol(argv[2]) : 0;
	if (!strcmp(mode, "thread")) {
		twins_of(THREAD);
	} else if (!strcmp(mode, "process")) {
		twins_of(SIGCHLD);
	} else if (!strcmp(mode, "early")) {
		twin_is_there();
	} else if (!strcmp(mode, "signals")) {
		signals();
	} else if (!strcmp(mode, "vfork")) {
		children();
	} else if (!strcmp(mode, "churn")) {
		churn();
	} else if (!strcmp(mode, "ends")) {
		owner_ends();
	} else if (!strcmp(mode, "lies")) {
		owner_is_claimed();
	} else if (!strcmp(mode, "exec")) {
		told();
		execl("/proc/self/exe", argv[0], "executed", argv[2], NULL);
		die("exec");
	} else if (!strcmp(mode, "executed")) {
		twins(THREAD);
	}
	printf("%ld\n", (long)ncalls);
	fflush(stdout);
	(void)getchar();
	return total == 77;
}
