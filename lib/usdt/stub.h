/* SPDX-License-Identifier: MIT */
/*
 * Stubs, for each processor: their instructions, how they are called, and where their arguments
 * are then, as a note says it.
 *
 * The instruction that does nothing is the first one of the stub. A debugger's or the kernel's
 * breakpoint on it is reached with the arguments where the calling convention puts them.
 */
#pragma once

#include <stdio.h>
#include <string.h>

#include "impl.h"

/* clang-format off */
#if defined(__x86_64__) && defined(__LP64__)

#define STUB_MACHINE EM_X86_64
#define STUB_CODE    {0x90, 0xc3} /* nop; ret */
#define STUB_REGISTERS 6
static const char *const stub_registers[] = {"%rdi", "%rsi", "%rdx", "%rcx", "%r8", "%r9"};
#define STUB_MEMORY "%u(%%r9)"

#elif defined(__i386__)

#define STUB_MACHINE EM_386
#define STUB_CODE    {0x90, 0xc3}
#define STUB_REGISTERS 1
static const char *const stub_registers[] = {"%eax"};
#define STUB_MEMORY "%u(%%eax)"

#elif defined(__aarch64__)

#define STUB_MACHINE EM_AARCH64
#define STUB_CODE    {0x1f, 0x20, 0x03, 0xd5, 0xc0, 0x03, 0x5f, 0xd6} /* nop; ret */
#define STUB_REGISTERS 8
static const char *const stub_registers[] = {"x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"};
#define STUB_MEMORY "[x7, %u]"

#else
#define STUB_MACHINE EM_NONE /* usdt_provider_enable() says that there are no probes */
#define STUB_CODE    {0}
#define STUB_REGISTERS 1
static const char *const stub_registers[] = {""};
#define STUB_MEMORY "%u"
#endif
/* clang-format on */

/*
 * Calls a stub with the first nargs elements of a. If the registers do not suffice, the last of
 * them has the address of the array instead of an argument.
 */
static inline void stub_call(uintptr_t stub, unsigned int nargs, void **a)
{
	void *last = nargs > STUB_REGISTERS ? (void *)a : a[STUB_REGISTERS - 1];

	/* The stub reads no memory, but a tracer does. */
	__asm__ volatile("" : : "r"(a) : "memory");
#if STUB_REGISTERS == 8
	((void (*)(void *, void *, void *, void *, void *, void *, void *,
		   void *))stub)(a[0], a[1], a[2], a[3], a[4], a[5], a[6], last);
#elif STUB_REGISTERS == 6
	((void (*)(void *, void *, void *, void *, void *, void *))stub)(a[0], a[1], a[2], a[3],
									 a[4], last);
#elif defined(__i386__)
	typedef void __attribute__((__regparm__(1))) stub_f(void *);

	((stub_f *)stub)(last);
#else
	(void)stub, (void)last;
#endif
	__asm__ volatile("" : : "r"(a) : "memory");
}

/* Writes where argument i is to text, for a probe with nargs arguments; returns the length. */
static inline int stub_operand(char *text, size_t size, unsigned int i, unsigned int nargs)
{
	if (i < STUB_REGISTERS - (nargs > STUB_REGISTERS))
		return snprintf(text, size, "%s", stub_registers[i]);
	return snprintf(text, size, STUB_MEMORY, i * (unsigned int)sizeof(void *));
}
