/* SPDX-License-Identifier: MIT */
/* Reads BTF files and finds types in them by id and by name. */
#include "kernel/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/hash.h"
#include "base/vec.h"

#define MAX_FILE_SIZE (1u << 30)
/*
 * The index has the offset of every sixteenth type. An index of all types would be a third as large
 * as the types, and every dtrace would have to write it, even to look up one member.
 */
#define INDEX_STEP 16

/* Identity of a file. Compared with memcmp(), so it must have no padding. */
struct file_id {
	uint64_t dev, ino, size;
};

struct btf_file {
	char *data;
	size_t size;
	struct file_id id;
	bool is_mapped;
	bool is_sysfs, is_shared; /* data is that of kernel_data */
	const struct btf_file *base;
	const char *strs; /* starts and ends with a NUL */
	uint32_t strs_first, strs_len;
	const char *types;
	uint32_t types_len;
	uint32_t first, n;   /* id of the first type of this file; how many the index covers */
	uint32_t indexed;    /* bytes of types that the index covers */
	VEC(uint32_t) offs;  /* offset in types of the type with the id first + i * INDEX_STEP */
	VEC(uint32_t) kinds; /* 1 << BTF_KIND_* of the INDEX_STEP types from there on */
	/*
	 * Hash table: ids of named types at the hash of their name, 0: a free slot; nslots is a
	 * power of two. It has the types up to named.id: most that are asked for stand in the
	 * first third of the kernel's file.
	 */
	struct name {
		uint32_t id, hash;
	} * slots;
	uint32_t nslots, nnamed;
	struct btf_walk named;
	bool is_all_named;
};

/* ---- opening -------------------------------------------------------------------------------- */

/*
 * For each kind: the bytes of a type, 0 if the kind is unknown, and those of each of the vlen parts
 * that follow.
 */
#define TYPE(more, each)                                                                           \
	{                                                                                          \
		sizeof(struct btf_type) + (more), each                                             \
	}
static const struct {
	uint8_t fixed, each;
} layouts[32] = {
	[BTF_KIND_INT] = TYPE(sizeof(uint32_t), 0),
	[BTF_KIND_VAR] = TYPE(sizeof(struct btf_var), 0),
	[BTF_KIND_DECL_TAG] = TYPE(sizeof(struct btf_decl_tag), 0),
	[BTF_KIND_ARRAY] = TYPE(sizeof(struct btf_array), 0),
	[BTF_KIND_STRUCT] = TYPE(0, sizeof(struct btf_member)),
	[BTF_KIND_UNION] = TYPE(0, sizeof(struct btf_member)),
	[BTF_KIND_DATASEC] = TYPE(0, sizeof(struct btf_var_secinfo)),
	[BTF_KIND_ENUM] = TYPE(0, sizeof(struct btf_enum)),
	[BTF_KIND_ENUM64] = TYPE(0, sizeof(struct btf_enum64)),
	[BTF_KIND_FUNC_PROTO] = TYPE(0, sizeof(struct btf_param)),
	[BTF_KIND_PTR] = TYPE(0, 0),
	[BTF_KIND_FWD] = TYPE(0, 0),
	[BTF_KIND_TYPEDEF] = TYPE(0, 0),
	[BTF_KIND_VOLATILE] = TYPE(0, 0),
	[BTF_KIND_CONST] = TYPE(0, 0),
	[BTF_KIND_RESTRICT] = TYPE(0, 0),
	[BTF_KIND_FUNC] = TYPE(0, 0),
	[BTF_KIND_FLOAT] = TYPE(0, 0),
	[BTF_KIND_TYPE_TAG] = TYPE(0, 0),
};
#undef TYPE

/* The bytes of a type with what follows it; a vlen has 16 bits. */
static uint32_t type_size(const struct btf_type *t)
{
	uint32_t kind = BTF_INFO_KIND(t->info);

	return layouts[kind].fixed + layouts[kind].each * (uint32_t)BTF_INFO_VLEN(t->info);
}

static const struct btf_type *type_after(const struct btf_type *t)
{
	return (const struct btf_type *)((const char *)t + type_size(t));
}

