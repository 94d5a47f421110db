/* SPDX-License-Identifier: MIT */
/*
 * Code generation in the kernel: aggregations, records, control flow, faults, entries. What
 * expressions give is the business of tests/prop/kernel_vs_interp.c.
 */
#include "../tap.h"

#include "record/llquantize.h"
#include "gen_fixture.h"

#include <bpf/bpf.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#define BAD_ADDR 0x10

static uint64_t user_value, user_incr;
static const char user_text[] = "text in user memory";

/* ---- expressions ---------------------------------------------------------------------------- */

static struct difo *constant(struct gx *x, uint64_t v)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, v), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_s64);
}

static struct difo *builtin(struct gx *x, uint32_t id, struct dif_type ret)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_LDGS, id, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, ret);
}

static struct difo *user_load(struct gx *x, const void *addr)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, (uintptr_t)addr), 1));
	dif_emit(b, dif_rrr(DIF_OP_ULDX, 1, 0, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_s64);
}

static struct difo *kernel_load(struct gx *x, uint64_t addr)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, addr), 1));
	dif_emit(b, dif_rrr(DIF_OP_LDX, 1, 0, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_s64);
}

static struct difo *copyinstr(struct gx *x, const void *addr)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, (uintptr_t)addr), 1));
	dif_emit(b, dif_rrr(DIF_OP_PUSHTV, 0, 0, 1));
	dif_emit(b, dif_idx(DIF_OP_CALL, DIF_SUBR_COPYINSTR, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_string);
}

static struct difo *strconst(struct gx *x, const char *s)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETS, dif_str(b, s), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, gx_string);
}

static int load_all(struct gx *x, uint32_t n)
{
	struct unit u = gx_unit(x, PLACE_TEST_RUN, 0, n);

	gx_probe(x, &u, 0);
	return gx_load(x, &u);
}

static int64_t field_int(const struct gx *x, const struct rt_rec *rec, uint32_t act, uint32_t k)
{
	const struct rec_field *f = &x->layout->clauses[rec->clause].acts[act].fields[k];
	int64_t v = 0;

	memcpy(&v, (const char *)rec + f->off, f->size);
	return v;
}

/* ---- aggregations --------------------------------------------------------------------------- */

/* clang-format off */
static const int64_t values[] = {
	0,	   1,	     2,	 3,  5,	 8,  9,	   10,	      11,	 99,	    100,
	1000,	   4711,     -1, -2, -8, -9, -100, INT32_MAX, INT32_MIN, 1ll << 40, -(1ll << 40),
	INT64_MAX, INT64_MIN};

static uint32_t quantize_bucket(int64_t v)
{
	uint64_t mag = v < 0 ? -(uint64_t)v : (uint64_t)v;
	uint32_t log = 0;

	if (!v)
		return 63;
	while (mag >>= 1)
		log++;
	if (v < 0)
		return 63 - MIN(log, 62u) - 1;
	return 64 + MIN(log, 62u);
}
/* clang-format on */

static uint32_t host_bucket(const struct prog_agg *agg, int64_t v)
{
	const int64_t *p = agg->param;

	if (agg->func == AGGFUNC_QUANTIZE)
		return quantize_bucket(v);
	if (agg->func == AGGFUNC_LLQUANTIZE)
		return llquantize_bucket(p, v);
	return v < p[0]			 ? 0
	       : v >= p[0] + p[1] * p[2] ? (uint32_t)p[1] + 1
					 : (uint32_t)((v - p[0]) / p[2]) + 1;
}

/* Word k of the value after all values were aggregated. */
static int64_t host_word(const struct prog_agg *agg, uint32_t k, int64_t incr)
{
	__int128 squares = 0;
	int64_t sum = 0, n = 0, min = INT64_MAX, max = INT64_MIN, bucket = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(values); i++) {
		int64_t v = values[i];

		n++;
		sum = (int64_t)((uint64_t)sum + (uint64_t)v);
		min = MIN(min, v);
		max = MAX(max, v);
		squares = (__int128)((unsigned __int128)squares +
				     (unsigned __int128)((__int128)v * v));
		if (!aggfunc_words(agg->func) && host_bucket(agg, v) == k)
			bucket += incr;
	}
	switch (agg->func) {
	case AGGFUNC_COUNT: return n;
	case AGGFUNC_SUM: return sum;
	case AGGFUNC_MIN: return min ^ INT64_MAX;
	case AGGFUNC_MAX: return max ^ INT64_MIN;
	case AGGFUNC_AVG: return k ? sum : n;
	case AGGFUNC_STDDEV:
		return k == 0	? n
		       : k == 1 ? sum
		       : k == 2 ? (int64_t)squares
				: (int64_t)(squares >> 64);
	case AGGFUNC_QUANTIZE:
	case AGGFUNC_LQUANTIZE:
	case AGGFUNC_LLQUANTIZE:
	case AGGFUNC_LIVE: break;
	}
	return bucket;
}

