/* SPDX-License-Identifier: MIT */
/*
 * Probes declared in D that are made of other probes (d-language.md 2.9,
 * doc/guide/own-provider.md).
 *
 *     probe p(int n) = syscall::read:return /arg0 > 0/ (arg0),
 *                      syscall::write:return /arg0 > 0/ (arg0);
 *
 * A clause on such a probe is compiled once for each of its sources: it runs where the source is
 * placed, behind the guard of the source, with the source's expressions in place of arg0 and
 * args[0]. A source may describe a declared probe again; a chain of struct derivation then leads
 * from the probe that the clause names to a probe that a provider places.
 *
 * A probe in code of processes has sources of the form pid:FILE:FUNCTION:entry (return, returned),
 * or usdt:FILE:PROVIDER:PROBE, which is a probe that the file has itself. FUNCTION-BYTES is the
 * function whose code begins with these bytes. The registry makes its probes when a description
 * names processes; each has the number of its source, and a clause is compiled once for each source
 * that it could run for.
 *
 * Which of several alternatives ("||") is taken is decided when a program first uses the probe: the
 * first alternative whose sources all exist here and have the arguments that guards and expressions
 * need.
 */
#include "base/text.h"
#include "d/check/check_impl.h"

/* ---- expressions of a source ----------------------------------------------------------------- */

/*
 * A checked copy of an expression of a source: in it, args[] are the arguments of the probes that
 * the source describes.
 */
static struct expr *source_value(struct check *c, const struct derivation *dv, const struct expr *e)
{
	struct binding *bindings = c->bindings;
	const struct derivation *derived = c->derived;
	enum d_layer layer = session_set_layer(c->session, dv->probe->layer);
	bool is_trusted = privilege_trusts(c, dv);
	struct attr attr = c->attr;
	struct expr *value = expr_clone(c->arena, (struct expr *)(uintptr_t)e);

	if (!check_expansion(c, e->span, value, NULL))
		value = expr_bad(c, e->span);
	c->bindings = NULL;
	c->derived = dv->base;
	c->ntrusted += is_trusted;
	value = check_value(c, check_any(c, value));
	c->ntrusted -= is_trusted;
	c->derived = derived;
	c->bindings = bindings;
	c->attr = attr; /* the stability of the declared provider counts, not that of its sources */
	session_set_layer(c->session, layer);
	return value;
}

/* The argument of a source that lists no expressions: args[index] of the probes it describes. */
static struct expr *default_arg(struct check *c, const struct declared_source *src, uint32_t index)
{
	struct expr *e = expr_new(c, EXPR_INDEX, src->span, TYPE_NONE);

	e->index.base = expr_new(c, EXPR_IDENT, src->span, TYPE_NONE);
	e->index.base->ident.name = "args";
	e->index.subs = ARENA_NEW(c->arena, struct expr *);
	e->index.subs[0] = expr_new(c, EXPR_INT, src->span, TYPE_NONE);
	e->index.subs[0]->ival.val = index;
	e->index.subs[0]->ival.lit_type = TYPE_INT;
	e->index.nsubs = 1;
	return e;
}

bool arg_is_open(struct check *c, type_id type)
{
	return type_is_pointer(c->types, type) &&
	       type_is_void(c->types, type_deref(c->types, type));
}

/*
 * Native argument `index` of the declared probe, of its declared type; poison after reporting. An
 * open argument is of the type that the source gives, which decides on the translator.
 */
static struct expr *native_arg(struct check *c, const struct derivation *dv, uint32_t index,
			       struct span at)
{
	const struct declared_source *src = dv->src;
	struct expr *e =
		source_value(c, dv, src->has_args ? src->args[index] : default_arg(c, src, index));
	type_id type = dv->probe->args[index];

