/* SPDX-License-Identifier: MIT */
/* What /proc/PID/stat says of a process, whatever its name is. */
#include "target/code.h"
#include "target/ident.h"
#include "tap.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void test_fields(const char *arguments, const char *name)
{
	uint64_t start = 0, again = 0, at = 0;

	(void)prctl(PR_SET_NAME, name);
	ok(proc_started(getpid(), &start) && start, "'%s': when it began", name);
	ok(proc_began(getpid(), &again, &at) && again == start, "the same with its arguments");
	is_int(at, (uintptr_t)arguments, "where its arguments are");
	ok(proc_is_running(getpid()), "it runs");
}

/* A child that is stopped uses no CPU; one that has been waited for is not there. */
static void test_child(void)
{
	uint64_t start, at;
	pid_t pid = fork();
	int status;

	if (!pid) {
		(void)raise(SIGSTOP);
		_exit(0);
	}
	is_int(waitpid(pid, &status, WUNTRACED), pid, "a child has stopped");
	ok(!proc_is_running(pid), "it does not run");
	ok(proc_began(pid, &start, &at), "it is there");
	(void)kill(pid, SIGKILL);
	is_int(waitpid(pid, &status, 0), pid, "it has ended");
	ok(!proc_is_running(pid) && !proc_started(pid, &start) && !proc_began(pid, &start, &at),
	   "nothing is known of it");
}

static void test_status(void)
{
	(void)prctl(PR_SET_NAME, "one two");
	ok(proc_status_has(getpid(), "Name", "one") && proc_status_has(getpid(), "Name", "two"),
	   "words of a field of the status");
	ok(!proc_status_has(getpid(), "Name", "on") && !proc_status_has(getpid(), "Name", "ones"),
	   "words as a whole");
	ok(proc_status_has(getpid(), "Name", "") && !proc_status_has(getpid(), "Nam", ""),
	   "whether there is such a field");
	is_int(proc_status_field(getpid(), "Threads"), 1, "a number");
	is_int(proc_status_field(getpid(), "Threadz"), -1, "a field that is not there");
}

static void test_memory(void)
{
	pid_t pid = fork();
	int status = -1;

	if (!pid) {
		(void)pause();
		_exit(0);
	}
	if (proc_memory_compare(getpid(), getpid()) == MEMORY_UNKNOWN) {
		ok(true, "memory of processes # SKIP the kernel does not say");
	} else {
		ok(proc_memory_compare(getpid(), getpid()) == MEMORY_SAME,
		   "a process's own memory");
		ok(proc_memory_compare(getpid(), pid) == MEMORY_OTHER, "that of a child");
	}
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	ok(proc_memory_compare(getpid(), pid) == MEMORY_OTHER, "that of one that has ended");
	if (!vfork()) { /* the parent waits, and its memory is ours */
		_exit(proc_memory_compare(getpid(), getppid()) == MEMORY_OTHER);
	}
	(void)wait(&status);
	is_int(status, 0, "that of the parent of vfork()");
}

static int relative_wait(void *arg)
{
	const int *go = arg;
	char c;

	return read(*go, &c, 1) == 1 ? 0 : 1;
}

static void *thread_wait(void *arg)
{
	(void)relative_wait(arg);
	return NULL;
}

/* A process that was made with our memory since a moment, and who else was made since. */
static void test_newcomer(void)
{
	static char stack[65536] __attribute__((aligned(16)));
	pid_t before, pid, first = proc_last_made();
	pthread_t thread;
	int go[2];

	if (proc_memory_compare(getpid(), getpid()) == MEMORY_UNKNOWN) {
		ok(true, "processes with one memory # SKIP the kernel does not say");
		return;
	}
	ok(first > 0 && pipe(go) == 0, "the last number that was given out");
	ok(pthread_create(&thread, NULL, thread_wait, go) == 0, "a thread");
	is_int(proc_memory_newcomer(getpid(), first), 0, "a new thread is no other process");
	pid = fork();
	if (!pid)
		_exit(0);
	is_int(proc_memory_newcomer(getpid(), first), 0, "a child of fork() has its own memory");
	(void)waitpid(pid, NULL, 0);
	before = proc_last_made();
	pid = clone(relative_wait, stack + sizeof(stack), CLONE_VM | SIGCHLD, go);
	ok(pid > before, "a process with our memory");
	is_int(proc_memory_newcomer(getpid(), before), pid, "is found");
	is_int(proc_memory_newcomer(getpid(), 0), pid, "if it is not known since when");
	is_int(proc_memory_newcomer(getpid(), 1 << 22), pid, "if numbers have begun anew");
	is_int(proc_memory_newcomer(getpid(), proc_last_made()), 0, "it was made before");
	ok(write(go[1], "ab", 2) == 2,
	   "a byte for each of both"); /* the process has the pipe, too */
	(void)waitpid(pid, NULL, 0);
	(void)pthread_join(thread, NULL);
	is_int(proc_memory_newcomer(getpid(), first), 0, "it has ended");
	(void)close(go[0]);
	(void)close(go[1]);
}

int main(int argc, char **argv)
{
	(void)argc;
	test_fields(argv[0], "simple");
	test_fields(argv[0], ") R (1 2 3");
	test_child();
	test_status();
	test_memory();
	test_newcomer();
	ok(!proc_began(0, &(uint64_t){0}, &(uint64_t){0}), "there is no process 0");
	return tap_done();
}