static void check_agg(struct gx *x, const struct prog_agg *agg, bool has_incr, const char *how)
{
	const struct agg_layout *al = &x->layout->aggs[agg->id - 1];
	uint32_t nwords = al->nbuckets ? al->nbuckets : al->val_size / 8 - (agg->nkeys ? 0 : 1);
	uint32_t bad = 0;

	for (uint32_t k = 0; k < nwords; k++) {
		int64_t want = host_word(agg, k, has_incr ? 3 : 1), got = 0;
		char key[16] = {0};
		uint64_t first = 77;

		if (agg->nkeys)
			memcpy(key, &first, 8);
		if (al->is_sparse)
			memcpy(key + (agg->nkeys ? 8 : 0), &k, 4);
		if (gx_agg_value(x, agg, key, al->is_sparse ? 0 : k, &got) || want)
			bad += got != want;
	}
	ok(!bad, "aggregating function %d, %u keys, %s", agg->func, agg->nkeys, how);
}

static void test_aggs(bool can_nest)
{
	static const struct {
		enum aggfunc func;
		int64_t param[4];
	} cases[] = {
		{AGGFUNC_COUNT, {0}},
		{AGGFUNC_SUM, {0}},
		{AGGFUNC_MIN, {0}},
		{AGGFUNC_MAX, {0}},
		{AGGFUNC_AVG, {0}},
		{AGGFUNC_STDDEV, {0}},
		{AGGFUNC_QUANTIZE, {0}},
		{AGGFUNC_LQUANTIZE, {0, 10, 10}},
		{AGGFUNC_LQUANTIZE, {-100, 200, 1}},
		{AGGFUNC_LQUANTIZE, {-5, 60000, 7}},
		{AGGFUNC_LLQUANTIZE, {10, 0, 6, 20}},
	};
	struct gx *x = gx_create();
	struct unit u;
	int prog;

	for (uint32_t i = 0; i < ARRAY_LEN(cases) * 2; i++) {
		bool has_key = i % 2, is_hist = !aggfunc_words(cases[i / 2].func);
		struct prog_agg *agg = gx_agg(x, cases[i / 2].func, has_key);
		struct prog_clause *c = gx_clause(x, 1);
		struct prog_act *act = gx_act(x, c, ACT_AGG, NULL, DATUM_INT);

		memcpy(agg->param, cases[i / 2].param, sizeof(agg->param));
		act->agg = agg;
		if (has_key)
			act->args[act->nargs++] = constant(x, 77);
		if (agg->func != AGGFUNC_COUNT)
			act->args[act->nargs++] = user_load(x, &user_value);
		if (is_hist && has_key)
			act->args[act->nargs++] = user_load(x, &user_incr);
	}
	gx_finish(x);
	u = gx_unit(x, PLACE_TEST_RUN, 0, x->clauses.len);
	u.can_nest = can_nest;
	gx_probe(x, &u, 0);
	prog = gx_load(x, &u);
	user_incr = 3;
	for (uint32_t i = 0; i < ARRAY_LEN(values); i++) {
		user_value = (uint64_t)values[i];
		gx_run(x, prog, 0);
	}
	for (uint32_t i = 0; i < x->aggs.len; i++)
		check_agg(x, x->aggs.data[i], i % 2, can_nest ? "nesting" : "alone");
	gx_destroy(x);
}

static void test_agg_strings(void)
{
	struct gx *x = gx_create();
	struct prog_agg *agg = gx_agg(x, AGGFUNC_COUNT, 2);
	struct prog_act *act =
		gx_act(x, gx_clause(x, 1), ACT_AGG, copyinstr(x, user_text), DATUM_STRING);
	char key[16], next[16];
	struct {
		uint32_t len;
		char data[256];
	} str = {0};
	int64_t n = 0;
	uint64_t hash;
	int prog;

	agg->key_kinds[0] = DATUM_STRING;
	agg->key_types[0] = gx_string;
	agg->key_types[1] = gx_s8;
	act->agg = agg;
	act->args[act->nargs++] = constant(x, 5);
	gx_finish(x);
	prog = load_all(x, 1);
	gx_run(x, prog, 0);
	gx_run(x, prog, 0);
	ok(bpf_map_get_next_key(x->maps->agg_fds[0], NULL, key) == 0 &&
		   bpf_map_get_next_key(x->maps->agg_fds[0], key, next) != 0,
	   "one element");
	ok(gx_agg_value(x, agg, key, 0, &n) && n == 2, "counted twice");
	ok(key[8] == 5 && memcmp(key + 9, "\0\0\0", 3) == 0, "a byte and its padding");
	memcpy(&hash, key, 8);
	ok(bpf_map_lookup_elem(x->maps->fd[MAP_STRINGS], &hash, &str) == 0 &&
		   str.len == strlen(user_text) && memcmp(str.data, user_text, str.len) == 0,
	   "the text of the key");
	gx_destroy(x);
}

