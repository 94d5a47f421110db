/* SPDX-License-Identifier: MIT */
/* Opens foreign files, in this process or in the reader, and waits for no server too long. */
#include "files/gate_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "base/text.h"
#include "files/reader.h"
#include "files/mounts.h"

#define BLOCK	       65536u		   /* the least number of bytes that are fetched at once */
#define IMAGE_MAX      ((uint64_t)1 << 36) /* largest file that the reader reads */
#define PATIENT_FACTOR 10		   /* multiplies waits before anything is traced */
#define WAIT_SHARE     10		   /* waits may take 1/WAIT_SHARE of the time */
#define WAIT_BURST     4		   /* waits that may follow one another before that */
#define WAIT_FREE_NS   2000000		   /* a shorter wait is not counted */
#define PAUSE_MIN_NS   ((uint64_t)5000000000) /* before a silent file system is asked again */
#define PAUSE_MAX_NS   ((uint64_t)300000000000)
#define ZONES_MAX      1024 /* when there are so many zones, all other file systems share one */
#define REPORTED_MAX   8
#define LATE_MAX       8 /* readers that were given up and have not ended */

/* A zone is a set of files that are likely to have the same server. */
struct zone {
	uint64_t until;	   /* the server is not asked before this time */
	uint64_t pause_ns; /* 0: the server has always answered */
	bool is_slow;	   /* the server has once taken longer than others */
	uint32_t reported; /* bits: reasons (enum late) that the user has been told */
};

/* Why a request got no answer. */
enum late {
	LATE_SILENT,	/* the file system does not answer */
	LATE_SLOW,	/* it was not asked: waits have used up a tenth of the time */
	LATE_MANY,	/* it was not asked: all readers wait for others that do not answer */
	LATE_NO_READER, /* it was not asked: no reader can be made */
};

static const char *const late_texts[] = {
	[LATE_SILENT] = "its file system does not answer",
	[LATE_SLOW] = ("file systems answer too slowly, and no more than a tenth of the time is "
		       "spent on waiting for them"),
	[LATE_MANY] = "too many other file systems do not answer",
	[LATE_NO_READER] = "the process that reads such files cannot be made",
};

struct gate {
	uint32_t refs; /* references of files, and one until gate_destroy() */
	struct mounts mounts;
	int root_fd; /* our own root directory (O_PATH); -1 until it is needed */
	struct reader *reader;
	const struct gate_file *current; /* the file that the reader has open; NULL: none of ours */
	struct zone *open_zone;		 /* the zone of the file that the reader has open */
	pid_t late[LATE_MAX];
	uint32_t nlate;
	struct hashmap *zones; /* keyed by the texts that the functions zone_of_...() make */
	uint64_t wait_ns;
	uint64_t left_ns, left_at; /* how long waits could still take at time left_at */
	bool is_patient;
	bool is_closed;	 /* no reader is started any more */
	bool distrusts;	 /* gate_set_distrust() */
	enum late why;	 /* of the last request without an answer */
	uint64_t nlates; /* requests without an answer */
	uint32_t nreported;
	void (*notice)(void *ctx, const char *msg);
	void *ctx;
	int (*opener)(void *ctx, const char *path); /* NULL: nobody opens for us */
	void *opener_ctx;
};

struct gate_file {
	uint32_t refs;
	int fd; /* -1: the caller's descriptor was closed */
	bool is_borrowed;
	struct stat st;
	/* The following members are used only if the reader reads the file. */
	struct gate *gate; /* NULL: this process reads the file */
	struct zone *zone;
	char *path; /* for messages */
	bool is_stuck;
	uint32_t nusers; /* number of users of the image */
	char *image;	 /* NULL: the image has no users */
	uint64_t size;	 /* bytes of the image */
	uint8_t *blocks; /* a bit for each block, set if the block was fetched */
};

/* ---- the gate -------------------------------------------------------------------------------- */

struct gate *gate_create(void)
{
	struct gate *g = xcalloc(1, sizeof(*g));

	g->refs = 1;
	mounts_init(&g->mounts);
	g->root_fd = -1;
	g->is_patient = true;
	g->wait_ns = GATE_WAIT_NS;
	g->left_ns = WAIT_BURST * g->wait_ns;
	g->zones = hashmap_create();
	return g;
}