/* Reads size bytes in a loop, because one read() of a sysfs file returns at most a page. */
static struct err *file_read(int fd, const char *path, char *data, size_t size)
{
	for (size_t len = 0; len < size;) {
		ssize_t n = read(fd, data + len, size - len);

		if (n < 0)
			return err_sys(errno, "cannot read '%s'", path);
		if (n == 0)
			return err_new("'%s' is shorter than it says", path);
		len += (size_t)n;
	}
	return NULL;
}

/*
 * Maps the file if it lies in sysfs. Any other file may be truncated meanwhile, and reading its
 * mapping would then be a SIGBUS.
 */
static bool file_map(struct btf_file *f, int fd)
{
	void *p;

	if (!f->is_sysfs)
		return false;
	/* Linux a539e2a6d51d ("btf: Allow mmap of vmlinux btf"), v6.16 */
	p = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	f->data = p;
	f->is_mapped = true;
	return true;
}

/*
 * The bytes of the kernel's own file, which a session opens several times: shared while it is open
 * somewhere, because this file of sysfs is what it is until the kernel ends.
 */
static struct {
	pthread_mutex_t lock;
	struct file_id id;
	char *data; /* NULL: it is not open */
	bool is_mapped;
	uint32_t users;
} kernel_data = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the bytes over if the kernel's file is open already. */
static bool data_take(struct btf_file *f)
{
	pthread_mutex_lock(&kernel_data.lock);
	f->is_shared = kernel_data.data && memcmp(&kernel_data.id, &f->id, sizeof(f->id)) == 0;
	if (f->is_shared) {
		f->data = kernel_data.data;
		f->is_mapped = kernel_data.is_mapped;
		kernel_data.users++;
	}
	pthread_mutex_unlock(&kernel_data.lock);
	return f->is_shared;
}

static void data_share(struct btf_file *f)
{
	pthread_mutex_lock(&kernel_data.lock);
	if (!kernel_data.data) {
		kernel_data.id = f->id;
		kernel_data.data = f->data;
		kernel_data.is_mapped = f->is_mapped;
		kernel_data.users = 1;
		f->is_shared = true;
	}
	pthread_mutex_unlock(&kernel_data.lock);
}

static void data_drop(struct btf_file *f)
{
	bool is_last = true;

	if (f->is_shared) {
		pthread_mutex_lock(&kernel_data.lock);
		is_last = --kernel_data.users == 0;
		if (is_last)
			kernel_data.data = NULL;
		pthread_mutex_unlock(&kernel_data.lock);
	}
	if (!is_last)
		return;
	if (f->is_mapped)
		(void)munmap(f->data, f->size); /* nothing was written that could be lost */
	else
		free(f->data);
}

static struct err *file_load(struct btf_file *f, const char *path)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct err *e = NULL;
	struct statfs fs;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot read '%s'", path);
	if (st.st_size < (off_t)sizeof(struct btf_header) || st.st_size > (off_t)MAX_FILE_SIZE)
		return err_new("'%s' is no BTF file: it has %lld bytes", path,
			       (long long)st.st_size);
	f->size = (size_t)st.st_size;
	f->id = (struct file_id){st.st_dev, st.st_ino, f->size};
	f->is_sysfs = fstatfs(fd, &fs) == 0 && fs.f_type == SYSFS_MAGIC;
	if (f->is_sysfs && !f->base && data_take(f))
		return NULL;
	if (!file_map(f, fd)) {
		f->data = xmalloc(f->size);
		e = file_read(fd, path, f->data, f->size);
	}
	if (!e && f->is_sysfs && !f->base)
		data_share(f);
	return e;
}

static struct err *damage_err(const char *path, const char *what)
{
	return err_new("'%s' is damaged: %s", path, what);
}

static struct err *sections_find(struct btf_file *f, const char *path)
{
	const struct btf_header *h = (const struct btf_header *)f->data;
	uint64_t types, strs;

