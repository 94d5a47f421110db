/*
 * Offsets of members of kernel structures, from /sys/kernel/btf/vmlinux.
 *
 * The file has some 5 MB, of which two or three members are wanted, by a program that should take
 * few milliseconds and little memory: so it is not parsed, but mapped (Linux v6.16, "btf: Allow
 * mmap of vmlinux btf") or, where that is refused, streamed through one small buffer. The string
 * section is searched once for the struct's name (BTF strings are unique, so a name is a number),
 * the type section is walked once for it; meanwhile the file offset of every INDEX_STEP-th type is
 * noted, so that the types of members can be reached afterwards.
 *
 * Facts    include/uapi/linux/btf.h. The file is data, not trusted: every offset is checked.
 */
#include "base/vec.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/btf.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define BTF_PATH   "/sys/kernel/btf/vmlinux"
#define CHUNK	   (64u << 10)
#define INDEX_STEP 256u
#define MAX_NAME   128u
#define MAX_DEPTH  16 /* anonymous members in anonymous members, typedefs of typedefs */

/* The open file. */
struct reader {
	int fd;
	const char *map; /* all of it; NULL: buf holds len bytes from pos on */
	size_t map_size;
	uint32_t types, types_end, strs, strs_end; /* file offsets */
	VEC(uint32_t) index;			   /* file offset of type 1 + i * INDEX_STEP */
	uint32_t pos, len;
	char *buf;
};

/* ---- reading ---------------------------------------------------------------------------- */

/* n <= CHUNK bytes at off, valid until the next call; NULL when the file ends before. */
static const void *reader_at(struct reader *r, uint32_t off, uint32_t n)
{
	if (r->map)
		return off <= r->map_size && n <= r->map_size - off ? r->map + off : NULL;
	if (off < r->pos || n > r->len || off - r->pos > r->len - n) {
		ssize_t got = pread(r->fd, r->buf, CHUNK, off);

		r->pos = off;
		r->len = got > 0 ? (uint32_t)got : 0;
		/* sysfs gives at most a page a call */
		while (r->len < n) {
			got = pread(r->fd, r->buf + r->len, CHUNK - r->len, off + r->len);
			if (got <= 0)
				return NULL;
			r->len += (uint32_t)got;
		}
	}
	return r->buf + (off - r->pos);
}

static struct err *damaged(void)
{
	return err_new("'%s' is damaged", BTF_PATH);
}

static void reader_map(struct reader *r)
{
	struct stat st;
	void *p;

	if (fstat(r->fd, &st) || st.st_size <= 0)
		return;
	p = sys_mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, r->fd, 0);
	if (p == MAP_FAILED)
		return;
	r->map = p;
	r->map_size = (size_t)st.st_size;
}

static struct err *reader_open(struct reader *r)
{
	const struct btf_header *h;
	uint64_t end;

	*r = (struct reader){.fd = open(BTF_PATH, O_RDONLY | O_CLOEXEC)};
	if (r->fd < 0)
		return err_hint(err_sys(errno, "cannot read '%s'", BTF_PATH),
				"the kernel must be built with CONFIG_DEBUG_INFO_BTF");
	reader_map(r);
	if (!r->map)
		r->buf = xmalloc(CHUNK);
	h = reader_at(r, 0, sizeof(*h));
	if (!h || h->magic != BTF_MAGIC || h->hdr_len < sizeof(*h))
		return damaged();
	end = (uint64_t)h->hdr_len +
	      MAX((uint64_t)h->type_off + h->type_len, (uint64_t)h->str_off + h->str_len);
	if (end > INT32_MAX)
		return damaged();
	r->types = h->hdr_len + h->type_off;
	r->types_end = r->types + h->type_len;
	r->strs = h->hdr_len + h->str_off;
	r->strs_end = r->strs + h->str_len;
	return NULL;
}

static void reader_close(struct reader *r)
{
	if (r->fd >= 0)
		close(r->fd);
	if (r->map)
		(void)munmap((void *)r->map, r->map_size); /* only fails for a wrong address */
	vec_deinit(&r->index);
	free(r->buf);
}

