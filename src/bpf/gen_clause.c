/* SPDX-License-Identifier: MIT */
/* Clauses: predicate, actions, and the code that follows a fault. */
#include "bpf/gen.h"

/* Linux include/uapi/asm-generic/signal.h */
#define SIGNAL_STOP 19
#define SIGNAL_MAX  64

/* ---- enabled-probe id ----------------------------------------------------------------------- */

/* The probe indexes from, from + step, ... (n of them) have the ranks base, base + 1, ... */
struct run {
	uint32_t from, step, n, base;
};

static struct run run_at(const struct unit_clause *uc, uint32_t i)
{
	struct run r = {.from = uc->probe_idxs[i],
			.step = 1,
			.n = unit_clause_run(uc, i),
			.base = unit_clause_rank(uc, i)};

	if (r.n > 1)
		r.step = uc->probe_idxs[i + 1] - r.from;
	return r;
}

/* r0 = the rank of the probe index in r0, which is in the run. */
static void run_rank(struct gen *g, const struct run *r)
{
	struct emitter *e = &g->e;

	if (r->n == 1) {
		em_imm(e, R0, r->base);
		return;
	}
	em_alu_imm(e, BPF_SUB, R0, (int32_t)r->from);
	if (r->step > 1)
		em_alu_imm(e, BPF_DIV, R0, (int32_t)r->step);
	if (r->base)
		em_alu_imm(e, BPF_ADD, R0, (int32_t)r->base);
}

/* The same for an index in one of several runs, by a decision tree. */
static void runs_rank(struct gen *g, const struct run *runs, uint32_t nruns, uint32_t done)
{
	struct emitter *e = &g->e;
	uint32_t mid = nruns / 2, upper;

	if (nruns == 1) {
		run_rank(g, runs);
		em_ja(e, done);
		return;
	}
	upper = em_label(e);
	em_jmp_imm(e, BPF_JGE, R0, (int32_t)runs[mid].from, upper);
	runs_rank(g, runs, mid, done);
	em_here(e, upper);
	runs_rank(g, runs + mid, nruns - mid, done);
}

/*
 * r0 = the rank of the probe among those of the clause. Probes that a glob matches mostly have
 * indexes in arithmetic progression (all entries are every second index, the others are returns),
 * so that one or two comparisons are enough.
 */
void gen_epid(struct gen *g, const struct unit_clause *uc)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);
	VEC(struct run) runs = {0};

	for (uint32_t i = 0; i < uc->nprobes; i += vec_last(&runs)->n)
		vec_push(&runs, run_at(uc, i));
	if (uc->nprobes > 1)
		gen_mach_load(g, 4, R0, offsetof(struct rt_mach, probe_idx));
	if (runs.len)
		runs_rank(g, runs.data, runs.len, done);
	else
		em_imm(e, R0, 0);
	em_here(e, done);
	em_alu_imm(e, BPF_ADD, R0, (int32_t)uc->layout->first_epid);
	vec_deinit(&runs);
}

/* ---- actions -------------------------------------------------------------------------------- */

/*
 * Makes the action fail in a process of another user, where kill(2) would fail, too: the kernel's
 * helper sends signals to any process. A process counts as its real user's.
 */
static void signal_guard(struct gen *g, uint32_t action)
{
	struct ra_loc none = {.kind = RA_CONST};

	if (!g->env->signals_own)
		return;
	em_helper(&g->e, BPF_FUNC_get_current_uid_gid);
	em_jmp32_imm(&g->e, BPF_JNE, R0, (int32_t)g->env->uid,
		     gen_fault(g, DIF_FAULT_UPRIV, action, UINT32_MAX, none));
}

/* Sends the signal whose number is in r1 to the current process. */
static void signal_send(struct gen *g)
{
	em_helper(&g->e, BPF_FUNC_send_signal);
}

