/* SPDX-License-Identifier: MIT */
/*
 * Imports kernel types from BTF.
 *
 * Each row that is made here is remembered with its position in BTF, in both directions: the same
 * position yields the same row again, and the position of a row that is to be completed is known. A
 * tag that D text has mentioned but not defined ('struct file *') means the kernel's type: its row
 * is completed. A tag that D text has defined is another type.
 */
#include "d/types/import.h"

#include <dirent.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "kernel/btf.h"

#define KERNEL	  "vmlinux"
#define MAX_DEPTH 64	     /* of derivations: damaged files may have cycles */
#define MAX_SIZE  (1u << 30) /* bytes of one type */

struct module {
	char *name;
	struct btf_file *file; /* NULL: not opened yet, or not readable */
	bool is_tried;
};

/*
 * The position of a type in BTF: the index of a module, which is 0 for the kernel's own types, and
 * an id. A key of hash maps, so without padding.
 */
struct btf_pos {
	uint32_t module, id;
};

struct btf_import {
	char *dir;
	VEC(struct module) modules; /* [0] is the kernel */
	bool is_listed;		    /* modules[] is complete */
	struct err *trouble;
	struct hashmap *rows;	   /* struct btf_pos -> type_id */
	struct hashmap *positions; /* type_id of a struct or union -> struct btf_pos, packed */
	struct type_importer interface;
};

/* One call of the importer: the type table, and the BTF file that is read. */
struct job {
	struct btf_import *im;
	struct types *t;
	uint32_t module;
	const struct btf_file *file;
};

/* ---- files ---------------------------------------------------------------------------------- */

static void module_add(struct btf_import *im, const char *name)
{
	vec_push(&im->modules, (struct module){.name = xstrdup(name)});
}

static struct btf_file *module_open(struct btf_import *im, uint32_t i)
{
	const struct btf_file *base = NULL;
	struct module *m = &im->modules.data[i];
	CLEANUP(free) char *path = NULL;
	struct err *e;

	if (m->is_tried)
		return m->file;
	m->is_tried = true;
	if (i > 0) {
		base = module_open(im, 0);
		if (!base)
			return NULL;
	}
	if (asprintf(&path, "%s/%s", im->dir, m->name) < 0)
		oom();
	e = btf_file_open(path, base, &m->file);
	if (e && i == 0)
		im->trouble = err_hint(e, "types of the kernel need CONFIG_DEBUG_INFO_BTF");
	else
		err_destroy(e); /* a module that cannot be read has no types */
	return m->file;
}

static void modules_list(struct btf_import *im)
{
	DIR *dir = im->is_listed ? NULL : opendir(im->dir);
	struct dirent *d;

	im->is_listed = true;
	while (dir && (d = readdir(dir)))
		if (d->d_name[0] != '.' && strcmp(d->d_name, KERNEL) != 0)
			module_add(im, d->d_name);
	if (dir)
		(void)closedir(dir); /* nothing was written */
}

/* The index of a module; UINT32_MAX when there is none of that name. */
static uint32_t module_find(struct btf_import *im, const char *name, size_t len)
{
	if (strlen(KERNEL) != len || memcmp(name, KERNEL, len) != 0)
		modules_list(im);
	for (uint32_t i = 0; i < im->modules.len; i++)
		if (strncmp(im->modules.data[i].name, name, len) == 0 &&
		    !im->modules.data[i].name[len])
			return i;
	return UINT32_MAX;
}

/* ---- rows and positions --------------------------------------------------------------------- */

/*
 * The position of type `id` of the current file: low ids in a module's BTF are the kernel's types.
 */
static struct btf_pos btf_pos_of(const struct job *j, uint32_t id)
{
	bool is_base = j->module && id < btf_file_end(j->im->modules.data[0].file);

	return (struct btf_pos){is_base ? 0 : j->module, id};
}

static type_id row_get(const struct job *j, struct btf_pos p)
{
	return (type_id)(uintptr_t)hashmap_find(j->im->rows, &p, sizeof(p));
}

static void row_set(const struct job *j, struct btf_pos p, type_id row)
{
	uint64_t packed = (uint64_t)p.module << 32 | p.id;

	hashmap_set(j->im->rows, &p, sizeof(p), (void *)(uintptr_t)row);
	hashmap_set(j->im->positions, &row, sizeof(row), (void *)(uintptr_t)packed);
}

/* ---- one type ------------------------------------------------------------------------------- */

static type_id type_import(const struct job *j, uint32_t id, int depth);

