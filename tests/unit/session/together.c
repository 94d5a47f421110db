/* SPDX-License-Identifier: MIT */
/* Which units stay together, and which engine gets them. */
#include "session/match/together.h"

#include "../bpf/gen_fixture.h"
#include "session/engines/engines.h"
#include "tap.h"

/* Clause i of the programs is the only one of unit i. */
struct fixture {
	struct gx *x;
	struct unit units[8];
	const struct unit *list[8];
	uint32_t n;
};

/* A clause that stores to a variable; NULL: it touches none. */
static struct prog_clause *clause_add(struct fixture *f, const struct prog_var *v)
{
	struct prog_clause *c = gx_clause(f->x, 1);
	struct dif_builder *b = dif_builder_create(f->x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 1), 1));
	if (v) {
		dif_note_var(b, &(struct dif_var){.name = v->name,
						  .id = v->id,
						  .scope = (uint8_t)v->scope,
						  .kind = DIF_VAR_SCALAR,
						  .type = v->type});
		dif_emit(b, dif_idx(v->scope == DIF_SCOPE_THREAD  ? DIF_OP_STTS
				    : v->scope == DIF_SCOPE_LOCAL ? DIF_OP_STLS
								  : DIF_OP_STGS,
				    v->id, 1));
	}
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	gx_act(f->x, c, ACT_EXPR, dif_builder_finish(b, gx_s64), DATUM_INT);
	return c;
}

static void units_make(struct fixture *f)
{
	gx_finish(f->x);
	for (f->n = 0; f->n < f->x->clauses.len; f->n++) {
		f->units[f->n] =
			gx_unit(f->x, f->n % 2 ? PLACE_RAWTP : PLACE_TIMER, f->n, f->n + 1);
		f->list[f->n] = &f->units[f->n];
	}
}

static void is_groups(const struct fixture *f, const char *want, const char *name)
{
	uint32_t roots[8];
	char text[32] = "";

	units_find_groups(f->list, f->n, f->x->layout, roots);
	for (uint32_t i = 0; i < f->n; i++)
		(void)snprintf(text + 2 * i, sizeof(text) - 2 * i, "%u ", roots[i]);
	is_str(text, want, name);
}

static void test_variables(void)
{
	struct fixture f = {.x = gx_create()};
	struct prog_var *global = gx_var(f.x, "g", DIF_SCOPE_GLOBAL, gx_s64);
	struct prog_var *own = gx_var(f.x, "s", DIF_SCOPE_THREAD, gx_s64);
	struct prog_var *local = gx_var(f.x, "t", DIF_SCOPE_LOCAL, gx_s64);

	clause_add(&f, local);
	clause_add(&f, global);
	clause_add(&f, own);
	clause_add(&f, local);
	clause_add(&f, NULL);
	clause_add(&f, own);
	clause_add(&f, global);
	units_make(&f);
	is_groups(&f, "0 1 2 3 4 2 1 ", "global and thread-local variables, not clause-local ones");

	/* an ERROR clause that uses the global runs inside unit 4 */
	f.units[4].error_clauses = f.units[6].clauses;
	f.units[4].nerror_clauses = 1;
	is_groups(&f, "0 1 2 3 1 2 1 ", "the clauses of ERROR");

	/* another unit runs the clauses of unit 2 */
	f.units[2].is_relay = true;
	is_groups(&f, "0 1 2 3 1 5 1 ", "a unit that relays");
	gx_destroy(f.x);
}

/* A unit of the engine in the process shares what is not of threads only. */
static void test_processes(void)
{
	struct fixture f = {.x = gx_create()};
	struct prog_var *global = gx_var(f.x, "g", DIF_SCOPE_GLOBAL, gx_s64);
	struct prog_var *own = gx_var(f.x, "s", DIF_SCOPE_THREAD, gx_s64);
	struct prog_clause *c[4];

	c[0] = clause_add(&f, own);
	c[1] = clause_add(&f, own);
	c[2] = clause_add(&f, own);
	c[3] = clause_add(&f, global);
	clause_add(&f, global);
	units_make(&f);
	ok(clause_shares(c[0], f.x->layout) && !clause_shares_globals(c[0], f.x->layout) &&
		   clause_shares(c[3], f.x->layout) && clause_shares_globals(c[3], f.x->layout),
	   "which clauses share variables that are not of threads");
	is_groups(&f, "0 0 0 3 3 ", "units of the kernel's engine");
	f.units[1].is_inproc = f.units[4].is_inproc = true;
	is_groups(&f, "0 1 0 3 3 ", "one in a process has its own thread-local variables");
	gx_destroy(f.x);
}

static void discard_add(struct fixture *f)
{
	struct dif_builder *b = dif_builder_create(f->x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 1), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	gx_act(f->x, gx_clause(f->x, 1), ACT_DISCARD, dif_builder_finish(b, gx_s64), DATUM_INT);
}

