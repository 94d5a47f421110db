/* SPDX-License-Identifier: MIT */
/*
 * System calls in the form of others: finds the variant of a call, and the arguments of its view.
 *
 * openat() shown as open() has the path in arg0; clone() is fork() or lwp_create(), depending on
 * its flags. The key of variant n of a call is the key of the call, + n * RT_SYS_VARIANT.
 */
#include "arch/arch.h"
#include "bpf/entry.h"

/* ---- variants ------------------------------------------------------------------------------- */

static const uint32_t *arg_offs(bool is_compat)
{
	return is_compat ? arch.compat_args : arch.sys_args;
}

/* FRAME_TMP = 8 bytes of the task's memory at r3 + off, or 0 */
static void user_word_read(struct emitter *e, uint32_t off)
{
	if (off)
		em_alu_imm(e, BPF_ADD, R3, (int32_t)off);
	em_imm(e, R2, 8);
	em_addr(e, R1, R10, (uint32_t)FRAME_TMP);
	em_helper(e, BPF_FUNC_probe_read_user);
}

/* A return of 0 in a thread that is not the first one of its process is variant 1. */
static void emit_thread_variant(struct gen *g, const struct cold *c)
{
	struct emitter *e = &g->e;
	uint32_t other = em_label(e);

	em_load(e, 8, R1, R6, 8);
	em_jmp_imm(e, BPF_JNE, R1, 0, other);
	em_helper(e, BPF_FUNC_get_current_pid_tgid);
	em_mov(e, R1, R0);
	em_mov32(e, R0, R0);
	em_alu_imm(e, BPF_RSH, R1, 32);
	em_jmp_reg(e, BPF_JEQ, R0, R1, other);
	em_alu_imm(e, BPF_ADD, R8, RT_SYS_VARIANT);
	em_ja(e, c->back);
	em_here(e, other);
}

/* Adds the variant to the key in r8, which is the key of the probe c->arg. */
static void emit_variant(struct gen *g, const struct cold *c)
{
	const struct unit_probe *p = c->arg;
	const struct sys_split *split = p->view->split;
	bool is_compat = p->key & RT_SYS_COMPAT;
	struct emitter *e = &g->e;

	if (split->is_clone && place_table[g->u->place.kind].fills_err)
		emit_thread_variant(g, c);
	em_load(e, 8, R3, R6, 0);
	em_alu_imm(e, BPF_ADD, R3, (int32_t)arg_offs(is_compat)[split->arg]);
	em_imm(e, R2, 8);
	em_addr(e, R1, R10, (uint32_t)FRAME_TMP);
	em_helper(e, BPF_FUNC_probe_read_kernel);
	if (split->is_user) {
		em_load(e, is_compat ? 4 : 8, R3, R10, FRAME_TMP);
		user_word_read(e, 0);
	}
	em_load(e, 4, R1, R10, FRAME_TMP);
	for (uint32_t i = 0; i < ARRAY_LEN(split->masks); i++) {
		uint32_t next = em_label(e);

		em_mov(e, R2, R1);
		em_alu_imm(e, BPF_AND, R2, (int32_t)split->masks[i]);
		em_jmp_imm(e, BPF_JEQ, R2, 0, next);
		em_alu_imm(e, BPF_ADD, R8, (int32_t)((i + 1) * RT_SYS_VARIANT));
		em_ja(e, c->back);
		em_here(e, next);
	}
	em_ja(e, c->back);
}

bool sys_has_variants(const struct unit_probe *p)
{
	return p->view && p->view->split;
}

/* Whether a probe before the i-th one is of the same call. */
static bool is_call_seen(const struct unit *u, uint32_t i)
{
	for (uint32_t k = 0; k < i; k++)
		if (u->probes[k].key % RT_SYS_VARIANT == u->probes[i].key % RT_SYS_VARIANT)
			return true;
	return false;
}

/*
 * The key is compared in a copy that differs by a bit. If the verifier of the kernel knew from the
 * comparison which key r8 has, it would follow the rest of the program once for each variant.
 */
#define COPY_CHANGE 1