static type_id int_by_size(uint32_t size, bool is_signed)
{
	static const type_id by_log2[2][4] = {{TYPE_UCHAR, TYPE_USHORT, TYPE_UINT, TYPE_ULONG},
					      {TYPE_SCHAR, TYPE_SHORT, TYPE_INT, TYPE_LONG}};

	return by_log2[is_signed][size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0];
}

static type_id import_int(const struct job *j, const struct btf_type *bt)
{
	uint32_t data = *(const uint32_t *)(bt + 1);
	bool is_signed = BTF_INT_ENCODING(data) & BTF_INT_SIGNED;
	const char *name = btf_file_str(j->file, bt->name_off);
	type_id id = types_find_declared(j->t, name, strlen(name));

	/*
	 * Looked up by name first: encodings are less exact. gcc encodes char like any signed
	 * integer, and _Bool without saying that it is one.
	 */
	if (id && type_kind(j->t, id) == TK_INT && type_size(j->t, id) == bt->size)
		return id;
	if (bt->size > 8) /* D has no __int128 */
		return type_array(j->t, TYPE_ULONG, MIN(bt->size, 64u) / 8);
	return int_by_size(bt->size, is_signed);
}

static type_id import_float(const struct btf_type *bt)
{
	return bt->size == 4 ? TYPE_FLOAT : bt->size == 8 ? TYPE_DOUBLE : TYPE_LDOUBLE;
}

static type_id import_array(const struct job *j, const struct btf_type *bt, int depth)
{
	const struct btf_array *a = (const struct btf_array *)(bt + 1);
	type_id elem = type_import(j, a->type, depth);
	uint64_t size = (uint64_t)type_size(j->t, elem) * a->nelems;

	return type_array(j->t, elem, size > MAX_SIZE ? 0 : a->nelems);
}

static type_id import_enum(const struct job *j, const struct btf_type *bt)
{
	uint32_t n = BTF_INFO_VLEN(bt->info);
	bool is_64 = BTF_INFO_KIND(bt->info) == BTF_KIND_ENUM64,
	     is_signed = BTF_INFO_KFLAG(bt->info);
	CLEANUP(free) struct type_enumerator *e = xcalloc(n + 1, sizeof(*e));
	bool is_int = bt->size == 4; /* D counts it as int (3.3) if all constants fit */
	type_id fwd = TYPE_NONE;
	const char *tag = btf_file_str(j->file, bt->name_off);

	for (uint32_t i = 0; i < n; i++) {
		const struct btf_enum *e32 = (const struct btf_enum *)(bt + 1) + i;
		const struct btf_enum64 *e64 = (const struct btf_enum64 *)(bt + 1) + i;

		e[i].name = btf_file_str(j->file, is_64 ? e64->name_off : e32->name_off);
		if (is_64)
			e[i].val = (int64_t)((uint64_t)e64->val_hi32 << 32 | e64->val_lo32);
		else
			e[i].val = is_signed ? e32->val : (int64_t)(uint32_t)e32->val;
		is_int &= e[i].val >= INT32_MIN && e[i].val <= INT32_MAX;
	}
	if (*tag)
		fwd = types_find_tag_known(j->t, TK_ENUM, tag);
	if (fwd && type_get(j->t, fwd)->is_complete)
		fwd = TYPE_NONE;
	return type_import_enum(j->t, fwd, tag, bt->size, is_signed || is_int, e, n);
}

/* Makes a forward of known size; import_complete() reads the members when they are needed. */
static type_id import_sou(const struct job *j, enum type_kind kind, uint32_t name_off,
			  uint32_t size)
{
	const char *tag = btf_file_str(j->file, name_off);
	type_id fwd = *tag ? types_find_tag_known(j->t, kind, tag) : TYPE_NONE;
	bool is_ours = fwd && hashmap_find(j->im->positions, &fwd, sizeof(fwd));

	if (fwd && (is_ours || type_get(j->t, fwd)->is_complete))
		fwd = TYPE_NONE;
	return type_import_forward(j->t, fwd, kind, tag, MIN(size, MAX_SIZE));
}

static type_id import_typedef(const struct job *j, const struct btf_type *bt, int depth)
{
	const char *name = btf_file_str(j->file, bt->name_off);
	type_id of = type_import(j, bt->type, depth), known;

	known = types_find_declared(j->t, name, strlen(name));
	if (known && type_same(j->t, known, of)) /* the kernel's size_t is the size_t of D */
		return known;
	return type_define_typedef(j->t, name, of);
}

