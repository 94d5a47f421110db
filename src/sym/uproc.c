/* SPDX-License-Identifier: MIT */
/* Keeps track of processes and what they have mapped, from /proc and from the kernel's events. */
#include "sym/uproc.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "target/ident.h"

#define LINES_MAX    100000 /* lines read of one process's maps, which may be of any length */
#define BEFORE_MAX   8	    /* processes that are kept of those that had one process id before */
#define CLOCK_TRIES  8
#define CLOCK_GAP_NS 1000000 /* clocks that are read within it are read together */

/* ---- /proc/PID ------------------------------------------------------------------------------- */

static FILE *proc_open(uint64_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/%s", pid, name);
	return fopen(path, "re");
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	return clock_gettime(clock, &ts) ? 0
					 : (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/*
 * Returns how far CLOCK_BOOTTIME is ahead of uprocs_now(): it also counts the time that the machine
 * was suspended. The two clocks are read again when this thread had no CPU in between.
 */
static int64_t boot_ahead(const struct uprocs *u)
{
	int64_t least = INT64_MAX;

	for (int i = 0; i < CLOCK_TRIES; i++) {
		uint64_t now = uprocs_now(u);
		int64_t ahead = (int64_t)(clock_ns(CLOCK_BOOTTIME) - now);

		least = MIN(least, ahead);
		if (uprocs_now(u) - now < CLOCK_GAP_NS)
			break;
	}
	return least;
}

/*
 * The result is at most what the kernel's own clock said, as /proc rounds down to ticks. The clocks
 * are read after /proc: reading it may take long on a busy machine, and a process whose start seems
 * to have changed would be taken for another one.
 */
uint64_t upid_born(const struct uprocs *u, uint64_t pid)
{
	uint64_t ticks;
	int64_t born;

	if (pid > INT32_MAX || !proc_started((pid_t)pid, &ticks))
		return 0;
	born = (int64_t)(ticks * PROC_TICK_NS) - boot_ahead(u);
	return born > 0 ? (uint64_t)born : 1;
}

uint64_t uprocs_now(const struct uprocs *u)
{
	return now_ns() - (uint64_t)u->clock_offset;
}

bool uproc_is_other(const struct uproc *p, uint64_t born)
{
	return born > p->born + PROC_TICK_NS && (p->born || p->ended || p->read_at);
}

/* "NSpid:      1200    7": the last number is that in the innermost namespace. */
uint64_t upid_innermost(uint64_t pid)
{
	CLEANUP(file) FILE *f = proc_open(pid, "status");
	CLEANUP(free) char *line = NULL;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		if (strncmp(line, "NSpid:", 6) == 0) {
			const char *last = strrchr(line, '\t');

			return last ? strtoull(last, NULL, 10) : pid;
		}
	return pid;
}

/* ---- /proc/PID/maps -------------------------------------------------------------------------- */

static struct ufile_access access_of(const struct uproc *p, const struct umap *m,
				     const struct uspace *s)
{
	return (struct ufile_access){p->pid, m->start, m->end, uspace_root(s)};
}

/*
 * True for the path of memory without a file, which may have a name: "[heap]", "//anon",
 * "/anon_hugepage (deleted)".
 */
static bool is_anonymous(const char *path)
{
	return (path[0] != '/' && strcmp(path, "[vdso]") != 0) || strncmp(path, "//", 2) == 0 ||
	       strncmp(path, "/anon_hugepage", 14) == 0 || strncmp(path, "/dev/zero", 9) == 0;
}

/*
 * Parses "START-END PERMS OFFSET MAJOR:MINOR INODE      PATH"; false for memory in which nothing
 * can have a name.
 */
static bool parse_map(struct uprocs *u, char *line, struct umap *ret)
{
	unsigned int dev_major, dev_minor;
	unsigned long inode;
	char perms[8], *path;
	int at = 0;

	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %lu %n", &ret->start,
		   &ret->end, perms, &ret->off, &dev_major, &dev_minor, &inode, &at) < 7 ||
	    !at || ret->start >= ret->end)
		return false;
	path = line + at;
	path[strcspn(path, "\n")] = '\0';
	ret->is_exec = perms[2] == 'x';
	ret->file = NULL;
	if (strcmp(path, "[vsyscall]") == 0)
		return false;
	if (is_anonymous(path))
		return ret->is_exec;
	ret->file = ufile_get(&u->files, makedev(dev_major, dev_minor), inode, path);
	return ret->file != NULL;
}

