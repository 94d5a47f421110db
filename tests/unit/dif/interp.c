/* SPDX-License-Identifier: MIT */
/* The interpreter: arithmetic, branches, memory, variables, tuples, faults. Subroutines: subr.c. */
#include "machine.h"

/* ---- arithmetic ------------------------------------------------------------------------------ */

#define MIN64 0x8000000000000000ull
#define ALL   0xffffffffffffffffull

/* clang-format off */
static const struct {
	const char *op;
	uint64_t a, b, want;
} sums[] = {
	{"or", 0xf0, 0x0f, 0xff},
	{"xor", 0xff, 0x0f, 0xf0},
	{"and", 0xff, 0x0f, 0x0f},
	{"add", 2, 3, 5},
	{"add", ALL, 1, 0},
	{"add", INT64_MAX, 1, MIN64},
	{"sub", 2, 3, ALL},
	{"sub", MIN64, 1, INT64_MAX},
	{"mul", 6, 7, 42},
	{"mul", ALL, ALL, 1},
	{"mul", MIN64, 2, 0},
	{"mul", 0x100000001, 0x100000001, 0x200000001},
	{"sll", 1, 63, MIN64},
	{"sll", 1, 64, 1},
	{"sll", 3, 65, 6},
	{"sll", 1, ALL, MIN64},
	{"srl", MIN64, 63, 1},
	{"srl", ALL, 64, ALL},
	{"srl", ALL, 4, ALL >> 4},
	{"sra", MIN64, 63, ALL},
	{"sra", ALL, 4, ALL},
	{"sra", 0x40, 4, 4},
	{"sra", MIN64, 64, MIN64},
	{"sra", MIN64, 65, 0xc000000000000000ull},
	{"sdiv", 7, 2, 3},
	{"sdiv", -7ull, 2, -3ull},
	{"sdiv", 7, -2ull, -3ull},
	{"sdiv", -7ull, -2ull, 3},
	{"sdiv", MIN64, ALL, MIN64},
	{"sdiv", MIN64, 1, MIN64},
	{"sdiv", ALL, MIN64, 0},
	{"udiv", -7ull, 2, 0x7ffffffffffffffcull},
	{"udiv", MIN64, ALL, 0},
	{"udiv", ALL, ALL, 1},
	{"srem", 7, 2, 1},
	{"srem", -7ull, 2, ALL},
	{"srem", 7, -2ull, 1},
	{"srem", -7ull, -2ull, ALL},
	{"srem", MIN64, ALL, 0},
	{"srem", MIN64, 3, -2ull},
	{"urem", -7ull, 10, 9},
	{"urem", MIN64, ALL, MIN64},
};
/* clang-format on */

static void test_sums(struct world *w)
{
	for (size_t i = 0; i < ARRAY_LEN(sums); i++) {
		struct dif_result r =
			world_run(w, arena_printf(w->arena,
						  "setx 0x%llx, %%r1\nsetx 0x%llx, %%r2\n"
						  "%s %%r1, %%r2, %%r3\nret %%r3",
						  (unsigned long long)sums[i].a,
						  (unsigned long long)sums[i].b, sums[i].op));

		ok(!r.fault && r.value == sums[i].want, "%s 0x%llx, 0x%llx = 0x%llx", sums[i].op,
		   (unsigned long long)sums[i].a, (unsigned long long)sums[i].b,
		   (unsigned long long)r.value);
	}
}

/* ---- branches -------------------------------------------------------------------------------- */

static const char *const branches[] = {"be",   "bne", "bg",  "bgu", "bge",
				       "bgeu", "bl",  "blu", "ble", "bleu"};