static void late_reap(struct gate *g)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->nlate; i++)
		if (!reader_reap(g->late[i]))
			g->late[n++] = g->late[i];
	g->nlate = n;
}

static void reader_give_up(struct gate *g)
{
	pid_t pid = reader_destroy(g->reader);

	if (pid)
		g->late[g->nlate++] = pid;
	g->reader = NULL;
	g->current = NULL;
	g->open_zone = NULL;
}

static void gate_put(struct gate *g)
{
	struct zone *z;
	size_t pos = 0;

	if (--g->refs)
		return;
	while ((z = hashmap_next(g->zones, &pos, NULL, NULL)))
		free(z);
	hashmap_destroy(g->zones);
	mounts_deinit(&g->mounts);
	if (g->root_fd >= 0)
		(void)close(g->root_fd);
	free(g);
}

void gate_destroy(struct gate *g)
{
	if (!g)
		return;
	(void)reader_destroy(g->reader);
	g->reader = NULL;
	g->is_closed = true;
	gate_put(g);
}

void gate_set_wait(struct gate *g, uint64_t ns)
{
	g->wait_ns = ns;
	g->left_ns = MIN(g->left_ns, WAIT_BURST * ns);
}

void gate_set_patient(struct gate *g, bool is_patient)
{
	g->is_patient = is_patient;
	g->left_ns = WAIT_BURST * g->wait_ns;
	g->left_at = now_ns();
}

void gate_on_notice(struct gate *g, void (*notice)(void *ctx, const char *msg), void *ctx)
{
	g->notice = notice;
	g->ctx = ctx;
}

void gate_set_distrust(struct gate *g, bool is_on)
{
	g->distrusts = is_on;
}

bool gate_file_is_probed(const struct gate_file *f)
{
	return !f->gate || !f->gate->distrusts || mounts_is_fd_network(&f->gate->mounts, f->fd);
}

/* ---- zones ----------------------------------------------------------------------------------- */

static struct zone *zone_get(struct gate *g, const char *key)
{
	struct zone *z = hashmap_finds(g->zones, key);

	if (z)
		return z;
	if (hashmap_count(g->zones) >= ZONES_MAX)
		key = "";
	z = hashmap_finds(g->zones, key);
	if (z)
		return z;
	z = xcalloc(1, sizeof(*z));
	hashmap_sets(g->zones, key, z);
	return z;
}

static struct zone *zone_of_dev(struct gate *g, uint64_t dev)
{
	char key[32];

	(void)snprintf(key, sizeof(key), "d%" PRIx64, dev);
	return zone_get(g, key);
}

/*
 * Returns the zone of a path. The reader looks the path up, so the file system of the file is not
 * known here. Below our own root, it is guessed from the path and the table of mounts; below
 * another root, all paths are in one zone.
 */
static struct zone *zone_of_path(struct gate *g, int root, const char *path)
{
	const struct mount *m = root < 0 ? mounts_of_path(&g->mounts, path) : NULL;
	uint64_t id;
	char key[32];

	if (m)
		return zone_of_dev(g, m->dev);
	if (root >= 0 && mounts_id_of_fd(root, &id))
		(void)snprintf(key, sizeof(key), "r%" PRIu64, id);
	else
		(void)snprintf(key, sizeof(key), "r");
	return zone_get(g, key);
}

/* Returns the zone of the mount that a descriptor belongs to. */
static struct zone *zone_of_fd(struct gate *g, int fd)
{
	uint64_t id;
	char key[32];

	if (mounts_id_of_fd(fd, &id))
		(void)snprintf(key, sizeof(key), "m%" PRIu64, id);
	else
		(void)snprintf(key, sizeof(key), "m");
	return zone_get(g, key);
}

/*
 * Notifies the user of a file that cannot be read for the reason g->why. A hostile user can mount
 * any number of file systems, so only the first few are reported.
 */
