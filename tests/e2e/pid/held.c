/* SPDX-License-Identifier: MIT */
/*
 * A program whose initialiser does what the environment variable DO says, before main(): held.py
 * has it held by dtrace meanwhile. It prints what it finds wrong, or one line that all is well.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int nsignals, is_over;
static volatile long sum;
static const char *mode = "";
static pid_t child;
static pthread_t threads[4];

/* Compares the code in memory with that of the files it is from. */
static int text_differs(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4096], path[4096], perms[8];
	unsigned long start, end, off;
	int bad = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx %7s %lx %*s %*s %4095s", &start, &end, perms, &off,
			   path) != 5 ||
		    perms[2] != 'x' || path[0] != '/')
			continue;
		char *file = calloc(1, end - start);
		int fd = open(path, O_RDONLY);

		if (fd < 0 || pread(fd, file, end - start, (off_t)off) <= 0)
			bad = printf("cannot read %s\n", path);
		else if (memcmp(file, (void *)start, end - start) != 0)
			bad = printf("the code of %s has changed\n", path);
		close(fd);
		free(file);
	}
	fclose(f);
	return bad;
}

static void on_signal(int sig)
{
	(void)sig;
	nsignals++;
}

static void *spin(void *arg)
{
	(void)arg;
	while (!is_over)
		sum++;
	return NULL;
}

static void *spawns(void *arg)
{
	(void)arg;
	for (int i = 0; i < 5; i++) {
		char *argv[] = {"true", NULL}, *none[] = {NULL};
		pid_t pid;
		int status;

		if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, none) ||
		    waitpid(pid, &status, 0) != pid || status)
			printf("a spawned program failed\n");
		else
			sum++;
	}
	return NULL;
}

static void *executes(void *arg)
{
	setenv("DO", "plain", 1);
	execl("/proc/self/exe", "held", NULL);
	return arg;
}

static void filter(void)
{
	struct sock_filter insns[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog prog = {1, insns};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		printf("no seccomp: %s\n", strerror(errno));
}

static int is(const char *word)
{
	return strcmp(mode, word) == 0;
}

__attribute__((constructor, noinline)) void held_init(void)
{
	struct itimerval often = {{0, 200}, {0, 200}};

	mode = getenv("DO") ? getenv("DO") : "plain";
	if (is("exit"))
		_exit(3);
	if (is("die"))
		raise(SIGRTMIN + 6);
	if (is("exec"))
		executes(NULL);
	if (is("exec-thread")) {
		pthread_create(&threads[0], NULL, executes, NULL);
		pthread_join(threads[0], NULL);
	}
	if (is("fork"))
		child = fork();
	if (is("spawn"))
		spawns(NULL);
	if (is("spawn-thread"))
		pthread_create(&threads[0], NULL, spawns, NULL);
	for (int i = 0; is("threads") && i < 4; i++)
		pthread_create(&threads[i], NULL, spin, NULL);
	if (is("handlers") || is("timer")) {
		signal(SIGSEGV, on_signal);
		signal(SIGTRAP, on_signal);
		signal(SIGALRM, on_signal);
	}
	if (is("handlers")) {
		raise(SIGSEGV);
		raise(SIGTRAP);
	}
	if (is("timer"))
		setitimer(ITIMER_REAL, &often, NULL);
	while (is("timer") && nsignals < 20)
		;
	if (is("stop")) {
		raise(SIGSTOP);
		raise(SIGTSTP);
	}
	if (is("seccomp"))
		filter();
	while (is("pause"))
		pause();
}

int main(void)
{
	int status = 0, bad = text_differs();

	if (is("fork") && !child)
		_exit(bad);
	if (child && (waitpid(child, &status, 0) != child || status))
		bad = printf("the child has ended with status %x\n", status);
	if (is("handlers") && nsignals != 2)
		bad = printf("%d signals instead of 2\n", nsignals);
	is_over = 1;
	for (int i = 0; i < 4; i++)
		if (threads[i])
			pthread_join(threads[i], NULL);
	if (is("spawn-thread") && sum != 5)
		bad = printf("%ld of 5 programs\n", sum);
	if (!bad)
		printf("well %s\n", mode);
	fflush(stdout);
	return bad != 0;
}
