/* SPDX-License-Identifier: MIT */
/*
 * Clauses: checks probe descriptions, predicates and statements, and lowers the result.
 *
 * Each description of a list makes a clause of its own, checked on a fresh copy of the tree,
 * because args[] may have other types there (d-language.md 2.5).
 */
#include "d/check/check_impl.h"
#include "d/parse/desc_hint.h"
#include "d/lower/lower.h"

/* Limits of the loops of ustack helpers: iterations of a loop, and loops inside one another. */
#define LOOP_MOST    65536u
#define LOOPS_NESTED 8u

/* ---- which actions exclude each other (d-language.md 5.1, 8.4) -------------------------- */

/* What the current run of statements without 'if' contains so far. */
struct block_rules {
	bool commits, records, exits;
};

/*
 * What may have run before the current statement. A clause makes one record: data recorded before
 * speculate(), or after the block in which speculate() stands, would go into the wrong buffer.
 */
struct path_rules {
	bool records;
	bool speculates;     /* speculate() stands in this block or in one around it */
	bool has_spec_block; /* a block with speculate() has ended */
};

struct clause_build {
	struct check *c;
	struct act_build *first, **tail;
	uint32_t nacts;
	LIST(struct act_build *) ends; /* jumps to the end of the clause */
	struct block_rules seen;
	struct path_rules path;
	uint32_t nloops;	  /* around the current statement */
	bool speculates, records; /* in any statement of the clause */
};

static void rule_check(struct check *c, bool broken, enum dtag tag, struct span at,
		       const char *what)
{
	if (broken)
		check_error(c, tag, at, "%s", what);
}

static void check_action_rules(struct clause_build *b, const struct subr *subr, struct span at)
{
	struct check *c = b->c;
	struct block_rules *seen = &b->seen;
	struct path_rules *path = &b->path;
	bool may_speculate = path->speculates || path->has_spec_block;

	if (subr->code == ACT_COMMIT) {
		rule_check(c, seen->records, D_COMM_DREC, at,
			   "commit( ) may not follow data-recording action(s)");
		seen->commits = true;
	} else if (subr->code == ACT_SPECULATE) {
		rule_check(c, may_speculate, D_SPEC_SPEC, at,
			   "speculate( ) may not follow speculate( )");
		rule_check(c, seen->commits, D_SPEC_COMM, at,
			   "speculate( ) may not follow commit( )");
		rule_check(c, seen->records || path->records, D_SPEC_DREC, at,
			   "speculate( ) may not follow data-recording action(s)");
		path->speculates = b->speculates = true;
	} else if (subr->code == ACT_DEAD) {
		rule_check(c, path->speculates, D_AGG_SPEC, at,
			   "dead( ) may not follow speculate( )");
	} else if (subr->code == ACT_EXIT) {
		rule_check(c, may_speculate, D_EXIT_SPEC, at,
			   "exit( ) may not follow speculate( )");
		seen->exits = true;
	} else if (subr->flags & SUBR_DESTRUCTIVE) {
		rule_check(c, path->speculates, D_ACT_SPEC, at,
			   "destructive actions may not follow speculate( )");
	}
	if (subr->flags & SUBR_RECORDS) {
		rule_check(c, seen->commits, D_DREC_COMM, at,
			   "data-recording actions may not follow commit( )");
		rule_check(
			c, path->has_spec_block, D_SPEC_DREC, at,
			"data-recording actions may not follow a block with speculate( ): make them a "
			"clause of their own");
		seen->records = path->records = b->records = true;
	}
}

static void check_agg_rules(struct clause_build *b, struct span at)
{
	rule_check(b->c, b->seen.commits, D_AGG_COMM, at, "aggregations may not follow commit( )");
	rule_check(b->c, b->path.speculates, D_AGG_SPEC, at,
		   "aggregations may not follow speculate( )");
	b->seen.records = true;
}

/* ---- statements ------------------------------------------------------------------------- */

static struct act_build *act_new(struct clause_build *b, enum act_kind kind, struct span at)
{
	struct act_build *act = ARENA_NEW(b->c->arena, struct act_build);

	act->act.kind = kind;
	act->act.span = at.off;
	return act;
}

static void act_add(struct clause_build *b, struct act_build *act)
{
	*b->tail = act;
	b->tail = &act->next;
	b->nacts++;
}

