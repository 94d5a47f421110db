/* SPDX-License-Identifier: MIT */
/* Finds the instructions at which a function is left. */
#include "image/exits.h"

#include "image/insn.h"

#define PARTS_MAX 4

struct parts {
	const struct func *fn;
	const struct func *list[PARTS_MAX]; /* the function, then the parts split off it */
	uint32_t n;
};

/* True if part was split off the function fn, as "f.cold" and "f.part.0.cold" are split off "f". */
static bool is_part_of(const struct func *part, const struct func *fn)
{
	size_t len = strlen(fn->name);

	return part->is_part && strncmp(part->name, fn->name, len) == 0 &&
	       strncmp(part->name + len, ".cold", 5) == 0;
}

static void part_add(struct parts *p, const struct func *part)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (p->list[i] == part)
			return;
	if (p->n < PARTS_MAX)
		p->list[p->n++] = part;
}

/*
 * True if a jump to addr leaves the function. If it leads to a part of the function that is not in
 * the list yet, the part is added.
 */
static bool jump_leaves(const struct funcs *f, struct parts *p, const struct insn *in,
			uint64_t addr)
{
	const struct func *to;

	for (uint32_t i = 0; i < p->n; i++)
		if (addr - p->list[i]->addr < p->list[i]->size)
			return false;
	to = funcs_at(f, addr);
	if (to && is_part_of(to, p->fn)) {
		part_add(p, to);
		return false;
	}
	if (to)
		return !to->is_part;
	/* code without a name: of a stripped program that is as likely a part of this function, but
	 * compilers leave functions by unconditional jumps only */
	return in->kind == INSN_JMP;
}

static bool is_exit(const struct funcs *f, struct parts *p, const struct func *part,
		    const struct insn *in)
{
	switch (in->kind) {
	case INSN_RET:
	case INSN_JMP_TAIL: return true;
	case INSN_JMP:
	case INSN_JCC: return jump_leaves(f, p, in, part->addr + (uint64_t)in->target);
	case INSN_PLAIN:
	case INSN_NOP5:
	case INSN_JMP_TABLE:
	case INSN_STOP: return false;
	}
	return false;
}

bool func_exits_find(const struct funcs *f, const struct func *fn, struct text *t,
		     struct func_exits *ret)
{
	struct parts p = {.fn = fn, .list = {fn}, .n = 1};

	for (uint32_t i = 0; i < p.n; i++) {
		const struct func *part = p.list[i];
		const uint8_t *code = text_at(t, part->off, part->size);
		struct insns s;

		if (!code)
			return i > 0;
		(part->is_sized ? insns_decode : insns_follow)(code, (uint32_t)part->size,
							       f->is_32bit, &s);
		for (uint32_t k = 0; k < s.list.len; k++) {
			const struct insn *in = &s.list.data[k];

			if (in->is_refused || !is_exit(f, &p, part, in))
				continue;
			vec_push(&ret->list,
				 (struct func_exit){
					 .off = part->off + in->off,
					 .rel = (uint32_t)(part->addr + in->off - fn->addr),
					 .is_tail = in->kind != INSN_RET,
				 });
		}
		insns_deinit(&s);
	}
	return true;
}
