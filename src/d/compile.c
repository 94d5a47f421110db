/* SPDX-License-Identifier: MIT */
/*
 * From D text to a compiled program: the session, the passes, and the undoing of failed compiles.
 */
#include "d/compile.h"

#include "d/check/check_impl.h"
#include "dtrace.h"

/* ---- sessions --------------------------------------------------------------------------- */

struct hashmap *session_map(struct dsession *s)
{
	struct hashmap *m = hashmap_create();

	vec_push(&s->maps, m);
	return m;
}

static struct ident *builtin_ident(struct dsession *s, enum ident_kind kind, const char *name,
				   struct attr attr, const char *since)
{
	struct ident *id = ARENA_NEW(s->arena, struct ident);

	id->kind = kind;
	id->name = name;
	id->is_builtin = true;
	id->attr = attr;
	if (!version_parse(since, &id->version))
		BUG("version '%s' of '%s'", since, name);
	hashmap_sets(s->builtins, name, id);
	return id;
}

static void builtins_define(struct dsession *s, bool is_helper)
{
	struct ident *id;

	for (uint32_t i = 0; i < nsubrs; i++) {
		id = builtin_ident(s, IDENT_SUBR, subrs[i].name, subrs[i].attr, subrs[i].since);
		id->subr = &subrs[i];
	}
	for (uint32_t i = 0; i < nremains_subrs; i++) {
		const struct subr *own = &remains_subrs[i];

		id = builtin_ident(s, IDENT_SUBR, own->name, own->attr, own->since);
		id->subr = own;
	}
	for (uint32_t i = 0; is_helper && i < nhelper_subrs; i++) {
		const struct subr *own = &helper_subrs[i];

		id = builtin_ident(s, IDENT_SUBR, own->name, own->attr, own->since);
		id->subr = own;
	}
	for (uint32_t i = 0; i < nbuiltin_vars; i++) {
		const struct builtin_var *v = &builtin_vars[i];
		bool is_array = v->id <= DIF_VAR_UREGS && !*v->type;

		id = builtin_ident(s, is_array ? IDENT_BUILTIN_ARRAY : IDENT_VAR, v->name, v->attr,
				   v->since);
		id->id = v->id;
		id->builtin = v;
	}
	id = builtin_ident(s, IDENT_ENUMERATOR, "NULL", (struct attr)ATTR_STABLE, "1.0");
	id->type = TYPE_LONG;
}

struct dsession *dsession_create(const struct compile_opts *opts)
{
	struct dsession *s = xcalloc(1, sizeof(*s));

	s->arena = arena_create();
	s->sources = source_map_create(s->arena);
	s->types = types_create(opts->strsize);
	for (uint32_t i = 0; i < NLAYERS; i++)
		s->globals[i] = session_map(s);
	s->selfs = session_map(s);
	s->agg_idents = session_map(s);
	s->builtins = session_map(s);
	s->protos = session_map(s);
	s->type_texts = session_map(s);
	s->providers = session_map(s);
	for (uint32_t i = 0; i < ARRAY_LEN(s->next_var); i++)
		s->next_var[i] = DIF_VAR_USER;
	builtins_define(s, opts->is_helper);
	return s;
}

void dsession_destroy(struct dsession *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->maps.len; i++)
		hashmap_destroy(s->maps.data[i]);
	for (uint32_t i = 0; i < s->arenas.len; i++)
		arena_destroy(s->arenas.data[i]);
	vec_deinit(&s->maps);
	vec_deinit(&s->arenas);
	vec_deinit(&s->journal);
	vec_deinit(&s->vars);
	vec_deinit(&s->aggs);
	vec_deinit(&s->xlators);
	vec_deinit(&s->derived);
	vec_deinit(&s->code_sources);
	types_destroy(s->types);
	arena_destroy(s->arena);
	free(s);
}

struct prog_vars *dsession_vars(struct dsession *s)
{
	return &s->vars_view;
}

struct prog_aggs *dsession_aggs(struct dsession *s)
{
	return &s->aggs_view;
}

struct types *dsession_types(struct dsession *s)
{
	return s->types;
}

struct source_map *dsession_sources(struct dsession *s)
{
	return s->sources;
}

/* ---- undoing ---------------------------------------------------------------------------- */

void session_bind(struct dsession *s, struct hashmap *map, const char *key, void *value)
{
	vec_push(&s->journal, (struct undo){map, key, hashmap_finds(map, key)});
	hashmap_sets(map, key, value);
}

