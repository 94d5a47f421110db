/* SPDX-License-Identifier: MIT */
/* Opens the files that processes have mapped, keeps them open, and reads their symbols. */
#include "sym/ufile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>

#include "base/str.h"
#include "base/text.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/dwarf.h"
#include "image/elfsym.h"
#include "files/gate.h"
#include "files/mapping.h"

#define OPEN_MIN  64 /* files kept open even if our limit of descriptors is lower than twice that */
#define TRIES_MAX 8  /* attempts to open a file for its symbols, by way of different processes */
#define PATH_SIZE 4200

void ufiles_init(struct ufiles *u)
{
	struct rlimit rl;

	*u = (struct ufiles){
		.files = hashmap_create(),
		.nodes = hashmap_create(),
		.max_open = OPEN_MIN,
		.max_bytes = UFILES_MEMORY_DEFAULT,
		.own = gate_create(),
		.tmp = arena_create(),
	};
	u->opts = (struct file_opts){DEBUG_DIRS_DEFAULT, GATE_LIMIT_DEFAULT, u->own};
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0 && rl.rlim_cur / 2 > OPEN_MIN)
		u->max_open = (uint32_t)MIN(rl.rlim_cur / 2, (rlim_t)65536);
}

void unode_close(struct ufiles *u, struct unode *n)
{
	if (!n->opened)
		return;
	u->open_bytes -= (uint64_t)gate_file_stat(n->opened)->st_size;
	gate_file_close(n->opened);
	n->opened = NULL;
	u->nopen--;
}

static void file_destroy(struct ufile *f)
{
	free(f->path);
	free(f->object);
	free(f);
}

static void node_destroy(struct ufiles *u, struct unode *n)
{
	elf_syms_destroy(n->syms);
	dwarf_file_close(n->dwarf);
	unode_close(u, n);
	unode_forget_found(n);
	unode_uncharge(u, n);
	free(n);
}

void ufiles_sweep(struct ufiles *u, uint64_t sweep)
{
	const void *key;
	struct ufile *f;
	struct unode *n;
	size_t pos = 0, len;

	while ((f = hashmap_next(u->files, &pos, &key, &len))) {
		if (f->swept == sweep) {
			f->node->swept = sweep;
			continue;
		}
		hashmap_remove(u->files, key, len);
		file_destroy(f);
	}
	pos = 0;
	while ((n = hashmap_next(u->nodes, &pos, &key, &len)))
		if (n->swept != sweep) {
			hashmap_remove(u->nodes, key, len);
			node_destroy(u, n);
		}
}

void ufiles_deinit(struct ufiles *u)
{
	struct ufile *f;
	struct unode *n;
	size_t pos = 0;

	while ((f = hashmap_next(u->files, &pos, NULL, NULL)))
		file_destroy(f);
	pos = 0;
	while ((n = hashmap_next(u->nodes, &pos, NULL, NULL)))
		node_destroy(u, n);
	hashmap_destroy(u->files);
	hashmap_destroy(u->nodes);
	gate_destroy(u->own);
	arena_destroy(u->tmp);
}

/* ---- identity ------------------------------------------------------------------------------- */

static bool is_vdso(const struct ufile *f)
{
	return strcmp(f->path, "[vdso]") == 0;
}

/*
 * The time to which times of files are compared. time() would be that of the last tick: since Linux
 * 6.13, the times of a file that was made just now may be newer.
 */
static int64_t wall_now(void)
{
	struct timespec ts;

	return clock_gettime(CLOCK_REALTIME, &ts) ? time(NULL) : ts.tv_sec;
}

/*
 * Returns the node, which is created if it is new. The vDSO, which has no inode, is identified by
 * its name.
 */
static struct unode *node_get(struct ufiles *u, uint64_t dev, uint64_t ino, const char *path)
{
	char key[PATH_SIZE];
	int len =
		snprintf(key, sizeof(key), "%" PRIx64 " %" PRIu64 "%s", dev, ino, ino ? "" : path);
	struct unode *n;

	if (len < 0 || (size_t)len >= sizeof(key))
		return NULL;
	n = hashmap_find(u->nodes, key, (size_t)len);
	if (n)
		return n;
	n = xcalloc(1, sizeof(*n));
	*n = (struct unode){.dev = dev, .ino = ino, .wall_seen = wall_now()};
	hashmap_set(u->nodes, key, (size_t)len, n);
	return n;
}

static struct ufile *file_create(struct unode *n, const char *path)
{
	static const char deleted[] = " (deleted)";
	struct ufile *f = xcalloc(1, sizeof(*f));
	size_t len = strlen(path);
	const char *slash;

