/* SPDX-License-Identifier: MIT */
/* Reads the names of all types and variables of a file, and finds DIEs by them. */
#include "image/dwarf_names.h"

#include <dwarf.h>

#include "base/sorted.h"
#include "base/str.h"
#include "base/vec.h"

#define UNITS_MAX   1000000
#define ENTRIES_MAX 16000000 /* names; the rest is not found */
#define DEPTH_MAX   32	     /* of namespaces and classes */
#define STOP_EVERY  4096     /* DIEs between two questions to the caller */

/* Where a DIE is: bits of entry.die above its offset. */
#define DIE_IN_CODE  (1ull << 60) /* inside of a function */
#define DIE_IS_DECL  (1ull << 61)
#define DIE_IN_TYPES (1ull << 62) /* .debug_types of DWARF 4 */
#define DIE_IN_ALT   (1ull << 63) /* the alternate file */
#define DIE_OFFSET   (DIE_IN_CODE - 1)

struct entry {
	uint32_t hash;	/* of the last part of the name */
	uint32_t scope; /* index of the namespace or class */
	uint64_t die;
};

struct scope {
	uint32_t parent;
	uint32_t name;	     /* in the table of strings */
	bool is_transparent; /* its name may be left out */
};

struct dwarf_names {
	VEC(struct entry) entries; /* by hash, then by DIE */
	VEC(struct scope) scopes;  /* the first one stands for "in none" */
	struct strtab *texts;
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool char_counts(char c)
{
	return c != ' ' && c != '\t';
}

/* FNV-1a over the characters that count. */
static uint32_t name_hash(const char *name, size_t len)
{
	uint32_t hash = 2166136261u;

	for (size_t i = 0; i < len; i++)
		if (char_counts(name[i]))
			hash = (hash ^ (unsigned char)name[i]) * 16777619u;
	return hash;
}

static bool name_is(const char *name, const char *want, size_t len)
{
	size_t i = 0;

	for (;; name++, i++) {
		while (*name && !char_counts(*name))
			name++;
		while (i < len && !char_counts(want[i]))
			i++;
		if (!*name || i == len)
			return !*name && i == len;
		if (*name != want[i])
			return false;
	}
}

/* A whole name, taken apart at "::" outside of brackets. */
struct path {
	const char *parts[DEPTH_MAX + 1];
	size_t lens[DEPTH_MAX + 1];
	uint32_t n;
};

static bool path_read(const char *name, struct path *ret)
{
	const char *begin = name;
	int depth = 0;

	*ret = (struct path){.n = 0};
	for (const char *p = name;; p++) {
		bool is_end = !*p || (depth == 0 && p[0] == ':' && p[1] == ':');

		depth += *p == '<' || *p == '(' || *p == '{';
		depth -= *p == '>' || *p == ')' || *p == '}';
		if (!is_end)
			continue;
		if (p > begin) { /* not the empty part before a leading "::" */
			if (ret->n > DEPTH_MAX)
				return false;
			ret->parts[ret->n] = begin;
			ret->lens[ret->n++] = (size_t)(p - begin);
		}
		if (!*p)
			return ret->n > 0;
		begin = ++p + 1;
	}
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The namespaces and classes around a DIE, of which those that have types get a number. */
struct level {
	struct level *outer;
	Dwarf_Die *die;
	uint32_t number, depth; /* 0: none yet */
	bool is_in_code;
};

struct job {
	struct dwarf_names *n;
	uint64_t where; /* DIE_IN_TYPES, DIE_IN_ALT, 0 */
	bool is_deep;
	bool has_nested; /* the unit's language has types inside of others */
	uint32_t first;	 /* index of the unit's first entry */
	uint64_t left;	 /* DIEs that may be read: a unit of so many bytes has no more */
	uint32_t nseen;
	dwarf_stop_f *stop;
	void *ctx;
	bool is_stopped;
};

static bool job_goes_on(struct job *j)
{
	if (++j->nseen % STOP_EVERY == 0 && j->stop && j->stop(j->ctx))
		j->is_stopped = true;
	return !j->is_stopped && j->left && j->left-- > 0;
}

static bool tag_is_code(int tag)
{
	return tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

static uint32_t level_number(struct dwarf_names *n, struct level *l)
{
	const char *name = l->outer ? dwarf_diename(l->die) : NULL;
	struct scope s;

	if (!l->outer || l->number)
		return l->number;
	s.parent = level_number(n, l->outer);
	s.name = strtab_adds(n->texts, name ? name : "");
	s.is_transparent = !name || tag_is_code(dwarf_tag(l->die)) ||
			   dwarf_hasattr(l->die, DW_AT_export_symbols);
	l->number = n->scopes.len;
	vec_push(&n->scopes, s);
	return l->number;
}

static uint32_t tag_kind(int tag)
{
	switch (tag) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type: return DWARF_NAMES_STRUCT;
	case DW_TAG_union_type: return DWARF_NAMES_UNION;
	case DW_TAG_enumeration_type: return DWARF_NAMES_ENUM;
	case DW_TAG_typedef:
	case DW_TAG_base_type: return DWARF_NAMES_PLAIN;
	case DW_TAG_variable: return DWARF_NAMES_VARIABLE;
	default: return 0;
	}
}

/*
 * The scope of a definition that stands outside of the scope in which the type was declared, and
 * refers to that declaration (DWARF 5 5.7.1): "struct ns::Outer::Inner { ... }", and definitions in
 * type units of their own. Entries of a unit ascend.
 */
static uint32_t scope_declared(const struct job *j, Dwarf_Die *die, uint32_t otherwise)
{
	uint32_t lo = j->first, hi = j->n->entries.len;
	Dwarf_Attribute attr;
	Dwarf_Off at;
	Dwarf_Die decl;

	if (!dwarf_attr(die, DW_AT_specification, &attr) || !dwarf_formref_die(&attr, &decl))
		return otherwise;
	at = dwarf_dieoffset(&decl);
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if ((j->n->entries.data[mid].die & DIE_OFFSET) < at)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < j->n->entries.len && (j->n->entries.data[lo].die & DIE_OFFSET) == at
		       ? j->n->entries.data[lo].scope
		       : otherwise;
}

static void entry_add(struct job *j, Dwarf_Die *die, struct level *l)
{
	const char *name = dwarf_diename(die);
	uint64_t at = j->where | (dwarf_dieoffset(die) & DIE_OFFSET);
	struct entry e;

	if (!name || j->n->entries.len >= ENTRIES_MAX)
		return;
	if (dwarf_hasattr(die, DW_AT_declaration))
		at |= DIE_IS_DECL;
	if (l->is_in_code)
		at |= DIE_IN_CODE;
	e = (struct entry){name_hash(name, strlen(name)),
			   scope_declared(j, die, level_number(j->n, l)), at};
	vec_push(&j->n->entries, e);
}

/* Moves to the next DIE; a damaged one may lead back to one that was there before. */
static bool die_advance(Dwarf_Die *die)
{
	Dwarf_Off before = dwarf_dieoffset(die);

	return dwarf_siblingof(die, die) == 0 && dwarf_dieoffset(die) > before;
}

static void level_read(struct job *j, struct level *l)
{
	Dwarf_Die die;

	if (l->depth > DEPTH_MAX || dwarf_child(l->die, &die) != 0)
		return;
	while (job_goes_on(j)) {
		int tag = dwarf_tag(&die);
		uint32_t kind = tag_kind(tag);

		if (kind)
			entry_add(j, &die, l);
		if (tag == DW_TAG_namespace || tag == DW_TAG_module ||
		    (j->is_deep && tag_is_code(tag)) ||
		    (j->has_nested && (kind & (DWARF_NAMES_STRUCT | DWARF_NAMES_UNION)))) {
			struct level inner = {.outer = l,
					      .die = &die,
					      .depth = l->depth + 1,
					      .is_in_code = l->is_in_code || tag_is_code(tag)};

			level_read(j, &inner);
		}
		if (!die_advance(&die))
			break;
	}
}

static bool language_has_nested(int language)
{
	switch (language) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_Mips_Assembler: return false;
	default: return true;
	}
}

static void units_read(struct job *j, Dwarf *dw)
{
	bool is_types = j->where == DIE_IN_TYPES;
	Dwarf_Off off = 0, next, type;
	uint64_t signature;
	size_t size;

	for (uint32_t i = 0; i < UNITS_MAX && !j->is_stopped; i++, off = next) {
		Dwarf_Die unit;
		struct level top = {.die = &unit};

		if (dwarf_next_unit(dw, off, &next, &size, NULL, NULL, NULL, NULL,
				    is_types ? &signature : NULL, is_types ? &type : NULL) != 0 ||
		    next <= off)
			break;
		if (!(is_types ? dwarf_offdie_types(dw, off + size, &unit)
			       : dwarf_offdie(dw, off + size, &unit)))
			continue;
		j->left = next - off;
		j->first = j->n->entries.len;
		j->has_nested = language_has_nested(dwarf_srclang(&unit));
		level_read(j, &top);
	}
}

static int entry_compare(const void *pa, const void *pb)
{
	const struct entry *a = pa, *b = pb;

	if (a->hash != b->hash)
		return a->hash < b->hash ? -1 : 1;
	return a->die < b->die ? -1 : a->die > b->die;
}

struct dwarf_names *dwarf_names_create(Dwarf *dw, bool is_deep, dwarf_stop_f *stop, void *ctx)
{
	struct dwarf_names *n = xcalloc(1, sizeof(*n));
	struct job j = {.n = n, .is_deep = is_deep, .stop = stop, .ctx = ctx};
	Dwarf *alt = dwarf_getalt(dw);

