/* SPDX-License-Identifier: MIT */
/* The dump of a program, and which actions record. */
#include "tap.h"

#include "d/types/types.h"
#include "dif/prog.h"

static struct difo *constant(struct arena *a, uint64_t v)
{
	struct dif_builder *b = dif_builder_create(a);

	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, v), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, (struct dif_type){.ckind = TK_INT, .size = 4});
}

/* clang-format off */
static const char want_prog[] =
	"clause 0: syscall::read:entry records destructive\n"
	"predicate returns D type (integer) (size 4)\n"
	"OFF OPCODE      INSTRUCTION\n"
	"00: 25000001    setx DT_INTEGER[0], %r1         ! 0x1\n"
	"01: 23000001    ret  %r1\n"
	"\n"
	"action 0: printf number 1\n"
	"  format \"x=\" %lld flags=0x1 width=8, \"\\n\"\n"
	"argument 0 int returns D type (integer) (size 4)\n"
	"OFF OPCODE      INSTRUCTION\n"
	"00: 25000001    setx DT_INTEGER[0], %r1         ! 0x2\n"
	"01: 23000001    ret  %r1\n"
	"\n"
	"action 1: brz to 3 number 2\n"
	"argument 0 returns D type (integer) (size 4)\n"
	"OFF OPCODE      INSTRUCTION\n"
	"00: 25000001    setx DT_INTEGER[0], %r1         ! 0x0\n"
	"01: 23000001    ret  %r1\n"
	"\n"
	"action 2: agg @a = count\n"
	"action 3: tracemem size 20\n"
	"action 4: clear @a\n"
	"\n"
	"clause 1: 77 default records\n"
	"\n";
/* clang-format on */

static void test_print(struct arena *a)
{
	struct prog_agg agg = {.name = "a", .id = 1, .func = AGGFUNC_COUNT};
	struct prog_agg *aggp = &agg;
	struct prog_conv convs[] = {
		{.literal = "x=",
		 .literal_len = 2,
		 .conv = 'd',
		 .size = "ll",
		 .flags = CONV_LEFT,
		 .width = 8,
		 .prec = -1},
		{.literal = "\n", .literal_len = 1, .width = -1, .prec = -1},
	};
	struct prog_fmt fmt = {convs, 2};
	struct difo *two = constant(a, 2), *zero = constant(a, 0);
	enum datum_kind kind = DATUM_INT;
	struct prog_act acts[] = {
		{.kind = ACT_PRINTF,
		 .args = &two,
		 .arg_kinds = &kind,
		 .nargs = 1,
		 .fmt = &fmt,
		 .number = 1},
		{.kind = ACT_BRZ, .args = &zero, .nargs = 1, .target = 3, .number = 2},
		{.kind = ACT_AGG, .agg = &agg},
		{.kind = ACT_TRACEMEM, .memory = {20, PROG_NO_ARG}},
		{.kind = ACT_CLEAR, .aggs = &aggp, .naggs = 1},
	};
	struct prog_clause first = {.desc = {"syscall", "", "read", "entry", 0, false, 0},
				    .pred = constant(a, 1),
				    .acts = acts,
				    .nacts = ARRAY_LEN(acts),
				    .records = true,
				    .destructive = true};
	struct prog_clause second = {.desc = {"", "", "", "", 77, false, 0},
				     .is_default = true,
				     .records = true,
				     .index = 1};
	struct prog_clause *clauses[] = {&first, &second};
	struct prog prog = {clauses, 2};
	struct strbuf out = {0};

	prog_print(&prog, &out);
	is_str(strbuf_text(&out), want_prog, "program");
	strbuf_deinit(&out);
}

/* Writes the objects in the order of the walk: "p" for the predicate, else action.argument. */
static void walk_write(const struct prog_clause *cl, struct strbuf *out)
{
	struct clause_difo at = {0};

	strbuf_clear(out);
	while (clause_each_difo(cl, &at)) {
		bool is_right = at.difo == (at.act ? at.act->args[at.arg] : cl->pred);

		if (at.act)
			strbuf_addf(out, "%d.%u", (int)(at.act - cl->acts), at.arg);
		strbuf_addf(out, "%s%s%s ", at.act ? "" : "p", is_right ? "" : "!",
			    clause_difo_is(&at, DATUM_USTACK) ? "u" : "");
	}
}

