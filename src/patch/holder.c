/* SPDX-License-Identifier: MIT */
/*
 * Who has locked a region.
 *
 * The tracer locks the file of its region, and the keeper has a copy of the descriptor. So the lock
 * is held as long as one of them lives, and for a moment longer: a process that was killed ends
 * when it gets a CPU, and the kernel closes its descriptors one by one, of which those of uprobes
 * take some ten milliseconds each. Who came in that moment took the region for one in use.
 *
 * /proc/locks says which process has taken the lock; that is the tracer, also while only the keeper
 * has the descriptor.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "patch/leftover.h"

#define DYING_NS (WINDOWS_UNDO_NS + WINDOWS_CHILDREN_NS + 2000000000ull)
#define PAUSE_NS 2000000
#define EXITING	 0x4 /* PF_EXITING: Linux include/linux/sched.h */

/*
 * The process that has taken the lock of a file: "1: FLOCK  ADVISORY  WRITE 1234 00:01:56 0 EOF".
 * 0: the kernel names nobody, as for a process of another PID namespace.
 */
static pid_t holder_find(const struct stat *st)
{
	CLEANUP(file) FILE *f = fopen("/proc/locks", "re");
	char line[256];

	while (f && fgets(line, sizeof(line), f)) {
		unsigned int maj, min;
		unsigned long ino;
		int pid;

		if (sscanf(line, "%*u: FLOCK %*s %*s %d %x:%x:%lu ", &pid, &maj, &min, &ino) == 4 &&
		    maj == major(st->st_dev) && min == minor(st->st_dev) && ino == st->st_ino)
			return pid;
	}
	return 0;
}

/* Whether the process ends: it has begun to, or SIGKILL is on its way to it. */
static bool is_ending(pid_t pid)
{
	CLEANUP(file) FILE *status = NULL;
	CLEANUP(file) FILE *stat = NULL;
	char path[64], line[1024];
	unsigned long long pending, flags;
	const char *at;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	status = fopen(path, "re");
	while (status && fgets(line, sizeof(line), status))
		if ((sscanf(line, "SigPnd: %llx", &pending) == 1 ||
		     sscanf(line, "ShdPnd: %llx", &pending) == 1) &&
		    pending >> (SIGKILL - 1) & 1)
			return true;
	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	stat = fopen(path, "re");
	at = stat && fgets(line, sizeof(line), stat) ? strrchr(line, ')') : NULL;
	return !at ||
	       (sscanf(at, ") %*c %*d %*d %*d %*d %*d %llu", &flags) == 1 && flags & EXITING);
}

static bool has_open(pid_t pid, const struct stat *region)
{
	const struct dirent *de;
	char path[64];
	bool is_there = false;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && !is_there && (de = readdir(d))) {
		struct stat st;

		is_there = fstatat(dirfd(d), de->d_name, &st, 0) == 0 &&
			   st.st_dev == region->st_dev && st.st_ino == region->st_ino;
	}
	if (d)
		(void)closedir(d);
	return is_there;
}

enum region_holder region_lock(int region_fd)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t until = now_ns() + DYING_NS;
	struct stat st;

	while (flock(region_fd, LOCK_EX | LOCK_NB)) {
		pid_t pid = fstat(region_fd, &st) ? 0 : holder_find(&st);

		/* the lock may have gone meanwhile, and then it names nobody either */
		if (!pid)
			return flock(region_fd, LOCK_EX | LOCK_NB) ? REGION_USED : REGION_FREE;
		if (!is_ending(pid) && has_open(pid, &st))
			return REGION_USED;
		if (now_ns() > until)
			return REGION_STUCK;
		(void)nanosleep(&pause, NULL);
	}
	return REGION_FREE;
}
