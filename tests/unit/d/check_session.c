/* SPDX-License-Identifier: MIT */
/* Sessions: what programs share, what a failed compile leaves, what a program says about itself. */
#include "check_env.h"
#include "tap.h"

static struct check_env t;

static bool compiles(const char *script, struct prog **ret)
{
	struct prog *prog = NULL;
	struct err *e = check_env_compile(&t, script, &prog);

	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	if (ret)
		*ret = prog;
	return !e;
}

static bool fails(const char *script, const char *tag)
{
	struct prog *prog = NULL;
	struct err *e = check_env_compile(&t, script, &prog);
	bool good = e && strstr(err_text(e), tag) && err_get_code(e) == EDT_COMPILER && !prog;

	if (!good)
		printf("# %s\n", e ? err_text(e) : "it compiled");
	err_destroy(e);
	return good;
}

static void test_sharing(void)
{
	const struct prog_vars *vars = dsession_vars(t.session);
	const struct prog_aggs *aggs = dsession_aggs(t.session);
	struct prog *a, *b;

	ok(compiles("BEGIN { x = 1; self->s = \"a\"; this->l = 2; @c[pid] = count(); m[1] = 2l; }",
		    &a),
	   "first program");
	is_int(vars->len, 4, "its variables");
	ok(compiles("END { trace(x); trace(self->s); this->l = \"text\"; @c[1] = count(); "
		    "printa(@c); "
		    "trace(m[3]); }",
		    &b),
	   "second program uses them");
	is_int(vars->len, 5, "this->l is a variable of its own");
	is_int(aggs->len, 1, "the aggregation is the same");
	ok(a->clauses[0]->acts[3].agg == b->clauses[0]->acts[3].agg, "in both programs");
	is_int(a->clauses[0]->index, 0, "clauses count on");
	is_int(b->clauses[0]->index, 1, "over programs");
	is_int(vars->vars[0]->id, DIF_VAR_USER, "global ids");
	is_int(vars->vars[1]->id, DIF_VAR_USER, "thread-local ids");
	is_int(vars->vars[2]->id, DIF_VAR_USER, "clause-local ids");
	is_int(vars->vars[4]->id, DIF_VAR_USER + 1, "are unique over programs");
	is_int(vars->vars[3]->nkeys, 1, "keys of an array");
	is_int(vars->vars[3]->type.size, 8, "type of its elements");
	ok(fails("BEGIN { x = \"a\"; }", "D_OP_INCOMPAT"), "types stay fixed");
}

static void test_rollback(void)
{
	static const char bad[] =
		"struct tmp { int a; };\ntypedef int tmp_t;\nenum { TMP };\ninline int TMPI = 1;\n"
		"translator struct tmp < int i > { a = i; };\nprovider tmp { probe p(int); };\n"
		"BEGIN { g = 1; self->t = 2; @agg = count(); arr[1] = 1; trace(nothing); }";
	const struct prog_vars *vars = dsession_vars(t.session);
	const struct prog_aggs *aggs = dsession_aggs(t.session);
	uint32_t nvars = vars->len, naggs = aggs->len;
	struct prog *p;

	ok(fails(bad, "D_IDENT_UNDEF"), "a program with a mistake");
	is_int(vars->len, nvars, "leaves no variables");
	is_int(aggs->len, naggs, "and no aggregations");
	ok(fails("BEGIN { trace(g); }", "D_IDENT_UNDEF"), "nor names");
	ok(fails("BEGIN { printa(@agg); }", "D_PRINTA_AGGBAD"), "nor aggregations' names");
	ok(compiles("struct tmp { string b; };\ntypedef long tmp_t;\nenum { TMP = 5 };\n"
		    "inline string TMPI = \"x\";\ntranslator struct tmp < int i > { b = \"x\"; };\n"
		    "provider tmp { probe p(string); };\n"
		    "BEGIN { g = \"a\"; self->t = \"b\"; @agg = sum(TMP); arr[\"x\"] = 1; }",
		    &p),
	   "everything can be declared otherwise");
	is_int(aggs->aggs[aggs->len - 1]->id, naggs + 1, "ids go on without a gap");
}

