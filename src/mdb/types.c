/* SPDX-License-Identifier: MIT */
/* Finds types by their names, in debug information or among declarations of the user. */
#include "mdb/types.h"

#include <ctype.h>
#include <dwarf.h>
#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "d/compile.h"
#include "d/types/import_dwarf.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/dwarf.h"
#include "image/dwarf_names.h"
#include "image/image.h"

#define COMPARED_MAX 4096 /* definitions of one name that are compared */
#define DEPTH_MAX    32	  /* of typedefs */
#define MEMBERS_MAX  4096 /* that are compared */
#define POINTERS_MAX 64	  /* and dimensions behind a name */

struct mdb_types {
	struct dsession *d; /* its table has the types */
	struct compile_opts opts;
	struct dwarf_import *import;
	struct type_importer importer;
	struct hashmap *told; /* names of which a notice has said that they are ambiguous */
};

/* What is looked for. */
struct wanted {
	const char *container; /* "": any */
	const char *name;
	uint32_t kinds; /* DWARF_NAMES_* */
};

struct found {
	Dwarf_Die die;
	struct mdb_object *o;
};

/* ---- debug information of the objects -------------------------------------------------------- */

static bool scan_stop(void *ctx)
{
	return ((struct mdb *)ctx)->is_interrupted;
}

/* Returns the names of an object's types; NULL: it has no debug information. */
static const struct dwarf_names *object_names(struct mdb *m, struct mdb_object *o, Dwarf **ret)
{
	struct debug_search where = mdb_object_search(m, o);
	struct dwarf_file *d;

	if (!o->image || o->is_untyped)
		return NULL;
	d = image_dwarf(o->image, &where);
	if (!d) {
		o->is_untyped = true;
		return NULL;
	}
	*ret = dwarf_file_handle(d);
	if (!o->names)
		o->names = dwarf_names_create(*ret, o->is_deep, scan_stop, m);
	return o->names;
}

/* From now on, names inside of functions are known, too; false: they were already. */
static bool object_deepen(struct mdb_object *o)
{
	if (o->is_deep)
		return false;
	dwarf_names_destroy(o->names);
	o->names = NULL;
	o->is_deep = true;
	return true;
}

/* DIEs of the object stay valid from now on. */
static void object_hold(struct mdb_object *o)
{
	if (!o->is_dwarf_held)
		image_dwarf_hold(o->image);
	o->is_dwarf_held = true;
}

static const char *die_source(Dwarf_Die *die)
{
	Dwarf_Die unit;
	const char *name = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_diename(&unit) : NULL;
	const char *slash = name ? strrchr(name, '/') : NULL;

	return slash ? slash + 1 : name ? name : "";
}

/* ---- definitions that differ ----------------------------------------------------------------- */

static bool die_strip(Dwarf_Die *die)
{
	for (int i = 0; i < DEPTH_MAX && dwarf_tag(die) == DW_TAG_typedef; i++)
		if (!dwarf_type_of(die, die))
			return false;
	return true;
}

static bool is_member(Dwarf_Die *die)
{
	int tag = dwarf_tag(die);

	return tag == DW_TAG_member || tag == DW_TAG_inheritance || tag == DW_TAG_enumerator;
}

/* Moves to the first member at or behind a DIE. */
static bool member_reach(Dwarf_Die *die, uint32_t *left)
{
	while (!is_member(die))
		if (!*left || !(*left)-- || dwarf_siblingof(die, die) != 0)
			return false;
	return true;
}

static bool members_are_same(Dwarf_Die *a, Dwarf_Die *b)
{
	uint32_t left = MEMBERS_MAX;
	Dwarf_Die x, y;
	bool has_x = dwarf_child(a, &x) == 0, has_y = dwarf_child(b, &y) == 0;

	for (; left && left--;) {
		const char *name_x, *name_y;

		has_x = has_x && member_reach(&x, &left);
		has_y = has_y && member_reach(&y, &left);
		if (!has_x || !has_y)
			return has_x == has_y;
		name_x = dwarf_diename(&x);
		name_y = dwarf_diename(&y);
		if (strcmp(name_x ? name_x : "", name_y ? name_y : "") != 0 ||
		    dwarf_member_offset(&x) != dwarf_member_offset(&y))
			return false;
		has_x = dwarf_siblingof(&x, &x) == 0;
		has_y = dwarf_siblingof(&y, &y) == 0;
	}
	return true;
}