static void act_raise(struct gen *g, const struct prog_act *act)
{
	struct ra_loc none = {.kind = RA_CONST};

	signal_guard(g, act->number);
	gen_difo(g, act->args[0], act->number);
	em_jmp_imm(&g->e, BPF_JGT, R0, SIGNAL_MAX,
		   gen_fault(g, DIF_FAULT_ILLOP, act->number, UINT32_MAX, none));
	em_mov(&g->e, R1, R0);
	signal_send(g);
}

/* An action that calls a run-time function with one argument. */
static void act_rt(struct gen *g, const struct prog_act *act, const char *func)
{
	struct ra_loc none = {.kind = RA_CONST};

	gen_difo(g, act->args[0], act->number);
	em_mov(&g->e, R2, R0);
	gen_rt(g, func);
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(&g->e, BPF_JNE, R0, 0, gen_fault(g, 0, act->number, UINT32_MAX, none));
}

static void act_gen(struct gen *g, uint32_t i, const uint32_t *labels)
{
	const struct prog_act *act = &g->uc->layout->clause->acts[i];

	switch (act->kind) {
	case ACT_EXPR: gen_difo(g, act->args[0], act->number); return;
	case ACT_AGG: gen_agg(g, act); return;
	case ACT_JMP: em_ja(&g->e, labels[act->target]); return;
	case ACT_RAISE: act_raise(g, act); return;
	case ACT_STOP:
		signal_guard(g, act->number);
		em_imm(&g->e, R1, SIGNAL_STOP);
		signal_send(g);
		return;
	case ACT_CHILL: act_rt(g, act, "rt_chill"); return;
	case ACT_SPECULATE: gen_speculate(g, act); return;
	case ACT_COMMIT: act_rt(g, act, "rt_commit"); return;
	case ACT_DISCARD: act_rt(g, act, "rt_discard"); return;
	case ACT_DEAD: gen_dead(g, act); return;
#define ACT_RECORD(id, ...) case ACT_##id:
#include "dif/acts.def"
		gen_record_act(g, i);
		return;
	case ACT_BRZ:  /* gen_acts() */
	case ACT_LOOP: /* of ustack helpers only (helper/hcode.c) */
	case ACT_AGAIN:
	case ACT_UFRAME:
	case ACT_UNWIND:
#define ACT_VALUE(id, ...) case ACT_##id:
#include "dif/acts.def"
		break;
	}
	BUG("action kind %d reached code generation", (int)act->kind);
}

static void gen_acts(struct gen *g, struct acts *a, uint32_t first_cold)
{
	const struct prog_clause *c = a->c;

	for (uint32_t i = 0; i < c->nacts; i++) {
		const struct prog_act *act = &c->acts[i];
		bool goes_on = act->kind != ACT_JMP;

		em_here(&g->e, a->labels[i]);
		if (!a->reached[i])
			continue;
		if (act->kind == ACT_BRZ || act->kind == ACT_JMP)
			a->reached[act->target] = a->targets[act->target] = true;
		g->e.span = act->span ? act->span : c->span;
		gen_record_mark(g, i);
		if (act->kind == ACT_BRZ)
			goes_on = gen_difo_test(g, act->args[0], act->number, 0,
						a->labels[act->target]);
		else
			act_gen(g, i, a->labels);
		a->reached[i + 1] |= goes_on;
		acts_cut(g, a, i + 1, first_cold);
	}
	em_here(&g->e, a->labels[c->nacts]);
}

/* ---- a clause ------------------------------------------------------------------------------- */

void gen_fault_call(struct gen *g)
{
	em_mov(&g->e, R2, R9);
	em_imm(&g->e, R3, 0);
	em_call_func(&g->e, gen_func(g, "fault", gen_fault_func, 0));
}

