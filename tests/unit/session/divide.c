/* SPDX-License-Identifier: MIT */
/* A unit of code is divided between two engines (session/match/divide.c). */
#include "session/match/match.h"
#include "session/match/together.h"
#include "tap.h"

static struct place_site sites[4];
/* Probe 0 has site 0, probe 1 sites 1 and 2, probe 2 site 3. */
static struct place_code codes[3] = {{.sites = {&sites[0], 1, 0}},
				     {.sites = {&sites[1], 2, 0}},
				     {.sites = {&sites[3], 1, 0}}};

static uint32_t coded_points(const struct probe *pr, struct probe_point *ret)
{
	ret[0] = (struct probe_point){.place = {.kind = PLACE_UPROBE},
				      .key = (uint32_t)pr->data,
				      .code = &codes[pr->data]};
	return 1;
}

static const struct provider coded = {.name = "coded", .points = coded_points};

struct fixture {
	struct arena *arena;
	struct provider_env env;
	struct probes *probes;
	struct match m;
	struct prog_clause *clauses[3];
	struct prog prog;
};

/* Clause i is on the functions that func matches, and has an action of its own. */
static void clause_make(struct fixture *f, uint32_t i, const char *func)
{
	static enum datum_kind shown[] = {DATUM_INT};
	struct prog_clause *cl = ARENA_NEW(f->arena, struct prog_clause);
	struct prog_act *act = ARENA_NEW(f->arena, struct prog_act);
	struct difo **args = ARENA_NEW(f->arena, struct difo *);
	struct dif_builder *b = dif_builder_create(f->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, i + 7), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	*args = dif_builder_finish(b, (struct dif_type){.ckind = TK_INT, .size = 8});
	*act = (struct prog_act){.kind = ACT_TRACE,
				 .args = args,
				 .arg_kinds = shown,
				 .nargs = 1,
				 .number = 1};
	*cl = (struct prog_clause){.desc = {"coded", "", func, "entry", 0, false, 0},
				   .text_clause = i,
				   .acts = act,
				   .nacts = 1,
				   .records = true,
				   .index = i};
	f->clauses[i] = cl;
}

/* Three functions; clause 0 is on all, clause 1 on b, clause 2 on c. */
static struct session_unit *unit_make(struct fixture *f)
{
	static const char *const funcs[] = {"a", "b", "c"};
	static const struct prog_vars no_vars;
	static const struct prog_aggs no_aggs;
	const struct layout_opts opts = {.strsize = 256, .ncpus = 1, .scratchsize = 256};
	struct err *e;

	*f = (struct fixture){.arena = arena_create()};
	f->probes = probes_create(&f->env);
	match_init(&f->m, f->arena, f->probes);
	for (uint32_t i = 0; i < 3; i++)
		(void)probes_add(f->probes, &coded, "mod", funcs[i], "entry", i);
	clause_make(f, 0, "");
	clause_make(f, 1, "b");
	clause_make(f, 2, "c");
	f->prog = (struct prog){f->clauses, 3};
	match_add_program(&f->m, &f->prog);
	e = match_find_probes(&f->m, &f->prog);
	ok(!e, "probes are found");
	err_destroy(e);
	match_number(&f->m);
	match_note_used(&f->m);
	match_make_layout(&f->m, &no_vars, &no_aggs, &opts);
	match_make_units(&f->m);
	return f->m.units.data[0];
}

static void fixture_close(struct fixture *f)
{
	match_undo(&f->m);
	match_deinit(&f->m);
	probes_destroy(f->probes);
	env_deinit(&f->env);
	arena_destroy(f->arena);
}

/* "key:mask:sites" of each probe, and the clauses by their numbers in the program. */
static const char *unit_text(const struct session_unit *u)
{
	static char text[256];
	size_t n = 0;

	text[0] = '\0';
	for (uint32_t i = 0; i < u->unit.nprobes && n < sizeof(text); i++) {
		const struct unit_probe *p = &u->unit.probes[i];

		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u:%llu:", p->key,
				      (unsigned long long)p->mask[0]);
		for (uint32_t k = 0; k < p->code->sites.len && n < sizeof(text); k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%llu",
					      (unsigned long long)p->code->sites.data[k].off);
		n += (size_t)snprintf(text + n, sizeof(text) - n, " ");
	}
	for (uint32_t i = 0; i < u->unit.nclauses && n < sizeof(text); i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "c%u ",
				      u->unit.clauses[i].layout->clause->index);
	return text;
}

