/* SPDX-License-Identifier: MIT */
/* Translates DIF to the instructions of the helper machine: one instruction for each, or few. */
#include "helper/hcode_impl.h"

#include "dtrace.h"

#define FIRST_NUMBER (HREG_LOCALS + RT_HELPER_STRINGS)
#define NUMBERS_MAX  (RT_HELPER_LOCALS - RT_HELPER_STRINGS)

/* ---- helpers of the translation -------------------------------------------------------------- */

void hcode_refuse(struct translator *t, const char *fmt, ...)
{
	struct strbuf what = {0};
	struct strbuf location = {0};
	va_list ap;

	if (t->err)
		return;
	va_start(ap, fmt);
	strbuf_vaddf(&what, fmt, ap);
	va_end(ap);
	helper_location(t->h, t->span, &location);
	t->err = err_code(err_hint(err_new("%s: a ustack helper may not use %s",
					   strbuf_text(&location), strbuf_text(&what)),
				   "a clause of dtrace:helper:ustack: computes one string from "
				   "arg0, the address of the frame, and arg1, its frame pointer"),
			  EDT_COMPILER);
	strbuf_deinit(&location);
	strbuf_deinit(&what);
}

uint32_t hcode_here(const struct translator *t)
{
	return t->out->words.len;
}

uint32_t hcode_put(struct translator *t, uint32_t op, uint32_t a, uint32_t b, uint32_t c,
		   int64_t imm)
{
	vec_push(&t->out->words, HELPER_INSN(op, a, b, c, imm));
	return hcode_here(t) - 1;
}

void hcode_jump(struct translator *t, uint32_t word, uint32_t target)
{
	uint64_t *w = &t->out->words.data[word];

	*w = (*w & UINT32_MAX) | (uint64_t)(target - word - 1) << 32;
}

void hcode_guard(struct translator *t, uint32_t reg, int64_t imm)
{
	if (t->h->is_checked && reg != HREG_ZERO)
		hcode_put(t, HOP_OWN, 0, reg, 0, imm);
}

/* Makes the instruction at `word` load the address of the text, which is to follow the program. */
void hcode_text(struct translator *t, uint32_t word, const char *text)
{
	vec_push(&t->texts, (struct text_use){word, text});
}

/* Appends the texts that instructions use, each once. */
static void put_texts(struct translator *t)
{
	for (uint32_t i = 0; i < t->texts.len; i++) {
		struct text_use *use = &t->texts.data[i];
		uint32_t k = 0, at = hcode_here(t);
		size_t n = strlen(use->text) + 1;
		uint64_t *w;

		while (k < i && strcmp(t->texts.data[k].text, use->text) != 0)
			k++;
		if (k < i)
			at = (uint32_t)(t->out->words.data[t->texts.data[k].word] >> 32) - t->base;
		for (size_t j = 0; k == i && j < n; j += 8)
			vec_push(&t->out->words, 0);
		if (k == i)
			memcpy(t->out->words.data + at, use->text, n);
		w = &t->out->words.data[use->word];
		*w = (*w & UINT32_MAX) | (uint64_t)(t->base + at) << 32;
	}
}

/* ---- variables ------------------------------------------------------------------------------- */

uint32_t hcode_global(struct translator *t, uint32_t id)
{
	for (uint32_t i = 0; i < t->out->globals.len; i++) {
		const struct hcode_global *g = &t->out->globals.data[i];

		if (g->helper == t->h && g->var->id == id)
			return HREG_GLOBALS + g->slot;
	}
	hcode_refuse(t, "associative arrays");
	return 0;
}

uint32_t hcode_local(struct translator *t, const struct dif_var *v)
{
	struct local l = {.helper = t->h, .id = v->id};
	bool is_string = v->type.kind == DIF_KIND_STRING;

	for (uint32_t i = 0; i < t->locals.len; i++)
		if (t->locals.data[i].helper == t->h && t->locals.data[i].id == v->id)
			return t->locals.data[i].slot;
	if (!is_string && dif_type_is_byref(&v->type))
		hcode_refuse(t, "variables that are structures or arrays");
	if (is_string ? t->nstrings == RT_HELPER_STRINGS : t->nkept + t->nscratch == NUMBERS_MAX)
		hcode_refuse(t, "more than %u clause-local %s",
			     is_string ? RT_HELPER_STRINGS : NUMBERS_MAX,
			     is_string ? "strings" : "variables");
	else
		l.slot = is_string ? HREG_LOCALS + t->nstrings++
				   : FIRST_NUMBER + t->nkept + t->nscratch++;
	vec_push(&t->locals, l);
	return l.slot;
}

