/* SPDX-License-Identifier: MIT */
/*
 * Integer types by their short names (u8 ... s64), for headers that the compiler of the host and
 * clang for BPF both read.
 *
 * Facts    BPF programs include no <stdint.h>; there u64 is unsigned long long, as in the kernel.
 */
#pragma once

#ifdef __bpf__
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
#else
#include <stdint.h>
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;
#endif