static void test_divide(void)
{
	const uint8_t takes[4] = {0, 1, 0, 1};
	struct fixture f;
	struct session_unit *u = unit_make(&f), *part;

	is_str(unit_text(u), "0:1:0 1:3:12 2:5:3 c0 c1 c2 ", "the unit before");
	part = match_divide_unit(&f.m, u, takes, 7);
	ok(part && part != u && f.m.units.len == 2, "there is another unit");
	is_str(unit_text(part), "1:3:1 2:5:3 c0 c1 c2 ", "it has the sites that were taken");
	is_str(unit_text(u), "0:1:0 1:3:2 c0 c1 ", "the others stay; a clause without sites goes");
	ok(part && part->unit.is_inproc && !u->unit.is_inproc, "only the new one is marked");
	is_int(part->unit.clauses[0].nprobes, 3,
	       "a clause knows all its probes, for their numbers");
	fixture_close(&f);
}

static void test_clauses(void)
{
	const uint8_t takes[4] = {0, 0, 0, 1};
	struct fixture f;
	struct session_unit *u = unit_make(&f), *part = match_divide_unit(&f.m, u, takes, 7);

	is_str(unit_text(part), "2:3:3 c0 c2 ", "bits of the clauses move with them");
	is_str(unit_text(u), "0:1:0 1:3:12 c0 c1 ", "in both");
	fixture_close(&f);
}

static void test_twin(void)
{
	const uint8_t takes[4] = {0, 1, 0, 1};
	struct fixture f;
	struct session_unit *u = unit_make(&f), *part = match_divide_unit(&f.m, u, takes, 7);

	match_make_twin(&f.m, part);
	ok(part->twin && f.m.units.len == 3 && part->twin == f.m.units.data[2],
	   "the twin comes after all others");
	is_str(unit_text(part->twin), "1:3:1 2:5:3 c0 c1 c2 ", "it has the same sites and clauses");
	ok(part->twin->is_for_children && !part->twin->unit.is_inproc &&
		   !part->twin->unit.inproc_pid && part->unit.inproc_pid == 7,
	   "and is not in the process");
	fixture_close(&f);
}

static void test_ends(void)
{
	const uint8_t none[4] = {0}, all[4] = {1, 1, 1, 1};
	struct fixture f;
	struct session_unit *u = unit_make(&f);

	ok(!match_divide_unit(&f.m, u, none, 7) && f.m.units.len == 1 && !u->unit.is_inproc,
	   "nothing is taken");
	ok(match_divide_unit(&f.m, u, all, 7) == u && f.m.units.len == 1 && u->unit.is_inproc,
	   "all is taken: the unit itself");
	fixture_close(&f);
}

/* The unit that runs the clauses of one that relays: a probe for each of its sites. */
static void test_relays(void)
{
	static const struct place_file file;
	const uint64_t pcs[3] = {0x1000, 0x2000, 0x3000};
	const struct relay_slots slots = {&file, 5, 8, pcs};
	const uint8_t takes[4] = {0, 1, 1, 1};
	struct fixture f;
	struct session_unit *u = unit_make(&f), *relays = match_divide_unit(&f.m, u, takes, 7),
			    *runs;
	bool is_same = true;

	relays->unit.is_relay = true;
	runs = match_relay_unit(&f.m, relays, &slots);
	ok(f.m.units.len == 3 && !runs->unit.is_inproc && !runs->unit.is_relay,
	   "it is another unit, of the kernel");
	is_str(unit_text(runs), "0:3:40 1:3:48 2:5:56 c0 c1 c2 ", "its sites are the slots");
	for (uint32_t i = 0; i < runs->unit.nprobes; i++) {
		const struct unit_probe *p = &runs->unit.probes[i];

		is_same &= p->relay_pc == pcs[i] && p->code->sites.data[0].file == &file &&
			   p->id.probe_idx == (i < 2 ? 1 : 2);
	}
	ok(is_same, "each has the identity of its probe, and the address of its site");
	is_str(unit_text(relays), "1:3:12 2:5:3 c0 c1 c2 ", "the one that relays is as it was");
	fixture_close(&f);
}

int main(void)
{
	for (uint32_t i = 0; i < 4; i++)
		sites[i].off = i;
	test_divide();
	test_clauses();
	test_twin();
	test_ends();
	test_relays();
	return tap_done();
}
