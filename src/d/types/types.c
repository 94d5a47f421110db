/* SPDX-License-Identifier: MIT */
/* The type table: makes, interns and finds types. */
#include "d/types/types_impl.h"

#include "base/text.h"

/* ---- the fixed rows -------------------------------------------------------------------------- */

struct fixed_type {
	type_id id;
	enum type_kind kind;
	const char *name;
	uint32_t size;
	bool is_signed, is_char;
	type_id ref;
};

/* clang-format off */
static const struct fixed_type fixed_types[] = {
	{ TYPE_ERROR,    TK_ERROR,     "<error>",             0, false, false, TYPE_NONE },
	{ TYPE_VOID,     TK_VOID,      "void",                0, false, false, TYPE_NONE },
	{ TYPE_CHAR,     TK_INT,       "char",                1, true,  true,  TYPE_NONE },
	{ TYPE_SCHAR,    TK_INT,       "signed char",         1, true,  true,  TYPE_NONE },
	{ TYPE_UCHAR,    TK_INT,       "unsigned char",       1, false, true,  TYPE_NONE },
	{ TYPE_SHORT,    TK_INT,       "short",               2, true,  false, TYPE_NONE },
	{ TYPE_USHORT,   TK_INT,       "unsigned short",      2, false, false, TYPE_NONE },
	{ TYPE_INT,      TK_INT,       "int",                 4, true,  false, TYPE_NONE },
	{ TYPE_UINT,     TK_INT,       "unsigned int",        4, false, false, TYPE_NONE },
	{ TYPE_LONG,     TK_INT,       "long",                8, true,  false, TYPE_NONE },
	{ TYPE_ULONG,    TK_INT,       "unsigned long",       8, false, false, TYPE_NONE },
	{ TYPE_LLONG,    TK_INT,       "long long",           8, true,  false, TYPE_NONE },
	{ TYPE_ULLONG,   TK_INT,       "unsigned long long",  8, false, false, TYPE_NONE },
	{ TYPE_BOOL,     TK_INT,       "_Bool",               1, false, false, TYPE_NONE },
	{ TYPE_FLOAT,    TK_FLOAT,     "float",               4, true,  false, TYPE_NONE },
	{ TYPE_DOUBLE,   TK_FLOAT,     "double",              8, true,  false, TYPE_NONE },
	{ TYPE_LDOUBLE,  TK_FLOAT,     "long double",        16, true,  false, TYPE_NONE },
	{ TYPE_STRING,   TK_STRING,    "string",              0, false, false, TYPE_NONE }, /* size: strsize */
	{ TYPE_DYNAMIC,  TK_DYNAMIC,   "<DYN>",               0, false, false, TYPE_NONE },
	{ TYPE_STACK,    TK_STACK,     "stackid_t",           8, false, false, TYPE_NONE },
	{ TYPE_SYMADDR,  TK_SYMADDR,   "_symaddr",            8, false, false, TYPE_NONE },
	{ TYPE_USYMADDR, TK_USYMADDR,  "_usymaddr",          16, false, false, TYPE_NONE }, /* process id, address */
	/* d-language.md 3.1, LP64 */
	{ TYPE_INT8,    TK_TYPEDEF, "int8_t",   .ref = TYPE_SCHAR },
	{ TYPE_INT16,   TK_TYPEDEF, "int16_t",  .ref = TYPE_SHORT },
	{ TYPE_INT32,   TK_TYPEDEF, "int32_t",  .ref = TYPE_INT },
	{ TYPE_INT64,   TK_TYPEDEF, "int64_t",  .ref = TYPE_LONG },
	{ TYPE_INTPTR,  TK_TYPEDEF, "intptr_t", .ref = TYPE_LONG },
	{ TYPE_SSIZE,   TK_TYPEDEF, "ssize_t",  .ref = TYPE_LONG },
	{ TYPE_UINT8,   TK_TYPEDEF, "uint8_t",  .ref = TYPE_UCHAR },
	{ TYPE_UINT16,  TK_TYPEDEF, "uint16_t", .ref = TYPE_USHORT },
	{ TYPE_UINT32,  TK_TYPEDEF, "uint32_t", .ref = TYPE_UINT },
	{ TYPE_UINT64,  TK_TYPEDEF, "uint64_t", .ref = TYPE_ULONG },
	{ TYPE_UCHAR_T,  TK_TYPEDEF, "uchar_t",  .ref = TYPE_UCHAR },
	{ TYPE_USHORT_T, TK_TYPEDEF, "ushort_t", .ref = TYPE_USHORT },
	{ TYPE_UINT_T,   TK_TYPEDEF, "uint_t",   .ref = TYPE_UINT },
	{ TYPE_ULONG_T,  TK_TYPEDEF, "ulong_t",  .ref = TYPE_ULONG },
	{ TYPE_ULONGLONG_T, TK_TYPEDEF, "u_longlong_t", .ref = TYPE_ULLONG },
	{ TYPE_PTRDIFF, TK_TYPEDEF, "ptrdiff_t", .ref = TYPE_LONG },
	{ TYPE_UINTPTR, TK_TYPEDEF, "uintptr_t", .ref = TYPE_ULONG },
	{ TYPE_SIZE,    TK_TYPEDEF, "size_t",    .ref = TYPE_ULONG },
	{ TYPE_ID,      TK_TYPEDEF, "id_t",      .ref = TYPE_INT },
	{ TYPE_PID,     TK_TYPEDEF, "pid_t",     .ref = TYPE_INT },
	{ TYPE_UID,     TK_TYPEDEF, "uid_t",     .ref = TYPE_UINT },
	{ TYPE_GID,     TK_TYPEDEF, "gid_t",     .ref = TYPE_UINT },
	{ TYPE_PROCESSORID, TK_TYPEDEF, "processorid_t", .ref = TYPE_INT },
	{ TYPE_VOID_PTR, TK_PTR, "", .size = 8, .ref = TYPE_VOID },
	{ TYPE_CHAR_PTR, TK_PTR, "", .size = 8, .ref = TYPE_CHAR },
};

