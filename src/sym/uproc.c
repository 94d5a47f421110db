/* Keeps track of processes and what they have mapped, from /proc and from the kernel's events. */
#include "sym/uproc.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "sym/gate.h"
#include "sym/perfmap.h"

#define ENDS_MAX       65536 /* processes that are kept after their end */
#define ROOTS_MAX      256
#define FILES_FEW      1024   /* so many files are kept, mapped or not */
#define FILES_MAX      16384  /* beyond, processes that have ended are forgotten for their files */
#define ENDED_MAPS_MAX 256    /* tables of code that was made, of processes that have ended */
#define LINES_MAX      100000 /* lines read of one process's maps, which may be of any length */

static FILE *proc_open(uint64_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/%s", pid, name);
	return fopen(path, "re");
}

/* ---- the directory that is "/" --------------------------------------------------------------- */

static bool proc_stat(const char *pid, const char *name, struct stat *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%s/%s", pid, name);
	return stat(path, ret) == 0;
}

static bool is_same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/*
 * Returns the root directory of a living process (NULL: our own); if /proc does not say, that of
 * its older space.
 */
static struct uroot *root_of(struct uprocs *u, uint64_t pid, const struct uspace *older)
{
	struct stat our_ns, our_root, ns, root;
	struct uroot *r;
	char text[32], key[96];
	int len, fd;