/* want: one letter per branch above, 'y' when it is taken. */
static const struct {
	const char *flags, *want;
} compares[] = {
	{"setx 1, %r1\nsetx 2, %r2\ncmp %r1, %r2", "nynnnnyyyy"},
	{"setx 2, %r1\nsetx 1, %r2\ncmp %r1, %r2", "nyyyyynnnn"},
	{"setx 5, %r1\nsetx 5, %r2\ncmp %r1, %r2", "ynnnyynnyy"},
	{"setx -1, %r1\nsetx 1, %r2\ncmp %r1, %r2", "nynynyynyn"},
	{"setx 1, %r1\nsetx -1, %r2\ncmp %r1, %r2", "nyynynnyny"},
	/* r1 - r2 overflows */
	{"setx 0x8000000000000000, %r1\nsetx 1, %r2\ncmp %r1, %r2", "nynynyynyn"},
	{"setx 0x7fffffffffffffff, %r1\nsetx -1, %r2\ncmp %r1, %r2", "nyynynnyny"},
	{"tst %r0", "ynnnyynnyy"},
	{"setx 3, %r1\ntst %r1", "nyyyyynnnn"},
	{"setx -3, %r1\ntst %r1", "nynynyynyn"},
	/* strings: signed and unsigned branches agree */
	{"sets \"a\", %r1\nsets \"b\", %r2\nscmp %r1, %r2", "nynnnnyyyy"},
	{"sets \"b\", %r1\nsets \"a\", %r2\nscmp %r1, %r2", "nyyyyynnnn"},
	{"sets \"abc\", %r1\nsets \"abc\", %r2\nscmp %r1, %r2", "ynnnyynnyy"},
	{"sets \"ab\", %r1\nsets \"abc\", %r2\nscmp %r1, %r2", "nynnnnyyyy"},
	{"sets \"abc\", %r1\nsets \"ab\", %r2\nscmp %r1, %r2", "nyyyyynnnn"},
	{"sets \"\\xff\", %r1\nsets \"a\", %r2\nscmp %r1, %r2", "nyyyyynnnn"},
	{"sets \"\", %r1\nscmp %r1, %r0", "ynnnyynnyy"},
	{"sets \"\", %r1\nscmp %r0, %r1", "ynnnyynnyy"},
	{"scmp %r0, %r0", "ynnnyynnyy"},
	{"sets \"a\", %r1\nscmp %r0, %r1", "nynnnnyyyy"},
	/* only the first strsize - 1 = 15 characters count */
	{"sets \"123456789012345x\", %r1\nsets \"123456789012345y\", %r2\nscmp %r1, %r2",
	 "ynnnyynnyy"},
	{"sets \"12345678901234x\", %r1\nsets \"12345678901234y\", %r2\nscmp %r1, %r2",
	 "nynnnnyyyy"},
};

static void test_branches(struct world *w)
{
	for (size_t i = 0; i < ARRAY_LEN(compares); i++) {
		char got[ARRAY_LEN(branches) + 1] = "", *name;

		for (size_t b = 0; b < ARRAY_LEN(branches); b++) {
			struct dif_result r = world_run(
				w, arena_printf(w->arena,
						"%s\n%s yes\nret %%r0\nyes: setx 1, %%r1\nret %%r1",
						compares[i].flags, branches[b]));

			got[b] = r.fault ? '?' : r.value ? 'y' : 'n';
		}
		name = arena_strdup(w->arena, compares[i].flags);
		for (char *nl; (nl = strchr(name, '\n'));)
			*nl = ';';
		is_str(got, compares[i].want, name);
	}
}

/* ---- programs -------------------------------------------------------------------------------- */

#define ANY 0xa5a5a5a5a5a5a5a5ull