	if (h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h))
		return damage_err(path, "it does not begin with a BTF header");
	types = (uint64_t)h->hdr_len + h->type_off;
	strs = (uint64_t)h->hdr_len + h->str_off;
	if (types % 4 || types + h->type_len > f->size || strs + h->str_len > f->size)
		return damage_err(path, "a section lies outside");
	f->types = f->data + types;
	f->types_len = h->type_len;
	f->strs = f->data + strs;
	f->strs_len = h->str_len;
	/* The first string of a module's file need not be "", because its base has that string. */
	if (f->strs_len && f->strs[f->strs_len - 1])
		return damage_err(path, "the last string does not end");
	return NULL;
}

/*
 * Returns the offset by which types refer to a name; 0 if no type of f or its base has it. A BTF
 * file holds each string only once, so all types of the name have this offset.
 */
static uint32_t string_find(const struct btf_file *f, const char *name, size_t len)
{
	for (; f; f = f->base) {
		const char *p = f->strs, *end = p + f->strs_len;

		while (len && p < end && (p = memmem(p, (size_t)(end - p), name, len))) {
			if (!p[len] && (p == f->strs || !p[-1]))
				return f->strs_first + (uint32_t)(p - f->strs);
			p++;
		}
	}
	return 0;
}

/* The kinds and the name of a type that is wanted, and its id when it was met. */
struct wanted {
	uint32_t kinds, name_off;
	uint32_t id; /* 0: none yet */
};

static bool is_wanted(const struct wanted *w, const struct btf_type *t)
{
	return t->name_off == w->name_off && w->kinds & 1u << BTF_INFO_KIND(t->info);
}

/* A part of the index: from the first of INDEX_STEP types, of which some may be there already. */
struct block {
	uint32_t at, n; /* the offset of the next type, the number of types */
	uint32_t kinds;
};

/*
 * Adds types to the block until it has `most`; false: a type is damaged. The kernel has 150,000
 * types, so this counts instructions.
 */
static bool block_fill(struct block *b, const char *types, uint32_t end, uint32_t most)
{
	uint32_t at = b->at, n = b->n, kinds = b->kinds, size = 1;

	for (; n < most && end - at >= sizeof(struct btf_type); n++) {
		const struct btf_type *t = (const struct btf_type *)(types + at);

		size = type_size(t); /* an unknown kind has no size */
		if (!size || size > end - at)
			break;
		kinds |= 1u << BTF_INFO_KIND(t->info);
		at += size;
	}
	*b = (struct block){at, n, kinds};
	return n == most || at == end;
}

/* The type of a block that is wanted; UINT32_MAX: none is. */
static uint32_t block_find(const struct btf_file *f, uint32_t at, uint32_t n,
			   const struct wanted *w)
{
	const struct btf_type *t = (const struct btf_type *)(f->types + at);

	for (uint32_t i = 0; i < n; i++, t = type_after(t))
		if (is_wanted(w, t))
			return i;
	return UINT32_MAX;
}

/*
 * Adds types to the index until it has `most`, or has the one that is wanted; false: a type is
 * damaged.
 */
static bool types_walk(struct btf_file *f, uint32_t most, struct wanted *w)
{
	bool good = true;

	while (good && f->indexed < f->types_len && f->n < most && !w->id) {
		uint32_t first = f->n - f->n % INDEX_STEP, i = first / INDEX_STEP, found;
		struct block b = {.at = f->indexed, .n = f->n - first};

		if (f->offs.len == i) {
			vec_push(&f->offs, f->indexed);
			vec_push(&f->kinds, 0);
		}
		b.kinds = f->kinds.data[i];
		good = block_fill(&b, f->types, f->types_len, MIN(most - first, INDEX_STEP));
		f->kinds.data[i] = b.kinds;
		f->indexed = b.at;
		f->n = first + b.n;
		found = w->kinds & b.kinds ? block_find(f, f->offs.data[i], b.n, w) : UINT32_MAX;
		if (found != UINT32_MAX)
			w->id = f->first + first + found;
	}
	return good;
}

/*
 * A session opens the kernel's file several times. Its index is made once: a file of sysfs is what
 * it is until the kernel ends.
 */