	(void)snprintf(text, sizeof(text), "%" PRIu64, pid);
	if (!proc_stat("self", "ns/mnt", &our_ns) || !proc_stat("self", "root", &our_root) ||
	    !proc_stat(text, "ns/mnt", &ns) || !proc_stat(text, "root", &root))
		return older ? older->root : NULL;
	if (is_same(&ns, &our_ns) && is_same(&root, &our_root))
		return NULL;
	len = snprintf(key, sizeof(key), "%ju %ju %ju", (uintmax_t)ns.st_ino,
		       (uintmax_t)root.st_dev, (uintmax_t)root.st_ino);
	r = hashmap_find(u->roots, key, (size_t)len);
	if (r || hashmap_count(u->roots) >= ROOTS_MAX)
		return r;
	(void)snprintf(key + len + 1, sizeof(key) - (size_t)len - 1, "/proc/%s/root", text);
	fd = open(key + len + 1, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return older ? older->root : NULL;
	r = xcalloc(1, sizeof(*r));
	r->fd = fd;
	hashmap_set(u->roots, key, (size_t)len, r);
	return r;
}

/* ---- /proc/PID/maps -------------------------------------------------------------------------- */

static struct uplace place_of(const struct uproc *p, const struct umap *m, const struct uspace *s)
{
	return (struct uplace){p->pid, m->start, m->end, uspace_root(s)};
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

/*
 * The process id in the innermost PID namespace: the last number of the line "NSpid:      1200
 * 7".
 */
static uint64_t innermost_pid(uint64_t pid)
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

/*
 * The effective user, as our own user namespace numbers it: "Uid: REAL EFFECTIVE ..."; -1: it has
 * ended.
 */
static uid_t user_of(uint64_t pid)
{
	CLEANUP(file) FILE *f = proc_open(pid, "status");
	CLEANUP(free) char *line = NULL;
	unsigned int real, effective;
	size_t cap = 0;

	while (f && getline(&line, &cap, f) > 0)
		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2)
			return effective;
	return (uid_t)-1;
}

/* Reads the id of a process in a container, which /proc shows only while the process lives. */
static void nspid_see(struct uproc *p)
{
	if (p->space->root)
		p->nspid = innermost_pid(p->pid);
}

static void jit_see(struct uprocs *u, struct uproc *p);

static void proc_read(struct uprocs *u, struct uproc *p)
{
	CLEANUP(file) FILE *f = proc_open(p->pid, "maps");
	int sys = f ? 0 : errno;
	umap_vec maps = {0};
	uint64_t now = now_ns();

	p->is_denied = sys == EACCES || sys == EPERM;
	p->tick = u->tick;
	if (f)
		parse_maps(u, f, &maps);
	if (!maps.len) { /* the process has ended, or is a kernel thread */
		vec_deinit(&maps);
		return;
	}
	p->read_at = now;
	if (p->space)
		p->space = uspace_own(p->space);
	else
		p->space = uspace_create(0, root_of(u, p->pid, NULL), NULL);
	uspace_update(p->space, &maps);
	nspid_see(p);
	for (uint32_t i = 0; i < p->space->maps.len; i++) {
		const struct umap *m = &p->space->maps.data[i];
		struct uplace at = place_of(p, m, p->space);

		if (m->is_exec && m->file)
			ufile_keep(&u->files, m->file, &at);
	}
	jit_see(u, p);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct uproc *proc_find(const struct uprocs *u, uint64_t pid)
{
	return hashmap_find(u->procs, &pid, sizeof(pid));
}

static struct uproc *proc_add(struct uprocs *u, uint64_t pid)
{
	struct uproc *p = xcalloc(1, sizeof(*p));

	p->pid = pid;
	hashmap_set(u->procs, &pid, sizeof(pid), p);
	return p;
}

static void jit_destroy(struct ujit *j)
{
	if (j)
		perfmap_destroy(j->perfmap);
	free(j);
}

static void proc_destroy(struct uproc *p)
{
	uspace_put(p->space);
	jit_destroy(p->jit);
	free(p);
}

struct uproc *uproc_get(struct uprocs *u, uint64_t pid)
{
	struct uproc *p = proc_find(u, pid);

	if (!p)
		p = proc_add(u, pid);
	if (!p->tick || (!u->is_told && p->tick != u->tick))
		proc_read(u, p);
	return p;
}

bool uproc_again(struct uprocs *u, struct uproc *p)
{
	if (p->ended || p->tick == u->tick)
		return false;
	proc_read(u, p);
	return true;
}

void uprocs_scan(struct uprocs *u)
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

void uprocs_lost(struct uprocs *u)
{
	struct uproc *p;
	size_t pos = 0;

	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		if (!p->ended)
			p->tick = 0;
	uprocs_scan(u);
}

const struct uspace *uproc_space(const struct uproc *p, uint64_t time)
{
	const struct uspace *s = p->space;

	while (s && s->since > time && s->older)
		s = s->older;
	return s;
}

/* ---- events ---------------------------------------------------------------------------------- */

/*
 * Gives p the address space s from that time on. If the process id was in use before, what that
 * process had mapped becomes the older space.
 */
static void set_space(struct uproc *p, struct uspace *s, uint64_t time)
{
	struct uspace *old = p->space, *own;

	if (!old || old == s) {
		p->space = s;
		uspace_put(old == s ? old : NULL);
		return;
	}
	own = uspace_create(time, s ? s->root : NULL, old);
	for (uint32_t i = 0; s && i < s->maps.len; i++)
		vec_push(&own->maps, s->maps.data[i]);
	own->has_jit = s && s->has_jit;
	uspace_put(s);
	p->space = own;
}

void uprocs_forked(struct uprocs *u, uint64_t pid, uint64_t parent, uint64_t time)
{
	struct uproc *from = uproc_get(u, parent), *p = proc_find(u, pid);

	if (p && p->read_at >= time)
		return; /* what was read from /proc is newer than the event */
	if (!p)
		p = proc_add(u, pid);
	set_space(p, uspace_share(from->space), time);
	jit_destroy(p->jit);
	p->jit = NULL;
	p->ended = p->nspid = 0;
	p->read_at = time;
	p->tick = u->tick;
	jit_see(u, p);
}

void uprocs_execed(struct uprocs *u, uint64_t pid, uint64_t time)
{
	struct uproc *p = proc_find(u, pid);

	if (!p)
		p = proc_add(u, pid);
	if (p->read_at >= time)
		return;
	p->space = uspace_create(time, root_of(u, pid, p->space), p->space);
	nspid_see(p);
	jit_destroy(p->jit);
	p->jit = NULL;
	p->read_at = time;
	p->tick = u->tick;
}

void uprocs_mapped(struct uprocs *u, uint64_t pid, const struct sym_map *e, uint64_t time)
{
	struct umap m = {e->start, e->start + e->len, e->off, NULL, e->is_exec};
	struct uproc *p = uproc_get(u, pid);
	struct uplace at;

	if (p->read_at >= time || m.end <= m.start)
		return;
	if (!is_anonymous(e->path))
		m.file = ufile_get(&u->files, e->dev, e->ino, e->path);
	if (!m.file && !m.is_exec)
		return;
	p->space = p->space ? uspace_own(p->space) : uspace_create(0, root_of(u, pid, NULL), NULL);
	uspace_add(p->space, &m);
	at = place_of(p, &m, p->space);
	if (m.file && m.is_exec)
		ufile_keep(&u->files, m.file, &at);
	jit_see(u, p);
}

/* Removes a process that ended long ago. */
static void proc_forget(struct uprocs *u, const struct uend *end)
{
	struct uproc *p = proc_find(u, end->pid);

	if (!p || p->ended != end->time)
		return; /* the id belongs to another process by now */
	hashmap_remove(u->procs, &p->pid, sizeof(p->pid));
	proc_destroy(p);
}

/* Forgets those n that ended first. */
static void ends_forget(struct uprocs *u, uint32_t n)
{
	n = MIN(n, u->ends.len - u->first_end);
	for (uint32_t i = 0; i < n; i++)
		proc_forget(u, &u->ends.data[u->first_end + i]);
	u->first_end += n;
	if (u->first_end <= u->ends.len / 2)
		return;
	u->ends.len -= u->first_end;
	memmove(u->ends.data, u->ends.data + u->first_end, u->ends.len * sizeof(*u->ends.data));
	u->first_end = 0;
}

/* The tables of processes that ended long ago go: each has a descriptor, and may be large. */
static void ended_maps_bound(struct uprocs *u)
{
	uint32_t kept = 0;

	if (u->nended_maps <= ENDED_MAPS_MAX)
		return;
	for (uint32_t i = u->ends.len; i-- > u->first_end;) {
		struct uproc *p = proc_find(u, u->ends.data[i].pid);

		if (!p || p->ended != u->ends.data[i].time || !p->jit || !p->jit->perfmap)
			continue;
		if (kept < ENDED_MAPS_MAX / 2) {
			kept++;
			continue;
		}
		jit_destroy(p->jit);
		p->jit = NULL;
	}
	u->nended_maps = kept;
}

void uprocs_ended(struct uprocs *u, uint64_t pid, uint64_t time)
{
	struct uproc *p = proc_find(u, pid);
	struct uend end = {pid, time};

	if (!p || p->ended)
		return;
	p->ended = time;
	u->nended_maps += uproc_perfmap(u, p) != NULL;
	vec_push(&u->ends, end);
	if (u->ends.len - u->first_end > ENDS_MAX)
		ends_forget(u, 1);
	ended_maps_bound(u);
}

/* ---- files that nothing maps any more -------------------------------------------------------- */

static void space_mark(struct uprocs *u, struct uspace *s)
{
	for (; s && s->swept != u->sweep; s = s->older) {
		s->swept = u->sweep;
		for (uint32_t i = 0; i < s->maps.len; i++)
			if (s->maps.data[i].file)
				s->maps.data[i].file->swept = u->sweep;
	}
}

static uint32_t files_sweep(struct uprocs *u)
{
	struct uproc *p;
	size_t pos = 0;

	u->sweep++;
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		space_mark(u, p->space);
	ufiles_sweep(&u->files, u->sweep);
	return (uint32_t)hashmap_count(u->files.files);
}

/*
 * Files come and go: packages are replaced, containers bring their own. Once there are twice as
 * many as the last sweep left, those go that no process is known to map or to have mapped.
 */
static void files_bound(struct uprocs *u)
{
	uint32_t n;

	if (hashmap_count(u->files.files) < MAX(u->sweep_at, FILES_FEW))
		return;
	n = files_sweep(u);
	while (n > FILES_MAX / 2 && u->ends.len > u->first_end) {
		ends_forget(u, (u->ends.len - u->first_end + 1) / 2);
		n = files_sweep(u);
	}
	u->sweep_at = 2 * n;
}

/* ---- processes with generated code ----------------------------------------------------------- */

/*
 * When the process began, in seconds since 1970; 0 if that is unknown. The time is field 22 of
 * /proc/PID/stat, counted from the last ')', because the name of the process may contain spaces.
 */
static int64_t start_time(uint64_t pid)
{
	CLEANUP(file) FILE *f = proc_open(pid, "stat");
	char line[1024], *p;
	struct timespec boot;
	long hz = sysconf(_SC_CLK_TCK);

	if (!f || !fgets(line, sizeof(line), f) || !(p = strrchr(line, ')')) || hz <= 0)
		return 0;
	for (int field = 2; field < 22 && p; field++)
		p = strchr(p + 1, ' ');
	if (!p || clock_gettime(CLOCK_BOOTTIME, &boot) != 0)
		return 0;
	return time(NULL) - (boot.tv_sec - strtoll(p, NULL, 10) / hz);
}

static struct perfmap *perfmap_open(const struct uspace *s, const struct ujit *j)
{
	CLEANUP(fd) int fd = -1;
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/tmp/%s", j->object);
	fd = gate_open_path(uspace_root(s), path);
	/*
	 * Anybody may write to /tmp: only a file of the process's own user, or of root, is trusted.
	 */
	if (fd < 0 || fstat(fd, &st) || (st.st_uid != j->uid && st.st_uid != 0) ||
	    st.st_mtim.tv_sec + 1 < j->wall_start)
		return NULL;
	return perfmap_create(fd_take(&fd));
}

/*
 * For a process that has executable memory without a file: reads what is needed to find the names
 * of that code after the end of the process.
 */
static void jit_see(struct uprocs *u, struct uproc *p)
{
	if (!p->space || !p->space->has_jit || p->jit)
		return;
	p->jit = xcalloc(1, sizeof(*p->jit));
	if (!p->nspid)
		p->nspid = innermost_pid(p->pid);
	p->jit->wall_start = start_time(p->pid);
	p->jit->uid = user_of(p->pid);
	(void)snprintf(p->jit->object, sizeof(p->jit->object), "perf-%" PRIu64 ".map", p->nspid);
	if (!uproc_perfmap(u, p))
		vec_push(&u->makers, p->pid);
}

/*
 * Tries to open each missing perf-PID.map: it is created late, and may be out of reach when the
 * process has ended.
 */
void uprocs_tick(struct uprocs *u)
{
	uint32_t n = 0;

	u->tick++;
	files_bound(u);
	for (uint32_t i = 0; i < u->makers.len; i++) {
		struct uproc *p = proc_find(u, u->makers.data[i]);

		if (p && p->jit && !p->ended && !uproc_perfmap(u, p))
			u->makers.data[n++] = p->pid;
	}
	u->makers.len = n;
}

struct perfmap *uproc_perfmap(struct uprocs *u, struct uproc *p)
{
	struct ujit *j = p->jit;

	if (!j || j->perfmap || (j->tick == u->tick && !p->ended))
		return j ? j->perfmap : NULL;
	j->tick = u->tick;
	j->perfmap = perfmap_open(p->space, j);
	return j->perfmap;
}

/* ---- begin and end --------------------------------------------------------------------------- */

void uprocs_init(struct uprocs *u)
{
	*u = (struct uprocs){
		.procs = hashmap_create(),
		.roots = hashmap_create(),
		.tick = 1,
	};
	ufiles_init(&u->files);
}

void uprocs_deinit(struct uprocs *u)
{
	struct uproc *p;
	struct uroot *r;
	size_t pos = 0;

	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		proc_destroy(p);
	pos = 0;
	while ((r = hashmap_next(u->roots, &pos, NULL, NULL))) {
		(void)close(r->fd);
		free(r);
	}
	hashmap_destroy(u->procs);
	hashmap_destroy(u->roots);
	vec_deinit(&u->ends);
	vec_deinit(&u->makers);
	ufiles_deinit(&u->files);
}