static void test_walk(struct arena *a)
{
	struct difo *ds[] = {constant(a, 1), constant(a, 2), constant(a, 3)};
	enum datum_kind kinds[] = {DATUM_INT, DATUM_USTACK};
	struct prog_act acts[] = {
		{.kind = ACT_CLEAR},
		{.kind = ACT_PRINTF, .args = ds, .arg_kinds = kinds, .nargs = 2},
		{.kind = ACT_CLEAR},
		{.kind = ACT_EXPR, .args = ds + 2, .nargs = 1}, /* nothing of it is shown */
		{.kind = ACT_CLEAR},
	};
	struct prog_clause cl = {.pred = constant(a, 0), .acts = acts, .nacts = ARRAY_LEN(acts)};
	struct strbuf out = {0};
	struct clause_difo at = {0};

	walk_write(&cl, &out);
	is_str(strbuf_text(&out), "p 1.0 1.1u 3.0 ", "walk: predicate, then arguments in order");
	cl.pred = NULL;
	walk_write(&cl, &out);
	is_str(strbuf_text(&out), "1.0 1.1u 3.0 ", "walk: without a predicate");
	cl.nacts = 1;
	ok(!clause_each_difo(&cl, &at), "walk: a clause without objects");
	ok(!clause_each_difo(&cl, &at), "walk: its end stays the end");
	cl.pred = ds[0];
	walk_write(&cl, &out);
	is_str(strbuf_text(&out), "p ", "walk: a predicate alone");
	strbuf_deinit(&out);
}

static void test_walk_clauses(struct arena *a)
{
	struct difo *d = constant(a, 1);
	struct prog_act act = {.kind = ACT_EXPR, .args = &d, .nargs = 1};
	struct prog_clause guarded = {.pred = constant(a, 0), .acts = &act, .nacts = 1};
	struct prog_clause empty = {0}, plain = {.acts = &act, .nacts = 1};
	struct prog_clause *list[] = {&empty, &guarded, &empty, &plain};
	struct prog_difo at = {0};
	struct strbuf out = {0};

	while (prog_each_difo(list, ARRAY_LEN(list), &at))
		strbuf_addf(&out, "%u%s ", at.clause, at.in.act ? "" : "p");
	is_str(strbuf_text(&out), "1p 1 3 ", "walk: objects of several clauses");
	strbuf_deinit(&out);
}

static void test_print_names(void)
{
	struct dif_type int4 = {.ckind = TK_INT, .size = 4};
	struct dif_type str = {.kind = DIF_KIND_STRING, .flags = DIF_TF_BYREF, .size = 256};
	struct dif_type key_types[] = {str, int4};
	enum datum_kind kinds[] = {DATUM_STRING, DATUM_STACK};
	struct prog_var x = {.name = "x",
			     .id = 0x500,
			     .kind = DIF_VAR_ARRAY,
			     .type = int4,
			     .keys = key_types,
			     .nkeys = 2};
	struct prog_var y = {.name = "y",
			     .id = 0x501,
			     .scope = DIF_SCOPE_THREAD,
			     .kind = DIF_VAR_SCALAR,
			     .type = str};
	struct prog_var *vars[] = {&x, &y};
	struct prog_agg agg = {.name = "q",
			       .id = 1,
			       .func = AGGFUNC_LQUANTIZE,
			       .param = {0, 10, 5, 0},
			       .nkeys = 2,
			       .key_kinds = kinds,
			       .key_types = key_types};
	struct prog_agg *aggs[] = {&agg};
	struct strbuf out = {0};

	prog_vars_print(&(struct prog_vars){vars, 2}, &out);
	is_str(strbuf_text(&out),
	       "variable 0x500 x D type (integer) (size 4) key string (unknown) by ref (size 256), "
	       "D "
	       "type (integer) (size 4)\n"
	       "variable 0x501 self->y string (unknown) by ref (size 256)\n",
	       "variables");
	strbuf_clear(&out);
	prog_aggs_print(&(struct prog_aggs){aggs, 1}, &out);
	is_str(strbuf_text(&out),
	       "aggregation 1 @q = lquantize 0 10 5 0 key string string (unknown) by ref (size "
	       "256), "
	       "stack D type (integer) (size 4)\n",
	       "aggregations");
	strbuf_deinit(&out);
}

int main(void)
{
	struct arena *a = arena_create();

	test_print(a);
	test_walk(a);
	test_walk_clauses(a);
	test_print_names();
	ok(!act_is_recording(ACT_EXPR) && !act_is_recording(ACT_AGG) &&
		   !act_is_recording(ACT_BRZ) && !act_is_recording(ACT_JMP) &&
		   !act_is_recording(ACT_RAISE) && !act_is_recording(ACT_STOP),
	   "actions without a record");
	ok(act_is_recording(ACT_TRACE) && act_is_recording(ACT_EXIT) &&
		   act_is_recording(ACT_SETOPT) && act_is_recording(ACT_USTACK),
	   "actions with a record");
	is_str(aggfunc_name(AGGFUNC_LLQUANTIZE), "llquantize", "name of an aggregating function");
	arena_destroy(a);
	return tap_done();
}
