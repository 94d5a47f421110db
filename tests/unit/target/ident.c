/* SPDX-License-Identifier: MIT */
/* What /proc/PID/stat says of a process, whatever its name is. */
#include "target/code.h"
#include "target/ident.h"
#include "tap.h"

#include <inttypes.h>
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

int main(int argc, char **argv)
{
	(void)argc;
	test_fields(argv[0], "simple");
	test_fields(argv[0], ") R (1 2 3");
	test_child();
	test_status();
	test_memory();
	ok(!proc_began(0, &(uint64_t){0}, &(uint64_t){0}), "there is no process 0");
	return tap_done();
}