static void test_agg_drops(void)
{
	struct gx *x = gx_create();
	struct prog_agg *agg = gx_agg(x, AGGFUNC_COUNT, 1);
	struct prog_act *act =
		gx_act(x, gx_clause(x, 1), ACT_AGG, user_load(x, &user_value), DATUM_INT);
	uint64_t drops = 0;
	int prog;

	x->opts.aggsize = 1;
	act->agg = agg;
	gx_finish(x);
	prog = load_all(x, 1);
	for (user_value = 0; user_value < 4; user_value++)
		gx_run(x, prog, 0);
	for (uint32_t i = 0; i < x->opts.ncpus; i++)
		drops += x->maps->control->cpu[i].agg_drops;
	is_int(x->layout->aggs[0].max_entries, 1, "room for one element");
	is_int(drops, 3, "the others are dropped and counted");
	gx_destroy(x);
}

/* More aggregations than there can be maps, in one clause, longer than a jump reaches. */
static void test_many_aggs(void)
{
	enum { N = 700 };
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 2 * N);
	uint32_t bad = 0;
	int64_t n;
	int prog;

	for (uint32_t i = 0; i < 2 * N; i++) {
		struct prog_act *act = gx_act(x, c, ACT_AGG, NULL, DATUM_INT);

		act->agg = gx_agg(x, i % 2 ? AGGFUNC_SUM : AGGFUNC_COUNT, i % 2);
		if (i % 2) {
			act->args[act->nargs++] = constant(x, 1000 + i);
			act->args[act->nargs++] = constant(x, i);
		}
	}
	gx_finish(x);
	prog = load_all(x, 1);
	gx_run(x, prog, 0);
	gx_run(x, prog, 0);
	for (uint32_t i = 0; i < 2 * N; i++) {
		const struct agg_layout *al = &x->layout->aggs[i];
		uint64_t key[2] = {al->owner ? al->owner : 1000 + i, 1000 + i};

		bad += !gx_agg_value(x, x->aggs.data[i], key, 0, &n) || n != (i % 2 ? 2 * i : 2);
	}
	is_int(bad, 0, "each has its own value");
	ok(x->layout->nagg_maps <= 50, "in %u maps", x->layout->nagg_maps);
	gx_destroy(x);
}

/* ---- records and control flow --------------------------------------------------------------- */

static void test_strings(uint32_t ncpus)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 8);
	const struct rt_rec *rec;
	struct rt_str s[2];
	uint32_t len = 0;

	x->opts.ncpus = MAX(x->opts.ncpus, ncpus);
	gx_act(x, c, ACT_TRACE, copyinstr(x, user_text), DATUM_STRING);
	gx_act(x, c, ACT_TRACE, constant(x, 0), DATUM_STRING)->args[0]->ret = gx_string;
	gx_act(x, c, ACT_TRACE, strconst(x, "known"), DATUM_STRING);
	gx_act(x, c, ACT_TRACE, copyinstr(x, user_text + 5), DATUM_STRING);
	gx_finish(x);
	gx_run(x, load_all(x, 1), 0);
	rec = gx_record(x, &len);
	ok(rec && rec->clause == 0 && rec->probe == 100, "a record");
	if (!rec)
		return;
	memcpy(&s[0], (const char *)rec + x->layout->clauses[0].acts[0].fields[0].off, 8);
	memcpy(&s[1], (const char *)rec + x->layout->clauses[0].acts[3].fields[0].off, 8);
	ok(s[0].len == strlen(user_text) && strcmp((const char *)rec + s[0].off, user_text) == 0,
	   "a user string");
	ok(s[1].len == strlen(user_text) - 5 &&
		   strcmp((const char *)rec + s[1].off, user_text + 5) == 0,
	   "another one");
	ok(len < s[1].off + s[1].len + 16, "the record ends there: %u bytes", len);
	memcpy(&s[0], (const char *)rec + x->layout->clauses[0].acts[1].fields[0].off, 8);
	ok(s[0].len == UINT32_MAX, "NULL");
	is_str(strtab_get(x->strtab, (uint32_t)field_int(x, rec, 2, 0)), "known", "a constant");
	gx_destroy(x);
}

