/* Reads BTF files and finds types in them by id and by name. */
#include "sym/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/vec.h"

#define MAX_FILE_SIZE (1u << 30)

struct btf_file {
	char *data;
	size_t size;
	bool is_mapped;
	const struct btf_file *base;
	const char *strs; /* starts and ends with a NUL */
	uint32_t strs_first, strs_len;
	const char *types;
	uint32_t types_len;
	uint32_t first;	    /* id of the first type of this file */
	VEC(uint32_t) offs; /* offset in types of the type with the id first + i */
	/*
	 * Hash table: ids of named types at the hash of their name, 0 = free slot; nslots is a
	 * power of two.
	 */
	uint32_t *slots;
	uint32_t nslots;
};

/* ---- opening ------------------------------------------------------------------------------------
 */

/* Returns how many bytes of a type follow its struct btf_type; UINT64_MAX for an unknown kind. */
static uint64_t kind_extra(const struct btf_type *t)
{
	uint64_t vlen = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT: return sizeof(uint32_t);
	case BTF_KIND_VAR: return sizeof(struct btf_var);
	case BTF_KIND_DECL_TAG: return sizeof(struct btf_decl_tag);
	case BTF_KIND_ARRAY: return sizeof(struct btf_array);
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION: return vlen * sizeof(struct btf_member);
	case BTF_KIND_DATASEC: return vlen * sizeof(struct btf_var_secinfo);
	case BTF_KIND_ENUM: return vlen * sizeof(struct btf_enum);
	case BTF_KIND_ENUM64: return vlen * sizeof(struct btf_enum64);
	case BTF_KIND_FUNC_PROTO: return vlen * sizeof(struct btf_param);
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG: return 0;
	default: return UINT64_MAX;
	}
}

/* Reads size bytes in a loop, because one read() of a sysfs file returns at most a page. */
static struct err *read_all(int fd, const char *path, char *data, size_t size)
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
	struct statfs fs;
	void *p;

	if (fstatfs(fd, &fs) != 0 || fs.f_type != SYSFS_MAGIC)
		return false;
	/* Linux a539e2a6d51d ("btf: Allow mmap of vmlinux btf"), v6.16 */
	p = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return false;
	f->data = p;
	f->is_mapped = true;
	return true;
}

static struct err *file_load(struct btf_file *f, const char *path)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) != 0)
		return err_sys(errno, "cannot read '%s'", path);
	if (st.st_size < (off_t)sizeof(struct btf_header) || st.st_size > (off_t)MAX_FILE_SIZE)
		return err_new("'%s' is no BTF file: it has %lld bytes", path,
			       (long long)st.st_size);
	f->size = (size_t)st.st_size;
	if (file_map(f, fd))
		return NULL;
	f->data = xmalloc(f->size);
	return read_all(fd, path, f->data, f->size);
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
	/* The first string of a module's file need not be "", which stands in its base. */
	if (f->strs_len && f->strs[f->strs_len - 1])
		return damage_err(path, "the last string does not end");
	return NULL;
}

static struct err *types_index(struct btf_file *f, const char *path)
{
	vec_reserve(&f->offs, f->types_len / 24); /* a type has some 24 bytes on average */
	for (uint64_t off = 0; off < f->types_len;) {
		const struct btf_type *t = (const struct btf_type *)(f->types + off);
		uint64_t left = f->types_len - off, extra;

		extra = left < sizeof(*t) ? UINT64_MAX : kind_extra(t);
		if (extra > left - sizeof(*t))
			return damage_err(path, "a type of an unknown kind, or cut off");
		vec_push(&f->offs, (uint32_t)off);
		off += sizeof(*t) + extra;
	}
	return NULL;
}

struct err *btf_file_open(const char *path, const struct btf_file *base, struct btf_file **ret_file)
{
	struct btf_file *f = xcalloc(1, sizeof(*f));
	struct err *e = file_load(f, path);

	f->base = base;
	f->first = base ? btf_file_end(base) : 1;
	f->strs_first = base ? base->strs_first + base->strs_len : 0;
	if (!e)
		e = sections_find(f, path);
	if (!e)
		e = types_index(f, path);
	if (e) {
		btf_file_close(f);
		return e;
	}
	*ret_file = f;
	return NULL;
}

