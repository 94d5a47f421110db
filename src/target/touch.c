/* SPDX-License-Identifier: MIT */
/* Reads a byte here and there in the constants of a process. */
#include "target/touch.h"

#include "files/gate.h"
#include "target/maps.h"
#include "target/target.h"

#define STEP 65536u

/* The bytes are not used. If some cannot be read, clauses cannot read them either. */
static void map_touch(struct target *t, const struct proc_map *m, uint64_t size)
{
	char byte;

	for (taddr at = m->start; at < m->start + size; at = (at / STEP + 1) * STEP)
		(void)target_read(t, at, &byte, 1);
}

static bool is_touchable(struct gate *g, const struct proc_map *m)
{
	return proc_map_has_file(m) && !m->is_exec && !m->is_shared &&
	       gate_is_dev_harmless(g, m->dev);
}

void touch_constants(struct target *t)
{
	const struct proc_maps *maps = target_maps(t);
	uint64_t left = TOUCH_MAX;

	for (uint32_t i = 0; i < maps->maps.len && left; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		uint64_t size = MIN(m->end - m->start, left);

		if (!is_touchable(target_gate(t), m))
			continue;
		map_touch(t, m, size);
		left -= size;
	}
}
