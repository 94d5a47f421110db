/* SPDX-License-Identifier: MIT */
/* The instructions of the helper machine: which registers they read and write, where they go on. */
#include "base/base.h"
#include "rt/helper.h"
#include "tap.h"

static void test_uses(uint32_t op, uint32_t want, const char *name)
{
	is_int(hop_uses(HELPER_INSN(op, 1, 2, 3, 4)), want, name);
}

/* A number takes the place of the last register that is read. */
static void test_immediate(void)
{
	test_uses(HOP_ADD, HOP_WRITES_A | HOP_READS_B | HOP_READS_C, "a = b + c");
	test_uses(HOP_ADD | HOP_IMMEDIATE, HOP_WRITES_A | HOP_READS_B, "a = b + imm");
	test_uses(HOP_JEQ | HOP_IMMEDIATE, HOP_READS_B | HOP_JUMPS, "a is the number, not read");
	test_uses(HOP_PUSH, HOP_READS_B, "an argument in a register");
	test_uses(HOP_PUSH | HOP_IMMEDIATE, 0, "an argument that is a number");
	test_uses(HOP_OWN | HOP_IMMEDIATE, 0, "an argument that was pushed");
	test_uses(HOP_STORE, HOP_READS_A | HOP_READS_B, "a store reads its address");
	test_uses(HOP_PUTS, HOP_WRITES_LOCAL | HOP_READS_B, "a string variable");
	test_uses(HOP_JMP, HOP_JUMPS | HOP_ENDS, "a jump that nothing follows");
	test_uses(63, 0, "no instruction");
}

static void test_fields(void)
{
	uint64_t in = HELPER_INSN(HOP_JSLE | HOP_IMMEDIATE, 200, 100, 50, -7);

	is_int(hop_code(in), HOP_JSLE, "operation, without the bit");
	ok(hop_a(in) == 200 && hop_b(in) == 100 && hop_c(in) == 50, "registers");
	is_int(hop_imm(in), -7, "number, with its sign");
	is_int(hop_words(HELPER_INSN(HOP_WIDE, 1, 0, 0, 0)), 2, "a number of 64 bits follows");
	is_int(hop_words(in), 1, "one word");
}

/* The kinds of operations are ranges of the table. */
static void test_kinds(void)
{
	static const uint32_t divisions[] = {HOP_UDIV, HOP_UREM, HOP_SDIV, HOP_SREM};
	uint32_t ncomputing = 0, ndividing = 0;

	for (uint32_t op = 0; op < HOP_IMMEDIATE; op++) {
		ncomputing += (uint32_t)hop_computes(op);
		ndividing += (uint32_t)hop_divides(op);
		if (hop_computes(op) || hop_divides(op))
			test_uses(op, HOP_WRITES_A | HOP_READS_B | HOP_READS_C, "a = b op c");
	}
	is_int(ncomputing, 9, "computations");
	is_int(ndividing, ARRAY_LEN(divisions), "divisions");
	for (size_t i = 0; i < ARRAY_LEN(divisions); i++)
		ok(hop_divides(divisions[i]) && !hop_computes(divisions[i]), "a division");
}

int main(void)
{
	test_immediate();
	test_fields();
	test_kinds();
	return tap_done();
}
