/* Chooses between the two nops of a program's probe. */
#include "proc/fastnop.h"

#include "arch/arch.h"

#define FN_MAX (1u << 20) /* bytes of a function that is decoded for the sake of its probes */

/* True if the function may keep variables below the stack pointer. */
static bool insns_use_red_zone(const struct insns *s)
{
	bool has_call = false;

	for (uint32_t i = 0; i < s->list.len; i++) {
		if (s->list.data[i].is_red_zone_step)
			return true;
		has_call |= s->list.data[i].is_call;
	}
	return !has_call;
}

/* Decodes the function, unless it was decoded last. */
static void function_decode(struct fastnop *n, const struct func *fn, struct text *t)
{
	const uint8_t *code;

	if (n->fn == fn)
		return;
	insns_deinit(&n->insns);
	*n = (struct fastnop){.fn = fn};
	code = fn->size <= FN_MAX ? text_at(t, fn->off, fn->size) : NULL;
	if (code)
		insns_decode(code, (uint32_t)fn->size, false, &n->insns);
	n->has_red_zone = insns_use_red_zone(&n->insns);
}

/* True if nothing but the entry and nops lies before the instruction. */
static bool is_at_begin(const struct fastnop *n, const struct insn *at)
{
	for (const struct insn *in = n->insns.list.data; in < at; in++)
		if (!in->is_idle)
			return false;
	return true;
}

static bool is_jumped_to(const struct fastnop *n, uint32_t off)
{
	for (uint32_t i = 0; i < n->insns.list.len; i++) {
		const struct insn *in = &n->insns.list.data[i];

		if (in->kind == INSN_JMP_TABLE ||
		    ((in->kind == INSN_JMP || in->kind == INSN_JCC) && in->target == off))
			return true;
	}
	return false;
}

uint32_t fastnop_skip(struct fastnop *n, const struct funcs *f, struct text *t, uint64_t off)
{
	const struct func *fn = f->is_32bit ? NULL : funcs_at_off(f, off);
	const struct insn *site, *nop;
	uint32_t at;

	if (!fn || !fn->is_sized)
		return 0;
	function_decode(n, fn, t);
	at = (uint32_t)(off - fn->off);
	site = n->insns.is_partial ? NULL : insns_find(&n->insns, at);
	if (!site || !site->is_idle)
		return 0;
	nop = insns_find(&n->insns, at + site->len);
	if (!nop || nop->kind != INSN_NOP5 || is_jumped_to(n, nop->off))
		return 0;
	return !n->has_red_zone || is_at_begin(n, nop) ? site->len : 0;
}

void fastnop_deinit(struct fastnop *n)
{
	insns_deinit(&n->insns);
	*n = (struct fastnop){0};
}