	if (expr_is_bad(e))
		return e;
	if (arg_is_open(c, type) && type_is_pointer(c->types, e->type))
		type = e->type;
	if (!convert_body(c, &e, type))
		return expr_fail(
			c, D_PROTO_ARG, src->has_args ? src->args[index]->span : src->span,
			"argument %u of probe %s:::%s is declared as \"%s\", the source gives \"%s\"",
			index, dv->probe->info.prov, dv->probe->info.name, type_text(c, type),
			type_text(c, e->type));
	if (type_is_pointer(c->types, type) && !type_same(c->types, e->type, type))
		e = expr_cast(c, e, type); /* a void * fits every pointer, and has no members */
	e->is_lvalue = false;
	e->span = at;
	return e;
}

struct expr *derived_args_ref(struct check *c, struct expr *e, uint64_t index)
{
	const struct derivation *dv = c->derived;
	const struct declared_probe *p = dv->probe;
	bool is_own = privilege_is_own_arg(c, dv, (uint32_t)index);
	struct expr *ref;

	if (index >= p->nxargs)
		return expr_fail(c, D_ARGS_IDX, e->span,
				 "index %lld is out of range for args[ ] of %s:::%s, which has %u",
				 (long long)index, p->info.prov, p->info.name, p->nxargs);
	if (!is_own && !privilege_check_arg(c, dv, (uint32_t)index, e->span))
		return expr_bad(c, e->span);
	c->nown += is_own;
	ref = native_arg(c, dv, p->map[index], e->span);
	c->nown -= is_own;
	if (expr_is_bad(ref))
		return ref;
	if (!type_same(c->types, p->args[p->map[index]], p->xargs[index]))
		ref = args_translated(c, e, index, ref, p->xargs[index]);
	else if (arg_is_open(c, p->xargs[index]))
		ref = expr_cast(c, ref, p->xargs[index]);
	return is_own ? own_value(c, ref, e->span) : ref;
}

struct expr *derived_arg_ref(struct check *c, struct ident *id, struct expr *e)
{
	const struct derivation *dv = c->derived;
	uint32_t index = id->id - DIF_VAR_ARG0;
	struct expr *value;

	attr_use(c, e->span, id->name, builtin_attr(c, id));
	if (index >= dv->probe->nargs)
		return expr_int(c, e->span, 0, TYPE_INT64);
	if (!privilege_check_arg(c, dv, index, e->span))
		return expr_bad(c, e->span);
	value = native_arg(c, dv, index, e->span);
	if (expr_is_bad(value))
		return value;
	if (type_is_string(c->types, value->type) && dv->probe->info.is_in_processes)
		return value;
	if (type_is_string(c->types, value->type))
		return expr_fail(c, D_ARGS_TYPE, e->span, "%s of %s:::%s is a string: use args[%u]",
				 id->name, dv->probe->info.prov, dv->probe->info.name, index);
	return expr_cast(c, value, TYPE_INT64);
}

struct expr *derived_copied(struct check *c, const struct expr *call)
{
	const struct derivation *dv = c->derived;
	const struct expr *arg = call->call.nargs == 1 ? call->call.args[0] : NULL;
	const struct ident *id = NULL;
	uint32_t index;

	if (dv && dv->probe->info.is_in_processes && arg && arg->kind == EXPR_IDENT)
		id = hashmap_finds(c->session->builtins, arg->ident.name);
	if (!id || id->id < DIF_VAR_ARG0 || id->id > DIF_VAR_ARG9)
		return NULL;
	index = id->id - DIF_VAR_ARG0;
	if (index >= dv->probe->nargs || !type_is_string(c->types, dv->probe->args[index]))
		return NULL;
	return native_arg(c, dv, index, call->span);
}

struct expr *expr_and(struct check *c, struct expr *l, struct expr *r)
{
	struct expr *e;

	if (!l || !r)
		return l ? l : r;
	e = expr_new(c, EXPR_BINARY, r->span, TYPE_INT);
	e->binary.op = OP_LAND;
	e->binary.l = l;
	e->binary.r = r;
	return e;
}

/*
 * The checked guard of a source as the session needs it; NULL: there is none. The D library says
 * with __task_is_own[] whether a second task is the user's.
 */
