/* SPDX-License-Identifier: MIT */
#include "target/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#define WAIT_NS	   20000000000ull /* for all of a large program's probes */
#define PAUSE_NS   2000000
#define PIDFS	   0x50494446 /* PID_FS_MAGIC: Linux include/uapi/linux/magic.h */
#define NUMBER_MAX (INT64_MAX / 2)

/* The process has ended, so there is nothing to take turns about. */
#define TURN_GONE -2

/* ---- what is locked -------------------------------------------------------------------------- */

/* The byte that stands for the process; false: it has ended. */
static bool number_find(pid_t pid, int64_t *ret)
{
	CLEANUP(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct statfs fs;
	struct stat st;

	if (pidfd < 0 && errno == ESRCH)
		return false;
	*ret = pid;
	if (pidfd >= 0 && fstatfs(pidfd, &fs) == 0 && fs.f_type == PIDFS && fstat(pidfd, &st) == 0)
		*ret = (int64_t)(st.st_ino % NUMBER_MAX);
	return true;
}

/* Opens the file of all turns, in the directory that is ours alone; -1: there is none. */
static int file_open(void)
{
	CLEANUP(fd) int dir = -1;
	struct stat st;

	if (mkdir(TURN_DIR, 0700) && errno != EEXIST)
		return -1;
	dir = open(TURN_DIR, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -1;
	return openat(dir, TURN_FILE, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* A lock of the open file, not of us: another thread of ours may have another turn. */
static bool byte_lock(int fd, int64_t number, short how)
{
	struct flock lock = {.l_type = how,
			     .l_whence = SEEK_SET,
			     .l_start = number,
			     .l_len = number ? 1 : 0};

	return fcntl(fd, F_OFD_SETLK, &lock) == 0;
}

static bool is_taken(int error)
{
	return error == EAGAIN || error == EACCES || error == EINTR;
}

/*
 * Tries once. Returns the turn; TURN_GONE; or -1 and errno: EAGAIN, others have it; else it cannot
 * be had.
 */
static int turn_take(pid_t pid, bool shares)
{
	short how = shares ? F_RDLCK : F_WRLCK;
	CLEANUP(fd) int fd = -1;
	int64_t number;
	char path[64];

	if (!number_find(pid, &number))
		return TURN_GONE;
	fd = file_open();
	if (fd >= 0 && byte_lock(fd, number, how))
		return fd_take(&fd);
	if (fd >= 0 && is_taken(errno)) {
		errno = EAGAIN;
		return -1;
	}
	if (fd >= 0)
		(void)close(fd_take(&fd));
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? TURN_GONE : -1;
	if (byte_lock(fd, 0, how))
		return fd_take(&fd);
	if (is_taken(errno))
		errno = EAGAIN;
	return -1;
}

/* ---- turns ----------------------------------------------------------------------------------- */

static struct err *lack_err(pid_t pid, int error)
{
	return err_hint(err_sys(error,
				"cannot take turns with other tracers of process %d: neither "
				"'" TURN_DIR "/" TURN_FILE "' nor '/proc/%d/mem' can be locked",
				(int)pid, (int)pid),
			"-x inproc=off, or make /run writable for root");
}

struct err *turn_begin(pid_t pid, bool shares, const atomic_int *is_interrupted, int *ret,
		       uint64_t *ret_waited_ns)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t begin = now_ns();
	int turn;

	*ret = -1;
	*ret_waited_ns = 0;
	while ((turn = turn_take(pid, shares)) == -1) {
		int error = errno;

		if (error != EAGAIN)
			return shares ? NULL : lack_err(pid, error);
		if (is_interrupted && *is_interrupted)
			return NULL;
		*ret_waited_ns = now_ns() - begin;
		if (*ret_waited_ns > WAIT_NS)
			return err_hint(err_new("another dtrace is changing the code of process %d",
						(int)pid),
					"try again when it has placed its probes");
		(void)nanosleep(&pause, NULL);
	}
	*ret = turn == TURN_GONE ? -1 : turn;
	return NULL;
}

bool turn_try(pid_t pid, int *ret)
{
	int turn = turn_take(pid, false);

	*ret = turn == TURN_GONE ? -1 : turn;
	return turn != -1;
}

void turn_end(int turn)
{
	if (turn < 0)
		return;
	(void)byte_lock(turn, 0,
			F_UNLCK); /* a process that was forked meanwhile may have it, too */
	(void)close(turn);
}
