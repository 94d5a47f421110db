/* SPDX-License-Identifier: MIT */
/* Opens the files that processes have mapped, keeps them open, and reads their symbols. */
#include "sym/ufile.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "base/str.h"
#include "base/text.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/elfsym.h"
#include "files/gate.h"
#include "files/mapping.h"

#define TRIES_MAX 8 /* attempts to open a file for its symbols, by way of different processes */
#define PATH_SIZE 4200

void ufiles_init(struct ufiles *u)
{
	*u = (struct ufiles){
		.files = hashmap_create(),
		.nodes = hashmap_create(),
		.own = gate_create(),
		.own_images = image_set_create(),
		.tmp = arena_create(),
	};
	u->opts = (struct file_opts){DEBUG_DIRS_DEFAULT, GATE_LIMIT_DEFAULT, u->own, u->own_images};
}

void ufiles_set_opts(struct ufiles *u, const struct file_opts *opts)
{
	if (u->opts.images != opts->images) {
		ufiles_forget_found(u); /* they are counted in the former set */
		image_set_account(u->opts.images, &u->jit_bytes, 0);
	}
	u->opts = *opts;
}

static void file_destroy(struct ufile *f)
{
	free(f->path);
	free(f->object);
	free(f);
}

static void node_destroy(struct ufiles *u, struct unode *n)
{
	unode_forget_found(n);
	unode_charge(u, n);
	image_put(n->image);
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
	image_set_destroy(u->own_images);
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

	f->path = xstrdup(path);
	if (len > sizeof(deleted) && strcmp(path + len - (sizeof(deleted) - 1), deleted) == 0)
		f->path[len - (sizeof(deleted) - 1)] = '\0';
	f->object = text_clean(xstrdup(basename(f->path)));
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

static bool is_open(const struct unode *n)
{
	return n->image && n->image->opened;
}

static bool is_read(const struct unode *n)
{
	return n->image && n->image->is_syms_read;
}

/* Takes over an image for a node; the contents of a file that was read before must be the same. */
static void image_take(struct unode *n, struct image *i)
{
	if (is_read(n) && n->image != i) {
		image_put(i);
		return;
	}
	image_put(n->image);
	n->image = i;
}

static void file_open(struct ufiles *u, struct ufile *f, const struct ufile_access *at)
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
	struct image *i = image_open(u->opts.images, u->opts.gate, &m);

	n->is_stuck = !i && errno == ETIMEDOUT;
	n->is_denied = !i && (errno == EACCES || errno == EPERM);
	if (i)
		image_take(n, i);
}

static void node_use(struct unode *n)
{
	if (n->image)
		n->image->used = ++n->image->set->clock;
}

void ufile_keep(struct ufiles *u, struct ufile *f, const struct ufile_access *at)
{
	struct unode *n = f->node;

	node_use(n);
	if (!is_open(n) && n->ino && !is_read(n) && !n->is_retired && !n->is_absent)
		file_open(u, f, at);
}

void ufile_give(struct ufile *f, struct image *i)
{
	struct unode *n = f->node;

	n->is_absent |= !i;
	if (i && !is_open(n) && !is_read(n))
		image_take(n, i);
	else
		image_put(i);
	node_use(n);
}

/* ---- symbols -------------------------------------------------------------------------------- */

static struct debug_search debug_search_of(const struct ufiles *u, const struct ufile *f,
					   const struct ufile_access *at)
{
	return (struct debug_search){.path = f->path,
				     .root = at->root,
				     .dirs = u->opts.debug_dirs,
				     .limit = u->opts.limit,
				     .gate = u->opts.gate,
				     .dev = f->node->dev,
				     .ino = f->node->ino};
}

/* Reads the symbols of a node, again if they were shed; false: another attempt may succeed. */
static bool syms_read(struct ufiles *u, struct ufile *f, const struct ufile_access *at)
{
	struct debug_search where = debug_search_of(u, f, at);
	struct unode *n = f->node;

	if (is_vdso(f) && !n->image)
		n->image = image_of_vdso(u->opts.images);
	if (n->image && image_syms_read(n->image, &where)) {
		n->nfailed = 0;
		return true;
	}
	n->nfailed += !n->is_stuck && !(is_open(n) && gate_file_is_stuck(n->image->opened));
	return false;
}

/* The names of a node are needed, and were given up. */
static void node_give_up(struct ufiles *u, struct unode *n)
{
	if (!n->is_given_up)
		u->ngiven_up++;
	n->is_given_up = true;
}

struct elf_syms *ufile_syms(struct ufiles *u, struct ufile *f, const struct ufile_access *at)
{
	struct unode *n = f->node;

	if (n->is_absent)
		return NULL;
	if (n->nfailed < TRIES_MAX)
		ufile_keep(u, f, at);
	if (!is_read(n) && !syms_read(u, f, at)) {
		if (n->image && n->image->is_closed)
			node_give_up(u, n);
		return NULL;
	}
	return n->image->syms;
}

/* Reads symbols that were shed; false: they are given up. */
static bool syms_read_again(struct ufiles *u, struct ufile *f, const struct ufile_access *at)
{
	struct unode *n = f->node;

	if (n->is_given_up && n->nfailed >= TRIES_MAX)
		return false;
	if (!is_open(n) && n->ino && !n->is_retired)
		file_open(u, f, at);
	if (syms_read(u, f, at))
		return true;
	node_give_up(u, n);
	return false;
}

const char *ufile_find(struct ufiles *u, struct ufile *f, const struct ufile_access *at,
		       uint64_t addr, bool is_raw, uint64_t *ret_sym)
{
	struct unode *n = f->node;
	const struct ufound *known = unode_found(n, addr);
	const struct elf_sym *sym;
	struct elf_range range;
	char *name = NULL;

	node_use(n);
	if (!known) {
		if (!ufile_syms(u, f, at) ||
		    (n->image->syms->is_shed && !syms_read_again(u, f, at)))
			return NULL;
		sym = elf_syms_find_range(n->image->syms, addr, &range);
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

struct dwarf_file *ufile_dwarf(struct ufiles *u, struct ufile *f, const struct ufile_access *at)
{
	struct debug_search where = debug_search_of(u, f, at);
	struct unode *n = f->node;

	if (!n->ino || n->is_absent)
		return NULL;
	node_use(n);
	if (!is_open(n) && !n->is_retired && n->nfailed < TRIES_MAX &&
	    !(n->image && n->image->is_dwarf_read))
		file_open(u, f, at);
	return n->image ? image_dwarf(n->image, &where) : NULL;
}
