/*
 * Operands of notes: where an argument of a probe is when the program is at the probe.
 *
 *     -4@%eax             the low four bytes of a register, with a sign
 *     8@16(%rsp)          eight bytes of memory
 *     8@(%rax,%rbx,8)     memory at a sum of registers
 *     4@8+foo(%rip)       memory at a symbol
 *     -4@$3               a number
 *
 * Units    base, index: byte offsets in struct pt_regs.
 * Facts    providers.md 20.7.
 */
#pragma once

#include "base/base.h"

#define USDT_OPERANDS_MAX 12 /* of a probe; what a note lists beyond is passed over */

enum usdt_operand_kind {
	USDT_OPERAND_NONE, /* not known, or not to be had: reads as 0 */
	USDT_OPERAND_CONST,
	USDT_OPERAND_REGISTER,
	USDT_OPERAND_MEMORY,
};

struct usdt_operand {
	uint8_t kind; /* enum usdt_operand_kind */
	uint8_t size; /* bytes: 1, 2, 4 or 8 */
	bool is_signed;
	bool is_float;		  /* the bits of a floating-point number */
	bool has_base, has_index; /* of memory */
	uint8_t scale;
	uint32_t base, index; /* base: the register itself, or of the address */
	/*
	 * a number; added to base and index; counted from the probe's instruction if base is the
	 * program counter
	 */
	int64_t disp;
};

struct usdt_operands {
	uint32_t n;
	struct usdt_operand list[USDT_OPERANDS_MAX];
};

/* The address of a symbol of the file; false: it has none of that name. */
typedef bool usdt_symbol_f(void *ctx, const char *name, uint64_t *ret_addr);

/*
 * Parses the text of a note. pc: address of the probe's instruction, as in the file; word: bytes
 * of a pointer. What cannot be parsed becomes USDT_OPERAND_NONE.
 */
void usdt_operands_parse(const char *text, uint64_t pc, uint32_t word, usdt_symbol_f *symbol,
			 void *ctx, struct usdt_operands *ret);
