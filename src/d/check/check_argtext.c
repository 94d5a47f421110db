/* SPDX-License-Identifier: MIT */
/*
 * Which arguments of probes a program reads as text.
 *
 * "syscall::open*:entry { trace(copyinstr(arg0)); }" was written for a system where open() has its
 * path in arg0, and "syscall::open*:entry { trace(copyinstr(arg1)); }" for Linux, where programs
 * call openat(). A pattern matches both calls; what the program reads as text tells which of them
 * its author had in mind (provider/syscall_names.c).
 *
 * The text of the program is looked at before anything is matched: for each pattern in the function
 * field, the arguments that clauses at entry probes pass to copyinstr() or stringof(), or assign to
 * a variable that any clause passes to these.
 */
#include "d/check/check_impl.h"

#define ARGS_MAX 32u /* bits of pspec.texts */

/* How the program uses probes whose function matches this pattern. */
struct arg_pattern {
	const char *func;
	uint32_t texts;
};

/* A clause at entry probes of a pattern assigns arg<arg> to this variable. */
struct arg_keeper {
	struct arg_pattern *pattern;
	const struct expr *name;
	uint32_t arg;
};

struct arg_scan {
	struct check *c;
	struct hashmap *patterns; /* function -> struct arg_pattern */
	VEC(struct arg_keeper) keepers;
	const struct decl *d; /* the clause that is looked at */
	bool is_second;	      /* keepers is complete, and what is read of them is looked for */
};

static bool is_pattern(const char *func)
{
	return strpbrk(func, "*?[") != NULL;
}

static bool is_entry_pattern(const struct pspec *spec)
{
	return is_pattern(spec->func) && strcmp(spec->name, "entry") == 0;
}

static const struct expr *cast_skip(const struct expr *e)
{
	while (e->kind == EXPR_CAST)
		e = e->cast.e;
	return e;
}

/* The number of the argument that e is, arg1 or args[1]; ARGS_MAX: it is none. */
static uint32_t arg_number(const struct expr *e)
{
	const char *name = e->kind == EXPR_IDENT ? e->ident.name : "";

	if (e->kind == EXPR_INDEX && e->index.nsubs == 1 && e->index.base->kind == EXPR_IDENT &&
	    strcmp(e->index.base->ident.name, "args") == 0 && e->index.subs[0]->kind == EXPR_INT)
		return (uint32_t)MIN(e->index.subs[0]->ival.val, (uint64_t)ARGS_MAX);
	if (strncmp(name, "arg", 3) == 0 && name[3] >= '0' && name[3] <= '9' && !name[4] &&
	    e->ident.scope == SCOPE_GLOBAL)
		return (uint32_t)(name[3] - '0');
	return ARGS_MAX;
}

/* The name of a variable, or of the array that e is an element of; NULL: it is neither. */
static const struct expr *variable_of(const struct expr *e)
{
	if (e->kind == EXPR_INDEX)
		e = e->index.base;
	return e->kind == EXPR_IDENT ? e : NULL;
}

static bool is_same_name(const struct expr *a, const struct expr *b)
{
	return a->ident.scope == b->ident.scope && strcmp(a->ident.name, b->ident.name) == 0;
}

static struct arg_pattern *pattern_get(struct arg_scan *s, const char *func)
{
	struct arg_pattern *p = hashmap_finds(s->patterns, func);

	if (!p) {
		p = ARENA_NEW(s->c->arena, struct arg_pattern);
		p->func = func;
		hashmap_sets(s->patterns, func, p);
	}
	return p;
}

static bool is_call_of(const struct expr *e, const char *name)
{
	return e->kind == EXPR_CALL && e->call.nargs > 0 && e->call.fn->kind == EXPR_IDENT &&
	       strcmp(e->call.fn->ident.name, name) == 0;
}