/* if (v) trace(1) else trace(2); third only if v == 2 by a jump over it */
static void test_if(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 8);
	const struct rt_rec *rec;
	uint64_t bits;
	int prog;

	gx_act(x, c, ACT_BRZ, user_load(x, &user_value), DATUM_INT)->target = 3;
	gx_act(x, c, ACT_TRACE, constant(x, 1), DATUM_INT);
	gx_act(x, c, ACT_JMP, NULL, DATUM_INT)->target = 5;
	gx_act(x, c, ACT_BRZ, user_load(x, &user_incr), DATUM_INT)->target = 5;
	gx_act(x, c, ACT_TRACE, constant(x, 2), DATUM_INT);
	gx_finish(x);
	prog = load_all(x, 1);
	for (user_value = 0; user_value < 2; user_value++)
		for (user_incr = 0; user_incr < 2; user_incr++) {
			gx_run(x, prog, 0);
			rec = gx_record(x, NULL);
			if (!user_value && !user_incr) {
				ok(!rec, "nothing was executed: no record");
				continue;
			}
			ok(rec != NULL, "a record");
			if (!rec)
				continue;
			memcpy(&bits, (const char *)rec + x->layout->clauses[0].executed_off, 8);
			is_int(bits, user_value ? 1 << 1 : 1 << 4, "what was executed");
			is_int(field_int(x, rec, user_value ? 1 : 4, 0), user_value ? 1 : 2,
			       "value");
		}
	gx_destroy(x);
}

static void test_exit(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 1);
	const struct rt_rec *rec;
	int prog;

	gx_act(x, c, ACT_EXIT, constant(x, 3), DATUM_INT);
	gx_finish(x);
	prog = load_all(x, 1);
	gx_run(x, prog, 0);
	is_int(x->maps->control->state, RT_STATE_EXITING, "exit() stops the session");
	rec = gx_record(x, NULL);
	ok(rec && field_int(x, rec, 0, 0) == 3, "status");
	gx_run(x, prog, 0);
	ok(!gx_record(x, NULL), "nothing fires any more");
	gx_destroy(x);
}

static void test_predicate_and_masks(void)
{
	struct gx *x = gx_create();
	struct unit u;
	const struct rt_rec *rec;
	int prog;

	for (uint32_t i = 0; i < 4; i++)
		gx_act(x, gx_clause(x, 1), ACT_TRACE, builtin(x, DIF_VAR_EPID, gx_u64), DATUM_INT);
	x->clauses.data[0]->pred = user_load(x, &user_value);
	gx_finish(x);
	for (uint32_t i = 0; i < 4; i++)
		x->layout->clauses[i].first_epid = 10 * (i + 1);
	u = gx_unit(x, PLACE_TEST_RUN, 0, 4);
	for (uint32_t key = 0; key < 9; key++)
		gx_probe(x, &u, key)->mask[0] = key == 5 ? 0x9 : key == 8 ? 0xe : 0xf;
	/* clause 1 is on probes 0 2 4 8 only, for the sake of its epid */
	u.clauses[1].probe_idxs = (const uint32_t[]){0, 2, 4, 8};
	u.clauses[1].nprobes = 4;
	prog = gx_load(x, &u);
	user_value = 1;
	gx_run(x, prog, 5);
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == 0 && rec->probe == 105 && field_int(x, rec, 0, 0) == 15,
	   "first clause, probe 5");
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == 3 && field_int(x, rec, 0, 0) == 45, "last clause");
	ok(!gx_record(x, NULL), "those that are not enabled there do not run");
	user_value = 0;
	gx_run(x, prog, 8);
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == 1 && field_int(x, rec, 0, 0) == 23,
	   "predicate false; rank 3 of 0 2 4 8");
	gx_run(x, prog, 4);
	(void)gx_record(x, NULL);
	(void)gx_record(x, NULL);
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == 1 && field_int(x, rec, 0, 0) == 22, "rank 2");
	gx_run(x, prog, 7777);
	while (rec)
		rec = gx_record(x, NULL);
	ok(!rec, "no such probe");
	gx_destroy(x);
}

static void test_many_clauses(uint32_t n)
{
	struct gx *x = gx_create();
	const struct rt_rec *rec;
	uint32_t got = 0;

	for (uint32_t i = 0; i < n; i++)
		gx_act(x, gx_clause(x, 1), ACT_TRACE,
		       i % 7 == 3 ? kernel_load(x, BAD_ADDR) : constant(x, i), DATUM_INT);
	gx_finish(x);
	gx_run(x, load_all(x, n), 0);
	while ((rec = gx_record(x, NULL))) {
		const struct rt_rec_fault *f = (const struct rt_rec_fault *)(const void *)rec;
		uint32_t clause = rec->clause == RT_REC_FAULT ? f->fault.clause : rec->clause;

		if (clause == got && (rec->clause == RT_REC_FAULT) == (got % 7 == 3))
			got++;
	}
	is_int(got, n, "all of very many clauses, in order");
	gx_destroy(x);
}

/* ---- faults --------------------------------------------------------------------------------- */

