/* SPDX-License-Identifier: MIT */
/* Code generation: small helpers that all of its files use. */
#include "native/gen.h"

void ngen_fail(struct ngen *g, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (g->err)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	g->err = err_new("%s", strbuf_text(&text));
	strbuf_deinit(&text);
}

uint32_t ngen_cold(struct ngen *g, struct ngen_cold c)
{
	c.entry = x86_label(&g->x);
	vec_push(&g->cold, c);
	return c.entry;
}

void ngen_flush_cold(struct ngen *g)
{
	/* a piece may add others */
	for (uint32_t i = 0; i < g->cold.len; i++) {
		struct ngen_cold c = g->cold.data[i];

		x86_here(&g->x, c.entry);
		c.emit(g, &c);
	}
	vec_clear(&g->cold);
}

void ngen_call(struct ngen *g, enum blob_func func)
{
	x86_mov(&g->x, RDI, R14);
	x86_call(&g->x, g->t->blob + blob_entries[func]);
}

void ngen_call_rarely(struct ngen *g, enum blob_func func)
{
	static const enum x86_reg kept[] = {R8, R9, R10, R11};
	uint32_t written = g->x.written | 1u << RAX | 1u << RCX | 1u << RDX | 1u << RSI | 1u << RDI;

	for (uint32_t i = 0; i < ARRAY_LEN(kept); i++)
		x86_push(&g->x, kept[i]);
	ngen_call(g, func);
	for (uint32_t i = ARRAY_LEN(kept); i-- > 0;)
		x86_pop(&g->x, kept[i]);
	g->x.written = written;
}

void ngen_cpu_find(struct ngen *g)
{
	const struct native_target *t = g->t;
	uint32_t fits = x86_label(&g->x);

	if (t->has_rseq) {
		x86_load(&g->x, 4, false, RAX, x86_at_fs(t->rseq_cpu_off));
		x86_alu_imm(&g->x, X86_CMP, RAX, (int32_t)t->ncpus);
		x86_jcc(&g->x, X86_B, fits);
		x86_imm(&g->x, RAX, 0);
	} else {
		x86_load(&g->x, 8, false, RAX, x86_at_fs(0));
		x86_shift(&g->x, X86_SHR, RAX, 6);
		x86_imm(&g->x, RCX, 0x9e3779b1); /* 2^32 / golden ratio */
		x86_mul(&g->x, RAX, RCX);
		x86_extend(&g->x, 4, false, RAX, RAX);
		x86_mul_imm(&g->x, RAX, RAX, (int32_t)t->ncpus);
		x86_shift(&g->x, X86_SHR, RAX, 32);
	}
	x86_here(&g->x, fits);
	x86_store(&g->x, 8, on_stack(g->stack.cpu), RAX);
}

void ngen_hash(struct ngen *g, uint32_t at, uint32_t nwords)
{
	uint64_t cookie = g->t->blob + blob_code_size + offsetof(struct blob_conf, cookie);

	x86_load(&g->x, 8, false, RAX, x86_at_addr(cookie));
	x86_imm(&g->x, RDX, BLOB_HASH_FACTOR);
	for (uint32_t i = 0; i < nwords; i++) {
		x86_alu_load(&g->x, X86_XOR, RAX, on_stack(at + 8 * i));
		x86_mul(&g->x, RAX, RDX);
		x86_shift(&g->x, X86_ROR, RAX, 32);
	}
	x86_mul(&g->x, RAX, RDX);
	x86_shift(&g->x, X86_ROR, RAX, 32);
}

void ngen_thread_hash(struct ngen *g, enum x86_reg thread)
{
	x86_imm(&g->x, RAX, BLOB_HASH_FACTOR);
	x86_mul(&g->x, RAX, thread);
	x86_shift(&g->x, X86_SHR, RAX, 32);
}

