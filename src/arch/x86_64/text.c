/* SPDX-License-Identifier: MIT */
/*
 * Instructions and registers of x86-64 as text, in the syntax of AT&T, which gdb and objdump have
 * by default.
 */
#include "arch/text.h"

#include <Zydis/Zydis.h>

#include "arch/x86_64/regs.h"
#include "base/str.h"

static const char *const registers[FRAME_NREGS] = {"r15",    "r14", "r13", "r12",      "rbp", "rbx",
						   "r11",    "r10", "r9",  "r8",       "rax", "rcx",
						   "rdx",    "rsi", "rdi", "orig_rax", "rip", "cs",
						   "eflags", "rsp", "ss"};

/* ---- floating point and vectors -------------------------------------------------------------- */

/*
 * Offsets in what FXSAVE and XSAVE write; the kernel always gives the standard format. Intel SDM
 * vol. 1, 10.5.1 and 13.4.
 */
enum {
	X87_STATUS = 2,
	X87_TAGS = 4, /* a bit for each register of the stack: it is not empty */
	X87_STACK = 32,
	XMM = 160,
	XSAVE_XCR0 = 464, /* Linux arch/x86/include/asm/user.h: which parts the processor has */
	FXSAVE_SIZE = 512,
	XSAVE_PARTS = 512, /* bits: which parts are not as they are initially, all zero */
	XSAVE_AVX = 576,   /* the upper halves of ymm0 to ymm15 */
	XSAVE_AVX_SIZE = 256,
};
#define XSAVE_HAS_AVX (1u << 2)
#define XSAVE_HAS_K   (1u << 5) /* k0 to k7 */
#define XSAVE_HAS_ZMM (1u << 6) /* the upper halves of zmm0 to zmm15 */
#define XSAVE_HAS_HI  (1u << 7) /* zmm16 to zmm31 */
#define XSAVE_AVX512  (XSAVE_HAS_K | XSAVE_HAS_ZMM | XSAVE_HAS_HI)

/*
 * Where the parts of AVX-512 are depends on the processor (CPUID leaf 13), which no note names:
 * those of AMD leave no room for MPX. They are told apart by the size of the whole, with and
 * without PKRU behind it.
 */
static const struct avx512_place {
	uint32_t size_least, size_most, k, zmm, hi;
} avx512_places[] = {
	{2432, 2440, 832, 896, 1408},
	{2688, UINT32_MAX, 1088, 1152, 1664},
};

static void stack_rows(const uint8_t *note, vector_row_fn *row, void *ctx)
{
	uint32_t top = (uint32_t)note[X87_STATUS + 1] >> 3 & 7;

	for (uint32_t i = 0; i < 8; i++) {
		const uint8_t *at = note + X87_STACK + 16 * i;
		char name[8], text[64] = "empty";
		/* printf() of older C libraries does not survive an exponent without integer bit */
		bool is_valid = at[7] >> 7 || !((at[8] | at[9] << 8) & 0x7fff);
		long double value = 0;

		memcpy(&value, at, 10);
		if (!is_valid)
			(void)snprintf(text, sizeof(text), "invalid");
		else if (note[X87_TAGS] >> ((top + i) & 7) & 1)
			(void)snprintf(text, sizeof(text), "%.18Lg", value);
		(void)snprintf(name, sizeof(name), "st%u", i);
		row(ctx, name, at, 10, text);
	}
}

static void doubles_add(char *to, size_t size, const uint8_t *bytes, size_t n)
{
	size_t len = 0;

	for (size_t i = 0; i < n && len < size; i += 8) {
		double value;

		memcpy(&value, bytes + i, sizeof(value));
		len += (size_t)snprintf(to + len, size - len, "%s%.17g", i ? " " : "", value);
	}
}

/* Where the note has the parts of AVX-512; NULL: it has none. */
static const struct avx512_place *avx512_find(const uint8_t *note, size_t size)
{
	if (size <= XSAVE_PARTS || (note[XSAVE_XCR0] & XSAVE_AVX512) != XSAVE_AVX512)
		return NULL;
	for (uint32_t i = 0; i < ARRAY_LEN(avx512_places); i++)
		if (size >= avx512_places[i].size_least && size <= avx512_places[i].size_most)
			return &avx512_places[i];
	return NULL;
}

