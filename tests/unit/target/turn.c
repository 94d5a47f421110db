/* SPDX-License-Identifier: MIT */
/* Turns, while a user has the memory file of the process locked: who waits, and who does not. */
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "target/turn.h"
#include "tap.h"

#define LONG_NS 5000000000ull /* longer than anybody waits for a user */

static bool memory_lock(int fd, short how)
{
	struct flock lock = {.l_type = how, .l_whence = SEEK_SET};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool turn_is_had(pid_t pid, bool shares, uint64_t waited_ns)
{
	struct turn turn;
	bool is_had = turn_try(pid, shares, waited_ns, &turn);

	if (is_had)
		turn_end(&turn);
	return is_had;
}

static void test_user_lock(pid_t pid)
{
	uint64_t waited;
	struct turn turn;
	struct err *e;

	ok(!turn_is_had(pid, true, 0), "uprobes wait for the user");
	ok(!turn_is_had(pid, false, 0), "who wants it alone does, too");
	ok(turn_is_had(pid, true, LONG_NS), "uprobes do not wait for long");
	ok(turn_is_had(pid, false, LONG_NS), "neither does who takes jumps out of a child");
	e = turn_begin(pid, false, NULL, &turn, &waited);
	ok(e && strstr(err_text(e), "another dtrace"), "jumps are given up: %s",
	   e ? err_text(e) : "no");
	err_destroy(e);
	e = turn_begin(pid, true, NULL, &turn, &waited);
	ok(!e && turn.memory < 0 && turn.file >= 0, "breakpoints do without the user's lock,");
	err_destroy(e);
	ok(!turn_is_had(pid, false, LONG_NS), "but have locked out who wants the turn alone");
	turn_end(&turn);
}

int main(void)
{
	pid_t pid = fork();
	struct turn turn;
	char path[64];
	int fd;

	if (!pid) {
		(void)alarm(600);
		for (;;)
			(void)pause();
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	ok(turn_try(pid, false, 0, &turn), "nobody else has the turn");
	if (turn.file >= 0 && fd >= 0) {
		turn_end(&turn);
		ok(memory_lock(fd, F_WRLCK), "a user locks the memory file");
		test_user_lock(pid);
		ok(memory_lock(fd, F_UNLCK), "the user ends");
		ok(turn_is_had(pid, false, 0), "the turn is had alone");
	} else {
		turn_end(&turn);
		ok(true, "skip: only root has the file of all turns");
	}
	(void)close(fd);
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	ok(turn_try(pid, false, 0, &turn) && turn.file < 0 && turn.memory < 0,
	   "nothing is locked of a process that has ended");
	turn_end(&turn);
	return tap_done();
}
