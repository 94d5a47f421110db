/* SPDX-License-Identifier: MIT */
#include "flow/jumps.h"

#define INSN_MAX 15 /* bytes: Intel SDM vol. 2, 2.3.11 */

/* A way back from a jump. */
struct walk {
	const struct trail *t;
	uint64_t jump;
	uint32_t i, n;	/* the instruction is the i-th before the jump, of n */
	bool has_leapt; /* to a branch that leads to what was read before */
	uint64_t at;
	ZydisDecodedInstruction in;
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
};

static ZydisRegister register_whole(ZydisRegister r)
{
	return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
}

static uint64_t trail_at(const struct trail *t, uint32_t i)
{
	return t->recent[(t->n - i) % BACK_MAX];
}

/* Returns the number of the last branch from the i-th instruction back to these addresses. */
static uint32_t branch_find(const struct walk *w, uint32_t i, uint64_t start, uint64_t end)
{
	const struct trail *t = w->t;
	ZydisDecodedInstruction in;

	for (; i <= w->n; i++) {
		uint64_t at = trail_at(t, i), to;

		if (ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&t->decoder, NULL,
							       t->area->code + (at - t->area->addr),
							       MIN(t->end - at, (uint64_t)INSN_MAX),
							       &in)) &&
		    in.raw.imm[0].is_relative) {
			to = at + in.length + (uint64_t)in.raw.imm[0].value.s;
			if (to >= start && to <= end)
				return i;
		}
	}
	return w->n + 1;
}

/* Goes to the instruction that was executed before; false: it is not known. */
static bool walk_back(struct walk *w)
{
	const struct trail *t = w->t;

	for (w->i++; w->i <= w->n; w->i++) {
		uint64_t at = trail_at(t, w->i), k = at - t->area->addr;
		enum flow_insn kind = insn_kind(t->area->map[k]);

		if (kind == CODE_RET || kind == CODE_JMP || kind == CODE_JMP_TO ||
		    kind == CODE_STOP) {
			w->has_leapt = true;
			w->i = branch_find(w, w->i + (kind != CODE_JMP), at + 1, w->jump);
			continue;
		}
		w->at = at;
		return ZYAN_SUCCESS(ZydisDecoderDecodeFull(&t->decoder, t->area->code + k,
							   MIN(t->end - at, (uint64_t)INSN_MAX),
							   &w->in, w->ops));
	}
	return false;
}

