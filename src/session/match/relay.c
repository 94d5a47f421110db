/* SPDX-License-Identifier: MIT */
/*
 * The unit to which another one relays its sites: it has the same clauses, and is placed on the
 * slots of the relays in place of the sites (inproc/relay.c).
 */
#include "session/match/impl.h"

/* The place of a slot, in the place of site k of the point. */
static const struct place_code *slot_code(struct arena *a, const struct place_code *code,
					  uint32_t k, const struct place_file *file, uint64_t off)
{
	struct place_code *slot = ARENA_NEW(a, struct place_code);

	*slot = *code;
	slot->sites.data = ARENA_NEW(a, struct place_site);
	slot->sites.len = 1;
	slot->sites.data[0] = code->sites.data[k];
	slot->sites.data[0].file = file;
	slot->sites.data[0].off = off;
	return slot;
}

struct session_unit *match_relay_unit(struct match *m, const struct session_unit *of,
				      const struct relay_slots *slots)
{
	struct session_unit *u = unit_create(m, &of->unit.place);
	uint32_t n = 0;

	for (uint32_t i = 0; i < of->clauses.len; i++)
		vec_push(&u->clauses, of->clauses.data[i]);
	for (uint32_t i = 0; i < of->points.len; i++) {
		const struct unit_probe *p = &of->points.data[i];

		for (uint32_t k = 0; k < p->code->sites.len; k++, n++) {
			struct unit_probe slot = *p;

			/* not in by_key: it is no number of a provider */
			slot.key = n;
			slot.relay_pc = slots->pcs[n];
			slot.code = slot_code(u->arena, p->code, k, slots->file,
					      (uint64_t)(slots->first + n) * slots->size);
			vec_push(&u->points, slot);
		}
	}
	unit_finish(m, u);
	u->unit.can_nest = of->unit.can_nest;
	return u;
}
