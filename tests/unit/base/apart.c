/* SPDX-License-Identifier: MIT */
/* Descriptors that are closed, or not; signals of clones; hashes that are the same everywhere. */
#include "base/apart.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "tap.h"

#define NFDS 8

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Bits of descriptors 100 to 107 that are open after all but two lists were closed. */
static int left_open(const int *kept, uint32_t n, const int *also, uint32_t nalso)
{
	pid_t child = fork();
	int status, left = 0;

	if (child == 0) {
		for (int i = 0; i < NFDS; i++)
			(void)dup2(0, 100 + i);
		descriptors_close(kept, n, also, nalso);
		for (int i = 0; i < NFDS; i++)
			left |= is_open(100 + i) << i;
		_exit(left);
	}
	(void)waitpid(child, &status, 0);
	return WEXITSTATUS(status);
}

static void test_close(void)
{
	const int three[] = {106, 101, 103}, two[] = {-1, 104};

	is_int(left_open(NULL, 0, NULL, 0), 0, "all are closed");
	is_int(left_open(three, 3, NULL, 0), 1 << 6 | 1 << 1 | 1 << 3, "but those of a list");
	is_int(left_open(three, 2, two, 2), 1 << 6 | 1 << 1 | 1 << 4, "or of two");
	is_int(left_open(NULL, 0, three, 1), 1 << 6, "one may be empty");
}

/* The clone has the last copy of a pipe's end until the caller ends the closing. */
static void test_closing(void)
{
	struct apart_closing c;
	int fds[2];
	char byte;

	if (pipe2(fds, O_CLOEXEC | O_NONBLOCK)) {
		ok(false, "a pipe");
		return;
	}
	ok(apart_closing_begin(&c), "a clone");
	(void)close(fds[1]);
	is_int(read(fds[0], &byte, 1), -1, "has copies of descriptors");
	(void)fcntl(fds[0], F_SETFL, 0);
	apart_closing_end(&c);
	is_int(read(fds[0], &byte, 1), 0, "and closes them at the end");
	(void)waitpid(-1, NULL, __WALL);
	(void)close(fds[0]);
}

static void test_hash(void)
{
	is_int(fnv_32(FNV_32, "", 0), 0x811c9dc5u, "32 bits of nothing");
	is_int(fnv_32(FNV_32, "foobar", 6), 0xbf9cf968u, "32 bits");
	ok(fnv_64(FNV_64, "foobar", 6) == 0x85944171f73967e8ull, "64 bits");
	ok(fnv_64(fnv_64(FNV_64, "foo", 3), "bar", 3) == 0x85944171f73967e8ull, "in pieces");
}

/* Signals of all numbers reach a clone that has done nothing yet, also the C library's own two. */
static void test_deaf(void)
{
	pid_t pid = apart_clone();
	int status = 0;

	if (pid == 0) {
		for (int sig = 1; sig < NSIG; sig++)
			if (sig != SIGKILL && sig != SIGSTOP)
				(void)kill((pid_t)syscall(SYS_getpid), sig);
		_exit(7);
	}
	is_int(waitpid(pid, &status, __WCLONE), pid, "a clone ends");
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 7, "not by a signal");
}

int main(void)
{
	test_close();
	test_closing();
	test_deaf();
	test_hash();
	return tap_done();
}
