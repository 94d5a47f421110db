/* SPDX-License-Identifier: MIT */
/*
 * The batches of a provider whose probes are in files that processes map while they are traced
 * (provider/arrivals.h): which probes each of them has.
 *
 * Owns     the batches, not their probes.
 */
#pragma once

#include "base/vec.h"
#include "probe/probe.h"

struct batch {
	uint32_t number; /* counted from 1: what is mapped at the start belongs to no batch */
	VEC(struct probe *) probes;
};

struct batches {
	VEC(struct batch *) list;
};

void batches_deinit(struct batches *bs);
/* Begins a batch, which becomes the last one. */
void batches_begin(struct batches *bs, uint32_t number);
/* The batch that is being filled. There must be one. */
struct batch *batches_last(const struct batches *bs);
/* NULL: there is no batch of this number. */
struct batch *batches_find(const struct batches *bs, uint32_t number);
void batches_drop(struct batches *bs, uint32_t number);
/*
 * Drops a batch, and removes those of its probes for which leave() is true: it releases what the
 * provider knows of the probe if the probe is in no other batch.
 */
void batches_free(struct batches *bs, struct provider_env *env, uint32_t number, bool keeps_names,
		  bool (*leave)(struct provider_env *env, struct probe *pr, bool keeps_names));
