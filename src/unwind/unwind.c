/* SPDX-License-Identifier: MIT */
/* Queues the files that processes map, reads their unwind tables, and serves requests of walks. */
#include "unwind/unwind.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "unwind/utrees.h"
#include "target/ident.h"
#include "target/maps.h"
#include "image/debugfile.h"
#include "image/ehframe.h"
#include "image/image.h"
#include "files/file_id.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "sym/sym.h"

#define EPOCH_NS 1000000000 /* so long the kernel's side may use a rule of an unmapped file */

#define NOTED_MAX     4096 /* when so many files were queued, the list of known ones is emptied */
#define SEEN_MAX      16384
#define FRESH_MAX     64
#define CUT_TOLD_MAX  8
#define BETWEEN_NS    500000
#define RUNNING_WORTH 8 /* one running process counts as much as so many that sleep */

/* A mapping whose file is to be loaded. */
struct wanted {
	struct mapping at;
	char *path;	 /* of it */
	uint32_t nprocs; /* number of processes that map the file */
	bool is_running; /* one of these processes uses a CPU */
	bool is_tried;	 /* it was loaded, or could not be */
};

/* A file that was mapped just now. */
struct fresh {
	struct gate_file *file;
	uint64_t map_dev; /* of its image */
	char *path;
};

struct unwinds {
	struct gate *gate;
	struct image_set *images;
	const struct stack_tables *tables;
	struct unwind_hooks hooks;
	struct utrees trees;
	struct hashmap *noted; /* struct file_inode of files in the queue, loaded ones among them */
	VEC(struct wanted *) queue;
	uint32_t next; /* index in queue of the next file to load */
	VEC(struct fresh) fresh;
	struct hashmap *seen; /* "dev inode generation" of mapped files that could be opened */
	uint64_t elfsize;     /* bytes of a section or table of a file, at most */
	uint32_t ncut_told;   /* files of which some rows are missing */
	bool has_vdso_saved;  /* vdso_saved_load() has run */
	bool is_target;	      /* a target has mapped the files that are being loaded */
	uint64_t epoch_at;
	uint64_t between_at;
	bool is_busy; /* pause_run() reads files */
	struct image_pause pause;
};

/* ---- tables ------------------------------------------------------------------------------- */