struct session_mark session_mark(const struct dsession *s)
{
	struct session_mark m = {
		.journal = s->journal.len,
		.vars = s->vars.len,
		.aggs = s->aggs.len,
		.xlators = s->xlators.len,
		.nclauses = s->nclauses,
	};

	memcpy(m.next_var, s->next_var, sizeof(m.next_var));
	return m;
}

/* Translators of a library that was compiled inside a failed compile stay (is_kept). */
static void xlators_rollback(struct dsession *s, uint32_t mark)
{
	uint32_t n = mark;

	for (uint32_t i = mark; i < s->xlators.len; i++)
		if (s->xlators.data[i]->is_kept)
			s->xlators.data[n++] = s->xlators.data[i];
	s->xlators.len = MIN(n, s->xlators.len);
}

void session_rollback(struct dsession *s, const struct session_mark *m)
{
	while (s->journal.len > m->journal) {
		const struct undo *u = vec_last(&s->journal);

		if (u->old)
			hashmap_sets(u->map, u->key, u->old);
		else
			hashmap_remove(u->map, u->key, strlen(u->key));
		s->journal.len--;
	}
	s->vars.len = s->vars_view.len = MAX(m->vars, s->kept.vars);
	s->aggs.len = s->aggs_view.len = MAX(m->aggs, s->kept.aggs);
	s->nclauses = m->nclauses; /* a library has no clauses */
	for (uint32_t i = 0; i < ARRAY_LEN(s->next_var); i++)
		s->next_var[i] = MAX(m->next_var[i], s->kept.next_var[i]);
	xlators_rollback(s, m->xlators);
}

struct attempt attempt_begin(const struct check *c)
{
	return (struct attempt){
		.session = session_mark(c->session),
		.nerrors = diags_count(c->diags),
		.nundef = c->nundef,
		.ntrouble = c->ntrouble,
		.attr = c->attr,
		.destructive = c->destructive,
		.uses_task = c->uses_task,
		.target_missed = c->target_missed,
	};
}

void attempt_undo(struct check *c, const struct attempt *a)
{
	session_rollback(c->session, &a->session);
	diags_truncate(c->diags, a->nerrors);
	c->nundef = a->nundef;
	c->ntrouble = a->ntrouble;
	c->attr = a->attr;
	c->destructive = a->destructive;
	c->uses_task = a->uses_task;
	c->target_missed = a->target_missed;
}

/* Protects what was added since the mark from the rollback of a compile around this one. */
static void session_keep(struct dsession *s, const struct session_mark *m, uint32_t types)
{
	s->journal.len = m->journal;
	types_keep(s->types, types);
	s->kept = (struct session_kept){.vars = s->vars.len, .aggs = s->aggs.len};
	memcpy(s->kept.next_var, s->next_var, sizeof(s->next_var));
	for (uint32_t i = m->xlators; i < s->xlators.len; i++)
		s->xlators.data[i]->is_kept = true;
}

enum d_layer session_set_layer(struct dsession *s, enum d_layer layer)
{
	enum d_layer outer = s->layer;

	s->layer = layer;
	types_set_layer(s->types, layer);
	return outer;
}

struct ident *session_global(const struct dsession *s, const char *name, size_t len)
{
	struct ident *id = NULL;

	for (uint32_t i = s->layer; !id && i < NLAYERS; i++)
		id = hashmap_find(s->globals[i], name, len);
	return id;
}

/* ---- answers to the parser -------------------------------------------------------------- */

bool check_define(struct check *c, const char *name, size_t len)
{
	return c->env->define && c->env->define(c->env->ctx, name, len);
}

static bool env_is_type(void *ctx, const char *name, size_t len)
{
	struct check *c = ctx;

	return types_find_known(c->types, name, len) != TYPE_NONE ||
	       (check_define(c, name, len) && types_find_known(c->types, name, len) != TYPE_NONE);
}

static bool env_is_kernel_type(void *ctx, const char *name, size_t len)
{
	struct check *c = ctx;

	if (len > 2 && (*name == 'C' || *name == 'D') && name[1] == '`') /* the D containers */
		return types_find_declared(c->types, name + 2, len - 2) != TYPE_NONE ||
		       (check_define(c, name + 2, len - 2) &&
			types_find_declared(c->types, name + 2, len - 2) != TYPE_NONE);
	return types_find(c->types, name, len) != TYPE_NONE;
}

static bool env_is_ident(void *ctx, const char *name, size_t len)
{
	struct check *c = ctx;
	struct dsession *s = c->session;

	if (!hashmap_find(s->globals[s->layer], name, len) &&
	    types_find_own(c->types, name, len) != TYPE_NONE)
		return false; /* a type of this layer hides an identifier of another layer */
	return session_global(s, name, len) || hashmap_find(s->builtins, name, len) ||
	       (check_define(c, name, len) && session_global(s, name, len));
}

