/* SPDX-License-Identifier: MIT */
/* Declarations that the files of x86-64 share. */
#pragma once

#include "arch/arch.h"

extern const struct arch_insns x86_64_insns;
extern const struct arch_sites x86_64_sites;
/* The function arch_insns.go_entry_skip of x86-64. */
uint32_t x86_64_go_entry_skip(const uint8_t *code, size_t size);
