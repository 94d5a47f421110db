/* SPDX-License-Identifier: MIT */
/*
 * Copies of what /proc tells of the process: files as they are, descriptors, threads, the end of
 * the log that it wrote to.
 */
#include "base/base.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "cmd/capture/capture.h"

#define FILE_MAX	(1u << 20)
#define MAPS_MAX	(16u << 20)
#define DESCRIPTORS_MAX 1024
#define LOG_WAIT_MS	2000

struct stack stacks[THREADS_COPIED + 1];
u32 nstacks;

/* ---- maps and smaps: lines, of which the begin is looked at */

struct lines {
	char text[256];
	size_t len;
	u32 segment; /* the one of the last mapping */
	void (*take)(struct lines *l, const struct head *h);
};

static void lines_feed(struct lines *l, const struct head *h, const char *data, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (data[i] != '\n') {
			if (l->len < sizeof(l->text) - 1)
				l->text[l->len++] = data[i];
			continue;
		}
		l->text[l->len] = 0;
		l->take(l, h);
		l->len = 0;
	}
}

/* "START-END rwxp OFFSET DEVICE INODE NAME"; false: it is another line. */
static bool mapping_take(struct lines *l, const struct head *h)
{
	char *at;
	u64 start = strtoull(l->text, &at, 16);
	struct segment *s;

	if (at == l->text || *at != '-')
		return false;
	strtoull(at + 1, &at, 16);
	if (*at != ' ' || strlen(at) < 6)
		return false;
	l->segment = segment_at(h, start);
	if (l->segment == h->nsegments || segments[l->segment].start != start) {
		l->segment = h->nsegments;
		return true;
	}
	s = &segments[l->segment];
	s->is_shared = at[4] == 's';
	s->is_stack = strstr(at, "[stack]") != NULL;
	at = strchr(at + 1, ' '); /* the offset */
	at = at ? strchr(at + 1, ' ') : NULL;
	at = at ? strchr(at + 1, ' ') : NULL; /* the inode */
	s->has_file = at && strtoull(at, NULL, 10) != 0;
	return true;
}

static void maps_line(struct lines *l, const struct head *h)
{
	mapping_take(l, h);
}

/*
 * A line of smaps. All of a mapping that can be read is copied, unless it is of a device or the
 * program has said that it must not be in a core.
 */
static void smaps_line(struct lines *l, const struct head *h)
{
	struct segment *s;

	if (mapping_take(l, h) || strncmp(l->text, "VmFlags:", 8) != 0 ||
	    l->segment == h->nsegments)
		return;
	s = &segments[l->segment];
	if (strstr(l->text, " rd") && !strstr(l->text, " io") && !strstr(l->text, " pf") &&
	    !strstr(l->text, " dd"))
		s->dumped = s->end - s->start;
}

/* ---- copies */

