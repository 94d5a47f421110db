/* SPDX-License-Identifier: MIT */
/*
 * Code generation: records. They are built on the stack, and copied into the ring when they are
 * complete, so that a clause that ends early leaves nothing there.
 */
#include "native/gen.h"

static uint32_t rec_off(const struct ngen *g, uint64_t off)
{
	return g->stack.rec + (uint32_t)off;
}

static uint32_t executed_size(const struct clause_layout *cl)
{
	return cl->executed_off ? (cl->clause->nacts + 63) / 64 * 8 : 0;
}

/* Stores the head, without the time, and the process; what: the clause, or RT_REC_FAULT. */
static void head_store(struct ngen *g, uint32_t what)
{
	struct ra_loc probe = builtin_home(g, DIF_VAR_ID);

	x86_store_imm(&g->x, 4, on_stack(rec_off(g, offsetof(struct rt_rec, clause))),
		      (int32_t)what);
	x86_store(&g->x, 4, on_stack(rec_off(g, offsetof(struct rt_rec, probe))),
		  loc_use(g, &probe, RAX));
}

void ngen_record_begin(struct ngen *g)
{
	const struct clause_layout *cl = g->uc->layout;

	head_store(g, cl->clause->index);
	if (cl->pid_off) {
		ngen_pid_load(g, RAX);
		x86_store(&g->x, 8, on_stack(rec_off(g, cl->pid_off)), RAX);
	}
	ngen_zero(g, rec_off(g, cl->executed_off),
		  rec_off(g, cl->executed_off + executed_size(cl)));
}

/* ---- which actions were executed ------------------------------------------------------------- */

static bool is_branch(const struct prog_act *act)
{
	return act->kind == ACT_BRZ || act->kind == ACT_JMP;
}

static bool starts_block(const struct prog_clause *c, uint32_t act)
{
	if (act == 0 || is_branch(&c->acts[act - 1]))
		return true;
	for (uint32_t i = 0; i < act; i++)
		if (is_branch(&c->acts[i]) && c->acts[i].target == act)
			return true;
	return false;
}

/* The words are changed once for each run of actions without branches. */
void ngen_record_mark(struct ngen *g, uint32_t act)
{
	const struct clause_layout *cl = g->uc->layout;
	const struct prog_clause *c = cl->clause;

	if (!cl->executed_off || !starts_block(c, act))
		return;
	for (uint32_t i = act; i < c->nacts && (i == act || !starts_block(c, i));) {
		uint32_t word = i / 64;
		uint64_t bits = 0;

		for (; i < c->nacts && i / 64 == word && (i == act || !starts_block(c, i)); i++)
			if (act_is_recording(c->acts[i].kind))
				bits |= 1ull << i % 64;
		if (!bits)
			continue;
		x86_imm(&g->x, RAX, bits);
		x86_alu_store(&g->x, X86_OR, on_stack(rec_off(g, cl->executed_off + 8 * word)),
			      RAX);
	}
}

/* ---- fields ---------------------------------------------------------------------------------- */

static void field_record(struct ngen *g, const struct rec_field *f, const struct difo *d,
			 uint32_t action)
{
	uint32_t off = rec_off(g, f->off);

	switch (f->kind) {
	case REC_INT:
		ngen_difo(g, d, action);
		x86_store(&g->x, f->size, on_stack(off), RAX);
		return;
	case REC_STRID:
		ngen_strid(g, d);
		x86_store(&g->x, 4, on_stack(off), RAX);
		return;
	case REC_BYTES: ngen_user_addr(g, off, d, action); return;
	case REC_STR:
	case REC_COMM:
	case REC_STACK: break;
	}
	BUG("field of kind %d in the process", (int)f->kind);
}