static struct {
	pthread_mutex_t lock;
	struct file_id id;
	uint32_t *offs, *kinds; /* NULL: there is none yet */
	uint32_t len, n;
} kernel_index = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Takes the index over that was made before; false when there is none of this file. */
static bool index_take(struct btf_file *f)
{
	bool has;

	pthread_mutex_lock(&kernel_index.lock);
	has = kernel_index.offs && memcmp(&kernel_index.id, &f->id, sizeof(f->id)) == 0;
	if (has) {
		vec_reserve(&f->offs, kernel_index.len);
		vec_reserve(&f->kinds, kernel_index.len);
		f->offs.len = f->kinds.len = kernel_index.len;
		memcpy(f->offs.data, kernel_index.offs, kernel_index.len * sizeof(uint32_t));
		memcpy(f->kinds.data, kernel_index.kinds, kernel_index.len * sizeof(uint32_t));
		f->n = kernel_index.n;
		f->indexed = f->types_len;
	}
	pthread_mutex_unlock(&kernel_index.lock);
	return has;
}

static void index_keep(const struct btf_file *f)
{
	pthread_mutex_lock(&kernel_index.lock);
	if (!kernel_index.offs && f->offs.len) {
		kernel_index.offs = xmalloc(f->offs.len * sizeof(uint32_t));
		kernel_index.kinds = xmalloc(f->offs.len * sizeof(uint32_t));
		memcpy(kernel_index.offs, f->offs.data, f->offs.len * sizeof(uint32_t));
		memcpy(kernel_index.kinds, f->kinds.data, f->offs.len * sizeof(uint32_t));
		kernel_index.len = f->offs.len;
		kernel_index.n = f->n;
		kernel_index.id = f->id;
	}
	pthread_mutex_unlock(&kernel_index.lock);
}

/* Makes the index of all types, or of those up to the one that is wanted. */
static struct err *types_index(struct btf_file *f, const char *path, struct wanted *w)
{
	bool is_kernel = f->is_sysfs && !f->base;

	if (!w->kinds)
		vec_reserve(&f->offs,
			    f->types_len / 24 / INDEX_STEP); /* a type has some 24 bytes */
	if (!types_walk(f, UINT32_MAX, w))
		return damage_err(path, "a type of an unknown kind, or cut off");
	if (is_kernel && !w->kinds)
		index_keep(f);
	return NULL;
}

/*
 * Continues the index of a file that was opened for one type. No other thread has such a file
 * (btf.h), and who has it sees no change, which is why the file may be constant there.
 */
static void index_extend(const struct btf_file *file, uint32_t id)
{
	struct wanted nothing = {0};

	/* a type that is damaged ends the index */
	(void)types_walk((struct btf_file *)(uintptr_t)file, id - file->first + 1, &nothing);
}

/* Finds the type that is wanted in a file of which all types are in the index. */
static void wanted_find(const struct btf_file *f, const char *name, struct wanted *w)
{
	struct btf_walk walk = {.file = f, .kinds = w->kinds};
	const struct btf_type *t;

	while (w->kinds && !w->id && (t = btf_walk_next(&walk)))
		if (strcmp(btf_file_str(f, t->name_off), name) == 0)
			w->id = walk.id;
}

/* Opens a BTF file; name is the name of the type that is wanted, or NULL. */
static struct err *file_open(const char *path, const struct btf_file *base, const char *name,
			     struct wanted *w, struct btf_file **ret_file)
{
	struct btf_file *f = xcalloc(1, sizeof(*f));
	struct err *e;

	f->base = base;
	e = file_load(f, path);
	f->first = base ? btf_file_end(base) : 1;
	f->strs_first = base ? base->strs_first + base->strs_len : 0;
	if (!e)
		e = sections_find(f, path);
	if (!e && f->is_sysfs && !base && index_take(f)) {
		wanted_find(f, name, w);
	} else if (!e) {
		if (name)
			w->name_off = string_find(f, name, strlen(name));
		if (!w->name_off)
			w->kinds = 0; /* no type has the name */
		e = types_index(f, path, w);
	}
	if (e) {
		btf_file_close(f);
		return e;
	}
	*ret_file = f;
	return NULL;
}