/* The clauses of a helper follow: its variables go on where those of its other probes ended. */
static void helper_begin(struct translator *t, const struct helper *h)
{
	t->h = h;
	t->nscratch = 0;
	for (uint32_t i = 0; i < t->locals.len; i++)
		t->nscratch += t->locals.data[i].helper == h &&
			       t->locals.data[i].slot >= FIRST_NUMBER + t->nkept;
}

/*
 * Gives the variables of a helper that keep a value from frame to frame registers that no other
 * helper uses. `alone` is the program of this helper alone, and of its variables.
 */
static void locals_keep(struct translator *t, const struct translator *alone)
{
	const struct hcode *h = alone->out;
	struct reg_set live = {0};

	hcode_live(h, 0, h->frames, &live);
	hcode_live(h, h->frames + 2, h->ninsns - 1, &live);
	for (uint32_t i = 0; i < alone->locals.len; i++) {
		struct local l = alone->locals.data[i];

		if (l.slot < FIRST_NUMBER || !hcode_has_local(&live, l.slot))
			continue;
		if (t->nkept == NUMBERS_MAX) {
			t->h = l.helper;
			t->span = l.helper->prog->clauses[0]->span;
			hcode_refuse(t,
				     "more than %u clause-local variables that keep their values "
				     "from frame to frame, together with the others of a process",
				     NUMBERS_MAX);
			return;
		}
		l.slot = FIRST_NUMBER + t->nkept++;
		vec_push(&t->locals, l);
	}
}

/* ---- clauses --------------------------------------------------------------------------------- */

/* The register that has the value of an object. */
static uint32_t value_reg(struct translator *t, const struct difo *d)
{
	struct value v = hcode_difo(t, d);

	if (v.kind == VALUE_SUM)
		return v.reg;
	if (v.imm == (int32_t)v.imm) {
		hcode_put(t, HOP_IMM, REG_VALUE, 0, 0, v.imm);
	} else {
		hcode_put(t, HOP_WIDE, REG_VALUE, 0, 0, 0);
		vec_push(&t->out->words, (uint64_t)v.imm);
	}
	return REG_VALUE;
}

static void put_value(struct translator *t, const struct difo *d)
{
	struct value v = hcode_difo(t, d);

	if (d->ret.kind == DIF_KIND_STRING) {
		uint32_t r = v.kind == VALUE_SUM ? v.reg : HREG_ZERO;

		hcode_guard(t, r, 0);
		hcode_put(t, HOP_RESULT, 0, r, 0, 0);
		t->names_frames = true;
	} else if (t->names_frames) {
		hcode_put(t, HOP_NONE, 0, 0, 0, 0);
	}
}

static void put_frame(struct translator *t, const struct prog_act *act)
{
	for (uint32_t k = 0; k < act->nargs; k++) {
		uint32_t r = value_reg(t, act->args[k]);

		if (act->arg_kinds[k] != DATUM_STRING && act->arg_kinds[k] != DATUM_INT)
			hcode_refuse(t, "uframe() with anything but strings and numbers");
		if (act->arg_kinds[k] == DATUM_STRING)
			hcode_guard(t, r, 0);
		hcode_put(t, act->arg_kinds[k] == DATUM_STRING ? HOP_ADDS : HOP_ADDN, 0, r, 0, 0);
	}
	hcode_put(t, HOP_FRAME, 0, 0, 0, 0);
	if (t->names_frames)
		hcode_put(t, HOP_NONE, 0, 0, 0, 0);
}

