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

const struct arch_text arch_text = {.registers = registers};

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