/* Whether two definitions agree in what one sees of them: size, names and offsets of members. */
static bool definitions_agree(Dwarf_Die a, Dwarf_Die b)
{
	bool is_a = die_strip(&a), is_b = die_strip(&b);

	if (!is_a || !is_b)
		return is_a == is_b;
	/* a struct may be declared only where the other unit defines it */
	if (dwarf_hasattr(&a, DW_AT_declaration) || dwarf_hasattr(&b, DW_AT_declaration))
		return true;
	return dwarf_tag(&a) == dwarf_tag(&b) && dwarf_bytesize(&a) == dwarf_bytesize(&b) &&
	       members_are_same(&a, &b);
}

static void place_add(struct strbuf *out, struct found *f)
{
	int size = dwarf_bytesize(&f->die);

	strbuf_adds(out, "that of ");
	text_escape(out, f->o->name, strlen(f->o->name));
	strbuf_adds(out, ", ");
	text_escape(out, die_source(&f->die), strlen(die_source(&f->die)));
	if (size >= 0)
		strbuf_addf(out, " (%d byte%s)", size, PLURAL(size));
}

static void ambiguity_tell(struct mdb *m, const struct wanted *w, struct found *taken,
			   struct found *other)
{
	bool is_same_object = taken->o == other->o;
	struct strbuf text = {0};