static struct expr *source_guard(struct check *c, const struct derivation *dv)
{
	const struct declared_source *src = dv->src;
	struct expr *guard = src->guard ? source_value(c, dv, src->guard) : NULL, *own;

	if (guard && !expr_is_bad(guard) && !type_is_condition(c->types, guard->type))
		guard = expr_fail(c, D_PRED_SCALAR, src->guard->span,
				  "a guard must be of scalar type, not \"%s\"",
				  type_text(c, guard->type));
	if ((guard && expr_is_bad(guard)) || !privilege_has_other(c, dv))
		return guard;
	own = default_arg(c, src, 0);
	own->index.base->ident.name = "__task_is_own";
	own->index.subs[0] = src->has_args ? src->args[0] : default_arg(c, src, 0);
	own = source_value(c, dv, own);
	return expr_is_bad(own) ? own : expr_and(c, guard, own);
}

/* The checked guards along a derivation, those of the innermost source first; NULL: no guard. */
static struct expr *derived_guard(struct check *c, const struct derivation *dv)
{
	struct expr *inner = dv->base ? derived_guard(c, dv->base) : NULL;
	struct expr *guard = source_guard(c, dv), *both;

	if (!guard)
		return inner;
	if (expr_is_bad(guard))
		return guard;
	both = expr_and(c, inner, guard);
	both->is_trusted = privilege_system_part(dv) == dv; /* they are the library's so far */
	return both;
}

struct expr *derived_pred(struct check *c)
{
	return c->derived ? derived_guard(c, c->derived) : NULL;
}

/* ---- walking from a declared probe to placed probes ------------------------------------------ */

typedef bool walk_fn(struct check *c, void *ctx, const struct derivation *top,
		     const struct probe_desc *source);

struct walk {
	struct check *c;
	walk_fn *func; /* false ends the walk */
	void *ctx;
	struct derivation *top;
};

static bool walk_probe(struct walk *w, const struct declared_probe *p, struct derivation *above);

static bool walk_source(struct walk *w, const struct declared_probe *p,
			const struct declared_source *src, struct derivation *above)
{
	struct derivation *dv = ARENA_NEW(w->c->arena, struct derivation);
	const struct compile_env *env = w->c->env;
	const struct derived_info *info;
	uint32_t nplain = 0;

	dv->probe = p;
	dv->src = src;
	if (above)
		above->base = dv;
	else
		w->top = dv;
	if (src->code)
		return w->func(w->c, w->ctx, w->top, &src->desc);
	for (uint32_t i = 0; (info = env->derived(env->ctx, &src->desc, i, &nplain)); i++)
		if (!walk_probe(w, derived_probe(info), dv))
			return false;
	dv->base = NULL;
	return !nplain || w->func(w->c, w->ctx, w->top, &src->desc);
}

static bool walk_probe(struct walk *w, const struct declared_probe *p, struct derivation *above)
{
	for (uint32_t i = p->first; i < p->end; i++)
		if (!walk_source(w, p, &p->sources[i], above))
			return false;
	return true;
}

bool derived_walk(struct check *c, const struct declared_probe *p, walk_fn *func, void *ctx)
{
	struct walk w = {.c = c, .func = func, .ctx = ctx};

	return walk_probe(&w, p, NULL);
}

/* ---- choosing the alternative ---------------------------------------------------------------- */

/* Checks guard and arguments as a clause would use them; false after reporting. */
static bool source_check(struct check *c, void *ctx, const struct derivation *top,
			 const struct probe_desc *source)
{
	uint32_t nerrors = diags_count(c->diags);

	c->derived = top;
	c->source = source;
	(void)derived_pred(c); /* diags_count() tells whether it failed */
	for (uint32_t i = 0; i < top->probe->nargs && diags_count(c->diags) == nerrors; i++)
		(void)native_arg(c, top, i, top->src->span);
	c->derived = NULL;
	c->source = NULL;
	return diags_count(c->diags) == nerrors;
}

