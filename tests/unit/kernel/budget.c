/* SPDX-License-Identifier: MIT */
/* The budget of calls and stack: chains of functions made by hand. */
#include "kernel/budget.h"
#include "tap.h"

#define INSN(code, dst, src, off, imm) ((struct bpf_insn){code, dst, src, off, imm})

struct chain {
	struct bpf_code code;
	struct linked l;
};

static void insn_add(struct chain *c, struct bpf_insn insn)
{
	vec_push(&c->l.insns, insn);
	vec_push(&c->code.insns, insn);
}

static void func_begin(struct chain *c, const char *name)
{
	vec_push(&c->l.funcs, (struct bpf_func_info){.insn_off = c->l.insns.len});
	vec_push(&c->code.funcs, (struct bpf_func){.start = c->l.insns.len, .name = name});
	c->l.nunit++;
}

/*
 * n functions, each calling the next, with stack bytes of stack each; the one numbered callback
 * gives the next to bpf_loop() instead.
 */
static void chain_make(struct chain *c, uint32_t n, int32_t stack, uint32_t callback)
{
	static const char *const names[] = {"f0", "f1", "f2", "f3", "f4",
					    "f5", "f6", "f7", "f8", "f9"};

	*c = (struct chain){.l.btf_fd = -1};
	for (uint32_t i = 0; i < n; i++) {
		func_begin(c, names[i]);
		insn_add(c, INSN(BPF_ST | BPF_MEM | BPF_DW, BPF_REG_10, 0, (int16_t)-stack, 0));
		if (i + 1 < n && i == callback) {
			insn_add(c, INSN(BPF_LD | BPF_DW | BPF_IMM, 2, BPF_PSEUDO_FUNC, 0, 2));
			insn_add(c, INSN(0, 0, 0, 0, 0));
		} else if (i + 1 < n) {
			insn_add(c, INSN(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1));
		}
		insn_add(c, INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	}
}

static void chain_drop(struct chain *c)
{
	linked_deinit(&c->l);
	bpf_code_deinit(&c->code);
}

static void check(uint32_t n, int32_t stack, uint32_t callback, uint32_t calls, uint32_t bytes,
		  const char *message)
{
	struct call_budget b;
	struct chain c;
	uint32_t insn = 0;
	struct err *e;

	chain_make(&c, n, stack, callback);
	e = budget_check(&c.l, &c.code, &b, &insn);
	is_int(b.calls, calls, "functions in the chain");
	is_int(b.stack, bytes, "bytes of stack");
	is_str(e ? err_text(e) : "", message, message[0] ? "refused" : "allowed");
	if (e) /* the last call: all functions here are the unit's own */
		is_int(insn, c.l.funcs.data[n - 2].insn_off + 1, "the call that goes too far");
	err_destroy(e);
	chain_drop(&c);
}

/* An address that is made from r10, as helpers get it. */
static void test_address(void)
{
	struct call_budget b;
	struct chain c = {.l.btf_fd = -1};
	uint32_t insn;
	struct err *e;

	func_begin(&c, "entry");
	insn_add(&c, INSN(BPF_ALU64 | BPF_MOV | BPF_X, 2, BPF_REG_10, 0, 0));
	insn_add(&c, INSN(BPF_ALU64 | BPF_MOV | BPF_K, 3, 0, 0, 8));
	insn_add(&c, INSN(BPF_ALU64 | BPF_ADD | BPF_K, 2, 0, 0, -100));
	insn_add(&c, INSN(BPF_ALU64 | BPF_ADD | BPF_K, 3, 0, 0, -4000));
	insn_add(&c, INSN(BPF_JMP | BPF_EXIT, 0, 0, 0, 0));
	e = budget_check(&c.l, &c.code, &b, &insn);
	ok(!e, "one function");
	is_int(b.stack, 128, "100 bytes by an address, rounded; what is no address does not count");
	err_destroy(e);
	chain_drop(&c);
}

int main(void)
{
	check(1, 8, UINT32_MAX, 1, 32, "");
	check(8, 64, UINT32_MAX, 8, 512, "");
	check(8, 64, 6, 8, 512, "");
	check(9, 8, UINT32_MAX, 9, 288,
	      "this takes 9 functions that call one another in the kernel, which allows 8: "
	      "f0 > f1 > f2 > f3 > f4 > f5 > f6 > f7 > f8");
	check(9, 8, 7, 9, 288,
	      "this takes 9 functions that call one another in the kernel, which allows 8: "
	      "f0 > f1 > f2 > f3 > f4 > f5 > f6 > f7 > f8");
	check(3, 200, UINT32_MAX, 3, 672,
	      "this takes 672 bytes of stack in the kernel, which allows 512: f0 > f1 > f2");
	test_address();
	return tap_done();
}
