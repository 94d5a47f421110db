/* SPDX-License-Identifier: MIT */
/* The verifier: what it refuses, and with which reason. Random objects: random.c. */
#include "tap.h"

#include "dif/dif.h"

#include "dtrace.h"

static struct arena *arena;

#define VARS                                                                                       \
	".var \"g\" id=0x500 scalar mod size=8\n"                                                  \
	".var \"t\" id=0x500 scalar thread mod size=8\n"                                           \
	".var \"l\" id=0x500 scalar local mod size=8\n"                                            \
	".var \"a\" id=0x501 array mod size=8\n"                                                   \
	".var \"ta\" id=0x501 array thread mod size=8\n"                                           \
	".var \"s\" id=0x502 scalar string byref size=256\n"

/* want: part of the message, NULL = accepted. Registers: 8. */
static const struct {
	const char *text, *want;
} rows[] = {
	/* accepted */
	{"ret %r0", NULL},
	{"setx 5, %r7\nret %r7", NULL},
	{"tst %r1\nbe x\nnop\nx: ret %r1", NULL},
	{"tst %r1\nba x\nx: be y\nnop\ny: ret %r1", NULL},
	{"tst %r1\nbe a\ntst %r2\na: bne b\nb: ret %r1", NULL},
	{"ret %r1\nbe x\nx: ret %r2", NULL}, /* not reached */
	{"copys %r0, %r0, %r0\nstb %r0, [%r0]\nret %r0", NULL},
	{VARS
	 "ldgs g, %r1\nldts t, %r1\nldls l, %r1\nldgaa a, %r1\nldtaa ta, %r1\nldgs s, %r1\nret %r1",
	 NULL},
	{VARS "stgs g, %r0\nstts t, %r0\nstls l, %r0\nstgaa a, %r0\nsttaa ta, %r0\nret %r0", NULL},
	{"ldgs pid, %r1\nsetx 1, %r2\nldga args, %r2, %r1\nldga uregs, %r2, %r1\nret %r1", NULL},
	{".var \"pid\" id=0x116 scalar ref size=4 signed\nldgs pid, %r1\nret %r1", NULL},
	{".var \"args\" id=0 array ref size=8\nsetx 1, %r2\nldga args, %r2, %r1\nret %r1", NULL},
	{".ret size=0\nret %r0", NULL},
	{".ret size=3\nret %r0", NULL},
	{".ret size=8\nret %r0", NULL},
	{".ret string byref size=65536\nret %r0", NULL},
	{".ret byref size=16384\nret %r0", NULL},
	{".ret byuref size=1\nret %r0", NULL},
	{"call strlen, %r1\nret %r1", NULL}, /* too few arguments are a run-time matter */

	/* registers */
	{"ret %r8", "instruction 0 (0x23000008): register %r8 out of range"},
	{"add %r1, %r2, %r8\nret %r1", "register %r8"},
	{"add %r8, %r2, %r1\nret %r1", "register %r8"},
	{"add %r1, %r8, %r1\nret %r1", "register %r8"},
	{"ldub [%r9], %r1\nret %r1", "register %r9"},
	{"pushtr 1, %r8, %r1\nret %r1", "register %r8"},
	{"pushtv 0, %r8\nret %r1", "register %r8"},
	{"add %r1, %r2, %r0\nret %r1", "%r0 cannot be written"},
	{"mov %r1, %r0\nret %r1", "%r0 cannot be written"},
	{"ldub [%r1], %r0\nret %r1", "%r0 cannot be written"},
	{"setx 1, %r0\nret %r1", "%r0 cannot be written"},
	{"sets \"\", %r0\nret %r1", "%r0 cannot be written"},
	{"ldgs pid, %r0\nret %r1", "%r0 cannot be written"},
	{"ldga args, %r1, %r0\nret %r1", "%r0 cannot be written"},
	{VARS "ldgaa a, %r0\nret %r1", "%r0 cannot be written"},
	{"call rand, %r0\nret %r1", "%r0 cannot be written"},
	{"allocs %r1, %r0\nret %r1", "%r0 cannot be written"},

	/* opcodes and reserved bits */
	{".word 0\nret %r0", "illegal opcode 0"},
	{".word 0x50000000\nret %r0", "illegal opcode 80"},
	{".word 0xff000000\nret %r0", "illegal opcode 255"},
	{".word 0x24000001\nret %r0", "reserved bits"}, /* nop */
	{".word 0x32010000\nret %r0", "reserved bits"}, /* popts */
	{".word 0x33000100\nret %r0", "reserved bits"}, /* flushts */
	{".word 0x0d010102\nret %r0", "reserved bits"}, /* not */
	{".word 0x0e010102\nret %r0", "reserved bits"}, /* mov */
	{".word 0x0f010201\nret %r0", "reserved bits"}, /* cmp */
	{".word 0x27010201\nret %r0", "reserved bits"}, /* scmp */
	{".word 0x10010100\nret %r0", "reserved bits"}, /* tst */
	{".word 0x10010001\nret %r0", "reserved bits"},
	{".word 0x1f010102\nret %r0", "reserved bits"}, /* ldub */
	{".word 0x3f010102\nret %r0", "reserved bits"}, /* stx */
	{".word 0x23010001\nret %r0", "reserved bits"}, /* ret */
	{".word 0x23000101\nret %r0", "reserved bits"},
	{".word 0x31000101\nret %r0", "reserved bits"}, /* pushtv */
	{".word 0x3a010102\nret %r0", "reserved bits"}, /* allocs */

	/* branches and ret */
	{"", "no instructions"},
	{"nop", "the last instruction is not ret"},
	{"ret %r0\nnop", "the last instruction is not ret"},
	{"ba 0\nret %r0", "branch backwards to 0"},
	{"nop\nba 0\nret %r0", "branch backwards to 0"},
	{"ba 2\nret %r0", "branch to 2 of 2"},
	{"ba 16777215\nret %r0", "branch to 16777215 of 2"},
	{"tst %r0\nbe 1\nret %r0", "branch backwards to 1"},
	{"be x\nx: ret %r0", "flags are not defined"},
	{"setx 1, %r1\nba x\ntst %r1\nx: be y\ny: ret %r0", "flags are not defined"},
	{"tst %r1\nba x\nx: bne y\ny: ba z\nz: ret %r0", NULL},
	/* flags on one way of two */
	{"tst %r1\nbe x\nba y\nx: tst %r2\ny: bne z\nz: ret %r0", NULL},
	{"ba x\nx: be y\ny: ret %r0", "instruction 1 (0x12000002): flags are not defined"},

	/* tables */
	{"setx DT_INTEGER[0], %r1\nret %r1", "integer 0 of 0"},
	{".int 5\nsetx DT_INTEGER[1], %r1\nret %r1", "integer 1 of 1"},
	{"sets DT_STRING[0], %r1\nret %r1", "string at 0 of 0"},
	{".str \"ab\"\nsets DT_STRING[3], %r1\nret %r1", "string at 3 of 3"},
	{".str \"ab\"\nsets DT_STRING[2], %r1\nret %r1", NULL},
	{"call DIF_SUBR(64), %r1\nret %r1", "unknown subroutine 64"},
	{"call DIF_SUBR(65535), %r1\nret %r1", "unknown subroutine 65535"},
	{"pushtv 2, %r1\nret %r1", "unknown type 2"},
	{"pushtr 255, %r1, %r1\nret %r1", "unknown type 255"},
	{"xlate 0, %r1\nret %r1", "translator reference 0 was not resolved"},
	{"xlarg 7, %r1\nret %r1", "translator reference 7 was not resolved"},

	/* variables: uses */
	{"ldgs DT_VAR(1280), %r1\nret %r1", "variable 0x500 is not in the variable table"},
	{VARS "ldgs DT_VAR(1283), %r1\nret %r1", "variable 0x503 is not in the variable table"},
	{VARS "ldts DT_VAR(1282), %r1\nret %r1", "variable 0x502 is not in the variable table"},
	{VARS "ldgs DT_VAR(1281), %r1\nret %r1", "variable 'a' is of the other kind"},
	{VARS "ldgaa DT_VAR(1280), %r1\nret %r1", "variable 'g' is of the other kind"},
	{VARS "stgaa DT_VAR(1280), %r1\nret %r1", "variable 'g' is of the other kind"},
	{VARS "stts DT_VAR(1281), %r1\nret %r1", "variable 'ta' is of the other kind"},
	{"stgs pid, %r1\nret %r1", "variable 0x116 cannot be used so"},
	{"stgs DT_VAR(0), %r1\nret %r1", "variable 0x0 cannot be used so"},
	{"ldgs DT_VAR(0), %r1\nret %r1", "variable 0x0 cannot be used so"},
	{"ldts DT_VAR(278), %r1\nret %r1", "variable 0x116 cannot be used so"},
	{"ldls DT_VAR(278), %r1\nret %r1", "variable 0x116 cannot be used so"},
	{"ldgaa DT_VAR(278), %r1\nret %r1", "variable 0x116 cannot be used so"},
	{"stgaa DT_VAR(0), %r1\nret %r1", "variable 0x0 cannot be used so"},
	{"ldgs DT_VAR(1023), %r1\nret %r1", "variable 0x3ff cannot be used so"},
	{"ldga DT_VAR(3), %r1, %r1\nret %r1", "variable 0x3 is not a built-in array"},
	{"ldta DT_VAR(0), %r1, %r1\nret %r1", "no thread-local built-in arrays"},

	/* variables: the table */
	{".var \"x\" id=0x500 scalar size=8\n.var \"y\" id=0x500 scalar size=8\nret %r0",
	 "defined twice"},
	{".var \"x\" id=0x500 scalar size=8\n.var \"y\" id=0x500 array size=8\nret %r0",
	 "defined twice"},
	{".var \"x\" id=0x10000 scalar size=8\nret %r0", "'x': id 0x10000 out of range"},
	{".var \"x\" id=0x4ff scalar size=8\nret %r0", "'x': id 0x4ff is not a built-in"},
	{".var \"x\" id=0x116 scalar thread size=8\nret %r0", "'x': id 0x116 is not a built-in"},
	{".var \"x\" id=0x116 array size=8\nret %r0", "'x': wrong kind for a built-in"},
	{".var \"x\" id=0 scalar size=8\nret %r0", "'x': wrong kind for a built-in"},
	{".var \"x\" id=0x116 scalar mod size=8\nret %r0", "'x': a built-in is not modified"},
	{".var \"x\" id=0x500 varkind=2 size=8\nret %r0", "'x': bad kind, scope or flags"},
	{".var \"x\" id=0x500 scope=3 size=8\nret %r0", "'x': bad kind, scope or flags"},
	{".var \"x\" id=0x500 varflags=4 size=8\nret %r0", "'x': bad kind, scope or flags"},
	{".var \"x\" id=0x500 array local size=8\nret %r0", "cannot be clause-local"},
	{".var \"x\" id=0x500 scalar size=0\nret %r0", "'x': size 0 by value"},
	{".var \"x\" id=0x500 scalar size=3\nret %r0", "'x': size 3 by value"},
	{".var \"x\" id=0x500 scalar size=16\nret %r0", "'x': size 16 by value"},
	{".var \"x\" id=0x500 scalar byref size=0\nret %r0", "'x': size 0 by reference"},
	{".var \"x\" id=0x500 scalar byref size=16385\nret %r0", "'x': size 16385 by reference"},
	{".var \"x\" id=0x500 scalar string byref size=16385\nret %r0", NULL},
	{".var \"x\" id=0x500 scalar string byref size=1048577\nret %r0",
	 "'x': size 1048577 by reference"},
	{".var \"x\" id=0x500 scalar string size=8\nret %r0", "'x': a string by value"},
	{".var \"x\" id=0x500 scalar byref byuref size=8\nret %r0", "'x': bad type flags"},
	{".var \"x\" id=0x500 scalar flags=8 size=8\nret %r0", "'x': bad type flags"},
	{".var \"x\" id=0x500 scalar stackid size=8\nret %r0", NULL},
	{".var \"x\" id=0x500 scalar stackid size=4\nret %r0", "'x': bad type flags"},
	{".var \"x\" id=0x500 scalar stackid byref size=8\nret %r0", "'x': bad type flags"},
	{".var \"x\" id=0x500 scalar kind=2 size=8\nret %r0", "'x': unknown kind of type"},

	/* result */
	{".ret size=9\nret %r0", "result: size 9 by value"},
	{".ret byref size=0\nret %r0", "result: size 0 by reference"},
	{".ret string size=8\nret %r0", "result: a string by value"},
	{".ret kind=7\nret %r0", "result: unknown kind"},
	{".ret flags=8\nret %r0", "result: bad type flags"},
};