static void parse_maps(struct uprocs *u, FILE *f, umap_vec *ret)
{
	CLEANUP(free) char *line = NULL;
	size_t cap = 0;
	taddr last = 0;

	while (ret->len < LINES_MAX && getline(&line, &cap, f) > 0) {
		struct umap m = {0};

		if (!parse_map(u, line, &m) || m.start < last)
			continue;
		last = m.end;
		vec_push(ret, m);
	}
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct uproc *proc_find(const struct uprocs *u, uint64_t pid)
{
	return hashmap_find(u->procs, &pid, sizeof(pid));
}

struct uproc *uproc_add(struct uprocs *u, uint64_t pid, uint64_t born)
{
	struct uproc *p = xcalloc(1, sizeof(*p));

	p->pid = pid;
	p->born = born;
	hashmap_set(u->procs, &pid, sizeof(pid), p);
	return p;
}

/* Another process has the id of p by now. Returns that process. */
static struct uproc *proc_succeed(struct uprocs *u, struct uproc *p, uint64_t born)
{
	struct uproc *next;
	uint32_t n = 0;

	uproc_end(u, p, born);
	next = uproc_add(u, p->pid, born);
	next->before = p;
	for (p = next; p && n < BEFORE_MAX; p = p->before)
		n++;
	if (p)
		uproc_forget_before(u, p);
	return next;
}

void uproc_destroy(struct uproc *p)
{
	for (uint32_t i = 0; i < p->past.len; i++)
		uspace_put(p->past.data[i].space);
	vec_deinit(&p->past);
	uspace_put(p->space);
	ujit_destroy(p->jit);
	free(p);
}

/* Reads the id of a process in a container, which /proc shows only while the process lives. */
static void nspid_see(struct uproc *p)
{
	if (p->space->root)
		p->nspid = upid_innermost(p->pid);
}

/*
 * Reads what the process with the id of p has mapped; *ret_born is when it began, 0 if unknown.
 * Returns 0 or errno. An open file of mappings stays that process's, and is empty once that has
 * ended: if there are any, what was read before them is about the same process.
 *
 * Nothing was recorded before the session begins: of the processes that are there by then, it is
 * enough to know that they began earlier.
 */
static int maps_read(struct uprocs *u, const struct uproc *p, umap_vec *ret, uint64_t *ret_born)
{
	CLEANUP(file) FILE *f = proc_open(p->pid, "maps");
	int sys = f ? 0 : errno;

	*ret_born = u->is_beginning && !p->born ? uprocs_now(u) : upid_born(u, p->pid);
	if (f)
		parse_maps(u, f, ret);
	return sys;
}

/* Opens the files of code that p maps, so that they can be read when they have been deleted. */
static void space_keep(struct uprocs *u, const struct uproc *p)
{
	for (uint32_t i = 0; i < p->space->maps.len; i++) {
		const struct umap *m = &p->space->maps.data[i];
		struct ufile_access at = access_of(p, m, p->space);

		if (m->is_exec && m->file)
			ufile_keep(&u->files, m->file, &at);
	}
}

/* Reads /proc. Returns the process that has the id: if it is not p, p has ended. */
static struct uproc *proc_read(struct uprocs *u, struct uproc *p)
{
	umap_vec maps = {0};
	uint64_t born, now = uprocs_now(u);
	int sys = maps_read(u, p, &maps, &born);

	if (born && uproc_is_other(p, born))
		p = proc_succeed(u, p, born);
	p->is_denied = sys == EACCES || sys == EPERM;
	p->tick = u->tick;
	if (sys == ENOENT)
		uproc_end(u, p, now);
	if (!maps.len ||
	    p->ended) { /* the process has ended, or is ending, or is a kernel thread */
		vec_deinit(&maps);
		return p;
	}
	if (!p->born)
		p->born = born;
	p->read_at = now;
	if (p->space)
		p->space = uspace_own(p->space);
	else
		p->space = uspace_create(0, uroot_of(&u->roots, p->pid, NULL));
	uspace_update(p->space, &maps);
	nspid_see(p);
	space_keep(u, p);
	ujit_see(u, p);
	return p;
}

/*
 * Adds what /proc shows of p to what events have reported. If another process has the id by now,
 * events will say so.
 */
static void proc_complete(struct uprocs *u, struct uproc *p)
{
	umap_vec maps = {0};
	uint64_t born, now = uprocs_now(u);
	int sys = maps_read(u, p, &maps, &born);

	p->is_denied = sys == EACCES || sys == EPERM;
	p->tick = u->tick;
	if (sys == ENOENT)
		uproc_end(u, p, now);
	if (!maps.len || !born || uproc_is_other(p, born)) {
		vec_deinit(&maps);
		return;
	}
	p->space = uspace_own(p->space);
	uspace_complete(p->space, &maps);
	space_keep(u, p);
	ujit_see(u, p);
}

struct uproc *uproc_get(struct uprocs *u, uint64_t pid)
{
	struct uproc *p = proc_find(u, pid);

	if (!p)
		p = uproc_add(u, pid, 0);
	if (!p->is_target && (!p->tick || (!u->is_told && p->tick != u->tick)))
		p = proc_read(u, p);
	return p;
}

bool uproc_again(struct uprocs *u, struct uproc *p)
{
	if (p->is_target || p->ended || p->tick == u->tick)
		return false;
	if (u->is_told && p->space)
		proc_complete(u, p);
	else
		(void)proc_read(u, p);
	return true;
}

static void uprocs_scan(struct uprocs *u)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;

	while (d && (de = readdir(d))) {
		uint64_t pid = strtoull(de->d_name, NULL, 10);

		if (pid)
			(void)uproc_get(u, pid);
	}
	if (d)
		(void)closedir(d);
}

