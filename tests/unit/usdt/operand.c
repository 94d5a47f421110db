/* SPDX-License-Identifier: MIT */
/* Operands of notes: every form, and text that is none. */
#include "usdt/operand.h"
#include "arch/arch.h"
#include "tap.h"

#define PC 0x1000u

static bool symbol(void *ctx, const char *name, bool is_thread, uint64_t *ret)
{
	(void)ctx;
	*ret = is_thread ? (uint64_t)-64 : 0x5000;
	return strcmp(name, is_thread ? "tls" : "foo") == 0;
}

static const struct usdt_image program = {.word = 8, .is_program = true, .symbol = symbol},
			       fixed = {.word = 8,
					.is_program = true,
					.is_fixed = true,
					.symbol = symbol},
			       library = {.word = 8, .symbol = symbol},
			       program32 = {.word = 4, .is_program = true, .symbol = symbol};

/* An operand as text: "reg 80 4 s", "mem 80 8 u +16", "mem 80 40*8 ...". */
static void show(const struct usdt_operand *o, char *text, size_t size)
{
	static const char *const lacks[] = {"", " vector", " symbol", " thread"};
	char place[64] = "";

	if (o->is_thread)
		(void)snprintf(place, sizeof(place), " thread");
	if (o->has_base)
		(void)snprintf(place + strlen(place), sizeof(place) - strlen(place), " b%u",
			       o->base);
	if (o->has_index)
		(void)snprintf(place + strlen(place), sizeof(place) - strlen(place), " i%u*%u",
			       o->index, o->scale);
	switch ((enum usdt_operand_kind)o->kind) {
	case USDT_OPERAND_NONE:
		(void)snprintf(text, size, "none %u%s", o->size, lacks[o->lack]);
		return;
	case USDT_OPERAND_ADDRESS:
		(void)snprintf(text, size, "addr %u%s %lld", o->size, place, (long long)o->disp);
		return;
	case USDT_OPERAND_CONST:
		(void)snprintf(text, size, "const %u%s %lld", o->size, o->is_signed ? "s" : "",
			       (long long)o->disp);
		return;
	case USDT_OPERAND_REGISTER:
		(void)snprintf(text, size, "reg %u%s %u%s", o->size, o->is_signed ? "s" : "",
			       o->base, o->is_float ? " f" : "");
		return;
	case USDT_OPERAND_MEMORY:
		(void)snprintf(text, size, "mem %u%s%s %lld", o->size, o->is_signed ? "s" : "",
			       place, (long long)o->disp);
		return;
	}
}