/* Offset in the string section; 0 when the name is not there. */
static uint32_t name_find(struct reader *r, const char *name)
{
	uint32_t len = (uint32_t)strlen(name) + 2; /* with the NUL before and the one after */
	char want[MAX_NAME + 2] = {0};

	if (len > sizeof(want))
		return 0;
	memcpy(want + 1, name, len - 2);
	for (uint32_t off = r->strs; off + len <= r->strs_end;) {
		uint32_t n = MIN(CHUNK, r->strs_end - off);
		const char *p = reader_at(r, off, n), *hit;

		if (!p)
			return 0;
		hit = memmem(p, n, want, len);
		if (hit)
			return off + (uint32_t)(hit - p) + 1 - r->strs;
		off += n - (len - 1);
		if (n < CHUNK)
			break;
	}
	return 0;
}

/* Leaves the buffer alone: it holds the struct whose members are compared. name: < MAX_NAME. */
static bool name_is(const struct reader *r, uint32_t name_off, const char *name)
{
	uint32_t len = (uint32_t)strlen(name) + 1;
	char text[MAX_NAME];

	if (name_off >= r->strs_end - r->strs || len > r->strs_end - r->strs - name_off)
		return false;
	if (r->map)
		return r->strs + name_off + len <= r->map_size &&
		       memcmp(r->map + r->strs + name_off, name, len) == 0;
	return pread(r->fd, text, len, r->strs + name_off) == (ssize_t)len &&
	       memcmp(text, name, len) == 0;
}

/* Bytes after struct btf_type; UINT32_MAX for a kind we do not know. */
static uint32_t kind_extra(const struct btf_type *t)
{
	uint32_t vlen = BTF_INFO_VLEN(t->info);

	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_VAR:
	case BTF_KIND_DECL_TAG: return 4;
	case BTF_KIND_ARRAY: return 12;
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_DATASEC:
	case BTF_KIND_ENUM64: return 12 * vlen;
	case BTF_KIND_ENUM:
	case BTF_KIND_FUNC_PROTO: return 8 * vlen;
	case BTF_KIND_PTR:
	case BTF_KIND_FWD:
	case BTF_KIND_TYPEDEF:
	case BTF_KIND_VOLATILE:
	case BTF_KIND_CONST:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_FUNC:
	case BTF_KIND_FLOAT:
	case BTF_KIND_TYPE_TAG: return 0;
	default: return UINT32_MAX;
	}
}

/* Walks all types, fills the index. File offset of the struct or union with that name; 0: none. */
static struct err *struct_find(struct reader *r, uint32_t name_off, uint32_t *ret_off)
{
	uint32_t id = 1, off = r->types, found = 0;

	vec_clear(&r->index);
	for (; off < r->types_end; id++) {
		const struct btf_type *t = reader_at(r, off, sizeof(*t));
		uint32_t extra = t ? kind_extra(t) : UINT32_MAX;

		if (extra == UINT32_MAX)
			return damaged();
		if ((id - 1) % INDEX_STEP == 0)
			vec_push(&r->index, off);
		if (t->name_off == name_off && (BTF_INFO_KIND(t->info) == BTF_KIND_STRUCT ||
						BTF_INFO_KIND(t->info) == BTF_KIND_UNION))
			found = off;
		off += (uint32_t)sizeof(*t) + extra;
	}
	*ret_off = found;
	return NULL;
}

/* File offset of a type, 0 when there is none with that id. */
static uint32_t type_find(struct reader *r, uint32_t id)
{
	uint32_t off, skip;

	if (id == 0 || (id - 1) / INDEX_STEP >= r->index.len)
		return 0;
	off = r->index.data[(id - 1) / INDEX_STEP];
	for (skip = (id - 1) % INDEX_STEP; skip > 0; skip--) {
		const struct btf_type *t = reader_at(r, off, sizeof(*t));
		uint32_t extra = t ? kind_extra(t) : UINT32_MAX;

		if (extra == UINT32_MAX)
			return 0;
		off += (uint32_t)sizeof(*t) + extra;
	}
	return off < r->types_end ? off : 0;
}