void ngen_slot_find(struct ngen *g, const struct blob_table *t)
{
	x86_mov(&g->x, RCX, RAX);
	x86_alu_imm(&g->x, X86_AND, RCX, (int32_t)(t->slots - 1));
	if (t->slot_size & (t->slot_size - 1))
		x86_mul_imm(&g->x, RCX, RCX, (int32_t)t->slot_size);
	else
		x86_shift(&g->x, X86_SHL, RCX, (uint32_t)__builtin_ctz(t->slot_size));
	x86_lea(&g->x, RCX, x86_at_index(R14, RCX, 1, (int64_t)t->off));
}

void ngen_time(struct ngen *g)
{
	uint32_t have = x86_label(&g->x);

	x86_load(&g->x, 8, false, RAX, on_stack(g->stack.time));
	x86_test(&g->x, RAX, RAX);
	x86_jcc(&g->x, X86_NE, have);
	ngen_call(g, g->l->opts.liveorder ? BLOB_ORDER : BLOB_TIME);
	x86_store(&g->x, 8, on_stack(g->stack.time), RAX);
	x86_here(&g->x, have);
}

void ngen_row_load(struct ngen *g, enum x86_reg dst, enum row_word word)
{
	x86_load(&g->x, 4, false, dst, x86_at(R13, g->grp->row_off[word]));
}

void ngen_epid_load(struct ngen *g, enum x86_reg dst)
{
	x86_load(&g->x, 4, false, dst, x86_at(R13, g->grp->epid_off[g->clause]));
}

void ngen_zero(struct ngen *g, uint32_t from, uint32_t to)
{
	uint32_t size;

	if (to - from > 16) {
		x86_imm(&g->x, RAX, 0);
		for (; to - from >= 8; from += 8)
			x86_store(&g->x, 8, on_stack(from), RAX);
	}
	for (; from < to; from += size) {
		for (size = 8; from % size || size > to - from;)
			size /= 2;
		x86_store_imm(&g->x, size, on_stack(from), 0);
	}
}

uint32_t ngen_table_key(struct ngen *g, uint32_t table, uint32_t map_key_size)
{
	const struct blob_table *t = &g->t->plan->tables[table];

	if (table >= g->t->plan->ntables || !t->slots ||
	    t->key_size != ROUND_UP(map_key_size, 8u)) {
		ngen_fail(g, "the data part has no table for an aggregation or array");
		return map_key_size;
	}
	return t->key_size;
}

uint32_t ngen_key_store(struct ngen *g, uint32_t at, uint32_t off, uint32_t size, uint32_t next)
{
	if (size < 8 && off % 8 == 0 && next >= off + 8) {
		x86_extend(&g->x, size, false, RAX, RAX);
		size = 8;
	}
	x86_store(&g->x, size, on_stack(at + off), RAX);
	return off + size;
}

void ngen_pid_load(struct ngen *g, enum x86_reg dst)
{
	uint64_t at = g->t->blob + blob_code_size + offsetof(struct blob_conf, pid);

	if (g->t->has_children)
		x86_load(&g->x, 4, false, dst, x86_at_addr(at));
	else
		x86_imm(&g->x, dst, g->t->pid);
}

void ngen_tid_load(struct ngen *g, enum x86_reg dst)
{
	x86_load(&g->x, 4, false, dst, x86_at_fs(g->t->tid_off));
}

void ngen_thread_load(struct ngen *g, enum x86_reg dst, enum x86_reg scratch)
{
	/* BLOB_THREAD(): bits of the address of the thread block, and the id above them */
	x86_load(&g->x, 8, false, dst, x86_at_fs(0));
	x86_shift(&g->x, X86_SHR, dst, 6);
	x86_extend(&g->x, 4, false, dst, dst);
	if (!g->t->has_tid)
		return;
	ngen_tid_load(g, scratch);
	x86_shift(&g->x, X86_SHL, scratch, 32);
	x86_alu(&g->x, X86_OR, dst, scratch);
}