static void test_forms(void)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{"8@%rdi", "reg 8 112"},
		{"-4@%eax", "reg 4s 80"},
		{"2@%ax", "reg 2 80"},
		{"1@%dil", "reg 1 112"},
		{"1@%ah", "reg 1 81"},
		{"1@%r15b", "reg 1 0"},
		{"-8@%r12", "reg 8s 24"},
		{"4@%r8d", "reg 4 72"},
		{"2@%r9w", "reg 2 64"},
		{"%rsi", "reg 8 104"},
		{"8f@%rax", "reg 8 80 f"},
		{"-4@$3", "const 4s 3"},
		{"8@$-1", "const 8 -1"},
		{"8@$0x10", "const 8 16"},
		{"-4@-20(%rbp)", "mem 4s b32 -20"},
		{"8@16(%rsp)", "mem 8 b152 16"},
		{"8@(%rax)", "mem 8 b80 0"},
		{"8@(%rax,%rbx)", "mem 8 b80 i40*1 0"},
		{"1@-1(%rdx,%rax,1)", "mem 1 b96 i80*1 -1"},
		{"8@0(,%rax,8)", "mem 8 i80*8 0"},
		{"4@foo(%rip)", "mem 4 b128 16384"},
		{"4@8+foo(%rip)", "mem 4 b128 16392"},
		{"4@foo+8(%rip)", "mem 4 b128 16392"},
		{"4@foo-8(%rip)", "mem 4 b128 16376"},
		{"8@4096", "mem 8 4096"},
		{"8@foo@GOTPCREL(%rip)", "addr 8 b128 16384"},
		{"4@8+foo@GOTOFF(%ebx)", "mem 4 b128 16392"},
		{"4@foo@GOTOFF(%ebx,%eax,4)", "mem 4 b128 i80*4 16384"},
		{"8@%fs:40", "mem 8 thread 40"},
		{"-8@%fs:tls@tpoff", "mem 8s thread -64"},
		{"-4@%fs:8+tls@tpoff", "mem 4s thread -56"},
		{"-4@%fs:(%rax)", "mem 4s thread b80 0"},
		/* nothing that can be read */
		{"8f@%xmm0", "none 8 vector"},
		{"8@%gs:40", "none 8 thread"},
		{"8@%fs:nosuch@tpoff", "none 8 symbol"},
		{"8@%fs:foo", "none 8 symbol"},
		{"8@tls@tpoff", "none 8 symbol"},
		{"8@%fs:", "none 8 thread"},
		{"4@bar(%rip)", "none 4 symbol"},
		{"4@foo@PLT(%rip)", "none 4 symbol"},
		{"4@foo", "none 4 symbol"},
		{"4@foo(%rax)", "none 4 symbol"},
		{"4@foo(,%rax,4)", "none 4 symbol"},
		{"4@8(%rip)", "none 4"},
		{"3@%rax", "none 8"},
		{"8@%nosuch", "none 8"},
		{"8@16(%rsp", "none 8"},
		{"8@16(%rsp)x", "none 8"},
		{"8@(%rax,%rbx,16)", "none 8"},
		{"8@9223372036854775807+9223372036854775807(%rax)", "mem 8 b80 -2"},
		{"8@", "none 8"},
		{"@%rax", "none 8"},
		{"%r7", "none 8"},
		{"%r16", "none 8"},
		{"%r", "none 8"},
	};
	struct usdt_operands ops;
	char text[128];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		usdt_operands_parse(rows[i].text, PC, &program, &ops);
		is_int(ops.n, 1, "one operand");
		show(&ops.list[0], text, sizeof(text));
		/* what is written like a number of memory, and is none, is absolute memory */
		is_str(text, rows[i].want, rows[i].text);
	}
}

static void test_lists(void)
{
	struct usdt_operands ops;

	usdt_operands_parse("", PC, &program, &ops);
	is_int(ops.n, 0, "no operands");
	usdt_operands_parse("  8@%rdi   -4@%esi ", PC, &program, &ops);
	is_int(ops.n, 2, "blanks around operands");
	usdt_operands_parse("8@%rdi 8@nonsense -4@$5", PC, &program, &ops);
	ok(ops.n == 3 && ops.list[1].kind == USDT_OPERAND_NONE && ops.list[2].disp == 5,
	   "one that cannot be read leaves the others");
	usdt_operands_parse("4@8(%ebp, %eax)", PC, &program32, &ops);
	is_int(ops.n, 1, "a blank in parentheses");
	usdt_operands_parse("1 2 3 4 5 6 7 8 9 10 11 12 13 14", PC, &program, &ops);
	is_int(ops.n, USDT_OPERANDS_MAX, "too many");
	usdt_operands_parse("%eax 4(%esp)", PC, &(struct usdt_image){.word = 4}, &ops);
	ok(ops.list[0].size == 4 && ops.list[1].size == 4, "a 32-bit program without sizes");
}

/* What an operand means depends on the file in which the note stands. */
static void test_files(void)
{
	static const struct {
		const struct usdt_image *im;
		const char *text, *want;
	} rows[] = {
		{&fixed, "4@foo", "mem 4 20480"},
		{&fixed, "4@foo+8", "mem 4 20488"},
		{&fixed, "4@foo(,%rdx,4)", "mem 4 i96*4 20480"},
		{&fixed, "4@foo(%rax)", "mem 4 b80 20480"},
		{&library, "8@foo@GOTPCREL(%rip)", "none 8 symbol"},
		{&library, "8@foo(%rip)", "mem 8 b128 16384"},
		{&library, "8@%fs:tls@tpoff", "none 8 symbol"},
		{&program32, "4@%gs:tls@ntpoff", "none 4 thread"},
		{&program32, "4@%fs:8", "none 4 thread"},
		{&program32, "4@8(%ebp)", "mem 4 b32 8"},
	};
	struct usdt_operands ops;
	char text[128];

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		usdt_operands_parse(rows[i].text, PC, rows[i].im, &ops);
		show(&ops.list[0], text, sizeof(text));
		is_str(text, rows[i].want, rows[i].text);
	}
}

int main(void)
{
	test_files();
	test_forms();
	test_lists();
	return tap_done();
}
