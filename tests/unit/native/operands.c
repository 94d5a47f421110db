/* SPDX-License-Identifier: MIT */
/* Arguments of programs' own probes: each kind of operand, as code in this process reads it. */
#include "prog.h"
#include "tap.h"

#include "arch/arch.h"

#define RAX_OFF (uint32_t) offsetof(struct native_frame, rax)
#define RDX_OFF (uint32_t) offsetof(struct native_frame, rdx)
#define NTRACED 10u

/* Makes f:entry a probe of the program, and g:entry an instruction without arguments. */
static void spots_set(struct nx *x)
{
	x->unit.probes[0].spot = SPOT_USDT;
	x->unit.probes[2].spot = SPOT_INSN;
}

/* f:entry with these operands. */
static struct nx *own_create(const char *text, const struct usdt_operands *ops)
{
	struct nx *x = nx_create(text);

	nx_lay_out(x);
	spots_set(x);
	x->sites[SITE_F_ENTRY].operands = ops;
	x->sites[SITE_F_ENTRY].rel = 1;
	nx_make(x, &(struct nrun_opts){0});
	return x;
}

static struct usdt_operand reg(uint32_t off, uint8_t size, bool is_signed)
{
	return (struct usdt_operand){.kind = USDT_OPERAND_REGISTER,
				     .base = off,
				     .size = size,
				     .is_signed = is_signed};
}

static struct usdt_operand stack(int64_t disp, uint8_t size, bool is_signed)
{
	return (struct usdt_operand){.kind = USDT_OPERAND_MEMORY,
				     .has_base = true,
				     .base = arch.sp,
				     .disp = disp,
				     .size = size,
				     .is_signed = is_signed};
}

static void list_test(const char *what, const struct usdt_operand *list,
		      const struct native_frame *f, const int64_t *want)
{
	static const char text[] = "pid1:a.out:f:entry { trace(arg0); trace(arg1); trace(arg2); "
				   "trace(arg3); trace(arg4); trace(arg5); trace(arg6); "
				   "trace(arg7); trace(arg8); trace(arg9); }";
	struct usdt_operands ops = {.n = NTRACED};
	struct nx *x;

	memcpy(ops.list, list, NTRACED * sizeof(*list));
	x = own_create(text, &ops);
	ok(x->run != NULL, "%s: %s", what, x->run ? "compiled" : err_text(x->refused));
	for (uint32_t i = 0; x->run && i < NTRACED; i++) {
		nrun_fire(x->run, SITE_F_ENTRY, f);
		ok(nx_field(x, 0, i, 0) == want[i], "%s: argument %u", what, i);
	}
	nx_destroy(x);
}

static void test_registers(void)
{
	const struct native_frame f = {.rax = 0xfedcba98f6d5c4b3, .rdx = 0x7fee};
	const struct usdt_operand list[NTRACED] = {
		reg(RAX_OFF, 1, true),	   reg(RAX_OFF, 1, false), reg(RAX_OFF, 2, true),
		reg(RAX_OFF, 2, false),	   reg(RAX_OFF, 4, true),  reg(RAX_OFF, 4, false),
		reg(RAX_OFF, 8, true),	   reg(RAX_OFF, 8, false), reg(RAX_OFF + 1, 1, false),
		reg(RDX_OFF + 1, 1, true),
	};
	const int64_t want[NTRACED] = {(int8_t)0xb3,
				       0xb3,
				       (int16_t)0xc4b3,
				       0xc4b3,
				       (int32_t)0xf6d5c4b3,
				       0xf6d5c4b3,
				       (int64_t)0xfedcba98f6d5c4b3,
				       (int64_t)0xfedcba98f6d5c4b3,
				       0xc4,
				       0x7f};

	list_test("registers", list, &f, want);
}