/* d-language.md 2.5(5): actions first, then once more with the predicate first. */
static void test_order(void)
{
	struct prog *p;

	ok(compiles("BEGIN / ord1 == 1 / { ord1 = 1; }", NULL),
	   "actions introduce what the predicate uses");
	ok(compiles("BEGIN / (ord2 = 5) != 0 / { trace(ord2); }", NULL),
	   "the predicate introduces what actions use");
	ok(compiles("BEGIN / (ord3 = 5) != 0 / { ord4 = 1; trace(ord3); ord4 = 2; }", &p),
	   "the first attempt leaves nothing");
	is_int(p ? p->clauses[0]->nacts : 0, 3, "all actions are there once");
	ok(fails("BEGIN / ord5 == 1 / { trace(ord6); }", "D_IDENT_UNDEF"),
	   "what neither attempt declares is undefined");
}

static void test_clauses(void)
{
	struct prog *p;

	ok(compiles("BEGIN, END, tick-1s / pid / { trace(1); }", &p), "three descriptions");
	is_int(p->nclauses, 3, "make three clauses");
	is_str(p->clauses[1]->desc.name, "END", "in order");
	ok(p->clauses[0]->pred != p->clauses[1]->pred, "with code of their own");
	ok(compiles("BEGIN { } END { x = 1; } tick-1s { raise(9); } tick-2s { exit(0); } 1 { }",
		    &p),
	   "kinds of clauses");
	ok(p->clauses[0]->is_default && p->clauses[0]->records,
	   "an empty body is the default action");
	ok(!p->clauses[1]->is_default && !p->clauses[1]->records, "an assignment records nothing");
	ok(p->clauses[2]->destructive && !p->clauses[2]->records, "raise() is destructive");
	ok(!p->clauses[3]->destructive && p->clauses[3]->records, "exit() records");
	is_int(p->clauses[4]->desc.id, 1, "a probe by its id");
	is_str(p->clauses[4]->desc.prov, "", "has no text");
}

/* d-language.md 7.1: every argument and key counts as an action. */
static void test_numbers(void)
{
	static const uint32_t want[] = {1, 2, 4, 5, 8, 10, 12, 13};
	struct prog *p;

	ok(compiles("BEGIN { x = 1; printf(\"%d %d\", 1, 2); printf(\"text\"); @n[1, 2] = count(); "
		    "@s[1] = sum(2); @q = quantize(1, 2); clear(@n); trace(3); }",
		    &p),
	   "all kinds");
	for (uint32_t i = 0; p && i < ARRAY_LEN(want); i++)
		is_int(p->clauses[0]->acts[i].number, want[i], "number of an action");
}

static void test_if(void)
{
	struct prog *p;
	const struct prog_act *a;

	ok(compiles("BEGIN { if (pid) { trace(1); } else if (tid) { trace(2); } else { trace(3); } "
		    "trace(4); }",
		    &p),
	   "if, else if, else");
	a = p->clauses[0]->acts;
	is_int(p->clauses[0]->nacts, 8, "actions");
	ok(a[0].kind == ACT_BRZ && a[0].target == 3, "if goes to else");
	ok(a[2].kind == ACT_JMP && a[2].target == 7, "then goes to the end");
	ok(a[3].kind == ACT_BRZ && a[3].target == 6, "else if");
	ok(a[5].kind == ACT_JMP && a[5].target == 7, "its end");
	ok(compiles("BEGIN { if (pid) trace(1); }", &p), "if at the end");
	is_int(p->clauses[0]->acts[0].target, 2, "goes behind the last action");
}

static void test_attributes(void)
{
	struct prog *p;

	ok(compiles("BEGIN { trace(htons(1)); } END { trace(curthread); } tick-1s { trace(1); }",
		    &p),
	   "attributes");
	is_int(p->clauses[0]->attr[0], STAB_EVOLVING, "htons() is Evolving");
	is_int(p->clauses[1]->attr[0], STAB_STABLE, "curthread's name is Stable");
	is_int(p->clauses[1]->attr[1], STAB_PRIVATE, "its data Private");
	is_int(p->clauses[2]->attr[2], DEP_COMMON, "constants are Common");
	ok(compiles("#pragma D attributes Unstable/Private/ISA attr_v\nint attr_v;\nBEGIN { "
		    "trace(attr_v); }",
		    &p),
	   "a pragma before the declaration");
	is_int(p->clauses[0]->attr[0], STAB_UNSTABLE, "is applied when it comes");
	ok(compiles("syscall::read:entry { trace(arg0); }", &p), "arguments");
	is_int(p->clauses[0]->attr[2], DEP_ISA, "take the provider's attributes");
	ok(compiles("#pragma D binding \"1.6\" newer\ninline int newer = 1;\nBEGIN { trace(newer); "
		    "}",
		    NULL),
	   "binding");
	ok(version_parse("1.5", &t.opts.d_version) &&
		   fails("BEGIN { trace(newer); }", "D_IDENT_UNDEF"),
	   "hides what is newer than option version");
	ok(fails("BEGIN { @ = llquantize(1, 10, 0, 3, 10); }", "D_FUNC_UNDEF"),
	   "also what is built in");
	t.opts.d_version = 0;
}