/* Other spellings of base types, as compilers write them into BTF and DWARF. */
static const struct { const char *name; type_id id; } base_aliases[] = {
	{ "unsigned", TYPE_UINT }, { "signed", TYPE_INT }, { "signed int", TYPE_INT },
	{ "short int", TYPE_SHORT }, { "signed short", TYPE_SHORT },
	{ "short unsigned int", TYPE_USHORT }, { "unsigned short int", TYPE_USHORT },
	{ "long int", TYPE_LONG }, { "signed long", TYPE_LONG },
	{ "long unsigned int", TYPE_ULONG }, { "unsigned long int", TYPE_ULONG },
	{ "long long int", TYPE_LLONG }, { "signed long long", TYPE_LLONG },
	{ "long long unsigned int", TYPE_ULLONG }, { "unsigned long long int", TYPE_ULLONG },
};
/* clang-format on */

/* ---- rows ------------------------------------------------------------------------------------ */

static void *id_to_value(type_id id)
{
	return (void *)(uintptr_t)id;
}

static type_id value_to_id(const void *value)
{
	return (type_id)(uintptr_t)value;
}

struct type_row *type_row(const struct types *t, type_id id)
{
	if (id >= t->rows.len)
		BUG("type id %u of %u", id, t->rows.len);
	return t->rows.data[id];
}

const struct type_info *type_get(const struct types *t, type_id id)
{
	return &type_row(t, id)->info;
}

/* The layer of the names of types that are made now. */
static enum d_layer layer_of_new(const struct types *t)
{
	return t->importing ? LAYER_SYSTEM : t->layer;
}

static struct type_row *row_add(struct types *t, enum type_kind kind, const char *name)
{
	struct type_row *row = ARENA_NEW(t->arena, struct type_row);

	row->info.kind = kind;
	row->info.name = name && *name ? text_clean(arena_strdup(t->arena, name)) : "";
	row->info.index = t->rows.len;
	row->align = 1;
	row->is_imported = t->importing > 0;
	row->from = t->from;
	row->layer = layer_of_new(t);
	vec_push(&t->rows, row);
	return row;
}

static void names_set(struct types *t, enum d_layer layer, const char *name, type_id id)
{
	hashmap_sets(t->names[layer], name, id_to_value(id));
}

static type_id names_get(const struct types *t, const char *name, size_t len)
{
	type_id id = TYPE_NONE;

	for (uint32_t i = t->layer; !id && i < NLAYERS; i++)
		id = value_to_id(hashmap_find(t->names[i], name, len));
	return id;
}

