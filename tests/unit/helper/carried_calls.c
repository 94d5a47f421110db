/* SPDX-License-Identifier: MIT */
/*
 * What a helper that a program has carried may call and read: each subroutine and each built-in
 * variable of the tables is refused, or each argument that is an address is checked before the
 * call. The addresses here follow from the prototypes, not from the column of the tables.
 */
#include "d/check/builtin.h"
#include "helper/hcode.h"
#include "helper/helper.h"
#include "rt/helper.h"
#include "tap.h"
#include "usdt/dof_prog.h"

/* What the program of a helper has: bits of the arguments that are checked, of calls and loads. */
struct found {
	uint32_t checked; /* arguments, before the call */
	uint32_t ncalls, nvars;
	uint32_t subr, var; /* the last ones */
};

static struct found words_read(const struct hcode *code)
{
	struct found f = {0};

	for (uint32_t i = 0; i < code->ninsns; i++) {
		uint64_t in = code->words.data[i];

		switch (in & 127) {
		case HOP_OWN | HOP_IMMEDIATE: f.checked |= !f.ncalls << (in >> 24 & 255); break;
		case HOP_CALL:
			f.ncalls++;
			f.subr = (uint32_t)(in >> 32);
			break;
		case HOP_VAR:
			f.nvars++;
			f.var = (uint32_t)(in >> 32);
			break;
		case HOP_WIDE: i++; break;
		default: break;
		}
	}
	return f;
}

/* Translates a helper of one clause whose value is the DIF object; NULL and *ret if it may be. */
static struct err *helper_read(const char *dif, bool is_foreign, struct found *ret)
{
	struct arena *a = arena_create();
	struct difo *d = NULL;
	struct err *e = difo_parse(a, dif, &d);
	enum datum_kind kind = DATUM_INT;
	struct prog_act act = {.kind = ACT_EXPR,
			       .args = &d,
			       .arg_kinds = &kind,
			       .nargs = 1,
			       .span = 1};
	struct prog_clause cl = {.desc = {"dtrace", "helper", "ustack", "", 0, false, 0},
				 .acts = &act,
				 .nacts = 1,
				 .span = 1};
	struct prog_clause *clauses[] = {&cl};
	struct dof_prog p = {.prog = {.clauses = clauses, .nclauses = 1}};
	struct helper *h = helper_carried("toy", &p, NULL);
	struct hcode code = {0};

	h->is_foreign = h->is_checked = is_foreign;
	if (!e)
		e = hcode_make(&h, 1, 0, &code);
	if (!e)
		*ret = words_read(&code);
	if (!e)
		hcode_deinit(&code);
	helper_close(h);
	arena_destroy(a);
	return e;
}

/* Bit n: argument n of the prototype is a pointer. */
static uint32_t proto_pointers(const char *proto)
{
	uint32_t bits = 0, n = 0;

	for (const char *p = strchr(proto, '('); *p; p++) {
		n += *p == ',';
		bits |= (uint32_t)(*p == '*') << n;
	}
	return bits;
}

static void test_subr(const struct subr *s)
{
	const struct dif_subr_row *row = dif_subr_row((uint32_t)s->code);
	/* it makes a number of an address, and reads nothing there */
	uint32_t pointers = s->code == DIF_SUBR_MEMREF ? 0 : proto_pointers(s->proto);
	struct strbuf dif = {0};
	struct found f = {0};
	struct err *e;

	strbuf_adds(&dif, ".var \"arg1\" ctf size=8 signed global scalar ref id=0x107\n"
			  ".ret ctf size=8\nldgs arg1, %r1\n");
	for (uint32_t i = 0; i < row->nmax; i++)
		strbuf_adds(&dif, "pushtv DT_TYPE(0), %r1\n");
	strbuf_addf(&dif, "call %s, %%r1\nret %%r1\n", s->name);
	e = helper_read(strbuf_text(&dif), true, &f);
	if (!row->in_walk) {
		ok(e && strstr(err_text(e), s->name), "%s() is refused", s->name);
		if (!e)
			printf("# %s\n", strbuf_text(&dif));
	} else {
		ok(!e && f.ncalls == 1 && f.subr == (uint32_t)s->code, "%s() is called", s->name);
		is_int(f.checked, pointers, s->name);
		err_destroy(e);
		e = helper_read(strbuf_text(&dif), false, &f);
		ok(!e && !f.checked, "%s(): none is in a helper of the tracer's own", s->name);
	}
	err_destroy(e);
	strbuf_deinit(&dif);
}

static void test_var(const struct builtin_var *v)
{
	bool is_arg = v->id >= DIF_VAR_ARG0 && v->id <= DIF_VAR_ARG9;
	struct strbuf dif = {0};
	struct found f = {0};
	struct err *e;

	strbuf_addf(&dif,
		    ".var \"%s\" ctf size=8 global scalar ref id=0x%x\n"
		    ".ret ctf size=8\nldgs %s, %%r1\nret %%r1\n",
		    v->name, v->id, v->name);
	e = helper_read(strbuf_text(&dif), true, &f);
	if (is_arg)
		ok(!e && !f.nvars, "%s is in a register", v->name);
	else if (dif_builtin_in_walk(v->id))
		ok(!e && f.nvars == 1 && f.var == v->id, "%s is computed", v->name);
	else
		ok(e && strstr(err_text(e), v->name), "%s is refused", v->name);
	err_destroy(e);
	strbuf_deinit(&dif);
}

int main(void)
{
	for (uint32_t i = 0; i < nsubrs; i++)
		if (subrs[i].class == SUBR_FUNC)
			test_subr(&subrs[i]);
	for (uint32_t i = 0; i < nhelper_subrs; i++)
		if (helper_subrs[i].class == SUBR_FUNC)
			test_subr(&helper_subrs[i]);
	for (uint32_t i = 0; i < nbuiltin_vars; i++)
		if (*builtin_vars[i].type)
			test_var(&builtin_vars[i]);
	return tap_done();
}
