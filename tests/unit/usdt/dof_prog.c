/* SPDX-License-Identifier: MIT */
/*
 * Ustack helpers in DOF: what is written is what is read; whatever byte of it is changed, nothing
 * that the reader accepts does harm when it is translated.
 */
#include "usdt/dof_prog.h"

#include "tap.h"
#include "helper/helper.h"

/* Loads a word at arg1 + 8 + base, joins it with a text, and keeps the result in this->s. */
static const char named[] = ".var \"arg1\" ctf size=8 signed global scalar ref id=0x107\n"
			    ".var \"s\" string byref size=256 local scalar mod ref id=0x500\n"
			    ".var \"base\" ctf size=8 global scalar ref id=0x500\n"
			    ".ret string byref size=256\n"
			    "ldgs arg1, %r1\n"
			    "setx 8, %r2\n"
			    "add %r1, %r2, %r1\n"
			    "ldgs base, %r2\n"
			    "add %r1, %r2, %r1\n"
			    "ldx [%r1], %r1\n"
			    "tst %r1\n"
			    "be none\n"
			    "sets \"at \", %r2\n"
			    "pushtv DT_TYPE(0), %r2\n"
			    "pushtv DT_TYPE(0), %r1\n"
			    "call strjoin, %r1\n"
			    "stls s, %r1\n"
			    "none:\n"
			    "ret %r1\n";
static const char positive[] = ".var \"arg1\" ctf size=8 signed global scalar ref id=0x107\n"
			       ".ret ctf size=4 signed\n"
			       "ldgs arg1, %r1\n"
			       "ret %r1\n";

static struct difo *difo_make(struct arena *a, const char *text)
{
	struct difo *d = NULL;
	struct err *e = difo_parse(a, text, &d);

	if (e)
		printf("# %s\n", err_text(e));
	ok(!e, "parsed");
	err_destroy(e);
	return d;
}

static uint32_t line_is_span(void *ctx, uint32_t span)
{
	return span;
}

static void image_make(struct arena *a, struct dof_image *out)
{
	struct difo *string[] = {difo_make(a, named)}, *number[] = {difo_make(a, positive)};
	struct difo *texts[] = {string[0], number[0]};
	struct difo *three[] = {number[0], number[0], number[0]};
	enum datum_kind kinds[] = {DATUM_STRING, DATUM_INT, DATUM_INT};
	struct prog_act acts[] = {
		{.kind = ACT_LOOP, .loop = {.most = 7, .depth = 0}, .span = 2},
		{.kind = ACT_BRZ, .args = number, .arg_kinds = kinds + 1, .nargs = 1, .target = 5},
		{.kind = ACT_UFRAME, .args = texts, .arg_kinds = kinds, .nargs = 2, .span = 3},
		{.kind = ACT_UNWIND, .args = three, .arg_kinds = kinds, .nargs = 3, .span = 4},
		{.kind = ACT_AGAIN, .loop = {.head = 1, .depth = 0}, .span = 5},
		{.kind = ACT_EXPR, .args = string, .arg_kinds = kinds, .nargs = 1, .span = 6},
	};
	struct prog_clause walk = {.desc = {"dtrace", "helper", "ustack", "", 0, false, 0},
				   .pred = number[0],
				   .acts = acts,
				   .nacts = ARRAY_LEN(acts),
				   .span = 1};
	struct prog_clause begin = {.desc = {"dtrace", "helper", "uthread", "", 0, false, 0},
				    .acts = acts + 5,
				    .nacts = 1,
				    .span = 9};
	struct prog_clause *clauses[] = {&walk, &begin};

	dof_prog_write(clauses, 2, "toy.d", line_is_span, NULL, out);
}

static void test_round(struct arena *a, const struct dof_image *image)
{
	struct dof_prog *p = NULL;
	const struct prog_clause *cl;
	struct strbuf text = {0};
	uint32_t n = 0;
	struct err *e = dof_progs_read(image->bytes.data, image->bytes.len, a, &p, &n);

	ok(!e && n == 1 && p->prog.nclauses == 2, "read");
	if (e)
		printf("# %s\n", err_text(e));
	err_destroy(e);
	is_str(p->file, "toy.d", "name of the text");
	cl = p->prog.clauses[0];
	is_str(cl->desc.func, "ustack", "description");
	ok(cl->pred && cl->nacts == 6, "predicate and actions");
	is_int(cl->acts[0].loop.most, 7, "loop");
	is_int(cl->acts[1].target, 5, "jump");
	is_int(cl->acts[2].nargs, 2, "arguments of uframe()");
	ok(cl->acts[2].arg_kinds[0] == DATUM_STRING && cl->acts[2].arg_kinds[1] == DATUM_INT,
	   "their kinds");
	is_int(cl->acts[3].nargs, 3, "arguments of unwind()");
	is_int(cl->acts[5].span, 6, "line");
	is_int(p->prog.clauses[1]->span, 9, "line of a clause");
	difo_print_asm(cl->acts[5].args[0], &text);
	ok(strstr(strbuf_text(&text), "\"at \"") && strstr(strbuf_text(&text), "stls"),
	   "instructions and tables");
	is_int(p->vars.len, 2, "variables");
	e = helper_check_carried(p);
	ok(!e, "can be translated");
	err_destroy(e);
	strbuf_deinit(&text);
}