/* Rows for zmm0 to zmm31 and k0 to k7. A part that is not in use is zero. */
static void avx512_rows(const uint8_t *note, const struct avx512_place *place, vector_row_fn *row,
			void *ctx)
{
	const uint8_t parts = note[XSAVE_PARTS];
	char name[8], text[320];

	for (uint32_t i = 0; i < 32; i++) {
		uint8_t bytes[64] = {0};

		if (i < 16) {
			memcpy(bytes, note + XMM + 16 * i, 16);
			if (parts & XSAVE_HAS_AVX)
				memcpy(bytes + 16, note + XSAVE_AVX + 16 * i, 16);
			if (parts & XSAVE_HAS_ZMM)
				memcpy(bytes + 32, note + place->zmm + 32 * i, 32);
		} else if (parts & XSAVE_HAS_HI) {
			memcpy(bytes, note + place->hi + 64 * (i - 16), 64);
		}
		(void)snprintf(name, sizeof(name), "zmm%u", i);
		doubles_add(text, sizeof(text), bytes, sizeof(bytes));
		row(ctx, name, bytes, sizeof(bytes), text);
	}
	for (uint32_t i = 0; i < 8; i++) {
		uint8_t bytes[8] = {0};

		if (parts & XSAVE_HAS_K)
			memcpy(bytes, note + place->k + 8 * i, 8);
		(void)snprintf(name, sizeof(name), "k%u", i);
		row(ctx, name, bytes, sizeof(bytes), "");
	}
}

static bool vectors_each(const uint8_t *note, size_t size, bool is_long, vector_row_fn *row,
			 void *ctx)
{
	const struct avx512_place *place = is_long ? avx512_find(note, size) : NULL;
	static const struct {
		const char *name;
		uint32_t off, size;
	} control[] = {{"fcw", 0, 2}, {"fsw", X87_STATUS, 2}, {"ftw", X87_TAGS, 1}, {"fop", 6, 2},
		       {"fip", 8, 8}, {"fdp", 16, 8},	      {"mxcsr", 24, 4}};
	bool is_wide = size >= XSAVE_AVX + XSAVE_AVX_SIZE;

	if (size < FXSAVE_SIZE)
		return false;
	for (uint32_t i = 0; i < ARRAY_LEN(control); i++)
		row(ctx, control[i].name, note + control[i].off, control[i].size, "");
	stack_rows(note, row, ctx);
	if (place) {
		avx512_rows(note, place, row, ctx);
		return true;
	}
	for (uint32_t i = 0; i < 16; i++) {
		uint8_t bytes[32] = {0};
		char name[8], text[160];

		memcpy(bytes, note + XMM + 16 * i, 16);
		if (is_wide && note[XSAVE_PARTS] & XSAVE_HAS_AVX)
			memcpy(bytes + 16, note + XSAVE_AVX + 16 * i, 16);
		(void)snprintf(name, sizeof(name), "%cmm%u", is_wide ? 'y' : 'x', i);
		doubles_add(text, sizeof(text), bytes, is_wide ? 32 : 16);
		row(ctx, name, bytes, is_wide ? 32 : 16, text);
	}
	return true;
}

const struct arch_text arch_text = {.registers = registers, .vectors = vectors_each};

/* ---- instructions ---------------------------------------------------------------------------- */

/* The address of an operand that is relative to the instruction; false: none is. */
static bool address_find(const ZydisDecodedInstruction *insn, const ZydisDecodedOperand *ops,
			 uint64_t addr, uint64_t *ret)
{
	for (uint8_t i = 0; i < insn->operand_count_visible; i++) {
		bool is_relative =
			ops[i].type == ZYDIS_OPERAND_TYPE_IMMEDIATE && ops[i].imm.is_relative;
		bool is_data = ops[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
			       ops[i].mem.base == ZYDIS_REGISTER_RIP;
		ZyanU64 at;

		if ((is_relative || is_data) &&
		    ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(insn, &ops[i], addr, &at))) {
			*ret = at;
			return true;
		}
	}
	return false;
}

struct insn_text insn_text_add(struct strbuf *out, const uint8_t *code, size_t size, uint64_t addr)
{
	ZydisDecodedOperand ops[ZYDIS_MAX_OPERAND_COUNT];
	struct insn_text ret = {0};
	ZydisDecodedInstruction insn;
	ZydisFormatter formatter;
	ZydisDecoder decoder;
	char text[256];

	(void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	(void)ZydisFormatterInit(&formatter, ZYDIS_FORMATTER_STYLE_ATT);
	(void)ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_HEX_UPPERCASE, ZYAN_FALSE);
	(void)ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE, 0);
	(void)ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING, 0);
	(void)ZydisFormatterSetProperty(&formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING, 0);
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code, size, &insn, ops)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&formatter, &insn, ops,
							  insn.operand_count_visible, text,
							  sizeof(text), addr, NULL)))
		return ret;
	strbuf_adds(out, text);
	ret.len = insn.length;
	ret.has_address = address_find(&insn, ops, addr, &ret.address);
	return ret;
}