static type_id import_proto(const struct job *j, const struct btf_type *bt, int depth)
{
	const struct btf_param *p = (const struct btf_param *)(bt + 1);
	uint32_t n = BTF_INFO_VLEN(bt->info);
	CLEANUP(free) type_id *params = xcalloc(n + 1, sizeof(*params));
	bool varargs = n > 0 && !p[n - 1].type && !p[n - 1].name_off;

	n -= varargs;
	for (uint32_t i = 0; i < n; i++)
		params[i] = type_import(j, p[i].type, depth);
	return type_function(j->t, type_import(j, bt->type, depth), params, n, varargs);
}

static type_id import_tag(const struct job *j, const struct btf_type *bt, int depth)
{
	type_id of = type_import(j, bt->type, depth);

	/* Linux include/linux/compiler_types.h: __user is btf_type_tag("user") */
	if (strcmp(btf_file_str(j->file, bt->name_off), "user") == 0)
		return type_qualified(j->t, TK_USERLAND, of);
	return of; /* tags such as rcu and percpu do not change the type */
}

static type_id import_new(const struct job *j, const struct btf_type *bt, int depth)
{
	struct types *t = j->t;

	switch (BTF_INFO_KIND(bt->info)) {
	case BTF_KIND_INT: return import_int(j, bt);
	case BTF_KIND_FLOAT: return import_float(bt);
	case BTF_KIND_PTR: return type_pointer(t, type_import(j, bt->type, depth));
	case BTF_KIND_ARRAY: return import_array(j, bt, depth);
	case BTF_KIND_STRUCT: return import_sou(j, TK_STRUCT, bt->name_off, bt->size);
	case BTF_KIND_UNION: return import_sou(j, TK_UNION, bt->name_off, bt->size);
	case BTF_KIND_FWD:
		return import_sou(j, BTF_INFO_KFLAG(bt->info) ? TK_UNION : TK_STRUCT, bt->name_off,
				  0);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64: return import_enum(j, bt);
	case BTF_KIND_TYPEDEF: return import_typedef(j, bt, depth);
	case BTF_KIND_CONST: return type_qualified(t, TK_CONST, type_import(j, bt->type, depth));
	case BTF_KIND_VOLATILE:
		return type_qualified(t, TK_VOLATILE, type_import(j, bt->type, depth));
	case BTF_KIND_RESTRICT:
		return type_qualified(t, TK_RESTRICT, type_import(j, bt->type, depth));
	case BTF_KIND_TYPE_TAG: return import_tag(j, bt, depth);
	case BTF_KIND_FUNC_PROTO: return import_proto(j, bt, depth);
	case BTF_KIND_FUNC:
	case BTF_KIND_VAR: return type_import(j, bt->type, depth);
	default: return TYPE_VOID; /* BTF_KIND_FUNC and others are no types */
	}
}

static type_id type_import(const struct job *j, uint32_t id, int depth)
{
	const struct btf_type *bt = id && depth < MAX_DEPTH ? btf_file_type(j->file, id) : NULL;
	struct btf_pos p;
	type_id row;

	if (!bt)
		return TYPE_VOID;
	p = btf_pos_of(j, id);
	row = row_get(j, p);
	if (!row) {
		row = import_new(j, bt, depth + 1);
		row_set(j, p, row);
	}
	return row;
}

/* ---- members -------------------------------------------------------------------------------- */

static void complete_at(const struct job *j, struct btf_pos p, type_id row, int depth);

/* Completes an anonymous member: its members are looked up as members of the struct around it. */
static void complete_anonymous(const struct job *j, uint32_t id, type_id row, int depth)
{
	while (btf_file_type(j->file, id) &&
	       BTF_INFO_KIND(btf_file_type(j->file, id)->info) == BTF_KIND_CONST)
		id = btf_file_type(j->file, id)->type;
	if (type_is_sou(j->t, row) && !type_get(j->t, type_resolve(j->t, row))->is_complete)
		complete_at(j, btf_pos_of(j, id), type_resolve(j->t, row), depth + 1);
}