static void gen_fault_tail(struct gen *g)
{
	struct emitter *e = &g->e;

	em_here(e, g->fault);
	if (!g->fault_used)
		return;
	g->e.span = g->uc->layout->clause->span;
	em_store_imm(e, 4, R9,
		     (int32_t)(offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, clause)),
		     (int32_t)g->uc->layout->clause->index);
	if (g->is_error_clause) {
		gen_count(g, offsetof(struct rt_cpu, dblerrors));
		em_store_imm(e, 4, R9,
			     (int32_t)(offsetof(struct rt_mach, fault) +
				       offsetof(struct rt_fault, kind)),
			     0);
		return;
	}
	gen_epid(g, g->uc);
	gen_mach_store(g, 4, offsetof(struct rt_mach, epid), R0);
	if (g->is_cut) {
		gen_part_fault(g);
		return;
	}
	em_load(e, 8, R1, R10, FRAME_CTX);
	gen_fault_call(g);
}

void gen_clause_tail(struct gen *g, uint32_t first_cold)
{
	gen_flush_cold(g, first_cold);
	gen_fault_tail(g);
}

/* Saves the text that strtok() of an earlier clause has left in scratch memory, which is freed. */
static void gen_keep_token(struct gen *g)
{
	uint32_t none = em_label(&g->e);

	gen_mach_load(g, 8, R0, offsetof(struct rt_mach, tok_rest));
	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, none);
	gen_rt(g, "rt_tok_keep");
	em_here(&g->e, none);
}

/* Sets the fields of the machine state with which a clause begins. */
static void gen_prologue(struct gen *g, const struct needs *n)
{
	struct emitter *e = &g->e;

	/* with blocks, addresses are compared with scratch memory of earlier clauses, too */
	if (n->scratch || g->l->facts.has_blocks) {
		if (g->needs.token)
			gen_keep_token(g);
		if (g->l->facts.has_blocks)
			gen_rt(g, "rt_block_keep");
		else
			em_store_imm(e, 4, R9, offsetof(struct rt_mach, scratch_top), 0);
	}
	if (n->epid) {
		gen_epid(g, g->uc);
		gen_mach_store(g, 4, offsetof(struct rt_mach, epid), R0);
	}
}

/*
 * Sets the identity of a declared probe that is made of the unit's: it has names of its own, and
 * its clause-local variables begin at zero, except those that its guard has set already. Where
 * clauses of the unit do not run for all of its probes, or a guard that they share has led past the
 * clause before, only the firing knows which clause ran before.
 */
static void gen_identity(struct gen *g, const struct unit_clause *uc,
			 const struct unit_clause *before, bool is_before_known, const bool *kept)
{
	const struct unit_identity *as = uc->as;
	bool is_same = before && as && before->as && before->as->probe == as->probe;
	uint32_t same = em_label(&g->e);

	if (!as || (is_before_known && is_same))
		return;
	if (!g->has_fixed_order || is_same) {
		gen_mach_load(g, 4, R0, offsetof(struct rt_mach, probe));
		em_jmp_imm(&g->e, BPF_JEQ, R0, (int32_t)as->probe, same);
	}
	em_store_imm(&g->e, 4, R9, offsetof(struct rt_mach, probe), (int32_t)as->probe);
	em_store_imm(&g->e, 4, R9, offsetof(struct rt_mach, probe_idx), (int32_t)as->probe_idx);
	for (uint32_t k = 0; k < 4; k++)
		if (g->needs.names >> k & 1)
			em_store_imm(&g->e, 4, R9,
				     (int32_t)(offsetof(struct rt_mach, names) + 4 * k),
				     (int32_t)as->names[k]);
	if (before || !g->has_fixed_order)
		gen_this_reset(g, NULL, kept);
	em_here(&g->e, same);
}

