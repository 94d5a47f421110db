/* SPDX-License-Identifier: MIT */
/*
 * live() and dead(): the table of addresses that are alive (record/format.h, struct rt_live).
 *
 * The table has all that is known of what is alive: live() writes the entry of its address, with
 * the key of the element in the aggregation, and dead() deletes it. Nothing is added up in the
 * kernel: a snapshot counts the entries (agg/alive.c), so that sums cannot drift from what is
 * there, whichever CPUs allocate and free at the same time. The element of the aggregation has what
 * could not be followed, because the table was full.
 */
#include "bpf/gen.h"

/* Words of the element: those of struct agg_elem that the kernel adds to. */
#define LOST_COUNT 24
#define LOST_BYTES 32

/* Fills the table's key for the address in r6; destroys r0 to r5. */
static void live_key_put(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t off = g->mach->live_off, of_kernel = em_label(e);

	gen_mach_store(g, 8, off + offsetof(struct rt_live_key, addr), R6);
	em_store_imm(e, 8, R9, (int32_t)(off + offsetof(struct rt_live_key, pid)), 0);
	em_jmp_imm(e, BPF_JSLT, R6, 0, of_kernel);
	gen_pid_tgid(g);
	em_alu_imm(e, BPF_RSH, R0, 32);
	gen_mach_store(g, 4, off + offsetof(struct rt_live_key, pid), R0);
	em_here(e, of_kernel);
}

/* Deletes the entry whose key live_key_put() has filled. */
static void live_entry_delete(struct gen *g)
{
	em_addr(&g->e, R2, R9, g->mach->live_off);
	em_map(&g->e, R1, MAP_REF(MAP_LIVE, 0));
	em_helper(&g->e, BPF_FUNC_map_delete_elem);
}

/* Copies the key of the aggregation's element, in steps that are aligned, to r9 + to. */
static void element_key_copy(struct gen *g, const struct agg_layout *al, uint32_t to)
{
	uint32_t size = al->key_size ? g->l->agg_maps[al->map].key_size : 0;

	for (uint32_t i = 0, n; i < size; i += n) {
		n = size - i >= 8 ? 8 : size - i >= 4 ? 4 : 1;
		gen_mach_load(g, n, R0, g->mach->key_off + i);
		gen_mach_store(g, n, to + i, R0);
	}
}

void gen_live_follow(struct gen *g, const struct agg_layout *al)
{
	struct emitter *e = &g->e;
	uint32_t entry = g->mach->live_off + (uint32_t)sizeof(struct rt_live_key);
	uint32_t done = em_label(e);

	em_mov(e, R7, R0);
	live_key_put(g);
	em_helper(e, BPF_FUNC_ktime_get_ns);
	gen_mach_store(g, 8, entry + offsetof(struct rt_live, time), R0);
	gen_mach_store(g, 8, entry + offsetof(struct rt_live, bytes), R8);
	em_store_imm(e, 4, R9, (int32_t)(entry + offsetof(struct rt_live, agg)),
		     (int32_t)al->agg->id);
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, cpu));
	gen_mach_store(g, 4, entry + offsetof(struct rt_live, cpu), R0);
	element_key_copy(g, al, entry + (uint32_t)sizeof(struct rt_live));
	em_addr(e, R2, R9, g->mach->live_off);
	em_addr(e, R3, R9, entry);
	em_imm(e, R4, BPF_ANY);
	em_map(e, R1, MAP_REF(MAP_LIVE, 0));
	em_helper(e, BPF_FUNC_map_update_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	live_entry_delete(g); /* what was at the address before is not there any more */
	em_imm(e, R1, 1);
	em_atomic(e, BPF_ADD, R7, LOST_COUNT, R1);
	em_atomic(e, BPF_ADD, R7, LOST_BYTES, R8);
	gen_count(g, offsetof(struct rt_cpu, live_drops));
	em_here(e, done);
}

void gen_live_replaced(struct gen *g)
{
	live_key_put(g);
	live_entry_delete(g);
}

void gen_dead(struct gen *g, const struct prog_act *act)
{
	struct emitter *e = &g->e;
	bool has_time = act->nargs > 1;
	uint32_t done;

	gen_difo(g, act->args[0], act->number);
	if (has_time) {
		em_store(e, 8, R10, FRAME_VAL, R0);
		gen_difo(g, act->args[1], act->number + 1);
		em_mov(e, R7, R0);
		em_load(e, 8, R0, R10, FRAME_VAL);
	}
	if (!g->l->live_size) /* no clause of the session calls live() */
		return;
	done = em_label(e);
	em_mov(e, R6, R0);
	live_key_put(g);
	if (has_time) {
		em_addr(e, R2, R9, g->mach->live_off);
		em_map(e, R1, MAP_REF(MAP_LIVE, 0));
		em_helper(e, BPF_FUNC_map_lookup_elem);
		em_jmp_imm(e, BPF_JEQ, R0, 0, done);
		em_load(e, 8, R1, R0, offsetof(struct rt_live, time));
		em_jmp_reg(e, BPF_JGT, R1, R7, done);
	}
	live_entry_delete(g);
	em_here(e, done);
}