/* The key of a tag: kind and the whole tag, of any length (C++ has names of many kilobytes). */
static void tag_key(struct strbuf *key, enum type_kind kind, const char *tag)
{
	strbuf_addc(key, (char)('A' + (int)kind));
	strbuf_adds(key, tag);
}

static type_id tags_get_at(const struct types *t, enum d_layer layer, enum type_kind kind,
			   const char *tag)
{
	struct strbuf key = {0};
	type_id id;

	tag_key(&key, kind, tag);
	id = value_to_id(hashmap_find(t->tags[layer], strbuf_text(&key), key.len));
	strbuf_deinit(&key);
	return id;
}

static type_id tags_get(const struct types *t, enum type_kind kind, const char *tag)
{
	type_id id = TYPE_NONE;

	for (uint32_t i = t->layer; !id && i < NLAYERS; i++)
		id = tags_get_at(t, (enum d_layer)i, kind, tag);
	return id;
}

static void tags_set(struct types *t, const struct type_row *row)
{
	struct strbuf key = {0};

	tag_key(&key, row->info.kind, row->info.name);
	hashmap_set(t->tags[row->layer], strbuf_text(&key), key.len, id_to_value(row->info.index));
	strbuf_deinit(&key);
}

static void tags_remove(struct types *t, const struct type_row *row)
{
	struct strbuf key = {0};

	tag_key(&key, row->info.kind, row->info.name);
	hashmap_remove(t->tags[row->layer], strbuf_text(&key), key.len);
	strbuf_deinit(&key);
}

/* Notes a declaration before it changes the row `id`; was_forward: it completes that row. */
static void undo_note(struct types *t, type_id id, bool was_forward)
{
	const struct type_row *row = type_row(t, id);

	if (!t->importing)
		vec_push(&t->undo,
			 (struct type_undo){
				 .id = id,
				 .old = was_forward ? arena_memdup(t->arena, row, sizeof(*row))
						    : NULL,
			 });
}

static void strsized_note(struct types *t, struct type_row *row)
{
	row->has_string = true;
	vec_push(&t->strsized, row->info.index);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* Key by which a pointer or an array that was made before is found. */
struct derived_key {
	uint32_t kind, ref, nelems;
};

static void derived_set(struct types *t, enum type_kind kind, type_id ref, uint32_t nelems,
			type_id id)
{
	struct derived_key key = {kind, ref, nelems};

	hashmap_set(t->derived, &key, sizeof(key), id_to_value(id));
}

static type_id derived_get(const struct types *t, enum type_kind kind, type_id ref, uint32_t nelems)
{
	struct derived_key key = {kind, ref, nelems};

	return value_to_id(hashmap_find(t->derived, &key, sizeof(key)));
}

static void fixed_row_add(struct types *t, const struct fixed_type *f)
{
	struct type_row *row = row_add(t, f->kind, f->name);

	if (row->info.index != f->id)
		BUG("row '%s' is not at its place", f->name);
	row->info.size = f->size;
	row->info.is_signed = f->is_signed;
	row->info.is_char = f->is_char;
	row->info.ref = f->ref;
	row->info.is_complete = true;
	row->align = f->size ? f->size : 1;
	if (f->kind == TK_PTR)
		derived_set(t, TK_PTR, f->ref, 0, f->id);
	else if (f->id != TYPE_ERROR && f->id != TYPE_DYNAMIC)
		names_set(t, LAYER_SYSTEM, f->name, f->id);
}

struct types *types_create(uint32_t strsize)
{
	struct types *t = xcalloc(1, sizeof(*t));

	t->arena = arena_create();
	for (uint32_t i = 0; i < NLAYERS; i++) {
		t->names[i] = hashmap_create();
		t->tags[i] = hashmap_create();
	}
	t->derived = hashmap_create();
	row_add(t, TK_ERROR, "<none>"); /* TYPE_NONE */
	for (size_t i = 0; i < ARRAY_LEN(fixed_types); i++)
		fixed_row_add(t, &fixed_types[i]);
	if (t->rows.len != TYPE_FIRST_FREE)
		BUG("%u fixed types, want %d", t->rows.len, TYPE_FIRST_FREE);
	for (size_t i = 0; i < ARRAY_LEN(base_aliases); i++)
		names_set(t, LAYER_SYSTEM, base_aliases[i].name, base_aliases[i].id);
	strsized_note(t, type_row(t, TYPE_STRING));
	types_set_strsize(t, strsize);
	return t;
}

void types_destroy(struct types *t)
{
	if (!t)
		return;
	for (uint32_t i = 0; i < NLAYERS; i++) {
		hashmap_destroy(t->names[i]);
		hashmap_destroy(t->tags[i]);
	}
	hashmap_destroy(t->derived);
	vec_deinit(&t->rows);
	vec_deinit(&t->strsized);
	vec_deinit(&t->undo);
	arena_destroy(t->arena);
	free(t);
}

void types_set_strsize(struct types *t, uint32_t strsize)
{
	t->strsize = strsize;
	for (uint32_t i = 0; i < t->strsized.len; i++) {
		struct type_row *row = type_row(t, t->strsized.data[i]);

		if (row->info.kind == TK_STRING)
			row->info.size = strsize;
		else if (row->info.kind == TK_ARRAY)
			row->info.size = row->info.nelems * type_size(t, row->info.ref);
		else
			type_layout_sou(t, row);
	}
}

void types_set_importer(struct types *t, const struct type_importer *importer)
{
	t->importer = importer;
}

void types_set_layer(struct types *t, enum d_layer layer)
{
	t->layer = layer;
}

uint32_t types_mark(const struct types *t)
{
	return t->undo.len;
}

static void row_forget(struct types *t, struct type_row *row)
{
	type_id id = row->info.index;
	const char *name = row->info.name;

	if (row->info.kind == TK_TYPEDEF) {
		if (value_to_id(hashmap_finds(t->names[row->layer], name)) == id)
			hashmap_remove(t->names[row->layer], name, strlen(name));
	} else if (*name && tags_get_at(t, row->layer, row->info.kind, name) == id) {
		tags_remove(t, row);
	}
}

static void strsized_forget(struct types *t, type_id id)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->strsized.len; i++)
		if (t->strsized.data[i] != id)
			t->strsized.data[n++] = t->strsized.data[i];
	t->strsized.len = n;
}

