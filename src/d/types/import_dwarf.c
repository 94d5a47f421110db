/* SPDX-License-Identifier: MIT */
/* Imports types of traced programs from DWARF. */
#include "d/types/import_dwarf.h"

#include <dwarf.h>

#include "base/hashmap.h"
#include "base/vec.h"
#include "image/dwarf.h"

#define MAX_DEPTH   64	       /* of derivations: a damaged file may have cycles */
#define MAX_SIZE    (1u << 30) /* bytes of one type */
#define MAX_MEMBERS 100000
#define UNITS_MAX   1000000

struct dwarf_import {
	struct hashmap *rows; /* address of a DIE's bytes -> type_id */
	struct hashmap *dies; /* type_id of a struct or union -> Dwarf_Die */
	struct arena *arena;
	struct type_importer interface;
	dwarf_define_f *define; /* NULL: definition_find() */
	void *define_ctx;
};

struct job {
	struct dwarf_import *im;
	struct types *t;
};

static type_id type_import(const struct job *j, Dwarf_Die *die, int depth);

/* ---- attributes ----------------------------------------------------------------------------- */

static bool attr_number(Dwarf_Die *die, unsigned int name, uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;

	if (!dwarf_attr_integrate(die, name, &attr) || dwarf_formudata(&attr, &v) != 0)
		return false;
	*ret = v;
	return true;
}

static bool has_flag(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attr;
	bool on;

	return dwarf_attr(die, name, &attr) && dwarf_formflag(&attr, &on) == 0 && on;
}

static type_id import_ref(const struct job *j, Dwarf_Die *die, int depth)
{
	Dwarf_Die to;

	return dwarf_type_of(die, &to) ? type_import(j, &to, depth) : TYPE_VOID;
}

static const char *die_name(Dwarf_Die *die)
{
	const char *name = dwarf_diename(die);

	return name ? name : "";
}

static uint32_t die_size(Dwarf_Die *die)
{
	uint64_t size = 0;

	(void)attr_number(die, DW_AT_byte_size, &size);
	return (uint32_t)MIN(size, (uint64_t)MAX_SIZE);
}

/* ---- one type ------------------------------------------------------------------------------- */

static type_id int_by_size(uint32_t size, bool is_signed)
{
	static const type_id by_log2[2][4] = {{TYPE_UCHAR, TYPE_USHORT, TYPE_UINT, TYPE_ULONG},
					      {TYPE_SCHAR, TYPE_SHORT, TYPE_INT, TYPE_LONG}};

	return by_log2[is_signed][size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0];
}

static type_id import_base(const struct job *j, Dwarf_Die *die)
{
	const char *name = die_name(die);
	uint32_t size = die_size(die);
	type_id known = types_find_declared(j->t, name, strlen(name));
	uint64_t encoding = 0;

	if (known && type_size(j->t, known) == size)
		return known;
	(void)attr_number(die, DW_AT_encoding, &encoding);
	switch (encoding) {
	case DW_ATE_boolean: return size == 1 ? TYPE_BOOL : int_by_size(size, false);
	case DW_ATE_float: return size == 4 ? TYPE_FLOAT : size == 8 ? TYPE_DOUBLE : TYPE_LDOUBLE;
	case DW_ATE_signed:
	case DW_ATE_signed_char:
		if (size <= 8)
			return int_by_size(size, true);
		break;
	default:
		if (size <= 8)
			return int_by_size(size, false);
		break;
	}
	return type_array(j->t, TYPE_ULONG, size / 8); /* complex, __int128: D has neither */
}

/* The number of elements in one dimension; 0 when it is unknown. */
static uint64_t range_len(Dwarf_Die *range)
{
	uint64_t n;

	if (attr_number(range, DW_AT_count, &n))
		return n;
	return attr_number(range, DW_AT_upper_bound, &n) && n < MAX_SIZE ? n + 1 : 0;
}