static void test_error_clauses(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 2), *after = gx_clause(x, 1), *error = gx_clause(x, 8);
	struct prog_clause *bad = gx_clause(x, 1);
	const struct rt_rec *rec;
	struct unit u;

	gx_act(x, c, ACT_TRACE, constant(x, 0), DATUM_INT);
	gx_act(x, c, ACT_TRACE, kernel_load(x, BAD_ADDR), DATUM_INT);
	gx_act(x, after, ACT_TRACE, builtin(x, DIF_VAR_ARG0 + 2, gx_s64), DATUM_INT);
	for (uint32_t i = 0; i < 6; i++)
		gx_act(x, error, ACT_TRACE, builtin(x, DIF_VAR_ARG0 + i, gx_s64), DATUM_INT);
	gx_act(x, error, ACT_TRACE, builtin(x, DIF_VAR_ID, gx_s64), DATUM_INT);
	gx_act(x, bad, ACT_TRACE, kernel_load(x, BAD_ADDR), DATUM_INT);
	gx_finish(x);
	x->layout->clauses[0].first_epid = 40;
	u = gx_unit(x, PLACE_TEST_RUN, 0, 2);
	u.error_clauses = (struct unit_clause[]){{&x->layout->clauses[2], NULL, 0, NULL, 0, NULL},
						 {&x->layout->clauses[3], NULL, 0, NULL, 0, NULL}};
	u.nerror_clauses = 2;
	u.error_id.probe = 3;
	gx_probe(x, &u, 2);
	gx_run(x, gx_load(x, &u), 2);
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == RT_REC_FAULT && rec->probe == 102,
	   "the fault's record, of the probe");
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == 2 && rec->probe == 3, "the ERROR clause's");
	if (rec && rec->clause == 2) {
		const int64_t want[] = {0, 42, 2, 4, DIF_FAULT_BADADDR, BAD_ADDR, 3};

		for (uint32_t i = 0; i < ARRAY_LEN(want); i++)
			is_int(field_int(x, rec, i, 0), want[i], "argument of ERROR");
	}
	rec = gx_record(x, NULL);
	ok(rec && rec->clause == 1 && rec->probe == 102 && field_int(x, rec, 0, 0) == 0,
	   "the next clause of the probe, with its own arguments");
	is_int(x->maps->control->cpu[0].dblerrors +
		       x->maps->control->cpu[1 % x->opts.ncpus].dblerrors,
	       x->opts.ncpus > 1 ? 1 : 2, "a fault in ERROR is only counted");
	gx_destroy(x);
}

static void test_nesting(void)
{
	struct gx *x = gx_create();
	uint64_t drops = 0;
	uint32_t size;
	char *mach;
	int prog, fd;

	gx_act(x, gx_clause(x, 1), ACT_TRACE, constant(x, 1), DATUM_INT);
	gx_finish(x);
	prog = load_all(x, 1);
	gx_run(x, prog, 0);
	ok(gx_record(x, NULL) != NULL, "first level");
	fd = x->maps->fd[MAP_MACH];
	{
		struct bpf_map_info info = {0};
		uint32_t len = sizeof(info);

		(void)bpf_obj_get_info_by_fd(fd, &info, &len);
		size = info.value_size;
	}
	mach = xcalloc(1, size);
	for (uint32_t level = 0; level < RT_LEVELS; level++) {
		for (uint32_t cpu = 0; cpu < x->opts.ncpus; cpu++) {
			uint32_t slot = cpu * RT_LEVELS + level;

			(void)bpf_map_lookup_elem(fd, &slot, mach);
			((struct rt_mach *)(void *)mach)->busy = 1;
			((struct rt_mach *)(void *)mach)->cpu = cpu;
			(void)bpf_map_update_elem(fd, &slot, mach, BPF_ANY);
		}
		gx_run(x, prog, 0);
		ok((gx_record(x, NULL) != NULL) == (level + 1 < RT_LEVELS), "%u levels busy",
		   level + 1);
	}
	for (uint32_t i = 0; i < x->opts.ncpus; i++)
		drops += x->maps->control->cpu[i].nest_drops;
	is_int(drops, 1, "deeper than that is dropped and counted");
	free(mach);
	gx_destroy(x);
}

/* ---- system calls --------------------------------------------------------------------------- */

static int attach(struct gx *x, const struct unit *u, const char *tp)
{
	int prog = gx_load(x, u), fd = -1;
	struct err *e = attach_raw_tracepoint(prog, tp, &fd);

	ok(!e, "attach %s", tp);
	err_destroy(e);
	return fd;
}

#define NR_COMPAT_GETPID 20 /* Linux arch/x86/entry/syscalls/syscall_32.tbl */

static void compat_getpid(uint32_t a, uint32_t b)
{
#ifdef __x86_64__
	long ret;

	__asm__ volatile("int $0x80"
			 : "=a"(ret)
			 : "a"(NR_COMPAT_GETPID), "b"(a), "c"(b)
			 : "memory", "r8", "r9", "r10", "r11");
#endif
}

/* Some hypervisors refuse 32-bit system calls of 64-bit programs: the caller gets SIGSEGV. */
static bool has_compat_calls(void)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		compat_getpid(0, 0);
		_exit(0);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