/* Reads and translates; true if the helper was accepted. */
static bool accepted(const uint8_t *bytes, size_t size)
{
	struct arena *a = arena_create();
	struct dof_prog *p;
	uint32_t n = 0;
	struct err *e = dof_progs_read(bytes, size, a, &p, &n);

	for (uint32_t i = 0; i < n && !e; i++)
		e = helper_check_carried(&p[i]);
	arena_destroy(a);
	if (!e)
		return n;
	err_destroy(e);
	return false;
}

static void test_damage(const struct dof_image *image)
{
	static const uint8_t values[] = {0, 1, 0x7f, 0x80, 0xff};
	uint32_t naccepted = 0, nrefused = 0;
	size_t size = image->bytes.len;
	uint8_t *copy = xmalloc(size);

	for (size_t at = 0; at < size; at++) {
		for (size_t k = 0; k < ARRAY_LEN(values); k++) {
			memcpy(copy, image->bytes.data, size);
			copy[at] ^= values[k] ? values[k] : 0x20;
			*(accepted(copy, size) ? &naccepted : &nrefused) += 1;
		}
	}
	ok(nrefused > size, "most changes are refused (%u, %u are not)", nrefused, naccepted);
	memcpy(copy, image->bytes.data, size);
	for (size_t n = 0; n < size; n++) {
		uint8_t *exact = xmalloc(n + 1);

		memcpy(exact, copy, n);
		naccepted = accepted(exact, n);
		free(exact);
		if (naccepted)
			break;
	}
	ok(!naccepted, "cut off, it is no helper");
	free(copy);
}

/* Changes a DIF object so that it is no longer one that a compiler makes. */
static void test_refusals(struct arena *a)
{
	static const struct {
		const char *text, *why;
	} bad[] = {
		{".ret ctf size=8\nret %r5\n", "a register without a value"},
		{".ret ctf size=8\nsetx 1, %r30\nret %r30\n", "a register that is not there"},
		{".ret ctf size=8\nsetx 1, %r1\ntst %r1\nbe two\nsetx 2, %r2\ntwo:\nret %r2\n",
		 "a register with a value on one path only"},
		{".ret ctf size=8\ncall copyout, %r1\nret %r1\n", "copyout()"},
		{".ret ctf size=8\ncall symaddr, %r1\nret %r1\n", "symaddr() during a walk"},
		{".var \"timestamp\" ctf size=8 global scalar ref id=0x101\n.ret ctf size=8\n"
		 "ldgs timestamp, %r1\nret %r1\n",
		 "a variable that helpers do not have"},
		{".var \"x\" ctf size=8 thread scalar ref id=0x500\n.ret ctf size=8\n"
		 "ldts x, %r1\nret %r1\n",
		 "a thread-local variable"},
	};

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct difo *d[] = {difo_make(a, bad[i].text)};
		enum datum_kind kind = DATUM_INT;
		struct prog_act act = {.kind = ACT_EXPR, .args = d, .arg_kinds = &kind, .nargs = 1};
		struct prog_clause cl = {.desc = {"dtrace", "helper", "ustack", "", 0, false, 0},
					 .acts = &act,
					 .nacts = 1},
				   *list = &cl;
		struct dof_image image = {0};

		dof_prog_write(&list, 1, "bad.d", line_is_span, NULL, &image);
		ok(!accepted(image.bytes.data, image.bytes.len), "refused: %s", bad[i].why);
		dof_image_deinit(&image);
	}
}

int main(void)
{
	struct arena *a = arena_create();
	struct dof_image image = {0};

	image_make(a, &image);
	test_round(a, &image);
	test_damage(&image);
	test_refusals(a);
	dof_image_deinit(&image);
	arena_destroy(a);
	return tap_done();
}