/* Why no probe is found for a source, or NULL. */
static const char *source_lack(struct check *c, const struct declared_source *src)
{
	uint32_t n = 0;
	struct err *e = c->env->match(c->env->ctx, &src->desc, &n);
	const char *why = NULL;

	if (e)
		why = arena_printf(c->session->arena, "%s: %s", src->text, err_text(e));
	else if (!n)
		why = arena_printf(c->session->arena, "there is no probe %s", src->text);
	err_destroy(e);
	return why;
}

/* Why the alternative [p->first, p->end) cannot be used here, or NULL. */
static const char *alternative_lack(struct check *c, const struct declared_probe *p)
{
	struct attempt attempt = attempt_begin(c);
	const char *why = NULL;

	for (uint32_t i = p->first; i < p->end && !why; i++)
		why = source_lack(c, &p->sources[i]);
	if (!why && !derived_walk(c, p, source_check, NULL))
		why = arena_strdup(c->session->arena, diags_first_text(c->diags, attempt.nerrors));
	attempt_undo(c, &attempt);
	return why;
}

static void sources_choose(struct check *c, struct declared_probe *p)
{
	const char *lack = "";

	for (p->first = 0; p->first < p->nsources; p->first = p->end) {
		const char *why;

		p->end = p->first + 1;
		while (p->end < p->nsources && !p->sources[p->end].is_other)
			p->end++;
		why = alternative_lack(c, p);
		if (!why) {
			p->state = DERIVED_READY;
			return;
		}
		lack = arena_printf(c->session->arena, "%s%s%s", lack, *lack ? "; " : "", why);
	}
	p->state = DERIVED_LACKING;
	p->info.lack = lack;
	p->info.reason = p->reason;
}

/* Whether a clause can name p: the compile that declared it has not failed. */
static bool is_live(const struct dsession *s, const struct declared_probe *p)
{
	const struct declared_provider *pv = hashmap_finds(s->providers, p->info.prov);

	return pv && hashmap_finds(pv->probes, p->info.name) == p;
}

const struct code_source *dsession_code_source(struct dsession *s, uint32_t i, bool *ret_is_live)
{
	const struct code_source *code = i < s->code_sources.len ? s->code_sources.data[i] : NULL;

	*ret_is_live = code && is_live(s, derived_probe(code->probe));
	return code;
}

struct derived_info *dsession_derived(struct dsession *s, uint32_t i)
{
	return i < s->derived.len ? &s->derived.data[i]->info : NULL;
}

bool dsession_derive(struct dsession *s, const struct compile_opts *opts,
		     const struct compile_env *env, struct derived_info *info)
{
	struct declared_probe *p = derived_probe(info);
	struct probe_desc desc = {info->prov, "", "", info->name, 0, false, 0};
	struct check c = {0};

	if (p->info.is_in_processes || !is_live(s, p))
		return false;
	if (p->state != DERIVED_UNKNOWN)
		return p->state == DERIVED_READY;
	p->state = DERIVED_ASKED;
	check_init(&c, s, opts, env);
	c.desc = &desc;
	sources_choose(&c, p);
	check_deinit(&c);
	arena_destroy(c.arena);
	return p->state == DERIVED_READY;
}

#define CODE_PROVIDER "pid"  /* functions of processes */
#define NOTE_PROVIDER "usdt" /* probes that files have themselves */

/* ---- declaring ------------------------------------------------------------------------------- */

static bool source_declare(struct check *c, const struct probe_decl *pd,
			   const struct source_decl *sd, const struct declared_probe *p,
			   struct declared_source *src)
{
	if (sd->has_args && sd->nargs != p->nargs) {
		check_error(c, D_PROTO_LEN, sd->span,
			    "probe %s has %u argument%s, this source gives %u", pd->name, p->nargs,
			    PLURAL(p->nargs), sd->nargs);
		return false;
	}
	*src = (struct declared_source){
		.desc = {sd->spec.prov, sd->spec.mod, sd->spec.func, sd->spec.name, sd->spec.id,
			 true, 0},
		.text = sd->spec.text,
		.guard = sd->guard,
		.args = sd->args,
		.has_args = sd->has_args,
		.is_other = sd->is_other,
		.span = sd->span,
	};
	return true;
}

