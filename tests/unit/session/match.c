/* SPDX-License-Identifier: MIT */
/* Clauses become probes, numbers and units: with providers of our own, and without a kernel. */
#include "d/types/types.h"
#include "provider/providers.h"
#include "session/match/match.h"
#include "tap.h"

/* ---- providers ------------------------------------------------------------------------------- */

/* probe.data: the key, and in the upper half the kind of place. */
#define AT(kind, key) ((uint64_t)(kind) << 32 | (key))

static const struct sys_view view;

static uint32_t made_points(const struct probe *pr, struct probe_point *ret)
{
	enum place_kind kind = (enum place_kind)(pr->data >> 32);

	ret[0] = (struct probe_point){
		.place = {.kind = kind},
		.key = (uint32_t)pr->data,
		.view = kind == PLACE_SYS_ENTER_VIEW ? &view : NULL,
	};
	return 1;
}

static uint32_t no_points(const struct probe *pr, struct probe_point *ret)
{
	return 0;
}

static const struct provider made = {.name = "made", .points = made_points};
static const struct provider declared = {.name = "declared",
					 .is_derived = true,
					 .points = no_points};

/* ---- programs -------------------------------------------------------------------------------- */

struct fixture {
	struct arena *arena;
	struct provider_env env;
	struct probes *probes;
	struct match m;
	VEC(struct prog_clause *) clauses;
	struct prog prog;
};

static void fixture_open(struct fixture *f)
{
	*f = (struct fixture){.arena = arena_create()};
	f->probes = probes_create(&f->env);
	match_init(&f->m, f->arena, f->probes);
}

static void fixture_close(struct fixture *f)
{
	match_undo(&f->m);
	match_deinit(&f->m);
	vec_deinit(&f->clauses);
	probes_destroy(f->probes);
	env_deinit(&f->env);
	arena_destroy(f->arena);
}

static struct probe *probe_add(struct fixture *f, const char *func, const char *name, uint64_t at)
{
	return probes_add(f->probes, &made, "mod", func, name, at);
}

/* An object that returns v, or the built-in variable v. */
static struct difo *difo_make(struct fixture *f, bool is_var, uint32_t v)
{
	struct dif_builder *b = dif_builder_create(f->arena);

	if (is_var)
		dif_emit(b, dif_idx(DIF_OP_LDGS, v, 1));
	else
		dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, v), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, (struct dif_type){.ckind = TK_INT, .size = 8});
}

/* Adds a clause that traces an object; text: the number of its clause in the text. */
static struct prog_clause *clause_add(struct fixture *f, uint32_t text, struct probe_desc desc,
				      struct difo *d)
{
	static enum datum_kind shown[] = {DATUM_INT};
	struct prog_clause *cl = ARENA_NEW(f->arena, struct prog_clause);
	struct prog_act *act = ARENA_NEW(f->arena, struct prog_act);
	struct difo **args = ARENA_NEW(f->arena, struct difo *);

	*args = d;
	*act = (struct prog_act){.kind = ACT_TRACE,
				 .args = args,
				 .arg_kinds = shown,
				 .nargs = 1,
				 .number = 1};
	*cl = (struct prog_clause){.desc = desc,
				   .text_clause = text,
				   .acts = act,
				   .nacts = 1,
				   .records = true,
				   .index = f->clauses.len};
	vec_push(&f->clauses, cl);
	return cl;
}

#define DESC(prov, func, name)                                                                     \
	(struct probe_desc)                                                                        \
	{                                                                                          \
		prov, "", func, name, 0, false, 0                                                  \
	}

static struct err *probes_find_all(struct fixture *f)
{
	struct err *e;

	f->prog = (struct prog){f->clauses.data, f->clauses.len};
	match_add_program(&f->m, &f->prog);
	e = match_find_probes(&f->m, &f->prog);
	if (e)
		return e;
	match_number(&f->m);
	match_note_used(&f->m);
	return NULL;
}

/* Takes the clauses through all steps. */
static void units_make(struct fixture *f)
{
	static const struct prog_vars no_vars;
	static const struct prog_aggs no_aggs;
	const struct layout_opts opts = {.strsize = 256, .ncpus = 1, .scratchsize = 256};
	struct err *e = probes_find_all(f);

	ok(!e, "probes are found%s%s", e ? ": " : "", e ? err_text(e) : "");
	err_destroy(e);
	match_make_layout(&f->m, &no_vars, &no_aggs, &opts);
	match_make_units(&f->m);
}

static const struct session_unit *unit_of(const struct fixture *f, enum place_kind kind)
{
	for (uint32_t i = 0; i < f->m.units.len; i++)
		if (f->m.units.data[i]->unit.place.kind == kind)
			return f->m.units.data[i];
	return NULL;
}

static const struct unit_probe *point_of(const struct session_unit *u, uint32_t key)
{
	for (uint32_t i = 0; u && i < u->unit.nprobes; i++)
		if (u->unit.probes[i].key == key)
			return &u->unit.probes[i];
	return NULL;
}

static uint64_t mask_of(const struct session_unit *u, uint32_t key)
{
	const struct unit_probe *p = point_of(u, key);

	return p ? p->mask[0] : UINT64_MAX;
}

