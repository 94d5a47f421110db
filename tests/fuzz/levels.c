/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: script text of a user with levels through the whole front end. The last byte chooses
 * the levels. What compiles names no probe, variable, function or action that needs another level,
 * and nothing about the task or the memory of others where it is not the user's.
 *
 * A session without dtrace_kernel must not learn where D's own memory lies. So what compiles, and
 * is not refused by addresses_are_told(), is run in two interpreters, which have their memory at
 * different addresses: whatever is recorded, decided, or divided by must be the same in both.
 */
#include <inttypes.h>

#include "../unit/d/check_eval.h"
#include "dif/address.h"
#include "privilege/needs.h"
#include "privilege/privilege.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint32_t choices[] = {
	LEVEL_USER,
	LEVEL_USER | LEVEL_PROC,
	LEVEL_USER | LEVEL_PROC | LEVEL_KERNEL,
	LEVEL_USER | LEVEL_PROC | LEVEL_PROC_OWNER,
};

/* ---- what a program names -------------------------------------------------------------------- */

/* As match/clauses.c finds it: the level that one of the probes of a description needs. */
static uint32_t level_lacking(void *ctx, const struct probe_desc *desc, const char **ret_name)
{
	const struct check_env *t = ctx;

	for (uint32_t i = 0; i < ARRAY_LEN(fake_probes); i++) {
		uint32_t level = need_of_provider(fake_probes[i].prov).level;

		if (fake_matches(desc, &fake_probes[i]) &&
		    privileges_lack(t->opts.privileges, level)) {
			*ret_name = fake_probes[i].prov;
			return level;
		}
	}
	return 0;
}

/* The names of actions as D spells them; NULL: it is none of the language. */
static const char *const act_names[] = {
#define ACT_INNER(id, ...)	  [ACT_##id] = NULL,
#define ACT_RECORD(id, name, ...) [ACT_##id] = #name,
#define ACT_PROBE(id, name, ...)  [ACT_##id] = #name,
#define ACT_VALUE(id, ...)	  [ACT_##id] = NULL,
#include "dif/acts.def"
};

static void need_check(const struct privileges *p, const char *name, struct need need,
		       bool is_anybody, bool is_dtrace)
{
	if (privileges_lack(p, need.level))
		BUG("'%s' needs %s", name, level_word((enum privilege_level)need.level));
	if (privileges_lack(p, LEVEL_PROC_OWNER) && need.is_about_task && is_anybody)
		BUG("'%s' where the task may be another user's", name);
	if (privileges_lack(p, LEVEL_PROC_OWNER) && need.is_about_memory && is_dtrace)
		BUG("'%s' where the memory is dtrace's", name);
}

static void insn_check(const struct privileges *p, dif_insn insn, bool is_anybody, bool is_error,
		       bool is_dtrace)
{
	enum dif_op op = DIF_INSN_OP(insn);
	enum dif_form form = dif_op_form(op);
	const char *name = NULL;

	if (form == DIF_FORM_CALL) {
		name = dif_subr_name(DIF_INSN_INDEX(insn));
		if (name && need_of_call(name).is_known)
			need_check(p, name, need_of_call(name), is_anybody, is_dtrace);
	} else if (form == DIF_FORM_LDV && dif_op_scope(op) == DIF_SCOPE_GLOBAL &&
		   DIF_INSN_INDEX(insn) < DIF_VAR_USER) {
		name = dif_builtin_name(DIF_INSN_INDEX(insn));
		/* arguments of ERROR are about the fault */
		is_anybody &= !(is_error && name && strncmp(name, "arg", 3) == 0 && name[4] == 0);
		if (name)
			need_check(p, name, need_of_variable(name), is_anybody, is_dtrace);
	}
}

static void difo_check(const struct privileges *p, const struct difo *d, bool is_anybody,
		       bool is_error, bool is_dtrace)
{
	for (uint32_t i = d->trusted_len; i < d->code_len; i++)
		insn_check(p, d->code[i], is_anybody, is_error, is_dtrace);
}

static void clause_check(const struct privileges *p, const struct prog_clause *cl)
{
	const struct probe_desc *at = cl->derived ? &cl->source : &cl->desc;
	bool is_tick = strcmp(at->prov, "profile") == 0 && strncmp(at->name, "tick-", 5) == 0;
	bool is_error = strcmp(at->name, "ERROR") == 0;
	bool is_dtrace = strcmp(at->name, "BEGIN") == 0 || strcmp(at->name, "END") == 0;
	struct clause_difo of = {0};

	while (clause_each_difo(cl, &of))
		difo_check(p, of.difo, is_tick || is_error, is_error, is_dtrace);
	for (uint32_t i = 0; i < cl->nacts; i++) {
		const char *name = act_names[cl->acts[i].kind];

		if (name && need_of_call(name).is_known)
			need_check(p, name, need_of_call(name), is_tick || is_error, is_dtrace);
	}
}

/* ---- what it tells --------------------------------------------------------------------------- */

/* One of the two: a session of its own, whose texts lie elsewhere as well. */
struct side {
	struct eval v;
	struct prog *prog;
	bool differs; /* of the first: it has faulted elsewhere than the other */
	char *room;   /* keeps the memory of the other side from being at the same distance */
};