static void trace_own(struct gx *x, struct prog_clause *c, const uint32_t *ids, uint32_t n)
{
	struct dif_builder *b = dif_builder_create(x->arena);

	dif_emit(b, dif_idx(DIF_OP_LDGS, DIF_VAR_PID, 1));
	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, (uint64_t)getpid()), 2));
	dif_emit(b, dif_rrr(DIF_OP_SUB, 1, 2, 1));
	dif_emit(b, dif_rrr(DIF_OP_TST, 1, 0, 0));
	dif_emit(b, dif_branch(DIF_OP_BNE, 7));
	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 1), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 0));
	c->pred = dif_builder_finish(b, gx_s64);
	for (uint32_t i = 0; i < n; i++)
		gx_act(x, c, ACT_TRACE, builtin(x, ids[i], gx_s64), DATUM_INT);
}

static void check_fields(struct gx *x, const int64_t *want, uint32_t n, const char *what)
{
	const struct rt_rec *rec = gx_record(x, NULL);
	bool good = rec != NULL;

	for (uint32_t i = 0; rec && i < n; i++) {
		good &= field_int(x, rec, i, 0) == want[i];
		if (field_int(x, rec, i, 0) != want[i])
			printf("# field %u: %lld, want %lld\n", i,
			       (long long)field_int(x, rec, i, 0), (long long)want[i]);
	}
	ok(good && !gx_record(x, NULL), "%s", what);
}

static void test_sys_enter(bool use_btf, uint32_t nkeys)
{
	static const uint32_t ids[] = {DIF_VAR_ARG0,	 DIF_VAR_ARG0 + 1, DIF_VAR_ARG0 + 2,
				       DIF_VAR_ARG0 + 3, DIF_VAR_ARG0 + 4, DIF_VAR_ARG0 + 5,
				       DIF_VAR_ARG0 + 6};
	bool compat_calls = has_compat_calls();
	struct gx *x = gx_create();
	struct unit u;
	int fd;

	trace_own(x, gx_clause(x, 8), ids, ARRAY_LEN(ids));
	gx_finish(x);
	x->env.use_task_btf &= use_btf;
	err_destroy(kfield_offset("task_struct", "thread_info.status",
				  &x->kfields.task_thread_info_status));
	u = gx_unit(x, PLACE_SYS_ENTER, 0, 1);
	gx_probe(x, &u, SYS_getppid);
	if (nkeys > 1)
		gx_probe(x, &u, RT_SYS_COMPAT + NR_COMPAT_GETPID);
	fd = attach(x, &u, "sys_enter");
	syscall(SYS_getppid, 1l, -2l, 3l, 4l, 5l, 1l << 40);
	check_fields(x, (int64_t[]){1, -2, 3, 4, 5, 1ll << 40, 0}, 7, "arguments of a system call");
	/* number 20 is writev for 64-bit tasks: neither must be taken for the other */
	(void)syscall(SYS_writev, -1, NULL, 0);
	ok(!gx_record(x, NULL), "another system call");
	if (!compat_calls) {
		ok(true, "a 32-bit system call # SKIP this machine refuses them");
	} else if (nkeys > 1) {
		const struct rt_rec *rec;

		compat_getpid(7, 0x80000001u);
		rec = gx_record(x, NULL);
		ok(rec && field_int(x, rec, 0, 0) == 7 && field_int(x, rec, 1, 0) == 0x80000001ll,
		   "a 32-bit system call");
	} else {
		compat_getpid(7, 0x80000001u);
		ok(!gx_record(x, NULL), "a 32-bit system call is not selected");
	}
	close(fd);
	gx_destroy(x);
}

static void test_sys_exit(bool use_btf)
{
	static const uint32_t ids[] = {DIF_VAR_ARG0, DIF_VAR_ARG0 + 1, DIF_VAR_ERRNO,
				       DIF_VAR_ARG0 + 2};
	struct gx *x = gx_create();
	struct unit u;
	pid_t parent = getppid();
	int fd;

	trace_own(x, gx_clause(x, 8), ids, ARRAY_LEN(ids));
	gx_finish(x);
	x->env.use_task_btf &= use_btf;
	u = gx_unit(x, PLACE_SYS_EXIT, 0, 1);
	gx_probe(x, &u, SYS_getppid);
	gx_probe(x, &u, SYS_dup)->id.probe = 5;
	fd = attach(x, &u, "sys_exit");
	syscall(SYS_getppid);
	check_fields(x, (int64_t[]){parent, parent, 0, 0}, 4, "a result");
	(void)syscall(SYS_dup, -1);
	check_fields(x, (int64_t[]){-1, -1, 9, 0}, 4, "a failure: -1 and EBADF");
	close(fd);
	gx_destroy(x);
}

