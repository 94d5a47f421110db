/* SPDX-License-Identifier: MIT */
/* Instructions of windows, as far as steps.c has to know them. */
#pragma once

#include "arch/arch.h"

#include <Zydis/Zydis.h>

/* False: an instruction has another result each time, or takes the trap flag away. */
static bool insn_repeats(const ZydisDecodedInstruction *in)
{
	switch ((int)in->mnemonic) {
	case ZYDIS_MNEMONIC_RDTSC:
	case ZYDIS_MNEMONIC_RDTSCP:
	case ZYDIS_MNEMONIC_RDRAND:
	case ZYDIS_MNEMONIC_RDSEED:
	case ZYDIS_MNEMONIC_CPUID: /* some hypervisors lose the trap behind it */
	case ZYDIS_MNEMONIC_XGETBV:
	case ZYDIS_MNEMONIC_RDPID:
	case ZYDIS_MNEMONIC_POPF:
	case ZYDIS_MNEMONIC_POPFD:
	case ZYDIS_MNEMONIC_POPFQ:
	case ZYDIS_MNEMONIC_WRPKRU:
	case ZYDIS_MNEMONIC_RDPKRU:
	case ZYDIS_MNEMONIC_WRFSBASE:
	case ZYDIS_MNEMONIC_WRGSBASE:
	case ZYDIS_MNEMONIC_LFS:
	case ZYDIS_MNEMONIC_LGS:
	case ZYDIS_MNEMONIC_LSS:
	case ZYDIS_MNEMONIC_XRSTOR:
	case ZYDIS_MNEMONIC_XRSTOR64:
	case ZYDIS_MNEMONIC_XSAVE: /* its header is what was in use at all */
	case ZYDIS_MNEMONIC_XSAVE64:
	case ZYDIS_MNEMONIC_XSAVEC:
	case ZYDIS_MNEMONIC_XSAVEC64:
	case ZYDIS_MNEMONIC_FXRSTOR:
	case ZYDIS_MNEMONIC_FXRSTOR64:
	case ZYDIS_MNEMONIC_INT1: return false;
	case ZYDIS_MNEMONIC_MOV:
		return in->opcode != 0x8e && in->opcode != 0x8c; /* segment registers */
	default:
		return in->meta.category != ZYDIS_CATEGORY_SEGOP &&
		       in->meta.category != ZYDIS_CATEGORY_SYSCALL;
	}
}

static bool insn_read(const struct stub_window *w, uint32_t off, ZydisDecodedInstruction *ret)
{
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	return off < w->len && ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, w->code + off,
									  w->len - off, ret));
}

static bool is_indirect_call(const struct stub_window *w, uint32_t off)
{
	ZydisDecodedInstruction in;

	return insn_read(w, off, &in) && in.mnemonic == ZYDIS_MNEMONIC_CALL &&
	       !in.raw.imm[0].is_relative;
}

static bool is_conditional(const struct stub_window *w, uint32_t off)
{
	ZydisDecodedInstruction in;

	return insn_read(w, off, &in) && in.meta.category == ZYDIS_CATEGORY_COND_BR;
}
