/* SPDX-License-Identifier: MIT */
/* Runs the clauses of helpers in the interpreter of DIF, over the memory of a process. */
#include <inttypes.h>

#include "arch/arch.h"
#include "helper/process_impl.h"

#define SCRATCH_SIZE (1u << 20) /* texts of a clause, such as the frames of a task */
#define STEPS_MAX    2000000u	/* actions of clauses that run one after the other */
#define FOREIGN_NS   100000000u /* time on a CPU for the clauses of a helper that is not trusted */

/* ---- built-in variables ---------------------------------------------------------------------- */

static enum dif_fault ureg_read(const struct process *p, uint64_t index, uint64_t *ret)
{
	uint32_t word = index < 36 ? arch.uregs[index / 12] >> (5 * (index % 12)) & 31 : 31;

	if (word == 31 || !p->frame || !(p->frame->known >> word & 1))
		return DIF_FAULT_ILLOP;
	*ret = p->frame->regs[word];
	return DIF_FAULT_NONE;
}

static enum dif_fault builtin_read(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	const struct process *p = ctx;
	const struct process_frame *f = p->frame;

	*ret = 0;
	if (id == DIF_VAR_PID)
		*ret = (uint64_t)target_pid(p->target);
	else if (id == DIF_VAR_UREGS)
		return ureg_read(p, index, ret);
	else if (!f)
		return DIF_FAULT_ILLOP;
	else if (id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9)
		*ret = id - DIF_VAR_ARG0 < ARRAY_LEN(f->args) ? f->args[id - DIF_VAR_ARG0] : 0;
	else if (id == DIF_VAR_TID)
		*ret = (uint64_t)f->tid;
	else if (id == DIF_VAR_PPID)
		*ret = (uint64_t)f->ppid;
	else if (id == DIF_VAR_UID)
		*ret = f->uid;
	else if (id == DIF_VAR_GID)
		*ret = f->gid;
	else if (id == DIF_VAR_EXECNAME)
		*ret = dif_machine_string(p->machine, f->execname);
	else if (id == DIF_VAR_EXECARGS)
		*ret = dif_machine_string(p->machine, f->execargs);
	else
		return DIF_FAULT_ILLOP;
	return DIF_FAULT_NONE;
}

/* ---- clauses --------------------------------------------------------------------------------- */

/* The reason of a fault, with its place. */
static char *fault_text(const struct process *p, uint32_t span, const struct dif_result *r)
{
	struct strbuf text = {0};
	char *copy;

	if (p->declined)
		return xstrdup(p->declined);
	helper_location(p->helper, span, &text);
	strbuf_adds(&text, ": ");
	if (process_is_late(p))
		strbuf_addf(&text, "its clauses run for more than %u ms", FOREIGN_NS / 1000000);
	else if (r->fault == DIF_FAULT_BADADDR)
		strbuf_addf(&text, "no memory at 0x%" PRIx64, r->fault_value);
	else if (r->fault == DIF_FAULT_DIVZERO)
		strbuf_adds(&text, "division by zero");
	else if (r->fault == DIF_FAULT_NOSCRATCH)
		strbuf_adds(&text, "no scratch memory is left");
	else if (r->fault != DIF_FAULT_NONE)
		strbuf_addf(&text, "fault %d (value 0x%" PRIx64 ")", (int)r->fault, r->fault_value);
	else
		strbuf_adds(&text, "its clauses run too long");
	copy = xstrdup(strbuf_text(&text));
	strbuf_deinit(&text);
	return copy;
}

/* Evaluates the predicate (act NULL), or an argument of an action. */
static struct dif_result value_run(struct process *p, const struct prog_clause *cl,
				   const struct prog_act *act, uint32_t k)
{
	const struct difo *d = act ? act->args[k] : cl->pred;
	struct dif_result r;

	if (p->hooks)
		p->hooks->begin(p->hooks->ctx, cl, act);
	r = dif_run(p->machine, d);
	if (p->hooks)
		p->hooks->value(p->hooks->ctx, act, k, d, &r);
	return r;
}

/* Goes to the action that follows: loops and jumps lead elsewhere. left: iterations of loops. */
static uint32_t act_next(const struct prog_act *act, uint32_t i, uint64_t value, uint32_t *left)
{
	uint32_t *mine = &left[act_holds(act->kind) == HOLDS_LOOP ? act->loop.depth % 8 : 0];

	if (act->kind == ACT_JMP || (act->kind == ACT_BRZ && !value))
		return act->target;
	if (act->kind == ACT_LOOP)
		*mine = act->loop.most - 1;
	if (act->kind == ACT_AGAIN && *mine) {
		--*mine;
		return act->loop.head;
	}
	return i + 1;
}

