/* SPDX-License-Identifier: MIT */
/*
 * Code generation: variables, which are all numbers here.
 *
 * Clause-locals are on the stack, globals in the data part, thread-locals in a block that the blob
 * finds by the thread; the elements of arrays are read and written by functions of the blob.
 */
#include "native/gen.h"

#include "dif/asm.h"

static const struct var_layout *var_of(struct ngen *g, dif_insn insn)
{
	return layout_var(g->l, (enum dif_scope)dif_op_scope(DIF_INSN_OP(insn)),
			  DIF_INSN_INDEX(insn));
}

static struct x86_mem var_mem(struct ngen *g, const struct var_layout *vl)
{
	if (vl->var->scope == DIF_SCOPE_LOCAL)
		return on_stack(g->stack.this + vl->off);
	return in_data(g->t->plan->gvars_off + vl->off);
}

bool var_insn_calls(const struct layout *l, dif_insn insn)
{
	enum dif_op op = DIF_INSN_OP(insn);

	(void)l;
	/* a thread's block may have to be made */
	return op == DIF_OP_STTS || (op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA);
}

/* ---- thread-local scalars -------------------------------------------------------------------- */

/* rax = the block of the thread, or 0 */
static void block_call(struct ngen *g, bool makes)
{
	if (!g->has_cpu)
		ngen_cpu_find(g);
	ngen_thread_load(g, RSI, RDX);
	x86_load(&g->x, 4, false, RDX, on_stack(g->stack.cpu));
	x86_imm(&g->x, RCX, makes);
	ngen_call_rarely(g, BLOB_THREAD);
	x86_store(&g->x, 8, on_stack(g->stack.tls), RAX);
}

static void block_find_emit(struct ngen *g, const struct ngen_cold *c)
{
	block_call(g, false);
	x86_jmp(&g->x, c->back);
}

/* The thread is in the first slot of its hash nearly always, which the code looks at itself. */
void ngen_tls_find(struct ngen *g)
{
	const struct blob_plan *p = g->t->plan;
	const struct blob_table *t = &p->tables[p->nagg + p->narr];
	struct ngen_cold call = {.emit = block_find_emit};

	if (g->has_tls)
		return;
	g->has_tls = true;
	if (!t->slots) {
		block_call(g, false);
		return;
	}
	call.back = x86_label(&g->x);
	ngen_thread_load(g, RSI, RDX);
	ngen_thread_hash(g, RSI);
	ngen_slot_find(g, t);
	x86_alu_load(&g->x, X86_CMP, RSI, x86_at(RCX, 0));
	x86_jcc(&g->x, X86_NE, ngen_cold(g, call));
	x86_lea(&g->x, RAX, x86_at(RCX, t->val_off));
	x86_store(&g->x, 8, on_stack(g->stack.tls), RAX);
	x86_here(&g->x, call.back);
}

static void thread_load(struct ngen *g, const struct dif_at *at, const struct var_layout *vl)
{
	enum x86_reg dst = loc_dst(&at->writes[0], RAX);
	uint32_t unset = x86_label(&g->x);

	x86_load(&g->x, 8, false, RCX, on_stack(g->stack.tls));
	x86_imm(&g->x, dst, 0);
	x86_test(&g->x, RCX, RCX);
	x86_jcc(&g->x, X86_E, unset);
	x86_load(&g->x, vl->size, vl->var->type.is_signed, dst, x86_at(RCX, vl->off));
	x86_here(&g->x, unset);
	loc_put(g, &at->writes[0], dst);
}

/* Makes the thread's block; c->action: the label behind the store, if there is no room for it. */
static void emit_make_block(struct ngen *g, const struct ngen_cold *c)
{
	block_call(g, true);
	x86_mov(&g->x, RCX, RAX);
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_NE, c->back);
	x86_jmp(&g->x, c->action);
}