static void test_args(void)
{
	struct prog *p;
	const struct difo *d;

	ok(compiles("syscall::read:entry { trace(args[0]); trace(args[1]); "
		    "trace(stringof(args[1])); "
		    "trace(args[1][0]); }",
		    &p),
	   "typed arguments");
	d = p->clauses[0]->acts[0].args[0];
	is_int(d->ret.size, 4, "args[0] is an int");
	is_int(p->clauses[0]->acts[1].args[0]->ret.size, 8, "args[1] a pointer");
	is_int(DIF_INSN_OP(p->clauses[0]
				   ->acts[3]
				   .args[0]
				   ->code[p->clauses[0]->acts[3].args[0]->code_len - 2]),
	       DIF_OP_ULDSB, "into user memory");
	t.opts.zdefs = true;
	ok(compiles(
		   "struct out2 { long twice; };\n"
		   "translator struct out2 < int i > { twice = i * 2l; };\n"
		   "provider mine { probe go__on(int a, string b) : (string b, struct out2 a); };\n"
		   "mine123:::go-on { trace(args[0]); trace(args[1].twice); }",
		   &p),
	   "arguments of a provider declared in D");
	t.opts.zdefs = false;
	is_int(p->clauses[0]->acts[0].args[0]->ret.kind, DIF_KIND_STRING, "are mapped");
	is_int(p->clauses[0]->acts[1].args[0]->ret.size, 8, "and translated");
}

/* As many variables of a class as there are ids, and one more (d-language.md 2.7). */
static void test_many_variables(void)
{
	enum { MOST = 0x10000 - DIF_VAR_USER };
	struct strbuf script = {0};

	check_env_deinit(&t);
	check_env_init(&t);
	for (int i = 0; i < MOST; i++)
		strbuf_addf(&script, "%s v%d", i ? "," : "self int", i);
	strbuf_adds(&script, "; BEGIN { }");
	ok(compiles(strbuf_text(&script), NULL), "%d thread-local variables", MOST);
	ok(fails("BEGIN { self->one_more = 1; }", "D_ID_OFLOW"), "one more: D_ID_OFLOW");
	ok(compiles("BEGIN { self->v7 = 1; this->x = 1; y = 1; }", NULL),
	   "other classes have room");
	strbuf_deinit(&script);
}

/* What a constant excludes is checked as any other text, unless the options say otherwise. */
static void test_excluded(void)
{
	static const char *const scripts[] = {
		"BEGIN /NEVER && nobody/ { nothing(); }",
		"BEGIN /NEVER/ { nothing(); }",
		"BEGIN { if (NEVER) nothing(); else trace(1); }",
		"BEGIN { if (NEVER && no) f(); else if (ALWAYS || no) trace(1); else f(); }",
	};
	struct prog *p;

	check_env_deinit(&t);
	check_env_init(&t);
	ok(compiles("inline int NEVER = 0; inline int ALWAYS = 1; BEGIN { }", NULL), "constants");
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++)
		ok(fails(scripts[i], "D_"), "checked: %s", scripts[i]);
	t.opts.skips_excluded = true;
	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		ok(compiles(scripts[i], &p), "skipped: %s", scripts[i]);
		is_int(p->nclauses, i < 2 ? 0 : 1, "clauses");
		if (i >= 2)
			ok(p->clauses[0]->nacts == 1 && p->clauses[0]->acts[0].kind == ACT_TRACE,
			   "the branch that is left, without jumps");
	}
	ok(fails("BEGIN /nobody && 0/ { nothing(); }", "D_"),
	   "a constant at the end excludes nothing");
	ok(fails("BEGIN /ALWAYS && nobody/ { trace(1); }", "D_"), "nor does 1");
	t.opts.skips_excluded = false;
}

int main(void)
{
	check_env_init(&t);
	test_sharing();
	test_rollback();
	test_order();
	test_clauses();
	test_numbers();
	test_if();
	test_attributes();
	test_args();
	test_many_variables();
	test_excluded();
	check_env_deinit(&t);
	return tap_done();
}
