/* SPDX-License-Identifier: MIT */
/*
 * Calls of probes that are functions nobody defines.
 *
 * Headers that other systems' dtrace -h has made declare a probe as a function,
 * __dtrace_PROVIDER___PROBE(), and the test whether it is enabled as another one,
 * __dtraceenabled_PROVIDER___PROBE(). dtrace -G replaces the calls of the former by nops. This is
 * what it has to know about the processor: which instructions are calls, what replaces them, where
 * the calling convention has arguments, and the code of functions for the calls that stay.
 *
 * Facts    System V ABI, AMD64 supplement 3.2.3 and 4.4; i386 supplement 2.2.3 and 4.4.
 */
#pragma once

#include "base/str.h"

enum arch_call {
	ARCH_CALL_NONE, /* no call, or one that cannot be replaced: it stays */
	ARCH_CALL_PLAIN,
	ARCH_CALL_TAIL, /* a jump: the caller of the function is returned to */
};

/* Where the next argument is: at first all zero, and stack the offset of the first one there. */
struct arch_arg_cursor {
	uint32_t nints, nfloats, stack;
};

/* The code of a function, and at which offset it refers to an address. */
struct arch_stub {
	const uint8_t *code;
	uint32_t size;
	uint32_t site;		/* a probe: the offset of its instruction */
	uint32_t ref, ref_type; /* a test: offset and relocation type of the counter's address */
	int32_t ref_addend;
};

struct arch_sites {
	uint32_t reloc_none, reloc_addr, reloc_addr_32; /* relocation types; addr: of a pointer */
	/*
	 * Says what kind of call the relocation at code + at belongs to; *ret_site is the offset of
	 * the instruction.
	 */
	enum arch_call (*find)(const uint8_t *code, size_t size, uint64_t at, uint32_t type,
			       int64_t addend, bool is_32bit, uint64_t *ret_site);
	/* Replaces the call at code + site by the instruction of a probe. */
	void (*replace)(uint8_t *code, uint64_t site, enum arch_call kind);
	/* Adds the text of the next argument's operand. */
	void (*operand_add)(struct arch_arg_cursor *next, uint32_t size, bool is_float,
			    bool is_32bit, struct strbuf *out);
	struct arch_stub probe, probe_32, test, test_32;
};
