/* SPDX-License-Identifier: MIT */
/* The aggregations of several engines as those of one. */
#include "agg/merge.h"

#include "base/str.h"
#include "tap.h"

#define NCPUS 2
#define NKEYS 4

/* An engine with one map: keys of 4 bytes, a number a CPU; and texts of keys. */
struct fake {
	uint32_t n;
	uint32_t keys[NKEYS];
	uint64_t values[NKEYS][NCPUS];
	uint64_t hash;
	const char *text;
	uint64_t ndrops;
};

static int fake_find(const struct fake *f, const void *key)
{
	for (uint32_t i = 0; i < f->n; i++)
		if (memcmp(&f->keys[i], key, sizeof(f->keys[i])) == 0)
			return (int)i;
	return -1;
}

static struct err *fake_each(void *ctx, uint32_t map, agg_each_f *func, void *arg)
{
	const struct fake *f = ctx;

	(void)map;
	for (uint32_t i = 0; i < f->n; i++)
		func(arg, (const uint8_t *)&f->keys[i], (const uint8_t *)f->values[i], NCPUS);
	return NULL;
}

static struct err *fake_peek(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			     uint32_t *ret_ncpus)
{
	const struct fake *f = ctx;
	int i = fake_find(f, key);

	(void)map;
	if (i >= 0)
		*ret_values = (const uint8_t *)f->values[i];
	*ret_ncpus = i >= 0 ? NCPUS : 0;
	return NULL;
}

static struct err *fake_take(void *ctx, uint32_t map, const void *key, const uint8_t **ret_values,
			     uint32_t *ret_ncpus)
{
	static uint64_t values[NCPUS];
	struct fake *f = ctx;
	int i = fake_find(f, key);
	struct err *e = fake_peek(ctx, map, key, ret_values, ret_ncpus);

	if (i < 0)
		return e;
	memcpy(values, f->values[i], sizeof(values));
	*ret_values = (const uint8_t *)values;
	f->n--;
	f->keys[i] = f->keys[f->n];
	memcpy(f->values[i], f->values[f->n], sizeof(values));
	return e;
}

static struct err *fake_put(void *ctx, uint32_t map, const void *key, const uint8_t *value,
			    bool *ret_done)
{
	struct fake *f = ctx;
	int i = fake_find(f, key);

	*ret_done = i < 0 || map == 1;
	if (!*ret_done)
		return NULL;
	if (i < 0)
		i = (int)f->n++;
	memcpy(&f->keys[i], key, sizeof(f->keys[i]));
	memset(f->values[i], 0, sizeof(f->values[i]));
	memcpy(f->values[i], value, sizeof(f->values[i][0]));
	return NULL;
}

static bool fake_string(void *ctx, uint64_t hash, struct strbuf *out)
{
	const struct fake *f = ctx;

	if (f->hash == hash)
		strbuf_adds(out, f->text);
	return f->hash == hash;
}

static uint64_t fake_drops(void *ctx)
{
	return ((const struct fake *)ctx)->ndrops;
}

static const struct agg_io plain_io = {.each = fake_each,
				       .take = fake_take,
				       .peek = fake_peek,
				       .put = fake_put,
				       .string = fake_string};
static const struct agg_io counting_io = {.each = fake_each,
					  .take = fake_take,
					  .peek = fake_peek,
					  .put = fake_put,
					  .string = fake_string,
					  .drops = fake_drops};

/* Appends "key:value,value,..;" */
static void elem_note(void *arg, const uint8_t *key, const uint8_t *values, uint32_t ncpus)
{
	uint32_t k;

	memcpy(&k, key, sizeof(k));
	strbuf_addf(arg, "%u:", k);
	for (uint32_t i = 0; i < ncpus; i++) {
		uint64_t v;

		memcpy(&v, values + i * sizeof(v), sizeof(v));
		strbuf_addf(arg, "%llu,", (unsigned long long)v);
	}
	strbuf_adds(arg, ";");
}

static void is_elems(struct agg_source whole, uint32_t map, const char *want, const char *name)
{
	struct strbuf text = {0};
	struct err *e = whole.io->each(whole.ctx, map, elem_note, &text);

	ok(!e, "%s", name);
	is_str(strbuf_text(&text), want, name);
	strbuf_deinit(&text);
}

int main(void)
{
	struct elem_map maps[] = {{.key_size = 4, .val_size = 8}, {.key_size = 0, .val_size = 8}};
	const struct layout l = {.agg_maps = maps, .nagg_maps = 2, .opts.ncpus = NCPUS};
	struct fake a = {2, {1, 2}, {{10, 11}, {20, 21}}, 100, "of the first", 3};
	struct fake b = {2, {2, 3}, {{200, 201}, {300, 301}}, 200, "of the second", 4};
	const struct agg_source both[] = {{&plain_io, &a}, {&counting_io, &b}};
	struct agg_merge *one = agg_merge_create(&l, both, 1), *m = agg_merge_create(&l, both, 2);
	struct agg_source whole = agg_merge_whole(m);
	const uint32_t two = 2, five = 5;
	const uint64_t value = 7;
	const uint8_t *values = NULL;
	struct strbuf text = {0};
	uint32_t ncpus = 0;
	bool is_done = false;

	ok(agg_merge_whole(one).ctx == &a && agg_merge_whole(one).io == &plain_io,
	   "one engine is read without a detour");
	is_elems(whole, 0, "1:10,11,;2:20,21,200,201,;3:300,301,;", "each key once");

	ok(!whole.io->peek(whole.ctx, 0, &two, &values, &ncpus) && values, "an element is read");
	is_int(ncpus, 2 * NCPUS, "in both");
	ok(!whole.io->peek(whole.ctx, 0, &five, &values, &ncpus) && !values && ncpus == 0,
	   "one that neither has");
	ok(!whole.io->take(whole.ctx, 0, &two, &values, &ncpus) && values && ncpus == 2 * NCPUS,
	   "an element is taken");
	is_elems(whole, 0, "1:10,11,;3:300,301,;", "out of both");
	ok(!whole.io->put(whole.ctx, 0, &two, (const uint8_t *)&value, &is_done) && is_done,
	   "a value is put back");
	is_elems(whole, 0, "1:10,11,;2:7,0,;3:300,301,;", "into one of them");
	ok(!whole.io->put(whole.ctx, 1, &two, (const uint8_t *)&value, &is_done) && is_done,
	   "an element of an array");
	is_elems(whole, 1, "1:10,11,;2:7,0,0,0,;3:300,301,;", "is overwritten in both");

	ok(whole.io->string(whole.ctx, 200, &text), "a text of the second engine");
	is_str(strbuf_text(&text), "of the second", "is found");
	ok(!whole.io->string(whole.ctx, 300, &text), "a text that neither has");
	is_int(whole.io->drops(whole.ctx), 4, "drops of those that count them");
	ok(!whole.io->stack && !whole.io->texts && !whole.io->forget && !whole.io->room,
	   "what no engine can do is not offered");
	strbuf_deinit(&text);
	agg_merge_destroy(m);
	agg_merge_destroy(one);
	return tap_done();
}
