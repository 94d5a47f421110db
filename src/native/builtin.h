/* SPDX-License-Identifier: MIT */
/* Which built-in variables and registers code in the process has. */
#pragma once

#include "base/base.h"

#define NATIVE_NARGS 6u /* arguments of a function that are in registers */
#define UREG_PC	     17u
#define UREG_SP	     20u

/* Whether the element of uregs[] is one of those that struct native_frame has. */
bool ureg_is_known(uint64_t index);
/* 1 + the number of the argument that the register has at an entry; 0: none. */
uint32_t ureg_arg(uint32_t index);