/* clang-format off */
static const struct program {
	const char *name, *text; /* instructions with "; " between them */
	uint64_t want; /* value, or the fault's value */
	enum dif_fault fault;
	uint32_t offset;
} programs[] = {
	{"r0 is zero", "ret %r0", 0, 0, 0},
	{"registers begin as zero", "ret %r9", 0, 0, 0},
	{"not", "not %r0, %r1; ret %r1", ALL, 0, 0},
	{"mov", "setx 7, %r1; mov %r1, %r200; ret %r200", 7, 0, 0},
	{"ba, nop", "nop; ba over; setx 1, %r1; over: ret %r1", 0, 0, 0},
	{"divide by zero", "nop; sdiv %r0, %r0, %r1; ret %r1", 0, DIF_FAULT_DIVZERO, 4},
	{"urem by zero", "setx 9, %r1; urem %r1, %r0, %r1; ret %r1", 0, DIF_FAULT_DIVZERO, 4},

	/* kernel memory: 80 81 82 83 84 85 86 87 .. */
	{"ldub", "setx 0xffff888000000000, %r1; ldub [%r1], %r1; ret %r1", 0x80, 0, 0},
	{"ldsb", "setx 0xffff888000000000, %r1; ldsb [%r1], %r1; ret %r1", -128ull, 0, 0},
	{"lduh", "setx 0xffff888000000000, %r1; lduh [%r1], %r1; ret %r1", 0x8180, 0, 0},
	{"ldsh",
	 "setx 0xffff888000000001, %r1; ldsh [%r1], %r1; ret %r1", 0xffffffffffff8281ull, 0, 0},
	{"lduw", "setx 0xffff888000000001, %r1; lduw [%r1], %r1; ret %r1", 0x84838281, 0, 0},
	{"ldsw",
	 "setx 0xffff888000000000, %r1; ldsw [%r1], %r1; ret %r1", 0xffffffff83828180ull, 0, 0},
	{"ldx",
	 "setx 0xffff888000000003, %r1; ldx [%r1], %r1; ret %r1", 0x8a89888786858483ull, 0, 0},
	{"rldx",
	 "setx 0xffff888000000000, %r1; rldx [%r1], %r1; ret %r1", 0x8786858483828180ull, 0, 0},
	{"rldsb", "setx 0xffff888000000000, %r1; rldsb [%r1], %r1; ret %r1", -128ull, 0, 0},
	{"uldub", "setx 0x10000, %r1; uldub [%r1], %r1; ret %r1", 0x90, 0, 0},
	{"uldsw", "setx 0x10000, %r1; uldsw [%r1], %r1; ret %r1", 0xffffffff93929190ull, 0, 0},
	{"uldx", "setx 0x10000, %r1; uldx [%r1], %r1; ret %r1", 0x9796959493929190ull, 0, 0},
	{"ldx over the end",
	 "setx 0xffff8880000001f9, %r1; ldx [%r1], %r1; ret %r1",
	 0xffff8880000001f9ull, DIF_FAULT_BADADDR, 4},
	{"ld of user memory",
	 "setx 0x10000, %r1; ldub [%r1], %r1; ret %r1", 0x10000, DIF_FAULT_BADADDR, 4},
	{"uld of kernel memory",
	 "setx 0xffff888000000000, %r1; uldub [%r1], %r1; ret %r1",
	 0xffff888000000000ull, DIF_FAULT_BADADDR, 4},
	{"ld of NULL", "ldx [%r0], %r1; ret %r1", 0, DIF_FAULT_BADADDR, 0},
	{"ld at the end of the address space",
	 "setx -1, %r1; ldx [%r1], %r1; ret %r1", ALL, DIF_FAULT_BADADDR, 4},
	{"ld of a string constant", "sets \"AB\", %r1; lduh [%r1], %r1; ret %r1", 0x4241, 0, 0},
	{"uld of a string constant",
	 "sets \"AB\", %r1; uldub [%r1], %r1; ret %r1", ANY, DIF_FAULT_BADADDR, 4},
	{"ld beyond the string table",
	 "sets \"AB\", %r1; ldx [%r1], %r1; ret %r1", ANY, DIF_FAULT_BADADDR, 4},
	{"st to a string constant",
	 "sets \"AB\", %r1; stb %r1, [%r1]; ret %r1", ANY, DIF_FAULT_BADADDR, 4},
	{"st to kernel memory",
	 "setx 0xffff888000000000, %r1; stx %r1, [%r1]; ret %r1",
	 0xffff888000000000ull, DIF_FAULT_BADADDR, 4},
	{"scmp of a bad address",
	 "setx 5, %r1; setx 6, %r2; scmp %r1, %r2; ret %r0", 5, DIF_FAULT_BADADDR, 8},
	{"scmp with a bad address",
	 "setx 5, %r1; setx 6, %r2; scmp %r0, %r2; ret %r0", 6, DIF_FAULT_BADADDR, 8},

	/* scratch memory */
	{"stx, ldx",
	 "setx 8, %r1; allocs %r1, %r2; setx 0x1122334455667788, %r1; stx %r1, [%r2]; "
	 "ldx [%r2], %r1; ret %r1", 0x1122334455667788ull, 0, 0},
	{"stb, sth, stw",
	 "setx 16, %r1; allocs %r1, %r2; stx %r0, [%r2]; setx 0x1122334455667788, %r1; "
	 "stb %r1, [%r2]; setx 2, %r3; add %r2, %r3, %r4; sth %r1, [%r4]; "
	 "add %r4, %r3, %r4; stw %r1, [%r4]; ldx [%r2], %r1; ret %r1", 0x5566778877880088ull, 0, 0},
	{"misaligned st",
	 "setx 16, %r1; allocs %r1, %r2; setx 1, %r1; add %r1, %r2, %r2; sth %r1, [%r2]; "
	 "ret %r0", ANY, DIF_FAULT_BADALIGN, 16},
	{"address before alignment",
	 "setx 3, %r1; stx %r1, [%r1]; ret %r0", 3, DIF_FAULT_BADADDR, 4},
	{"st beyond what was handed out",
	 "setx 8, %r1; allocs %r1, %r2; add %r1, %r2, %r2; stb %r1, [%r2]; ret %r0",
	 ANY, DIF_FAULT_BADADDR, 12},
	{"allocs of too much",
	 "setx 0x100000000, %r1; allocs %r1, %r2; ret %r2", 0, DIF_FAULT_NOSCRATCH, 4},
	{"copys",
	 "setx 8, %r1; allocs %r1, %r2; setx 0xffff888000000000, %r3; "
	 "copys %r3, %r1, %r2; ldx [%r2], %r1; ret %r1", 0x8786858483828180ull, 0, 0},
	{"copys of nothing", "copys %r0, %r0, %r0; ret %r0", 0, 0, 0},
	{"copys to kernel memory",
	 "setx 8, %r1; setx 0xffff888000000000, %r3; copys %r0, %r1, %r3; ret %r0",
	 0xffff888000000000ull, DIF_FAULT_BADADDR, 8},
	{"copys from a bad address",
	 "setx 8, %r1; allocs %r1, %r2; setx 77, %r3; copys %r3, %r1, %r2; ret %r0",
	 77, DIF_FAULT_BADADDR, 12},

	/* built-ins */
	{"pid", "ldgs pid, %r1; ret %r1", 42, 0, 0},
	{"args[3]", "setx 3, %r1; ldga args, %r1, %r2; ret %r2", 103, 0, 0},
	{"args[10]", "setx 10, %r1; ldga args, %r1, %r2; ret %r2", 10, DIF_FAULT_BADINDEX, 4},
	{"a built-in that faults", "ldgs vtimestamp, %r1; ret %r1", 0, DIF_FAULT_ILLOP, 0},

	/* by-value variables: what was never stored is zero */
	{"global", ".var \"x\" id=0x500 scalar size=8; ldgs x, %r1; ret %r1", 0, 0, 0},
	{"thread", ".var \"x\" id=0x500 scalar thread size=8; ldts x, %r1; ret %r1", 0, 0, 0},
	{"local", ".var \"x\" id=0x500 scalar local size=8; ldls x, %r1; ret %r1", 0, 0, 0},
	{"element",
	 ".var \"x\" id=0x500 array size=8; pushtv 0, %r0; ldgaa x, %r1; ret %r1", 0, 0, 0},
	{"int8_t keeps the sign",
	 ".var \"x\" id=0x501 scalar size=1 signed; setx 0x1ff, %r1; stgs x, %r1; "
	 "ldgs x, %r1; ret %r1", ALL, 0, 0},
	{"uint8_t",
	 ".var \"x\" id=0x502 scalar size=1; setx 0x1ff, %r1; stgs x, %r1; ldgs x, %r1; "
	 "ret %r1", 0xff, 0, 0},
	{"int16_t",
	 ".var \"x\" id=0x503 scalar thread size=2 signed; setx 0x18000, %r1; "
	 "stts x, %r1; ldts x, %r1; ret %r1", 0xffffffffffff8000ull, 0, 0},
	{"uint32_t",
	 ".var \"x\" id=0x504 scalar local size=4; setx -2, %r1; stls x, %r1; "
	 "ldls x, %r1; ret %r1", 0xfffffffe, 0, 0},
	{"int64_t",
	 ".var \"x\" id=0x505 array size=8 signed; setx -2, %r1; pushtv 0, %r1; "
	 "stgaa x, %r1; ldgaa x, %r1; ret %r1", -2ull, 0, 0},

	/* by reference */
	{"an unset global string is empty, not NULL",
	 ".var \"s\" id=0x510 scalar string byref size=16; ldgs s, %r1; tst %r1; be null; "
	 "ldub [%r1], %r1; ret %r1; null: setx 1, %r1; ret %r1", 0, 0, 0},
	{"an unset self string is NULL",
	 ".var \"s\" id=0x511 scalar thread string byref size=16; ldts s, %r1; ret %r1", 0, 0, 0},
	{"an unset element is NULL",
	 ".var \"s\" id=0x512 array string byref size=16; pushtv 0, %r0; ldgaa s, %r1; "
	 "ret %r1", 0, 0, 0},
	{"a string is copied",
	 ".var \"s\" id=0x513 scalar thread string byref size=16; sets \"AB\", %r1; "
	 "stts s, %r1; ldts s, %r1; ldx [%r1], %r1; ret %r1", 0x4241, 0, 0},
	{"a string is cut to its variable",
	 ".var \"s\" id=0x514 scalar string byref size=4; sets \"ABCDEF\", %r1; "
	 "stgs s, %r1; ldgs s, %r1; lduw [%r1], %r1; ret %r1", 0x434241, 0, 0},
	{"a struct is copied",
	 ".var \"t\" id=0x515 scalar local ckind=5 byref size=12; "
	 "setx 0xffff888000000000, %r1; stls t, %r1; ldls t, %r1; setx 8, %r2; "
	 "add %r1, %r2, %r1; lduw [%r1], %r1; ret %r1", 0x8b8a8988, 0, 0},
	{"a struct from user memory",
	 ".var \"t\" id=0x516 scalar local ckind=5 byuref size=4; setx 0x10000, %r1; "
	 "stls t, %r1; ldls t, %r1; lduw [%r1], %r1; ret %r1", 0x93929190, 0, 0},
	{"storage can be written",
	 ".var \"t\" id=0x517 scalar ckind=5 byref size=16; ldgs t, %r1; setx 7, %r2; "
	 "stx %r2, [%r1]; ldgs t, %r3; ldx [%r3], %r3; ret %r3", 7, 0, 0},
	{"but not beyond",
	 ".var \"t\" id=0x518 scalar ckind=5 byref size=8; ldgs t, %r1; setx 8, %r2; "
	 "add %r1, %r2, %r1; stx %r2, [%r1]; ret %r0", ANY, DIF_FAULT_BADADDR, 12},
	{"a bad address",
	 ".var \"s\" id=0x519 scalar string byref size=16; setx 9, %r1; stgs s, %r1; "
	 "ret %r0", 9, DIF_FAULT_BADADDR, 4},
	{"0 makes a global string NULL",
	 ".var \"s\" id=0x51a scalar string byref size=16; sets \"AB\", %r1; stgs s, %r1; "
	 "stgs s, %r0; ldgs s, %r1; ret %r1", 0, 0, 0},
	{"a text ends that",
	 ".var \"s\" id=0x51a scalar string byref size=16; sets \"AB\", %r1; stgs s, %r0; "
	 "stgs s, %r1; ldgs s, %r1; ldub [%r1], %r1; ret %r1", 'A', 0, 0},
	{"0 frees a self string",
	 ".var \"s\" id=0x51b scalar thread string byref size=16; sets \"AB\", %r1; "
	 "stts s, %r1; stts s, %r0; ldts s, %r1; ret %r1", 0, 0, 0},
	{"freed storage is gone",
	 ".var \"s\" id=0x51c scalar thread string byref size=16; sets \"AB\", %r1; "
	 "stts s, %r1; ldts s, %r2; stts s, %r0; ldub [%r2], %r1; ret %r1",
	 ANY, DIF_FAULT_BADADDR, 16},
	{"an empty string is not 0",
	 ".var \"s\" id=0x51d scalar thread string byref size=16; sets \"\", %r1; "
	 "stts s, %r1; ldts s, %r1; tst %r1; be null; setx 1, %r1; ret %r1; null: ret %r0",
	 1, 0, 0},
	{"a string assigned to itself, from the middle",
	 ".var \"s\" id=0x51e scalar string byref size=16; sets \"ABC\", %r1; "
	 "stgs s, %r1; ldgs s, %r1; setx 1, %r2; add %r1, %r2, %r2; stgs s, %r2; "
	 "ldx [%r1], %r1; ret %r1", 0x4342, 0, 0},

	/* keys */
	{"keys differ by value",
	 ".var \"x\" id=0x520 array size=8; setx 1, %r1; pushtv 0, %r1; stgaa x, %r1; "
	 "flushts; pushtv 0, %r0; ldgaa x, %r2; ret %r2", 0, 0, 0},
	{"string keys go by content",
	 ".var \"x\" id=0x521 array size=8; sets \"ab\", %r1; sets \"xab\", %r2; "
	 "setx 1, %r3; add %r2, %r3, %r2; pushtr 1, %r0, %r1; stgaa x, %r3; flushts; "
	 "pushtr 1, %r0, %r2; ldgaa x, %r4; ret %r4", 1, 0, 0},
	{"NULL and \"\" are one key",
	 ".var \"x\" id=0x522 array size=8; sets \"\", %r1; setx 5, %r3; "
	 "pushtr 1, %r0, %r1; stgaa x, %r3; flushts; pushtr 1, %r0, %r0; ldgaa x, %r4; "
	 "ret %r4", 5, 0, 0},
	{"a, bc is not ab, c",
	 ".var \"x\" id=0x523 array size=8; sets \"a\", %r1; sets \"bc\", %r2; "
	 "setx 5, %r3; pushtr 1, %r0, %r1; pushtr 1, %r0, %r2; stgaa x, %r3; flushts; "
	 "sets \"ab\", %r1; sets \"c\", %r2; pushtr 1, %r0, %r1; pushtr 1, %r0, %r2; "
	 "ldgaa x, %r4; ret %r4", 0, 0, 0},
	{"struct keys go by content",
	 ".var \"x\" id=0x524 array size=8; setx 4, %r1; allocs %r1, %r2; "
	 "setx 0x83828180, %r3; stw %r3, [%r2]; pushtr 0, %r1, %r2; stgaa x, %r1; "
	 "flushts; setx 0xffff888000000000, %r4; pushtr 0, %r1, %r4; ldgaa x, %r5; ret %r5",
	 4, 0, 0},
	{"a key that cannot be read",
	 ".var \"x\" id=0x525 array size=8; setx 6, %r1; pushtr 1, %r0, %r1; "
	 "ldgaa x, %r5; ret %r5", 6, DIF_FAULT_BADADDR, 8},
	{"a struct key that cannot be read",
	 ".var \"x\" id=0x525 array size=8; setx 6, %r1; pushtr 0, %r1, %r1; "
	 "stgaa x, %r1; ret %r5", 6, DIF_FAULT_BADADDR, 8},
	{"a struct key that is too large",
	 ".var \"x\" id=0x525 array size=8; setx 16385, %r1; pushtr 0, %r1, %r1; "
	 "stgaa x, %r1; ret %r5", 16385, DIF_FAULT_BADSIZE, 8},
	{"popts",
	 ".var \"x\" id=0x526 array size=8; setx 1, %r1; pushtv 0, %r1; stgaa x, %r1; "
	 "pushtv 0, %r1; popts; ldgaa x, %r2; ret %r2", 1, 0, 0},
	{"popts of an empty stack", "popts; ret %r0", 0, 0, 0},
	{"call empties the stack",
	 ".var \"x\" id=0x527 array size=8; setx 3, %r1; stgaa x, %r1; pushtv 0, %r1; "
	 "call getminor, %r2; ldgaa x, %r2; ret %r2", 3, 0, 0},
	{"an access keeps the stack",
	 ".var \"x\" id=0x528 array size=8; setx 3, %r1; pushtv 0, %r1; ldgaa x, %r2; "
	 "add %r1, %r2, %r2; stgaa x, %r2; ldgaa x, %r3; ret %r3", 3, 0, 0},
	{"a fault gives no value",
	 "setx 5, %r1; mov %r1, %r2; udiv %r1, %r0, %r1; ret %r2", 0, DIF_FAULT_DIVZERO, 8},
};
/* clang-format on */