/*
 * The struct or union behind const, volatile and typedef, and one pointer if is_pointer; 0 when it
 * is something else.
 */
static uint32_t type_struct(struct reader *r, uint32_t id, bool is_pointer)
{
	for (int depth = 0; depth < MAX_DEPTH; depth++) {
		uint32_t off = type_find(r, id);
		const struct btf_type *t = off ? reader_at(r, off, sizeof(*t)) : NULL;

		if (!t)
			return 0;
		switch (BTF_INFO_KIND(t->info)) {
		case BTF_KIND_STRUCT:
		case BTF_KIND_UNION: return is_pointer ? 0 : off;
		case BTF_KIND_PTR:
			if (!is_pointer)
				return 0;
			is_pointer = false;
			id = t->type;
			break;
		case BTF_KIND_TYPEDEF:
		case BTF_KIND_CONST:
		case BTF_KIND_VOLATILE:
		case BTF_KIND_TYPE_TAG: id = t->type; break;
		default: return 0;
		}
	}
	return 0;
}

/* ---- looking up ------------------------------------------------------------------------- */

struct member {
	uint32_t type;
	uint32_t bits; /* from the start of the struct */
	bool is_bitfield;
};

/* Also in anonymous members. off: of a struct or union. */
static bool member_find(struct reader *r, uint32_t off, const char *name, int depth,
			struct member *ret)
{
	const struct btf_type *t = reader_at(r, off, sizeof(*t));
	uint32_t vlen = t ? BTF_INFO_VLEN(t->info) : 0;
	bool has_sizes = t && BTF_INFO_KFLAG(t->info);

	for (uint32_t i = 0; i < vlen; i++) {
		uint32_t at = off + (uint32_t)sizeof(struct btf_type) +
			      i * (uint32_t)sizeof(struct btf_member);
		const struct btf_member *p = reader_at(r, at, sizeof(*p));
		struct btf_member m;
		uint32_t bits, inner;

		if (!p)
			return false;
		m = *p;
		bits = has_sizes ? BTF_MEMBER_BIT_OFFSET(m.offset) : m.offset;
		if (m.name_off) {
			if (!name_is(r, m.name_off, name))
				continue;
			*ret = (struct member){m.type, bits,
					       has_sizes && BTF_MEMBER_BITFIELD_SIZE(m.offset)};
			return true;
		}
		inner = depth < MAX_DEPTH ? type_struct(r, m.type, false) : 0;
		if (inner && member_find(r, inner, name, depth + 1, ret)) {
			ret->bits += bits;
			return true;
		}
	}
	return false;
}

/*
 * path: member names separated by dots, or by arrows: then the offset counts from what is pointed
 * to.
 */
static struct err *path_find(struct reader *r, const char *strct, uint32_t off, const char *path,
			     uint32_t *ret_off)
{
	uint32_t bits = 0;

	for (const char *rest = path; *rest;) {
		const char *end = rest + strcspn(rest, ".-");
		bool is_arrow = strncmp(end, "->", 2) == 0;
		char name[MAX_NAME];
		struct member m;

		(void)snprintf(name, sizeof(name), "%.*s", (int)(end - rest), rest);
		if (!off || !member_find(r, off, name, 0, &m))
			return err_new("this kernel's 'struct %s' has no member '%s'", strct, path);
		if (m.is_bitfield)
			return err_new("member '%s' of 'struct %s' is a bit-field", path, strct);
		bits = is_arrow ? 0 : bits + m.bits;
		rest = *end ? end + 1 + is_arrow : end;
		off = *rest ? type_struct(r, m.type, is_arrow) : 0;
	}
	*ret_off = bits / 8;
	return NULL;
}

/* The struct that was looked for last stays open to further paths. */
struct lookup {
	struct reader r;
	const char *strct;
	uint32_t off;
};

static struct err *lookup_open(struct lookup *l, const char *strct)
{
	struct err *e = reader_open(&l->r);
	uint32_t name_off;

