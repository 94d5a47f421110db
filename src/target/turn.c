/* SPDX-License-Identifier: MIT */
#include "target/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <time.h>

#define WAIT_NS	 20000000000ull /* for all of a large program's probes */
#define PAUSE_NS 2000000

struct err *turn_begin(pid_t pid, bool shares, const atomic_int *is_interrupted, int *ret,
		       uint64_t *ret_waited_ns)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t begin = now_ns();
	CLEANUP(fd) int fd = -1;
	char path[64];

	*ret = -1;
	*ret_waited_ns = 0;
	(void)snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	while (fd >= 0 && flock(fd, (shares ? LOCK_SH : LOCK_EX) | LOCK_NB)) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_sys(errno, "cannot lock process %d", (int)pid);
		if (is_interrupted && *is_interrupted)
			return NULL;
		*ret_waited_ns = now_ns() - begin;
		if (*ret_waited_ns > WAIT_NS)
			return err_hint(err_new("another dtrace is changing the code of process %d",
						(int)pid),
					"try again when it has placed its probes");
		(void)nanosleep(&pause, NULL);
	}
	*ret = fd_take(&fd);
	return NULL;
}

void turn_end(int turn)
{
	if (turn < 0)
		return;
	(void)flock(turn, LOCK_UN); /* a process that was forked meanwhile may have it, too */
	(void)close(turn);
}