static type_id import_array(const struct job *j, Dwarf_Die *die, int depth)
{
	type_id of = import_ref(j, die, depth);
	VEC(uint64_t) dims = {0};
	Dwarf_Die range;

	if (dwarf_child(die, &range) == 0)
		do {
			if (dwarf_tag(&range) == DW_TAG_subrange_type && dims.len < MAX_DEPTH)
				vec_push(&dims, range_len(&range));
		} while (dwarf_siblingof(&range, &range) == 0);
	if (!dims.len)
		vec_push(&dims, 0);
	for (uint32_t i = dims.len; i-- > 0;) {
		uint64_t elem = MAX(type_size(j->t, of), 1u);

		of = type_array(j->t, of,
				dims.data[i] > MAX_SIZE / elem ? 0 : (uint32_t)dims.data[i]);
	}
	vec_deinit(&dims);
	return of;
}

static type_id import_enum(const struct job *j, Dwarf_Die *die)
{
	VEC(struct type_enumerator) e = {0};
	uint32_t size = die_size(die);
	bool is_signed = false;
	Dwarf_Die child;
	type_id id;

	if (dwarf_child(die, &child) == 0)
		do {
			Dwarf_Attribute attr;
			Dwarf_Sword v;

			if (dwarf_tag(&child) != DW_TAG_enumerator || e.len >= MAX_MEMBERS ||
			    !dwarf_attr(&child, DW_AT_const_value, &attr) ||
			    dwarf_formsdata(&attr, &v) != 0)
				continue;
			is_signed |= v < 0;
			vec_push(&e, (struct type_enumerator){die_name(&child), v});
		} while (dwarf_siblingof(&child, &child) == 0);
	/* D counts an enumeration as int (3.3) */
	id = type_import_enum(j->t, TYPE_NONE, die_name(die), size ? MIN(size, 8u) : 4,
			      is_signed || size == 4, e.data, e.len);
	vec_deinit(&e);
	return id;
}

static type_id import_sou(const struct job *j, Dwarf_Die *die, enum type_kind kind)
{
	type_id id = type_import_forward(j->t, TYPE_NONE, kind, die_name(die), die_size(die));
	Dwarf_Die *copy = arena_memdup(j->im->arena, die, sizeof(*die));

	hashmap_set(j->im->dies, &id, sizeof(id), copy);
	return id;
}

static type_id import_typedef(const struct job *j, Dwarf_Die *die, int depth)
{
	const char *name = die_name(die);
	type_id of = import_ref(j, die, depth),
		known = types_find_declared(j->t, name, strlen(name));

	if (known && type_same(j->t, known, of)) /* the program's size_t is the size_t of D */
		return known;
	return type_define_typedef(j->t, name, of);
}

static type_id import_function(const struct job *j, Dwarf_Die *die, int depth)
{
	VEC(type_id) params = {0};
	bool varargs = false;
	Dwarf_Die child;
	type_id id;

	if (dwarf_child(die, &child) == 0)
		do {
			varargs |= dwarf_tag(&child) == DW_TAG_unspecified_parameters;
			if (dwarf_tag(&child) == DW_TAG_formal_parameter && params.len < 256)
				vec_push(&params, import_ref(j, &child, depth));
		} while (dwarf_siblingof(&child, &child) == 0);
	id = type_function(j->t, import_ref(j, die, depth), params.data, params.len, varargs);
	vec_deinit(&params);
	return id;
}

static type_id import_new(const struct job *j, Dwarf_Die *die, int depth)
{
	struct types *t = j->t;
	type_id row;

	switch (dwarf_tag(die)) {
	case DW_TAG_base_type: return import_base(j, die);
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type: return type_pointer(t, import_ref(j, die, depth));
	case DW_TAG_array_type: return import_array(j, die, depth);
	case DW_TAG_structure_type:
	case DW_TAG_class_type: return import_sou(j, die, TK_STRUCT);
	case DW_TAG_union_type: return import_sou(j, die, TK_UNION);
	case DW_TAG_enumeration_type: return import_enum(j, die);
	case DW_TAG_typedef: return import_typedef(j, die, depth);
	case DW_TAG_const_type: return type_qualified(t, TK_CONST, import_ref(j, die, depth));
	case DW_TAG_volatile_type: return type_qualified(t, TK_VOLATILE, import_ref(j, die, depth));
	case DW_TAG_restrict_type: return type_qualified(t, TK_RESTRICT, import_ref(j, die, depth));
	case DW_TAG_atomic_type:
	case DW_TAG_immutable_type: return import_ref(j, die, depth);
	case DW_TAG_subroutine_type:
		row = import_function(j, die, depth);
		/*
		 * a function type of Go is a struct that describes the function: a value points to
		 * it
		 */
		return die_size(die) ? type_pointer(t, row) : row;
	case DW_TAG_ptr_to_member_type: return TYPE_LONG;
	default: return TYPE_VOID;
	}
}