static void test_speculations(void)
{
	struct fixture f = {.x = gx_create()};

	clause_add(&f, NULL);
	discard_add(&f);
	clause_add(&f, NULL);
	discard_add(&f);
	units_make(&f);
	is_groups(&f, "0 1 2 1 ", "speculations are in one engine");
	gx_destroy(f.x);
}

static void dead_add(struct fixture *f)
{
	struct dif_builder *b = dif_builder_create(f->x->arena);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 1), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	gx_act(f->x, gx_clause(f->x, 1), ACT_DEAD, dif_builder_finish(b, gx_s64), DATUM_INT);
}

/* The table of live() is shared, as a variable that each process has for itself. */
static void test_alive(void)
{
	struct fixture f = {.x = gx_create()};
	const struct prog_clause *c;

	dead_add(&f);
	clause_add(&f, NULL);
	dead_add(&f);
	dead_add(&f);
	units_make(&f);
	c = f.units[0].clauses[0].layout->clause;
	ok(clause_shares(c, f.x->layout) && !clause_shares_globals(c, f.x->layout),
	   "dead() shares what is alive, in one process");
	is_groups(&f, "0 1 0 0 ", "what is alive is in one engine");
	f.units[2].is_inproc = true;
	is_groups(&f, "0 1 2 0 ", "or in that of a process");
	gx_destroy(f.x);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool takes_tracepoints(const struct unit *u, const char **ret_why)
{
	*ret_why = "only tracepoints";
	return u->place.kind == PLACE_RAWTP;
}

static bool takes_all(const struct unit *u, const char **ret_why)
{
	(void)u, (void)ret_why;
	return true;
}

static const struct engine some = {.name = "some", .takes = takes_tracepoints};
static const struct engine all = {.name = "all", .takes = takes_all};
static const struct engine *const some_only[] = {&some, NULL};
static const struct engine *const preferred[] = {&some, &all, NULL};

static void test_choice(void)
{
	struct fixture f = {.x = gx_create()};
	struct prog_var *shared = gx_var(f.x, "g", DIF_SCOPE_GLOBAL, gx_s64);
	struct prog_var *own = gx_var(f.x, "s", DIF_SCOPE_THREAD, gx_s64);
	const struct engine *chosen[8] = {NULL};
	struct err *e;

	clause_add(&f, shared); /* a timer */
	clause_add(&f, NULL);
	clause_add(&f, NULL); /* a timer */
	clause_add(&f, shared);
	clause_add(&f, NULL); /* a timer */
	clause_add(&f, own);
	units_make(&f);
	e = engines_choose(preferred, f.list, f.n, f.x->layout, chosen);
	ok(!e, "there is an engine for each");
	ok(chosen[0] == &all && chosen[2] == &all && chosen[4] == &all, "places of one engine");
	ok(chosen[1] == &some && chosen[5] == &some, "the preferred one gets what it takes");
	ok(chosen[3] == &all, "but for what shares a variable with what it does not take");

	memset(chosen, 0, sizeof(chosen));
	e = engines_choose(some_only, f.list, f.n, f.x->layout, chosen);
	is_str(e ? err_text(e) : "",
	       "no engine has code for all of these probes (some: only tracepoints)",
	       "what no engine takes");
	err_destroy(e);

	/* unit 5 is added while the others run */
	memset(chosen, 0, sizeof(chosen));
	chosen[1] = &all;
	e = engines_choose(preferred, f.list, f.n, f.x->layout, chosen);
	ok(!e && chosen[1] == &all && chosen[5] == &some, "a unit stays in its engine");
	chosen[0] = chosen[2] = chosen[4] = &all;
	chosen[3] = NULL;
	e = engines_choose(preferred, f.list, f.n, f.x->layout, chosen);
	ok(!e && chosen[3] == &all, "a unit that is added goes to the variables that it shares");
	e = engines_choose(some_only, f.list, 4, f.x->layout,
			   (const struct engine *[4]){&some, NULL, NULL, NULL});
	ok(e != NULL, "or nowhere");
	err_destroy(e);
	gx_destroy(f.x);
}

/* What is asked of all engines, where they differ. */
static void test_all(void)
{
	const int first[] = {-1, 5, -1}, second[] = {-1, -1, 7};
	struct engine_run a = {.ncpus = 3, .wake_fds = first, .bufsize = 8192, .scratch_size = 100};
	struct engine_run b = {.ncpus = 3, .wake_fds = second, .bufsize = 4096, .scratch_size = 50};
	struct engine_run *runs[] = {&a, &b};
	struct engines es = {.runs = runs, .n = 2};

	is_int(engines_bufsize(&es), 4096, "the smallest buffers are full first");
	is_int(engines_scratch_size(&es), 100, "the most scratch memory");
	ok(engines_has_cpu(&es, 1) && engines_has_cpu(&es, 2), "CPUs that some engine has seen");
	ok(!engines_has_cpu(&es, 0) && !engines_has_cpu(&es, 3), "and those that none has");
}

int main(void)
{
	test_variables();
	test_all();
	test_processes();
	test_speculations();
	test_alive();
	test_choice();
	return tap_done();
}
