/* SPDX-License-Identifier: MIT */
/* The instructions of a function: what the processor's decoder says, put together. */
#include "image/insn.h"

#include "arch/arch.h"
#include "base/sorted.h"

#define INSN_MEAN   4	   /* bytes of an instruction of a compiler's code */
#define RESERVE_MAX 65536u /* instructions: what follows may be no code */

uint32_t insn_len(const uint8_t *code, size_t size, bool is_32bit)
{
	struct insn_decoder d;
	struct insn in;

	arch.insns->start(&d, is_32bit, true);
	return arch.insns->decode(&d, code, (uint32_t)MIN(size, arch.insns->max_len), 0, &in)
		       ? in.len
		       : 0;
}

static bool is_inside(int64_t target, uint32_t size)
{
	return target >= 0 && target < (int64_t)size;
}

/* Decodes the code from the first byte to the last; false if some bytes are no instruction. */
static bool code_sweep(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *s)
{
	struct insn_decoder d;
	struct insn in;

	arch.insns->start(&d, is_32bit, true);
	for (uint32_t off = 0; off < size; off += in.len) {
		if (!arch.insns->decode(&d, code, size, off, &in))
			return false;
		vec_push(&s->list, in);
	}
	return true;
}

/* True if each jump inside the function leads to the begin of an instruction. */
static bool jumps_agree(const struct insns *s, uint32_t size)
{
	for (uint32_t i = 0; i < s->list.len; i++) {
		const struct insn *in = &s->list.data[i];

		if ((in->kind == INSN_JMP || in->kind == INSN_JCC) && is_inside(in->target, size) &&
		    !insns_find(s, (uint32_t)in->target))
			return false;
	}
	return true;
}

/* True if control may go on to the next instruction. */
static bool falls_through(const struct insn *in)
{
	return in->kind == INSN_PLAIN || in->kind == INSN_NOP5 || in->kind == INSN_JCC;
}

static int insn_compare(const void *a, const void *b)
{
	const struct insn *x = a, *y = b;

	return (x->off > y->off) - (x->off < y->off);
}

/* Decodes what control can reach from the first instruction. */
static void code_follow(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *s)
{
	CLEANUP(free) bool *seen = xcalloc(size, sizeof(*seen));
	VEC(uint32_t) todo = {0};
	struct insn in;

	vec_push(&todo, 0);
	while (todo.len) {
		struct insn_decoder d;
		uint32_t off = todo.data[--todo.len];

		arch.insns->start(&d, is_32bit, off == 0);
		for (; off < size && !seen[off] && arch.insns->decode(&d, code, size, off, &in);
		     off += in.len) {
			seen[off] = true;
			vec_push(&s->list, in);
			if ((in.kind == INSN_JMP || in.kind == INSN_JCC) &&
			    is_inside(in.target, size))
				vec_push(&todo, (uint32_t)in.target);
			if (!falls_through(&in))
				break;
		}
	}
	vec_deinit(&todo);
	if (s->list.len)
		qsort(s->list.data, s->list.len, sizeof(*s->list.data), insn_compare);
}

void insns_decode(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *ret)
{
	*ret = (struct insns){0};
	vec_reserve(&ret->list, MIN(size / INSN_MEAN, RESERVE_MAX) + 1);
	if (!size || (code_sweep(code, size, is_32bit, ret) && jumps_agree(ret, size)))
		return;
	vec_clear(&ret->list);
	ret->is_partial = true;
	code_follow(code, size, is_32bit, ret);
}

void insns_follow(const uint8_t *code, uint32_t size, bool is_32bit, struct insns *ret)
{
	*ret = (struct insns){.is_partial = true};
	if (size)
		code_follow(code, size, is_32bit, ret);
}

void insns_deinit(struct insns *s)
{
	vec_deinit(&s->list);
}

const struct insn *insns_find(const struct insns *s, uint32_t off)
{
	uint32_t lo = sorted_below(s->list.data, s->list.len, off, off);

	return lo < s->list.len && s->list.data[lo].off == off ? &s->list.data[lo] : NULL;
}

const struct insn *insns_around(const struct insns *s, uint32_t off)
{
	uint32_t n = sorted_upto(s->list.data, s->list.len, off, off);
	const struct insn *in = n ? &s->list.data[n - 1] : NULL;

	return in && off - in->off < in->len ? in : NULL;
}
