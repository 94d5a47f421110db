/* SPDX-License-Identifier: MIT */
/* Arguments of programs' own probes: the operands of notes, and the types that D sees. */
#include "provider/usdt.h"

#include "base/hashmap.h"
#include "d/parse/attr.h"
#include "d/compile.h"
#include "d/types/import_dwarf.h"
#include "image/dwarf.h"
#include "image/ehframe.h"
#include "image/segments.h"
#include "image/symtab.h"
#include "usdt/dof.h"

#define NARGS 10 /* arg0 to arg9 */

/* ---- operands -------------------------------------------------------------------------------- */

/* Is the file a position-independent program that needs no interpreter? */
static bool is_static_pie(struct gate_elf *g)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Dyn dyn;

	while (g->elf && (scn = elf_nextscn(g->elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_DYNAMIC
					 ? gate_data(g, scn)
					 : NULL;

		for (int i = 0; data && gelf_getdyn(data, i, &dyn) && dyn.d_tag != DT_NULL; i++)
			if (dyn.d_tag == DT_FLAGS_1)
				return dyn.d_un.d_val & DF_1_PIE;
	}
	return false;
}

/*
 * Makes the distance from the thread's base of a place in the program's thread-local block, which
 * ends there (variant II of "ELF Handling For Thread-Local Storage").
 */
static bool thread_offset(const struct gate_elf *g, uint64_t *value)
{
	uint64_t align;
	GElf_Phdr ph;

	if (!program_header_find(g->elf, PT_TLS, &ph))
		return false;
	align = MAX(ph.p_align, (uint64_t)1);
	if (align & (align - 1))
		return false;
	*value -= (ph.p_memsz + align - 1) & ~(align - 1);
	return true;
}

/* Finds the symbol of an operand such as "4@counter(%rip)". */
static bool symbol_find(void *ctx, const char *name, bool is_thread, uint64_t *ret_value)
{
	struct gate_elf *g = ctx;
	struct symtab t = symtab_begin(g, SYMTAB_ALL);
	uint64_t value;

	while (symtab_next(&t)) {
		if (t.sym.st_shndx == SHN_UNDEF ||
		    (GELF_ST_TYPE(t.sym.st_info) == STT_TLS) != is_thread || !symtab_is(&t, name))
			continue;
		value = t.sym.st_value;
		if (is_thread && !thread_offset(g, &value))
			return false;
		*ret_value = value;
		return true;
	}
	return false;
}

void usdt_note_operands(struct gate_elf *g, const struct usdt_note *note, bool is_32bit,
			struct usdt_operands *ret)
{
	struct usdt_image im = {.word = is_32bit ? 4 : 8, .symbol = symbol_find, .ctx = g};
	GElf_Phdr ph;
	GElf_Ehdr eh;

	im.is_fixed = g->elf && gelf_getehdr(g->elf, &eh) && eh.e_type == ET_EXEC;
	/* few notes have operands for which this matters */
	im.is_program =
		im.is_fixed || ((strstr(note->args, "@G") || strchr(note->args, ':')) &&
				(program_header_find(g->elf, PT_INTERP, &ph) || is_static_pie(g)));
	usdt_operands_parse(note->args, note->pc, &im, ret);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* An element of args[] of a probe. */
struct element {
	const char *text;   /* argtext.h */
	const char *native; /* its type in the object's description; NULL: the object has none */
	uint32_t raw;	    /* number of the operand */
	Dwarf_Die die; /* the type in debug information that gave the text; has_die: is valid */
	bool has_die;
};

struct usdt_elements {
	uint32_t n;
	struct element *list;
	const char **texts;
	bool has_attrs;
	struct attr attrs[NPARTS];
};

/* What the notes of all probes with one provider and name say of an operand. */
struct operand_kind {
	uint8_t size; /* 0: no note has the operand */
	bool is_signed, is_float, is_mixed;
};

struct probe_kind {
	const struct usdt_note *note; /* of one of its groups */
	struct usdt_group *groups;    /* linked by next_namesake */
	struct operand_kind operands[USDT_OPERANDS_MAX];
	uint32_t n;
	struct usdt_elements *elements; /* NULL until asked for */
};

/* The probes of an object by provider and name. */
struct usdt_kinds {
	struct hashmap *all; /* provider, ':', name -> struct probe_kind */
	struct dof_index *dof;
	bool says_damage; /* the user was told that the description is damaged */
};

static const char *operand_type(uint32_t size, bool is_signed, bool is_float)
{
	static const char *const types[2][9] = {
		{[1] = "uint8_t", [2] = "uint16_t", [4] = "uint32_t", [8] = "uint64_t"},
		{[1] = "int8_t", [2] = "int16_t", [4] = "int", [8] = "int64_t"},
	};

	if (is_float && size >= 4)
		return size == 4 ? "float" : "double";
	return types[is_signed][size];
}

static void operand_merge(struct operand_kind *k, const struct usdt_operand *o)
{
	if (k->size)
		k->is_mixed |= o->size != k->size || o->is_signed != k->is_signed ||
			       o->is_float != k->is_float;
	else
		k->size = o->size;
	k->is_signed |= o->is_signed;
	k->is_float |= o->is_float;
}

/* Where the notes of a probe differ, the type holds the values of all of them. */
static const char *operand_kind_type(const struct operand_kind *k)
{
	return k->is_mixed || !k->size ? operand_type(8, k->is_signed, false)
				       : operand_type(k->size, k->is_signed, k->is_float);
}

static const char *kind_key(struct arena *a, const struct usdt_note *note)
{
	return arena_printf(a, "%s:%s", note->provider, note->name);
}

static void kind_add(struct usdt_kinds *kinds, struct arena *a, struct usdt_group *grp)
{
	const char *key = kind_key(a, grp->note);
	struct probe_kind *k = hashmap_finds(kinds->all, key);

	if (!k) {
		k = ARENA_NEW(a, struct probe_kind);
		k->note = grp->note;
		hashmap_sets(kinds->all, key, k);
	}
	grp->next_namesake = k->groups;
	k->groups = grp;
	for (uint32_t s = 0; s < grp->code.sites.len; s++) {
		const struct usdt_operands *o = grp->code.sites.data[s].operands;

		k->n = MAX(k->n, o->n);
		for (uint32_t i = 0; i < o->n; i++)
			operand_merge(&k->operands[i], &o->list[i]);
	}
}

static struct usdt_kinds *kinds_of(struct arena *a, struct usdt_object *o)
{
	if (o->kinds)
		return o->kinds;
	o->kinds = xcalloc(1, sizeof(*o->kinds));
	o->kinds->all = hashmap_create();
	o->kinds->dof = dof_index_create(o->notes.dof.data, o->notes.dof.len);
	for (uint32_t i = 0; i < o->groups.len; i++)
		if (o->groups.data[i]->note)
			kind_add(o->kinds, a, o->groups.data[i]);
	return o->kinds;
}

void usdt_types_deinit(struct usdt_object *o)
{
	if (o->kinds) {
		hashmap_destroy(o->kinds->all);
		dof_index_destroy(o->kinds->dof);
		free(o->kinds);
	}
	if (o->rows) {
		unwind_rows_deinit(o->rows);
		free(o->rows);
	}
}

/* Returns the D type that a clause sees for a C type; pointers lead to the process's memory. */
static const char *type_shown(struct arena *a, const char *native)
{
	if (strcmp(native, "string") == 0)
		return "userland char *";
	return strchr(native, '*') ? arena_printf(a, "userland %s", native) : native;
}

static void element_describe(struct arena *a, const struct dof_probe_info *info, uint32_t i,
			     struct element *ret)
{
	uint32_t raw = info->map[i];
	const char *native = info->args[raw], *shown = type_shown(a, native);

	*ret = (struct element){.native = native, .raw = raw};
	if (strcmp(native, info->xargs[i]) == 0 && strcmp(native, "string") != 0)
		ret->text = arena_printf(a, "@%u %s", raw, shown);
	else
		ret->text = arena_printf(a, "@%u %s : %s", raw, shown, info->xargs[i]);
}

static void attrs_unpack(const uint32_t packed[NPARTS], struct attr *ret)
{
	for (uint32_t i = 0; i < NPARTS; i++) {
		uint8_t name = (uint8_t)(packed[i] >> 24), data = (uint8_t)(packed[i] >> 16),
			class = (uint8_t)(packed[i] >> 8);

		/* the bytes may come from anybody: what has no name is the least */
		ret[i] = (struct attr){.name = name <= STAB_STANDARD ? name : STAB_INTERNAL,
				       .data = data <= STAB_STANDARD ? data : STAB_INTERNAL,
				       .class = class <= DEP_COMMON ? class : DEP_UNKNOWN};
	}
}

/* Describes an argument of which the object has no description. */
static void element_guess(struct provider_env *env, const struct probe_kind *k, uint32_t i,
			  struct element *ret)
{
	const struct operand_kind *op = &k->operands[i];
	struct argbase base;
	const char *type;

	*ret = (struct element){.text = operand_kind_type(op), .raw = i};
	type = op->is_mixed ? NULL : usdt_debug_operand(env, k->groups, i, &ret->die);
	if (!type || !argtext_base(env->arena, type, &base))
		return;
	ret->native = type;
	ret->text = arena_printf(env->arena, "@%u %s", i, type_shown(env->arena, type));
	ret->has_die = true;
}

/* Returns true if the object describes the probe; tells the user if the description is damaged. */
static bool kind_describe(struct provider_env *env, struct usdt_kinds *kinds,
			  const struct probe_kind *k, struct dof_probe_info *ret)
{
	bool is_found =
		dof_index_find(kinds->dof, k->note->provider, k->note->name, env->arena, ret);

	if (!kinds->says_damage && dof_index_is_damaged(kinds->dof)) {
		kinds->says_damage = true;
		env_notice(env,
			   "the description of the probes in '%s' (DOF) is damaged: types of "
			   "arguments that cannot be read are taken from elsewhere",
			   k->groups->object->file->file.name);
	}
	return is_found;
}

static struct usdt_elements *elements_make(struct provider_env *env, struct usdt_kinds *kinds,
					   const struct probe_kind *k)
{
	struct arena *a = env->arena;
	struct usdt_elements *all = ARENA_NEW(a, struct usdt_elements);
	struct dof_probe_info info = {0};

	all->has_attrs = kind_describe(env, kinds, k, &info);
	all->n = all->has_attrs ? info.nxargs : k->n;
	all->list = ARENA_NEW_N(a, struct element, all->n + 1);
	all->texts = ARENA_NEW_N(a, const char *, all->n + 1);
	attrs_unpack(info.attrs, all->attrs);
	for (uint32_t i = 0; i < all->n; i++) {
		struct element *el = &all->list[i];

		if (all->has_attrs)
			element_describe(a, &info, i, el);
		else
			element_guess(env, k, i, el);
		all->texts[i] = el->text;
	}
	return all;
}

/* Returns the elements of args[]: those in the object's description, or else the operands. */
static const struct usdt_elements *elements_of(struct provider_env *env, const struct probe *pr)
{
	struct usdt_probe_data *d = usdt_probe(pr);
	struct arena *a = env->arena;
	struct usdt_kinds *kinds;
	struct probe_kind *k;

	if (d->elements)
		return d->elements;
	kinds = kinds_of(a, d->object);
	k = hashmap_finds(kinds->all, kind_key(a, d->note));
	if (!k->elements)
		k->elements = elements_make(env, kinds, k);
	d->elements = k->elements;
	return d->elements;
}

/* Finds the D type of an integer or pointer that D text has declared, or that D has built in. */
static bool type_is_declared(struct types *t, const struct argbase *b)
{
	type_id id = b->kind == TK_TYPEDEF ? types_find_declared(t, b->name, strlen(b->name))
					   : types_find_tag_declared(t, b->kind, b->name);

	return id != TYPE_NONE && type_complete(t, id);
}

/* The answer of debug_type_find() for one file and one type. */
struct debug_type {
	bool is_found;
	Dwarf_Die die;
};

/*
 * Finds the definition of a type in the debug information of the probe's file, which is read once
 * however many processes have the file mapped.
 */
static const struct debug_type *
debug_type_find(struct provider_env *env, const struct usdt_probe_data *d, const struct argbase *b)
{
	static const enum dwarf_named named[] = {
		[TK_STRUCT] = DWARF_STRUCT,
		[TK_UNION] = DWARF_UNION,
		[TK_ENUM] = DWARF_ENUM,
		[TK_TYPEDEF] = DWARF_TYPEDEF,
	};
	struct usdt_state *st = usdt_state(env);
	const struct place_file *f = &d->object->file->file;
	const char *key =
		arena_printf(env->arena, "%llx:%llx:%d:%s", (unsigned long long)f->inode.dev,
			     (unsigned long long)f->inode.ino, (int)b->kind, b->name);
	struct debug_type *ty;
	struct dwarf_file *dw;

	if (!st->debug_types)
		st->debug_types = hashmap_create();
	ty = hashmap_finds(st->debug_types, key);
	if (ty)
		return ty;
	ty = ARENA_NEW(env->arena, struct debug_type);
	hashmap_sets(st->debug_types, key, ty);
	dw = code_file_dwarf(d->object->target, d->object->file);
	ty->is_found = dw && dwarf_file_type(dw, d->note->pc, named[b->kind], b->name, &ty->die);
	if (ty->is_found)
		code_file_keep_types(d->object->file);
	return ty;
}

static type_id type_derive(struct types *t, type_id id, uint32_t npointers)
{
	for (uint32_t i = 0; i < npointers; i++)
		id = type_pointer(t, type_qualified(t, TK_USERLAND, id));
	return id;
}

static struct dwarf_import *importer_get(struct usdt_state *st, struct types *t)
{
	st->table = t;
	return code_types(&st->code);
}

/*
 * A type that D text does not declare has the program's layout, not that of a kernel's type of the
 * same name. A number is the same everywhere.
 */
static type_id type_of_program(struct provider_env *env, struct usdt_probe_data *d, struct types *t,
			       const struct argbase *b, struct arg_origin *ret_origin)
{
	struct usdt_state *st = usdt_state(env);
	bool is_64bit = !d->object->file->file.is_32bit;
	const struct debug_type *ty = is_64bit ? debug_type_find(env, d, b) : NULL;
	type_id known;

	if (ty && ty->is_found) {
		Dwarf_Die die = ty->die;

		return type_derive(t, dwarf_import_type(importer_get(st, t), t, &die),
				   b->npointers);
	}
	if (b->kind == TK_ENUM)
		return type_derive(t, TYPE_INT, b->npointers);
	known = b->kind == TK_TYPEDEF ? types_find(t, b->name, strlen(b->name)) : TYPE_NONE;
	if (known != TYPE_NONE && !type_is_sou(t, known) && !type_is_pointer(t, known))
		return type_derive(t, known, b->npointers);
	ret_origin->lack = arena_printf(
		env->arena,
		is_64bit ? "'%s' is defined neither by the script, nor by the debug information of "
			   "'%s'; a declaration in the script helps, and arg%u is the bare value"
			 : "the script does not define '%s', and types of 32-bit programs such as "
			   "'%s' are not read from debug information; arg%u is the bare value",
		b->name, d->object->file->file.name, ret_origin->raw);
	return TYPE_ERROR;
}

type_id usdt_arg_type(struct provider_env *env, const struct probe *pr, uint32_t index,
		      struct types *t, struct arg_origin *ret_origin)
{
	const struct usdt_elements *all = usdt_probe(pr)->declared ? NULL : elements_of(env, pr);
	const struct element *el;
	struct argbase base;

	if (!all || index >= all->n)
		return TYPE_NONE;
	el = &all->list[index];
	*ret_origin = (struct arg_origin){.raw = el->raw, .is_native = true};
	if (el->raw >= NARGS) {
		ret_origin->lack = "of the arguments that a program passes, the first ten can be "
				   "read: arg0 to arg9";
		return TYPE_ERROR;
	}
	if (!el->native || !argtext_base(env->arena, el->native, &base) ||
	    strcmp(base.name, "string") == 0 || type_is_declared(t, &base))
		return TYPE_NONE;
	if (el->has_die) {
		Dwarf_Die die = el->die;

		return dwarf_import_arg(importer_get(usdt_state(env), t), t, &die, false);
	}
	return type_of_program(env, usdt_probe(pr), t, &base, ret_origin);
}

/* Compares the types that debug information gives; the others are equal if their texts are. */
bool usdt_same_args(struct provider_env *env, const struct probe *compiled, const struct probe *pr)
{
	const struct usdt_state *st = usdt_state(env);
	uint32_t n = usdt_probe(compiled)->declared ? 0 : elements_of(env, compiled)->n;

	if (!st->table || usdt_probe(compiled)->object == usdt_probe(pr)->object)
		return true;
	for (uint32_t i = 0; i < n; i++) {
		struct arg_origin origin;
		type_id type = usdt_arg_type(env, compiled, i, st->table, &origin);

		/* a clause cannot have used what has no type in the first probe */
		if (type != TYPE_ERROR &&
		    !types_have_same_layout(st->table, type,
					    usdt_arg_type(env, pr, i, st->table, &origin)))
			return false;
	}
	return true;
}

uint32_t usdt_arg_types(struct provider_env *env, const struct probe *pr,
			const char *const **ret_types)
{
	const struct derived_info *declared = usdt_probe(pr)->declared;
	const struct usdt_elements *all;

	if (declared) {
		*ret_types = declared->types;
		return declared->ntypes;
	}
	all = elements_of(env, pr);
	*ret_types = all->texts;
	return all->n;
}

bool usdt_attrs(struct provider_env *env, const struct probe *pr, struct attr *ret)
{
	const struct derived_info *declared = usdt_probe(pr)->declared;
	const struct usdt_elements *all;

	if (declared) {
		memcpy(ret, declared->attrs, NPARTS * sizeof(*ret));
		return true;
	}
	all = elements_of(env, pr);
	if (all->has_attrs)
		memcpy(ret, all->attrs, sizeof(all->attrs));
	return all->has_attrs;
}

/* Finds the text of operand number i of a note. */
static const char *operand_text(const char *args, uint32_t i, size_t *ret_len)
{
	for (;; i--) {
		uint32_t depth = 0;
		const char *end;

		args += strspn(args, " ");
		for (end = args; *end && (*end != ' ' || depth); end++) {
			depth += *end == '(';
			depth -= *end == ')' && depth;
		}
		if (!i || !*args) {
			*ret_len = (size_t)(end - args);
			return args;
		}
		args = end;
	}
}

const char *usdt_arg_refused(struct provider_env *env, const struct probe *pr, uint32_t raw)
{
	static const char *const lacks[] = {
		[USDT_LACK_FORM] = "its note describes it in a way that is not known",
		[USDT_LACK_VECTOR] = "the program keeps it in a vector register, of which the "
				     "kernel shows a probe none",
		[USDT_LACK_SYMBOL] = "its address is that of a symbol that the file does not have "
				     "(stripped?) or that another file may define",
		[USDT_LACK_THREAD] = "it is in memory of the thread, whose address is not known "
				     "here",
	};
	const struct usdt_operands *o = usdt_probe(pr)->operands;
	const char *text;
	size_t len;

	if (!o || raw >= o->n || o->list[raw].kind != USDT_OPERAND_NONE)
		return NULL;
	text = operand_text(usdt_probe(pr)->note->args, raw, &len);
	return arena_printf(env->arena, "%s: \"%.*s\"", lacks[o->list[raw].lack],
			    (int)MIN(len, (size_t)128), text);
}