bool process_clause(struct process *p, const struct prog_clause *cl, uint32_t *left, char **ret_why)
{
	uint32_t loops[8] = {0};
	struct dif_result r = {0};
	const struct prog_act *act = NULL;

	if (cl->pred) {
		r = value_run(p, cl, NULL, 0);
		if (r.fault == DIF_FAULT_NONE && !r.value)
			return true;
	}
	for (uint32_t i = 0; i < cl->nacts && r.fault == DIF_FAULT_NONE;
	     i = act_next(act, i, r.value, loops)) {
		act = &cl->acts[i];
		for (uint32_t k = 0; k < act->nargs && r.fault == DIF_FAULT_NONE; k++)
			r = value_run(p, cl, act, k);
		if (!*left || process_is_late(p))
			break;
		--*left;
		if (p->hooks && r.fault == DIF_FAULT_NONE)
			p->hooks->done(p->hooks->ctx, act, &r);
	}
	if (r.fault == DIF_FAULT_NONE && *left && !process_is_late(p))
		return true;
	*ret_why = fault_text(p, act ? act->span : cl->span, &r);
	return false;
}

/* The value of the helper's global variable; 0: it has none of that name. */
static uint64_t number_find(struct process *p, const struct helper *h, const char *name)
{
	uint64_t value = 0;

	for (uint32_t i = 0; i < h->vars->len; i++) {
		const struct prog_var *v = h->vars->vars[i];

		if (v->scope == DIF_SCOPE_GLOBAL && strcmp(v->name, name) == 0)
			(void)process_global(p, v, &value, NULL);
	}
	return value;
}

bool process_attach(struct process *p, const struct helper *h, char **ret_why)
{
	const struct dif_env env = {.ctx = p,
				    .load_kernel = process_read,
				    .load_user = process_read,
				    .builtin = builtin_read,
				    .rand = dif_env_none.rand,
				    .progenyof = dif_env_none.progenyof,
				    .attach = process_subr};
	const struct dif_machine_opts opts = {.scratch_size = SCRATCH_SIZE};
	uint32_t left = STEPS_MAX;
	bool good = true;

	p->helper = h;
	p->program = process_program(p, h);
	p->deadline = h->is_foreign ? worked_ns() + FOREIGN_NS : 0;
	*ret_why = NULL;
	free(p->declined);
	p->declined = NULL;
	dif_machine_destroy(p->machine);
	p->machine = dif_machine_create(&env, &opts);
	dif_machine_begin_firing(p->machine, 0);
	process_set_fixed(p, h->fixed_if != NULL);
	for (uint32_t i = 0; i < h->prog->nclauses && good; i++)
		if (helper_clause_probe(h->prog->clauses[i]) == HELPER_ATTACH) {
			dif_machine_begin_clause(p->machine);
			good = process_clause(p, h->prog->clauses[i], &left, ret_why);
		}
	p->is_attached = good;
	if (good && h->fixed_if && !number_find(p, h, h->fixed_if))
		p->has_read_changing = true; /* the runtime has not written it yet */
	return good;
}

bool process_attach_values(struct process *p, const struct helper *h, char **ret_why)
{
	uint32_t left = STEPS_MAX;

	p->is_explored = true;
	for (uint32_t i = 0; i < h->values->nclauses; i++) {
		if (helper_clause_probe(h->values->clauses[i]) != HELPER_ATTACH)
			continue;
		dif_machine_begin_clause(p->machine);
		if (!process_clause(p, h->values->clauses[i], &left, ret_why))
			return false;
	}
	return true;
}

const struct helper *process_attached(const struct process *p)
{
	return p->is_attached ? p->helper : NULL;
}

bool process_global(struct process *p, const struct prog_var *v, uint64_t *ret, struct strbuf *text)
{
	const struct dif_var var = {.name = v->name,
				    .id = v->id,
				    .kind = DIF_VAR_SCALAR,
				    .scope = DIF_SCOPE_GLOBAL,
				    .type = v->type};
	struct dif_builder *b = dif_builder_create(p->arena);
	struct dif_result r;
	uint32_t len;

	dif_emit(b, dif_idx(DIF_OP_LDGS, v->id, 1));
	dif_note_var(b, &var);
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	r = dif_run(p->machine, dif_builder_finish(b, v->type));
	*ret = r.value;
	if (v->type.kind == DIF_KIND_STRING && text) {
		CLEANUP(free) char *buf = xcalloc(1, dif_machine_strsize(p->machine));

		if (dif_machine_text(p->machine, r.value, buf, &len))
			strbuf_add(text, buf, len);
	}
	return r.fault == DIF_FAULT_NONE;
}
