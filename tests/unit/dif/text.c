/* SPDX-License-Identifier: MIT */
/* Listing, assembler: what they print, what they refuse, the builder that feeds them. */
#include "tap.h"

#include "d/types/types.h"
#include "dif/dif.h"

static struct arena *arena;

/* ---- the listing ----------------------------------------------------------------------------- */

static const char *listing(const struct difo *d)
{
	struct strbuf out = {0};
	const char *text;

	difo_print_rows(d, &out);
	text = arena_strdup(arena, strbuf_text(&out));
	strbuf_deinit(&out);
	return text;
}

static struct difo *build_sample(void)
{
	struct dif_builder *b = dif_builder_create(arena);
	struct dif_type int64 = {.kind = DIF_KIND_CTF,
				 .ckind = TK_INT,
				 .is_signed = true,
				 .size = 8};
	struct dif_type str = {.kind = DIF_KIND_STRING,
			       .ckind = TK_STRING,
			       .flags = DIF_TF_BYREF,
			       .size = 256};
	uint32_t no = dif_label_create(b), end = dif_label_create(b);

	dif_set_span(b, 10);
	dif_note_var(b, &(struct dif_var){"pid", DIF_VAR_PID, DIF_VAR_SCALAR, DIF_SCOPE_GLOBAL,
					  DIF_VF_REF, int64});
	dif_emit(b, dif_idx(DIF_OP_LDGS, DIF_VAR_PID, 1));
	dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, 0x10), 2));
	dif_emit(b, dif_rrr(DIF_OP_CMP, 1, 2, 0));
	dif_emit_branch(b, DIF_OP_BNE, no);
	dif_set_span(b, 20);
	dif_note_var(b, &(struct dif_var){"name", 0x500, DIF_VAR_SCALAR, DIF_SCOPE_THREAD,
					  DIF_VF_MOD, str});
	dif_note_var(b, &(struct dif_var){"name", 0x500, DIF_VAR_SCALAR, DIF_SCOPE_THREAD,
					  DIF_VF_REF, str});
	dif_emit(b, dif_idx(DIF_OP_SETS, dif_str(b, "a \"quoted\"\n"), 1));
	dif_emit(b, dif_idx(DIF_OP_STTS, 0x500, 1));
	dif_emit_branch(b, DIF_OP_BA, end);
	dif_label_here(b, no);
	dif_emit(b, dif_rrr((enum dif_op)DIF_OP_PUSHTR, DIF_TUPLE_STR, 0, 1));
	dif_emit(b, dif_rrr((enum dif_op)DIF_OP_PUSHTV, DIF_TUPLE_INT, 0, 2));
	dif_emit(b, dif_idx(DIF_OP_CALL, DIF_SUBR_SUBSTR, 1));
	dif_emit(b, dif_rrr(DIF_OP_LDGA, DIF_VAR_ARGS, 2, 3));
	dif_emit(b, dif_rrr(DIF_OP_ADD, 1, 2, 3));
	dif_emit(b, dif_rrr(DIF_OP_LDUB, 3, 0, 4));
	dif_emit(b, dif_rrr(DIF_OP_STX, 4, 0, 3));
	dif_emit(b, dif_rrr(DIF_OP_NOT, 4, 0, 4));
	dif_emit(b, dif_rrr(DIF_OP_TST, 4, 0, 0));
	dif_emit(b, dif_rrr(DIF_OP_COPYS, 1, 2, 3));
	dif_emit(b, dif_rrr(DIF_OP_FLUSHTS, 0, 0, 0));
	dif_label_here(b, end);
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	return dif_builder_finish(b, str);
}