/* Calls in later arguments overwrite what was pushed: the first two wait in registers. */
static void put_unwind(struct translator *t, const struct prog_act *act)
{
	for (uint32_t k = 0; k < act->nargs; k++) {
		uint32_t r = value_reg(t, act->args[k]);

		if (k < 2)
			hcode_put(t, HOP_ADD, REG_KEPT + k, r, 0, 0);
		else
			hcode_put(t, HOP_PUSH, 0, r, k, 0);
	}
	hcode_put(t, HOP_PUSH, 0, REG_KEPT, 0, 0);
	hcode_put(t, HOP_PUSH, 0, REG_KEPT + 1, 1, 0);
	hcode_put(t, HOP_UNWIND, 0, 0, 0, 0);
}

/* Gives the jumps that a condition has noted the label of an action. */
static void jumps_label(struct fixup_list *list, uint32_t from, uint32_t label)
{
	for (uint32_t i = from; i < list->all.len; i++)
		list->all.data[i].label = label;
}

static void put_act(struct translator *t, const struct prog_act *act, const uint32_t *at,
		    struct fixup_list *jumps)
{
	uint32_t word, n = jumps->all.len;

	switch ((int)act->kind) {
	case ACT_EXPR: put_value(t, act->args[0]); return;
	case ACT_BRZ:
		hcode_condition(t, act->args[0], jumps);
		jumps_label(jumps, n, act->target);
		return;
	case ACT_JMP:
		word = hcode_put(t, HOP_JMP, 0, 0, 0, 0);
		vec_push(&jumps->all, (struct fixup){word, act->target});
		return;
	case ACT_LOOP: hcode_put(t, HOP_LOOP, 0, 0, act->loop.depth, act->loop.most - 1); return;
	case ACT_AGAIN:
		word = hcode_put(t, HOP_AGAIN, 0, 0, act->loop.depth, 0);
		hcode_jump(t, word, at[act->loop.head]);
		return;
	case ACT_UFRAME: put_frame(t, act); return;
	case ACT_UNWIND: put_unwind(t, act); return;
	case ACT_AGG: hcode_refuse(t, "aggregations"); return;
	default: hcode_refuse(t, "actions that are no expressions");
	}
}

static void line_note(struct translator *t)
{
	vec_push(&t->out->lines, (struct hcode_line){hcode_here(t), t->span, t->h});
}

static void put_clause(struct translator *t, const struct prog_clause *cl)
{
	CLEANUP(free) uint32_t *at = xcalloc(cl->nacts + 1, sizeof(*at));
	struct fixup_list jumps = {0};

	t->span = cl->span;
	if (!cl->nacts)
		hcode_refuse(t, "clauses without a value");
	line_note(t);
	if (cl->pred) {
		hcode_condition(t, cl->pred, &jumps);
		jumps_label(&jumps, 0, cl->nacts);
	}
	for (uint32_t i = 0; i < cl->nacts && !t->err; i++) {
		at[i] = hcode_here(t);
		t->span = cl->acts[i].span ? cl->acts[i].span : cl->span;
		line_note(t);
		put_act(t, &cl->acts[i], at, &jumps);
	}
	at[cl->nacts] = hcode_here(t);
	for (uint32_t i = 0; i < jumps.all.len && !t->err; i++)
		hcode_jump(t, jumps.all.data[i].word, at[jumps.all.data[i].label]);
	vec_deinit(&jumps.all);
}

static void put_clauses(struct translator *t, struct helper *const *helpers, uint32_t n,
			enum helper_probe probe)
{
	for (uint32_t i = 0; i < n; i++) {
		helper_begin(t, helpers[i]);
		for (uint32_t k = 0; k < t->h->prog->nclauses && !t->err; k++)
			if (helper_clause_probe(t->h->prog->clauses[k]) == probe)
				put_clause(t, t->h->prog->clauses[k]);
	}
}

static bool has_uthread(const struct helper *h)
{
	for (uint32_t k = 0; k < h->prog->nclauses; k++)
		if (helper_clause_probe(h->prog->clauses[k]) == HELPER_UTHREAD)
			return true;
	return false;
}