static void zone_tell(struct gate *g, struct zone *z, const char *path)
{
	struct strbuf text = {0};
	char *name;

	if (!z->is_slow || z->reported & 1u << g->why || g->is_patient || !g->notice ||
	    g->nreported >= REPORTED_MAX)
		return;
	z->reported |= 1u << g->why;
	g->nreported++;
	name = text_clean(xstrdup(path ? path : "a mapped file"));
	strbuf_addf(&text,
		    "cannot read '%s': %s. Addresses in files there have no names, and stacks "
		    "through them may be cut, until %s%s",
		    name, late_texts[g->why],
		    g->why == LATE_SILENT ? "it does" : "they are asked again",
		    g->nreported == REPORTED_MAX ? "; further ones are not reported" : "");
	g->notice(g->ctx, strbuf_text(&text));
	free(name);
	strbuf_deinit(&text);
}

const char *gate_late_text(const struct gate *g)
{
	return late_texts[g->why];
}

uint64_t gate_late_count(const struct gate *g)
{
	return g->nlates;
}

static void zone_pause(struct zone *z)
{
	z->pause_ns = z->pause_ns ? MIN(2 * z->pause_ns, PAUSE_MAX_NS) : PAUSE_MIN_NS;
	z->until = now_ns() + z->pause_ns;
}

/* ---- waiting --------------------------------------------------------------------------------- */

/* A wait for an answer. */
struct wait {
	uint64_t since;
	uint64_t allowed; /* ns it may take; 0: no wait is allowed */
	bool is_short;	  /* others have used up the time: no answer does not mean silence */
};

/* Returns how many ns waits may take that are charged. */
static uint64_t wait_left(struct gate *g, uint64_t now)
{
	if (g->is_patient)
		return g->wait_ns * PATIENT_FACTOR;
	g->left_ns = MIN(WAIT_BURST * g->wait_ns, g->left_ns + (now - g->left_at) / WAIT_SHARE);
	g->left_at = now;
	/* A wait that is too short would blame a file system that is only slow. */
	return g->left_ns >= g->wait_ns / 2 ? g->wait_ns : 0;
}

/*
 * One file system that is slow must not take the names of files from all others, so those that have
 * always answered at once are asked nevertheless.
 */
static struct wait wait_begin(struct gate *g, const struct zone *z)
{
	struct wait w = {.since = now_ns()};

	if (w.since < z->until)
		return w;
	w.allowed = wait_left(g, w.since);
	w.is_short = !w.allowed && !z->is_slow && !z->pause_ns;
	if (w.is_short)
		w.allowed = g->wait_ns / WAIT_SHARE;
	return w;
}

static void wait_charge(struct gate *g, struct zone *z, uint64_t since)
{
	uint64_t took = now_ns() - since;

	if (g->is_patient || took <= WAIT_FREE_NS)
		return;
	took -= MIN(took, g->reader ? reader_runnable_ns(g->reader) : 0);
	if (took <= WAIT_FREE_NS)
		return;
	z->is_slow = true;
	g->left_ns -= MIN(g->left_ns, took);
}

/* ---- requests -------------------------------------------------------------------------------- */

/* A request to the reader. Each kind of request has a function send(), which returns errno. */
struct request {
	int (*send)(struct gate *g, struct request *q, uint64_t deadline);
	struct zone *zone;
	const char *path; /* for messages */
	int root;
	const struct gate_mapping *mapping;
	struct gate_file *file;
	uint64_t off;
	void *to;
	size_t size;
	/* the answer */
	size_t n;
	int fd;
	struct stat st;
};

static int path_ask(struct gate *g, struct request *q, uint64_t deadline)
{
	return reader_open_path(g->reader, q->root, q->path, deadline, &q->fd, &q->st);
}

static int mapping_ask(struct gate *g, struct request *q, uint64_t deadline)
{
	const struct gate_mapping *m = q->mapping;

	return reader_open_mapping(g->reader, m->pid, m->start, m->end, deadline, &q->fd, &q->st);
}

/* q->fd is the descriptor that the reader opens again, and stays the file's. */
static int found_ask(struct gate *g, struct request *q, uint64_t deadline)
{
	int sys = reader_reopen(g->reader, q->fd, deadline);

	return sys ? sys : reader_stat(g->reader, deadline, &q->st);
}

/* The memory is at the start of the mapping. */
static int memory_ask(struct gate *g, struct request *q, uint64_t deadline)
{
	const struct gate_mapping *m = q->mapping;

	return reader_memory(g->reader, m->pid, m->start, q->to, q->size, deadline, &q->n);
}

