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

#define USDT_OPERANDS_MAX 12 /* operands of a probe; further ones in its note are ignored */

enum usdt_operand_kind {
	USDT_OPERAND_NONE, /* the operand is not known or cannot be read: its value is 0 */
	USDT_OPERAND_CONST,
	USDT_OPERAND_REGISTER,
	USDT_OPERAND_MEMORY,
};

struct usdt_operand {
	uint8_t kind; /* enum usdt_operand_kind */
	uint8_t size; /* bytes: 1, 2, 4 or 8 */
	bool is_signed;
	bool is_float;		  /* the bits of a floating-point number */
	bool has_base, has_index; /* of USDT_OPERAND_MEMORY: which registers the address has */
	uint8_t scale;
	uint32_t base, index; /* base: the register that is the operand, or part of its address */
	/*
	 * The value of USDT_OPERAND_CONST. Of memory, it is added to base and index; if base is the
	 * program counter, it counts from the probe's instruction.
	 */
	int64_t disp;
};

struct usdt_operands {
	uint32_t n;
	struct usdt_operand list[USDT_OPERANDS_MAX];
};

/* Finds the address of a symbol of the file; returns false if the file has no such symbol. */
typedef bool usdt_symbol_f(void *ctx, const char *name, uint64_t *ret_addr);

/*
 * Parses the text of a note. pc is the address of the probe's instruction in the file, word the
 * number of bytes of a pointer. An operand that cannot be parsed becomes USDT_OPERAND_NONE.
 */
void usdt_operands_parse(const char *text, uint64_t pc, uint32_t word, usdt_symbol_f *symbol,
			 void *ctx, struct usdt_operands *ret);
