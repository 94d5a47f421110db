/* SPDX-License-Identifier: MIT */
/*
 * Says "begin", waits for a line, makes five children one after the other, and opens a library;
 * says "done". Makes a child that waits for another line and calls work(); then says "end".
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int total;

__attribute__((noinline, noipa)) int work(int i)
{
	total += i; /* too short for a jump without it */
	return i + 1;
}

static void say(const char *what)
{
	printf("%s\n", what);
	fflush(stdout);
}

static void line_await(void)
{
	if (getchar() == EOF)
		exit(1);
}

static void child_make(void (*before)(void))
{
	pid_t pid = fork();

	if (pid == 0) {
		if (before)
			before();
		(void)work(1);
		_exit(0);
	}
	if (pid < 0 || waitpid(pid, NULL, 0) != pid)
		exit(1);
}

int main(int argc, char **argv)
{
	setvbuf(stdin, NULL, _IONBF, 0);
	say("begin");
	line_await();
	for (int i = 0; i < 5; i++)
		child_make(NULL);
	if (argc > 1 && !dlopen(argv[1], RTLD_NOW))
		exit(1);
	say("done");
	child_make(line_await);
	say("end");
	line_await();
	return total == 77;
}