void ngen_record_act(struct ngen *g, uint32_t act)
{
	const struct act_layout *al = &g->uc->layout->acts[act];
	const struct prog_act *pa = &g->uc->layout->clause->acts[act];

	for (uint32_t k = 0; k < al->nfields; k++)
		field_record(g, &al->fields[k], pa->args[k], pa->number + k);
	if (pa->kind == ACT_EXIT)
		x86_store_imm(&g->x, 4, on_stack(g->stack.exits), 1);
}

/* ---- sending --------------------------------------------------------------------------------- */

/* The blob has counted the drop. */
static void emit_drop(struct ngen *g, const struct ngen_cold *c)
{
	if (g->t->stops_when_full)
		ngen_call(g, BLOB_EXIT);
	x86_jmp(&g->x, c->back);
}

/* Copies the record from the stack to where rax points; destroys rcx, rdx. */
static void record_copy(struct ngen *g, uint32_t size)
{
	for (uint32_t at = 0; at < size; at += 8) {
		enum x86_reg r = at / 8 % 2 ? RDX : RCX;

		x86_load(&g->x, 8, false, r, on_stack(rec_off(g, at)));
		x86_store(&g->x, 8, x86_at(RAX, at), r);
	}
}

/* Sends size bytes, a multiple of 8; leads to done if there is no room. */
static void record_send(struct ngen *g, uint32_t size, uint32_t done)
{
	ngen_time(g);
	x86_store(&g->x, 8, on_stack(rec_off(g, offsetof(struct rt_rec, time))), RAX);
	ngen_thread_load(g, RCX, RDX);
	x86_load(&g->x, 4, false, RSI, on_stack(g->stack.cpu));
	x86_imm(&g->x, RDX, size);
	ngen_call(g, BLOB_RECORD_BEGIN);
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_E, ngen_cold(g, (struct ngen_cold){.emit = emit_drop, .back = done}));
	record_copy(g, size);
	/* as blob_rec_end(): the processor makes stores visible in their order */
	x86_alu_mem_imm(&g->x, 1, X86_XOR,
			x86_at(RAX, -(int64_t)sizeof(struct blob_rec) +
					    (int64_t)offsetof(struct blob_rec, word)),
			BLOB_REC_BEGUN ^ BLOB_REC_DONE);
}

void ngen_record_end(struct ngen *g)
{
	const struct clause_layout *cl = g->uc->layout;

	if (cl->executed_off) { /* nothing at all was recorded */
		x86_load(&g->x, 8, false, RAX, on_stack(rec_off(g, cl->executed_off)));
		for (uint32_t k = 8; k < executed_size(cl); k += 8)
			x86_alu_load(&g->x, X86_OR, RAX,
				     on_stack(rec_off(g, cl->executed_off + k)));
		x86_test(&g->x, RAX, RAX);
		x86_jcc(&g->x, X86_E, g->out);
	}
	record_send(g, cl->heap_off, g->out);
}

/* ---- faults ---------------------------------------------------------------------------------- */

#define FAULT_OFF(field) offsetof(struct rt_rec_fault, field)

void ngen_fault_tail(struct ngen *g)
{
	x86_here(&g->x, g->fault);
	if (!g->fault_used)
		return;
	head_store(g, RT_REC_FAULT);
	x86_store_imm(&g->x, 4, on_stack(rec_off(g, FAULT_OFF(fault.clause))),
		      (int32_t)g->uc->layout->clause->index);
	x86_store_imm(&g->x, 8, on_stack(rec_off(g, FAULT_OFF(fault.value))), 0);
	ngen_epid_load(g, RAX);
	x86_store(&g->x, 4, on_stack(rec_off(g, FAULT_OFF(epid))), RAX);
	x86_store_imm(&g->x, 4, on_stack(rec_off(g, FAULT_OFF(in_scratch))), 0);
	ngen_pid_load(g, RAX);
	x86_store(&g->x, 8, on_stack(rec_off(g, FAULT_OFF(pid))), RAX);
	record_send(g, (uint32_t)sizeof(struct rt_rec_fault), g->out);
	x86_jmp(&g->x, g->out);
}