void uprocs_begin(struct uprocs *u)
{
	u->is_told = u->is_beginning = true;
	uprocs_scan(u);
	u->is_beginning = false;
}

void uprocs_lost(struct uprocs *u)
{
	uint64_t now = uprocs_now(u);
	struct uproc *p;
	size_t pos = 0;

	/* an id of a process that has ended may be another one's, whose fork was lost */
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		p->tick = 0;
	uprocs_scan(u);
	pos = 0;
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL))) {
		if (!p->tick && !p->is_target)
			uproc_end(u, p, now);
		p->tick = u->tick;
	}
}

struct uproc *uproc_at(struct uproc *p, uint64_t time)
{
	while (p && p->born > time)
		p = p->before;
	return p;
}

const struct uspace *uproc_space(const struct uproc *p, uint64_t time)
{
	const struct uspace *s = p->space;

	for (uint32_t i = p->past.len; s && s->since > time && i > 0; i--)
		s = p->past.data[i - 1].space;
	return s && s->since > time && p->is_past_cut ? NULL : s;
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Returns the process that an event is about. A process whose end was reported may still live: its
 * first thread may have ended alone, or another thread may have executed a program. If it has
 * ended, another process has got the id, and the event of its fork was lost.
 */
static struct uproc *event_proc(struct uprocs *u, struct uproc *p, uint64_t time)
{
	uint64_t born;

	if (!p->ended || time <= p->ended)
		return p;
	born = upid_born(u, p->pid);
	if (born && born <= time && uproc_is_other(p, born))
		return proc_succeed(u, p, born);
	p->ended = p->end_number = 0;
	return p;
}

void uprocs_forked(struct uprocs *u, uint64_t pid, uint64_t parent, uint64_t time)
{
	struct uspace *space = uspace_share(uproc_get(u, parent)->space);
	struct uproc *p = proc_find(u, pid);

	if (p && p->read_at >= time) { /* what was read from /proc is newer than the event */
		uspace_put(space);
		return;
	}
	if (p && (p->space || p->ended))
		p = proc_succeed(u, p, time);
	else if (!p)
		p = uproc_add(u, pid, time);
	p->born = p->read_at = time;
	p->space = space;
	p->tick = u->tick;
	ujit_see(u, p);
}

void uprocs_execed(struct uprocs *u, uint64_t pid, uint64_t time)
{
	struct uproc *p = proc_find(u, pid);
	struct uspace *before;
	struct uroot *root;

	if (!p)
		p = uproc_add(u, pid, time);
	p = event_proc(u, p, time);
	if (p->read_at >= time)
		return;
	root = uroot_of(&u->roots, pid, p->space ? p->space->root : NULL);
	before = p->space;
	p->space = uspace_create(time, root);
	uproc_gave_up(u, p, before);
	nspid_see(p);
	ujit_destroy(p->jit);
	p->jit = NULL;
	p->read_at = time;
	p->tick = u->tick;
}

void uprocs_mapped(struct uprocs *u, uint64_t pid, const struct sym_map *e, uint64_t time)
{
	struct umap m = {e->start, e->start + e->len, e->off, NULL, e->is_exec};
	struct uproc *p = event_proc(u, uproc_get(u, pid), time);
	struct ufile_access at;

	if (p->read_at >= time || m.end <= m.start)
		return;
	if (!is_anonymous(e->path)) {
		ufiles_see_inode(&u->files, e->dev, e->ino, e->gen);
		m.file = ufile_get(&u->files, e->dev, e->ino, e->path);
	}
	if (!m.file && !m.is_exec)
		return;
	if (p->space)
		p->space = uspace_own(p->space);
	else
		p->space = uspace_create(0, uroot_of(&u->roots, pid, NULL));
	uspace_add(p->space, &m);
	at = access_of(p, &m, p->space);
	if (m.file && m.is_exec)
		ufile_keep(&u->files, m.file, &at);
	ujit_see(u, p);
}

void uprocs_ended(struct uprocs *u, uint64_t pid, uint64_t time)
{
	struct uproc *p = proc_find(u, pid);

	if (p && p->read_at < time)
		uproc_end(u, p, time);
}

/* ---- begin and end --------------------------------------------------------------------------- */

void uprocs_tick(struct uprocs *u)
{
	u->tick++;
	uprocs_bound(u);
	ujits_bound(u);
	ufiles_bound(u);
	ujits_tick(u);
}

void uprocs_init(struct uprocs *u)
{
	*u = (struct uprocs){
		.procs = hashmap_create(),
		.tick = 1,
		.clock_offset = proc_monotonic_offset(),
	};
	uroots_init(&u->roots);
	ufiles_init(&u->files);
}

void uprocs_deinit(struct uprocs *u)
{
	struct uproc *p;
	size_t pos = 0;

	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		while (p) {
			struct uproc *before = p->before;

			uproc_destroy(p);
			p = before;
		}
	hashmap_destroy(u->procs);
	uroots_deinit(&u->roots);
	vec_deinit(&u->ends);
	vec_deinit(&u->makers);
	ufiles_deinit(&u->files);
}