/* Reports the first few files only, because a hostile user can make any number of them. */
static void cut_tell(struct unwinds *u, const char *path)
{
	struct strbuf text = {0};

	if (u->ncut_told++ >= CUT_TOLD_MAX)
		return;
	strbuf_addf(&text,
		    "user stacks: '%s' has unwind information beyond what elfsize allows (%" PRIu64
		    "k): stacks through it may be cut",
		    path, u->elfsize / 1024);
	u->hooks.notice(u->hooks.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* Reports only files that walks have met: other users' files do not matter to this session. */
static void cuts_tell(struct unwinds *u)
{
	char *path;

	while ((path = utrees_take_cut(&u->trees))) {
		cut_tell(u, path);
		free(path);
	}
}

static uint64_t user_dev(uint64_t dev)
{
	dev &= ~RT_UFILE_SAVED;
	return makedev(dev >> 20, dev & 0xfffff);
}

/* Returns the number by which rt/tables.h knows a device. */
static uint64_t kernel_dev(uint64_t dev)
{
	return (uint64_t)major(dev) << 20 | minor(dev);
}

/* Returns the key by which the kernel's side knows the file, if fstat() shows the same device. */
static struct rt_ufile_key key_of(const struct gate_file *f)
{
	struct file_id id = file_id_of(f);

	return stack_file_key(&id);
}

/*
 * Returns the file, and reads its rows if it is not known yet. Returns NULL when the file could not
 * be read to its end, or when no walk has requested it and there is no room. saved: RT_UFILE_SAVED,
 * or 0.
 */
static struct wfile *file_load(struct unwinds *u, struct gate_file *file, const char *path,
			       uint64_t saved, bool is_asked)
{
	struct rt_ufile_key key = key_of(file);
	struct unwind_rows rows;
	struct wfile *f;

	key.dev |= saved;
	f = utrees_find(&u->trees, &key);
	if (f)
		return f;
	f = utrees_begin(&u->trees, &key);
	if (saved)
		unwind_saved_read(file, u->elfsize, &u->pause, &rows);
	else
		unwind_rows_read(file, u->elfsize, &u->pause, &rows);
	if (gate_file_is_stuck(file)) {
		utrees_abandon(&u->trees, f); /* rows are missing: a later attempt may get all */
		unwind_rows_deinit(&rows);
		return NULL;
	}
	if (rows.is_cut && u->is_target)
		cut_tell(u, path);
	if (!utrees_fill(&u->trees, f, &rows, path, is_asked))
		f = NULL;
	if (f && rows.is_cut && !u->is_target)
		utrees_note_cut(&u->trees, f, path);
	unwind_rows_deinit(&rows);
	return f;
}

static void vdso_load(struct unwinds *u)
{
	static const struct rt_ufile_key key = {.ino = RT_UFILE_VDSO};
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_rows rows;

	if (!image)
		return;
	unwind_rows_read_memory(image, 2 * (size_t)sysconf(_SC_PAGESIZE), &rows);
	utrees_add_fixed(&u->trees, &key, &rows, "[vdso]");
	unwind_rows_deinit(&rows);
}

static bool is_vdso_saved(const struct rt_ufile_key *key)
{
	return key->ino == RT_UFILE_VDSO && key->dev == RT_UFILE_SAVED && !key->size && !key->mtime;
}

/* The vDSO's rows of callee-saved registers, once. */
static void vdso_saved_load(struct unwinds *u)
{
	static const struct rt_ufile_key key = {.ino = RT_UFILE_VDSO, .dev = RT_UFILE_SAVED};
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	struct unwind_rows rows;

	if (!image || u->has_vdso_saved)
		return;
	u->has_vdso_saved = true;
	unwind_saved_read_memory(image, 2 * (size_t)sysconf(_SC_PAGESIZE), &rows);
	utrees_add_fixed(&u->trees, &key, &rows, "[vdso]");
	unwind_rows_deinit(&rows);
}

/* ---- mappings ----------------------------------------------------------------------------- */

/*
 * Opens the file of a mapping, or shares it with who has it open; NULL with errno. *ret_dev: see
 * struct image; NULL is allowed.
 */
static struct gate_file *mapped_open(struct unwinds *u, const struct mapping *at, uint64_t *ret_dev)
{
	struct image *i = image_open(u->images, u->gate, at);
	struct gate_file *f = i ? gate_file_share(i->opened) : NULL;

	if (ret_dev)
		*ret_dev = i ? i->map_dev : 0;
	image_put(i);
	return f;
}

/*
 * Publishes a file under the device that its mappings show as well. One whose rows are being read
 * is published by the request of a walk.
 */
static void other_dev_publish(struct unwinds *u, struct wfile *f, uint64_t map_dev)
{
	struct rt_ufile_key key;

	if (!f || !map_dev || f->is_loading)
		return;
	key = f->key;
	key.dev = kernel_dev(map_dev) | (key.dev & RT_UFILE_SAVED);
	utrees_publish(&u->trees, f, &key);
}

/* Loads the file of a mapping, unless its table is there. */
static void wanted_load(struct unwinds *u, struct wanted *m)
{
	uint64_t dev = 0;
	CLEANUP(gate_file) struct gate_file *f = mapped_open(u, &m->at, &dev);

	m->is_tried = true;
	if (f)
		other_dev_publish(u, file_load(u, f, m->path, 0, u->is_target), dev);
}

/* Whether it is code of a file. */
static bool is_wanted(const struct proc_map *m)
{
	return m->is_exec && proc_map_has_file(m) && m->path[0] == '/';
}

/* Queues the file of a mapping, unless it was queued before. */
static struct wanted *map_note(struct unwinds *u, pid_t pid, bool is_running,
			       const struct proc_map *map)
{
	struct mapping at = proc_map_mapping(pid, map);
	struct wanted *m = hashmap_find(u->noted, &at.inode, sizeof(at.inode));

	if (!m) {
		m = xcalloc(1, sizeof(*m));
		m->path = xstrdup(at.path);
		hashmap_set(u->noted, &at.inode, sizeof(at.inode), m);
		vec_push(&u->queue, m);
	}
	at.path = m->path;
	m->at = at; /* the process that was noted before may have ended */
	m->nprocs++;
	m->is_running |= is_running;
	return m;
}

static void process_note(struct unwinds *u, pid_t pid, bool is_running)
{
	struct proc_maps maps;
	struct err *e = proc_maps_read(pid, &maps);

	if (e) { /* it has ended */
		err_destroy(e);
		return;
	}
	for (uint32_t i = 0; i < maps.maps.len; i++)
		if (is_wanted(&maps.maps.data[i]))
			(void)map_note(u, pid, is_running, &maps.maps.data[i]);
	proc_maps_deinit(&maps);
}

/* Walks meet a file sooner if many processes map it, or one that runs: loads it earlier. */
static uint32_t need_of(const struct wanted *m)
{
	return m->nprocs + (m->is_running ? RUNNING_WORTH : 0);
}

static int by_need(const void *pa, const void *pb)
{
	uint32_t a = need_of(*(struct wanted *const *)pa);
	uint32_t b = need_of(*(struct wanted *const *)pb);

	return a != b ? (a > b ? -1 : 1) : 0;
}

void unwinds_scan(struct unwinds *u)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;

	while (d && (de = readdir(d))) {
		long pid = strtol(de->d_name, NULL, 10);

		if (pid > 0)
			process_note(u, (pid_t)pid, proc_is_running((pid_t)pid));
	}
	if (d)
		(void)closedir(d);
	if (u->next < u->queue.len)
		qsort(u->queue.data + u->next, u->queue.len - u->next, sizeof(*u->queue.data),
		      by_need);
}

static void queue_forget(struct unwinds *u)
{
	for (uint32_t i = 0; i < u->queue.len; i++) {
		free(u->queue.data[i]->path);
		free(u->queue.data[i]);
	}
	vec_clear(&u->queue);
	u->next = 0;
}

/*
 * Goes past the files that were tried. The list of known files is emptied when it is full, because
 * files that are replaced get new inodes, and the list would grow for ever.
 */
static void queue_advance(struct unwinds *u)
{
	while (u->next < u->queue.len && u->queue.data[u->next]->is_tried)
		u->next++;
	if (u->next < u->queue.len || u->queue.len < NOTED_MAX)
		return;
	queue_forget(u);
	hashmap_destroy(u->noted);
	u->noted = hashmap_create();
}

void unwinds_load_saved(struct unwinds *u, pid_t pid)
{
	struct proc_maps maps;
	struct err *e;

	if (!u)
		return;
	vdso_saved_load(u);
	e = proc_maps_read(pid, &maps);
	for (uint32_t i = 0; !e && i < maps.maps.len; i++) {
		const struct proc_map *m = &maps.maps.data[i];
		struct mapping at = proc_map_mapping(pid, m);
		uint64_t dev = 0;
		CLEANUP(gate_file)
		struct gate_file *f = is_wanted(m) ? mapped_open(u, &at, &dev) : NULL;

		if (f)
			other_dev_publish(u, file_load(u, f, m->path, RT_UFILE_SAVED, false), dev);
	}
	if (!e)
		proc_maps_deinit(&maps);
	err_destroy(e);
}

void unwinds_load_process(struct unwinds *u, pid_t pid)
{
	struct proc_maps maps;
	struct err *e = proc_maps_read(pid, &maps);

	if (e) { /* it has ended */
		err_destroy(e);
		return;
	}
	unwinds_load_maps(u, pid, &maps);
	proc_maps_deinit(&maps);
}

/*
 * Of the queue, only the files of this process are loaded: it may be waiting. All of them are
 * opened, also those that were tried before: that may have failed, the table may have made room for
 * another one, and the inode may be that of another file by now, which a compiler has written after
 * the first one was deleted.
 */
void unwinds_load_maps(struct unwinds *u, pid_t pid, const struct proc_maps *maps)
{
	u->is_target = true;
	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (is_wanted(&maps->maps.data[i]))
			wanted_load(u, map_note(u, pid, true, &maps->maps.data[i]));
	queue_advance(u);
	u->is_target = false;
}

/* ---- files that are mapped while the session runs ----------------------------------------- */

static struct wfile *known_find(const struct unwinds *u, const struct gate_file *f)
{
	struct rt_ufile_key key = key_of(f);

	return utrees_find(&u->trees, &key);
}

void unwinds_mapped(struct unwinds *u, uint64_t pid, const struct sym_map *m)
{
	struct mapping at = {.pid = pid,
			     .start = m->start,
			     .end = m->start + m->len,
			     .inode = {m->dev, m->ino},
			     .path = m->path};
	CLEANUP(gate_file) struct gate_file *f = NULL;
	struct wfile *known;
	uint64_t dev;
	char key[64];
	int len = snprintf(key, sizeof(key), "%" PRIx64 " %" PRIu64 " %" PRIu64, m->dev, m->ino,
			   m->gen);

	if (u->fresh.len == FRESH_MAX || hashmap_find(u->seen, key, (size_t)len))
		return;
	f = mapped_open(u, &at, &dev);
	if (!f)
		return; /* the process has ended, or the file system does not answer */
	if (hashmap_count(u->seen) >= SEEN_MAX) {
		hashmap_destroy(u->seen);
		u->seen = hashmap_create();
	}
	hashmap_set(u->seen, key, (size_t)len, u);
	known = known_find(u, f);
	if (known)
		other_dev_publish(u, known, dev);
	else
		vec_push(&u->fresh, (struct fresh){gate_file_take(&f), dev, xstrdup(m->path)});
}

/* Loads the file that was mapped first. */
static void fresh_next(struct unwinds *u)
{
	struct fresh f = u->fresh.data[0];

	u->fresh.len--;
	memmove(u->fresh.data, u->fresh.data + 1, u->fresh.len * sizeof(f));
	other_dev_publish(u, file_load(u, f.file, f.path, 0, false), f.map_dev);
	gate_file_close(f.file);
	free(f.path);
}

/* ---- requests of the kernel's side -------------------------------------------------------- */

/*
 * Opens the file of a request by the path that the mapping shows: a user's session has no right to
 * open it by its address. NULL with EACCES: that is not possible either.
 */
static struct gate_file *request_open_path(struct unwinds *u, const struct rt_ureq *req)
{
	struct gate_file *f = NULL;
	const struct proc_map *m;
	struct proc_maps maps;
	struct err *e = proc_maps_read((pid_t)req->pid, &maps);

	if (!e) {
		m = proc_maps_find(&maps, req->start);
		if (m && is_wanted(m)) {
			struct mapping at = proc_map_mapping((pid_t)req->pid, m);

			f = mapped_open(u, &at, NULL);
		}
		proc_maps_deinit(&maps);
	}
	err_destroy(e);
	if (!f)
		errno = EACCES;
	return f;
}

/* Whether nobody else can have made the file. */
static bool is_trusted(const struct gate_file *f)
{
	const struct stat *st = gate_file_stat(f);

	return st->st_uid == 0 || st->st_uid == geteuid();
}

/*
 * Opens the file of a request; NULL with errno. Its size and time are compared, because another
 * process may have the process id by now, or the process may have executed another program.
 */
static struct gate_file *request_open(struct unwinds *u, const struct rt_ureq *req)
{
	struct mapping m = {.pid = req->pid,
			    .start = req->start,
			    .end = req->end,
			    .inode.dev = user_dev(req->key.dev)};
	CLEANUP(gate_file) struct gate_file *f = mapped_open(u, &m, NULL);
	struct rt_ufile_key is;

	if (!f && (errno == EACCES || errno == EPERM))
		f = request_open_path(u, req);
	if (!f)
		return NULL;
	is = key_of(f);
	if (is.size == req->key.size && is.mtime == req->key.mtime &&
	    (is.ino == req->key.ino || is_trusted(f)))
		return gate_file_take(&f);
	errno = ENOENT;
	return NULL;
}

/*
 * The kernel's side knows the file by a key that may differ from what fstat() returns: file systems
 * that are layers or parts of others (overlayfs, btrfs subvolumes) show other devices.
 */
void unwinds_request(struct unwinds *u, const struct rt_ureq *req)
{
	CLEANUP(gate_file)
	struct gate_file *file = is_vdso_saved(&req->key) ? NULL : request_open(u, req);
	bool is_denied = !file && (errno == EACCES || errno == EPERM);
	struct wfile *f;

	if (is_vdso_saved(&req->key)) {
		vdso_saved_load(u);
		return;
	}
	if (is_denied)
		u->hooks.denied(u->hooks.ctx, req->pid);
	f = file ? file_load(u, file, "a mapped file", req->key.dev & RT_UFILE_SAVED, true) : NULL;
	if (!f)
		utrees_failed(&u->trees, &req->key);
	else if (f->is_loading)
		u->tables->ops->file_forget(u->tables->ctx,
					    &req->key); /* is requested until it is loaded */
	else
		utrees_publish(&u->trees, f, &req->key);
}

/*
 * Called while a large file is read: serves requests and newly mapped files first. While one of
 * these is read, no further file is.
 */
static void pause_run(void *ctx)
{
	struct unwinds *u = ctx;
	bool is_nested = u->is_busy;

	if (now_ns() < u->between_at)
		return;
	u->is_busy = true;
	u->hooks.between(u->hooks.ctx, is_nested);
	while (!is_nested && u->fresh.len)
		fresh_next(u);
	u->is_busy = is_nested;
	u->between_at = now_ns() + BETWEEN_NS;
}

bool unwinds_are_left(const struct unwinds *u)
{
	return u->fresh.len || u->next < u->queue.len;
}

bool unwinds_load_next(struct unwinds *u)
{
	if (!unwinds_are_left(u))
		return false;
	if (u->fresh.len)
		fresh_next(u);
	else
		wanted_load(u, u->queue.data[u->next]);
	queue_advance(u);
	return true;
}

void unwinds_tick(struct unwinds *u, uint64_t now)
{
	if (now < u->epoch_at)
		return;
	u->epoch_at = now + EPOCH_NS;
	__atomic_add_fetch(&u->tables->control->epoch, 1, __ATOMIC_RELAXED);
	cuts_tell(u);
	utrees_tick(&u->trees);
}

/* ---- beginning and end -------------------------------------------------------------------- */

struct unwinds *unwinds_create(const struct stack_tables *tables, uint64_t unwindsize,
			       const struct file_opts *files, const struct unwind_hooks *hooks)
{
	struct unwinds *u = xcalloc(1, sizeof(*u));

	u->tables = tables;
	u->hooks = *hooks;
	u->pause = (struct image_pause){pause_run, u};
	u->elfsize = files->limit;
	u->gate = files->gate;
	u->images = files->images;
	utrees_init(&u->trees, tables, unwindsize);
	u->trees.notice = hooks->notice;
	u->trees.ctx = hooks->ctx;
	u->trees.pause = &u->pause;
	u->noted = hashmap_create();
	u->seen = hashmap_create();
	vdso_load(u);
	return u;
}

void unwinds_destroy(struct unwinds *u)
{
	if (!u)
		return;
	cuts_tell(u);
	queue_forget(u);
	vec_deinit(&u->queue);
	for (uint32_t i = 0; i < u->fresh.len; i++) {
		gate_file_close(u->fresh.data[i].file);
		free(u->fresh.data[i].path);
	}
	vec_deinit(&u->fresh);
	hashmap_destroy(u->seen);
	utrees_deinit(&u->trees);
	hashmap_destroy(u->noted);
	free(u);
}

void unwinds_describe(const struct unwinds *u, struct strbuf *out)
{
	const struct utrees *t = &u->trees;

	strbuf_addf(out, "unwind tables of %zu files, %" PRIu64 "k (%" PRIu64 " were removed)",
		    hashmap_count(t->files), t->nblocks * sizeof(struct rt_ublock) / 1024,
		    t->nremoved);
}