	f->path = xstrdup(path);
	if (len > sizeof(deleted) && strcmp(path + len - (sizeof(deleted) - 1), deleted) == 0)
		f->path[len - (sizeof(deleted) - 1)] = '\0';
	slash = strrchr(f->path, '/');
	f->object = text_clean(xstrdup(slash ? slash + 1 : f->path));
	f->node = n;
	return f;
}

struct ufile *ufile_get(struct ufiles *u, uint64_t dev, uint64_t ino, const char *path)
{
	char key[PATH_SIZE];
	int len = snprintf(key, sizeof(key), "%" PRIx64 " %" PRIu64 " %s", dev, ino, path);
	struct ufile *f;
	struct unode *n;

	if (len < 0 || (size_t)len >= sizeof(key))
		return NULL;
	f = hashmap_find(u->files, key, (size_t)len);
	if (f)
		return f;
	n = node_get(u, dev, ino, path);
	if (!n)
		return NULL;
	f = file_create(n, path);
	hashmap_set(u->files, key, (size_t)len, f);
	return f;
}

void ufiles_see_inode(struct ufiles *u, uint64_t dev, uint64_t ino, uint64_t gen)
{
	struct unode *n = ino && gen ? node_get(u, dev, ino, "") : NULL;

	if (!n)
		return;
	if (n->gen && n->gen != gen) {
		n->is_retired = true;
		unodes_retire(u);
		n = node_get(u, dev, ino, "");
	}
	n->gen = gen;
}

/* ---- opening -------------------------------------------------------------------------------- */

static void close_oldest(struct ufiles *u)
{
	struct unode *n, *oldest = NULL;
	size_t pos = 0;

	while ((n = hashmap_next(u->nodes, &pos, NULL, NULL)))
		if (n->opened && (!oldest || n->used < oldest->used))
			oldest = n;
	if (!oldest)
		return;
	unode_close(u, oldest);
	oldest->is_closed_early = true;
	u->nclosed++;
}

static void file_opened(struct ufiles *u, struct unode *n, struct gate_file *opened)
{
	n->opened = opened;
	u->nopen++;
	u->open_bytes += (uint64_t)gate_file_stat(opened)->st_size;
}

static void file_open(struct ufiles *u, struct ufile *f, const struct uplace *at)
{
	struct unode *n = f->node;
	const struct mapping m = {.pid = at->pid,
				  .start = at->start,
				  .end = at->end,
				  .inode = {n->dev, n->ino},
				  .path = f->path,
				  .since = n->wall_seen,
				  .has_root = true,
				  .root = at->root};

	if (u->nopen >= u->max_open)
		close_oldest(u);
	n->opened = mapping_open(u->opts.gate, &m);
	n->is_stuck = !n->opened && errno == ETIMEDOUT;
	n->is_denied = !n->opened && (errno == EACCES || errno == EPERM);
	if (n->opened)
		file_opened(u, n, n->opened);
}

void ufile_keep(struct ufiles *u, struct ufile *f, const struct uplace *at)
{
	f->node->used = ++u->clock;
	if (!f->node->opened && f->node->ino && !f->node->is_read && !f->node->is_retired)
		file_open(u, f, at);
}

void ufile_give(struct ufiles *u, struct ufile *f, struct gate_file *opened)
{
	struct unode *n = f->node;

	n->used = ++u->clock;
	if (!opened)
		n->is_read = n->is_dwarf_read = true; /* nothing will be found in it */
	if (!opened || n->opened || n->is_read) {
		gate_file_close(opened);
		return;
	}
	if (u->nopen >= u->max_open)
		close_oldest(u);
	file_opened(u, n, opened);
}

/* ---- symbols -------------------------------------------------------------------------------- */

struct debug_use {
	struct elf_syms *syms;
	uint64_t limit;
};

static bool use_debug_file(void *ctx, struct gate_file *file)
{
	const struct debug_use *use = ctx;

	return elf_syms_add(use->syms, file, use->limit);
}

/* Reads our own vDSO: the kernel maps the same one into all 64-bit processes. */
static struct elf_syms *read_vdso(void)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);

	return image ? elf_syms_read_memory(image, 2 * (size_t)sysconf(_SC_PAGESIZE)) : NULL;
}

static struct debug_place debug_place_of(const struct ufiles *u, const struct ufile *f,
					 const struct uplace *at)
{
	return (struct debug_place){f->path,	  at->root,	u->opts.debug_dirs, u->opts.limit,
				    u->opts.gate, f->node->dev, f->node->ino};
}