static void check(const char *text, const char *want)
{
	struct difo *d = NULL;
	struct err *e = difo_parse(arena, text, &d);
	char *name = arena_strdup(arena, text);

	for (char *p = name; *p; p++)
		if (*p == '\n')
			*p = ';';
	if (e) {
		ok(false, "%s: %s", name, err_text(e));
		err_destroy(e);
		return;
	}
	e = difo_verify(d, 8);
	if (want)
		ok(e && strstr(err_text(e), want) && err_get_code(e) == EDT_BPFINVAL, "%s: %s",
		   name, e ? err_text(e) : "accepted");
	else
		ok(!e, "%s: %s", name, e ? err_text(e) : "accepted");
	err_destroy(e);
}

/* n pushes, joined in different ways. */
static void test_tuple_depth(void)
{
	static const struct {
		uint32_t before, branch, after;
		const char *between, *want;
	} depths[] = {
		{64, 0, 0, "", NULL},
		{65, 0, 0, "", "more than 64 tuple elements"},
		{64, 0, 1, "", "more than 64 tuple elements"},
		{64, 0, 1, "popts", NULL},
		{64, 0, 64, "flushts", NULL},
		{64, 0, 64, "call rand, %r1", NULL},
		{64, 0, 65, "flushts", "more than 64 tuple elements"},
		{0, 0, 64, "popts", NULL},
		{30, 30, 4, "", NULL}, /* one way pushes 30 more */
		{30, 30, 5, "", "more than 64 tuple elements"},
	};

	for (size_t i = 0; i < ARRAY_LEN(depths); i++) {
		struct strbuf text = {0};

		for (uint32_t n = 0; n < depths[i].before; n++)
			strbuf_adds(&text, "pushtv 0, %r1\n");
		strbuf_adds(&text, "tst %r1\nbe skip\n");
		for (uint32_t n = 0; n < depths[i].branch; n++)
			strbuf_adds(&text, "pushtv 0, %r1\n");
		strbuf_addf(&text, "skip: %s\n", depths[i].between);
		for (uint32_t n = 0; n < depths[i].after; n++)
			strbuf_adds(&text, "pushtv 0, %r1\n");
		strbuf_adds(&text, "ret %r0\n");
		check(strbuf_text(&text), depths[i].want);
		strbuf_deinit(&text);
	}
}

