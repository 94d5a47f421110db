/* SPDX-License-Identifier: MIT */
/*
 * The entry of units whose probes fire in tasks of the session's user only: whose task it is, and
 * the time that tasks of others lose to the question.
 */
#include "bpf/entry.h"
#include "bpf/engine.h"
#include "rt/others.h"

/* A timer that fires on whichever CPU, at whatever task: tick, as opposed to profile. */
static bool is_tick(const struct unit_probe *p)
{
	return p->timer && !p->timer->counter && p->timer->is_single;
}

static bool clause_ignores_task(const struct unit_clause *uc)
{
	return uc->layout->clause->ignores_task;
}

/*
 * Whether the probe fires whatever the task is: it is a tick, and none of its clauses, or of those
 * that run when one has failed, uses anything of the task.
 */
static bool fires_at_any(const struct unit *u, const struct unit_probe *p)
{
	if (!is_tick(p))
		return false;
	for (uint32_t i = 0; i < u->nclauses; i++)
		if (p->mask[i / 64] >> (i % 64) & 1 && !clause_ignores_task(&u->clauses[i]))
			return false;
	for (uint32_t i = 0; i < u->nerror_clauses; i++)
		if (!clause_ignores_task(&u->error_clauses[i]))
			return false;
	return true;
}

/* The process of the session is ended: on this CPU its budget is overdrawn (bpf/alarm.h). */
static void emit_alarm(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;

	em_load(e, 8, R1, R10, FRAME_CTX);
	em_map(e, R2, MAP_REF(MAP_ALARM, 0));
	em_imm(e, R3, ALARM_THIS_CPU);
	em_addr(e, R4, R10, (uint32_t)FRAME_TMP);
	em_imm(e, R5, 8);
	em_helper(e, BPF_FUNC_perf_event_output);
	em_ja(e, c->back);
}

/* Adds r1, in ns, to what others have lost on this CPU; r6 to r9 stay. */
static void others_add(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t skip = em_label(e);

	em_store(e, 8, R10, FRAME_TMP, R1);
	em_helper(e, BPF_FUNC_get_smp_processor_id);
	em_jmp_imm(e, BPF_JGE, R0, (int32_t)en->g->env->ncpus, skip);
	em_alu_imm(e, BPF_MUL, R0, sizeof(struct rt_cpu));
	em_map_value(e, R2, MAP_REF(MAP_CONTROL, 0), offsetof(struct rt_control, cpu));
	em_alu_reg(e, BPF_ADD, R2, R0);
	em_load(e, 8, R1, R10, FRAME_TMP);
	em_atomic(e, BPF_ADD, R2, (int16_t)offsetof(struct rt_cpu, others_ns), R1);
	if (en->g->env->has_alarm) {
		em_load(e, 8, R1, R2, offsetof(struct rt_cpu, others_ns));
		em_load(e, 8, R2, R2, offsetof(struct rt_cpu, others_most));
		em_jmp_reg(e, BPF_JGT, R1, R2,
			   gen_cold(en->g, (struct cold){.emit = emit_alarm, .back = skip}));
	}
	em_here(e, skip);
}

static void emit_refused(struct gen *g, const struct cold *c)
{
	struct entry *en = (struct entry *)(uintptr_t)c->arg;

	em_imm(&g->e, R1, en->traits->is_timer ? RT_REFUSAL_TIMER_NS : RT_REFUSAL_NS);
	others_add(en);
	em_ja(&g->e, en->quit);
}

/* System calls that no probe of the unit means: the program runs at them all the same. */
static void emit_missed(struct gen *g, const struct cold *c)
{
	struct entry *en = (struct entry *)(uintptr_t)c->arg;
	struct emitter *e = &g->e;
	uint32_t others = em_label(e);

	em_helper(e, BPF_FUNC_get_prandom_u32);
	em_alu_imm(e, BPF_AND, R0, RT_MISSED_EACH - 1);
	em_jmp_imm(e, BPF_JNE, R0, 0, en->quit);
	if (g->env->has_alarm)
		em_store(e, 8, R10, FRAME_CTX, R6);
	gen_task_own(g, others);
	em_ja(e, en->quit);
	em_here(e, others);
	em_imm(e, R1, RT_MISSED_EACH * RT_REFUSAL_NS);
	others_add(en);
	em_ja(e, en->quit);
}

uint32_t entry_missed_label(struct entry *en)
{
	if (!en->g->env->fires_own || !en->traits->is_syscall)
		return en->quit;
	return gen_cold(en->g, (struct cold){.emit = emit_missed, .arg = en});
}

/* A timer that fires whatever the task is interrupts it, and takes all its time from it. */
static void others_begin(struct entry *en, bool is_any)
{
	struct emitter *e = &en->g->e;

	if (is_any)
		em_helper(e, BPF_FUNC_ktime_get_ns);
	else
		em_imm(e, R0, 0);
	em_store(e, 8, R10, FRAME_BEGIN, R0);
}

void entry_others_end(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t own = em_label(e);

	if (!en->fires_at_any)
		return;
	em_load(e, 8, R1, R10, FRAME_BEGIN);
	em_jmp_imm(e, BPF_JEQ, R1, 0, own);
	em_helper(e, BPF_FUNC_ktime_get_ns);
	em_load(e, 8, R1, R10, FRAME_BEGIN);
	em_alu_reg(e, BPF_SUB, R0, R1);
	em_mov(e, R1, R0);
	em_alu_imm(e, BPF_ADD, R1, RT_REFUSAL_TIMER_NS);
	others_add(en);
	em_here(e, own);
}

/*
 * Leaves if the task is none of the session's user. The compiler has refused clauses of tick that
 * use something of the task (d/check/privileges.c); should there be one, it fires as others do.
 */
void entry_owner_check(struct entry *en)
{
	const struct unit *u = en->g->u;
	struct emitter *e = &en->g->e;
	uint32_t any = em_label(e), own = em_label(e);

	if (!en->g->env->fires_own || u->is_begin_end)
		return;
	if (en->g->env->has_alarm)
		em_store(e, 8, R10, FRAME_CTX, R6); /* clauses may use r6 */
	for (uint32_t i = 0; i < u->nprobes; i++)
		en->fires_at_any |= fires_at_any(u, &u->probes[i]);
	if (en->has_one_probe && en->fires_at_any) {
		others_begin(en, true);
		return;
	}
	for (uint32_t i = 0; i < u->nprobes && en->fires_at_any; i++) {
		if (!fires_at_any(u, &u->probes[i]))
			continue;
		em_load(e, 4, R1, R8, offsetof(struct rt_dispatch, probe));
		em_jmp_imm(e, BPF_JEQ, R1, (int32_t)u->probes[i].id.probe, any);
	}
	gen_task_own(en->g, gen_cold(en->g, (struct cold){.emit = emit_refused, .arg = en}));
	if (en->fires_at_any) {
		others_begin(en, false);
		em_ja(e, own);
		em_here(e, any);
		others_begin(en, true);
		em_here(e, own);
	}
}