	l->strct = strct;
	l->off = 0;
	if (e)
		return e;
	name_off = name_find(&l->r, strct);
	e = name_off ? struct_find(&l->r, name_off, &l->off) : NULL;
	if (!e && !l->off)
		e = err_new("this kernel has no 'struct %s'", strct);
	return e;
}

/* Answers, of the process: the kernel does not change while we run. */
struct answer {
	char *name; /* "struct.path" */
	uint32_t off;
};
static VEC(struct answer) answers;
static pthread_mutex_t answers_lock = PTHREAD_MUTEX_INITIALIZER;

static struct answer *answer_find(const char *strct, const char *path)
{
	size_t len = strlen(strct);

	for (uint32_t i = 0; i < answers.len; i++) {
		const char *name = answers.data[i].name;

		if (strncmp(name, strct, len) == 0 && name[len] == '.' &&
		    strcmp(name + len + 1, path) == 0)
			return &answers.data[i];
	}
	return NULL;
}

/* l: opened by the first path that is not known yet. To be called with answers_lock held. */
static struct err *offset_find(struct lookup *l, bool *is_open, const char *strct, const char *path,
			       uint32_t *ret_off)
{
	struct answer *known = answer_find(strct, path);
	struct err *e = NULL;
	struct answer new = {0};
	size_t size = strlen(strct) + strlen(path) + 2;

	if (known) {
		*ret_off = known->off;
		return NULL;
	}
	if (!*is_open) {
		*is_open = true;
		e = lookup_open(l, strct);
	}
	if (!e)
		e = path_find(&l->r, strct, l->off, path, &new.off);
	if (e)
		return e;
	new.name = xmalloc(size);
	(void)snprintf(new.name, size, "%s.%s", strct, path);
	vec_push(&answers, new);
	*ret_off = new.off;
	return NULL;
}

struct err *kfield_offset(const char *strct, const char *path, uint32_t *ret_off)
{
	struct lookup l;
	bool is_open = false;
	struct err *e;

	(void)pthread_mutex_lock(&answers_lock);
	e = offset_find(&l, &is_open, strct, path, ret_off);
	(void)pthread_mutex_unlock(&answers_lock);
	if (is_open)
		reader_close(&l.r);
	return e;
}

/* What a field serves; the optional ones may be missing on some architecture. */
enum need { NEED_PARENT, NEED_COMPAT };

/* clang-format off */
static const struct {
	size_t field; /* in struct kfields */
	const char *path;
	enum need need;
	bool is_optional;
} task_fields[] = {
	{offsetof(struct kfields, task_real_parent),	    "real_parent",	   NEED_PARENT,	 false},
	{offsetof(struct kfields, task_tgid),		    "tgid",		   NEED_PARENT,	 false},
	{offsetof(struct kfields, task_pid),		    "pid",		   NEED_PARENT,	 false},
	{offsetof(struct kfields, task_thread_info_status), "thread_info.status",  NEED_COMPAT,	 true},
};
/* clang-format on */

struct err *kfields_fill(struct kfields *kf, bool need_parent, bool need_compat)
{
	const bool needed[] = {[NEED_PARENT] = need_parent, [NEED_COMPAT] = need_compat};
	struct lookup l;
	bool is_open = false;
	struct err *e = NULL;

	(void)pthread_mutex_lock(&answers_lock);
	for (size_t i = 0; i < ARRAY_LEN(task_fields) && !e; i++) {
		uint32_t off = UINT32_MAX;

		if (needed[task_fields[i].need])
			e = offset_find(&l, &is_open, "task_struct", task_fields[i].path, &off);
		if (e && task_fields[i].is_optional) {
			err_destroy(e);
			e = NULL;
		}
		memcpy((char *)kf + task_fields[i].field, &off, sizeof(off));
	}
	(void)pthread_mutex_unlock(&answers_lock);
	if (is_open)
		reader_close(&l.r);
	return e;
}

/* ---- what walks of user stacks read --------------------------------------------------------- */