static void thread_store(struct ngen *g, const struct dif_at *at, const struct var_layout *vl)
{
	uint32_t have = x86_label(&g->x), done = x86_label(&g->x), make;
	const struct ra_loc *v = &at->reads[0];
	bool is_zero = v->kind == RA_CONST && !v->value;

	x86_load(&g->x, 8, false, RCX, on_stack(g->stack.tls));
	x86_test(&g->x, RCX, RCX);
	if (is_zero) { /* without a block it is 0 already */
		x86_jcc(&g->x, X86_E, done);
	} else {
		make = ngen_cold(g, (struct ngen_cold){.emit = emit_make_block,
						       .back = have,
						       .action = done});
		x86_jcc(&g->x, X86_E, make);
		x86_here(&g->x, have);
	}
	if (loc_is_s32(v))
		x86_store_imm(&g->x, vl->size, x86_at(RCX, vl->off), (int32_t)v->value);
	else
		x86_store(&g->x, vl->size, x86_at(RCX, vl->off), loc_use(g, v, RAX));
	if (is_zero)
		x86_here(&g->x, have);
	x86_here(&g->x, done);
}

/* ---- scalars --------------------------------------------------------------------------------- */

void ngen_var_load(struct ngen *g, const struct dif_at *at)
{
	const struct var_layout *vl = var_of(g, at->insn);
	enum x86_reg dst = loc_dst(&at->writes[0], RAX);

	if (at->writes[0].kind == RA_UNUSED)
		return;
	if (vl->var->scope == DIF_SCOPE_THREAD) {
		thread_load(g, at, vl);
		return;
	}
	x86_load(&g->x, vl->size, vl->var->type.is_signed, dst, var_mem(g, vl));
	loc_put(g, &at->writes[0], dst);
}

void ngen_var_store(struct ngen *g, const struct dif_at *at)
{
	const struct var_layout *vl = var_of(g, at->insn);
	const struct ra_loc *v = &at->reads[0];

	if (vl->var->scope == DIF_SCOPE_THREAD)
		thread_store(g, at, vl);
	else if (loc_is_s32(v))
		x86_store_imm(&g->x, vl->size, var_mem(g, vl), (int32_t)v->value);
	else
		x86_store(&g->x, vl->size, var_mem(g, vl), loc_use(g, v, RAX));
}

/* ---- elements of arrays ---------------------------------------------------------------------- */

static uint32_t array_table(const struct ngen *g, const struct var_layout *vl)
{
	return g->t->plan->nagg + vl->map;
}

/* Builds the key of which v[] are the parts. */
static void key_build(struct ngen *g, const struct var_layout *vl, const struct ra_loc *v)
{
	uint32_t at = g->stack.key, pos = 0;
	uint32_t end = ngen_table_key(g, array_table(g, vl), g->l->arr_maps[vl->map].key_size);

	if (vl->owner) {
		x86_store_imm(&g->x, 8, on_stack(at), (int32_t)vl->owner);
		pos = 8;
	}
	if (vl->var->scope == DIF_SCOPE_THREAD) {
		ngen_tid_load(g, RAX);
		x86_store(&g->x, 8, on_stack(at + pos), RAX);
		pos += 8;
	}
	for (uint32_t k = 0; k < vl->var->nkeys; k++) {
		const struct key_field *f = &vl->keys[k];

		ngen_zero(g, at + pos, at + f->off);
		loc_load(g, RAX, &v[k]);
		pos = ngen_key_store(g, at, f->off, f->size,
				     k + 1 < vl->var->nkeys ? f[1].off : end);
	}
	ngen_zero(g, at + pos, at + end);
}

static void elem_args(struct ngen *g, const struct var_layout *vl)
{
	x86_imm(&g->x, RSI, array_table(g, vl));
	x86_lea(&g->x, RDX, on_stack(g->stack.key));
}

void ngen_elem_load(struct ngen *g, const struct dif_at *at)
{
	const struct var_layout *vl = var_of(g, at->insn);

	key_build(g, vl, at->reads);
	elem_args(g, vl);
	ngen_call(g, BLOB_LOAD);
	x86_extend(&g->x, vl->size, vl->var->type.is_signed, RAX, RAX);
	loc_put(g, &at->writes[0], RAX);
}

void ngen_elem_store(struct ngen *g, const struct dif_at *at)
{
	const struct var_layout *vl = var_of(g, at->insn);

	key_build(g, vl, at->reads + 1);
	/* what is 0 in the size of the element removes it */
	loc_load(g, RCX, &at->reads[0]);
	x86_extend(&g->x, vl->size, false, RCX, RCX);
	elem_args(g, vl);
	x86_load(&g->x, 4, false, R8, on_stack(g->stack.cpu));
	ngen_call(g, BLOB_STORE);
}