static const char sample_listing[] =
	"OFF OPCODE      INSTRUCTION\n"
	"00: 29011601    ldgs DT_VAR(278), %r1           ! DT_VAR(278) = \"pid\"\n"
	"01: 25000002    setx DT_INTEGER[0], %r2         ! 0x10\n"
	"02: 0f010200    cmp  %r1, %r2\n"
	"03: 13000007    bne  7\n"
	"04: 26000101    sets DT_STRING[1], %r1          ! \"a \\\"quoted\\\"\\n\"\n"
	"05: 2d050001    stts DT_VAR(1280), %r1          ! DT_VAR(1280) = \"name\"\n"
	"06: 11000012    ba   18\n"
	"07: 30010001    pushtr DT_TYPE(1), %r0, %r1     ! DT_TYPE(1) = string\n"
	"08: 31000002    pushtv DT_TYPE(0), %r2          ! DT_TYPE(0) = D type\n"
	"09: 2f002001    call DIF_SUBR(32), %r1          ! substr\n"
	"10: 28000203    ldga DT_VAR(0), %r2, %r3        ! DT_VAR(0) = \"args\"\n"
	"11: 07010203    add  %r1, %r2, %r3\n"
	"12: 1f030004    ldub [%r3], %r4\n"
	"13: 3f040003    stx  %r4, [%r3]\n"
	"14: 0d040004    not  %r4, %r4\n"
	"15: 10040000    tst  %r4\n"
	"16: 3b010203    copys %r1, %r2, %r3\n"
	"17: 33000000    flushts\n"
	"18: 23000001    ret  %r1\n"
	"\n"
	"NAME             ID   KND SCP FLAG TYPE\n"
	"pid              116  scl glb r    D type (integer) (size 8)\n"
	"name             500  scl tls r/w  string (unknown) by ref (size 256)\n";

static void test_listing(void)
{
	struct difo *d = build_sample();
	struct strbuf out = {0};
	char *want = arena_printf(arena, "\nDIFO %p returns string (unknown) by ref (size 256)\n%s",
				  (void *)d, sample_listing);
	struct err *e;

	is_str(listing(d), sample_listing, "listing");
	difo_print(d, &out);
	is_str(strbuf_text(&out), want, "listing with its heading");
	strbuf_deinit(&out);
	e = difo_verify(d, 8);
	ok(!e, "the sample is valid: %s", e ? err_text(e) : "");
	err_destroy(e);
	ok(d->spans && d->spans[3] == 10 && d->spans[4] == 20, "spans");
}

static void test_listing_of_nonsense(void)
{
	dif_insn code[] = {0x00000000, 0xff123456, 0x25123401, 0x26ffff01, 0x2fffff01, 0x29ffff01};
	char strs[] = {'a', 'b'};
	struct difo d = {.code = code, .code_len = ARRAY_LEN(code), .strs = strs, .strs_size = 2};

	is_str(listing(&d),
	       "OFF OPCODE      INSTRUCTION\n"
	       "00: 00000000    *** illegal opcode 0\n"
	       "01: ff123456    *** illegal opcode 255\n"
	       "02: 25123401    setx DT_INTEGER[4660], %r1\n"
	       "03: 26ffff01    sets DT_STRING[65535], %r1\n"
	       "04: 2fffff01    call DIF_SUBR(65535), %r1\n"
	       "05: 29ffff01    ldgs DT_VAR(65535), %r1\n",
	       "what is out of range has no comment");
	code[3] = 0x26000101;
	ok(strstr(listing(&d), "! \"b\"\n"), "a string table without NUL is not overrun");
}

static const struct {
	struct dif_type type;
	const char *want;
} types[] = {
	{{DIF_KIND_CTF, TK_VOID, 0, false, 0}, "D type (void) (size 0)"},
	{{DIF_KIND_CTF, TK_INT, 0, true, 4}, "D type (integer) (size 4)"},
	{{DIF_KIND_CTF, TK_FLOAT, 0, true, 8}, "D type (float) (size 8)"},
	{{DIF_KIND_CTF, TK_PTR, 0, false, 8}, "D type (pointer) (size 8)"},
	{{DIF_KIND_CTF, TK_ARRAY, DIF_TF_BYREF, false, 40}, "D type (array) by ref (size 40)"},
	{{DIF_KIND_CTF, TK_STRUCT, DIF_TF_BYREF, false, 24}, "D type (struct) by ref (size 24)"},
	{{DIF_KIND_CTF, TK_UNION, DIF_TF_BYUREF, false, 24}, "D type (union) by uref (size 24)"},
	{{DIF_KIND_CTF, TK_ENUM, 0, true, 4}, "D type (enum) (size 4)"},
	{{DIF_KIND_CTF, TK_TYPEDEF, 0, true, 4}, "D type (typedef) (size 4)"},
	{{DIF_KIND_CTF, TK_CONST, 0, true, 4}, "D type (const) (size 4)"},
	{{DIF_KIND_CTF, TK_FUNC, 0, true, 4}, "D type (function) (size 4)"},
	{{DIF_KIND_CTF, TK_STACK, 0, false, 8}, "D type (unknown) (size 8)"},
	{{DIF_KIND_CTF, 250, 0, false, 8}, "D type (unknown) (size 8)"},
	{{DIF_KIND_STRING, TK_STRING, DIF_TF_BYREF, false, 64},
	 "string (unknown) by ref (size 64)"},
	{{DIF_KIND_STRING, 1, DIF_TF_BYREF, false, 64}, "string (unknown) by ref (size 64)"},
};