/* Makes the reader open the file of the request, unless it has it open: it opens one at a time. */
static int file_make_current(struct gate *g, struct request *q, uint64_t deadline)
{
	int sys;

	if (g->current == q->file)
		return 0;
	g->current = NULL;
	sys = reader_reopen(g->reader, q->file->fd, deadline);
	if (!sys)
		g->current = q->file;
	return sys;
}

static int stat_ask(struct gate *g, struct request *q, uint64_t deadline)
{
	int sys = file_make_current(g, q, deadline);

	return sys ? sys : reader_stat(g->reader, deadline, &q->st);
}

static int read_ask(struct gate *g, struct request *q, uint64_t deadline)
{
	int sys = file_make_current(g, q, deadline);

	return sys ? sys : reader_read(g->reader, q->off, q->to, q->size, deadline, &q->n);
}

static bool reader_is_ready(struct gate *g)
{
	late_reap(g);
	if (!g->reader && g->nlate < LATE_MAX && !g->is_closed)
		g->reader = reader_create();
	return g->reader != NULL;
}

/*
 * Sends a request and waits for its answer. Returns errno. *ret_again says that the answer was late
 * or missing for another reason than this file.
 */
static int request_try(struct gate *g, struct request *q, bool *ret_again)
{
	struct wait wait = wait_begin(g, q->zone);
	struct zone *late = q->zone;
	int sys;

	if (!wait.allowed || !reader_is_ready(g)) {
		g->why = q->zone->pause_ns	? LATE_SILENT
			 : !wait.allowed	? LATE_SLOW
			 : g->nlate == LATE_MAX ? LATE_MANY
						: LATE_NO_READER;
		zone_tell(g, q->zone, q->path);
		return ETIMEDOUT;
	}
	if (!q->file && q->send != memory_ask) /* another file is to be opened */
		g->current = NULL;
	if (!g->is_patient)
		(void)reader_runnable_ns(g->reader); /* wait_charge() counts from here */
	sys = q->send(g, q, wait.since + wait.allowed);
	wait_charge(g, q->zone, wait.since);
	if (sys == ETIMEDOUT) {
		if (reader_is_closing(g->reader) && g->open_zone && g->open_zone != q->zone) {
			late = g->open_zone;
			*ret_again = true;
		}
		reader_give_up(g);
		late->is_slow = true;
		if (!wait.is_short || late != q->zone)
			zone_pause(late);
		g->why = late->pause_ns ? LATE_SILENT : LATE_SLOW;
		zone_tell(g, late, late == q->zone ? q->path : NULL);
	} else if (sys == EPIPE) {
		reader_give_up(g);
		*ret_again = true;
	} else {
		q->zone->pause_ns = 0;
		if (q->send != memory_ask)
			g->open_zone = q->zone;
	}
	return sys;
}

static int request_do(struct gate *g, struct request *q)
{
	bool again = false;
	int sys = request_try(g, q, &again);

	if (again)
		sys = request_try(g, q, &again);
	g->nlates += sys == ETIMEDOUT || sys == EPIPE;
	if (q->file)
		q->file->is_stuck = sys == ETIMEDOUT || sys == EPIPE;
	return sys == EPIPE ? ETIMEDOUT : sys;
}

/* ---- opening --------------------------------------------------------------------------------- */

static struct gate_file *file_create(int fd)
{
	struct gate_file *f = xcalloc(1, sizeof(*f));

	f->refs = 1;
	f->fd = fd;
	return f;
}

/*
 * Takes over a descriptor of O_PATH, and opens its file to read it in this process. Only regular
 * files are opened, because opening has effects on others: a device does what its driver does then,
 * and whoever waits in a fifo goes on. Files of /proc and its like are left alone as well.
 */
static struct gate_file *file_here(int found)
{
	CLEANUP(fd) int path_fd = found;
	struct gate_file *f;
	struct stat st;
	int fd, sys;

	if (path_fd < 0)
		return NULL;
	sys = reader_found_check(path_fd, &st);
	if (sys) {
		errno = sys;
		return NULL;
	}
	fd = reader_fd_open(path_fd);
	if (fd < 0)
		return NULL;
	f = file_create(fd);
	f->st = st;
	return f;
}