struct err *btf_file_open(const char *path, const struct btf_file *base, struct btf_file **ret_file)
{
	struct wanted nothing = {0};

	return file_open(path, base, NULL, &nothing, ret_file);
}

struct err *btf_file_open_for(const char *path, uint32_t kinds, const char *name,
			      struct btf_file **ret_file, uint32_t *ret_id)
{
	struct wanted w = {.kinds = kinds};
	struct err *e = file_open(path, NULL, name, &w, ret_file);

	if (!e)
		*ret_id = w.id;
	return e;
}

void btf_file_close(struct btf_file *f)
{
	if (!f)
		return;
	data_drop(f);
	vec_deinit(&f->offs);
	vec_deinit(&f->kinds);
	free(f->slots);
	free(f);
}

/* ---- types and strings ---------------------------------------------------------------------- */

uint32_t btf_file_end(const struct btf_file *f)
{
	return f->first + f->n;
}

uint32_t btf_file_first(const struct btf_file *f)
{
	return f->first;
}

const struct btf_type *btf_file_type(const struct btf_file *f, uint32_t id)
{
	const struct btf_type *t;
	uint32_t at;

	while (f && id < f->first)
		f = f->base;
	if (f && id - f->first >= f->n && f->indexed < f->types_len)
		index_extend(f, id);
	if (!f || id - f->first >= f->n)
		return NULL;
	at = id - f->first;
	t = (const struct btf_type *)(f->types + f->offs.data[at / INDEX_STEP]);
	for (uint32_t i = at % INDEX_STEP; i > 0; i--)
		t = type_after(t);
	return t;
}

const struct btf_type *btf_walk_next(struct btf_walk *w)
{
	const struct btf_file *f = w->file;
	uint32_t i = w->type ? w->id + 1 - f->first : 0;
	const struct btf_type *t = w->type ? type_after(w->type) : NULL;

	for (; i < f->n; i++, t = type_after(t)) {
		if (i % INDEX_STEP == 0) {
			while (i < f->n && !(f->kinds.data[i / INDEX_STEP] & w->kinds))
				i += INDEX_STEP;
			if (i >= f->n)
				break;
			t = (const struct btf_type *)(f->types + f->offs.data[i / INDEX_STEP]);
		}
		if (w->kinds & 1u << BTF_INFO_KIND(t->info)) {
			w->id = f->first + i;
			w->type = t;
			return t;
		}
	}
	return NULL;
}

const char *btf_file_str(const struct btf_file *f, uint32_t off)
{
	while (f && off < f->strs_first)
		f = f->base;
	if (!f || off - f->strs_first >= f->strs_len)
		return "";
	return f->strs + (off - f->strs_first);
}

const char *btf_file_strs(const struct btf_file *f, size_t *ret_size)
{
	*ret_size = f->strs_len;
	return f->strs;
}

/* ---- finding -------------------------------------------------------------------------------- */

#define HASHED_KINDS (BTF_FIND_STRUCT | BTF_FIND_UNION | BTF_FIND_ENUM | BTF_FIND_TYPEDEF)

static uint32_t name_hash(const char *name, size_t len)
{
	uint64_t h = fnv_64(FNV_64, name, len);

	return (uint32_t)(h ^ h >> 32);
}

/* The slot of the first type of one of the kinds, or a free one. */
static struct name *name_slot(const struct btf_file *f, uint32_t kinds, uint32_t hash,
			      const char *name, size_t len)
{
	struct name *s = &f->slots[hash & (f->nslots - 1)];

	for (; s->id; s = s + 1 < f->slots + f->nslots ? s + 1 : f->slots) {
		const struct btf_type *t =
			s->hash == hash && kinds ? btf_file_type(f, s->id) : NULL;
		const char *has = t ? btf_file_str(f, t->name_off) : NULL;

		if (t && kinds & 1u << BTF_INFO_KIND(t->info) && strncmp(has, name, len) == 0 &&
		    !has[len])
			break;
	}
	return s;
}

static void names_init(struct btf_file *f)
{
	f->named = (struct btf_walk){.file = f, .kinds = HASHED_KINDS};
	f->nslots = 4096;
	f->slots = xcalloc(f->nslots, sizeof(*f->slots));
}