void sys_add_variant(struct entry *en)
{
	const struct unit *u = en->g->u;
	struct emitter *e = &en->g->e;
	uint32_t back = em_label(e);
	bool has_copy = false;

	for (uint32_t i = 0; i < u->nprobes; i++) {
		if (!sys_has_variants(&u->probes[i]) || is_call_seen(u, i))
			continue;
		if (!has_copy) {
			em_mov(e, R1, R8);
			em_alu_imm(e, BPF_XOR, R1, COPY_CHANGE);
			has_copy = true;
		}
		em_jmp_imm(e, BPF_JEQ, R1,
			   (int32_t)(u->probes[i].key % RT_SYS_VARIANT) ^ COPY_CHANGE,
			   gen_cold(en->g, (struct cold){.emit = emit_variant,
							 .arg = &u->probes[i],
							 .back = back}));
	}
	em_here(e, back);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Where the registers with the arguments are: at base + off. */
struct regs_at {
	int base;
	uint32_t off;
};

/* Loads all six: which of them are needed depends on the view. */
static struct regs_at regs_find(struct entry *en)
{
	struct emitter *e = &en->g->e;
	uint32_t from = UINT32_MAX, to = 0;

	if (en->g->env->use_task_btf) {
		sys_load_regs(en);
		return (struct regs_at){R7, 0};
	}
	for (uint32_t k = 0; k < 6; k++) {
		from = MIN(from, MIN(arch.sys_args[k], arch.compat_args[k]));
		to = MAX(to, MAX(arch.sys_args[k], arch.compat_args[k]) + 8);
	}
	em_load(e, 8, R3, R6, 0);
	em_alu_imm(e, BPF_ADD, R3, (int32_t)from);
	em_imm(e, R2, to - from);
	em_addr(e, R1, R9, en->g->mach->spill_off);
	em_helper(e, BPF_FUNC_probe_read_kernel);
	return (struct regs_at){R9, en->g->mach->spill_off - from};
}

/* dst = argument n */
static void arg_load(struct entry *en, int dst, struct regs_at at, uint32_t n, bool is_compat)
{
	em_load(&en->g->e, is_compat ? 4 : 8, dst, at.base,
		(int32_t)(at.off + arg_offs(is_compat)[n]));
}

/* A call with its own arguments. */
static const struct sys_view own_view = {
	NULL,
	{{SYS_ARG_REG, 0, 0},
	 {SYS_ARG_REG, 1, 0},
	 {SYS_ARG_REG, 2, 0},
	 {SYS_ARG_REG, 3, 0},
	 {SYS_ARG_REG, 4, 0},
	 {SYS_ARG_REG, 5, 0}},
};

static void view_fill(struct entry *en, const struct sys_view *v, struct regs_at at, bool is_compat)
{
	struct emitter *e = &en->g->e;

	for (uint32_t k = 0; k < ARRAY_LEN(v->args); k++) {
		const struct sys_arg *a = &v->args[k];

		if (!(sys_args_used(en) >> k & 1))
			continue;
		switch ((enum sys_arg_kind)a->kind) {
		case SYS_ARG_NONE: em_imm(e, R1, 0); break;
		case SYS_ARG_REG: arg_load(en, R1, at, a->arg, is_compat); break;
		case SYS_ARG_CONST: em_imm(e, R1, a->value); break;
		case SYS_ARG_USER:
			arg_load(en, R3, at, a->arg, is_compat);
			user_word_read(e, a->value);
			em_load(e, 8, R1, R10, FRAME_TMP);
			break;
		}
		gen_mach_store(en->g, 8, ARG_OFF(k), R1);
	}
}

static const struct sys_view *view_of(const struct unit_probe *p)
{
	return p->view ? p->view : &own_view;
}

/* Whether the arguments that are used come from the same registers or memory. */
static bool is_filled_alike(const struct entry *en, const struct unit_probe *p,
			    const struct unit_probe *q)
{
	if ((p->key ^ q->key) & RT_SYS_COMPAT)
		return false;
	for (uint32_t k = 0; k < ARRAY_LEN(own_view.args); k++) {
		const struct sys_arg *a = &view_of(p)->args[k], *b = &view_of(q)->args[k];

		if ((sys_args_used(en) >> k & 1) &&
		    (a->kind != b->kind || a->arg != b->arg || a->value != b->value))
			return false;
	}
	return true;
}

/* The first probe whose arguments are filled like those of the i-th one. */
static uint32_t first_alike(const struct entry *en, uint32_t i)
{
	const struct unit_probe *p = en->g->u->probes;
	uint32_t k = 0;

	while (!is_filled_alike(en, &p[k], &p[i]))
		k++;
	return k;
}

void sys_view_args(struct entry *en)
{
	const struct unit *u = en->g->u;
	struct emitter *e = &en->g->e;
	uint32_t first = em_label(e), done = em_label(e);
	CLEANUP(free) uint32_t *labels = NULL;
	struct regs_at at;

	if (!sys_args_used(en))
		return;
	at = regs_find(en);
	labels = xcalloc(u->nprobes, sizeof(*labels));
	entry_key_load(en, R1);
	for (uint32_t i = 0; i < u->nprobes; i++) {
		uint32_t k = first_alike(en, i);

		labels[i] = !i ? first : k < i ? labels[k] : em_label(e);
		if (k) /* the first one is for keys that compare equal to none */
			em_jmp_imm(e, BPF_JEQ, R1, (int32_t)u->probes[i].key, labels[i]);
	}
	for (uint32_t i = 0; i < u->nprobes; i++) {
		if (first_alike(en, i) < i)
			continue;
		em_here(e, labels[i]);
		view_fill(en, view_of(&u->probes[i]), at, u->probes[i].key & RT_SYS_COMPAT);
		em_ja(e, done);
	}
	em_here(e, done);
}