/* The innermost element type of an array of any dimensions; another type itself. */
static type_id array_base(const struct types *t, type_id id)
{
	const struct type_row *row = type_resolved_row(t, id);

	while (row->info.kind == TK_ARRAY)
		row = type_resolved_row(t, row->info.ref);
	return row->info.index;
}

/*
 * Forgets the arrays of a type that has become a forward again: when it is completed again, it may
 * have another size.
 */
static void arrays_forget(struct types *t, type_id of)
{
	for (uint32_t i = 0; i < t->rows.len; i++) {
		const struct type_info *info = &t->rows.data[i]->info;

		if (info->kind == TK_ARRAY && array_base(t, info->index) == of) {
			const struct derived_key key = {TK_ARRAY, info->ref, info->nelems};

			hashmap_remove(t->derived, &key, sizeof(key));
			strsized_forget(t, info->index);
		}
	}
}

void types_rollback(struct types *t, uint32_t mark)
{
	while (t->undo.len > mark) {
		struct type_undo undo = t->undo.data[--t->undo.len];
		struct type_row *row = type_row(t, undo.id);

		if (!undo.old) {
			row_forget(t, row);
			continue;
		}
		if (row->has_string)
			strsized_forget(t, undo.id);
		*row = *undo.old;
		arrays_forget(t, undo.id);
	}
}

void types_keep(struct types *t, uint32_t mark)
{
	t->undo.len = mark;
}

/* ---- making ---------------------------------------------------------------------------------- */

type_id type_pointer(struct types *t, type_id to)
{
	type_id id = derived_get(t, TK_PTR, to, 0);

	if (!id) {
		struct type_row *row = row_add(t, TK_PTR, "");

		row->info.size = row->align = 8;
		row->info.ref = to;
		id = row->info.index;
		derived_set(t, TK_PTR, to, 0, id);
	}
	return id;
}

type_id type_array(struct types *t, type_id elem, uint32_t nelems)
{
	type_id id = derived_get(t, TK_ARRAY, elem, nelems);

	if (!id) {
		struct type_row *row = row_add(t, TK_ARRAY, "");

		row->info.size = nelems * type_size(t, elem);
		row->info.nelems = nelems;
		row->info.ref = elem;
		row->align = type_align(t, elem);
		id = row->info.index;
		derived_set(t, TK_ARRAY, elem, nelems, id);
		if (type_resolved_row(t, elem)->has_string)
			strsized_note(t, row);
	}
	return id;
}