/* With newlines for semicolons. */
static const char *lines(struct world *w, const char *text)
{
	char *copy = arena_strdup(w->arena, text);

	for (char *p; (p = strchr(copy, ';'));)
		*p = '\n';
	return copy;
}

static void test_programs(struct world *w)
{
	for (size_t i = 0; i < ARRAY_LEN(programs); i++) {
		const struct program *p = &programs[i];
		struct dif_result r;

		dif_machine_begin_firing(w->m, 1);
		r = world_run(w, lines(w, p->text));
		ok(r.fault == p->fault && r.offset == p->offset && (!p->fault || r.value == 0),
		   "%s: fault %d at %u", p->name, (int)r.fault, r.offset);
		if (p->want != ANY)
			is_int(p->fault ? r.fault_value : r.value, p->want, p->name);
	}
}

/* ---- life of variables ----------------------------------------------------------------------- */

#define VARS                                                                                       \
	".var \"g\" id=0x600 scalar size=8\n"                                                      \
	".var \"t\" id=0x600 scalar thread size=8\n"                                               \
	".var \"l\" id=0x600 scalar local size=8\n"                                                \
	".var \"a\" id=0x601 array size=8\n"                                                       \
	".var \"ta\" id=0x601 array thread size=8\n"                                               \
	".var \"s\" id=0x602 scalar local string byref size=16\n"

