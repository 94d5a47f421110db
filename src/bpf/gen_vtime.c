/* SPDX-License-Identifier: MIT */
/*
 * vtimestamp: the time a thread has run, without the time that its probes took (d-language.md
 * 4.2).
 *
 * The kernel keeps the time of a task up to the last update of its run queue, and the time of that
 * update:
 *
 *     sum_exec_runtime + (now - exec_start)
 *
 * "now" is the clock of the run queue, which no helper reads. It is the scheduler's clock without
 * the time that interrupts and the hypervisor took on this CPU, which is clock - clock_task and
 * after an hour differs between CPUs by seconds. The scheduler's clock differs from CLOCK_MONOTONIC
 * by a constant, which cancels out when two values are subtracted. So
 *
 *     vtimestamp = sum_exec_runtime - exec_start + clock_task - clock + timestamp - probe time
 *
 * Probe time is the first word of the thread's block of self-> variables. In sessions that read
 * vtimestamp, each firing adds to it the time from its claim of a machine state to its end. The
 * time that the kernel takes to get to a probe is not included.
 *
 * Two things would make the sum jump by some milliseconds. A timer interrupt between two of the
 * reads changes only those after it: the sum is therefore computed twice, and a third time when the
 * first two differ. And the run queue learns only with the next timer interrupt how much time the
 * hypervisor took, so that the sum is too large until then: a sum below the thread's latest value,
 * the second word of its block, is raised to that value. vtimestamp never goes back.
 */
#include "bpf/gen.h"
#include "bpf/engine.h"

#define PROBE_TIME 0 /* offsets in the thread's block */
#define LATEST	   8

/* r0 = u64 at r0 + off */
static void member_load(struct gen *g, uint32_t off)
{
	if (g->env->use_task_btf)
		em_load(&g->e, 8, R0, R0, (int32_t)off);
	else
		gen_read_kernel_u64(g, off);
}

/* A term of the sum: a member of the task, or a member reached by following pointers from there. */
struct term {
	int op;
	struct {
		const char *strct, *path; /* NULL: not used */
	} of[3];
};

/* clang-format off */
static const struct term terms[] = {
	{ BPF_ADD, { { "task_struct", "se.sum_exec_runtime" } } },
	{ BPF_SUB, { { "task_struct", "se.exec_start" } } },
	{ BPF_ADD, { { "task_struct", "se.cfs_rq" }, { "cfs_rq", "rq" }, { "rq", "clock_task" } } },
	{ BPF_SUB, { { "task_struct", "se.cfs_rq" }, { "cfs_rq", "rq" }, { "rq", "clock" } } },
};
/* clang-format on */
#define NREQUIRED 2 /* the other terms cannot be reached in a kernel without task groups */

/* FRAME_KEY += or -= the term */
static struct err *emit_term(struct gen *g, const struct term *t)
{
	struct emitter *e = &g->e;
	uint32_t offs[ARRAY_LEN(t->of)], n = 0;

	for (; n < ARRAY_LEN(t->of) && t->of[n].strct; n++) {
		struct err *err = kfield_offset(t->of[n].strct, t->of[n].path, &offs[n]);

		if (err)
			return err;
	}
	em_helper(e,
		  g->env->use_task_btf ? HELPER_GET_CURRENT_TASK_BTF : BPF_FUNC_get_current_task);
	for (uint32_t i = 0; i < n; i++)
		member_load(g, offs[i]);
	em_load(e, 8, R1, R10, FRAME_KEY);
	em_alu_reg(e, t->op, R1, R0);
	em_store(e, 8, R10, FRAME_KEY, R1);
	return NULL;
}

/* A function: r0 = the sum of the terms. */
static void emit_sum(struct gen *g, uint32_t arg)
{
	struct emitter *e = &g->e;

	(void)arg;
	em_store_imm(e, 8, R10, FRAME_KEY, 0);
	for (uint32_t i = 0; i < ARRAY_LEN(terms); i++) {
		struct err *err = emit_term(g, &terms[i]);

		if (err && i < NREQUIRED)
			gen_fail(g, "vtimestamp: %s", err_text(err));
		err_destroy(err);
	}
	em_load(e, 8, R0, R10, FRAME_KEY);
	em_exit(e);
}

/* r0 = the sum of the terms, all read between the same two timer interrupts */
static void gen_sum(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t sum = gen_func(g, "vtimestamp", emit_sum, 0), same = em_label(e);

	em_call_func(e, sum);
	em_store(e, 8, R10, FRAME_KEY, R0);
	em_call_func(e, sum);
	em_load(e, 8, R1, R10, FRAME_KEY);
	em_jmp_reg(e, BPF_JEQ, R0, R1, same);
	em_call_func(e, sum);
	em_here(e, same);
}

void gen_vtimestamp(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t none = em_label(e), later = em_label(e);

	gen_sum(g);
	em_store(e, 8, R10, FRAME_KEY, R0);
	gen_timestamp(g);
	em_load(e, 8, R1, R10, FRAME_KEY);
	em_alu_reg(e, BPF_ADD, R0, R1);
	em_load(e, 8, R1, R10, FRAME_TLS);
	em_jmp_imm(e, BPF_JEQ, R1, 0, none);
	em_load(e, 8, R2, R1, PROBE_TIME);
	em_alu_reg(e, BPF_SUB, R0, R2);
	em_load(e, 8, R2, R1, LATEST);
	em_jmp_reg(e, BPF_JGE, R0, R2, later);
	em_mov(e, R0, R2);
	em_here(e, later);
	em_store(e, 8, R1, LATEST, R0);
	em_here(e, none);
}

/* Notes the time at which the firing begins. */
void gen_vtime_begin(struct gen *g)
{
	if (!g->l->counts_vtime)
		return;
	em_helper(&g->e, BPF_FUNC_ktime_get_ns);
	gen_mach_store(g, 8, offsetof(struct rt_mach, timestamp), R0);
}

/* Adds the time since then to the thread's probe time; an interrupt may do the same in between. */
void gen_vtime_end(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t none = em_label(e);

	if (!g->l->counts_vtime)
		return;
	gen_tls_create(g);
	em_jmp_imm(e, BPF_JEQ, R0, 0, none);
	em_store(e, 8, R10, FRAME_TLS, R0);
	em_helper(e, BPF_FUNC_ktime_get_ns);
	gen_mach_load(g, 8, R1, offsetof(struct rt_mach, timestamp));
	em_alu_reg(e, BPF_SUB, R0, R1);
	em_load(e, 8, R1, R10, FRAME_TLS);
	em_atomic(e, BPF_ADD, R1, PROBE_TIME, R0);
	em_here(e, none);
}