static void file_copy(const struct process *p, const char *name, int folder, u64 max,
		      struct lines *l, const struct head *h)
{
	static char buf[64 << 10];
	int from = openat(p->dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	int to = from >= 0 && folder >= 0 ? file_create(folder, name) : -1;
	ssize_t n;

	for (u64 sum = 0; from >= 0 && sum < max; sum += (u64)n) {
		n = read(from, buf, sizeof(buf));
		if (n <= 0)
			break;
		if (l)
			lines_feed(l, h, buf, (size_t)n);
		if (to >= 0 && write_all(to, buf, (size_t)n))
			break;
	}
	if (from >= 0)
		close(from);
	if (to >= 0)
		close(to);
}

/* Calls for each numbered entry of a folder of /proc until take() returns false. */
static void numbers_each(int dir, bool (*take)(void *arg, u32 number), void *arg)
{
	static char buf[32 << 10] __attribute__((aligned(8)));
	long n;

	while ((n = syscall(SYS_getdents64, dir, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n;) {
			const struct dirent64 *d = (const void *)(buf + at);

			at += d->d_reclen;
			if (isdigit((u8)d->d_name[0]) &&
			    !take(arg, (u32)strtoul(d->d_name, NULL, 10)))
				return;
		}
	}
}

struct list {
	const struct process *p;
	int dir; /* fd or task */
	u32 n;
	struct out out;
};

/* The value behind a key of fdinfo, up to the end of its line. */
static void fdinfo_add(struct out *o, const char *info, const char *key)
{
	const char *at = strstr(info, key);

	out_bytes(o, "\t", 1);
	if (!at)
		return;
	at += strlen(key);
	at += strspn(at, "\t ");
	out_escaped(o, at, strcspn(at, "\n"));
}

static bool descriptor_take(void *arg, u32 number)
{
	struct list *l = arg;
	char name[32], target[4096], info[1024];
	ssize_t n;

	snprintf(name, sizeof(name), "%u", number);
	n = readlinkat(l->dir, name, target, sizeof(target));
	snprintf(name, sizeof(name), "fdinfo/%u", number);
	out_printf(&l->out, "%u\t", number);
	out_escaped(&l->out, target, (size_t)MAX(n, 0));
	if (proc_read(l->p->dir, name, info, sizeof(info)) <= 0)
		info[0] = 0;
	fdinfo_add(&l->out, info, "pos:");
	fdinfo_add(&l->out, info, "flags:");
	out_bytes(&l->out, "\n", 1);
	return ++l->n < DESCRIPTORS_MAX;
}

/*
 * The stack pointer: field 29 of stat, which is there for a thread that writes its core, or the
 * word before the last one of syscall, which is there for one that waits.
 */
static u64 thread_sp(const char *stat, const char *line)
{
	const char *last = strrchr(line, ' '), *before, *at = strrchr(stat, ')');
	u64 sp = 0;

	for (int field = 2; at && field < 29; field++)
		at = strchr(at + 1, ' ');
	sp = at ? strtoull(at, NULL, 10) : 0;
	if (sp || !last)
		return sp;
	before = memrchr(line, ' ', (size_t)(last - line));
	return before ? strtoull(before + 1, NULL, 16) : 0;
}

static void thread_add(struct list *l, u32 tid)
{
	char name[48], stat[512], line[256], wchan[128], *open, *close;

	snprintf(name, sizeof(name), "%u/stat", tid);
	if (nstacks == ARRAY_LEN(stacks) || proc_read(l->dir, name, stat, sizeof(stat)) <= 0)
		return;
	open = strchr(stat, '(');
	close = strrchr(stat, ')');
	if (!open || !close || close < open)
		return;
	snprintf(name, sizeof(name), "%u/syscall", tid);
	if (proc_read(l->dir, name, line, sizeof(line)) <= 0)
		line[0] = 0;
	snprintf(name, sizeof(name), "%u/wchan", tid);
	if (proc_read(l->dir, name, wchan, sizeof(wchan)) <= 0 || strcmp(wchan, "0") == 0)
		wchan[0] = 0;
	line[strcspn(line, "\n")] = 0;
	out_printf(&l->out, "%u\t%c\t", tid,
		   isalpha((u8)(close[1] ? close[2] : 0)) ? close[2] : '?');
	out_escaped(&l->out, open + 1, (size_t)(close - open - 1));
	out_bytes(&l->out, "\t", 1);
	out_escaped(&l->out, line, strlen(line));
	out_bytes(&l->out, "\t", 1);
	out_escaped(&l->out, wchan, strlen(wchan));
	out_bytes(&l->out, "\n", 1);
	stacks[nstacks] = (struct stack){tid, thread_sp(stat, line)};
	nstacks += stacks[nstacks].sp || tid == l->p->tid; /* one that has ended has no stack */
}

static bool thread_take(void *arg, u32 tid)
{
	struct list *l = arg;

	if (tid != l->p->tid)
		thread_add(l, tid);
	return nstacks < ARRAY_LEN(stacks);
}

static void list_open(struct list *l, const struct process *p, const char *name, int folder)
{
	l->p = p;
	l->n = 0;
	l->dir = openat(p->dir, name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	out_init(&l->out, file_create(folder, name));
}

static void list_close(struct list *l)
{
	out_flush(&l->out);
	if (l->out.fd >= 0)
		close(l->out.fd);
	if (l->dir >= 0)
		close(l->dir);
}

/* The threads' folder is the process's, also where p->dir is that of a thread. */
static void threads_open(struct list *l, const struct process *p)
{
	char name[64];

	if (l->dir >= 0)
		return;
	snprintf(name, sizeof(name), "/proc/%u/task", p->pid);
	l->dir = open(name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
}

struct search {
	struct process *p;
	int dir;
	u32 ns_tid;
};

static bool thread_try(void *arg, u32 tid)
{
	struct search *s = arg;
	char name[32];

	snprintf(name, sizeof(name), "%u/status", tid);
	if (ns_pid_read(s->dir, name, NS_PID) != s->ns_tid)
		return true;
	s->p->tid = tid;
	return false;
}

void thread_find(struct process *p, u32 ns_tid)
{
	struct search s = {.p = p, .dir = -1, .ns_tid = ns_tid};
	char name[64];

	snprintf(name, sizeof(name), "/proc/%u/task", p->pid);
	s.dir = open(name, O_DIRECTORY | O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (s.dir < 0)
		return;
	numbers_each(s.dir, thread_try, &s);
	close(s.dir);
}

void proc_copy(const struct process *p, struct head *h, int folder, bool wants_flags)
{
	static const char *const names[] = {CRASH_PROC_FILES};
	static struct list list;
	static struct lines maps = {.take = maps_line}, smaps = {.take = smaps_line};

	for (u32 i = 0; i < ARRAY_LEN(names); i++) {
		bool is_maps = strcmp(names[i], "maps") == 0;

		if (strcmp(names[i], "smaps_rollup") != 0)
			file_copy(p, names[i], folder, is_maps ? MAPS_MAX : FILE_MAX,
				  is_maps ? &maps : NULL, h);
	}
	if (wants_flags)
		file_copy(p, "smaps", -1, (u64)MAPS_MAX * 16, &smaps, h);
	list_open(&list, p, CRASH_PROC_TASK, folder);
	threads_open(&list, p);
	thread_add(&list, p->tid);
	if (list.dir >= 0)
		numbers_each(list.dir, thread_take, &list);
	list_close(&list);
	list_open(&list, p, CRASH_PROC_FD, folder);
	if (list.dir >= 0)
		numbers_each(list.dir, descriptor_take, &list);
	list_close(&list);
}

void proc_copy_slow(const struct process *p, int folder)
{
	file_copy(p, "smaps_rollup", folder, FILE_MAX, NULL, NULL);
}

/* ---- the log */

/* By the bits of the mode, of which the first that is about the user counts. */
static bool is_readable(const struct process *p, const struct statx *st)
{
	if (st->stx_uid == p->euid)
		return st->stx_mode & S_IRUSR;
	if (st->stx_gid == p->egid)
		return st->stx_mode & S_IRGRP;
	return st->stx_mode & S_IROTH;
}

int log_open(const struct process *p, bool *ret_is_readable)
{
	const u32 wanted = STATX_TYPE | STATX_MODE | STATX_UID | STATX_GID;
	struct statx st;
	/* Opens no file: what the process chose can be a FIFO, or on a server that is gone. */
	int fd = openat(p->dir, "fd/2", O_PATH | O_CLOEXEC);

	if (fd >= 0 && (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, wanted, &st) < 0 ||
			!S_ISREG(st.stx_mode))) {
		close(fd);
		fd = -1;
	}
	*ret_is_readable = fd < 0 || ((st.stx_mask & wanted) == wanted && is_readable(p, &st));
	return fd;
}

/* In a process of its own, which a file system that hangs can hold. */
static void log_read(int log, int entry)
{
	static char buf[CRASH_LOG_BYTES];
	char name[64];
	struct stat st;
	ssize_t n;
	int from, to;

	snprintf(name, sizeof(name), "/proc/self/fd/%d", log);
	from = open(name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (from < 0 || fstat(from, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	n = pread(from, buf, sizeof(buf), MAX(st.st_size - (off_t)sizeof(buf), 0));
	to = n > 0 ? file_create(entry, CRASH_FILE_LOG) : -1;
	if (to >= 0 && write_all(to, buf, (size_t)n))
		unlinkat(entry, CRASH_FILE_LOG, 0);
}

void log_copy(int log, int entry)
{
	struct pollfd end = {.events = POLLIN};
	int ends[2];
	pid_t child;

	if (log < 0 || pipe2(ends, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0) {
		signal(SIGALRM, SIG_DFL);
		alarm(10);
		log_read(log, entry);
		_exit(0);
	}
	close(ends[1]);
	end.fd = ends[0];
	if (child > 0 && poll(&end, 1, LOG_WAIT_MS) <= 0)
		kill(child, SIGKILL);
	close(ends[0]);
	close(log);
}
