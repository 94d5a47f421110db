/* SPDX-License-Identifier: MIT */
/* Which probes the batches of a provider have. */
#include "provider/code/batch.h"

#include <stdlib.h>

#include "base/base.h"

static void batch_destroy(struct batch *b)
{
	vec_deinit(&b->probes);
	free(b);
}

void batches_deinit(struct batches *bs)
{
	for (uint32_t i = 0; i < bs->list.len; i++)
		batch_destroy(bs->list.data[i]);
	vec_deinit(&bs->list);
}

void batches_begin(struct batches *bs, uint32_t number)
{
	struct batch *b = xcalloc(1, sizeof(*b));

	b->number = number;
	vec_push(&bs->list, b);
}

struct batch *batches_last(const struct batches *bs)
{
	return *vec_last(&bs->list);
}

struct batch *batches_find(const struct batches *bs, uint32_t number)
{
	for (uint32_t i = 0; i < bs->list.len; i++)
		if (bs->list.data[i]->number == number)
			return bs->list.data[i];
	return NULL;
}

void batches_drop(struct batches *bs, uint32_t number)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < bs->list.len; i++) {
		struct batch *b = bs->list.data[i];

		if (b->number == number)
			batch_destroy(b);
		else
			bs->list.data[n++] = b;
	}
	bs->list.len = n;
}

void batches_free(struct batches *bs, struct provider_env *env, uint32_t number, bool keeps_names,
		  bool (*leave)(struct provider_env *env, struct probe *pr, bool keeps_names))
{
	const struct batch *b = batches_find(bs, number);
	struct probe_list gone = {0};

	for (uint32_t i = 0; b && i < b->probes.len; i++)
		if (leave(env, b->probes.data[i], keeps_names))
			probe_list_add(&gone, b->probes.data[i]);
	probes_remove(env->probes, &gone);
	vec_deinit(&gone.probes);
	batches_drop(bs, number);
}