/* Reads the symbols of a node into n->syms; false: another attempt may succeed. */
static bool syms_read(struct ufiles *u, struct ufile *f, const struct uplace *at)
{
	struct debug_place place = debug_place_of(u, f, at);
	struct unode *n = f->node;

	n->nfailed += !n->is_stuck;
	if (is_vdso(f))
		n->syms = read_vdso();
	else if (n->opened)
		n->syms = elf_syms_read(n->opened, u->opts.limit);
	else
		return false; /* a later attempt, by way of another process, may succeed */
	if (n->opened && gate_file_is_stuck(n->opened)) {
		elf_syms_destroy(n->syms); /* they are not all: the file may answer later */
		n->syms = NULL;
		n->nfailed--;
		return false;
	}
	n->is_read = true;
	n->nfailed = 0;
	if (n->syms && !n->syms->has_symtab) {
		struct debug_use use = {n->syms, u->opts.limit};

		(void)debug_file_find(n->syms, &place, use_debug_file, &use);
	}
	unode_charge(u, n);
	/* what it took to read them was more than the result */
	ufiles_freed(u, n->syms ? elf_syms_size(n->syms) : 0);
	return true;
}

/* The names of a node are needed, and were given up. */
static void node_give_up(struct ufiles *u, struct unode *n)
{
	if (!n->is_given_up)
		u->ngiven_up++;
	n->is_given_up = true;
}

struct elf_syms *ufile_syms(struct ufiles *u, struct ufile *f, const struct uplace *at)
{
	struct unode *n = f->node;

	if (n->nfailed < TRIES_MAX)
		ufile_keep(u, f, at);
	if (n->is_read)
		return n->syms;
	if (!syms_read(u, f, at)) {
		if (n->is_closed_early)
			node_give_up(u, n);
		return NULL;
	}
	if (n->opened) {
		n->mtime = gate_file_stat(n->opened)->st_mtim.tv_sec;
		n->size = gate_file_stat(n->opened)->st_size;
	}
	return n->syms;
}

/* The file is the one whose symbols were shed, and its contents are the same. */
static bool is_unchanged(struct unode *n, const struct elf_syms *before)
{
	const struct stat *st = gate_file_stat(n->opened);

	return st->st_mtim.tv_sec == n->mtime && st->st_size == n->size &&
	       n->syms->build_id_len == before->build_id_len &&
	       memcmp(n->syms->build_id, before->build_id, before->build_id_len) == 0;
}

/* Reads symbols that were shed; false: they are given up. */
static bool syms_read_again(struct ufiles *u, struct ufile *f, const struct uplace *at)
{
	struct unode *n = f->node;
	struct elf_syms *before = n->syms;

	if (n->is_given_up && n->nfailed >= TRIES_MAX)
		return false;
	if (!n->opened && n->ino && !n->is_retired)
		file_open(u, f, at);
	if (n->opened)
		(void)gate_file_refresh(n->opened);
	n->syms = NULL;
	if (syms_read(u, f, at) && n->syms && (is_vdso(f) || is_unchanged(n, before))) {
		elf_syms_destroy(before);
		return true;
	}
	elf_syms_destroy(n->syms);
	n->syms = before;
	n->nfailed++;
	n->is_read = true;
	unode_charge(u, n);
	node_give_up(u, n);
	return false;
}

const char *ufile_find(struct ufiles *u, struct ufile *f, const struct uplace *at, uint64_t addr,
		       bool is_raw, uint64_t *ret_sym)
{
	struct unode *n = f->node;
	const struct ufound *known = unode_found(n, addr);
	const struct elf_sym *sym;
	struct elf_range range;
	char *name = NULL;

	n->used = ++u->clock;
	if (!known) {
		if (!ufile_syms(u, f, at) || (n->syms->is_shed && !syms_read_again(u, f, at)))
			return NULL;
		sym = elf_syms_find_range(n->syms, addr, &range);
		if (sym)
			name = xstrdup(is_raw ? sym->name : demangle(u->tmp, sym->name));
		arena_reset(u->tmp);
		known = unode_find_add(n, &(struct ufound){range.start, range.end,
							   sym ? sym->addr : 0, name});
		unode_charge(u, n);
	}
	*ret_sym = known->sym;
	return known->name;
}

/* ---- debug information ---------------------------------------------------------------------- */

struct dwarf_file *ufile_dwarf(struct ufiles *u, struct ufile *f, const struct uplace *at)
{
	struct debug_place place = debug_place_of(u, f, at);
	struct unode *n = f->node;

	if (n->is_dwarf_read || !n->ino)
		return n->dwarf;
	n->is_dwarf_read = true;
	n->used = ++u->clock;
	if (!n->opened && !n->is_retired)
		file_open(u, f, at);
	if (n->opened)
		n->dwarf = dwarf_file_open(n->opened, &place);
	unode_charge(u, n);
	return n->dwarf;
}
