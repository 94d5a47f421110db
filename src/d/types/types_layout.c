/* SPDX-License-Identifier: MIT */
/*
 * Layout of structs and unions by the System V AMD64 ABI.
 *
 * A bit-field of declared type T (size S bits) lies in a unit of S bits aligned like T: it starts
 * at the next free bit, unless it would cross the end of such a unit; then it starts at the next
 * unit. A named bit-field aligns the struct like T; an unnamed one does not. A bit-field of width
 * zero moves to the next boundary of T.
 *
 *     struct { char a; int b : 5; int c : 22; };
 *
 *     a: bit 0, b: bit 8, c: bit 32, because 13 + 22 > 32; the size is 8 bytes
 *
 * Facts    System V ABI, AMD64 supplement 3.1.2; tests/unit/d/types.c compares with gcc.
 */
#include "d/types/types_impl.h"

#define ZERO_WIDTH UINT32_MAX

struct layout {
	uint64_t bits; /* next free bit; a union: size so far */
	uint32_t align;
	bool is_union;
};

static uint64_t bitfield_allocate(struct layout *l, const struct type_member *m, uint32_t size,
				  uint32_t align)
{
	uint64_t unit = (uint64_t)size * 8, at;

	if (m->bit_size == ZERO_WIDTH) {
		if (!l->is_union)
			l->bits = ROUND_UP(l->bits, (uint64_t)align * 8);
		return l->bits;
	}
	if (*m->name)
		l->align = MAX(l->align, align);
	if (l->is_union) {
		l->bits = MAX(l->bits, ROUND_UP((uint64_t)m->bit_size, 8));
		return 0;
	}
	if (unit && l->bits % unit + m->bit_size > unit)
		l->bits = ROUND_UP(l->bits, unit);
	at = l->bits;
	l->bits += m->bit_size;
	return at;
}

static uint64_t member_allocate(struct layout *l, uint32_t size, uint32_t align)
{
	uint64_t at = 0;

	l->align = MAX(l->align, align);
	if (l->is_union) {
		l->bits = MAX(l->bits, (uint64_t)size * 8);
		return 0;
	}
	at = ROUND_UP(l->bits, (uint64_t)align * 8);
	l->bits = at + (uint64_t)size * 8;
	return at;
}

/*
 * Padding has no name and is left out of the members; an anonymous struct or union stays, because
 * its members are found through it.
 */
static bool is_padding(const struct type_member *m)
{
	return !*m->name && m->bit_size;
}

void type_layout_sou(struct types *t, struct type_row *row)
{
	struct layout l = {.align = 1, .is_union = row->info.kind == TK_UNION};
	struct type_member *out = row->info.members;
	uint32_t n = 0;

	if (!out)
		out = row->info.members = ARENA_NEW_N(t->arena, struct type_member, row->ndef);
	for (uint32_t i = 0; i < row->ndef; i++) {
		const struct type_member *m = &row->def[i];
		uint32_t size = type_size(t, m->type), align = type_align(t, m->type);
		uint64_t at = m->bit_size ? bitfield_allocate(&l, m, size, align)
					  : member_allocate(&l, size, align);

		if (is_padding(m))
			continue;
		out[n] = *m;
		out[n++].bit_off = (uint32_t)at;
	}
	row->info.nmembers = n;
	row->align = l.align;
	row->info.size = (uint32_t)(ROUND_UP(l.bits, (uint64_t)l.align * 8) / 8);
}

void type_layout_given(struct types *t, struct type_row *row)
{
	row->align = 1;
	for (uint32_t i = 0; i < row->info.nmembers; i++) {
		const struct type_member *m = &row->info.members[i];
		uint32_t align = m->bit_size ? 1 : type_align(t, m->type);

		/* A packed struct is aligned to less than its members are. */
		if (m->bit_off % (align * 8) == 0 && row->info.size % align == 0)
			row->align = MAX(row->align, align);
	}
}