/* Opens the file in the reader. */
static struct gate_file *file_there(struct gate *g, struct request *q)
{
	struct gate_file *f;
	int sys;

	sys = request_do(g, q);
	if (sys) {
		errno = sys;
		return NULL;
	}
	f = file_create(q->fd);
	f->gate = g;
	g->refs++;
	f->zone = g->open_zone = zone_of_dev(g, q->st.st_dev);
	f->st = q->st;
	f->path = xstrdup(q->path ? q->path : "a mapped file");
	g->current = f;
	return f;
}

static int open_beneath(int root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .resolve = RESOLVE_IN_ROOT | resolve};

	return (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
}

static bool root_is_ready(struct gate *g)
{
	if (g->root_fd < 0)
		g->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return g->root_fd >= 0;
}

/*
 * Finds a name in a folder that the kernel finds in its cache, if the folder lies on a harmless
 * file system. A tmpfs is asked for each name that does not exist in it, because the kernel's cache
 * keeps no such name for it. Names of symbolic links and of mounts are left to the reader.
 */
static int find_in_cached(struct gate *g, int root, const char *path)
{
	const char *name = basename(path);
	CLEANUP(free) char *folder = xstrdup(name > path ? path : ".");
	CLEANUP(fd) int dir = -1, fd = -1;
	struct stat st;

	if (name > path)
		folder[name - path] = '\0';
	dir = open_beneath(root, folder, O_PATH | O_DIRECTORY | O_CLOEXEC, RESOLVE_CACHED);
	if (dir >= 0 && mounts_is_fd_harmless(&g->mounts, dir, 0)) {
		fd = open_beneath(dir, name, O_PATH | O_CLOEXEC | O_NOFOLLOW, RESOLVE_NO_XDEV);
		if (fd < 0 ? errno != ELOOP && errno != EXDEV
			   : fstat(fd, &st) == 0 && !S_ISLNK(st.st_mode))
			return fd_take(&fd);
	}
	errno = EAGAIN;
	return -1;
}

/* Finds a path that the kernel finds in its cache, if the file lies on a harmless file system. */
static int find_cached(struct gate *g, int root, const char *path)
{
	CLEANUP(fd) int fd = open_beneath(root, path, O_PATH | O_CLOEXEC, RESOLVE_CACHED);

	if (fd < 0)
		return errno == EAGAIN ? find_in_cached(g, root, path) : -1;
	if (!mounts_is_fd_harmless(&g->mounts, fd, 0)) {
		errno = EAGAIN;
		return -1;
	}
	return fd_take(&fd);
}

/*
 * Finds a path (O_PATH) whose lookup asks only harmless file systems: the one of the root
 * directory, or those whose answers the kernel has cached. Returns -1 with errno EAGAIN if it is
 * not known which file systems would be asked.
 */
static int find_here(struct gate *g, int root, const char *path)
{
	int fd;

	if (!mounts_is_fd_harmless(&g->mounts, root, 0)) {
		errno = EAGAIN;
		return -1;
	}
	fd = open_beneath(root, path, O_PATH | O_CLOEXEC, RESOLVE_NO_XDEV);
	return fd < 0 && errno == EXDEV ? find_cached(g, root, path) : fd;
}

/*
 * The kernel names files of memfd_create() "/memfd:NAME" in its lists of mappings; such a file is
 * in no folder.
 */
static bool is_memory_name(const char *path)
{
	return strncmp(path, "/memfd:", 7) == 0;
}

void gate_set_opener(struct gate *g, int (*open)(void *ctx, const char *path), void *ctx)
{
	g->opener = open;
	g->opener_ctx = ctx;
}

/* Asks the opener for a file that we have no right to open. */
static struct gate_file *file_asked(struct gate *g, const char *path)
{
	CLEANUP(fd) int fd = g->opener(g->opener_ctx, path);
	struct gate_file *f;
	struct stat st;
	int sys;

	if (fd < 0)
		return NULL;
	sys = reader_found_check(fd, &st);
	if (sys) {
		errno = sys;
		return NULL;
	}
	f = file_create(fd_take(&fd));
	f->st = st;
	return f;
}