/* The address of which e makes a string; NULL: e makes none. */
static const struct expr *text_address(const struct expr *e)
{
	bool is_string = e->kind == EXPR_CAST && (e->cast.to->specs->flags & SPEC_STRING);
	const struct expr *of = is_string		   ? e->cast.e
				: e->kind == EXPR_STRINGOF ? e->unary.e
							   : NULL;

	if (is_call_of(e, "copyinstr"))
		return cast_skip(e->call.args[0]);
	if (!of)
		return NULL;
	of = cast_skip(of);
	return is_call_of(of, "copyin") ? cast_skip(of->call.args[0]) : of;
}

/* Notes that the program makes a string of what stands at the address. */
static void text_note(struct arg_scan *s, const struct expr *address)
{
	const struct expr *name = variable_of(address);
	uint32_t arg = arg_number(address);

	for (uint32_t i = 0; arg < ARGS_MAX && i < s->d->clause.nspecs; i++)
		if (is_entry_pattern(&s->d->clause.specs[i]))
			pattern_get(s, s->d->clause.specs[i].func)->texts |= 1u << arg;
	for (uint32_t i = 0; s->is_second && name && i < s->keepers.len; i++)
		if (is_same_name(s->keepers.data[i].name, name))
			s->keepers.data[i].pattern->texts |= 1u << s->keepers.data[i].arg;
}

static void keeper_note(struct arg_scan *s, const struct expr *name, uint32_t arg)
{
	for (uint32_t i = 0; i < s->d->clause.nspecs; i++)
		if (is_entry_pattern(&s->d->clause.specs[i]))
			vec_push(&s->keepers,
				 (struct arg_keeper){pattern_get(s, s->d->clause.specs[i].func),
						     name, arg});
}

static void scan_expr(struct expr **child, void *arg)
{
	struct arg_scan *s = arg;
	const struct expr *e = *child, *address = text_address(e);
	bool is_plain = e->kind == EXPR_ASSIGN && e->binary.op == OP_NONE;
	const struct expr *name = is_plain ? variable_of(e->binary.l) : NULL;
	uint32_t n = name ? arg_number(cast_skip(e->binary.r)) : ARGS_MAX;

	expr_each_child(*child, scan_expr, s);
	if (address)
		text_note(s, address);
	if (n < ARGS_MAX && !s->is_second)
		keeper_note(s, name, n);
}

static void scan_stmts(struct arg_scan *s, struct stmt *const *stmts, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (stmts[i]->e)
			scan_expr(&stmts[i]->e, s);
		scan_stmts(s, stmts[i]->then_body, stmts[i]->nthen);
		scan_stmts(s, stmts[i]->else_body, stmts[i]->nelse);
	}
}

static void scan_program(struct arg_scan *s, const struct ast *ast)
{
	for (uint32_t i = 0; i < ast->ndecls; i++) {
		struct decl *d = ast->decls[i];

		if (d->kind != DECL_CLAUSE)
			continue;
		s->d = d;
		if (d->clause.pred)
			scan_expr(&d->clause.pred, s);
		scan_stmts(s, d->clause.body, d->clause.nbody);
	}
}

static bool has_patterns(const struct ast *ast)
{
	for (uint32_t i = 0; i < ast->ndecls; i++)
		for (uint32_t k = 0;
		     ast->decls[i]->kind == DECL_CLAUSE && k < ast->decls[i]->clause.nspecs; k++)
			if (is_entry_pattern(&ast->decls[i]->clause.specs[k]))
				return true;
	return false;
}

void check_note_texts(struct check *c, const struct ast *ast)
{
	struct arg_scan s = {.c = c};

	if (!has_patterns(ast))
		return;
	s.patterns = hashmap_create();
	scan_program(&s, ast);
	s.is_second = true;
	if (s.keepers.len)
		scan_program(&s, ast);
	for (uint32_t i = 0; i < ast->ndecls; i++)
		for (uint32_t k = 0;
		     ast->decls[i]->kind == DECL_CLAUSE && k < ast->decls[i]->clause.nspecs; k++) {
			struct pspec *spec = &ast->decls[i]->clause.specs[k];
			const struct arg_pattern *p = hashmap_finds(s.patterns, spec->func);

			spec->texts = p ? p->texts : 0;
		}
	vec_deinit(&s.keepers);
	hashmap_destroy(s.patterns);
}