	if (hashmap_finds(m->types->told, w->name))
		return;
	hashmap_sets(m->types->told, w->name, m);
	strbuf_adds(&text, "'");
	text_escape(&text, w->name, strlen(w->name));
	strbuf_adds(&text, "' has several definitions: ");
	place_add(&text, taken);
	strbuf_adds(&text, " is taken; ");
	place_add(&text, other);
	strbuf_adds(&text, " would be ");
	text_escape(&text, is_same_object ? die_source(&other->die) : other->o->name,
		    strlen(is_same_object ? die_source(&other->die) : other->o->name));
	strbuf_addc(&text, '`');
	text_escape(&text, w->name, strlen(w->name));
	m->opts.error(m->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* ---- lookups --------------------------------------------------------------------------------- */

struct lookup {
	struct mdb *m;
	const struct wanted *w;
	const struct mdb_object
		*only; /* the container is an object; NULL: a source file, or none */
	struct found first, other;
	bool has_first, has_other;
	uint32_t ncompared;
};

/* Examines the definitions in one object. */
static void lookup_object(struct lookup *l, struct mdb_object *o, uint32_t kinds)
{
	Dwarf *dw;
	const struct dwarf_names *names = object_names(l->m, o, &dw);
	struct found f = {.o = o};
	uint32_t pos = 0;

	while (names && !l->has_other && l->ncompared < COMPARED_MAX &&
	       dwarf_names_next(names, dw, l->w->name, kinds, &pos, &f.die)) {
		if (*l->w->container && !l->only &&
		    strcmp(die_source(&f.die), l->w->container) != 0)
			continue;
		l->ncompared++;
		if (!l->has_first) {
			object_hold(o);
			l->first = f;
			l->has_first = true;
		} else if (!definitions_agree(l->first.die, f.die)) {
			l->other = f;
			l->has_other = true;
		}
	}
}

/* local: DWARF_NAMES_LOCAL or 0 */
static void lookup_objects(struct lookup *l, uint32_t local)
{
	const struct wanted *w = l->w;
	struct mdb *m = l->m;

	for (uint32_t i = 0; i < m->objects.len && !m->is_interrupted; i++) {
		struct mdb_object *o = &m->objects.data[i];
		uint32_t plain = w->kinds & DWARF_NAMES_PLAIN;
		bool was_there = l->has_first;

		if (l->only && l->only != o)
			continue;
		if (plain)
			lookup_object(l, o, plain | local);
		/* a typedef hides a tag of its name */
		if (l->has_first == was_there && w->kinds != plain)
			lookup_object(l, o, (w->kinds & ~plain) | local);
	}
}

static bool type_lookup(struct mdb *m, const struct wanted *w, struct found *ret)
{
	struct lookup l = {.m = m, .w = w};
	struct mdb_object *program = m->objects.len ? m->objects.data : NULL;

	if (*w->container)
		l.only = mdb_object_named(m, w->container);
	lookup_objects(&l, 0);
	/* functions take long to read: only those of the program are, or of what was named */
	if (l.only)
		program = &m->objects.data[l.only - m->objects.data];
	if (!l.has_first && !m->is_interrupted && program) {
		(void)object_deepen(program);
		lookup_objects(&l, DWARF_NAMES_LOCAL);
	}
	if (!l.has_first || m->is_interrupted)
		return false;
	if (l.has_other)
		ambiguity_tell(m, w, &l.first, &l.other);
	*ret = l.first;
	return true;
}

/* ---- the table ------------------------------------------------------------------------------- */

static bool unit_is_c(Dwarf_Die *die)
{
	Dwarf_Die unit;
	int lang = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	return lang == DW_LANG_C || lang == DW_LANG_C89 || lang == DW_LANG_C99 ||
	       lang == DW_LANG_C11;
}

/* Finds the definition of a struct that a unit only declares: in its own file, then in others. */
static bool declared_define(void *ctx, Dwarf_Die *decl, Dwarf_Die *ret)
{
	struct mdb *m = ctx;
	const char *name = dwarf_diename(decl);
	const struct wanted w = {.container = "",
				 .name = name ? name : "",
				 .kinds = dwarf_tag(decl) == DW_TAG_union_type
						  ? DWARF_NAMES_UNION
						  : DWARF_NAMES_STRUCT};
	struct found f;

	for (uint32_t i = 0; i < m->objects.len; i++) {
		const struct mdb_object *o = &m->objects.data[i];
		uint32_t pos = 0;
		Dwarf *dw;

		if (!o->is_dwarf_held || !o->names)
			continue;
		(void)object_names(m, &m->objects.data[i], &dw);
		if ((dw == dwarf_cu_getdwarf(decl->cu) ||
		     dwarf_getalt(dw) == dwarf_cu_getdwarf(decl->cu)) &&
		    dwarf_names_definition(o->names, dw, decl, &pos, ret))
			return true;
	}
	/* in C, names of types do not lie in namespaces */
	if (!unit_is_c(decl) || !type_lookup(m, &w, &f))
		return false;
	*ret = f.die;
	return true;
}

static type_id import_wanted(struct mdb *m, const struct wanted *w)
{
	struct found f;

	return type_lookup(m, w, &f)
		       ? dwarf_import_type(m->types->import, dsession_types(m->types->d), &f.die)
		       : TYPE_NONE;
}

/* Names that a declaration of the user mentions are those of the target. */
static type_id name_import(void *ctx, struct types *t, const char *name, size_t len)
{
	CLEANUP(free) char *text = xmalloc(len + 1);
	const struct wanted w = {.container = "", .name = text, .kinds = DWARF_NAMES_ALL};

	memcpy(text, name, len);
	text[len] = '\0';
	return import_wanted(ctx, &w);
}

static uint32_t kind_names(enum type_kind kind)
{
	return kind == TK_STRUCT  ? DWARF_NAMES_STRUCT
	       : kind == TK_UNION ? DWARF_NAMES_UNION
				  : DWARF_NAMES_ENUM;
}

static type_id tag_import(void *ctx, struct types *t, enum type_kind kind, const char *tag)
{
	return import_wanted(ctx, &(struct wanted){"", tag, kind_names(kind)});
}

static struct mdb_types *types_make(struct mdb *m)
{
	struct mdb_types *t = m->types;

	if (t)
		return t;
	m->types = t = xcalloc(1, sizeof(*t));
	t->opts = (struct compile_opts){.strsize = 256, .empty = true, .layer = LAYER_PROGRAM};
	t->d = dsession_create(&t->opts);
	t->told = hashmap_create();
	t->import = dwarf_import_create();
	dwarf_import_set_define(t->import, declared_define, m);
	t->importer = (struct type_importer){.ctx = m, .find = name_import, .find_tag = tag_import};
	types_set_importer(dsession_types(t->d), &t->importer);
	return t;
}

struct types *mdb_types(struct mdb *m)
{
	return dsession_types(types_make(m)->d);
}

void mdb_types_end(struct mdb *m)
{
	if (!m->types)
		return;
	dsession_destroy(m->types->d);
	dwarf_import_destroy(m->types->import);
	hashmap_destroy(m->types->told);
	free(m->types);
	m->types = NULL;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* Returns the length of a word at the begin of a text if it is that one; else 0. */
static size_t word_at(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && !isalnum((unsigned char)text[n]) && text[n] != '_'
		       ? n
		       : 0;
}

static const struct {
	const char *word;
	enum type_kind kind;
} tag_words[] = {
	{"struct", TK_STRUCT},
	{"class", TK_STRUCT},
	{"union", TK_UNION},
	{"enum", TK_ENUM},
};

/* A type's text taken apart: "libx.so`const struct node *[4]". */
struct spelling {
	struct strbuf container, name;
	enum type_kind kind; /* of the tag; TK_TYPEDEF: there is none */
	uint64_t
		lens[POINTERS_MAX]; /* behind the name: UINT64_MAX is a pointer, else a dimension */
	uint32_t n;
	bool is_simple; /* nothing else is in it */
};

static void spelling_deinit(struct spelling *s)
{
	strbuf_deinit(&s->container);
	strbuf_deinit(&s->name);
}

static const char *words_skip(const char *p, struct spelling *s)
{
	static const char *const quals[] = {"const", "volatile"};

	for (;;) {
		size_t n = 0;

		while (isspace((unsigned char)*p))
			p++;
		for (size_t i = 0; i < ARRAY_LEN(quals) && !n; i++)
			n = word_at(p, quals[i]);
		for (size_t i = 0; i < ARRAY_LEN(tag_words) && !n; i++) {
			n = word_at(p, tag_words[i].word);
			if (n)
				s->kind = tag_words[i].kind;
		}
		if (!n || p[n] == '`')
			return p;
		p += n;
	}
}

/* Reads the pointers and dimensions at the end of a text, and returns where they begin. */
static const char *suffix_read(const char *text, struct spelling *s)
{
	const char *end = text + strlen(text);

	s->is_simple = true;
	while (end > text && s->is_simple) {
		const char *p = end - 1;
		uint64_t len = 0;

		if (isspace((unsigned char)*p)) {
			end = p;
			continue;
		}
		if (*p != '*' && *p != '&' && *p != ']')
			break;
		if (*p == ']') {
			while (p > text && *p != '[')
				p--;
			s->is_simple = isdigit((unsigned char)p[1]);
			for (const char *d = p + 1; s->is_simple && d < end - 1; d++) {
				s->is_simple = isdigit((unsigned char)*d) && len < UINT32_MAX;
				len = len * 10 + (uint64_t)(*d - '0');
			}
		}
		s->is_simple &= s->n < POINTERS_MAX;
		if (s->is_simple)
			s->lens[s->n++] = *p == '[' ? len : UINT64_MAX;
		end = p;
	}
	return end;
}

static void spelling_read(const char *text, struct spelling *s)
{
	const char *p, *tick, *end;

	*s = (struct spelling){.kind = TK_TYPEDEF};
	p = words_skip(text, s);
	tick = strchr(p, '`');
	if (tick) {
		strbuf_add(&s->container, p, (size_t)(tick - p));
		p = words_skip(tick + 1, s);
	}
	end = suffix_read(p, s);
	if (end < p)
		end = p;
	strbuf_add(&s->name, p, (size_t)(end - p));
	s->is_simple &= s->name.len > 0;
}

/* The type behind the pointers and dimensions; a pointer binds less than a dimension. */
static struct err *suffix_apply(struct types *t, const struct spelling *s, type_id *id)
{
	/* as in "T *[4]": from the left pointers, then dimensions from the right */
	for (uint32_t i = s->n; i-- > 0;)
		if (s->lens[i] == UINT64_MAX)
			*id = type_pointer(t, *id);
	for (uint32_t i = 0; i < s->n; i++) {
		uint64_t size = MAX(type_size(t, *id), 1u);

		if (s->lens[i] == UINT64_MAX)
			continue;
		if (s->lens[i] > UINT32_MAX / size)
			return err_new("the array is larger than 4 GiB");
		*id = type_array(t, *id, (uint32_t)s->lens[i]);
	}
	return NULL;
}

static bool has_types(struct mdb *m)
{
	Dwarf *dw;

	for (uint32_t i = 0; i < m->objects.len; i++)
		if (object_names(m, &m->objects.data[i], &dw))
			return true;
	return false;
}

static struct err *type_unknown(struct mdb *m, const char *text, const struct spelling *s)
{
	struct strbuf shown = {0};
	struct err *e;

	text_escape(&shown, text, strlen(text));
	e = err_new("there is no type '%s'", strbuf_text(&shown));
	strbuf_deinit(&shown);
	if (m->is_interrupted)
		return e;
	if (!has_types(m))
		return err_hint(e, "no file of the target has debug information: install it, "
				   "compile with -g, or declare the type: "
				   "::typedef 'struct NAME { int member; }'");
	if (s->container.len && !mdb_object_named(m, strbuf_text(&s->container)))
		return err_hint(e, "no object has this name, and no source file of this name "
				   "defines the type; ::objects lists objects");
	return err_hint(e, "the program's types are named as in its source; ::typedef declares "
			   "others");
}

/* The type that a name without pointers and dimensions means; TYPE_NONE: unknown. */
static type_id name_find(struct mdb *m, const struct spelling *s)
{
	const char *container = strbuf_text(&s->container), *name = strbuf_text(&s->name);
	struct types *t = mdb_types(m);
	bool is_tag = s->kind != TK_TYPEDEF;
	type_id id = TYPE_NONE;

	if (!*container && is_tag)
		id = types_find_tag(t, s->kind, name);
	else if (!*container)
		id = types_find(t, name, s->name.len);
	else
		id = import_wanted(m, &(struct wanted){container, name,
						       is_tag ? kind_names(s->kind)
							      : DWARF_NAMES_ALL});
	for (size_t i = 0; !id && !is_tag && !*container && i < ARRAY_LEN(tag_words); i++)
		id = types_find_tag_known(t, tag_words[i].kind, name);
	return id;
}

struct err *mdb_type_find(struct mdb *m, const char *text, type_id *ret)
{
	struct mdb_types *types = types_make(m);
	const struct compile_env env = {.ctx = m};
	struct err *e = NULL;
	struct spelling s;
	type_id id = TYPE_NONE;

	spelling_read(text, &s);
	if (s.is_simple)
		id = name_find(m, &s);
	if (id)
		e = suffix_apply(mdb_types(m), &s, &id);
	else if (!s.container.len && !strstr(text, "::") && s.kind == TK_TYPEDEF)
		id = dsession_type(types->d, &types->opts, &env, text);
	if (!e && m->is_interrupted)
		e = err_new("interrupted");
	if (!e && !id)
		e = type_unknown(m, text, &s);
	spelling_deinit(&s);
	if (!e)
		*ret = id;
	return e;
}

/* Whether more words of the type's name may follow: "const", "libx.so`struct", "unsigned". */
static bool word_is_part(const char *word, bool *ret_may_end)
{
	static const char *const bases[] = {"unsigned", "signed", "long",  "short",
					    "int",	"char",	  "double"};
	static const char *const quals[] = {"const", "volatile"};
	const char *tick = strchr(word, '`');

	word = tick ? tick + 1 : word;
	*ret_may_end = false;
	for (size_t i = 0; i < ARRAY_LEN(tag_words); i++)
		if (strcmp(word, tag_words[i].word) == 0)
			return true;
	for (size_t i = 0; i < ARRAY_LEN(quals); i++)
		if (strcmp(word, quals[i]) == 0)
			return true;
	*ret_may_end = true;
	for (size_t i = 0; i < ARRAY_LEN(bases); i++)
		if (strcmp(word, bases[i]) == 0)
			return true;
	return false;
}

struct err *mdb_type_words(struct mdb *m, const struct call *c, uint32_t *at, type_id *ret)
{
	struct strbuf text = {0};
	bool is_open = true, may_end = false, is_base = false;
	struct err *e;

	for (; *at < c->argc; (*at)++) {
		const char *word = c->argv[*at];
		bool is_part = word_is_part(word, &may_end);

		/* pointers and dimensions may stand in words of their own */
		if (!is_open && !(is_base && is_part) && !strchr("*&[", *word))
			break;
		is_base = is_part && may_end;
		if (is_open && !strchr(word, ' '))
			is_open = is_part && !may_end;
		else
			is_open = false;
		strbuf_addf(&text, "%s%s", text.len ? " " : "", word);
	}
	e = mdb_type_find(m, strbuf_text(&text), ret);
	strbuf_deinit(&text);
	return e;
}

/* ---- variables ------------------------------------------------------------------------------- */

/* Finds the variable of a symbol; the compiler calls those inside of functions "count.0". */
static bool variable_find(struct mdb *m, struct mdb_object *o, const struct elf_sym *sym,
			  Dwarf_Die *ret)
{
	struct arena *a = arena_create();
	const char *name = demangle_bare(a, sym->name);
	const char *plain = arena_strndup(a, name, strcspn(name, "."));
	const struct dwarf_names *names;
	bool is_known;
	Dwarf *dw;

	do {
		names = object_names(m, o, &dw);
		is_known = names && (dwarf_names_variable(names, dw, name, sym->addr, ret) ||
				     dwarf_names_variable(names, dw, plain, sym->addr, ret));
	} while (names && !is_known && object_deepen(o));
	arena_destroy(a);
	return is_known;
}

struct err *mdb_type_at(struct mdb *m, taddr addr, type_id *ret)
{
	struct mdb_types *types = types_make(m);
	const struct mdb_object *o = mdb_object_at(m, addr);
	const struct elf_sym *sym = o ? mdb_symbol_at(m, o, addr) : NULL;
	struct mdb_object *own = o ? &m->objects.data[o - m->objects.data] : NULL;
	Dwarf_Die die, type;

	if (!sym || sym->kind != ELF_SYM_OBJECT || sym->addr != addr - o->bias ||
	    !variable_find(m, own, sym, &die) || !dwarf_type_of(&die, &type))
		return err_hint(err_new("no variable begins at 0x%" PRIx64 " whose type is known",
					addr),
				"a type is needed, as in 'struct node'");
	object_hold(own);
	*ret = dwarf_import_type(types->import, dsession_types(types->d), &type);
	return NULL;
}

/* ---- declarations ---------------------------------------------------------------------------- */

static struct err *probe_refuse(void *ctx, const struct probe_desc *desc, uint32_t *ret_count)
{
	return err_new("only types can be declared");
}

static struct err *option_refuse(void *ctx, const char *name, const char *value)
{
	return err_new("only types can be declared");
}

struct err *mdb_type_declare(struct mdb *m, const char *text)
{
	struct mdb_types *types = types_make(m);
	const struct compile_env env = {.ctx = m,
					.match = probe_refuse,
					.set_option = option_refuse};
	struct strbuf whole = {0};
	struct prog *prog;
	size_t len = strlen(text);
	struct err *e;

	while (len && isspace((unsigned char)text[len - 1]))
		len--;
	strbuf_add(&whole, text, len);
	if (len && text[len - 1] != ';')
		strbuf_addc(&whole, ';');
	e = dsession_compile(types->d, &types->opts, &env, SOURCE_STRING, "::typedef",
			     strbuf_text(&whole), whole.len, SPEC_CTX_NAME, 0, NULL, &prog);
	strbuf_deinit(&whole);
	return e;
}

/* ---- what commands ask ----------------------------------------------------------------------- */

void mdb_type_name_add(struct mdb *m, type_id type, struct strbuf *out)
{
	struct arena *a = arena_create();
	const char *name = type_name(mdb_types(m), type, a);

	text_escape(out, name, strlen(name));
	arena_destroy(a);
}

struct err *mdb_type_check(struct mdb *m, type_id type)
{
	struct types *t = mdb_types(m);
	struct strbuf name = {0};
	struct err *e = NULL;

	mdb_type_name_add(m, type, &name);
	if (!type_complete(t, type))
		e = err_hint(err_new("'%s' is declared, but defined nowhere", strbuf_text(&name)),
			     "its definition may be in a library without debug information; "
			     "::typedef declares it");
	else if (type_is_void(t, type) || type_kind(t, type) == TK_FUNC)
		e = err_new("'%s' has no size", strbuf_text(&name));
	strbuf_deinit(&name);
	return e;
}
