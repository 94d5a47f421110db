/* SPDX-License-Identifier: MIT */
/* Instruction boundaries, ends of functions, where an entry probe goes. */
#include "image/insn.h"
#include "arch/arch.h"
#include "tap.h"

#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void decode(const uint8_t *code, size_t size, struct insns *ret)
{
	insns_decode(code, (uint32_t)size, false, ret);
}

static const struct insn *last(const struct insns *s)
{
	return &s->list.data[s->list.len - 1];
}

static void test_kinds(void)
{
	/* clang-format off */
	static const struct {
		const char *what;
		enum insn_kind kind;
		uint8_t code[12], size;
	} rows[] = {
		{ "ret",			INSN_RET,	{ 0xc3 }, 1 },
		{ "rep ret",			INSN_RET,	{ 0xf3, 0xc3 }, 2 },
		{ "ret 8",			INSN_RET,	{ 0xc2, 8, 0 }, 3 },
		{ "jmp rel8",			INSN_JMP,	{ 0xeb, 0x10 }, 2 },
		{ "jmp rel32",			INSN_JMP,	{ 0xe9, 0x10, 0, 0, 0 }, 5 },
		{ "je rel32",			INSN_JCC,	{ 0x0f, 0x84, 0x10, 0, 0, 0 }, 6 },
		{ "jrcxz",			INSN_JCC,	{ 0xe3, 0x10 }, 2 },
		{ "jmp *%rax",			INSN_JMP_TAIL,	{ 0xff, 0xe0 }, 2 },
		{ "jmp *0x18(%rax)",		INSN_JMP_TAIL,	{ 0xff, 0x60, 0x18 }, 3 },
		{ "jmp *(%rip)",		INSN_JMP_TAIL,	{ 0xff, 0x25, 0, 0, 0, 0 }, 6 },
		{ "jmp *table(,%rax,8)",	INSN_JMP_TABLE,	{ 0xff, 0x24, 0xc5, 0, 0, 0, 0 }, 7 },
		{ "jmp *0x48(%r8,%rax,8)",	INSN_JMP_TAIL,	{ 0x41, 0xff, 0x64, 0xc0, 0x48 }, 5 },
		{ "jmp *(%rdx,%rax,8)",		INSN_JMP_TABLE,	{ 0xff, 0x24, 0xc2 }, 3 },
		{ "push; jmp *-8(%rdx,%rax,8)",	INSN_JMP_TABLE,	{ 0x55, 0xff, 0x64, 0xc2, 0xf8 }, 5 },
		{ "sub $8,%rsp; jmp *8(%rdx,%rax,8)", INSN_JMP_TABLE, { 0x48, 0x83, 0xec, 8, 0xff, 0x64, 0xc2, 8 }, 8 },
		{ "notrack jmp *%rax",		INSN_JMP_TABLE,	{ 0x3e, 0xff, 0xe0 }, 3 },
		{ "add %rdx,%rax; jmp *%rax",	INSN_JMP_TABLE,	{ 0x48, 0x01, 0xd0, 0xff, 0xe0 }, 5 },
		{ "add %rdx,%rax; jmp *%rcx",	INSN_JMP_TAIL,	{ 0x48, 0x01, 0xd0, 0xff, 0xe1 }, 5 },
		{ "add %r9,%r8; jmp *%r8",	INSN_JMP_TABLE,	{ 0x4d, 0x01, 0xc8, 0x41, 0xff, 0xe0 }, 6 },
		{ "call",			INSN_PLAIN,	{ 0xe8, 0, 0, 0, 0 }, 5 },
		{ "call *%rax",			INSN_PLAIN,	{ 0xff, 0xd0 }, 2 },
		{ "ud2",			INSN_STOP,	{ 0x0f, 0x0b }, 2 },
		{ "hlt",			INSN_STOP,	{ 0xf4 }, 1 },
		{ "5-byte nop",			INSN_NOP5,	{ 0x0f, 0x1f, 0x44, 0, 0 }, 5 },
		{ "5-byte nop, prefixes",	INSN_NOP5,	{ 0x66, 0x66, 0x66, 0x66, 0x90 }, 5 },
		{ "5-byte nop, prefix",		INSN_NOP5,	{ 0x66, 0x0f, 0x1f, 0x40, 0 }, 5 },
		{ "4-byte nop",			INSN_PLAIN,	{ 0x0f, 0x1f, 0x40, 0 }, 4 },
		{ "4-byte nop, prefix",		INSN_PLAIN,	{ 0x66, 0x0f, 0x1f, 0x00 }, 4 },
		{ "6-byte nop",			INSN_PLAIN,	{ 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, 6 },
		{ "7-byte nop",			INSN_PLAIN,	{ 0x0f, 0x1f, 0x80, 0, 0, 0, 0 }, 7 },
		{ "an AVX move",		INSN_PLAIN,	{ 0xc5, 0xfe, 0x6f, 0x07 }, 4 },
	};
	/* clang-format on */

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct insns s;

		decode(rows[i].code, rows[i].size, &s);
		ok(s.list.len && last(&s)->kind == rows[i].kind, "%s", rows[i].what);
		insns_deinit(&s);
	}
}

static void test_targets(void)
{
	struct insns s;

	decode(CODE(0x90, 0xeb, 0xfd, 0xe9, 0x10, 0, 0, 0), &s);
	is_int(s.list.len, 3, "three instructions");
	is_int(s.list.data[1].target, 0, "a jump back");
	is_int(s.list.data[2].target, 0x18, "a jump out");
	ok(insns_find(&s, 3) == &s.list.data[2], "found at its beginning");
	ok(!insns_find(&s, 4), "not inside it");
	ok(!insns_find(&s, 100), "nor behind all");
	insns_deinit(&s);
}