static struct gate_file *path_open(struct gate *g, int root, const char *path)
{
	struct request q = {.send = path_ask, .path = path, .root = root, .fd = -1};
	int fd;

	if (is_memory_name(path)) {
		errno = ENOENT;
		return NULL;
	}
	if (root < 0 && !root_is_ready(g))
		return NULL;
	fd = find_here(g, root < 0 ? g->root_fd : root, path);
	if (fd >= 0 || errno != EAGAIN)
		return file_here(fd);
	q.zone = zone_of_path(g, root, path);
	return file_there(g, &q);
}

struct gate_file *gate_open_path(struct gate *g, int root, const char *path)
{
	struct gate_file *f = path_open(g, root, path);

	return f || errno != EACCES || root >= 0 || !g->opener ? f : file_asked(g, path);
}

/*
 * The device of the mapping is what somebody has read before: meanwhile the process may have mapped
 * another file there, of a server of its own, whose opening never ends. So the file is found first
 * (O_PATH), which asks no server that a process can choose, and what was found decides who opens
 * it. A file system that is asked even then (NFS, 9p) has a device that is not harmless, and the
 * reader finds its files.
 */
struct gate_file *gate_open_mapping(struct gate *g, const struct gate_mapping *m)
{
	struct request q = {.send = mapping_ask, .path = m->path, .mapping = m, .fd = -1};
	CLEANUP(fd) int fd = -1;
	struct gate_file *f;
	char path[96];

	if (!mounts_is_dev_harmless(&g->mounts, m->dev)) {
		q.zone = zone_of_dev(g, m->dev);
		return file_there(g, &q);
	}
	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/map_files/%" PRIx64 "-%" PRIx64,
		       m->pid, m->start, m->end);
	fd = open(path, O_PATH | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	if (mounts_is_fd_harmless(&g->mounts, fd, m->pid))
		return file_here(fd_take(&fd));
	q.send = found_ask;
	q.fd = fd;
	q.zone = zone_of_fd(g, fd);
	f = file_there(g, &q);
	if (f)
		(void)fd_take(&fd); /* it is the file's now */
	return f;
}

bool gate_memory_read(struct gate *g, uint64_t pid, taddr addr, void *to, size_t size)
{
	const struct gate_mapping at = {.pid = pid, .start = addr, .end = addr + size};
	struct iovec here = {to, size}, there = {(void *)(uintptr_t)addr, size};
	struct request q = {.send = memory_ask, .mapping = &at, .to = to, .size = size};
	char name[64], key[32];
	int sys;

	assert(size <= READER_CHUNK);
	(void)snprintf(name, sizeof(name), "memory of process %" PRIu64, pid);
	(void)snprintf(key, sizeof(key), "p%" PRIu64, pid);
	q.path = name;
	q.zone = zone_get(g, key);
	sys = request_do(g, &q);
	/*
	 * A process that we may trace only because we have started it is refused to the reader
	 * (ptrace_scope of Yama). It belongs to our own user.
	 */
	if (sys == EPERM)
		return process_vm_readv((pid_t)pid, &here, 1, &there, 1, 0) == (ssize_t)size;
	return !sys && q.n == size;
}

bool gate_is_dev_harmless(struct gate *g, uint64_t dev)
{
	return mounts_is_dev_harmless(&g->mounts, dev);
}

bool gate_identity(const char *path, struct stat *ret)
{
	struct statx st;

	if (statx(AT_FDCWD, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_INO, &st) != 0)
		return false;
	*ret = (struct stat){.st_dev = makedev(st.stx_dev_major, st.stx_dev_minor),
			     .st_ino = st.stx_ino};
	return true;
}

struct gate_file *gate_file_of(int fd)
{
	struct gate_file *f = file_create(fd);

	f->is_borrowed = true;
	if (fd < 0 || fstat(fd, &f->st) != 0)
		f->st = (struct stat){0};
	return f;
}

struct gate_file *gate_file_share(struct gate_file *f)
{
	f->refs++;
	return f;
}