/* A type meant by a name that is none: one with "struct" before it, else one spelled like it. */
static const char *env_near_type(void *ctx, const char *name)
{
	static const struct {
		enum type_kind kind;
		const char *word;
	} tags[] = {{TK_STRUCT, "struct"}, {TK_UNION, "union"}, {TK_ENUM, "enum"}};
	struct check *c = ctx;

	for (size_t i = 0; i < ARRAY_LEN(tags) && !strchr(name, '`'); i++) {
		type_id id = types_find_tag(c->types, tags[i].kind, name);

		/*
		 * types_find_tag() does not ask for a tag; the forward is gone after this compile
		 */
		if (id == TYPE_NONE)
			id = type_forward(c->types, tags[i].kind, name);
		if (type_complete(c->types, id))
			return arena_printf(c->arena, "%s %s", tags[i].word, name);
	}
	return types_nearest(c->types, name, c->arena);
}

static void env_harmful(void *ctx, const struct harm *row)
{
	struct check *c = ctx;

	if (c->env->harmful)
		c->env->harmful(c->env->ctx, row);
}

static bool env_macro(void *ctx, const char *name, int64_t *ret_value)
{
	struct check *c = ctx;

	if (c->env->macro && c->env->macro(c->env->ctx, name, ret_value))
		return true;
	c->lacks_target |= strcmp(name, "target") == 0;
	return false;
}

/* With -n and its kin each word outside clauses is a probe description. */
static bool source_words_are_probes(enum source_kind kind)
{
	return kind == SOURCE_STRING;
}

static bool env_set_option(void *ctx, struct span at, const char *name, const char *value)
{
	struct check *c = ctx;
	struct err *e = NULL;

	if (c->env->set_option)
		e = c->env->set_option(c->env->ctx, name, value);
	if (e) {
		check_error(c, D_PRAGMA_OPTSET, at, "%s", err_text(e));
		if (err_get_hint(e))
			diag_hint(c->diags, "%s", err_get_hint(e));
		err_destroy(e);
		return false;
	}
	/* the option may be one that the parser uses */
	c->input.defaultargs = c->opts->defaultargs;
	c->input.argref = c->opts->argref;
	c->input.pspec = c->opts->pspec || source_words_are_probes(c->input.src->kind);
	c->input.allow_empty = c->opts->empty || c->opts->layer != LAYER_PROGRAM;
	return true;
}

type_id type_from_text(struct check *c, const char *text)
{
	struct dsession *s = c->session;
	uintptr_t known = (uintptr_t)hashmap_finds(s->type_texts, text);
	uint32_t mark = diags_count(c->diags);
	struct parse_input in = c->input;
	struct type_name *tn;
	type_id id = TYPE_NONE;

	if (known)
		return (type_id)(known - 1);
	in.src = source_add(s->sources, SOURCE_STRING, "", text, strlen(text), true);
	in.argc = 0;
	tn = parse_type(&in);
	if (tn)
		id = decl_resolve(c, tn);
	if (id == TYPE_ERROR)
		id = TYPE_NONE;
	diags_truncate(c->diags, mark);
	if (id != TYPE_NONE) /* a type that is unknown now may be declared later */
		hashmap_sets(s->type_texts, text, (void *)((uintptr_t)id + 1));
	return id;
}

/* ---- passes ------------------------------------------------------------------------------ */

static void ast_dump(struct check *c, const struct ast *ast)
{
	struct strbuf out = {0};

	if (!c->opts->dump || !c->opts->dump_ast || c->is_repeated)
		return;
	ast_print(ast, &out);
	/* errors of writing a listing are not reported: its reader sees that it ends early */
	(void)fputs(strbuf_text(&out), c->opts->dump);
	strbuf_deinit(&out);
}

static void dif_dump(struct check *c, const struct prog *prog)
{
	struct strbuf out = {0};

	if (!c->opts->dump || !c->opts->dump_dif)
		return;
	for (uint32_t i = 0; i < prog->nclauses; i++) {
		const struct prog_clause *clause = prog->clauses[i];

		if (clause->pred)
			difo_print(clause->pred, &out);
		for (uint32_t k = 0; k < clause->nacts; k++)
			for (uint32_t n = 0; n < clause->acts[k].nargs; n++)
				difo_print(clause->acts[k].args[n], &out);
	}
	(void)fputs(strbuf_text(&out), c->opts->dump);
	strbuf_deinit(&out);
}