static void test_others(void)
{
	uint64_t words[8] = {0xff80, 0, 0x8000000000000001, 0xfffffffe};
	const struct native_frame f = {.rax = 0x1000,
				       .rdx = 0x30,
				       .rsp = (uintptr_t)&words[1],
				       .pc = 0x401000};
	const struct usdt_operand list[NTRACED] = {
		{.kind = USDT_OPERAND_CONST, .disp = 0x1ff, .size = 1, .is_signed = true},
		{.kind = USDT_OPERAND_CONST, .disp = -2, .size = 4},
		{.kind = USDT_OPERAND_NONE, .size = 8},
		stack(-8, 1, true),
		stack(-8, 2, false),
		stack(8, 8, true),
		stack(16, 4, true),
		{.kind = USDT_OPERAND_ADDRESS,
		 .has_base = true,
		 .base = RAX_OFF,
		 .has_index = true,
		 .index = RDX_OFF,
		 .scale = 4,
		 .disp = -1,
		 .size = 8},
		{.kind = USDT_OPERAND_ADDRESS,
		 .has_base = true,
		 .base = arch.pc,
		 .disp = 0x234,
		 .size = 8},
		reg(arch.sp, 8, false),
	};
	const int64_t want[NTRACED] = {-1,	 0xfffffffe,
				       0,	 -128,
				       0xff80,	 (int64_t)0x8000000000000001,
				       -2,	 0x10bf,
				       0x401234, (int64_t)(uintptr_t)&words[1]};

	list_test("numbers, addresses, the stack", list, &f, want);
}

static void test_far(void)
{
	static const char text[] = "pid1:a.out:f:entry { trace(arg0); }";
	struct usdt_operands ops = {.n = 1, .list = {stack(0, 8, false)}};
	struct usdt_operand *o = ops.list;
	struct nx *x;

	ok(native_operand_of(o) == NATIVE_OPERAND_STACK, "a word of the stack");
	o->has_index = true;
	ok(native_operand_of(o) == NATIVE_OPERAND_FAR, "an array on it");
	o->has_index = false;
	o->is_thread = true;
	ok(native_operand_of(o) == NATIVE_OPERAND_FAR, "memory of the thread");
	o->is_thread = false;
	o->base = RAX_OFF;
	ok(native_operand_of(o) == NATIVE_OPERAND_FAR, "memory at another register");
	x = own_create(text, &ops);
	ok(!x->run && strstr(err_text(x->refused), "in memory that only the kernel reads"),
	   "is refused");
	nx_destroy(x);
	x = own_create("pid1:a.out:f:entry { @ = count(); }", &ops);
	ok(x->run != NULL, "unless nobody reads it");
	nx_destroy(x);
}

/* Two sites of a probe whose operands differ. */
static void test_sites(void)
{
	const struct usdt_operands ops[] = {{.n = 1, .list = {reg(RAX_OFF, 8, false)}},
					    {.n = 1, .list = {reg(RDX_OFF, 8, false)}}};
	const struct native_frame f = {.rax = 11, .rdx = 22};
	struct nx *x = nx_create("pid1:a.out:f:entry { trace(arg0); trace(arg1); }");

	nx_lay_out(x);
	spots_set(x);
	x->sites[SITE_F_ENTRY].operands = &ops[0];
	x->sites[SITE_F_ENTRY].rel = 1;
	x->sites[SITE_F_RETURN] = (struct native_site){.probe = 0, .rel = 2, .operands = &ops[1]};
	nx_make(x, &(struct nrun_opts){0});
	ok(x->run != NULL, "two sites");
	for (uint32_t i = 0; x->run && i < 2; i++) {
		nrun_fire(x->run, i ? SITE_F_RETURN : SITE_F_ENTRY, &f);
		is_int(nx_field(x, 0, 0, 0), i ? 22 : 11, "each has its own operands");
	}
	nrun_fire(x->run, SITE_F_ENTRY, &f);
	is_int(nx_field(x, 0, 1, 0), 0, "an argument that the probe does not have");
	nx_destroy(x);
}

int main(void)
{
	test_registers();
	test_others();
	test_far();
	test_sites();
	return tap_done();
}
