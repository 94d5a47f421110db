/* SPDX-License-Identifier: MIT */
/*
 * Which clause-local variables of a helper keep a value from one frame to the next.
 *
 * Most clause-local variables are set and used while one native frame is named. Such a variable is
 * written, on each path through the helper's clauses, before it is read, so nobody can tell whether
 * it keeps its value until the clauses run again: variables of other helpers may have the same
 * register. A variable that some path reads first needs a register of its own, because it has the
 * value that an earlier frame has left in it, or the 0 with which the walk begins.
 *
 * That is the classic analysis of live registers, backwards through the words of the machine until
 * nothing changes. A fault ends the clauses of the frame, so it is no path to another instruction.
 */
#include "helper/hcode_impl.h"

#define PUTS_LOCAL(imm) (HREG_LOCALS + (uint32_t)(imm))

static void reg_add(struct reg_set *s, uint32_t reg)
{
	if (reg >= HREG_LOCALS && reg < HREG_LOCALS + RT_HELPER_LOCALS)
		s->bits[(reg - HREG_LOCALS) / 64] |= 1ull << (reg - HREG_LOCALS) % 64;
}

bool hcode_has_local(const struct reg_set *s, uint32_t reg)
{
	return s->bits[(reg - HREG_LOCALS) / 64] >> (reg - HREG_LOCALS) % 64 & 1;
}

/* Adds what an instruction reads; what it writes goes to *writes. */
static void insn_uses(uint64_t in, struct reg_set *reads, struct reg_set *writes)
{
	uint32_t op = in & 63, a = in >> 8 & 255, b = in >> 16 & 255, c = in >> 24 & 255;
	bool is_imm = in & HOP_IMMEDIATE;

	switch ((enum helper_op)op) {
	case HOP_ADD:
	case HOP_SUB:
	case HOP_AND:
	case HOP_OR:
	case HOP_XOR:
	case HOP_SHL:
	case HOP_SHR:
	case HOP_SAR:
	case HOP_MUL:
	case HOP_UDIV:
	case HOP_UREM:
	case HOP_SDIV:
	case HOP_SREM:
	case HOP_SCMP:
		reg_add(reads, b);
		if (!is_imm)
			reg_add(reads, c);
		reg_add(writes, a);
		return;
	case HOP_JEQ:
	case HOP_JNE:
	case HOP_JLT:
	case HOP_JLE:
	case HOP_JSLT:
	case HOP_JSLE:
		reg_add(reads, b);
		if (!is_imm)
			reg_add(reads, c);
		return;
	case HOP_LOAD:
	case HOP_EXTEND:
	case HOP_TEXT:
	case HOP_VAR:
		reg_add(reads, b);
		reg_add(writes, a);
		return;
	case HOP_IMM:
	case HOP_WIDE:
	case HOP_CALL:
	case HOP_UREG: reg_add(writes, a); return;
	case HOP_PUSH:
	case HOP_ADDS:
	case HOP_ADDN:
	case HOP_OWN:
		if (!is_imm)
			reg_add(reads, b);
		return;
	case HOP_STORE:
		reg_add(reads, a);
		reg_add(reads, b);
		return;
	case HOP_PUTS:
		reg_add(reads, b);
		reg_add(writes, PUTS_LOCAL(in >> 32));
		return;
	case HOP_SAVE:
	case HOP_RESULT: reg_add(reads, b); return;
	case HOP_JMP:
	case HOP_LOOP:
	case HOP_AGAIN:
	case HOP_NONE:
	case HOP_FRAME:
	case HOP_UNWIND:
	case HOP_FRAMES:
	case HOP_STEP:
	case HOP_IMMEDIATE: return;
	}
}

static bool op_jumps(uint32_t op)
{
	return (op >= HOP_JEQ && op <= HOP_JMP) || op == HOP_AGAIN;
}

/* Merges what is live before instruction i; says whether that was news. */
static bool insn_merge(const struct hcode *h, uint32_t from, uint32_t i, struct reg_set *live)
{
	uint64_t in = h->words.data[i];
	uint32_t op = in & 63, next = i + (op == HOP_WIDE ? 2 : 1);
	uint32_t target = i + 1 + (uint32_t)(in >> 32);
	struct reg_set reads = {0}, writes = {0};
	bool is_new = false;

	insn_uses(in, &reads, &writes);
	for (size_t k = 0; k < ARRAY_LEN(reads.bits); k++) {
		uint64_t out = op == HOP_JMP ? 0 : live[next - from].bits[k];
		uint64_t before = live[i - from].bits[k];

		if (op_jumps(op))
			out |= live[target - from].bits[k];
		live[i - from].bits[k] = reads.bits[k] | (out & ~writes.bits[k]);
		is_new |= live[i - from].bits[k] != before;
	}
	return is_new;
}

void hcode_live(const struct hcode *h, uint32_t from, uint32_t to, struct reg_set *ret)
{
	CLEANUP(free) struct reg_set *live = xcalloc(to - from + 2, sizeof(*live));
	CLEANUP(free) uint32_t *starts = xcalloc(to - from + 1, sizeof(*starts));
	bool is_new = true;
	uint32_t n = 0;

	for (uint32_t i = from; i < to; i += (h->words.data[i] & 63) == HOP_WIDE ? 2 : 1)
		starts[n++] = i;
	while (is_new) {
		is_new = false;
		for (uint32_t k = n; k-- > 0;)
			is_new |= insn_merge(h, from, starts[k], live);
	}
	for (size_t k = 0; k < ARRAY_LEN(ret->bits); k++)
		ret->bits[k] |= live[0].bits[k];
}
