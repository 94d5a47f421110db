/* SPDX-License-Identifier: MIT */
/* Calls of probes in objects for x86-64 and i386. */
#include <elf.h>

#include "arch/sites.h"
#include "arch/x86_64/x86_64.h"

#define CALL_SIZE     5 /* the opcode, and 4 bytes to which the relocation belongs */
#define GOT_CALL_SIZE 6

enum { OP_CALL = 0xe8, OP_JMP = 0xe9, OP_GROUP5 = 0xff, MODRM_CALL = 0x15, MODRM_JMP = 0x25 };

/*
 * A call is replaced by a nop of 1 byte, which the note points to and every kernel emulates, and a
 * nop of 4 bytes. A probed nop of 5 bytes could end the program (INSN_NOP5).
 */
static const uint8_t nops[CALL_SIZE] = {0x90, 0x0f, 0x1f, 0x40, 0x00};
static const uint8_t nop_ret[] = {0x90, 0xc3};

static bool reloc_is_direct(uint32_t type, bool is_32bit)
{
	return is_32bit ? type == R_386_PC32 || type == R_386_PLT32
			: type == R_X86_64_PC32 || type == R_X86_64_PLT32;
}

static enum arch_call call_find(const uint8_t *code, size_t size, uint64_t at, uint32_t type,
				int64_t addend, bool is_32bit, uint64_t *ret_site)
{
	if (!at || at > size || size - at < 4 || addend != -4)
		return ARCH_CALL_NONE;
	*ret_site = at - 1;
	if (reloc_is_direct(type, is_32bit)) {
		if (code[at - 1] == OP_CALL)
			return ARCH_CALL_PLAIN;
		return code[at - 1] == OP_JMP ? ARCH_CALL_TAIL : ARCH_CALL_NONE;
	}
	/* -fno-plt: call *__dtrace_p___x@GOTPCREL(%rip) */
	if (is_32bit || (type != R_X86_64_GOTPCRELX && type != R_X86_64_GOTPCREL) || at < 2 ||
	    code[at - 2] != OP_GROUP5)
		return ARCH_CALL_NONE;
	*ret_site = at - 2;
	if (code[at - 1] == MODRM_CALL)
		return ARCH_CALL_PLAIN;
	return code[at - 1] == MODRM_JMP ? ARCH_CALL_TAIL : ARCH_CALL_NONE;
}

static void call_replace(uint8_t *code, uint64_t site, enum arch_call kind)
{
	size_t size = code[site] == OP_GROUP5 ? GOT_CALL_SIZE : CALL_SIZE;

	memset(code + site, 0x90, size);
	if (kind == ARCH_CALL_TAIL)
		memcpy(code + site, nop_ret, sizeof(nop_ret));
	else
		memcpy(code + site, nops, sizeof(nops));
}

static const char *register_name(uint32_t index, uint32_t size)
{
	/* clang-format off */
	static const char *const names[6][4] = {
		{"dil", "di",  "edi", "rdi"}, {"sil", "si",  "esi", "rsi"},
		{"dl",  "dx",  "edx", "rdx"}, {"cl",  "cx",  "ecx", "rcx"},
		{"r8b", "r8w", "r8d", "r8"},  {"r9b", "r9w", "r9d", "r9"},
	};
	/* clang-format on */

	return names[index][size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : 3];
}

static void operand_add(struct arch_arg_cursor *next, uint32_t size, bool is_float, bool is_32bit,
			struct strbuf *out)
{
	if (!is_32bit && is_float && next->nfloats < 8) {
		strbuf_addf(out, "%%xmm%u", next->nfloats++);
		return;
	}
	if (!is_32bit && !is_float && next->nints < 6) {
		strbuf_addf(out, "%%%s", register_name(next->nints++, size));
		return;
	}
	strbuf_addf(out, "%u(%%%s)", next->stack, is_32bit ? "esp" : "rsp");
	next->stack += is_32bit && size <= 4 ? 4 : 8;
}

/* endbr64; nop; ret */
static const uint8_t probe_code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0xc3};
static const uint8_t probe_code_32[] = {0xf3, 0x0f, 0x1e, 0xfb, 0x90, 0xc3};
/* endbr64; movzwl counter(%rip), %eax; ret */
static const uint8_t test_code[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0xb7, 0x05, 0, 0, 0, 0, 0xc3};
/* endbr32; call 1f; 1: pop %ecx; movzwl counter-1b(%ecx), %eax; ret: at any address */
static const uint8_t test_code_32[] = {0xf3, 0x0f, 0x1e, 0xfb, 0xe8, 0, 0, 0, 0,
				       0x59, 0x0f, 0xb7, 0x81, 0,    0, 0, 0, 0xc3};

const struct arch_sites x86_64_sites = {
	.reloc_none = R_X86_64_NONE,
	.reloc_addr = R_X86_64_64,
	.reloc_addr_32 = R_386_32,
	.find = call_find,
	.replace = call_replace,
	.operand_add = operand_add,
	.probe = {.code = probe_code, .size = sizeof(probe_code), .site = 4},
	.probe_32 = {.code = probe_code_32, .size = sizeof(probe_code_32), .site = 4},
	.test = {.code = test_code,
		 .size = sizeof(test_code),
		 .ref = 7,
		 .ref_type = R_X86_64_PC32,
		 .ref_addend = -4},
	.test_32 = {.code = test_code_32,
		    .size = sizeof(test_code_32),
		    .ref = 13,
		    .ref_type = R_386_PC32,
		    .ref_addend = 4},
};