/*
 * Makes room for one more name. The table grows with the names, because they are anywhere in it and
 * the first touch of each page takes long. Types of one name keep their order: it is that of their
 * slots behind a free one.
 */
static void names_grow(struct btf_file *f)
{
	struct name *old = f->slots;
	uint32_t n = f->nslots, free_at = 0;

	if (++f->nnamed <= n / 2)
		return;
	while (old[free_at].id)
		free_at++;
	f->nslots *= 2;
	f->slots = xcalloc(f->nslots, sizeof(*f->slots));
	for (uint32_t i = 1; i < n; i++) {
		const struct name *s = &old[(free_at + i) & (n - 1)];

		if (s->id)
			*name_slot(f, 0, s->hash, NULL, 0) = *s;
	}
	free(old);
}

/*
 * Continues the table up to the first type of one of the kinds that has the name. Types are added
 * in the order of their ids, so a lookup finds the first of one name first.
 */
static uint32_t names_extend(struct btf_file *f, uint32_t kinds, const char *name, size_t len)
{
	const struct btf_type *t;

	while ((t = btf_walk_next(&f->named))) {
		const char *has = btf_file_str(f, t->name_off);
		size_t has_len = strlen(has);

		if (has_len) {
			uint32_t hash = name_hash(has, has_len);

			names_grow(f);
			*name_slot(f, 0, hash, NULL, 0) = (struct name){f->named.id, hash};
		}
		if (has_len == len && kinds & 1u << BTF_INFO_KIND(t->info) &&
		    memcmp(has, name, len) == 0)
			return f->named.id;
	}
	f->is_all_named = true;
	return 0;
}

uint32_t btf_file_find(struct btf_file *f, uint32_t kinds, const char *name, size_t len)
{
	uint32_t id;

	assert(!(kinds & ~HASHED_KINDS));
	if (!len)
		return 0;
	if (!f->slots)
		names_init(f);
	id = name_slot(f, kinds, name_hash(name, len), name, len)->id;
	return id || f->is_all_named ? id : names_extend(f, kinds, name, len);
}

uint32_t btf_file_find_symbol(const struct btf_file *f, const char *name, size_t len)
{
	const struct wanted wanted = {.kinds = 1u << BTF_KIND_FUNC | 1u << BTF_KIND_VAR,
				      .name_off = string_find(f, name, len)};
	struct btf_walk w = {.file = f, .kinds = wanted.kinds};
	const struct btf_type *t;

	while (wanted.name_off && (t = btf_walk_next(&w)))
		if (is_wanted(&wanted, t))
			return w.id;
	return 0;
}

static bool enum_find(const struct btf_type *t, uint32_t name_off, int64_t *ret_val)
{
	const struct btf_enum *e = (const struct btf_enum *)(t + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++)
		if (e[i].name_off == name_off) {
			*ret_val = BTF_INFO_KFLAG(t->info) ? e[i].val : (int64_t)(uint32_t)e[i].val;
			return true;
		}
	return false;
}

static bool enum64_find(const struct btf_type *t, uint32_t name_off, int64_t *ret_val)
{
	const struct btf_enum64 *e = (const struct btf_enum64 *)(t + 1);

	for (uint32_t i = 0; i < BTF_INFO_VLEN(t->info); i++)
		if (e[i].name_off == name_off) {
			*ret_val = (int64_t)((uint64_t)e[i].val_hi32 << 32 | e[i].val_lo32);
			return true;
		}
	return false;
}

uint32_t btf_file_find_enumerator(const struct btf_file *f, const char *name, size_t len,
				  int64_t *ret_val)
{
	uint32_t name_off = string_find(f, name, len);
	struct btf_walk w = {.file = f, .kinds = BTF_FIND_ENUM};
	const struct btf_type *t;

	while (name_off && (t = btf_walk_next(&w)))
		if (BTF_INFO_KIND(t->info) == BTF_KIND_ENUM ? enum_find(t, name_off, ret_val)
							    : enum64_find(t, name_off, ret_val))
			return w.id;
	return 0;
}