static uint64_t get(struct world *w, const char *insn)
{
	return world_run(w, arena_printf(w->arena, VARS "pushtv 0, %%r0\n%s, %%r1\nret %%r1", insn))
		.value;
}

static void set(struct world *w, const char *insn, uint64_t v)
{
	(void)world_run(w, arena_printf(w->arena,
					VARS "pushtv 0, %%r0\nsetx %llu, %%r1\n%s, %%r1\nret %%r1",
					(unsigned long long)v, insn));
}

static void test_life(void)
{
	struct world w;

	world_init(&w, NULL);
	set(&w, "stgs g", 1);
	set(&w, "stts t", 2);
	set(&w, "stls l", 3);
	set(&w, "stgaa a", 4);
	set(&w, "sttaa ta", 5);
	is_int(get(&w, "ldgs g"), 1, "global, same clause");
	is_int(get(&w, "ldts t"), 2, "thread-local, same clause");
	is_int(get(&w, "ldls l"), 3, "clause-local, same clause");
	dif_machine_begin_clause(w.m);
	is_int(get(&w, "ldls l"), 3, "clause-local, next clause of the firing");
	dif_machine_begin_firing(w.m, 2);
	is_int(get(&w, "ldgs g"), 1, "global, other thread");
	is_int(get(&w, "ldts t"), 0, "thread-local, other thread");
	is_int(get(&w, "ldls l"), 0, "clause-local, next firing");
	is_int(get(&w, "ldgaa a"), 4, "array, other thread");
	is_int(get(&w, "ldtaa ta"), 0, "thread array, other thread");
	set(&w, "stts t", 7);
	dif_machine_begin_firing(w.m, 1);
	is_int(get(&w, "ldts t"), 2, "thread-local, back in the first thread");
	is_int(get(&w, "ldtaa ta"), 5, "thread array, back in the first thread");
	set(&w, "stts t", 0);
	is_int(get(&w, "ldts t"), 0, "zero frees");
	is_int(get(&w, "ldgs g"), 1, "and nothing else");
	world_deinit(&w);
}

