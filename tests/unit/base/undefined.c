/* SPDX-License-Identifier: MIT */
/*
 * A build with -Db_sanitize=undefined ends a program at undefined behaviour, so that a test of it
 * fails. It is not enough that the sanitizer prints a message: nobody reads what a test that has
 * passed printed.
 */
#include <limits.h>
#include <sys/wait.h>

#include "tap.h"

static int child_status(int (*func)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		(void)!freopen("/dev/null", "w", stderr);
		_exit(func());
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int sum_within(void)
{
	volatile int a = INT_MAX - 1, sum = a + 1;

	return sum != INT_MAX;
}

static int sum_beyond(void)
{
	volatile int a = INT_MAX, sum = a + 1;

	return sum == 0;
}

static int offset_of_null(void)
{
	char *volatile none = NULL;
	char *volatile behind = none + 0;

	return behind != none;
}

int main(void)
{
	is_int(child_status(sum_within), 0, "a sum that an int has");
#ifdef UNDEFINED_IS_CHECKED
	ok(child_status(sum_beyond) != 0, "a sum that no int has ends the program");
#ifdef __clang__ /* gcc allows an offset of 0 */
	ok(child_status(offset_of_null) != 0, "an offset of a null pointer ends the program");
#endif
#else
	(void)sum_beyond;
	ok(true, "undefined behaviour ends a program # SKIP needs -Db_sanitize=undefined");
#endif
	(void)offset_of_null;
	return tap_done();
}