static type_id type_import(const struct job *j, Dwarf_Die *die, int depth)
{
	type_id row;

	if (depth > MAX_DEPTH)
		return TYPE_VOID;
	row = (type_id)(uintptr_t)hashmap_find(j->im->rows, &die->addr, sizeof(die->addr));
	if (!row) {
		/* remembered as void while it is made: in a damaged file it may contain itself */
		hashmap_set(j->im->rows, &die->addr, sizeof(die->addr),
			    (void *)(uintptr_t)TYPE_VOID);
		row = import_new(j, die, depth + 1);
		hashmap_set(j->im->rows, &die->addr, sizeof(die->addr), (void *)(uintptr_t)row);
	}
	return row;
}

/* ---- members -------------------------------------------------------------------------------- */

typedef VEC(struct type_member) member_vec;

static bool complete_row(const struct job *j, type_id row, int depth);

/*
 * The offset of a bit-field: DW_AT_data_bit_offset (DWARF 5 5.7.6), or DW_AT_bit_offset of DWARF 2,
 * which counts from the most significant bit of the storage unit.
 */
static uint64_t bit_offset(const struct job *j, Dwarf_Die *m, uint64_t byte_off, uint64_t bits,
			   type_id type)
{
	uint64_t off, storage;

	if (attr_number(m, DW_AT_data_bit_offset, &off))
		return off;
	if (!bits || !attr_number(m, DW_AT_bit_offset, &off))
		return byte_off * 8;
	if (!attr_number(m, DW_AT_byte_size, &storage))
		storage = type_size(j->t, type);
	return byte_off * 8 + storage * 8 - off - bits;
}

static void member_add(const struct job *j, Dwarf_Die *m, int depth, member_vec *ret)
{
	bool is_base = dwarf_tag(m) == DW_TAG_inheritance;
	uint64_t off, bits = 0;
	struct type_member member = {.name = is_base ? "" : die_name(m)};

	if (has_flag(m, DW_AT_external) || has_flag(m, DW_AT_declaration) ||
	    ret->len >= MAX_MEMBERS)
		return; /* a static member is not part of the object */
	if (has_flag(m, DW_AT_artificial) && !is_base && !*member.name)
		member.name = "variant"; /* the number of the variant of a Rust enum */
	member.type = import_ref(j, m, 0);
	(void)attr_number(m, DW_AT_bit_size, &bits);
	off = bit_offset(j, m, dwarf_member_offset(m), bits, member.type);
	if (off >= (uint64_t)MAX_SIZE || bits > 64)
		return;
	member.bit_off = (uint32_t)off;
	member.bit_size = (uint32_t)bits;
	/* members of anonymous members and base classes are looked up as the struct's own */
	if (!*member.name && type_is_sou(j->t, member.type) && depth < MAX_DEPTH)
		(void)complete_row(j, type_resolve(j->t, member.type), depth + 1);
	vec_push(ret, member);
}

/* Adds the variants of a Rust enum, which share their memory as the members of a union do. */
static void variants_add(const struct job *j, Dwarf_Die *part, int depth, member_vec *ret)
{
	Dwarf_Die child, m;

	if (dwarf_child(part, &child) != 0)
		return;
	do {
		if (dwarf_tag(&child) == DW_TAG_member)
			member_add(j, &child, depth, ret);
		else if (dwarf_tag(&child) == DW_TAG_variant && dwarf_child(&child, &m) == 0 &&
			 dwarf_tag(&m) == DW_TAG_member)
			member_add(j, &m, depth, ret);
	} while (ret->len < MAX_MEMBERS && dwarf_siblingof(&child, &child) == 0);
}