static void check_decl(struct check *c, struct decl *d)
{
	c->in_include = d->in_include;
	switch (d->kind) {
	case DECL_CLAUSE: check_clause(c, d); return;
	case DECL_VARS: check_vars(c, d); return;
	case DECL_INLINE: check_inline_def(c, d); return;
	case DECL_TRANSLATOR: check_translator_def(c, d); return;
	case DECL_PROVIDER: check_provider(c, d); return;
	case DECL_PRAGMA: check_pragma(c, d); return;
	case DECL_BLOCK: check_block_def(c, d); return;
	case DECL_TABLE: check_table(c, d); return;
	}
	BUG("declaration kind %d", (int)d->kind);
}

static struct prog *prog_create(struct check *c)
{
	struct prog *prog = ARENA_NEW(c->arena, struct prog);

	prog->nclauses = c->clauses.len;
	prog->clauses = ARENA_NEW_N(c->arena, struct prog_clause *, prog->nclauses + 1);
	if (prog->nclauses)
		memcpy(prog->clauses, c->clauses.data, prog->nclauses * sizeof(*prog->clauses));
	return prog;
}

/*
 * The passes, in order. The parser makes the tree of the whole text. Then each external declaration
 * goes through the other passes before the next one does, because it may use earlier ones:
 */
/* clang-format off */
/*
 *     parse_program    text -> tree                     parse*.c, lex*.c, control.c, macro.c
 *     check_decl       names, types, rules              check_*.c, fmt.c, decl.c (types), attr.c
 *       lower_expr     checked expressions -> DIF       lower*.c
 *       difo_verify    our own verifier, in lower_expr  dif/verify.c
 *     prog_create      clauses -> program
 *     check_shell_args warnings that need the whole program
 *
 * NULL after an error was reported, and when the text must be compiled again (has_widened).
 */
/* clang-format on */
static struct prog *compile_passes(struct check *c)
{
	struct ast *ast = parse_program(&c->input);
	struct prog *prog;
	/* without a tree, names that it declares would look undeclared */
	if (diags_count(c->diags))
		return NULL;
	ast_dump(c, ast);
	types_set_strsize(c->types, c->opts->strsize);
	check_note_texts(c, ast);
	for (uint32_t i = 0; i < ast->ndecls; i++)
		check_specs_named(c, ast->decls[i]);
	check_note_assigned(c, ast);
	for (uint32_t i = 0; i < ast->ndecls && diags_count(c->diags) < DIAG_MAX; i++)
		check_decl(c, ast->decls[i]);
	check_absents(c);
	if (diags_count(c->diags))
		return NULL;
	check_pragmas_unused(c);
	if (diags_count(c->diags) || c->has_widened)
		return NULL;
	prog = prog_create(c);
	check_shell_args(c, prog);
	dif_dump(c, prog);
	return prog;
}

/* ---- one compile -------------------------------------------------------------------------- */

/* The text to parse: the script itself, or the output of the preprocessor. */
static struct err *source_preprocess(const struct compile_opts *opts, enum source_kind kind,
				     const char *name, const char *text, size_t len,
				     struct strbuf *ret_out)
{
	struct cpp_opts cpp = {.stdc = 's'};
	const char *slash = strrchr(name, '/');
	struct err *e;
	char *dir;

	if (!opts->cpp || kind != SOURCE_FILE) {
		strbuf_add(ret_out, text, len);
		return NULL;
	}
	if (opts->cpp_opts)
		cpp = *opts->cpp_opts;
	dir = slash ? xstrdup(name) : NULL;
	if (dir)
		dir[slash - name + 1] = '\0';
	cpp.dir = dir;
	e = cpp_run(&cpp, text, len, ret_out);
	free(dir);
	return e;
}

void check_init(struct check *c, struct dsession *s, const struct compile_opts *opts,
		const struct compile_env *env)
{
	c->session = s;
	c->types = s->types;
	c->arena = arena_create();
	c->diags = diags_create(c->arena, s->sources);
	c->opts = opts;
	c->env = env;
	c->locals = hashmap_create();
	c->assigned = hashmap_create();
	c->macros = hashmap_create();
	c->poisoned_types = hashmap_create();
	c->parse_env = (struct parse_env){
		.ctx = c,
		.is_type = env_is_type,
		.is_kernel_type = env_is_kernel_type,
		.is_ident = env_is_ident,
		.near_type = env_near_type,
		.set_option = env_set_option,
		.harmful = env_harmful,
		.macro = env_macro,
	};
	c->input = (struct parse_input){
		.map = s->sources,
		.diags = c->diags,
		.arena = c->arena,
		.env = &c->parse_env,
		.defaultargs = opts->defaultargs,
		.argref = opts->argref,
		.pspec = opts->pspec,
		.has_hash_comments = opts->hash_comments,
		.is_helper = opts->is_helper,
		.allow_empty = opts->empty || opts->layer != LAYER_PROGRAM,
	};
}