static void check_action(struct clause_build *b, const struct subr *subr, struct expr *e)
{
	struct act_build *act = act_new(b, (enum act_kind)subr->code, e->span);

	if (!subr->check(b->c, e, &act->act))
		return;
	check_action_rules(b, subr, e->span);
	if (subr_use(b->c, subr, e->span))
		act_add(b, act);
}

static const struct expr *agg_target(const struct expr *e)
{
	while (e->kind == EXPR_INDEX)
		e = e->index.base;
	return e->kind == EXPR_AGG ? e : NULL;
}

static void check_agg_stmt(struct clause_build *b, struct expr *e)
{
	struct act_build *act = act_new(b, ACT_AGG, e->span);

	if (!check_agg_assign(b->c, e, &act->act))
		return;
	check_agg_rules(b, e->span);
	act_add(b, act);
}

/*
 * In `COUNTS ? @calls[probefunc] = count() : 1;` a constant condition chooses an operand, and that
 * operand may be anything that a statement may be. The other operand is not checked.
 */
static struct expr *stmt_choose(struct check *c, struct expr *e)
{
	while (e->kind == EXPR_COND) {
		struct expr *arm = check_cond_const(c, e);

		if (!arm)
			break;
		e = arm;
	}
	return e;
}

static void check_stmts(struct clause_build *b, struct stmt **stmts, uint32_t n);

/* Checks the statements of the block in place of the statement that is a call of it. */
static void check_block_use(struct clause_build *b, struct ident *id, struct expr *call)
{
	struct block_use use;

	if (!block_begin(b->c, id, call, &use))
		return;
	check_stmts(b, use.body, id->block.nbody);
	block_end(b->c, id, &use);
}

static void check_expr_stmt(struct clause_build *b, struct expr *e)
{
	const struct subr *subr;
	struct act_build *act;
	struct ident *block;

	e = stmt_choose(b->c, e);
	block = block_called(b->c, e);
	if (block) {
		check_block_use(b, block, e);
		return;
	}
	subr = call_subr(b->c, e);
	if (subr && subr->class == SUBR_ACTION) {
		check_action(b, subr, e);
		return;
	}
	if (e->kind == EXPR_ASSIGN && agg_target(e->binary.l)) {
		check_agg_stmt(b, e);
		return;
	}
	if (e->kind == EXPR_AGG) {
		check_error(b->c, D_AGG_NULL, e->span,
			    "expression statement has null effect: @%s is not assigned anything",
			    e->agg.name);
		return;
	}
	act = act_new(b, ACT_EXPR, e->span);
	e = check_expr(b->c, e);
	if (expr_is_bad(e))
		return;
	act_arg(b->c, &act->act, e, DATUM_INT);
	act_add(b, act);
}

static struct act_build *act_jump(struct clause_build *b, enum act_kind kind, struct span at)
{
	struct act_build *act = act_new(b, kind, at);

	act_add(b, act);
	return act;
}

/* Warns of a condition such as /x = 5/. */
static void assign_warn(struct check *c, const struct expr *e)
{
	if (e->kind == EXPR_ASSIGN && e->binary.op == OP_NONE &&
	    (e->binary.r->kind == EXPR_INT || e->binary.r->kind == EXPR_STR))
		diag_warn(c->diags, D_PRED_ASSIGN, e->span,
			  "'=' assigns a constant, so this condition is always the same");
}

/*
 * exit() lets the statements that follow it run, up to the next 'if' or the end of the block: on
 * systems that make clauses of the parts between, no later clause of a firing runs after exit().
 */
static void leave_if_exited(struct clause_build *b, struct span at)
{
	if (b->seen.exits)
		list_push(b->c->arena, &b->ends, act_jump(b, ACT_JMP, at));
}

/* Checks the statements of a block: one operand of an 'if'. */
static void check_block(struct clause_build *b, struct stmt **stmts, uint32_t n, struct span at,
			bool is_untaken)
{
	b->seen = (struct block_rules){0};
	b->c->nuntaken += is_untaken;
	check_stmts(b, stmts, n);
	b->c->nuntaken -= is_untaken;
	leave_if_exited(b, at);
}

/* Checks one of the operands of an 'if' as if it were all. */
static void check_chosen(struct clause_build *b, struct stmt *s, bool is_true)
{
	if (is_true)
		check_block(b, s->then_body, s->nthen, s->span, false);
	else
		check_block(b, s->else_body, s->nelse, s->span, false);
	b->seen = (struct block_rules){0};
}

/*
 *     BRZ condition -> else        BRZ condition -> end
 *     then statements              then statements
 *     JMP -> end               end:
 *   else:
 *     else statements
 *   end:
 */