void gate_file_close(struct gate_file *f)
{
	if (!f || --f->refs)
		return;
	assert(!f->nusers);
	if (f->gate && f->gate->current == f)
		f->gate->current = NULL;
	if (f->gate)
		gate_put(f->gate);
	if (!f->is_borrowed && f->fd >= 0)
		(void)close(f->fd);
	free(f->path);
	free(f);
}

/* ---- reading --------------------------------------------------------------------------------- */

const struct stat *gate_file_stat(const struct gate_file *f)
{
	return &f->st;
}

bool gate_file_refresh(struct gate_file *f)
{
	struct request q = {.send = stat_ask, .zone = f->zone, .path = f->path, .file = f};

	if (!f->gate)
		return fstat(f->fd, &f->st) == 0;
	if (request_do(f->gate, &q))
		return false;
	f->st = q.st;
	return true;
}

/* Reads at most one chunk. Returns errno. */
static int chunk_read(struct gate_file *f, void *to, size_t size, uint64_t off, size_t *ret_n)
{
	struct request q = {.send = read_ask,
			    .zone = f->zone,
			    .path = f->path,
			    .file = f,
			    .off = off,
			    .to = to,
			    .size = MIN(size, (size_t)READER_CHUNK)};
	int sys = request_do(f->gate, &q);

	*ret_n = q.n;
	return sys;
}

ssize_t gate_file_read(struct gate_file *f, void *to, size_t size, uint64_t off)
{
	size_t done = 0, n;

	if (off > INT64_MAX) {
		errno = EINVAL;
		return -1;
	}
	if (!f->gate)
		return pread(f->fd, to, size, (off_t)off);
	while (done < size) {
		int sys = chunk_read(f, (char *)to + done, size - done, off + done, &n);

		if (sys) {
			errno = sys;
			return -1;
		}
		if (!n)
			break;
		done += n;
	}
	return (ssize_t)done;
}

bool gate_file_is_stuck(const struct gate_file *f)
{
	return f->is_stuck;
}

int gate_file_fd(const struct gate_file *f)
{
	return f->fd;
}

/* ---- the image ------------------------------------------------------------------------------- */

char *gate_file_map(struct gate_file *f, size_t *ret_size)
{
	uint64_t size = f->st.st_size > 0 ? (uint64_t)f->st.st_size : 0;
	void *p;

	f->nusers++;
	if (!f->gate)
		return NULL;
	f->is_stuck = false;
	if (!f->image && size && size <= IMAGE_MAX) {
		/* Memory is used for what is fetched only. */
		p = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
		if (p == MAP_FAILED)
			return NULL;
		f->image = p;
		f->size = size;
		f->blocks = xcalloc(1, (size_t)(size / BLOCK / 8 + 1));
	}
	*ret_size = (size_t)f->size;
	return f->image;
}

void gate_file_unmap(struct gate_file *f)
{
	if (--f->nusers || !f->image)
		return;
	(void)munmap(f->image, (size_t)f->size);
	free(f->blocks);
	f->image = NULL;
	f->blocks = NULL;
	f->size = 0;
}

static bool is_there(const struct gate_file *f, uint64_t block)
{
	return f->blocks[block / 8] >> block % 8 & 1;
}

/* Fetches n blocks, none of which is there. */
static bool blocks_fetch(struct gate_file *f, uint64_t first, uint64_t n)
{
	uint64_t at = first * BLOCK, size = MIN(n * BLOCK, f->size - at);

	if (gate_file_read(f, f->image + at, (size_t)size, at) < 0)
		return false;
	for (uint64_t i = first; i < first + n; i++)
		f->blocks[i / 8] |= (uint8_t)(1u << i % 8);
	return true;
}

bool gate_file_fetch(struct gate_file *f, uint64_t off, uint64_t size)
{
	uint64_t end, n;

	if (!f->gate)
		return true;
	if (!f->image) {
		errno = ENOMEM;
		return false;
	}
	if (off >= f->size || !size)
		return true;
	end = off + MIN(size, f->size - off);
	for (uint64_t i = off / BLOCK; i * BLOCK < end; i += n) {
		for (n = 0; (i + n) * BLOCK < end && !is_there(f, i + n); n++)
			;
		if (n && !blocks_fetch(f, i, n))
			return false;
		n += !n;
	}
	return true;
}