static type_id qual_wrap(struct types *t, enum type_kind qual, type_id of)
{
	type_id id = derived_get(t, qual, of, 0);

	if (!id) {
		struct type_row *row = row_add(t, qual, "");

		row->info.ref = of;
		id = row->info.index;
		derived_set(t, qual, of, 0, id);
	}
	return id;
}

/* Qualifiers always nest in this order, so that equal sets give equal ids. */
static const enum type_kind qual_order[] = {TK_USERLAND, TK_RESTRICT, TK_VOLATILE, TK_CONST};

type_id type_qualified(struct types *t, enum type_kind qual, type_id of)
{
	uint32_t has = 1u << qual;

	while (type_kind_is_qual(type_get(t, of)->kind)) {
		has |= 1u << type_get(t, of)->kind;
		of = type_get(t, of)->ref;
	}
	for (size_t i = 0; i < ARRAY_LEN(qual_order); i++)
		if (has & 1u << qual_order[i])
			of = qual_wrap(t, qual_order[i], of);
	return of;
}

type_id type_function(struct types *t, type_id ret, const type_id *params, uint32_t n, bool varargs)
{
	size_t size = (n + 3) * sizeof(uint32_t);
	CLEANUP(free) uint32_t *key = xcalloc(1, size);
	struct type_row *row;
	type_id id;

	key[0] = TK_FUNC;
	key[1] = ret;
	key[2] = n << 1 | varargs;
	if (n)
		memcpy(key + 3, params, n * sizeof(*key));
	/* such a key has never the length of a derived_key; without parameters its kind differs */
	id = value_to_id(hashmap_find(t->derived, key, size));
	if (id)
		return id;
	row = row_add(t, TK_FUNC, "");
	row->info.ref = ret;
	row->info.nelems = n;
	row->info.params = arena_memdup(t->arena, key + 3, n * sizeof(*key));
	row->info.varargs = varargs;
	hashmap_set(t->derived, key, size, id_to_value(row->info.index));
	return row->info.index;
}

/* Enters the row by its tag. An imported type does not replace one that D text declared. */
static void tag_claim(struct types *t, const struct type_row *row)
{
	if (*row->info.name && !t->from &&
	    (!t->importing || !tags_get_at(t, row->layer, row->info.kind, row->info.name)))
		tags_set(t, row);
}

type_id type_forward(struct types *t, enum type_kind kind, const char *tag)
{
	struct type_row *row = row_add(t, kind, tag);

	tag_claim(t, row);
	undo_note(t, row->info.index, false);
	return row->info.index;
}

/* The row that a definition fills: the forward of that tag, or a new row. */
static struct type_row *definition_row(struct types *t, enum type_kind kind, const char *tag)
{
	type_id id = tag && *tag ? tags_get_at(t, layer_of_new(t), kind, tag) : TYPE_NONE;
	struct type_row *row;

	if (id && !type_get(t, id)->is_complete && type_row(t, id)->is_imported == !!t->importing) {
		undo_note(t, id, true);
		row = type_row(t, id);
	} else {
		row = type_row(t, type_forward(t, kind, tag));
	}
	row->info.is_complete = true;
	return row;
}

static bool members_have_string(const struct types *t, const struct type_member *members,
				uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (type_resolved_row(t, members[i].type)->has_string)
			return true;
	return false;
}

/* Copies the members with their names into the table's memory. */
static struct type_member *members_dup(struct types *t, const struct type_member *members,
				       uint32_t n)
{
	struct type_member *copy = ARENA_NEW_N(t->arena, struct type_member, n);

	for (uint32_t i = 0; i < n; i++) {
		const char *name = members[i].name;

		copy[i] = members[i];
		copy[i].name = name && *name ? text_clean(arena_strdup(t->arena, name)) : "";
	}
	return copy;
}

type_id type_define_sou(struct types *t, enum type_kind kind, const char *tag,
			const struct type_member *members, uint32_t n)
{
	struct type_row *row = definition_row(t, kind, tag);

	row->def = members_dup(t, members, n);
	row->ndef = n;
	if (members_have_string(t, members, n))
		strsized_note(t, row);
	type_layout_sou(t, row);
	return row->info.index;
}