	n->texts = strtab_create();
	vec_push(&n->scopes, (struct scope){.parent = 0});
	units_read(&j, dw);
	j.where = DIE_IN_TYPES;
	units_read(&j, dw);
	j.where = DIE_IN_ALT;
	if (alt)
		units_read(&j, alt);
	if (j.is_stopped) {
		dwarf_names_destroy(n);
		return NULL;
	}
	if (n->entries.len)
		qsort(n->entries.data, n->entries.len, sizeof(*n->entries.data), entry_compare);
	return n;
}

void dwarf_names_destroy(struct dwarf_names *n)
{
	if (!n)
		return;
	vec_deinit(&n->entries);
	vec_deinit(&n->scopes);
	strtab_destroy(n->texts);
	free(n);
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The first entry that has the hash. */
static uint32_t entry_first(const struct dwarf_names *n, uint32_t hash)
{
	return sorted_below(n->entries.data, n->entries.len, hash, hash);
}

static bool entry_die(const struct entry *e, Dwarf *dw, Dwarf_Die *ret)
{
	Dwarf_Off off = e->die & DIE_OFFSET;

	if (e->die & DIE_IN_TYPES)
		return dwarf_offdie_types(dw, off, ret);
	if (e->die & DIE_IN_ALT)
		dw = dwarf_getalt(dw);
	return dw && dwarf_offdie(dw, off, ret);
}

static const char *scope_name(const struct dwarf_names *n, uint32_t scope)
{
	return strtab_get(n->texts, n->scopes.data[scope].name);
}

/* Whether a scope is what the path says before its last part. */
static bool scope_is(const struct dwarf_names *n, uint32_t scope, const struct path *path)
{
	uint32_t left = path->n - 1;

	for (; scope; scope = n->scopes.data[scope].parent) {
		if (left &&
		    name_is(scope_name(n, scope), path->parts[left - 1], path->lens[left - 1]))
			left--;
		else if (!n->scopes.data[scope].is_transparent)
			return false;
	}
	return !left;
}

static bool scopes_are_same(const struct dwarf_names *n, uint32_t a, uint32_t b)
{
	while (a != b && a && b) {
		if (strcmp(scope_name(n, a), scope_name(n, b)) != 0)
			return false;
		a = n->scopes.data[a].parent;
		b = n->scopes.data[b].parent;
	}
	return a == b;
}

/* Whether an entry is the definition of a type of one of the kinds that is named so. */
static bool entry_is(const struct entry *e, Dwarf *dw, uint32_t kinds, const char *name, size_t len,
		     Dwarf_Die *ret)
{
	const char *text;

	if ((e->die & DIE_IN_CODE) && !(kinds & DWARF_NAMES_LOCAL))
		return false;
	if ((e->die & DIE_IS_DECL) || !entry_die(e, dw, ret) || !(tag_kind(dwarf_tag(ret)) & kinds))
		return false;
	text = dwarf_diename(ret);
	return text && name_is(text, name, len);
}

bool dwarf_names_next(const struct dwarf_names *n, Dwarf *dw, const char *name, uint32_t kinds,
		      uint32_t *pos, Dwarf_Die *ret)
{
	struct path path;
	const char *last;
	uint32_t hash;
	size_t len;

	if (!path_read(name, &path))
		return false;
	last = path.parts[path.n - 1];
	len = path.lens[path.n - 1];
	hash = name_hash(last, len);
	if (!*pos)
		*pos = entry_first(n, hash);
	while (*pos < n->entries.len && n->entries.data[*pos].hash == hash) {
		const struct entry *e = &n->entries.data[(*pos)++];

		if (scope_is(n, e->scope, &path) && entry_is(e, dw, kinds, last, len, ret))
			return true;
	}
	return false;
}

/* The entry of a DIE; NULL: it has none. */
static const struct entry *entry_of(const struct dwarf_names *n, Dwarf_Die *die, const char *name)
{
	uint32_t hash = name_hash(name, strlen(name));

	for (uint32_t i = entry_first(n, hash); i < n->entries.len; i++) {
		const struct entry *e = &n->entries.data[i];

		if (e->hash != hash)
			break;
		if ((e->die & DIE_OFFSET) == dwarf_dieoffset(die) && (e->die & DIE_IS_DECL))
			return e;
	}
	return NULL;
}

bool dwarf_names_definition(const struct dwarf_names *n, Dwarf *dw, Dwarf_Die *decl, uint32_t *pos,
			    Dwarf_Die *ret)
{
	const char *name = dwarf_diename(decl);
	const struct entry *of = name ? entry_of(n, decl, name) : NULL;
	uint32_t kinds = tag_kind(dwarf_tag(decl));

	if (!of)
		return false;
	if (!*pos)
		*pos = entry_first(n, of->hash);
	while (*pos < n->entries.len && n->entries.data[*pos].hash == of->hash) {
		const struct entry *e = &n->entries.data[(*pos)++];

		if (scopes_are_same(n, e->scope, of->scope) &&
		    entry_is(e, dw, kinds, name, strlen(name), ret))
			return true;
	}
	return false;
}

static bool variable_is_at(Dwarf_Die *die, uint64_t addr)
{
	Dwarf_Attribute attr, place;
	Dwarf_Addr at;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &ops, &n) != 0 ||
	    n != 1)
		return false;
	if (ops->atom == DW_OP_addr)
		return ops->number == addr;
	return (ops->atom == DW_OP_addrx || ops->atom == DW_OP_GNU_addr_index) &&
	       dwarf_getlocation_attr(&attr, ops, &place) == 0 &&
	       dwarf_formaddr(&place, &at) == 0 && at == addr;
}

bool dwarf_names_variable(const struct dwarf_names *n, Dwarf *dw, const char *name, uint64_t addr,
			  Dwarf_Die *ret)
{
	struct path path;
	const char *last;
	uint32_t hash;
	size_t len;

	if (!path_read(name, &path))
		return false;
	last = path.parts[path.n - 1];
	len = path.lens[path.n - 1];
	hash = name_hash(last, len);
	for (uint32_t i = entry_first(n, hash); i < n->entries.len; i++) {
		if (n->entries.data[i].hash != hash)
			break;
		if (entry_is(&n->entries.data[i], dw, DWARF_NAMES_VARIABLE | DWARF_NAMES_LOCAL,
			     last, len, ret) &&
		    variable_is_at(ret, addr))
			return true;
	}
	return false;
}