static void test_drops(void)
{
	struct dif_machine_opts opts = {.dynvarsize = 200};
	struct world w;
	int kept = 0;

	world_init(&w, &opts);
	for (int i = 1; i <= 20; i++)
		(void)world_run(&w, arena_printf(w.arena,
						 ".var \"a\" id=0x500 array size=8\nsetx %d, "
						 "%%r1\npushtv 0, %%r1\nstgaa a, %%r1\nret %%r0",
						 i));
	for (int i = 1; i <= 20; i++)
		kept += world_run(&w, arena_printf(w.arena,
						   ".var \"a\" id=0x500 array size=8\nsetx %d, "
						   "%%r1\npushtv 0, %%r1\nldgaa a, %%r1\nret %%r1",
						   i))
				.value == (uint64_t)i;
	ok(kept > 0 && kept < 20, "%d of 20 elements found room", kept);
	is_int(dif_machine_drops(w.m), 20 - kept, "the others are counted");
	(void)world_run(&w,
			".var \"a\" id=0x500 array size=8\nsetx 1, %r1\npushtv 0, %r1\nstgaa a, "
			"%r0\nflushts\nsetx 99, %r1\npushtv 0, %r1\nstgaa a, %r1\nret %r0");
	is_int(dif_machine_drops(w.m), 20 - kept, "a freed element makes room");
	world_deinit(&w);
}