static void check_if(struct clause_build *b, struct stmt *s)
{
	struct path_rules before = b->path, then;
	struct act_build *brz, *jmp;
	struct expr *cond;

	assign_warn(b->c, s->e);
	cond = check_expr_or(b->c, s->e, D_OP_SCALAR);
	leave_if_exited(b, s->span);
	if (b->c->opts->skips_excluded && expr_is_const(b->c, cond)) {
		check_chosen(b, s, cond->ival.val != 0);
		return;
	}
	brz = act_jump(b, ACT_BRZ, cond->span);
	if (!expr_is_bad(cond) && !type_is_condition(b->c->types, cond->type))
		check_error(b->c, D_OP_SCALAR, cond->span,
			    "condition of if must be of scalar type, not \"%s\"",
			    type_text(b->c, cond->type));
	act_arg(b->c, &brz->act, cond, DATUM_INT);
	check_block(b, s->then_body, s->nthen, s->span, expr_is_zero(b->c, cond));
	then = b->path;
	b->path = before;
	if (s->nelse) {
		jmp = act_jump(b, ACT_JMP, s->span);
		brz->act.target = b->nacts;
		check_block(b, s->else_body, s->nelse, s->span,
			    expr_is_const(b->c, cond) && cond->ival.val);
		jmp->act.target = b->nacts;
	} else {
		brz->act.target = b->nacts;
	}
	b->seen = (struct block_rules){0};
	b->path.records |= then.records;
	b->path.has_spec_block |= then.has_spec_block;
	if (!before.speculates)
		b->path.has_spec_block |= then.speculates || b->path.speculates;
	b->path.speculates = before.speculates;
}

/* Reports a bound of a loop that is no constant from 1 to LOOP_MOST; returns it. */
static uint32_t loop_bound(struct check *c, struct stmt *s)
{
	struct expr *most = s->most = check_expr(c, s->most);

	if (expr_is_bad(most))
		return 1;
	if (expr_is_const(c, most) && most->ival.val >= 1 && most->ival.val <= LOOP_MOST)
		return (uint32_t)most->ival.val;
	check_error(c, D_OP_INT, most->span,
		    "a loop runs at most a constant number of times, from 1 to %u", LOOP_MOST);
	return 1;
}

/*
 *     LOOP
 *   head:
 *     BRZ condition -> end
 *     statements
 *     AGAIN -> head
 *   end:
 */
static void check_while(struct clause_build *b, struct stmt *s)
{
	struct act_build *loop = act_jump(b, ACT_LOOP, s->span), *brz, *again;
	struct expr *cond;

	loop->act.loop.most = loop_bound(b->c, s);
	loop->act.loop.depth = b->nloops;
	loop->act.loop.head = b->nacts;
	if (b->nloops == LOOPS_NESTED)
		check_error(b->c, D_SYNTAX, s->span, "at most %u loops may stand in one another",
			    LOOPS_NESTED);
	cond = check_expr_or(b->c, s->e, D_OP_SCALAR);
	if (!expr_is_bad(cond) && !type_is_condition(b->c->types, cond->type))
		check_error(b->c, D_OP_SCALAR, cond->span,
			    "condition of while must be of scalar type, not \"%s\"",
			    type_text(b->c, cond->type));
	brz = act_jump(b, ACT_BRZ, cond->span);
	act_arg(b->c, &brz->act, cond, DATUM_INT);
	b->nloops++;
	check_stmts(b, s->then_body, s->nthen);
	b->nloops--;
	again = act_jump(b, ACT_AGAIN, s->span);
	again->act.loop = loop->act.loop;
	brz->act.target = b->nacts;
}

static void check_stmts(struct clause_build *b, struct stmt **stmts, uint32_t n)
{
	for (uint32_t i = 0; i < n && diags_count(b->c->diags) < DIAG_MAX; i++) {
		b->c->speculates = b->path.speculates;
		if (stmts[i]->kind == STMT_IF)
			check_if(b, stmts[i]);
		else if (stmts[i]->kind == STMT_WHILE)
			check_while(b, stmts[i]);
		else
			check_expr_stmt(b, stmts[i]->e);
	}
}

/* ---- lowering --------------------------------------------------------------------------- */

/*
 * The number of actions that the action is in the numbering of faults (d-language.md 7.1), which
 * counts each recorded value.
 */
