/* SPDX-License-Identifier: MIT */
/* What tests of each architecture expect of it. */
#pragma once

#include "arch/arch.h"

struct machine {
	const char *name;
	uint64_t
		tls[3]; /* distances of 8, 8 and 0 in PT_TLS of 24 bytes, with 8, 64, 0 alignment */
	uint32_t stack_args;
	const char *registers[3]; /* the second is a part of the third; "": none */
	uint32_t read_nr;	  /* the system call read() */
	uint64_t enter;		  /* the first instruction of a function with a frame pointer */
	uint32_t signal[3];	  /* offsets of fp, sp, pc in a signal frame */
};

static const struct machine machines[] = {
	{"x86_64",
	 {(uint64_t)-16, (uint64_t)-56, (uint64_t)-24},
	 8,
	 {"r12", "eax", "rax"},
	 0,
	 0x55,
	 {120, 160, 168}},
	{"dummy", {24, 72, 16}, 0, {"r5", "", "r0"}, 9, 0xe7, {0, 8, 16}},
};

static inline const struct machine *machine_here(void)
{
	for (size_t i = 0; i < ARRAY_LEN(machines); i++)
		if (strcmp(machines[i].name, arch.name) == 0)
			return &machines[i];
	return NULL;
}