static void test_environment(void)
{
	struct world w;
	char text[256];
	uint32_t len;
	uint64_t addr;

	world_init(&w, NULL);
	addr = dif_machine_string(w.m, "execname");
	ok(dif_machine_text(w.m, addr, text, &len) && len == 8 && strcmp(text, "execname") == 0,
	   "a string of the environment");
	ok(dif_machine_text(w.m, 0, text, &len) && len == 0, "NULL reads as empty");
	ok(!dif_machine_text(w.m, 1, text, &len), "a bad address does not");
	is_int(dif_machine_strsize(w.m), 256, "default strsize");
	{
		struct dif_machine *m = dif_machine_create(&dif_env_none, NULL);
		struct difo *d = NULL;
		struct err *e = difo_parse(w.arena, "ldgs pid, %r1\nret %r1", &d);

		ok(!e && dif_run(m, d).fault == DIF_FAULT_ILLOP, "nothing in dif_env_none");
		dif_machine_destroy(m);
	}
	world_deinit(&w);
}

int main(void)
{
	struct dif_machine_opts opts = {.strsize = 16};
	struct world w;

	world_init(&w, &opts);
	for (uint32_t i = 0; i < KMEM_SIZE; i++) {
		w.kmem[i] = (uint8_t)(0x80 + i);
		w.umem[i] = (uint8_t)(0x90 + i);
	}
	test_sums(&w);
	test_branches(&w);
	test_programs(&w);
	world_deinit(&w);
	test_life();
	test_drops();
	test_environment();
	return tap_done();
}
