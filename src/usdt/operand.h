/* SPDX-License-Identifier: MIT */
/*
 * Operands of notes: where an argument of a probe is when the program is at the probe.
 *
 *     -4@%eax             the low four bytes of a register, with a sign
 *     8@16(%rsp)          eight bytes of memory
 *     8@(%rax,%rbx,8)     memory at a sum of registers
 *     4@8+foo(%rip)       memory at a symbol
 *     8@foo@GOTPCREL(%rip)  the address of a symbol
 *     -4@%fs:foo@tpoff    memory of the thread
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
	USDT_OPERAND_ADDRESS, /* the address that a USDT_OPERAND_MEMORY would have */
};

/* Why a USDT_OPERAND_NONE cannot be read. */
enum usdt_lack {
	USDT_LACK_FORM,	  /* the text has no form that is known */
	USDT_LACK_VECTOR, /* it is in a vector register, of which a probe sees none */
	USDT_LACK_SYMBOL, /* the file does not have the symbol, or the symbol may be elsewhere */
	USDT_LACK_THREAD, /* it is in thread-local memory whose address is not known */
};

struct usdt_operand {
	uint8_t kind; /* enum usdt_operand_kind */
	uint8_t lack; /* enum usdt_lack, of USDT_OPERAND_NONE */
	uint8_t size; /* bytes: 1, 2, 4 or 8 */
	bool is_signed;
	bool is_float;		  /* the bits of a floating-point number */
	bool has_base, has_index; /* of USDT_OPERAND_MEMORY: which registers the address has */
	bool is_thread;		  /* the address counts from the thread's base */
	bool is_32bit;		  /* addresses have 32 bits */
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

/*
 * Finds the address of a symbol of the file, or, of a thread-local one, its distance from the base
 * of each thread; false if the file has no such symbol.
 */
typedef bool usdt_symbol_f(void *ctx, const char *name, bool is_thread, uint64_t *ret_addr);

/* The file in which a note stands. */
struct usdt_image {
	uint32_t word;	 /* bytes of a pointer */
	bool is_fixed;	 /* it is mapped at the addresses that its symbols have */
	bool is_program; /* it is no library, in which other files' symbols may replace its own */
	usdt_symbol_f *symbol;
	void *ctx;
};

/*
 * Parses the text of a note. pc is the address of the probe's instruction in the file. An operand
 * that cannot be parsed becomes USDT_OPERAND_NONE.
 */
void usdt_operands_parse(const char *text, uint64_t pc, const struct usdt_image *im,
			 struct usdt_operands *ret);
