/* SPDX-License-Identifier: MIT */
/* The tables of functions of x86-64, which its arch.c puts into struct arch (arch/arch.h). */
#pragma once

#include "arch/arch.h"

extern const struct arch_insns x86_64_insns; /* insn.c */
extern const struct arch_sites x86_64_sites; /* sites.c */
extern const struct arch_stubs x86_64_stubs; /* stub.c */
/* The function arch_insns.go_entry_skip of x86-64 (go.c). */
uint32_t x86_64_go_entry_skip(const uint8_t *code, size_t size);