/* Whether the instruction gives a whole register, or a part of it, a value. */
static bool walk_writes(const struct walk *w, ZydisRegister reg)
{
	for (uint32_t i = 0; i < w->in.operand_count; i++)
		if (w->ops[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    (w->ops[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) &&
		    register_whole(w->ops[i].reg.value) == reg)
			return true;
	return false;
}

/* Whether the instruction copies a register of at least 32 bits; *reg becomes its source then. */
static bool walk_copies(const struct walk *w, ZydisRegister *reg)
{
	if (w->in.mnemonic != ZYDIS_MNEMONIC_MOV || w->ops[0].size < 32 ||
	    w->ops[1].type != ZYDIS_OPERAND_TYPE_REGISTER)
		return false;
	*reg = register_whole(w->ops[1].reg.value);
	return true;
}

static bool walk_takes_address(const struct walk *w, uint64_t *ret)
{
	if (w->in.mnemonic != ZYDIS_MNEMONIC_LEA || w->ops[1].mem.base != ZYDIS_REGISTER_RIP)
		return false;
	*ret = w->at + w->in.length + (uint64_t)w->ops[1].mem.disp.value;
	return true;
}

/* ---- the sum --------------------------------------------------------------------------------- */

/* Where the instruction takes the value from that it gives *reg, which may become another one. */
static enum origin value_origin(const struct walk *w, ZydisRegister *reg)
{
	const ZydisDecodedOperand *to = &w->ops[0], *from = &w->ops[1];

	if (w->in.operand_count_visible == 0 || to->type != ZYDIS_OPERAND_TYPE_REGISTER ||
	    register_whole(to->reg.value) != *reg ||
	    !(to->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE))
		return ORIGIN_OPEN;
	switch ((int)w->in.mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
		if (to->size != 64)
			return ORIGIN_COMPUTED;
		if (from->type == ZYDIS_OPERAND_TYPE_MEMORY &&
		    from->mem.index != ZYDIS_REGISTER_NONE && from->mem.base != ZYDIS_REGISTER_NONE)
			return ORIGIN_LISTED;
		if (from->type != ZYDIS_OPERAND_TYPE_REGISTER)
			return ORIGIN_POINTER;
		*reg = register_whole(from->reg.value);
		return ORIGIN_OPEN;
	case ZYDIS_MNEMONIC_LEA:
		return from->mem.base == ZYDIS_REGISTER_RIP ? ORIGIN_POINTER : ORIGIN_COMPUTED;
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_SHL: return ORIGIN_COMPUTED;
	default: return ORIGIN_POINTER; /* pop; xor and ror of a pointer that is guarded */
	}
}

/* The two registers of a sum; false: it is something else. */
static bool sum_read(const struct walk *w, ZydisRegister sum[2])
{
	const ZydisDecodedOperand *from = &w->ops[1];

	if (w->in.mnemonic == ZYDIS_MNEMONIC_ADD && from->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	    from->size == 64) {
		sum[0] = register_whole(w->ops[0].reg.value);
		sum[1] = register_whole(from->reg.value);
		return true;
	}
	if (w->in.mnemonic == ZYDIS_MNEMONIC_LEA && from->mem.index != ZYDIS_REGISTER_NONE &&
	    from->mem.scale == 1 && !from->mem.disp.value) {
		sum[0] = register_whole(from->mem.base);
		sum[1] = register_whole(from->mem.index);
		return true;
	}
	return false;
}

/* ---- the entry and its table ----------------------------------------------------------------- */

struct entry {
	ZydisRegister base, index; /* NONE: it is not followed any more */
	bool has_table;
	/* a branch was met, and nothing that sets the flags is between it and what is read now */
	bool has_branch;
	/* it leaves if the index is at least the number that was compared, plus this */
	uint32_t above;
};

/* Goes back to the load of one of the registers, by a base and a number. */
static bool entry_find(struct walk *w, ZydisRegister sum[2], struct entry *ret)
{
	while (walk_back(w))
		for (uint32_t i = 0; i < 2; i++) {
			const ZydisDecodedOperand *from = &w->ops[1];

			if (!walk_writes(w, sum[i]) || walk_copies(w, &sum[i]))
				continue;
			if (w->in.mnemonic != ZYDIS_MNEMONIC_MOVSXD ||
			    from->type != ZYDIS_OPERAND_TYPE_MEMORY || from->mem.scale != 4 ||
			    from->mem.disp.value || from->mem.base == ZYDIS_REGISTER_NONE ||
			    from->mem.index == ZYDIS_REGISTER_NONE)
				return false;
			ret->base = register_whole(from->mem.base);
			ret->index = register_whole(from->mem.index);
			return true;
		}
	return false;
}

static void base_follow(const struct walk *w, struct entry *e, struct flow_jump *ret)
{
	if (e->base == ZYDIS_REGISTER_NONE || !walk_writes(w, e->base) || walk_copies(w, &e->base))
		return;
	if (walk_takes_address(w, &ret->table))
		e->has_table = true;
	e->base = ZYDIS_REGISTER_NONE;
}

static bool is_compared(const struct walk *w, ZydisRegister reg)
{
	const ZydisDecodedOperand *a = &w->ops[0], *b = &w->ops[1];

	return w->in.mnemonic == ZYDIS_MNEMONIC_CMP && a->type == ZYDIS_OPERAND_TYPE_REGISTER &&
	       a->size >= 32 && register_whole(a->reg.value) == reg &&
	       b->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && b->imm.value.u < ENTRIES_MAX;
}

/* A comparison counts only with a branch behind it that leaves if the number is too large. */
static void index_follow(const struct walk *w, struct entry *e, struct flow_jump *ret)
{
	if (w->has_leapt || e->index == ZYDIS_REGISTER_NONE)
		return;
	if (w->in.meta.category == ZYDIS_CATEGORY_COND_BR) {
		e->above = w->in.mnemonic == ZYDIS_MNEMONIC_JNBE  ? 1
			   : w->in.mnemonic == ZYDIS_MNEMONIC_JNB ? 0
								  : UINT32_MAX;
		e->has_branch = true;
		return;
	}
	if (is_compared(w, e->index) && e->has_branch && e->above <= 1) {
		ret->bound = (uint32_t)w->ops[1].imm.value.u + e->above;
		ret->checked = w->at;
		e->index = ZYDIS_REGISTER_NONE;
	} else if (walk_writes(w, e->index) && !walk_copies(w, &e->index)) {
		e->index = ZYDIS_REGISTER_NONE;
	} else if (w->in.cpu_flags && w->in.cpu_flags->modified) {
		e->has_branch = false;
	}
}

/* Finds out which table it is whose entry is added to its begin, and how long that is. */
static void table_find(struct walk *w, struct flow_jump *ret)
{
	ZydisRegister sum[2];
	struct entry e = {.above = UINT32_MAX};

	if (!sum_read(w, sum) || !entry_find(w, sum, &e))
		return;
	while ((e.base != ZYDIS_REGISTER_NONE || e.index != ZYDIS_REGISTER_NONE) && walk_back(w)) {
		base_follow(w, &e, ret);
		index_follow(w, &e, ret);
	}
	/* the address was taken so far before that only the whole function tells */
	if (e.base != ZYDIS_REGISTER_NONE)
		ret->base = (uint8_t)(e.base - ZYDIS_REGISTER_RAX + 1);
}

/* An address of unknown origin is a pointer from the caller, or one that was loaded long before. */
enum origin jump_origin(const struct trail *t, uint64_t jump, ZydisRegister reg,
			struct flow_jump *ret)
{
	struct walk w = {.t = t, .jump = jump, .n = MIN(t->n, (uint32_t)BACK_MAX)};

	*ret = (struct flow_jump){.at = jump};
	while (walk_back(&w)) {
		enum origin origin = value_origin(&w, &reg);

		if (origin == ORIGIN_COMPUTED)
			table_find(&w, ret);
		if (origin != ORIGIN_OPEN)
			return origin;
	}
	return ORIGIN_OPEN;
}