/* decided: how many instructions of the predicate have been executed before. */
static void gen_clause(struct gen *g, const struct unit_clause *uc, uint32_t decided)
{
	const struct prog_clause *c = uc->layout->clause;
	bool tls_early = g->l->tls_size && clause_reads_tls_early(g->l, c);
	uint32_t first_cold = g->cold.len;
	struct needs n = {0};
	struct acts a;

	g->uc = uc;
	g->fault = em_label(&g->e);
	g->fault_used = false;
	g->e.span = c->span;
	needs_of_clause(&n, g->l, uc->layout);
	gen_prologue(g, &n);
	if (tls_early)
		gen_tls_lookup(g);
	if (c->pred && !gen_difo_test(g, c->pred, 0, decided, g->out)) {
		/* the guards of some sources only note what they see, and are never true */
		gen_clause_tail(g, first_cold);
		return;
	}
	if (n.tls && g->l->tls_size && !tls_early)
		gen_tls_lookup(g);
	if (c->records)
		gen_record_begin(g);
	acts_init(g, &a, g->l->tls_size && (n.tls || tls_early));
	gen_acts(g, &a, first_cold);
	g->e.span = c->span;
	if (c->records)
		gen_record_end(g);
	if (g->cold.len > first_cold || a.begin)
		em_ja(&g->e, g->out);
	acts_end(g, &a);
	acts_deinit(&a);
	gen_clause_tail(g, first_cold);
}

/* Jumps to skip when bit `bit` of the mask in the frame is not set. */
static void mask_test(struct gen *g, uint32_t bit, uint32_t skip)
{
	em_load(&g->e, 4, R0, R10, FRAME_MASK + (bit >= 32 ? 4 : 0));
	em_alu_imm(&g->e, BPF_RSH, R0, (int32_t)(bit % 32));
	em_alu_imm(&g->e, BPF_AND, R0, 1);
	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, skip);
}

struct clause_cost *clause_cost(struct gen *g, const struct unit_clause *ucs, uint32_t i)
{
	return &g->costs[ucs == g->u->clauses ? i : g->u->nclauses + i];
}

bool clauses_may_exit(const struct gen *g, const struct unit_clause *ucs, uint32_t from,
		      uint32_t to)
{
	struct needs n = {0}, error = {0};

	if (!g->needs.exits)
		return false;
	for (uint32_t i = from; i < to; i++)
		needs_of_clause(&n, g->l, ucs[i].layout);
	for (uint32_t i = 0; n.faults && ucs == g->u->clauses && i < g->u->nerror_clauses; i++)
		needs_of_clause(&error, g->l, g->u->error_clauses[i].layout);
	return n.exits || error.exits;
}

void gen_jump_if_exited(struct gen *g, uint32_t label)
{
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, exits));
	em_jmp_imm(&g->e, BPF_JNE, R0, 0, label);
}

/* Leaves the clause in other processes than the one it is about. */
static void gen_process(struct gen *g, const struct unit_clause *uc)
{
	if (!uc->tgid)
		return;
	gen_pid_tgid(g);
	em_alu_imm(&g->e, BPF_RSH, R0, 32);
	em_jmp_imm(&g->e, BPF_JNE, R0, (int32_t)uc->tgid, g->out);
}

void gen_clauses(struct gen *g, const struct unit_clause *ucs, uint32_t from, uint32_t to,
		 const uint64_t *always)
{
	uint32_t done = em_label(&g->e);
	struct guards *guards = guards_create(g, ucs, from, to);

	for (uint32_t i = from; i < to && !g->err; i++) {
		bool is_closed = guards_close(g, guards, i);
		uint32_t insns = g->e.code->insns.len, branches = g->e.nbranches;

		g->out = em_label(&g->e);
		if (always && !(always[i / 64] >> (i % 64) & 1))
			mask_test(g, i % 64, g->out);
		gen_process(g, &ucs[i]);
		guards_open(g, guards, i);
		gen_identity(g, &ucs[i], i ? &ucs[i - 1] : NULL, g->has_fixed_order && !is_closed,
			     guards_kept(guards));
		gen_clause(g, &ucs[i], guards_decided(guards));
		em_here(&g->e, g->out);
		if (i + 1 < to && clauses_may_exit(g, ucs, i, i + 1))
			gen_jump_if_exited(g, done);
		*clause_cost(g, ucs, i) = (struct clause_cost){g->e.code->insns.len - insns,
							       g->e.nbranches - branches};
	}
	guards_destroy(g, guards);
	em_here(&g->e, done);
}
