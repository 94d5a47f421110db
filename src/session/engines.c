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