static uint32_t act_weight(const struct prog_act *act)
{
	if (act->kind == ACT_JMP || act->kind == ACT_LOOP || act->kind == ACT_AGAIN)
		return 0;
	if (act->kind == ACT_AGG && act->nargs == act->agg->nkeys)
		return act->nargs + 1; /* count() has no value, but is an action */
	return MAX(act->nargs, 1);
}

static void lower_acts(struct clause_build *b, struct prog_clause *clause)
{
	struct check *c = b->c;
	struct act_build *act = b->first;
	uint32_t number = 1;

	clause->acts = ARENA_NEW_N(c->arena, struct prog_act, b->nacts + 1);
	clause->nacts = b->nacts;
	for (uint32_t i = 0; i < b->nacts; i++, act = act->next) {
		struct prog_act *out = &clause->acts[i];

		*out = act->act;
		out->number = number;
		number += act_weight(out);
		out->args = ARENA_NEW_N(c->arena, struct difo *, out->nargs + 1);
		for (uint32_t k = 0; k < out->nargs; k++)
			out->args[k] = lower_expr(c, act->exprs[k]);
		clause->records |= act_is_recording(out->kind);
	}
}

/* ---- a clause --------------------------------------------------------------------------- */

/* The clause's trees, copied for one description. */
struct clause_trees {
	struct expr *pred;
	struct stmt **body;
	uint32_t nbody;
};

static struct clause_trees trees_clone(struct check *c, const struct decl *d)
{
	return (struct clause_trees){
		.pred = expr_clone(c->arena, d->clause.pred),
		.body = stmts_clone(c->arena, d->clause.body, d->clause.nbody),
		.nbody = d->clause.nbody,
	};
}

static void clause_build_init(struct clause_build *b, struct check *c)
{
	*b = (struct clause_build){.c = c};
	b->tail = &b->first;
}

/* guard: of a derived probe, checked; or NULL */
static void check_pred(struct check *c, struct clause_trees *t, struct expr *guard)
{
	if (!t->pred) {
		t->pred = guard;
		return;
	}
	diag_set_where(c->diags, DIAG_IN_PREDICATE);
	c->speculates = false; /* check_body() may have run before and set it */
	c->in_predicate = true;
	assign_warn(c, t->pred);
	t->pred = check_expr_or(c, t->pred, D_PRED_SCALAR);
	if (!expr_is_bad(t->pred) && !type_is_condition(c->types, t->pred->type))
		check_error(c, D_PRED_SCALAR, t->pred->span,
			    "predicate result must be of scalar type, not \"%s\"",
			    type_text(c, t->pred->type));
	c->in_predicate = false;
	if (!expr_is_bad(t->pred))
		t->pred = expr_and(c, guard, t->pred);
}

static void check_body(struct clause_build *b, struct clause_trees *t)
{
	struct check *c = b->c;
	int64_t val;
	/* only $target without such a process makes a difference there */
	bool is_untaken = c->lacks_target && t->pred && check_const(c, t->pred, &val) && !val;

	diag_set_where(c->diags, DIAG_IN_ACTIONS);
	c->nuntaken += is_untaken;
	check_stmts(b, t->body, t->nbody);
	c->nuntaken -= is_untaken;
	for (uint32_t i = 0; i < b->ends.len; i++)
		b->ends.data[i]->act.target = b->nacts;
}

/*
 * Checks the actions first, so that the predicate may use variables that they introduce. When the
 * actions fail because a variable is not defined, checks again with the predicate first
 * (d-language.md 2.5). The guard of a derived probe runs before both, and introduces variables that
 * its arguments use.
 */
static struct clause_trees check_parts(struct check *c, struct clause_build *b,
				       const struct decl *d)
{
	struct attempt attempt = attempt_begin(c);
	struct clause_trees t = trees_clone(c, d);
	struct expr *guard = derived_pred(c);

	clause_build_init(b, c);
	check_body(b, &t);
	if (!t.pred || c->nundef == attempt.nundef) {
		check_pred(c, &t, guard);
		return t;
	}
	attempt_undo(c, &attempt);
	t = trees_clone(c, d);
	clause_build_init(b, c);
	guard = derived_pred(c);
	check_pred(c, &t, guard);
	check_body(b, &t);
	return t;
}

static const char *desc_text(struct check *c, const struct probe_desc *d)
{
	if (d->id)
		return arena_printf(c->arena, "%u", d->id);
	return arena_printf(c->arena, "%s:%s:%s:%s", d->prov, d->mod, d->func, d->name);
}

