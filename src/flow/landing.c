/* SPDX-License-Identifier: MIT */
/*
 * The landing pads of exceptions: where the unwinder lets a frame go on.
 *
 * The table of a function (LSDA) begins with how addresses are encoded, and has an entry for each
 * group of its calls: begin and length of the group, the landing pad, what is caught there. A
 * function that lets all exceptions pass has none.
 *
 * Facts    LSB 5 10.6; GCC's libgcc/unwind-c.c reads the same table.
 */
#include <dwarf.h>

#include "flow/impl.h"
#include "image/bytes.h"

struct lsda {
	struct bytes b;
	const uint8_t *begin;
	uint64_t addr; /* of begin */
};

/* Reads a number; of DW_EH_PE_pcrel, that is 0 if it stands for no address. */
static uint64_t number_get(struct lsda *l, uint8_t form)
{
	uint64_t at = l->addr + (uint64_t)(l->b.p - l->begin), v;

	switch (form & 0x0f) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8: v = get_fixed(&l->b, 8); break;
	case DW_EH_PE_udata4: v = get_fixed(&l->b, 4); break;
	case DW_EH_PE_sdata4: v = (uint64_t)(int64_t)(int32_t)get_fixed(&l->b, 4); break;
	case DW_EH_PE_udata2: v = get_fixed(&l->b, 2); break;
	case DW_EH_PE_sdata2: v = (uint64_t)(int64_t)(int16_t)get_fixed(&l->b, 2); break;
	case DW_EH_PE_uleb128: v = get_uleb(&l->b); break;
	case DW_EH_PE_sleb128: v = (uint64_t)get_sleb(&l->b); break;
	default: l->b.is_bad = true; return 0;
	}
	return v && (form & 0x70) == DW_EH_PE_pcrel ? v + at : v;
}

/* Marks the landing pads of the groups; those before a damaged one are marked. */
static void groups_mark(struct making *m, struct lsda *l, uint8_t form, uint64_t base)
{
	while (l->b.p < l->b.end && !l->b.is_bad) {
		uint64_t pad;

		(void)number_get(l, form);
		(void)number_get(l, form);
		pad = number_get(l, form);
		(void)get_uleb(&l->b);
		if (pad && !l->b.is_bad && flow_mark(m->f, base + pad))
			m->f->nlandings++;
	}
}

bool landings_mark(struct making *m, const struct unwind_fde *fde)
{
	uint64_t size, base = fde->addr, len;
	const uint8_t *p = making_bytes(m, fde->lsda, &size);
	struct lsda l = {.addr = fde->lsda};
	uint8_t form;

	if (!p)
		return false;
	l.begin = p;
	l.b = (struct bytes){.p = p, .end = p + size};
	form = get_u8(&l.b);
	if (form != DW_EH_PE_omit)
		base = number_get(&l, form);
	if (get_u8(&l.b) != DW_EH_PE_omit)
		(void)get_uleb(&l.b); /* how far the types are */
	form = get_u8(&l.b);
	len = get_uleb(&l.b);
	if (l.b.is_bad || len > (uint64_t)(l.b.end - l.b.p) || len > m->work)
		return false;
	m->work -= len;
	l.b.end = l.b.p + len;
	groups_mark(m, &l, form, base);
	return !l.b.is_bad;
}