static bool is_code_provider(const char *prov)
{
	return strcmp(prov, CODE_PROVIDER) == 0 || strcmp(prov, NOTE_PROVIDER) == 0;
}

static bool is_in_processes(const struct probe_decl *pd)
{
	for (uint32_t i = 0; i < pd->nsources; i++)
		if (!pd->sources[i].reason && is_code_provider(pd->sources[i].spec.prov))
			return true;
	return false;
}

static bool code_kind_of(const struct probe_desc *d, enum code_kind *ret)
{
	*ret = CODE_NOTE;
	if (strcmp(d->prov, NOTE_PROVIDER) == 0)
		return *d->name;
	*ret = strcmp(d->name, "entry") == 0	? CODE_ENTRY
	       : strcmp(d->name, "return") == 0 ? CODE_RETURN
						: CODE_RETURNED;
	return *ret != CODE_RETURNED || strcmp(d->name, "returned") == 0;
}

static bool is_same_code(const struct probe_desc *a, const struct probe_desc *b)
{
	return strcmp(a->prov, b->prov) == 0 && strcmp(a->mod, b->mod) == 0 &&
	       strcmp(a->func, b->func) == 0 && strcmp(a->name, b->name) == 0;
}

#define CODE_BYTES_MIN 8 /* which say which function it is */

/*
 * The digits behind the function's name in "FUNCTION-BYTES"; NULL: only a name, which may have a
 * dash itself (Go's "main.T.M-fm"), or a pattern.
 */
static const char *code_bytes_of(const struct probe_desc *d)
{
	const char *bytes = d->func + strcspn(d->func, "-[*?\\");

	if (*bytes++ != '-' || strcmp(d->prov, CODE_PROVIDER) != 0)
		return NULL;
	return strspn(bytes, "0123456789abcdef?") == strlen(bytes) && strlen(bytes) >= 8 ? bytes
											 : NULL;
}

static bool code_bytes_are_right(const char *bytes)
{
	size_t n = strlen(bytes);

	return n % 2 == 0 && n / 2 >= CODE_BYTES_MIN && bytes[0] != '?' && bytes[1] != '?';
}

/* Why the source cannot be one of a probe in code of processes, or NULL. */
static const char *code_source_wrong(const struct declared_probe *p, uint32_t i)
{
	const struct probe_desc *d = &p->sources[i].desc;
	const char *bytes = code_bytes_of(d);
	enum code_kind kind;

	if (!is_code_provider(d->prov))
		return "all sources of such a probe are in processes: " CODE_PROVIDER
		       ":FILE:FUNCTION:entry, " NOTE_PROVIDER ":FILE:PROVIDER:PROBE";
	if (p->sources[i].is_other)
		return "what is in processes cannot be chosen from by '||'";
	if (!*d->mod || !*d->func)
		return "a source in processes names a file, and a function or a provider";
	if (!code_kind_of(d, &kind))
		return "a source in processes is 'entry', 'return' or 'returned' of a function, or a probe";
	if (bytes && (bytes == d->func + 1 || !code_bytes_are_right(bytes)))
		return "a function that is known by its code is FUNCTION-BYTES: at least 8 bytes "
		       "in hexadecimal, with '?' for any digit but the first two";
	if (bytes && kind == CODE_RETURN)
		return "a function that is known by its code has 'entry' and 'returned', "
		       "because its end is not known";
	for (uint32_t k = 0; k < i; k++)
		if (is_same_code(&p->sources[k].desc, d))
			return "another source of this probe is the same";
	return NULL;
}

/*
 * Gives source number `index` of the probe its number in the session. When a program is compiled
 * again, its sources get the numbers that they had, because probes in processes that were found for
 * the first compile are known by them.
 */
