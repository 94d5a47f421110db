/* SPDX-License-Identifier: MIT */
/* Jumps: where they lead, and which bytes are no code that one is written over. */
#include "arch/patch.h"

#include "tap.h"

struct bytes {
	const char *text;
	uint8_t code[ARCH_JUMP_MAX];
};

static void test_padding(void)
{
	static const struct bytes padding[] = {
		{"int3", {0xcc, 0xcc, 0xcc, 0xcc, 0xcc}},
		{"zeroes", {0}},
		{"nop; nopl 0(%rax)", {0x90, 0x0f, 0x1f, 0x40, 0x00}},
		{"the begin of nopw 0(%rax,%rax)", {0x66, 0x0f, 0x1f, 0x44, 0x00}},
		{"the begin of cs nopw", {0x66, 0x2e, 0x0f, 0x1f, 0x84}},
		{"the end of nopl 0(%rax), and nops", {0x1f, 0x40, 0x00, 0x90, 0x90}},
		{"nops, and the first byte of one", {0x90, 0x90, 0x90, 0x66, 0x0f}},
	};
	static const struct bytes code[] = {
		{"je", {0x0f, 0x84, 0x90, 0x00, 0x00}},
		{"jo", {0x0f, 0x80, 0x00, 0x00, 0x00}},
		{"nop; ret; nops", {0x90, 0xc3, 0x90, 0x90, 0x90}},
		{"rex; nops", {0x90, 0x44, 0x90, 0x90, 0x90}},
		{"a byte of a nop alone", {0x90, 0x1f, 0x90, 0x90, 0x90}},
		{"mov %rsp,%rbp; push %r15", {0x48, 0x89, 0xe5, 0x41, 0x57}},
	};

	for (uint32_t i = 0; i < ARRAY_LEN(padding); i++)
		ok(arch_patch->is_padding(padding[i].code, arch_patch->jump_size), "padding: %s",
		   padding[i].text);
	for (uint32_t i = 0; i < ARRAY_LEN(code); i++)
		ok(!arch_patch->is_padding(code[i].code, arch_patch->jump_size), "no padding: %s",
		   code[i].text);
}

static void test_jumps(void)
{
	uint8_t code[ARCH_JUMP_MAX];

	ok(arch_patch->jump_make(0x401000, 0x7fff0000, code), "a jump");
	is_int(code[0], arch_patch->jump_byte, "its first byte");
	is_int(arch_patch->jump_target(0x401000, code), 0x7fff0000, "leads there");
	ok(arch_patch->short_make(0x401000, 0x400fa0, code), "a short jump");
	is_int(code[0], arch_patch->short_byte, "its first byte");
	is_int(arch_patch->short_target(0x401000, code), 0x400fa0, "leads there");
	ok(!arch_patch->short_make(0x401000, 0x401100, code), "it does not lead far");
	ok(!arch_patch->jump_make(0x401000, 0x401000 + (1ull << 32), code), "nor does a long one");
}

int main(void)
{
	test_padding();
	test_jumps();
	return tap_done();
}