static struct probe_desc desc_of(const struct pspec *spec)
{
	return (struct probe_desc){
		.prov = spec->prov,
		.mod = spec->mod,
		.func = spec->func,
		.name = spec->name,
		.id = spec->id,
		.texts = spec->texts,
	};
}

void check_specs_named(struct check *c, const struct decl *d)
{
	for (uint32_t i = 0; d->kind == DECL_CLAUSE && i < d->clause.nspecs; i++) {
		struct probe_desc desc = desc_of(&d->clause.specs[i]);

		if (c->env->named)
			c->env->named(c->env->ctx, &desc);
	}
}

/*
 * What to write instead of a description that matches nothing, as far as its text tells; or NULL.
 */
static const char *text_hint(struct check *c, const struct decl *d, const struct pspec *spec)
{
	bool is_last = spec == &d->clause.specs[d->clause.nspecs - 1];

	if (is_last && d->clause.joined)
		return arena_printf(c->arena,
				    "a blank ends a description: write '?' in its place: %s",
				    d->clause.joined);
	return desc_foreign_hint(c->arena, spec->text);
}

void check_unmatched(struct check *c, const struct decl *d, const struct pspec *spec)
{
	const struct probe_desc desc = desc_of(spec);
	const char *hint = text_hint(c, d, spec);

	if (!hint && c->env->hint)
		hint = c->env->hint(c->env->ctx, &desc);
	check_error(c, D_PDESC_ZERO, spec->span, "probe description %s does not match any probes",
		    desc_text(c, &desc));
	if (hint)
		diag_hint(c->diags, "%s", hint);
}

static void check_match(struct check *c, const struct decl *d, const struct pspec *spec)
{
	const struct probe_desc wanted = desc_of(spec), *desc = &wanted;
	uint32_t count = 1;
	struct err *e = NULL;

	if (c->env->match)
		e = c->env->match(c->env->ctx, desc, &count);
	if (e) {
		bool is_tagged =
			err_get_code(e) >= DTAG_CODE(0) && err_get_code(e) < DTAG_CODE(D_NTAGS);

		check_error(c,
			    is_tagged ? (enum dtag)(err_get_code(e) - DTAG_CODE(0)) : D_PDESC_INVAL,
			    spec->span, "invalid probe description \"%s\": %s", spec->text,
			    err_text(e));
		if (err_get_hint(e))
			diag_hint(c->diags, "%s", err_get_hint(e));
		err_destroy(e);
	} else if (count == 0 && desc->id) {
		check_error(c, D_PDESC_INVAL, spec->span,
			    "invalid probe identifier %u: Unknown probe identifier", desc->id);
	} else if (count) {
		absent_note_found(c, spec);
	} else if (!c->opts->zdefs && !absent_note(c, d, spec)) {
		check_unmatched(c, d, spec);
	}
}

/*
 * The probes for which a clause is checked: those of the description that are placed (derived is
 * NULL), or one declared probe by way of one of its sources.
 */
struct clause_target {
	struct decl *d;
	const struct pspec *spec;
	const struct derivation *derived;
	const struct probe_desc *source;
	/* the clause was checked before, for another source of probes with the same description */
	bool is_again;
};

static struct probe_desc derived_desc(const struct derived_info *info)
{
	return (struct probe_desc){info->prov, "", "", info->name, 0, false, 0};
}

static void check_for_target(struct check *c, const struct clause_target *to)
{
	struct prog_clause *clause = ARENA_NEW(c->arena, struct prog_clause);
	uint32_t nerrors = diags_count(c->diags), ntrouble = c->ntrouble;
	struct decl *d = to->d;
	const struct derivation *part;
	struct clause_trees t;
	struct clause_build b;

	clause->desc = desc_of(to->spec);
	clause->span = to->spec->span.off;
	clause->text_clause = d->clause.specs[0].span.off;
	if (to->derived && to->derived->src->code) {
		clause->code_source = to->derived->src->code->number;
	} else if (to->derived) {
		clause->desc = derived_desc(&to->derived->probe->info);
		clause->derived = to->derived->probe->info.order;
		clause->source = *to->source;
		part = privilege_system_part(to->derived);
		if (part && !part->probe->info.is_in_processes) {
			clause->system_prov = part->probe->info.prov;
			clause->system_name = part->probe->info.name;
		}
	}
	clause->is_again = to->is_again;
	c->desc = &clause->desc;
	c->derived = to->derived;
	c->source = to->source;
	c->attr = (struct attr)ATTR_STABLE; /* of the language itself */
	c->destructive = false;
	c->uses_task = false;
	t = check_parts(c, &b, d);
	if (diags_count(c->diags) == nerrors && c->ntrouble == ntrouble) {
		if (t.pred)
			clause->pred = lower_expr(c, t.pred);
		lower_acts(&b, clause);
		if (diags_count(c->diags) == nerrors) /* else some of the code is missing */
			(void)privilege_check_reads(c, clause, to->spec->span);
		clause->is_default = d->clause.nbody == 0 || (b.speculates && !b.records);
		clause->records |= clause->is_default;
		clause->destructive = c->destructive;
		clause->ignores_task = !c->uses_task;
		clause->attr[0] = c->attr.name;
		clause->attr[1] = c->attr.data;
		clause->attr[2] = c->attr.class;
		clause->index = c->session->nclauses++;
		vec_push(&c->clauses, clause);
	}
	c->desc = NULL;
	c->derived = NULL;
	c->source = NULL;
	diag_set_where(c->diags, DIAG_NOWHERE);
}