static void complete_at(const struct job *j, struct btf_pos p, type_id row, int depth)
{
	const struct btf_type *bt = btf_file_type(j->file, p.id);
	const struct btf_member *bm = (const struct btf_member *)(bt + 1);
	uint32_t n = BTF_INFO_VLEN(bt->info);
	bool has_sizes = BTF_INFO_KFLAG(bt->info);
	CLEANUP(free) struct type_member *m = xcalloc(n + 1, sizeof(*m));

	for (uint32_t i = 0; i < n; i++) {
		m[i].name = btf_file_str(j->file, bm[i].name_off);
		m[i].type = type_import(j, bm[i].type, 0);
		m[i].bit_off = has_sizes ? BTF_MEMBER_BIT_OFFSET(bm[i].offset) : bm[i].offset;
		m[i].bit_size = has_sizes ? BTF_MEMBER_BITFIELD_SIZE(bm[i].offset) : 0;
		if (!*m[i].name && depth < MAX_DEPTH)
			complete_anonymous(j, bm[i].type, m[i].type, depth);
	}
	(void)type_import_sou(j->t, row, type_get(j->t, row)->kind, type_get(j->t, row)->name,
			      MIN(bt->size, MAX_SIZE), m, n);
}

static bool is_sou(const struct btf_type *bt)
{
	return bt && (BTF_INFO_KIND(bt->info) == BTF_KIND_STRUCT ||
		      BTF_INFO_KIND(bt->info) == BTF_KIND_UNION);
}

/* ---- answers to the type table -------------------------------------------------------------- */

/*
 * Cuts the scope off *name, up to the last backquote. *ret_module: the module that it names,
 * UINT32_MAX without a scope. False: there is no such module.
 */
static bool scope_split(struct btf_import *im, const char **name, size_t *len, uint32_t *ret_module)
{
	const char *tick = memrchr(*name, '`', *len);
	size_t scope_len;

	*ret_module = UINT32_MAX;
	if (!tick)
		return true;
	scope_len = (size_t)(tick - *name);
	*ret_module = module_find(im, *name, scope_len);
	*name = tick + 1;
	*len -= scope_len + 1;
	return *ret_module != UINT32_MAX;
}

typedef uint32_t find_fn(struct btf_file *f, uint32_t kinds, const char *name, size_t len,
			 int64_t *ret_val);

static uint32_t find_type(struct btf_file *f, uint32_t kinds, const char *name, size_t len,
			  int64_t *ret_val)
{
	return btf_file_find(f, kinds, name, len);
}

static uint32_t find_enumerator(struct btf_file *f, uint32_t kinds, const char *name, size_t len,
				int64_t *ret_val)
{
	return btf_file_find_enumerator(f, name, len, ret_val);
}

static uint32_t find_symbol(struct btf_file *f, uint32_t kinds, const char *name, size_t len,
			    int64_t *ret_val)
{
	return btf_file_find_symbol(f, name, len);
}

/*
 * Searches the kernel's BTF, then that of its modules, which are opened only now. module: the only
 * one to search, or UINT32_MAX. False: nothing found.
 */
static bool files_search(struct job *j, uint32_t module, find_fn *find, uint32_t kinds,
			 const char *name, size_t len, int64_t *ret_val, uint32_t *ret_id)
{
	struct btf_import *im = j->im;
	uint32_t first = module == UINT32_MAX ? 0 : module;

	for (uint32_t i = first; i < im->modules.len; i++) {
		struct btf_file *f = module_open(im, i);
		uint32_t id = f ? find(f, kinds, name, len, ret_val) : 0;

		if (id) {
			j->module = i;
			j->file = f;
			*ret_id = id;
			return true;
		}
		if (module != UINT32_MAX)
			return false;
		if (i == 0)
			modules_list(im);
	}
	return false;
}

static type_id import_find(void *ctx, struct types *t, const char *name, size_t len)
{
	struct job j = {.im = ctx, .t = t};
	uint32_t module, id;

	if (!scope_split(ctx, &name, &len, &module) ||
	    !files_search(&j, module, find_type, BTF_FIND_TYPEDEF, name, len, NULL, &id))
		return TYPE_NONE;
	return type_import(&j, id, 0);
}

static uint32_t find_kinds(enum type_kind kind)
{
	return kind == TK_STRUCT  ? BTF_FIND_STRUCT
	       : kind == TK_UNION ? BTF_FIND_UNION
				  : BTF_FIND_ENUM;
}

/* A plain struct or union gets a forward only: import_complete() reads it if it is really used. */
static type_id import_find_tag(void *ctx, struct types *t, enum type_kind kind, const char *tag)
{
	struct job j = {.im = ctx, .t = t};
	size_t len = strlen(tag);
	uint32_t module, id;

	if ((kind != TK_ENUM && !memchr(tag, '`', len)) || !scope_split(ctx, &tag, &len, &module) ||
	    !files_search(&j, module, find_type, find_kinds(kind), tag, len, NULL, &id))
		return TYPE_NONE;
	return type_import(&j, id, 0);
}

