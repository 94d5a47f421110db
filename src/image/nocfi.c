/* SPDX-License-Identifier: MIT */
#include "image/nocfi.h"

#include "arch/arch.h"

#define JUMPS_MAX 64u
#define DEPTH_MAX 4096
#define ZERO	  0x00 /* between sections */
#define INT3	  0xcc /* between functions */

/* Bytes pushed since the function began, and where among them the caller's frame pointer is. */
struct stack {
	int32_t depth;
	int32_t fp; /* the depth behind the push; 0: it is in the register */
};

struct jump {
	struct stack at;
	int64_t to;
};

struct nocfi {
	const uint8_t *code;
	uint32_t size;
	bool is_insn[NOCFI_SIZE_MAX];
	struct stack stacks[NOCFI_SIZE_MAX];
	struct jump jumps[JUMPS_MAX];
	uint32_t njumps;
	struct stack now;
	bool goes_on; /* control can come from the instruction before */
};

static bool stack_is_empty(const struct stack *s)
{
	return !s->depth && !s->fp;
}

static bool insn_push(struct nocfi *n, uint32_t off)
{
	struct insn_stack by;

	if (!arch.insns->stack(n->code + off, n->size - off, &by))
		return false;
	n->now.depth += by.pushed;
	if (by.saves_fp && !n->now.fp)
		n->now.fp = n->now.depth;
	if (by.restores_fp) {
		if (n->now.fp != n->now.depth + 8)
			return false;
		n->now.fp = 0;
	}
	return n->now.depth >= 0 && n->now.depth <= DEPTH_MAX && n->now.fp <= n->now.depth &&
	       !(by.writes_fp && !n->now.fp);
}

/* Follows one instruction; false: the code cannot be followed. */
static bool insn_follow(struct nocfi *n, const struct insn *in)
{
	bool is_left = in->kind == INSN_RET || in->kind == INSN_JMP_TAIL;

	if (in->kind == INSN_JMP_TABLE || (is_left && !stack_is_empty(&n->now)))
		return false;
	if (in->kind == INSN_JMP || in->kind == INSN_JCC) {
		if (n->njumps == JUMPS_MAX)
			return false;
		n->jumps[n->njumps++] = (struct jump){n->now, in->target};
	}
	n->goes_on = !is_left && in->kind != INSN_JMP && in->kind != INSN_STOP;
	if (!n->goes_on)
		n->now = (struct stack){0};
	return !n->goes_on || insn_push(n, in->off);
}

/* Jumps arrive with the stack that they have left with; a jump to another function has none. */
static bool jumps_agree(const struct nocfi *n)
{
	for (uint32_t i = 0; i < n->njumps; i++) {
		const struct jump *j = &n->jumps[i];
		const struct stack none = {0}, *to = &none;

		if (j->to >= 0 && j->to < n->size) {
			if (!n->is_insn[j->to])
				return false;
			to = &n->stacks[j->to];
		}
		if (to->depth != j->at.depth || to->fp != j->at.fp)
			return false;
	}
	return true;
}

static void rows_make(const struct nocfi *n, nocfi_rows *ret)
{
	const struct stack *last = NULL;

	for (uint32_t off = 0; off < n->size; off++) {
		const struct stack *s = &n->stacks[off];

		if (!n->is_insn[off] || (last && last->depth == s->depth && last->fp == s->fp))
			continue;
		vec_push(ret, (struct unwind_row){.off = off,
						  .kind = UNWIND_SP,
						  .cfa = 8 + s->depth,
						  .fp = (int16_t)(s->fp ? 8 + s->fp : 0)});
		last = s;
	}
}

bool nocfi_rows_add(const uint8_t *code, uint32_t size, nocfi_rows *ret)
{
	struct nocfi n = {.code = code, .size = size};
	struct insn_decoder d;
	struct insn in;

	if (size > NOCFI_SIZE_MAX || !arch.insns || !arch.insns->stack)
		return false;
	arch.insns->start(&d, false, true);
	for (uint32_t off = 0; off < size; off += in.len) {
		in.len = 1;
		if (!n.goes_on && (code[off] == ZERO || code[off] == INT3))
			continue;
		if (!arch.insns->decode(&d, code, size, off, &in))
			return false;
		n.is_insn[off] = true;
		n.stacks[off] = n.now;
		if (!insn_follow(&n, &in))
			return false;
	}
	if (!stack_is_empty(&n.now) || !jumps_agree(&n))
		return false;
	rows_make(&n, ret);
	return true;
}
