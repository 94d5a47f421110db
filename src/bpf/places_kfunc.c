/* SPDX-License-Identifier: MIT */
/*
 * Functions of the kernel, for the table in places.c: where their arguments are, and which program
 * is for which function where each has one of its own.
 */
#include <errno.h>

#include "arch/arch.h"
#include "bpf/entry.h"
#include "bpf/kfunc_table.h"

/* ---- the probe ------------------------------------------------------------------------------- */

/* The offset of a member of slot i in a bucket. */
#define SLOT_OFF(i, member)                                                                        \
	(int32_t)((i) * sizeof(struct kfunc_slot) + offsetof(struct kfunc_slot, member))

/* r8 = the key of the function's probe, from the table */
static void table_key(struct entry *en, const struct kfunc_table *t)
{
	struct emitter *e = &en->g->e;
	uint32_t found[KFUNC_BUCKET_SLOTS], done = em_label(e);

	em_mov(e, R1, R6);
	em_helper(e, BPF_FUNC_get_func_ip);
	em_mov32(e, R8, R0);
	em_mov(e, R1, R8);
	em_alu_imm(e, BPF_MUL, R1, (int32_t)t->multiplier);
	em_mov32(e, R1, R1);
	em_alu_imm(e, BPF_RSH, R1, (int32_t)(32 - t->bits));
	em_store(e, 4, R10, FRAME_KEY, R1);
	em_addr(e, R2, R10, (uint32_t)FRAME_KEY);
	em_map(e, R1, MAP_REF(MAP_KFUNCS, 0));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, en->quit);
	for (uint32_t i = 0; i < KFUNC_BUCKET_SLOTS; i++) {
		found[i] = em_label(e);
		em_load(e, 4, R1, R0, SLOT_OFF(i, addr));
		em_jmp_reg(e, BPF_JEQ, R1, R8, found[i]);
	}
	cookie_key(en); /* a kernel whose addresses are others here than in the link */
	em_ja(e, done);
	for (uint32_t i = 0; i < KFUNC_BUCKET_SLOTS; i++) {
		em_here(e, found[i]);
		em_load(e, 4, R8, R0, SLOT_OFF(i, key));
		if (i + 1 < KFUNC_BUCKET_SLOTS)
			em_ja(e, done);
	}
	em_here(e, done);
}

/* A few keys of one probe are compared, which the cookies of few functions are soon enough for. */
void kfunc_key(struct entry *en)
{
	struct kfunc_table t;

	if (en->has_one_probe || !kfunc_table_suits(en->g->u, &t)) {
		cookie_key(en);
		return;
	}
	table_key(en, &t);
	kfunc_table_deinit(&t);
}

/* ---- arguments ------------------------------------------------------------------------------- */

/* arg0 is -1: the kernel does not say which of its instructions returns. */
static void kfunc_return_args(struct entry *en, uint32_t used)
{
	struct emitter *e = &en->g->e;

	if (used & 1)
		em_store_imm(e, 8, R9, (int32_t)ARG_OFF(0), -1);
	if (used & 2) {
		em_load(e, 8, R1, R6, (int32_t)arch.func_value);
		gen_mach_store(en->g, 8, ARG_OFF(1), R1);
	}
	args_zero(en, used & ~3u);
}

static void kfunc_entry_args(struct entry *en, uint32_t used)
{
	entry_args_fill(en, used, arch.func_args, ARRAY_LEN(arch.func_args));
}

/* The trampoline keeps parameters in memory, as many as the function has. */
static void kfunc_few_entry_args(struct entry *en, uint32_t used)
{
	struct emitter *e = &en->g->e;

	args_zero(en, used);
	for (uint32_t k = 0; k < NFUNC_ARGS; k++) {
		if (!(used >> k & 1))
			continue;
		em_mov(e, R1, R6);
		em_imm(e, R2, k);
		em_addr(e, R3, R9, ARG_OFF(k));
		em_helper(e, BPF_FUNC_get_func_arg);
	}
}

static void kfunc_few_return_args(struct entry *en, uint32_t used)
{
	struct emitter *e = &en->g->e;

	args_zero(en, used & ~1u);
	if (used & 1)
		em_store_imm(e, 8, R9, (int32_t)ARG_OFF(0), -1);
	if (!(used & 2))
		return;
	em_mov(e, R1, R6);
	em_addr(e, R2, R9, ARG_OFF(1));
	em_helper(e, BPF_FUNC_get_func_ret);
}

typedef void args_fill_f(struct entry *en, uint32_t used);

/* A unit of added probes may have some at entries and some at returns. */
static void function_args(struct entry *en, args_fill_f *of_entry, args_fill_f *of_return)
{
	struct emitter *e = &en->g->e;
	uint32_t used = en->g->needs.args & en->ops->args_filled, nreturns = 0;
	uint32_t is_return = em_label(e), done = em_label(e);

	for (uint32_t i = 0; i < en->g->u->nprobes; i++)
		nreturns += en->g->u->probes[i].spot == SPOT_RETURN;
	if (!used)
		return;
	if (nreturns && nreturns < en->g->u->nprobes) {
		em_load(e, 4, R1, R8, offsetof(struct rt_dispatch, spot));
		em_jmp_imm(e, BPF_JEQ, R1, SPOT_RETURN, is_return);
	}
	if (nreturns < en->g->u->nprobes) {
		of_entry(en, used);
		em_ja(e, done);
	}
	em_here(e, is_return);
	if (nreturns)
		of_return(en, used);
	em_here(e, done);
}

void kfunc_args(struct entry *en)
{
	function_args(en, kfunc_entry_args, kfunc_return_args);
}

void kfunc_few_args(struct entry *en)
{
	function_args(en, kfunc_few_entry_args, kfunc_few_return_args);
}

/* ---- few of them ----------------------------------------------------------------------------- */

/*
 * A program that is made for one function knows its parameters and costs least at a hit, but each
 * has to be loaded and linked by itself, which takes longer than a kprobe.
 */
#define FEW_MAX 8

bool kfunc_few_suits(const struct unit *u)
{
	for (uint32_t i = 0; i < u->nprobes; i++)
		if (u->nprobes > FEW_MAX || !u->probes[i].kfunc->btf_id)
			return false;
	return feat_has(FEAT_FENTRY);
}

struct err *kfunc_few_target(const struct unit *u, uint32_t i, struct prog_target *ret)
{
	const struct unit_probe *p = &u->probes[i];
	int fd = btf_object_open(p->kfunc->mod);

	if (fd < 0)
		return err_sys(errno, "the types of the module '%s' cannot be had", p->kfunc->mod);
	*ret = (struct prog_target){
		.attach_type = p->spot == SPOT_RETURN ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
		.btf_id = p->kfunc->btf_id,
		.btf_fd = fd,
	};
	return NULL;
}
