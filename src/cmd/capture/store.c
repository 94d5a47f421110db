/* SPDX-License-Identifier: MIT */
/*
 * The store: a folder of root's, in which each capture is a folder, and what limits them.
 *
 * Everything is opened relative to the store's descriptor, by names that we made.
 */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "cmd/capture/capture.h"

/* A folder that only root can look into, or a fault. */
static const char *folder_check(int fd, const char *name)
{
	struct stat st;

	if (fd < 0)
		return fault("cannot open %s: %s", name, strerror(errno));
	if (fstat(fd, &st) < 0 || st.st_uid != 0 || (st.st_mode & 077))
		return fault("%s is not a folder that only root can open (0700)", name);
	return NULL;
}

const char *store_open(struct store *s, const char *path)
{
	struct statvfs disk;
	const char *why;
	u64 available, total;

	s->dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	why = folder_check(s->dir, path);
	if (why)
		return why;
	s->lock = openat(s->dir, CRASH_STORE_LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (s->lock < 0)
		return fault("cannot open %s/" CRASH_STORE_LOCK ": %s", path, strerror(errno));
	if (fstatvfs(s->dir, &disk) < 0)
		return fault("cannot ask for the free space of %s: %s", path, strerror(errno));
	available = (u64)disk.f_bavail * disk.f_frsize;
	total = (u64)disk.f_blocks * disk.f_frsize;
	/* a fifth of what is free, and a tenth of the disk stays free */
	s->room = available > total / 10 ? MIN(available / 5, available - total / 10) : 0;
	return NULL;
}

bool store_slot(struct store *s, u64 until_ns)
{
	for (;;) {
		for (int i = 0; i < CRASH_CAPTURES_AT_ONCE; i++) {
			struct flock byte = {.l_type = F_WRLCK, .l_start = i, .l_len = 1};

			if (fcntl(s->lock, F_OFD_SETLK, &byte) == 0)
				return true;
		}
		if (time_mono() >= until_ns)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
	}
}

/* ---- crash loops */

static u64 hash_add(u64 hash, const void *data, size_t len)
{
	const u8 *byte = data;

	for (size_t i = 0; i < len; i++)
		hash = (hash ^ byte[i]) * 0x100000001b3ull; /* FNV-1a */
	return hash;
}

/* Opens the count of the process's executable and cgroups, locked; -1 with errno. */
static int count_open(struct store *s, const struct process *p)
{
	u64 hash = 0xcbf29ce484222325ull;
	char name[sizeof(CRASH_STORE_COUNTS) + 32];
	struct stat st;

	hash = hash_add(hash, &p->exe_dev, sizeof(p->exe_dev));
	hash = hash_add(hash, &p->exe_ino, sizeof(p->exe_ino));
	hash = hash_add(hash, p->cgroup, p->cgroup_len);
	mkdirat(s->dir, CRASH_STORE_COUNTS, 0700);
	snprintf(name, sizeof(name), CRASH_STORE_COUNTS "/" CRASH_HASH_FORMAT,
		 (unsigned long long)hash);
	for (;;) {
		int fd = openat(s->dir, name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

		if (fd < 0 || flock(fd, LOCK_EX) < 0 || fstat(fd, &st) < 0)
			return fd;
		if (st.st_nlink)
			return fd;
		close(fd); /* it was removed while we waited */
	}
}

static void count_load(int fd, struct crash_count *count)
{
	if (pread(fd, count, sizeof(*count), 0) != sizeof(*count) ||
	    count->magic != CRASH_COUNT_MAGIC)
		*count = (struct crash_count){.magic = CRASH_COUNT_MAGIC};
}

static void count_name(struct crash_count *count, const struct process *p)
{
	static struct out text;

	out_init(&text, 0);
	out_escaped(&text, p->exe, MIN(p->exe_len, sizeof(count->exe)));
	memset(count->exe, 0, sizeof(count->exe));
	memcpy(count->exe, text.data, MIN(text.len, sizeof(count->exe) - 1));
}

const char *store_count(struct store *s, const struct config *c, const struct process *p,
			bool *ret_captures)
{
	u64 now, window = c->window_s * NS_PER_S;
	struct crash_count count;
	u32 oldest = 0, recent = 0;
	const char *why = NULL;
	int fd = count_open(s, p);

	*ret_captures = true;
	if (fd < 0)
		return fault("cannot count the crash: %s", strerror(errno));
	now = time_real(); /* others have written theirs while we waited for the lock */
	count_load(fd, &count);
	for (u32 i = 0; i < CRASH_COUNT_TIMES; i++) {
		/* Times of the future are of a clock that was wrong. */
		recent += count.times_ns[i] && count.times_ns[i] <= now &&
			  now - count.times_ns[i] < window;
		if (count.times_ns[i] > now)
			count.times_ns[i] = 0;
		if (count.times_ns[i] < count.times_ns[oldest])
			oldest = i;
	}
	*ret_captures = recent < c->captures && s->room;
	if (*ret_captures) {
		count.times_ns[oldest] = now;
		count.counted = 0;
	} else {
		count.counted++;
		count.counted_ever++;
		count.counted_ns = now;
	}
	count.signal = (u32)p->signal;
	count.pid = p->pid;
	count_name(&count, p);
	if (pwrite(fd, &count, sizeof(count), 0) != sizeof(count))
		why = fault("cannot count the crash: %s", strerror(errno));
	close(fd);
	return why;
}

void store_count_id(struct store *s, const struct process *p, const char *id)
{
	struct crash_count count;
	int fd = count_open(s, p);

	if (fd < 0)
		return;
	count_load(fd, &count);
	memset(count.last_id, 0, sizeof(count.last_id));
	memcpy(count.last_id, id, MIN(strlen(id), sizeof(count.last_id) - 1));
	if (pwrite(fd, &count, sizeof(count), 0) != sizeof(count))
		say("cannot write which capture was the last: %s", strerror(errno));
	close(fd);
}

/* ---- entries */

int file_create(int dir, const char *name)
{
	return openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/*
 * The date and time of day, as gmtime_r() gives them; that one reads the file of the time zone
 * first, while the process waits. Years of 365.2425 days that begin in March have their odd day at
 * their end.
 */
static struct tm utc_of(u64 seconds)
{
	u64 day = seconds / 86400 + 719468; /* from 1 March of the year 0 */
	u64 era = day / 146097, of_era = day % 146097;
	u64 year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
	u64 of_year = of_era - (365 * year + year / 4 - year / 100);
	u64 month = (5 * of_year + 2) / 153;

	return (struct tm){
		.tm_year = (int)(era * 400 + year + (month >= 10)) - 1900,
		.tm_mon = (int)(month < 10 ? month + 2 : month - 10),
		.tm_mday = (int)(of_year - (153 * month + 2) / 5 + 1),
		.tm_hour = (int)(seconds / 3600 % 24),
		.tm_min = (int)(seconds / 60 % 60),
		.tm_sec = (int)(seconds % 60),
	};
}

/* e->id begins with a dot, which is removed when the entry is finished. */
const char *entry_create(struct entry *e, struct store *s, u32 pid)
{
	struct tm t = utc_of((u64)time(NULL));
	u32 random = 0;

	if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random))
		random = (u32)time_mono(); /* a name that exists is an error below */
	snprintf(e->id, sizeof(e->id), ".%04d%02d%02dT%02d%02d%02d-%u-%06x", t.tm_year + 1900,
		 t.tm_mon + 1, t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec, pid, random & 0xffffff);
	if (mkdirat(s->dir, e->id, 0700) < 0)
		return fault("cannot make an entry of the store: %s", strerror(errno));
	e->dir = openat(s->dir, e->id, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (e->dir < 0 || flock(e->dir, LOCK_EX | LOCK_NB) < 0 ||
	    mkdirat(e->dir, CRASH_FILE_PROC, 0700) < 0)
		return fault("cannot make the entry %s: %s", e->id, strerror(errno));
	e->proc = openat(e->dir, CRASH_FILE_PROC, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	return e->proc < 0 ? fault("cannot open the entry %s: %s", e->id, strerror(errno)) : NULL;
}

const char *entry_finish(struct entry *e, struct store *s)
{
	/* After a loss of power, an entry that has its final name has all of its files. */
	fsync(e->proc);
	fsync(e->dir);
	if (renameat2(s->dir, e->id, s->dir, e->id + 1, RENAME_NOREPLACE) < 0)
		return fault("cannot finish the entry %s: %s", e->id, strerror(errno));
	memmove(e->id, e->id + 1, strlen(e->id));
	return NULL; /* it stays locked: the analyser gets it so */
}

void entry_remove(struct entry *e, struct store *s)
{
	static const char *const files[] = {CRASH_FILE_CAPTURE, CRASH_FILE_CORE, CRASH_FILE_LOG};
	static const char *const proc[] = {CRASH_PROC_FILES, CRASH_PROC_FD, CRASH_PROC_TASK};

	for (u32 i = 0; i < ARRAY_LEN(proc) && e->proc >= 0; i++)
		unlinkat(e->proc, proc[i], 0);
	for (u32 i = 0; i < ARRAY_LEN(files) && e->dir >= 0; i++)
		unlinkat(e->dir, files[i], 0);
	if (e->dir >= 0)
		unlinkat(e->dir, CRASH_FILE_PROC, AT_REMOVEDIR);
	unlinkat(s->dir, e->id, AT_REMOVEDIR);
}
