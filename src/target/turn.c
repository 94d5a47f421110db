/* SPDX-License-Identifier: MIT */
#include "target/turn.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>

#define OWNER_NS   1000000000ull /* for somebody who may keep us waiting, as a user may */
#define PAUSE_NS   2000000
#define PIDFS	   0x50494446 /* PID_FS_MAGIC: Linux include/uapi/linux/magic.h */
#define NUMBER_MAX (INT64_MAX / 2)

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

static const struct turn no_turn = {-1, -1};

/* What became of a try. */
enum take {
	TAKE_DONE,
	TAKE_GONE,   /* the process has ended, so there is nothing to take turns about */
	TAKE_BUSY,   /* others have it */
	TAKE_OWNER,  /* only the memory file is locked by somebody else */
	TAKE_FAILED, /* it cannot be had; errno */
};

/* The lock on the memory file. */
static enum take memory_take(pid_t pid, short how, int *ret)
{
	CLEANUP(fd) int fd = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ESRCH ? TAKE_GONE : TAKE_FAILED;
	if (!byte_lock(fd, 0, how))
		return is_taken(errno) ? TAKE_BUSY : TAKE_FAILED;
	*ret = fd_take(&fd);
	return TAKE_DONE;
}

/* Tries once. passes_owner: without the lock of a user who has the memory file. */
static enum take turn_take(pid_t pid, bool shares, bool passes_owner, struct turn *ret)
{
	short how = shares ? F_RDLCK : F_WRLCK;
	CLEANUP(fd) int fd = -1;
	int64_t number;

	*ret = no_turn;
	if (!number_find(pid, &number))
		return TAKE_GONE;
	fd = file_open();
	if (fd >= 0 && !byte_lock(fd, number, how)) {
		if (is_taken(errno))
			return TAKE_BUSY;
		(void)close(fd_take(&fd));
	}
	if (fd < 0)
		return memory_take(pid, how, &ret->memory);
	/* who cannot be in the directory has locked this one alone */
	if (memory_take(pid, how, &ret->memory) == TAKE_BUSY && !passes_owner)
		return TAKE_OWNER;
	ret->file = fd_take(&fd);
	return TAKE_DONE;
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

struct err *turn_begin(pid_t pid, bool shares, const atomic_int *is_interrupted, struct turn *ret,
		       uint64_t *ret_waited_ns)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t begin = now_ns();
	enum take take;

	*ret_waited_ns = 0;
	while ((take = turn_take(pid, shares, shares && *ret_waited_ns > OWNER_NS, ret)) !=
		       TAKE_DONE &&
	       take != TAKE_GONE) {
		int error = errno;

		if (take == TAKE_FAILED)
			return shares ? NULL : lack_err(pid, error);
		if (is_interrupted && *is_interrupted)
			return NULL;
		*ret_waited_ns = now_ns() - begin;
		if (*ret_waited_ns > (take == TAKE_OWNER && !shares ? OWNER_NS : TURN_WAIT_NS))
			return err_hint(err_new("another dtrace is changing the code of process %d",
						(int)pid),
					"try again when it has placed its probes");
		(void)nanosleep(&pause, NULL);
	}
	return NULL;
}

bool turn_try(pid_t pid, bool shares, uint64_t waited_ns, struct turn *ret)
{
	enum take take = turn_take(pid, shares, waited_ns > OWNER_NS, ret);

	return take == TAKE_DONE || take == TAKE_GONE || (take == TAKE_FAILED && shares);
}

static void file_unlock(int fd)
{
	if (fd < 0)
		return;
	(void)byte_lock(fd, 0, F_UNLCK); /* a process that was forked meanwhile may have it, too */
	(void)close(fd);
}

void turn_end(const struct turn *turn)
{
	file_unlock(turn->memory);
	file_unlock(turn->file);
}