#define NESTING_MAX 200 /* of structures within structures, by value */

/*
 * Whether a type contains the structure `what` by value. Damaged or hostile debug information may
 * say that a structure contains itself; it would have no end. Nesting beyond NESTING_MAX counts as
 * such, because everything that walks over types recurses.
 */
static bool type_holds(struct types *t, type_id id, type_id what, uint32_t depth)
{
	struct type_row *row = type_row(t, array_base(t, id));

	if (row->info.index == what || depth > NESTING_MAX)
		return true;
	if (row->visit == t->visit)
		return false;
	row->visit = t->visit;
	for (uint32_t i = 0; i < row->info.nmembers; i++)
		if (type_holds(t, row->info.members[i].type, what, depth + 1))
			return true;
	return false;
}

/* Leaves out members that would make the structure contain itself. */
static uint32_t members_end(struct types *t, const struct type_row *row,
			    struct type_member *members, uint32_t n)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < n; i++) {
		t->visit++;
		if (!type_holds(t, members[i].type, row->info.index, 0))
			members[kept++] = members[i];
	}
	return kept;
}

type_id type_import_sou(struct types *t, type_id fwd, enum type_kind kind, const char *tag,
			uint32_t size, const struct type_member *members, uint32_t n)
{
	struct type_row *row = fwd ? type_row(t, fwd) : row_add(t, kind, tag);

	if (!fwd)
		tag_claim(t, row);
	row->info.is_complete = true;
	row->info.size = size;
	row->info.members = members_dup(t, members, n);
	row->info.nmembers = members_end(t, row, row->info.members, n);
	type_layout_given(t, row);
	return row->info.index;
}

type_id type_import_forward(struct types *t, type_id fwd, enum type_kind kind, const char *tag,
			    uint32_t size)
{
	struct type_row *row = fwd ? type_row(t, fwd) : row_add(t, kind, tag);

	if (!fwd)
		tag_claim(t, row);
	row->info.size = size;
	return row->info.index;
}

static void enums_set(struct types *t, struct type_row *row, const struct type_enumerator *e,
		      uint32_t n)
{
	row->info.enums = ARENA_NEW_N(t->arena, struct type_enumerator, n);
	row->info.nenums = n;
	for (uint32_t i = 0; i < n; i++) {
		row->info.enums[i].name = text_clean(arena_strdup(t->arena, e[i].name));
		row->info.enums[i].val = e[i].val;
	}
}

type_id type_import_enum(struct types *t, type_id fwd, const char *tag, uint32_t size,
			 bool is_signed, const struct type_enumerator *e, uint32_t n)
{
	struct type_row *row = fwd ? type_row(t, fwd) : row_add(t, TK_ENUM, tag);

	if (!fwd)
		tag_claim(t, row);
	row->info.is_complete = true;
	row->info.size = row->align = size;
	row->info.is_signed = is_signed;
	enums_set(t, row, e, n);
	return row->info.index;
}

type_id type_define_enum(struct types *t, const char *tag, const struct type_enumerator *e,
			 uint32_t n)
{
	struct type_row *row = definition_row(t, TK_ENUM, tag);

	enums_set(t, row, e, n);
	row->info.size = row->align = 4;
	row->info.is_signed = true; /* D counts an enumeration as int (3.3) */
	/* gcc allows larger constants; those of D fit an int */
	for (uint32_t i = 0; i < n; i++)
		if (e[i].val < INT32_MIN || e[i].val > UINT32_MAX)
			row->info.size = row->align = 8;
	return row->info.index;
}

type_id type_define_typedef(struct types *t, const char *name, type_id of)
{
	struct type_row *row = row_add(t, TK_TYPEDEF, name);

	row->info.ref = of;
	if (!t->from && (!t->importing || !hashmap_finds(t->names[row->layer], row->info.name)))
		names_set(t, row->layer, row->info.name, row->info.index);
	undo_note(t, row->info.index, false);
	return row->info.index;
}

/* ---- finding --------------------------------------------------------------------------------- */

type_id types_find(struct types *t, const char *name, size_t len)
{
	type_id id = names_get(t, name, len);

	if (!id && t->importer && t->importer->find) {
		t->importing++;
		id = t->importer->find(t->importer->ctx, t, name, len);
		t->importing--;
	}
	return id;
}