static void test_types(void)
{
	for (size_t i = 0; i < ARRAY_LEN(types); i++) {
		struct strbuf out = {0};

		dif_type_print(&types[i].type, &out);
		is_str(strbuf_text(&out), types[i].want, types[i].want);
		strbuf_deinit(&out);
	}
}

/* ---- builder --------------------------------------------------------------------------------- */

static void test_builder(void)
{
	struct dif_builder *b = dif_builder_create(arena);
	uint32_t one = dif_int(b, 1), hello = dif_str(b, "hello");
	struct difo *d;

	is_int(dif_int(b, 2), one + 1, "integers get new indexes");
	is_int(dif_int(b, 1), one, "equal integers share one");
	is_int(dif_str(b, "hello"), hello, "equal strings share one");
	ok(dif_str(b, "hell") != hello, "others do not");
	is_int(dif_str(b, ""), 0, "the empty string is at 0");
	is_int(dif_emit(b, dif_rrr(DIF_OP_NOP, 0, 0, 0)), 0, "index of the first instruction");
	is_int(dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 0)), 1, "and of the second");
	d = dif_builder_finish(b, (struct dif_type){.size = 8});
	ok(d->ints_len == 2 && d->ints[0] == 1 && d->ints[1] == 2, "integer table");
	is_str(d->strs + hello, "hello", "string table");
	ok(!d->spans, "no spans unless asked for");
	is_int(d->ret.size, 8, "result type");
}