static void code_source_add(struct check *c, const struct declared_probe *p, uint32_t index,
			    struct code_source *code)
{
	struct dsession *s = c->session;
	uint32_t nth = 0;

	for (uint32_t i = 0; c->is_repeated && i < s->code_sources.len; i++) {
		const struct derived_info *old = s->code_sources.data[i]->probe;

		if (strcmp(old->prov, p->info.prov) != 0 || strcmp(old->name, p->info.name) != 0 ||
		    nth++ != index)
			continue;
		code->number = i + 1;
		s->code_sources.data[i] = code;
		return;
	}
	code->number = s->code_sources.len + 1;
	vec_push(&s->code_sources, code);
}

static bool code_sources_declare(struct check *c, const struct probe_decl *pd,
				 struct declared_probe *p)
{
	for (uint32_t i = 0; i < p->nsources; i++) {
		struct declared_source *src = &p->sources[i];
		const char *why = code_source_wrong(p, i);
		struct code_source *code;

		if (why || !src->has_args) {
			check_error(c, D_PDESC_INVAL, pd->sources[i].span, "source %s of %s: %s",
				    src->text, pd->name,
				    why ? why : "a source in processes lists its arguments");
			return false;
		}
		code = ARENA_NEW(c->session->arena, struct code_source);
		*code = (struct code_source){
			.probe = &p->info,
			.mod = src->desc.mod,
			.func = src->desc.func,
			.name = src->desc.name,
			.is_of_system = p->layer == LAYER_SYSTEM,
		};
		(void)code_kind_of(&src->desc, &code->kind);
		code->bytes = code_bytes_of(&src->desc);
		if (code->bytes)
			code->func = arena_strndup(c->session->arena, src->desc.func,
						   strcspn(src->desc.func, "-"));
		code->is_counter = code->kind == CODE_NOTE && src->guard &&
				   src->guard->kind == EXPR_INT && !src->guard->ival.val;
		src->code = code;
		code_source_add(c, p, i, code);
	}
	p->info.is_in_processes = true;
	p->end = p->nsources;
	p->state = DERIVED_READY;
	return true;
}

/* The argtext.h text of an argument, for listings: "@1 native type : translated type". */
static const char *arg_text(struct check *c, const struct declared_probe *p, uint32_t i)
{
	const char *native = type_text(c, p->args[p->map[i]]), *shown = type_text(c, p->xargs[i]);

	if (type_same(c->types, p->args[p->map[i]], p->xargs[i]))
		return arena_printf(c->session->arena, "@%u %s", p->map[i], native);
	return arena_printf(c->session->arena, "@%u %s : %s", p->map[i], native, shown);
}

bool derived_declare(struct check *c, const struct declared_provider *pv,
		     const struct probe_decl *pd, struct declared_probe *p)
{
	struct arena *a = c->session->arena;
	const char **types = ARENA_NEW_N(a, const char *, p->nxargs + 1);

	if (!pd->nsources)
		return true;
	p->sources = ARENA_NEW_N(a, struct declared_source, pd->nsources);
	p->nsources = pd->nsources;
	if (pd->sources[p->nsources - 1].reason)
		p->reason = arena_strdup(a, pd->sources[--p->nsources].reason);
	for (uint32_t i = 0; i < p->nsources; i++)
		if (!source_declare(c, pd, &pd->sources[i], p, &p->sources[i]))
			return false;
	for (uint32_t i = 0; i < p->nxargs; i++)
		types[i] = arg_text(c, p, i);
	p->info = (struct derived_info){
		.prov = pv->name,
		.name = p->name,
		.types = types,
		.ntypes = p->nxargs,
		.attrs = pv->attrs,
		.order = c->session->derived.len + 1,
		.reason = p->nsources && !is_in_processes(pd) ? NULL : p->reason,
	};
	if (is_in_processes(pd) && !code_sources_declare(c, pd, p))
		return false;
	vec_push(&c->session->derived, p);
	return true;
}
