/* SPDX-License-Identifier: MIT */
/* How functions of the Go compiler begin on x86-64. */
#include "arch/x86_64/x86_64.h"

/*
 * The instructions that compare the stack pointer with the end of the stack, as hexadecimal digits;
 * '?' stands for any digit. Register r14 points to the goroutine or, in functions whose arguments
 * lie on the stack, rcx does. The words at 0x10 and 0x18 of the goroutine contain the end of its
 * stack.
 */
/* clang-format off */
static const char *const loads[] = {
	"64488b0c25f8ffffff", /* mov %fs:-8,%rcx */
	"644c8b3425f8ffffff", /* mov %fs:-8,%r14 */
	"",
};

static const char *const compares[] = {
	"493b661?",			/* cmp 0x10(%r14),%rsp */
	"4c8d6424??4d3b661?",		/* lea -8(%rsp),%r12; cmp 0x10(%r14),%r12 */
	"4c8da424????????4d3b661?",	/* the same for a larger frame */
	/* mov %rsp,%r12; sub $8,%r12; jb; cmp 0x10(%r14),%r12 */
	"4989e44981ec????????72??4d3b661?",
	"4989e44981ec????????0f82????????4d3b661?",
	"483b611?",			/* cmp 0x10(%rcx),%rsp */
	"488d4424??483b411?",		/* lea -8(%rsp),%rax; cmp 0x10(%rcx),%rax */
	"488d8424????????483b411?",
	"4c8d6424??4c3b611?",		/* lea -8(%rsp),%r12; cmp 0x10(%rcx),%r12 */
	"4c8da424????????4c3b611?",
	"4989e44981ec????????72??4c3b611?",
	"4989e44981ec????????0f82????????4c3b611?",
};
/* clang-format on */

static bool digit_matches(char digit, unsigned int value)
{
	return digit == '?' || digit == "0123456789abcdef"[value];
}

/* True if the code begins with the bytes that digits spell; *ret_len is their number. */
static bool bytes_match(const char *digits, const uint8_t *code, size_t size, uint32_t *ret_len)
{
	uint32_t n = (uint32_t)strlen(digits) / 2;

	if (n > size)
		return false;
	for (uint32_t i = 0; i < n; i++)
		if (!digit_matches(digits[2 * i], code[i] >> 4) ||
		    !digit_matches(digits[2 * i + 1], code[i] & 15))
			return false;
	*ret_len = n;
	return true;
}

/* Returns the length of a forward jbe, which jumps to the code that enlarges the stack; else 0. */
static uint32_t jump_len(const uint8_t *code, size_t size)
{
	if (size >= 2 && code[0] == 0x76 && code[1] < 0x80)
		return 2;
	return size >= 6 && code[0] == 0x0f && code[1] == 0x86 && code[5] < 0x80 ? 6 : 0;
}

uint32_t x86_64_go_entry_skip(const uint8_t *code, size_t size)
{
	uint32_t load = 0, compare, jump;

	for (uint32_t i = 0; i < ARRAY_LEN(loads); i++)
		if (bytes_match(loads[i], code, size, &load))
			break;
	for (uint32_t i = 0; i < ARRAY_LEN(compares); i++) {
		if (!bytes_match(compares[i], code + load, size - load, &compare))
			continue;
		jump = jump_len(code + load + compare, size - load - compare);
		return jump && load + compare + jump < size ? load + compare + jump : 0;
	}
	return 0;
}