static void test_objects(void)
{
	dif_insn ret = 0x23000000;
	char strs[] = {'a', 'b'};
	struct dif_var var = {.id = 0x500, .kind = DIF_VAR_SCALAR, .type = {.size = 8}};
	struct difo d = {.code = &ret, .code_len = 1, .strs = strs, .strs_size = 2};
	struct err *e = difo_verify(&d, 8);

	ok(e && strstr(err_text(e), "does not end with NUL"), "string table without NUL");
	err_destroy(e);
	d = (struct difo){.code = &ret, .code_len = 1, .vars = &var, .vars_len = 1};
	e = difo_verify(&d, 8);
	ok(e && strstr(err_text(e), "no name"), "variable without a name");
	err_destroy(e);
	/* lengths are judged before anything is read */
	d = (struct difo){.code = &ret, .code_len = 0x10001};
	e = difo_verify(&d, 8);
	ok(e && err_get_code(e) == EDT_BPFSIZE, "too much code");
	err_destroy(e);
	d = (struct difo){.code = &ret, .code_len = 1, .ints_len = UINT32_MAX};
	e = difo_verify(&d, 8);
	ok(e && err_get_code(e) == EDT_INT2BIG, "too many integers");
	err_destroy(e);
	d = (struct difo){.code = &ret, .code_len = 1, .strs_size = UINT32_MAX};
	e = difo_verify(&d, 8);
	ok(e && err_get_code(e) == EDT_STR2BIG, "too many strings");
	err_destroy(e);
	d = (struct difo){.code = &ret, .code_len = 1, .vars_len = UINT32_MAX};
	e = difo_verify(&d, 8);
	ok(e && err_get_code(e) == EDT_BPFSIZE, "too many variables");
	err_destroy(e);
	d = (struct difo){0};
	e = difo_verify(&d, 8);
	ok(e, "nothing at all");
	err_destroy(e);
}

int main(void)
{
	arena = arena_create();
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		check(rows[i].text, rows[i].want);
	test_tuple_depth();
	test_objects();
	{
		struct difo *d = NULL;
		struct err *e = difo_parse(arena, "setx 1, %r254\nret %r254", &d);

		if (!e)
			e = difo_verify(d, DIF_MAX_REGS);
		ok(!e, "more registers for our own objects");
		err_destroy(e);
	}
	arena_destroy(arena);
	return tap_done();
}