/* Finds the definition, in another unit, of a struct that this unit only declares. */
static bool definition_find(Dwarf_Die *decl, Dwarf_Die *ret)
{
	Dwarf *dw = dwarf_cu_getdwarf(decl->cu);
	const char *want = die_name(decl);
	Dwarf_Off off = 0, next;
	size_t size;

	for (uint32_t i = 0; *want && i < UNITS_MAX; i++, off = next) {
		Dwarf_Die unit, child;

		if (dwarf_nextcu(dw, off, &next, &size, NULL, NULL, NULL) != 0 || next <= off)
			return false;
		if (!dwarf_offdie(dw, off + size, &unit) || dwarf_child(&unit, &child) != 0)
			continue;
		do {
			if (dwarf_tag(&child) == dwarf_tag(decl) &&
			    strcmp(die_name(&child), want) == 0 &&
			    !has_flag(&child, DW_AT_declaration)) {
				*ret = child;
				return true;
			}
		} while (dwarf_siblingof(&child, &child) == 0);
	}
	return false;
}

static bool complete_row(const struct job *j, type_id row, int depth)
{
	Dwarf_Die *known = hashmap_find(j->im->dies, &row, sizeof(row)), die, child;
	const struct type_info *info = type_get(j->t, row);
	member_vec members = {0};

	if (!known || info->is_complete)
		return info->is_complete;
	die = *known;
	hashmap_remove(j->im->dies, &row, sizeof(row)); /* a damaged struct may contain itself */
	if (has_flag(&die, DW_AT_declaration) &&
	    !(j->im->define ? j->im->define(j->im->define_ctx, known, &die)
			    : definition_find(known, &die)))
		return false;
	if (dwarf_child(&die, &child) == 0)
		do {
			int tag = dwarf_tag(&child);

			if (tag == DW_TAG_member || tag == DW_TAG_inheritance)
				member_add(j, &child, depth, &members);
			else if (tag == DW_TAG_variant_part)
				variants_add(j, &child, depth, &members);
		} while (dwarf_siblingof(&child, &child) == 0);
	(void)type_import_sou(j->t, row, info->kind, info->name, die_size(&die), members.data,
			      members.len);
	vec_deinit(&members);
	return true;
}

static bool import_complete(void *ctx, struct types *t, type_id id)
{
	const struct job j = {ctx, t};

	return complete_row(&j, id, 0);
}

/* ---- the importer --------------------------------------------------------------------------- */

struct dwarf_import *dwarf_import_create(void)
{
	struct dwarf_import *im = xcalloc(1, sizeof(*im));

	im->rows = hashmap_create();
	im->dies = hashmap_create();
	im->arena = arena_create();
	im->interface = (struct type_importer){.ctx = im, .complete = import_complete};
	return im;
}

void dwarf_import_set_define(struct dwarf_import *im, dwarf_define_f *define, void *ctx)
{
	im->define = define;
	im->define_ctx = ctx;
}

void dwarf_import_destroy(struct dwarf_import *im)
{
	if (!im)
		return;
	hashmap_destroy(im->rows);
	hashmap_destroy(im->dies);
	arena_destroy(im->arena);
	free(im);
}

type_id dwarf_import_type(struct dwarf_import *im, struct types *t, Dwarf_Die *die)
{
	const struct job j = {im, t};
	type_id id;

	if (!die || !dwarf_tag(die))
		return TYPE_VOID;
	types_import_begin(t, &im->interface);
	id = type_import(&j, die, 0);
	types_import_end(t);
	return id;
}

type_id dwarf_import_arg(struct dwarf_import *im, struct types *t, Dwarf_Die *die, bool is_ref)
{
	type_id id = dwarf_import_type(im, t, die);

	if (is_ref)
		return type_pointer(t, type_qualified(t, TK_USERLAND, id));
	if (type_kind(t, id) == TK_PTR)
		return type_pointer(t, type_qualified(t, TK_USERLAND, type_deref(t, id)));
	return id;
}