/* What does not fit the 16-bit indexes must be refused, not wrap into another object. */
static void test_builder_limits(void)
{
	struct dif_builder *b = dif_builder_create(arena);
	struct difo *d;
	struct err *e;
	char text[16];

	for (uint32_t i = 0; i < 70000; i++)
		dif_emit(b, dif_idx(DIF_OP_SETX, dif_int(b, i), 1));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	d = dif_builder_finish(b, (struct dif_type){.size = 8});
	e = difo_verify(d, 8);
	ok(e && strstr(err_text(e), "integer constants"), "too many integers");
	ok(dif_insn_uses(d->code[69999]).writes == 1 && DIF_INSN_OP(d->code[69999]) == DIF_OP_SETX,
	   "and no damaged instruction");
	err_destroy(e);

	b = dif_builder_create(arena);
	for (uint32_t i = 0; i < 10000; i++) {
		snprintf(text, sizeof(text), "string%u", i);
		dif_emit(b, dif_idx(DIF_OP_SETS, dif_str(b, text), 1));
	}
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	e = difo_verify(dif_builder_finish(b, (struct dif_type){.size = 8}), 8);
	ok(e && strstr(err_text(e), "string constants"), "too many strings");
	err_destroy(e);

	b = dif_builder_create(arena);
	for (uint32_t i = 0; i < 66000; i++)
		dif_emit(b, dif_rrr(DIF_OP_NOP, 0, 0, 0));
	dif_emit(b, dif_rrr(DIF_OP_RET, 0, 0, 1));
	e = difo_verify(dif_builder_finish(b, (struct dif_type){.size = 8}), 8);
	ok(e && strstr(err_text(e), "bytes, at most"), "too many instructions");
	err_destroy(e);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void test_tables(void)
{
	/* clang-format off */
	static const struct {
		dif_insn insn;
		struct dif_uses want;
	} uses[] = {
		{0x07010203, {{1, 2}, 2, 3}}, /* add */
		{0x07000203, {{2}, 1, 3}},
		{0x0d010002, {{1}, 1, 2}},    /* not */
		{0x0f010200, {{1, 2}, 2, 0}}, /* cmp */
		{0x10010000, {{1}, 1, 0}},    /* tst */
		{0x11000005, {{0}, 0, 0}},    /* ba */
		{0x1f010002, {{1}, 1, 2}},    /* ldub */
		{0x3c010002, {{1, 2}, 2, 0}}, /* stb */
		{0x23000004, {{4}, 1, 0}},    /* ret */
		{0x25000104, {{0}, 0, 4}},    /* setx */
		{0x28000203, {{2}, 1, 3}},    /* ldga */
		{0x29050003, {{0}, 0, 3}},    /* ldgs */
		{0x2a050003, {{3}, 1, 0}},    /* stgs */
		{0x2f001703, {{0}, 0, 3}},    /* call */
		{0x30010203, {{2, 3}, 2, 0}}, /* pushtr */
		{0x30010003, {{3}, 1, 0}},
		{0x31000003, {{3}, 1, 0}},    /* pushtv */
		{0x3a010002, {{1}, 1, 2}},    /* allocs */
		{0x3b010203, {{1, 2, 3}, 3, 0}}, /* copys */
		{0x24000000, {{0}, 0, 0}},    /* nop */
		{0xff010203, {{0}, 0, 0}},
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_LEN(uses); i++) {
		struct dif_uses got = dif_insn_uses(uses[i].insn);

		ok(memcmp(&got, &uses[i].want, sizeof(got)) == 0, "registers of 0x%08x",
		   uses[i].insn);
	}
	is_str(dif_op_name(DIF_OP_ULDX), "uldx", "name of an instruction");
	ok(!dif_op_name((enum dif_op)0) && !dif_op_name((enum dif_op)80) &&
		   !dif_op_name((enum dif_op)1000),
	   "unknown instructions");
	is_str(dif_subr_name(DIF_SUBR_STRTOLL), "strtoll", "name of a subroutine");
	ok(!dif_subr_name(64) && !dif_subr_name(UINT32_MAX), "unknown subroutines");
	is_int(dif_subr_by_name("json"), DIF_SUBR_JSON, "subroutine by name");
	is_int(dif_subr_by_name("jsonx"), UINT32_MAX, "unknown subroutine by name");
	is_str(dif_builtin_name(DIF_VAR_ARG0 + 4), "arg4", "name of a built-in");
	is_str(dif_builtin_name(0), "args", "name of the first built-in");
	ok(!dif_builtin_name(0x500) && !dif_builtin_name(3), "unknown built-ins");
	is_int(dif_builtin_by_name("errno"), DIF_VAR_ERRNO, "built-in by name");
	ok(dif_op_is_cond(DIF_OP_BE) && dif_op_is_cond(DIF_OP_BLEU) && !dif_op_is_cond(DIF_OP_BA) &&
		   !dif_op_is_cond(DIF_OP_LDSB),
	   "conditional branches");
}

/* ---- assembler ------------------------------------------------------------------------------- */

static const char *asm_text(const struct difo *d)
{
	struct strbuf out = {0};
	const char *text;

	difo_print_asm(d, &out);
	text = arena_strdup(arena, strbuf_text(&out));
	strbuf_deinit(&out);
	return text;
}

static void test_round_trip(void)
{
	struct difo *d = build_sample(), *again = NULL;
	struct err *e = difo_parse(arena, asm_text(d), &again);

	ok(!e, "the printed form parses: %s", e ? err_text(e) : "");
	if (!e) {
		is_str(asm_text(again), asm_text(d), "and prints the same");
		is_str(listing(again), sample_listing, "and lists the same");
	}
	err_destroy(e);
}

static void test_shorthand(void)
{
	struct difo *d = NULL;
	struct err *e = difo_parse(arena,
				   "! everything by name\r\n"
				   ".ret ctf ckind=1 size=4 signed\n"
				   "\t.var \"x y\" id=0x501 global scalar ref mod size=8\n"
				   ".var \"arr\" id=0x502 thread array size=8\n\n"
				   "start: setx -1, %r1 ! comment, with \"quotes\"\n"
				   "setx 0xffffffffffffffff,%r2\n"
				   "sets \"! no comment\\x21\\\\\",%r3\n"
				   "tst %r1\n be end\n"
				   "ldgs errno, %r4\n"
				   "pushtr 1, %r0, %r3\n"
				   "pushtv DT_TYPE(0), %r1\n"
				   "ldtaa arr, %r5\n"
				   "call strlen, %r5\n"
				   "stgs DT_VAR(1281), %r5\n"
				   "end:\n"
				   "last: .word 0x23000001",
				   &d);

	ok(!e, "parses: %s", e ? err_text(e) : "");
	err_destroy(e);
	if (e)
		return;
	is_str(asm_text(d),
	       ".ret ctf ckind=1 size=4 signed\n"
	       ".int 0xffffffffffffffff\n"
	       ".str \"\"\n"
	       ".str \"! no comment!\\\\\"\n"
	       ".var \"x y\" id=0x501 global scalar ref mod ctf ckind=0 size=8\n"
	       ".var \"arr\" id=0x502 thread array ctf ckind=0 size=8\n"
	       "\tsetx DT_INTEGER[0], %r1         ! 0xffffffffffffffff\n"
	       "\tsetx DT_INTEGER[0], %r2         ! 0xffffffffffffffff\n"
	       "\tsets DT_STRING[1], %r3          ! \"! no comment!\\\\\"\n"
	       "\ttst  %r1\n"
	       "\tbe   11\n"
	       "\tldgs DT_VAR(288), %r4           ! DT_VAR(288) = \"errno\"\n"
	       "\tpushtr DT_TYPE(1), %r0, %r3     ! DT_TYPE(1) = string\n"
	       "\tpushtv DT_TYPE(0), %r1          ! DT_TYPE(0) = D type\n"
	       "\tldtaa DT_VAR(1282), %r5         ! DT_VAR(1282) = \"arr\"\n"
	       "\tcall DIF_SUBR(12), %r5          ! strlen\n"
	       "\tstgs DT_VAR(1281), %r5          ! DT_VAR(1281) = \"x y\"\n"
	       "\tret  %r1\n",
	       "shorthand");
}

static const struct {
	const char *text, *want;
} refusals[] = {
	{"frob %r1", "line 1: unknown instruction 'frob'"},
	{"\n\nnop nop", "line 3: unexpected text at the end of the line"},
	{"add %r1, %r2", "line 1: expected ','"},
	{"add %r1, 2, %r3", "line 1: expected a register"},
	{"add %r1, %r256, %r3", "line 1: number is larger than 255"},
	{"add %r1, %r-1, %r3", "line 1: number is larger than 255"},
	{"ldub %r1, %r2", "line 1: expected '['"},
	{"ba nowhere", "line 1: unknown label 'nowhere'"},
	{"ba 16777216", "line 1: number is larger than 16777215"},
	{"a: nop\na: nop", "line 2: bad or repeated label 'a'"},
	{".a: nop", "line 1: bad or repeated label '.a'"},
	{".frob", "line 1: unknown directive '.frob'"},
	{".int", "line 1: expected a number"},
	{".int 18446744073709551616", "line 1: number does not fit in 64 bits"},
	{".int 0x", "line 1: expected a number"},
	{".str abc", "line 1: expected a string"},
	{".str \"abc", "line 1: string without end"},
	{".str \"abc\\", "line 1: unknown escape in string"},
	{".str \"\\q\"", "line 1: unknown escape in string"},
	{".str \"\\x0\"", "line 1: bad \\x escape"},
	{".str \"\\x00\"", "line 1: bad \\x escape"},
	{".ret size=x", "line 1: expected a number"},
	{".ret frob", "line 1: unknown attribute 'frob'"},
	{".ret id=5", "line 1: unknown attribute 'id='"},
	{".ret kind=256", "line 1: number is larger than 255"},
	{".var \"x\" 5", "line 1: expected an attribute"},
	{"ldgs x, %r1", "line 1: unknown variable 'x'"},
	{".var \"x\" id=0x500 thread\nldgs x, %r1", "line 2: unknown variable 'x'"},
	{"ldga pid, %r1, %r2", "line 1: unknown variable 'pid'"},
	{"ldgs DT_VAR(1, %r1", "line 1: expected ')'"},
	{"setx DT_INTEGER[65536], %r1", "line 1: number is larger than 65535"},
	{"call frob, %r1", "line 1: unknown subroutine 'frob'"},
	{"call %r1, %r1", "line 1: expected a subroutine"},
	{"%r1", "line 1: expected an instruction or a directive"},
	{".word 4294967296", "line 1: number is larger than 4294967295"},
};

static void test_refusals(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refusals); i++) {
		struct difo *d = NULL;
		struct err *e = difo_parse(arena, refusals[i].text, &d);

		is_str(e ? err_text(e) : "accepted", refusals[i].want, refusals[i].want);
		err_destroy(e);
	}
}

int main(void)
{
	arena = arena_create();
	test_listing();
	test_listing_of_nonsense();
	test_types();
	test_builder();
	test_builder_limits();
	test_tables();
	test_round_trip();
	test_shorthand();
	test_refusals();
	arena_destroy(arena);
	return tap_done();
}
