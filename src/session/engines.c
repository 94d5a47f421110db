/* SPDX-License-Identifier: MIT */
/*
 * The engines there are, by preference: the first one that has code for all places of a session
 * runs it.
 */
#include "bpf/engine.h"
#include "session/run.h"

const struct engine *const engine_list[] = {
	&engine_bpf,
	NULL,
};

uint32_t engines_max_maps(const struct engine *const *engines, uint32_t ncpus)
{
	uint32_t least = 0;

	for (const struct engine *const *e = engines; *e; e++) {
		uint32_t n = (*e)->max_maps ? (*e)->max_maps(ncpus) : 0;

		least = n && (!least || n < least) ? n : least;
	}
	return least;
}
