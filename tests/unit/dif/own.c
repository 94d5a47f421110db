/* SPDX-License-Identifier: MIT */
/* Whose text the value of an object is, in programs of DIF. */
#include "tap.h"

#include "dif/own.h"

static struct arena *arena;

#define VARS                                                                                       \
	".var \"own\" id=0x500 scalar mod string byref size=256\n"                                 \
	".var \"other\" id=0x501 scalar mod string byref size=256\n"                               \
	".var \"late\" id=0x502 scalar local mod string byref size=256\n"                          \
	".var \"unset\" id=0x503 scalar string byref size=256\n"                                   \
	".var \"n\" id=0x504 scalar mod size=8\n"                                                  \
	".var \"a\" id=0x505 array mod string byref size=256\n"                                    \
	".var \"t\" id=0x500 scalar thread mod string byref size=256\n"
#define TEXT ".ret string byref size=256\n"

/* The program around: what it stores in its variables. */
static const char *const stores[] = {
	VARS "sets \"x\", %r1\nstgs own, %r1\nstgs own, %r0\nret %r0",
	VARS "ldls late, %r1\nstgs other, %r1\nret %r0",
	VARS "sets \"x\", %r1\nstls late, %r1\nldgs execname, %r1\nstls late, %r1\nret %r0",
	VARS "setx 10, %r1\nstgs n, %r1\nret %r0",
	VARS "setx 1, %r1\npushtv 0, %r1\nsets \"x\", %r2\nstgaa a, %r2\nret %r0",
	/* the assignment is not reached */
	VARS "ba x\nldgs execname, %r1\nstts t, %r1\nx: ret %r0",
};

static const struct {
	const char *text, *what;
	bool is_own;
} rows[] = {
	{TEXT "sets \"a\", %r1\nret %r1", "a constant", true},
	{TEXT "ldgs execname, %r1\nret %r1", "execname", false},
	{TEXT "ret %r0", "NULL", true},
	{TEXT "ldgs pid, %r1\ntst %r1\nbe x\nsets \"a\", %r2\nba y\nx: sets \"b\", %r2\ny: ret %r2",
	 "a choice between constants", true},
	{TEXT "ldgs pid, %r1\ntst %r1\nbe x\nsets \"a\", %r2\nba y\nx: ldgs execname, %r2\n"
	      "y: ret %r2",
	 "a choice, one of them foreign", false},
	{TEXT "ldgs execname, %r2\nldgs pid, %r1\ntst %r1\nbe x\nsets \"a\", %r2\nx: ret %r2",
	 "a register that keeps what was there", false},
	{TEXT "ldgs execname, %r1\nsets \"a\", %r1\nret %r1", "a register that is overwritten",
	 true},
	{TEXT VARS "ldgs own, %r1\nret %r1", "a variable with constants", true},
	{TEXT VARS "ldgs other, %r1\nret %r1", "a variable that gets another one, which is foreign",
	 false},
	{TEXT VARS "ldgs unset, %r1\nret %r1", "a variable that nothing sets", true},
	{TEXT VARS "ldts t, %r1\nret %r1", "a variable of another scope with the same number",
	 true},
	{TEXT VARS "setx 1, %r1\npushtv 0, %r1\nldgaa a, %r2\nret %r2", "an element", true},
	{TEXT "sets \"a\", %r1\npushtr 1, %r0, %r1\nsets \"b\", %r1\npushtr 1, %r0, %r1\n"
	      "call strjoin, %r1\nret %r1",
	 "strjoin() of constants", true},
	{TEXT "sets \"a\", %r1\npushtr 1, %r0, %r1\nldgs execname, %r1\npushtr 1, %r0, %r1\n"
	      "call strjoin, %r1\nret %r1",
	 "strjoin() with execname", false},
	{TEXT "sets \"a\", %r1\npushtr 1, %r0, %r1\nldgs pid, %r1\npushtv 0, %r1\n"
	      "call substr, %r1\nret %r1",
	 "a part of a constant, from a foreign index", true},
	{TEXT "pushtv 0, %r0\nsets \"a\", %r1\npushtr 1, %r0, %r1\ncall strtok, %r1\nret %r1",
	 "strtok(NULL, ...)", false},
	{TEXT "ldgs pid, %r1\npushtv 0, %r1\ncall lltostr, %r1\nret %r1", "digits", true},
	{TEXT "ldgs arg0, %r1\npushtv 0, %r1\ncall copyinstr, %r1\nret %r1", "copyinstr()", false},
	{TEXT "setx 0xffffffff81000000, %r1\nret %r1", "memory at a constant address", false},
	{TEXT "sets \"abc\", %r1\nsetx 99, %r2\nadd %r1, %r2, %r1\nret %r1",
	 "what lies behind a constant", false},
	{TEXT "setx 8, %r1\nallocs %r1, %r1\nret %r1", "scratch memory", false},
	{"setx 10, %r1\nret %r1", "a constant number", true},
	{"setx 10, %r1\nsetx 3, %r2\nadd %r1, %r2, %r1\nnot %r1, %r1\nret %r1",
	 "a calculation with constants", true},
	{VARS "ldgs n, %r1\nret %r1", "a variable with a constant number", true},
	{"ldgs arg0, %r1\nsetx 255, %r2\nand %r1, %r2, %r1\nret %r1", "a foreign number", false},
	{"sets \"abc\", %r1\nldub [%r1], %r1\nret %r1", "memory", false},
};

static struct difo *object(const char *text)
{
	struct difo *d = NULL;
	struct err *e = difo_parse(arena, text, &d);

	ok(!e, "%s", e ? err_text(e) : "parsed");
	err_destroy(e);
	return d;
}

int main(void)
{
	struct prog_act acts[ARRAY_LEN(stores)];
	struct difo *args[ARRAY_LEN(stores)];
	struct prog_clause clause = {.acts = acts, .nacts = ARRAY_LEN(stores)},
			   *clauses[] = {&clause};
	struct own_texts *own;

	arena = arena_create();
	for (size_t i = 0; i < ARRAY_LEN(stores); i++) {
		args[i] = object(stores[i]);
		acts[i] = (struct prog_act){.kind = ACT_EXPR, .args = &args[i], .nargs = 1};
	}
	own = own_texts_create(clauses, 1);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++)
		ok(own_texts_has(own, object(rows[i].text)) == rows[i].is_own, "%s", rows[i].what);
	own_texts_destroy(own);
	own_texts_destroy(NULL);
	arena_destroy(arena);
	return tap_done();
}