type_id types_find_tag(struct types *t, enum type_kind kind, const char *tag)
{
	type_id id = tags_get(t, kind, tag);

	if (!id && t->importer && t->importer->find_tag) {
		t->importing++;
		id = t->importer->find_tag(t->importer->ctx, t, kind, tag);
		t->importing--;
	}
	return id;
}

type_id types_find_declared(const struct types *t, const char *name, size_t len)
{
	type_id id = names_get(t, name, len);

	return id && !type_row(t, id)->is_imported ? id : TYPE_NONE;
}

type_id types_find_tag_declared(const struct types *t, enum type_kind kind, const char *tag)
{
	type_id id = tags_get(t, kind, tag);

	return id && !type_row(t, id)->is_imported ? id : TYPE_NONE;
}

type_id types_find_own(const struct types *t, const char *name, size_t len)
{
	type_id id = names_get(t, name, len);
	const struct type_row *row = type_row(t, id);

	return id < TYPE_FIRST_FREE || (row->layer == t->layer && !row->is_imported) ? id
										     : TYPE_NONE;
}

type_id types_find_tag_own(const struct types *t, enum type_kind kind, const char *tag)
{
	type_id id = tags_get_at(t, t->layer, kind, tag);

	return id && !type_row(t, id)->is_imported ? id : TYPE_NONE;
}

type_id types_import_enumerator(struct types *t, const char *name, int64_t *ret_val)
{
	type_id id = TYPE_NONE;

	if (t->importer && t->importer->enumerator) {
		t->importing++;
		id = t->importer->enumerator(t->importer->ctx, t, name, ret_val);
		t->importing--;
	}
	return id;
}

type_id types_import_symbol(struct types *t, const char *module, const char *name,
			    bool *ret_is_percpu)
{
	type_id id = TYPE_NONE;

	*ret_is_percpu = false;
	if (t->importer && t->importer->symbol) {
		t->importing++;
		id = t->importer->symbol(t->importer->ctx, t, module, name, ret_is_percpu);
		t->importing--;
	}
	return id;
}

const char *types_import_trouble(const struct types *t)
{
	return t->importer && t->importer->trouble ? t->importer->trouble(t->importer->ctx) : NULL;
}

type_id types_find_known(const struct types *t, const char *name, size_t len)
{
	return names_get(t, name, len);
}

type_id types_find_tag_known(const struct types *t, enum type_kind kind, const char *tag)
{
	return tags_get(t, kind, tag);
}

bool type_complete(struct types *t, type_id id)
{
	const struct type_row *row = type_resolved_row(t, id);
	const struct type_importer *from, *outer;
	enum type_kind kind;

	while (row->info.kind == TK_ARRAY)
		row = type_resolved_row(t, row->info.ref);
	kind = row->info.kind;
	if (kind != TK_STRUCT && kind != TK_UNION && kind != TK_ENUM)
		return true;
	if (row->info.is_complete)
		return true;
	from = row->from ? row->from : t->importer;
	if (!from || !from->complete)
		return false;
	outer = t->from;
	t->from = row->from;
	t->importing++;
	if (from->complete(from->ctx, t, row->info.index) && !row->info.is_complete)
		BUG("the importer left 'struct %s' incomplete", row->info.name);
	t->importing--;
	t->from = outer;
	return row->info.is_complete;
}

void types_import_begin(struct types *t, const struct type_importer *from)
{
	t->from = from;
	t->importing++;
}

void types_import_end(struct types *t)
{
	t->from = NULL;
	t->importing--;
}

const struct type_member *type_find_member(const struct types *t, type_id sou, const char *name,
					   uint32_t *ret_bit_off)
{
	const struct type_info *info = &type_resolved_row(t, sou)->info;

	if (info->kind != TK_STRUCT && info->kind != TK_UNION)
		return NULL;
	for (uint32_t i = 0; i < info->nmembers; i++) {
		const struct type_member *m = &info->members[i];
		uint32_t inner = 0;

		if (*m->name) {
			if (*m->name != *name || strcmp(m->name, name) != 0)
				continue;
			*ret_bit_off = m->bit_off;
			return m;
		}
		if (type_is_sou(t, m->type)) {
			const struct type_member *found =
				type_find_member(t, m->type, name, &inner);

			if (found) {
				*ret_bit_off = m->bit_off + inner;
				return found;
			}
		}
	}
	return NULL;
}