void check_deinit(struct check *c)
{
	hashmap_destroy(c->locals);
	hashmap_destroy(c->assigned);
	hashmap_destroy(c->macros);
	hashmap_destroy(c->poisoned_types);
	vec_deinit(&c->clauses);
}

static struct err *diags_to_err(struct check *c)
{
	struct strbuf text = {0};
	struct err *e;

	if (c->opts->remedies)
		diags_add_remedies(c->diags);
	diags_format(c->diags, c->opts->errtags, &text);
	e = err_code(err_new("%s", strbuf_text(&text)),
		     c->opts->layer != LAYER_PROGRAM && diags_first_tag(c->diags) == D_PRAGMA_DEPEND
			     ? EDT_NOMOD
			     : EDT_COMPILER);
	strbuf_deinit(&text);
	return e;
}

static void warnings_give(struct check *c)
{
	struct strbuf text = {0};

	for (uint32_t i = 0; diags_format_warning(c->diags, i, c->opts->errtags, &text); i++) {
		if (c->env->warn)
			c->env->warn(c->env->ctx, text.data);
		text.len = 0;
	}
	strbuf_deinit(&text);
}

/*
 * Compiles the text in->src once. Without an error, *ret_prog is set unless c->has_widened. mark,
 * types: the session before; what the compile has made is taken back when it yields no program.
 */
static struct err *compile_text(struct check *c, const struct parse_input *in,
				const struct session_mark *mark, uint32_t types,
				struct prog **ret_prog)
{
	struct dsession *s = c->session;
	struct err *e = NULL;
	struct prog *prog;

	c->input.src = in->src;
	c->input.context = in->context;
	c->input.pspec |= source_words_are_probes(in->src->kind);
	c->input.argc = in->argc;
	c->input.argv = in->argv;
	c->first_off = in->src->base;
	prog = compile_passes(c);
	if (prog && c->opts->layer != LAYER_PROGRAM)
		s->nclauses = mark->nclauses; /* clauses of a library are never enabled */
	if (prog) {
		warnings_give(c);
		session_keep(s, mark, types);
		vec_push(&s->arenas, c->arena);
		*ret_prog = prog;
	} else {
		if (diags_count(c->diags) || !c->has_widened)
			e = diags_to_err(c);
		session_rollback(s, mark);
		types_rollback(s->types, types);
		arena_destroy(c->arena);
	}
	check_deinit(c);
	return e;
}

uint32_t dsession_type(struct dsession *s, const struct compile_opts *opts,
		       const struct compile_env *env, const char *text)
{
	enum d_layer outer = session_set_layer(s, opts->layer);
	struct check c = {0};
	type_id id;

	check_init(&c, s, opts, env);
	id = type_from_text(&c, text);
	check_deinit(&c);
	arena_destroy(c.arena);
	session_set_layer(s, outer);
	return id;
}

struct err *dsession_compile(struct dsession *s, const struct compile_opts *opts,
			     const struct compile_env *env, enum source_kind kind, const char *name,
			     const char *text, size_t len, enum spec_context ctx, int argc,
			     char **argv, struct prog **ret_prog)
{
	struct session_mark mark = session_mark(s);
	uint32_t types = types_mark(s->types);
	struct hashmap *wide;
	struct check c = {0};
	struct strbuf source = {0};
	enum d_layer outer;
	struct err *e = source_preprocess(opts, kind, name, text, len, &source);

	if (e) {
		strbuf_deinit(&source);
		return e;
	}
	outer = session_set_layer(s, opts->layer);
	wide = hashmap_create();
	do {
		struct parse_input in = {.context = ctx, .argc = argc, .argv = argv};

		in.src = source_add(s->sources, kind, name, strbuf_text(&source), source.len,
				    opts->layer != LAYER_PROGRAM);
		c = (struct check){.wide = wide, .is_repeated = c.has_widened};
		check_init(&c, s, opts, env);
		e = compile_text(&c, &in, &mark, types, ret_prog);
	} while (c.has_widened && !e);
	strbuf_deinit(&source);
	hashmap_destroy(wide);
	session_set_layer(s, outer);
	return e;
}