static const char *name_of(const struct fixture *f, const struct unit_identity *id, uint32_t i)
{
	return strtab_get(f->m.strtab, id->names[i]);
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_units(void)
{
	struct fixture f;
	const struct session_unit *enter, *timer;
	struct probe *a, *b, *t;

	fixture_open(&f);
	a = probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	b = probe_add(&f, "b", "entry", AT(PLACE_SYS_ENTER, 2));
	t = probe_add(&f, "", "tick", AT(PLACE_TIMER, 9));
	(void)clause_add(&f, 0, DESC("made", "", "entry"), difo_make(&f, false, 1));
	(void)clause_add(&f, 1, DESC("made", "b", "entry"), difo_make(&f, false, 2));
	(void)clause_add(&f, 2, DESC("made", "", ""), difo_make(&f, false, 3));
	(void)clause_add(&f, 3, DESC("made", "none", ""), difo_make(&f, true, DIF_VAR_PID));
	units_make(&f);
	enter = unit_of(&f, PLACE_SYS_ENTER);
	timer = unit_of(&f, PLACE_TIMER);
	is_int(f.m.units.len, 2, "a unit for each place");
	ok(enter && enter->unit.nclauses == 3 && enter->unit.nprobes == 2,
	   "a unit has the clauses and probes of its place");
	ok(timer && timer->unit.nclauses == 1 && timer->unit.nprobes == 1, "another has its own");
	is_int(mask_of(enter, 1), 5, "probe a fires clauses 0 and 2");
	is_int(mask_of(enter, 2), 7, "probe b fires all three");
	ok(enter && strcmp(name_of(&f, &point_of(enter, 2)->id, 2), "b") == 0 &&
		   strcmp(name_of(&f, &point_of(enter, 2)->id, 0), "made") == 0,
	   "a point has the names of its probe");
	is_int(f.m.nenabled, 3, "three probes are enabled");
	ok(enter && point_of(enter, 1)->id.probe == a->id && point_of(enter, 1)->id.probe_idx == 0,
	   "probes are numbered in the order of their ids");
	is_int(match_epid(&f.m, 0, b->id), 2, "enablings are numbered in program order");
	is_int(match_epid(&f.m, 1, b->id), 3, "the next clause goes on");
	is_int(match_epid(&f.m, 2, t->id), 6, "and within a clause by the ids of probes");
	is_int(match_epid(&f.m, 1, a->id), 0, "no number where it is not enabled");
	is_int(match_clause_of(&f.m, 3, b->id), 1, "a number leads back to its clause");
	is_int(f.m.nused, 3, "a clause without probes is not used");
	ok(!match_reads(&f.m, DIF_VAR_PID), "what it reads does not count");
	fixture_close(&f);
}

/* "a, b { trace(1) }" is two clauses of one text. */
static void test_join(void)
{
	struct fixture f;
	const struct session_unit *u;
	struct probe *a, *b;

	fixture_open(&f);
	a = probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	b = probe_add(&f, "b", "entry", AT(PLACE_SYS_ENTER, 2));
	(void)clause_add(&f, 0, DESC("made", "a", "entry"), difo_make(&f, false, 1));
	(void)clause_add(&f, 0, DESC("made", "b", "entry"), difo_make(&f, false, 1));
	units_make(&f);
	u = unit_of(&f, PLACE_SYS_ENTER);
	ok(u && u->unit.nclauses == 1, "two clauses that do the same are joined");
	ok(mask_of(u, 1) == 1 && mask_of(u, 2) == 1, "both probes fire it");
	ok(u && u->unit.clauses[0].nprobes == 2 && unit_clause_rank(u->unit.clauses, 1) == 1,
	   "it knows the numbers of both");
	is_int(match_clause_for(&f.m, 0, a->id), 0, "a record of a is the first one's");
	is_int(match_clause_for(&f.m, 0, b->id), 1, "a record of b is the other one's");
	is_int(match_epid(&f.m, 0, b->id), 2, "with its number");
	fixture_close(&f);

	fixture_open(&f);
	(void)probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	(void)probe_add(&f, "b", "entry", AT(PLACE_SYS_ENTER, 2));
	(void)clause_add(&f, 0, DESC("made", "a", "entry"), difo_make(&f, false, 1));
	(void)clause_add(&f, 1, DESC("made", "b", "entry"), difo_make(&f, false, 2));
	(void)clause_add(&f, 0, DESC("made", "b", "entry"), difo_make(&f, false, 1));
	units_make(&f);
	u = unit_of(&f, PLACE_SYS_ENTER);
	ok(u && u->unit.nclauses == 3, "a clause that another one precedes at its probe is not");
	fixture_close(&f);
}

/* A clause that means a call in both forms has one program. */
static void test_wider(void)
{
	struct fixture f;

	fixture_open(&f);
	(void)probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	(void)probe_add(&f, "b", "entry", AT(PLACE_SYS_ENTER_VIEW, 2));
	(void)clause_add(&f, 0, DESC("made", "", ""), difo_make(&f, false, 1));
	units_make(&f);
	ok(f.m.units.len == 1 && unit_of(&f, PLACE_SYS_ENTER_VIEW), "the wider kind holds both");
	fixture_close(&f);
}

static void test_derived(void)
{
	struct fixture f;
	const struct session_unit *u;
	const struct unit_identity *as;
	struct prog_clause *cl;
	struct probe *d;

	fixture_open(&f);
	(void)probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	d = probes_add(f.probes, &declared, "", "", "event", 0);
	cl = clause_add(&f, 0, DESC("declared", "", "event"), difo_make(&f, false, 1));
	cl->derived = 1;
	cl->source = DESC("made", "a", "entry");
	(void)clause_add(&f, 1, DESC("made", "a", "entry"), difo_make(&f, false, 2));
	units_make(&f);
	u = unit_of(&f, PLACE_SYS_ENTER);
	ok(u && u->unit.nclauses == 2 && mask_of(u, 1) == 3, "it runs where its source is");
	as = u && u->unit.nclauses == 2 ? u->unit.clauses[1].as : NULL;
	ok(as && as->probe == d->id && strcmp(name_of(&f, as, 3), "event") == 0,
	   "after the clauses of the source, and as the declared probe");
	ok(u && !u->unit.clauses[0].as, "the others see the probe that fires");
	fixture_close(&f);
}

static void test_error_clauses(void)
{
	struct fixture f;
	const struct session_unit *u;

	fixture_open(&f);
	(void)probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	(void)clause_add(&f, 0, DESC("made", "a", "entry"), difo_make(&f, false, 1));
	(void)clause_add(&f, 1, DESC("dtrace", "", "ERROR"), difo_make(&f, false, 2));
	units_make(&f);
	u = unit_of(&f, PLACE_SYS_ENTER);
	ok(u && u->unit.nerror_clauses == 1 && u->unit.error_clauses[0].layout->clause->index == 1,
	   "ERROR clauses are in every unit");
	ok(u && u->unit.error_id.probe == DTRACE_ID_ERROR &&
		   strcmp(name_of(&f, &u->unit.error_id, 3), "ERROR") == 0,
	   "with the identity of their probe");
	fixture_close(&f);
}

static void test_facts(void)
{
	struct fixture f;
	struct prog_clause *cl;
	struct err *e;

	fixture_open(&f);
	(void)probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	cl = clause_add(&f, 0, DESC("made", "a", "entry"), difo_make(&f, true, DIF_VAR_TID));
	cl->pred = difo_make(&f, true, DIF_VAR_PID);
	e = probes_find_all(&f);
	err_destroy(e);
	ok(match_reads(&f.m, DIF_VAR_PID) && match_reads(&f.m, DIF_VAR_TID),
	   "predicates and arguments read variables");
	ok(!match_reads(&f.m, DIF_VAR_UID), "others are not read");
	ok(!match_is_destructive(&f.m) && !match_reads_user(&f.m), "it does no harm");
	cl->destructive = true;
	ok(match_is_destructive(&f.m), "a destructive clause");
	fixture_close(&f);
}

/* Probes that come while the session runs have a unit and numbers of their own. */
static void test_late(void)
{
	struct fixture f;
	struct late_numbers numbers = {.idx = 1, .epid = 2, .group = 1};
	struct late_clause late = {.clause = 0};
	struct session_unit *u;
	struct probe *c, *d;

	fixture_open(&f);
	(void)probe_add(&f, "a", "entry", AT(PLACE_SYS_ENTER, 1));
	(void)clause_add(&f, 0, DESC("made", "", "entry"), difo_make(&f, false, 1));
	units_make(&f);
	c = probe_add(&f, "c", "entry", AT(PLACE_UPROBE, 0));
	d = probe_add(&f, "d", "entry", AT(PLACE_UPROBE, 1));
	probe_list_add(&late.list, c);
	probe_list_add(&late.list, d);
	u = match_make_late_unit(&f.m, &late, 1, &numbers);
	is_int(f.m.units.len, 2, "there is another unit");
	ok(u->unit.nprobes == 2 && u->unit.nclauses == 1 && u->group == 1, "it has the new probes");
	ok(numbers.idx == 3 && numbers.epid == 4, "the next numbers are those behind");
	is_int(match_epid(&f.m, 0, d->id), 3, "a new probe has its number");
	match_drop_unit(&f.m, u);
	ok(f.m.units.len == 1 && !match_epid(&f.m, 0, d->id), "nothing stays of a dropped unit");
	vec_deinit(&late.list.probes);
	fixture_close(&f);
}

static void test_errors(void)
{
	struct fixture f;
	struct err *e;

	fixture_open(&f);
	(void)clause_add(&f, 0, DESC("pid4194305", "", "entry"), difo_make(&f, false, 1));
	e = probes_find_all(&f);
	ok(e && strstr(err_text(e), "4194305"), "an error of a provider is returned");
	err_destroy(e);
	fixture_close(&f);
}

int main(void)
{
	test_units();
	test_join();
	test_wider();
	test_derived();
	test_error_clauses();
	test_facts();
	test_late();
	test_errors();
	return tap_done();
}