void btf_file_close(struct btf_file *f)
{
	if (!f)
		return;
	if (f->is_mapped)
		(void)munmap(f->data, f->size); /* nothing was written that could be lost */
	else
		free(f->data);
	vec_deinit(&f->offs);
	free(f->slots);
	free(f);
}

/* ---- types and strings --------------------------------------------------------------------------
 */

uint32_t btf_file_end(const struct btf_file *f)
{
	return f->first + f->offs.len;
}

const struct btf_type *btf_file_type(const struct btf_file *f, uint32_t id)
{
	while (f && id < f->first)
		f = f->base;
	if (!f || id - f->first >= f->offs.len)
		return NULL;
	return (const struct btf_type *)(f->types + f->offs.data[id - f->first]);
}

const char *btf_file_str(const struct btf_file *f, uint32_t off)
{
	while (f && off < f->strs_first)
		f = f->base;
	if (!f || off - f->strs_first >= f->strs_len)
		return "";
	return f->strs + (off - f->strs_first);
}

/* ---- finding ------------------------------------------------------------------------------------
 */

#define HASHED_KINDS (BTF_FIND_STRUCT | BTF_FIND_UNION | BTF_FIND_ENUM | BTF_FIND_TYPEDEF)

static uint32_t name_hash(const char *name, size_t len)
{
	uint64_t h = 14695981039346656037u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)name[i]) * 1099511628211u;
	return (uint32_t)(h ^ h >> 32);
}

static bool is_hashed(const struct btf_type *t)
{
	return t->name_off && HASHED_KINDS & 1u << BTF_INFO_KIND(t->info);
}

static void names_index(struct btf_file *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->offs.len; i++)
		n += is_hashed(btf_file_type(f, f->first + i));
	for (f->nslots = 16; f->nslots < n * 2; f->nslots *= 2)
		;
	f->slots = xcalloc(f->nslots, sizeof(*f->slots));
	for (uint32_t i = 0; i < f->offs.len; i++) {
		const struct btf_type *t = btf_file_type(f, f->first + i);
		const char *name = btf_file_str(f, t->name_off);
		uint32_t at;

		if (!is_hashed(t))
			continue;
		/*
		 * Types are inserted in the order of their ids, so a lookup finds the first of one
		 * name first.
		 */
		at = name_hash(name, strlen(name)) & (f->nslots - 1);
		while (f->slots[at])
			at = (at + 1) & (f->nslots - 1);
		f->slots[at] = f->first + i;
	}
}

static bool name_is(const char *name, const char *want, size_t len)
{
	return strncmp(name, want, len) == 0 && !name[len];
}

uint32_t btf_file_find(struct btf_file *f, uint32_t kinds, const char *name, size_t len)
{
	uint32_t at;

	if (!len)
		return 0;
	if (!f->slots)
		names_index(f);
	at = name_hash(name, len) & (f->nslots - 1);
	for (; f->slots[at]; at = (at + 1) & (f->nslots - 1)) {
		const struct btf_type *t = btf_file_type(f, f->slots[at]);

		if (kinds & 1u << BTF_INFO_KIND(t->info) &&
		    name_is(btf_file_str(f, t->name_off), name, len))
			return f->slots[at];
	}
	return 0;
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

uint32_t btf_file_find_symbol(const struct btf_file *f, const char *name, size_t len)
{
	uint32_t name_off = string_find(f, name, len);

	for (uint32_t i = 0; name_off && i < f->offs.len; i++) {
		const struct btf_type *t = btf_file_type(f, f->first + i);
		uint32_t kind = BTF_INFO_KIND(t->info);

		if (t->name_off == name_off && (kind == BTF_KIND_FUNC || kind == BTF_KIND_VAR))
			return f->first + i;
	}
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

	for (uint32_t i = 0; name_off && i < f->offs.len; i++) {
		const struct btf_type *t = btf_file_type(f, f->first + i);
		uint32_t kind = BTF_INFO_KIND(t->info);

		if ((kind == BTF_KIND_ENUM && enum_find(t, name_off, ret_val)) ||
		    (kind == BTF_KIND_ENUM64 && enum64_find(t, name_off, ret_val)))
			return f->first + i;
	}
	return 0;
}