/* A jump over bytes that, decoded, would swallow what follows. */
static void test_data(void)
{
	struct insns s;

	/* jmp +1; 0xe8 (call?); nop; ret; then an inner jump to the nop makes the contradiction */
	decode(CODE(0xeb, 0x01, 0xe8, 0x90, 0x90, 0x90, 0xc3), &s);
	ok(s.is_partial, "data in between is noticed");
	ok(insns_find(&s, 3), "what the jump reaches is an instruction");
	ok(!insns_find(&s, 2), "the data is none");
	is_int(last(&s)->kind, INSN_RET, "and its end is found");
	insns_deinit(&s);
	decode(CODE(0x90, 0xc3, 0x06), &s); /* 06: no instruction in 64-bit code */
	ok(s.is_partial, "bytes that are no instruction");
	is_int(s.list.len, 2, "do not take the others along");
	insns_deinit(&s);
	decode(NULL, 0, &s);
	is_int(s.list.len, 0, "no code, no instructions");
	insns_deinit(&s);
}

static void test_entry(void)
{
	is_int(arch.insns->entry_skip(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x55)), 4, "endbr64; push %rbp");
	is_int(arch.insns->entry_skip(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x41, 0x57)), 4,
	       "endbr64; push %r15");
	is_int(arch.insns->entry_skip(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x0f, 0x1f, 0x44, 0, 0)), 4,
	       "endbr64; 5-byte nop");
	is_int(arch.insns->entry_skip(CODE(0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xf8)), 0,
	       "endbr64; mov: nothing is won");
	is_int(arch.insns->entry_skip(CODE(0xf3, 0x0f, 0x1e, 0xfa)), 0, "endbr64 alone");
	is_int(arch.insns->entry_skip(CODE(0x55)), 0, "push");
	is_int(arch.insns->entry_skip(CODE(0xc5, 0xf9, 0x6e, 0xc6, 0x89, 0xf8)), 4, "vmovd; mov");
	is_int(arch.insns->entry_skip(
		       CODE(0xf3, 0x0f, 0x1e, 0xfa, 0xc5, 0xf9, 0xef, 0xc0, 0x89, 0xf8)),
	       8, "endbr64; vpxor; mov");
	is_int(arch.insns->entry_skip(CODE(0xc5, 0xf9, 0xd7, 0xc0, 0x89, 0xf8)), 0,
	       "vpmovmskb writes a register that is no vector");
	is_int(arch.insns->entry_skip(CODE(0xc5, 0xf9, 0x6e, 0xc6, 0xf0, 0x01, 0x07)), 0,
	       "vmovd; lock: not there either");
}

static void test_refused(void)
{
	ok(arch.insns->is_refused(CODE(0xf0, 0xff, 0x0f)), "lock");
	ok(arch.insns->is_refused(CODE(0x3e, 0xff, 0xe0)), "ds");
	ok(arch.insns->is_refused(CODE(0xcc)), "int3");
	ok(arch.insns->is_refused(CODE(0x66, 0xf0, 0x01, 0x07)), "lock after another prefix");
	ok(!arch.insns->is_refused(CODE(0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0)), "fs is fine");
	ok(arch.insns->is_refused(CODE(0xc5, 0xfa, 0x6f, 0x61, 0x80)), "vmovdqu");
	ok(arch.insns->is_refused(CODE(0xc4, 0xc1, 0x7a, 0x6f, 0x53, 0x20)),
	   "vmovdqu with a long prefix");
	ok(arch.insns->is_refused(CODE(0xc4, 0xe3, 0xf9, 0x6b, 0xc2, 0x10)), "FMA4");
	ok(arch.insns->is_refused(CODE(0xc5, 0xf8, 0x77)), "vzeroupper: the kernel would jump");
	ok(arch.insns->is_refused(CODE(0x62, 0xe2, 0x7d, 0x28, 0x7a, 0xc6)), "vpbroadcastb");
	ok(arch.insns->is_refused(CODE(0x8f, 0xe8, 0x78, 0xc2, 0xc0, 0x08)), "XOP");
	ok(!arch.insns->is_refused(CODE(0x8f, 0xc0)), "pop is fine");
	ok(arch.insns->is_refused(CODE(0x66, 0x66, 0x48, 0xe8, 0, 0, 0, 0)),
	   "a call with a prefix");
	ok(!arch.insns->is_refused(CODE(0x66, 0x90)), "a nop with one is fine");
	ok(!arch.insns->is_refused(CODE(0x48, 0x89, 0xf8)), "mov is fine");
	ok(!arch.insns->is_refused(CODE(0x0f, 0x0b)), "two-byte opcodes are");
	ok(!arch.insns->is_refused(CODE(0x55)), "push is fine");
	ok(arch.insns->is_refused(CODE(0x0f, 0xa2)), "cpuid: its trap may be lost");
	ok(arch.insns->is_refused(CODE(0x66, 0x0f, 0xa2)), "cpuid with a prefix");
	ok(!arch.insns->is_refused(CODE(0x0f, 0xa3, 0xc8)), "bt is fine");
}

int main(void)
{
	test_kinds();
	test_targets();
	test_data();
	test_entry();
	test_refused();
	return tap_done();
}