static void test_perf(void)
{
	static const uint32_t ids[] = {DIF_VAR_ID};
	struct gx *x = gx_create();
	struct unit u;
	int prog, event = -1, link = -1;
	struct err *e;
	const struct rt_rec *rec = NULL;
	time_t end = time(NULL) + 5;

	gx_act(x, gx_clause(x, 1), ACT_TRACE, builtin(x, ids[0], gx_s64), DATUM_INT);
	gx_act(x, gx_clause(x, 1), ACT_TRACE, builtin(x, DIF_VAR_ARG0 + 1, gx_s64), DATUM_INT);
	gx_finish(x);
	u = gx_unit(x, PLACE_TIMER, 0, 2);
	gx_probe(x, &u, 6);
	gx_probe(x, &u, 7);
	prog = gx_load(x, &u);
	e = attach_cpu_clock(prog, 0, 1000000, 7, &event, &link);
	ok(!e, "attach a clock");
	err_destroy(e);
	while (!e && !rec && time(NULL) < end)
		rec = gx_record(x, NULL);
	ok(rec && field_int(x, rec, 0, 0) == 107, "the cookie says which probe it is");
	if (link >= 0)
		close(link);
	if (event >= 0)
		close(event);
	gx_destroy(x);
}

/* arg0 of a timer is no address of the kernel where the session reads D's own memory only. */
static void test_perf_own(void)
{
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 2);
	int prog, event = -1, link = -1, zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	bool is_shown = false, in_kernel = false;
	time_t end = time(NULL) + 10;
	static char buf[1 << 20];
	struct unit u;
	struct err *e;

	x->opts.reads_own = true;
	gx_act(x, c, ACT_TRACE, builtin(x, DIF_VAR_ARG0, gx_s64), DATUM_INT);
	gx_act(x, c, ACT_TRACE, builtin(x, DIF_VAR_ARG0 + 1, gx_s64), DATUM_INT);
	gx_finish(x);
	u = gx_unit(x, PLACE_TIMER, 0, 1);
	gx_probe(x, &u, 6);
	prog = gx_load(x, &u);
	e = attach_cpu_clock(prog, 0, 1000000, 6, &event, &link);
	ok(!e && zeros >= 0, "attach a clock");
	err_destroy(e);
	while (!in_kernel && !is_shown && time(NULL) < end) {
		const struct rt_rec *rec =
			read(zeros, buf, sizeof(buf)) > 0 ? gx_record(x, NULL) : NULL;

		if (!rec)
			continue;
		is_shown = field_int(x, rec, 0, 0) != 0;
		in_kernel = !is_shown && !field_int(x, rec, 1, 0);
	}
	ok(in_kernel && !is_shown, "the address in the kernel is 0");
	if (link >= 0)
		close(link);
	if (event >= 0)
		close(event);
	close(zeros);
	gx_destroy(x);
}

/*
 * Whether the code asks whose the task is, when the clause, or that of ERROR, is marked as one that
 * uses nothing of the task.
 */
static bool asks_owner(bool is_single, bool is_marked, bool is_error_marked)
{
	struct place_timer timer = {.is_single = is_single, .period_ns = 1000000};
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 1), *error = gx_clause(x, 1);
	struct strbuf text = {0};
	struct bpf_code code;
	struct unit u;
	bool asks;

	c->ignores_task = is_marked;
	error->ignores_task = is_error_marked;
	gx_act(x, c, ACT_TRACE, builtin(x, DIF_VAR_ID, gx_s64), DATUM_INT);
	gx_act(x, error, ACT_TRACE, builtin(x, DIF_VAR_ID, gx_s64), DATUM_INT);
	gx_finish(x);
	x->env.fires_own = true;
	u = gx_unit(x, PLACE_TIMER, 0, 1);
	u.error_clauses = (struct unit_clause[]){{&x->layout->clauses[1], NULL, 0, NULL, 0, NULL}};
	u.nerror_clauses = 1;
	gx_probe(x, &u, 6)->timer = &timer;
	code = gx_code(x, &u);
	bpf_code_print(&code, &text);
	asks = strstr(text.data, "rt_task_own") != NULL;
	strbuf_deinit(&text);
	bpf_code_deinit(&code);
	gx_destroy(x);
	return asks;
}

static void test_owner(void)
{
	ok(!asks_owner(true, true, true), "a tick whose clauses use nothing of the task");
	ok(asks_owner(true, false, true), "a tick with a clause that may use something of it");
	ok(asks_owner(true, true, false), "a tick with such a clause of ERROR");
	ok(asks_owner(false, true, true), "a timer of all CPUs");
}

/* ---- listing -------------------------------------------------------------------------------- */