/* The clauses on uthread: a fault in those of one helper goes on with those of the next. */
static void put_uthread(struct translator *t, struct helper *const *helpers, uint32_t n)
{
	uint32_t nwith = 0, word = 0;

	for (uint32_t i = 0; i < n; i++)
		nwith += has_uthread(helpers[i]);
	for (uint32_t i = 0; i < n && !t->err; i++) {
		if (!has_uthread(helpers[i]))
			continue;
		if (nwith > 1)
			word = hcode_put(t, HOP_TRY, 0, 0, 0, 0);
		put_clauses(t, &helpers[i], 1, HELPER_UTHREAD);
		if (nwith > 1)
			hcode_jump(t, word, hcode_here(t));
	}
}

/* Whether clauses that run in walks use the global variable; attach clauses have it elsewhere. */
static bool global_is_used(const struct helper *h, const struct prog_var *v)
{
	if (h->saves_if && strcmp(h->saves_if, v->name) == 0)
		return true;
	for (uint32_t i = 0; i < h->prog->nclauses; i++) {
		const struct prog_clause *cl = h->prog->clauses[i];
		struct clause_difo at = {0};

		if (helper_clause_probe(cl) == HELPER_ATTACH)
			continue;
		while (clause_each_difo(cl, &at))
			if (difo_find_var(at.difo, DIF_SCOPE_GLOBAL, v->id))
				return true;
	}
	return false;
}

static void globals_number(struct translator *t, const struct helper *h)
{
	const struct prog_vars *vars = h->vars;

	t->h = h;
	for (uint32_t i = 0; i < vars->len; i++) {
		const struct prog_var *v = vars->vars[i];
		struct hcode_global g = {h, v, t->out->globals.len};

		if (v->scope != DIF_SCOPE_GLOBAL || v->kind != DIF_VAR_SCALAR ||
		    !global_is_used(h, v))
			continue;
		if (g.slot == RT_HELPER_GLOBALS) {
			t->span = h->prog->clauses[0]->span;
			hcode_refuse(t,
				     "more than %u global variables, together with the others of a "
				     "process",
				     RT_HELPER_GLOBALS);
			return;
		}
		vec_push(&t->out->globals, g);
	}
}

/* Translates the helpers; t->locals may have some of their variables. */
static void program_put(struct translator *t, struct helper *const *helpers, uint32_t n)
{
	struct hcode *out = t->out;

	for (uint32_t i = 0; i < n && !t->err; i++)
		globals_number(t, helpers[i]);
	put_uthread(t, helpers, n);
	out->frames = hcode_put(t, HOP_FRAMES, 0, 0, 0, 0);
	hcode_put(t, HOP_STEP, 0, 0, 0, 0);
	t->names_frames = false;
	put_clauses(t, helpers, n, HELPER_USTACK);
	if (!t->err)
		out->names_frames = hcode_names(out, out->frames + 2, hcode_here(t));
	hcode_jump(t, hcode_put(t, HOP_JMP, 0, 0, 0, 0), out->frames + 1);
	out->ninsns = hcode_here(t);
	put_texts(t);
}

static void translator_deinit(struct translator *t)
{
	vec_deinit(&t->texts);
	vec_deinit(&t->locals);
	vec_deinit(&t->jumps.all);
	if (t->err)
		hcode_deinit(t->out);
}

/* Finds the variables that other helpers must not share. */
static void helper_keep(struct translator *t, struct helper *h)
{
	struct hcode code = {0};
	struct translator alone = {.out = &code};

	program_put(&alone, &h, 1);
	if (!alone.err)
		locals_keep(t, &alone);
	t->err = t->err ? t->err : alone.err;
	translator_deinit(&alone);
	if (!alone.err)
		hcode_deinit(&code);
}

struct err *hcode_make(struct helper *const *helpers, uint32_t n, uint32_t base, struct hcode *ret)
{
	struct translator t = {.out = ret, .base = base};

	*ret = (struct hcode){0};
	for (uint32_t i = 0; n > 1 && i < n && !t.err; i++)
		helper_keep(&t, helpers[i]);
	if (!t.err)
		program_put(&t, helpers, n);
	translator_deinit(&t);
	return t.err;
}

void hcode_deinit(struct hcode *h)
{
	vec_deinit(&h->words);
	vec_deinit(&h->globals);
	vec_deinit(&h->lines);
}