static bool import_complete(void *ctx, struct types *t, type_id id)
{
	struct job j = {.im = ctx, .t = t};
	const struct type_info *info = type_get(t, id);
	uint64_t packed = (uint64_t)(uintptr_t)hashmap_find(j.im->positions, &id, sizeof(id));
	struct btf_pos p = {(uint32_t)(packed >> 32), (uint32_t)packed};

	if (packed) {
		j.module = p.module;
		j.file = j.im->modules.data[p.module].file;
	}
	if (!packed || !is_sou(btf_file_type(j.file, p.id))) {
		/* the row is a forward of D text, or one that its own BTF file does not define */
		if (!*info->name || !files_search(&j, UINT32_MAX, find_type, find_kinds(info->kind),
						  info->name, strlen(info->name), NULL, &p.id))
			return false;
		if (info->kind == TK_ENUM) {
			(void)type_import(&j, p.id,
					  0); /* completes the forward, found by its tag */
			return type_get(t, id)->is_complete;
		}
		p = btf_pos_of(&j, p.id);
		if (!row_get(&j, p))
			row_set(&j, p, id);
	}
	complete_at(&j, p, id, 0);
	return true;
}

static type_id import_enumerator(void *ctx, struct types *t, const char *name, int64_t *ret_val)
{
	struct job j = {.im = ctx, .t = t};
	uint32_t id;

	if (!files_search(&j, UINT32_MAX, find_enumerator, 0, name, strlen(name), ret_val, &id))
		return TYPE_NONE;
	return type_import(&j, id, 0);
}

/* Whether a variable lies in the section of per-CPU data. */
static bool is_percpu(const struct btf_file *f, uint32_t var)
{
	for (uint32_t id = btf_file_end(f) - 1; id > 0; id--) {
		const struct btf_type *bt = btf_file_type(f, id);
		const struct btf_var_secinfo *s = (const struct btf_var_secinfo *)(bt + 1);

		if (BTF_INFO_KIND(bt->info) != BTF_KIND_DATASEC)
			continue;
		for (uint32_t i = 0; i < BTF_INFO_VLEN(bt->info); i++)
			if (s[i].type == var)
				return strstr(btf_file_str(f, bt->name_off), "percpu") != NULL;
	}
	return false;
}

static type_id import_symbol(void *ctx, struct types *t, const char *module, const char *name,
			     bool *ret_is_percpu)
{
	struct job j = {.im = ctx, .t = t};
	uint32_t in = UINT32_MAX, id;

	if (module && *module)
		in = module_find(ctx, module, strlen(module));
	else if (module)
		in = 0;
	if ((module && in == UINT32_MAX) ||
	    !files_search(&j, in, find_symbol, 0, name, strlen(name), NULL, &id))
		return TYPE_NONE;
	*ret_is_percpu = BTF_INFO_KIND(btf_file_type(j.file, id)->info) == BTF_KIND_VAR &&
			 is_percpu(j.file, id);
	return type_import(&j, id, 0);
}

static const char *import_trouble(void *ctx)
{
	const struct btf_import *im = ctx;

	return im->trouble ? err_text(im->trouble) : NULL;
}

/* ---- the importer --------------------------------------------------------------------------- */

struct btf_import *btf_import_create(const char *dir)
{
	struct btf_import *im = xcalloc(1, sizeof(*im));

	im->dir = xstrdup(dir);
	im->rows = hashmap_create();
	im->positions = hashmap_create();
	module_add(im, KERNEL);
	im->interface = (struct type_importer){
		.ctx = im,
		.find = import_find,
		.find_tag = import_find_tag,
		.complete = import_complete,
		.enumerator = import_enumerator,
		.symbol = import_symbol,
		.trouble = import_trouble,
	};
	return im;
}

void btf_import_destroy(struct btf_import *im)
{
	if (!im)
		return;
	for (uint32_t i = im->modules.len; i-- > 0;) {
		btf_file_close(im->modules.data[i].file);
		free(im->modules.data[i].name);
	}
	vec_deinit(&im->modules);
	hashmap_destroy(im->rows);
	hashmap_destroy(im->positions);
	err_destroy(im->trouble);
	free(im->dir);
	free(im);
}

const struct type_importer *btf_import_interface(struct btf_import *im)
{
	return &im->interface;
}

bool btf_import_is_used(const struct btf_import *im)
{
	return im->modules.data[0].is_tried;
}