/* The lines from the one that begins with from to the one that begins with to, without numbers. */
static char *part_of(const char *listing, const char *from, const char *to)
{
	struct strbuf out = {0};
	char *copy = xstrdup(listing), *line, *save = NULL;
	bool is_in = false;

	for (line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *text = strstr(line, ": "), *label;

		text = text ? text + 2 : line;
		is_in |= strncmp(text, from, strlen(from)) == 0;
		label = strstr(text, "goto ");
		if (is_in)
			strbuf_addf(&out, "%.*s\n", label ? (int)(label + 4 - text) : 999, text);
		if (is_in && strncmp(text, to, strlen(to)) == 0)
			break;
	}
	free(copy);
	return out.data;
}

/* @[probefunc] = count() for arg0 > 5: from claiming the machine state on, all that is done for a
 * firing. */
static void test_listing(void)
{
	static const char want[] = "*(u32 *)(r9 +0) = 1\n"
				   "r1 = *(u32 *)(r9 +4)\n"
				   "if r1 == 0 goto\n"
				   "r1 = *(u32 *)(r8 +16)\n"
				   "*(u32 *)(r9 +192) = r1\n"
				   "*(u64 *)(r9 +72) = 0\n"
				   "r0 = *(u64 *)(r9 +72)\n"
				   "if r0 > 5 goto\n"
				   "r3 = 0\n"
				   "goto\n"
				   "r3 = 1\n"
				   "r0 = r3\n"
				   "if r0 == 0 goto\n"
				   "r0 = *(u32 *)(r9 +192)\n"
				   "*(u32 *)(r9 +1504) = r0\n"
				   "r2 = r9\n"
				   "r2 += 1504\n"
				   "r1 = map agg[0]\n"
				   "call helper 1\n"
				   "if r0 == 0 goto\n"
				   "r1 = *(u32 *)(r9 +44)\n"
				   "if r1 >= 2 goto\n"
				   "r1 *= 64\n"
				   "r0 += r1\n"
				   "r1 = *(u64 *)(r0 +0)\n"
				   "r1 += 1\n"
				   "*(u64 *)(r0 +0) = r1\n"
				   "goto\n"
				   "r2 = r9\n"
				   "r2 += 1504\n"
				   "r1 = map agg[0]\n"
				   "r3 = r9\n"
				   "r3 += 1512\n"
				   "r4 = 1\n"
				   "call helper 2\n"
				   "r2 = r9\n"
				   "r2 += 1504\n"
				   "r1 = map agg[0]\n"
				   "call helper 1\n"
				   "if r0 != 0 goto\n"
				   "r1 = *(u32 *)(r9 +44)\n"
				   "if r1 >= 2 goto\n"
				   "r1 *= 192\n"
				   "r2 = map control value+1664\n"
				   "r2 += r1\n"
				   "r1 = 1\n"
				   "lock add *(u64 *)(r2 +8), r1\n"
				   "goto\n"
				   "*(u32 *)(r9 +0) = 0\n";
	struct gx *x = gx_create();
	struct prog_clause *c = gx_clause(x, 1);
	struct prog_act *act;
	struct strbuf out = {0};
	struct unit u;
	struct bpf_code code;
	char *got;

	c->pred = gx_difo(x, "ldgs arg0, %r1\nsetx 5, %r2\ncmp %r1, %r2\nbgu 6\n"
			     "mov %r0, %r1\nba 7\nsetx 1, %r1\nret %r1\n");
	act = gx_act(x, c, ACT_AGG, builtin(x, DIF_VAR_PROBEFUNC, gx_string), DATUM_STRING);
	act->agg = gx_agg(x, AGGFUNC_COUNT, 1);
	act->agg->key_kinds[0] = DATUM_STRING;
	gx_finish(x);
	u = gx_unit(x, PLACE_TEST_RUN, 0, 1);
	gx_probe(x, &u, 0);
	gx_probe(x, &u, 1);
	code = gx_code(x, &u);
	bpf_code_print(&code, &out);
	got = part_of(strbuf_text(&out), "*(u32 *)(r9 +0) = 1", "*(u32 *)(r9 +0) = 0");
	is_str(got ? got : "", want, "listing");
	free(got);
	strbuf_deinit(&out);
	bpf_code_deinit(&code);
	gx_destroy(x);
}

int main(void)
{
	cpu_set_t one;

	gx_skip();
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	(void)sched_setaffinity(0, sizeof(one), &one); /* min and max are compared as stored */
	test_aggs(false);
	test_aggs(true);
	test_agg_strings();
	test_many_aggs();
	test_agg_drops();
	test_strings(0);
	test_strings(KMAPS_RINGS_NAMED + 1); /* rings in an array */
	test_if();
	test_exit();
	test_predicate_and_masks();
	test_many_clauses(200);
	test_many_clauses(700);
	test_error_clauses();
	test_nesting();
	test_sys_enter(true, 1);
	test_sys_enter(true, 2);
	test_sys_enter(false, 1);
	test_sys_enter(false, 2);
	test_sys_exit(true);
	test_sys_exit(false);
	test_perf();
	test_perf_own();
	test_owner();
	test_listing();
	return tap_done();
}
