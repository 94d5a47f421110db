/* SPDX-License-Identifier: MIT */
/* Speculations in the consumer: what is kept, printed, dropped, and when it is forgotten. */
#include "consume/spec.h"

#include "tap.h"

#define SIZE 64u /* two records */

struct record {
	struct rt_rec rec;
	struct rt_spec_tag tag;
};

static struct clause_layout clauses[2] = {{0}, {.spec_off = offsetof(struct record, tag)}};
static struct layout layout = {.clauses = clauses,
			       .nclauses = 2,
			       .nspec = 2,
			       .facts.speculates = true};
static uint64_t words[2];
static struct specs *specs;
static char printed[256];

static struct err *print(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
			 const struct rt_rec *next)
{
	size_t n = strlen(printed);

	(void)ctx;
	(void)len;
	snprintf(printed + n, sizeof(printed) - n, "%u@%u%s ", rec->probe, cpu, next ? "+" : "");
	return NULL;
}

static void add(struct record r, uint32_t cpu)
{
	struct err *e = specs_record(specs, &r.rec, sizeof(r), cpu, NULL, print, NULL);

	ok(!e, "no error");
}

static void record(uint32_t probe, uint32_t id, uint64_t word, uint32_t cpu)
{
	add((struct record){{.clause = 1, .probe = probe}, {.word = word, .id = id}}, cpu);
}

static void commit(uint32_t id, uint64_t word)
{
	add((struct record){{.clause = RT_REC_COMMIT}, {.word = word, .id = id}}, 0);
}

static void is_printed(const char *want, const char *name)
{
	is_str(printed, want, name);
	printed[0] = '\0';
}

static void test_commit(void)
{
	struct record plain = {{.clause = 0, .probe = 1}, {.word = 5, .id = 1}};

	words[0] = words[1] = 5;
	add(plain, 0);
	is_printed("1@0 ", "a clause that does not speculate prints");
	record(2, 1, 0, 0);
	is_printed("2@0 ", "nor does one without a speculation");
	record(3, 1, 5, 0);
	record(4, 2, 5, 0);
	record(5, 1, 5, 1);
	record(6, 1, 5, 1);
	is_printed("", "records wait");
	is_int(specs_waiting(specs), 2, "in two speculations");
	commit(1, 5);
	is_printed("3@0 5@1+ 6@1 ", "until they are committed, in their order");
	record(7, 1, 5, 0);
	is_printed("7@0 ", "what comes late is printed at once");
	record(8, 1, 9, 0);
	commit(1, 5);
	is_printed("", "the next speculation of the same id is another");
	commit(1, 9);
	is_printed("8@0 ", "with a commit of its own");
	commit(2, 7);
	is_printed("", "a commit of nothing");
}

static void test_full(void)
{
	uint64_t before = specs_drops(specs);

	words[0] = 13;
	for (uint32_t i = 0; i < 3; i++)
		record(10 + i, 1, 13, 0);
	record(20, 1, 13, 1);
	is_int(specs_drops(specs) - before, 1, "each CPU has room for two");
	commit(1, 13);
	is_printed("10@0+ 11@0 20@1 ", "what fits is committed");
}

static void test_end(void)
{
	specs_drain_begin(specs);
	specs_drain_end(specs, ENGINE_EVERYTHING);
	is_int(specs_waiting(specs), 0, "at the end nothing is kept");
	words[0] = words[1] = 17;
	record(1, 1, 17, 0);
	record(2, 2, 17, 0);
	words[0] = 20;
	words[1] = 18; /* being committed */
	specs_drain_begin(specs);
	specs_drain_end(specs, 1);
	is_int(specs_waiting(specs), 2, "a commit may still be in a buffer");
	specs_drain_begin(specs);
	specs_drain_end(specs, ENGINE_EVERYTHING - 1);
	is_int(specs_waiting(specs), 1, "a discarded one is forgotten");
	commit(2, 17);
	is_printed("2@0 ", "one that is being committed is not");
}

static void test_bad(void)
{
	struct record r = {{.clause = 1}, {.word = 5, .id = 3}};

	is_printed("", "so far");
	add(r, 0);
	r.tag.id = 0;
	add(r, 0);
	is_printed("0@0 0@0 ", "ids that do not exist");
}

int main(void)
{
	specs = specs_create(&layout, words, SIZE);
	test_commit();
	test_full();
	test_end();
	test_bad();
	specs_destroy(specs);
	return tap_done();
}