static bool check_for_source(struct check *c, void *ctx, const struct derivation *top,
			     const struct probe_desc *source)
{
	struct clause_target *to = ctx;
	uint32_t nerrors = diags_count(c->diags);

	to->derived = top;
	to->source = source;
	if (!privilege_check_probe(c, top, source, to->spec->span))
		return false;
	check_for_target(c, to);
	to->is_again = true;
	return diags_count(c->diags) == nerrors;
}

/*
 * Checks the clause for probes that processes bring along themselves, and for those that are not
 * to be had here. There are none yet, so it is no error if the clause makes no sense for a probe
 * without types.
 */
static void check_for_coming(struct check *c, const struct clause_target *plain)
{
	struct attempt attempt = attempt_begin(c);

	check_for_target(c, plain);
	if (diags_count(c->diags) != attempt.nerrors || c->ntrouble != attempt.ntrouble)
		attempt_undo(c, &attempt);
}

/*
 * Checks the clause once for all placed probes, and once for each source of each declared probe.
 * Where a probe of processes is declared, a process with one of its own may begin later.
 */
static void check_for_spec(struct check *c, struct decl *d, const struct pspec *spec)
{
	struct probe_desc desc = desc_of(spec);
	const struct derived_info *info;
	struct clause_target plain = {.d = d, .spec = spec};
	uint32_t nplain = 0, nerrors = diags_count(c->diags), i = 0;

	for (; c->env->derived && (info = c->env->derived(c->env->ctx, &desc, i, &nplain)); i++) {
		struct clause_target to = plain;

		if (diags_count(c->diags) == nerrors)
			(void)derived_walk(c, derived_probe(info), check_for_source, &to);
		plain.is_again |= info->is_in_processes; /* these have the same description */
	}
	if (diags_count(c->diags) != nerrors)
		return;
	if (absent_has(c, spec))
		check_for_coming(c, &plain);
	else if (!privilege_check_desc(c, &desc, spec->span))
		return;
	else if (nplain || !i)
		check_for_target(c, &plain);
	else if (plain.is_again)
		check_for_coming(c, &plain);
}

/* Whether the predicate is a name that is the constant 0, or begins with one and an &&. */
static bool clause_is_excluded(struct check *c, const struct decl *d)
{
	struct expr *first = d->clause.pred;
	int64_t val;

	if (!c->opts->skips_excluded || !first)
		return false;
	while (first->kind == EXPR_BINARY && first->binary.op == OP_LAND)
		first = first->binary.l;
	return first->kind == EXPR_IDENT && check_const(c, first, &val) && !val;
}

/*
 * The body of a clause is not checked when one of its descriptions matches nothing: the types of
 * args[] are not known then.
 */
void check_clause(struct check *c, struct decl *d)
{
	uint32_t nerrors = diags_count(c->diags);
	/* the first word of what may be meant as one description has failed and named this one */
	bool is_told = d->clause.is_rest && c->blank_failed;

	if (clause_is_excluded(c, d))
		return;
	for (uint32_t i = 0; i < d->clause.nspecs && !is_told; i++)
		check_match(c, d, &d->clause.specs[i]);
	is_told |= diags_count(c->diags) != nerrors;
	c->blank_failed = is_told && d->clause.joined;
	/* an error in the body would be reported again for each further description */
	for (uint32_t i = 0; i < d->clause.nspecs && !is_told; i++) {
		check_for_spec(c, d, &d->clause.specs[i]);
		is_told = diags_count(c->diags) != nerrors;
	}
	if (is_told)
		clause_poison(c, d);
}