/* clang-format off */
#define UFIELD(field, strct, ...) {offsetof(struct rt_ukernel, field), strct, {__VA_ARGS__}}
/* clang-format on */

/*
 * Paths are tried in order: names change from kernel to kernel. Rows of one struct stand together.
 */
static const struct {
	size_t field; /* in struct rt_ukernel */
	const char *strct;
	const char *paths[3];
} walk_fields[] = {
	/* clang-format off */
	UFIELD(task_flags,   "task_struct",    "flags"),
	UFIELD(task_mm,	     "task_struct",    "mm"),
	UFIELD(mm_root,	     "task_struct",    "mm->mm_mt.ma_root"),
	UFIELD(mm_vdso,	     "task_struct",    "mm->context.vdso"),
	UFIELD(mm_arg_start, "task_struct",    "mm->arg_start"),
	UFIELD(file_inode,   "task_struct",    "mm->exe_file->f_inode"),
	UFIELD(inode_sb,     "task_struct",    "mm->exe_file->f_inode->i_sb"),
	UFIELD(inode_ino,    "task_struct",    "mm->exe_file->f_inode->i_ino"),
	UFIELD(inode_size,   "task_struct",    "mm->exe_file->f_inode->i_size"),
	UFIELD(inode_mtime,  "task_struct",    "mm->exe_file->f_inode->i_mtime_sec",
					       "mm->exe_file->f_inode->__i_mtime.tv_sec",
					       "mm->exe_file->f_inode->i_mtime.tv_sec"),
	UFIELD(sb_dev,	     "task_struct",    "mm->exe_file->f_inode->i_sb->s_dev"),
	UFIELD(vma_start,    "vm_area_struct", "vm_start"),
	UFIELD(vma_end,	     "vm_area_struct", "vm_end"),
	UFIELD(vma_pgoff,    "vm_area_struct", "vm_pgoff"),
	UFIELD(vma_file,     "vm_area_struct", "vm_file"),
	UFIELD(vma_flags,    "vm_area_struct", "vm_flags"),
	UFIELD(range_slot,   "maple_node",     "mr64.slot"),
	UFIELD(range_meta,   "maple_node",     "mr64.meta"),
	UFIELD(arange_slot,  "maple_node",     "ma64.slot"),
	UFIELD(arange_meta,  "maple_node",     "ma64.meta"),
	/* clang-format on */
};

static struct err *walk_field_find(struct lookup *l, bool *is_open, size_t i, uint32_t *ret)
{
	struct err *e = NULL;

	for (size_t k = 0; k < ARRAY_LEN(walk_fields[i].paths) && walk_fields[i].paths[k]; k++) {
		struct err *first = e;

		e = offset_find(l, is_open, walk_fields[i].strct, walk_fields[i].paths[k], ret);
		if (!e) {
			err_destroy(first);
			return NULL;
		}
		if (first) {
			err_destroy(e);
			e = first;
		}
	}
	return e;
}

struct err *kfields_walk(struct rt_ukernel *ret)
{
	struct rt_ukernel k = {0};
	struct lookup l;
	bool is_open = false;
	struct err *e = NULL;

	(void)pthread_mutex_lock(&answers_lock);
	for (size_t i = 0; i < ARRAY_LEN(walk_fields) && !e; i++) {
		uint32_t off = 0;

		if (i && strcmp(walk_fields[i].strct, walk_fields[i - 1].strct) != 0 && is_open) {
			reader_close(&l.r);
			is_open = false;
		}
		e = walk_field_find(&l, &is_open, i, &off);
		memcpy((char *)&k + walk_fields[i].field, &off, sizeof(off));
	}
	(void)pthread_mutex_unlock(&answers_lock);
	if (is_open)
		reader_close(&l.r);
	if (!e && (k.range_slot != 128 || k.range_meta >= 256 || k.arange_slot != 80 ||
		   k.arange_meta >= 256))
		e = err_new("this kernel's 'struct maple_node' has another size");
	if (!e)
		*ret = k;
	return e;
}