static void value_compare(struct side s[2], const struct prog_act *act, uint32_t k,
			  const struct dif_result r[2])
{
	const struct difo *d = act->args[k];
	bool is_memory = act->arg_kinds && act->arg_kinds[k] == DATUM_MEMORY;
	char text[2][512];
	uint32_t len;

	if (act->kind == ACT_EXPR || is_memory)
		return;
	if (act->kind == ACT_BRZ) {
		if (!r[0].value != !r[1].value)
			BUG("a condition tells of an address");
		return;
	}
	if (d->ret.kind == DIF_KIND_STRING) {
		if (dif_machine_text(s[0].v.machine, r[0].value, text[0], &len) &&
		    dif_machine_text(s[1].v.machine, r[1].value, text[1], &len) &&
		    strcmp(text[0], text[1]) != 0)
			BUG("a string tells of an address: '%s', '%s'", text[0], text[1]);
		return;
	}
	if (!dif_type_is_byref(&d->ret) && r[0].value != r[1].value)
		BUG("a value tells of an address: %" PRIx64 ", %" PRIx64, r[0].value, r[1].value);
}

/*
 * Whether both go on with the clause. A divisor is 0 in both; other faults may be where memory
 * ends, so that nothing can be compared any more if they differ.
 */
static bool both_go_on(struct side s[2], const struct dif_result r[2])
{
	if ((r[0].fault == DIF_FAULT_DIVZERO && !r[1].fault) ||
	    (r[1].fault == DIF_FAULT_DIVZERO && !r[0].fault))
		BUG("a divisor tells of an address");
	s[0].differs |= r[0].fault != r[1].fault;
	return !r[0].fault && !r[1].fault;
}

static bool both_run(struct side s[2], const struct difo *a, const struct difo *b,
		     struct dif_result r[2])
{
	r[0] = dif_run(s[0].v.machine, a);
	r[1] = dif_run(s[1].v.machine, b);
	return both_go_on(s, r);
}

static void clauses_compare(struct side s[2], uint32_t i)
{
	const struct prog_clause *a = s[0].prog->clauses[i], *b = s[1].prog->clauses[i];
	struct dif_result r[2];

	if (a->pred) {
		if (!both_run(s, a->pred, b->pred, r))
			return;
		if (!r[0].value != !r[1].value)
			BUG("a predicate tells of an address");
		if (!r[0].value)
			return;
	}
	for (uint32_t n = 0; n < a->nacts; n++) {
		const struct prog_act *act = &a->acts[n];

		if (act->kind == ACT_JMP) {
			n = act->target - 1;
			continue;
		}
		r[0].value = 1;
		for (uint32_t k = 0; k < act->nargs; k++) {
			if (!both_run(s, act->args[k], b->acts[n].args[k], r))
				return;
			value_compare(s, act, k, r);
		}
		if (act->kind == ACT_BRZ && !r[0].value)
			n = act->target - 1;
	}
}

static void sides_compare(struct side s[2])
{
	for (int i = 0; i < 2; i++) {
		struct dif_env env = dif_env_none;
		const struct dif_machine_opts opts = {.strsize = 256};

		env.ctx = &s[i].v;
		env.builtin = eval_builtin;
		s[i].room = xmalloc(i ? 48 * 1024 + 80 : 16);
		s[i].v.machine = dif_machine_create(&env, &opts);
	}
	for (uint32_t i = 0; i < s[0].prog->nclauses && !s[0].differs; i++) {
		dif_machine_begin_firing(s[0].v.machine, 1);
		dif_machine_begin_firing(s[1].v.machine, 1);
		clauses_compare(s, i);
	}
}

/* ---- the target ------------------------------------------------------------------------------ */

static bool side_compile(struct side *s, const struct privileges *p, const char *text, size_t len)
{
	static char *argv[] = {"fuzz.d"};
	struct err *e;
	bool is_good;

	check_env_init(&s->v.env);
	s->v.env.opts.privileges = p;
	s->v.env.env.lacks = level_lacking;
	e = dsession_compile(s->v.env.session, &s->v.env.opts, &s->v.env.env, SOURCE_FILE, "fuzz.d",
			     text, len, SPEC_CTX_NAME, 1, argv, &s->prog);
	is_good = !e && s->v.env.opts.strsize == 256 && !s->v.env.opts.is_helper;
	err_destroy(e);
	return is_good;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	CLEANUP(free) char *text = NULL;
	struct privileges p = {.uid = 1000, .gid = 1000};
	struct side s[2] = {0};
	const char *how;
	uint32_t span;
	bool is_good;

	if (!size)
		return 0;
	text = xmalloc(size);
	memcpy(text, data, size);
	p.levels = choices[data[size - 1] % ARRAY_LEN(choices)];
	is_good = side_compile(&s[0], &p, text, size - 1);
	for (uint32_t i = 0; is_good && i < s[0].prog->nclauses; i++)
		clause_check(&p, s[0].prog->clauses[i]);
	if (is_good && privileges_lack(&p, LEVEL_KERNEL) &&
	    !addresses_are_told(s[0].prog->clauses, s[0].prog->nclauses, &span, &how) &&
	    side_compile(&s[1], &p, text, size - 1) && s[1].prog->nclauses == s[0].prog->nclauses)
		sides_compare(s);
	for (int i = 0; i < 2; i++) {
		free(s[i].room);
		if (s[i].v.env.session)
			eval_deinit(&s[i].v);
	}
	return 0;
}
