/* SPDX-License-Identifier: MIT */
/* Stubs: instructions that are moved do the same, bodies change nothing; what cannot be moved. */
#include "../../hammer/steps.h"
#include "tap.h"

#define LO     0x400000ull
#define HI     0x410000ull
#define AT     0x401ff9ull /* near the end of a page */
#define STATES 40

/* A window in bytes; the lengths of its instructions. */
struct sample {
	const char *name;
	uint8_t code[32];
	uint8_t lens[8];
	int exit; /* index of the instruction that is an exit; -1: none */
	bool has_red_zone, has_flags;
};

/* clang-format off */
static const struct sample moved[] = {
	{"pushes", {0x55, 0x48, 0x89, 0xe5, 0x41, 0x57}, {1, 3, 2}, -1, false, false},
	{"registers and flags",
	 {0x48, 0x01, 0xf7, 0x48, 0x11, 0xd6, 0xf9}, {3, 3, 1}, -1, true, true},
	{"loads and stores",
	 {0x48, 0x8b, 0x07, 0x89, 0x56, 0x10, 0x0f, 0xb6, 0x11}, {3, 3, 3}, -1, true, true},
	{"the red zone",
	 {0x48, 0x89, 0x7c, 0x24, 0x88, 0x48, 0x03, 0x44, 0x24, 0xf8}, {5, 5}, -1, true, true},
	{"relative to rip: load", {0x48, 0x8b, 0x05, 0x34, 0x12, 0x00, 0x00}, {7}, -1, true, true},
	{"relative to rip: store of a constant",
	 {0xc7, 0x05, 0x40, 0x10, 0x00, 0x00, 0x11, 0x22, 0x33, 0x44}, {10}, -1, true, true},
	{"relative to rip: address, vector",
	 {0x48, 0x8d, 0x3d, 0xf0, 0xff, 0xff, 0xff, 0xc5, 0xf9, 0x6f, 0x05, 0x00, 0x20, 0x00, 0x00},
	 {7, 8}, -1, true, true},
	{"relative to rip: comparison with a byte",
	 {0x80, 0x3d, 0x11, 0x30, 0x00, 0x00, 0x80, 0x0f, 0x94, 0xc0}, {7, 3}, -1, true, true},
	{"jcc rel8", {0x48, 0x39, 0xf7, 0x75, 0x30}, {3, 2}, 1, true, true},
	{"jcc rel8 backward", {0x48, 0x85, 0xff, 0x78, 0x80}, {3, 2}, 1, true, true},
	{"jcc rel32", {0x0f, 0x87, 0x00, 0x10, 0x00, 0x00}, {6}, 0, true, true},
	{"jcc to its window", {0x48, 0xff, 0xcf, 0x75, 0xfb}, {3, 2}, -1, true, true},
	{"jcc, then more", {0x74, 0x20, 0x48, 0x89, 0xf8}, {2, 3}, -1, true, true},
	{"jmp rel8", {0x48, 0x89, 0xf8, 0xeb, 0x40}, {3, 2}, 1, true, true},
	{"jmp rel32", {0xe9, 0x00, 0x20, 0x00, 0x00}, {5}, 0, false, false},
	{"jmp through a register", {0x90, 0x90, 0x90, 0xff, 0xe0}, {1, 1, 1, 2}, 3, true, true},
	{"jmp through memory", {0xff, 0x25, 0x10, 0x20, 0x00, 0x00}, {6}, 0, true, true},
	{"jmp through a table", {0xff, 0x24, 0xcf, 0x90, 0x90}, {3}, 0, true, true},
	{"loop", {0x90, 0x90, 0x90, 0xe2, 0x10}, {1, 1, 1, 2}, -1, true, true},
	{"loopne, backward", {0x90, 0x90, 0x90, 0xe0, 0xd0}, {1, 1, 1, 2}, -1, true, true},
	{"jrcxz", {0x48, 0x89, 0xf0, 0xe3, 0x7f}, {3, 2}, 1, true, true},
	{"jecxz", {0x90, 0x90, 0x67, 0xe3, 0x33}, {1, 1, 3}, 2, true, true},
	{"call", {0x31, 0xc0, 0xe8, 0x00, 0x30, 0x00, 0x00}, {2, 5}, -1, true, true},
	{"call with an idle prefix", {0x67, 0xe8, 0x00, 0x30, 0x00, 0x00}, {6}, -1, true, true},
	{"call with idle prefixes and rex.w",
	 {0x66, 0x66, 0x48, 0xe8, 0x00, 0x30, 0x00, 0x00}, {8}, -1, true, true},
	{"call through a register", {0x48, 0x89, 0xfe, 0xff, 0xd0}, {3, 2}, -1, true, true},
	{"call through r12", {0x90, 0x90, 0x41, 0xff, 0xd4}, {1, 1, 3}, -1, true, true},
	{"call through memory", {0x90, 0x90, 0xff, 0x50, 0x18}, {1, 1, 3}, -1, true, true},
	{"call through memory of r12", {0x41, 0xff, 0x54, 0x24, 0x20}, {5}, -1, true, true},
	{"call through memory relative to rip",
	 {0xff, 0x15, 0x21, 0x40, 0x00, 0x00}, {6}, -1, true, true},
	{"ret", {0x5b, 0x5d, 0x41, 0x5c, 0xc3}, {1, 1, 2, 1}, 3, false, true},
	{"ret with a number", {0x5d, 0xc2, 0x10, 0x00, 0x90}, {1, 3}, 1, false, true},
	{"rep ret", {0x48, 0x89, 0xd0, 0xf3, 0xc3}, {3, 2}, 1, false, true},
	{"leave, ret", {0xc9, 0xc3}, {1, 1}, 1, false, true},
	{"ud2", {0x48, 0x89, 0xd0, 0x0f, 0x0b}, {3, 2}, -1, true, true},
	{"a division", {0x31, 0xd2, 0x48, 0xf7, 0xf6}, {2, 3}, -1, true, true},
	{"rep movsb", {0xf3, 0xa4, 0x48, 0x89, 0xc8}, {2, 3}, -1, true, true},
	{"std, cld", {0xfd, 0x90, 0xa4, 0x90, 0xfc}, {1, 1, 1, 1, 1}, -1, true, true},
	{"lock", {0xf0, 0x48, 0x0f, 0xc1, 0x07}, {5}, -1, true, true},
	{"xmm", {0x66, 0x0f, 0xef, 0xc1, 0x0f, 0x11, 0x06}, {4, 3}, -1, true, true},
	{"push and pop of the stack pointer",
	 {0x54, 0x5c, 0x90, 0x90, 0x90}, {1, 1, 1, 1, 1}, -1, true, true},
	{"flags pushed", {0x9c, 0x58, 0x48, 0x89, 0xc3}, {1, 1, 3}, -1, true, true},
	{"the thread's block",
	 {0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0x00, 0x00, 0x00}, {9}, -1, true, true},
	{"endbr64", {0xf3, 0x0f, 0x1e, 0xfa, 0x53}, {4, 1}, -1, false, true},
	{"flags that nothing reads", {0x53, 0x48, 0x83, 0xec, 0x10}, {1, 4}, -1, true, false},
	{"the same, and no red zone", {0x48, 0x81, 0xec, 0x08, 0x01, 0x00, 0x00}, {7}, -1, false, false},
};

static const struct sample refused[] = {
	{"syscall", {0x0f, 0x05, 0x90, 0x90, 0x90}, {2, 1, 1, 1}, -1, true, true},
	{"sysenter", {0x0f, 0x34, 0x90, 0x90, 0x90}, {2, 1, 1, 1}, -1, true, true},
	{"int", {0xcd, 0x80, 0x90, 0x90, 0x90}, {2, 1, 1, 1}, -1, true, true},
	{"int3", {0xcc, 0x90, 0x90, 0x90, 0x90}, {1, 1, 1, 1, 1}, -1, true, true},
	{"hlt", {0xf4, 0x90, 0x90, 0x90, 0x90}, {1, 1, 1, 1, 1}, -1, true, true},
	{"xbegin", {0xc7, 0xf8, 0x10, 0x00, 0x00, 0x00}, {6}, -1, true, true},
	{"iretq", {0x48, 0xcf, 0x90, 0x90, 0x90}, {2, 1, 1, 1}, -1, true, true},
	{"a far return", {0xcb, 0x90, 0x90, 0x90, 0x90}, {1}, -1, true, true},
	{"a call before the end", {0xe8, 0x00, 0x30, 0x00, 0x00, 0x90}, {5, 1}, -1, true, true},
	{"a call through the stack", {0x90, 0xff, 0x54, 0x24, 0x08}, {1, 4}, -1, true, true},
	{"a call through the stack pointer",
	 {0x90, 0x90, 0x90, 0xff, 0xd4}, {1, 1, 1, 2}, -1, true, true},
	{"a jump of 16 bits", {0x66, 0x75, 0x10, 0x90, 0x90}, {3, 1, 1}, -1, true, true},
	{"an operand with an address of 32 bits",
	 {0x67, 0x8b, 0x05, 0x00, 0x10, 0x00, 0x00}, {7}, -1, true, true},
	{"what is no instruction", {0x06, 0x90, 0x90, 0x90, 0x90}, {1, 1, 1, 1, 1}, -1, true, true},
	{"another length", {0x48, 0x89, 0xd0, 0x90, 0x90}, {4, 1}, -1, true, true},
	{"code that is not reached",
	 {0xc3, 0x90, 0x90, 0x90, 0x90}, {1, 1, 1, 1, 1}, -1, true, true},
};
/* clang-format on */

static struct stub_window window_make(const struct sample *t, uint8_t *ins, uint32_t *ret_exit)
{
	struct stub_window w = {.addr = AT,
				.code = t->code,
				.ins = ins,
				.has_red_zone = t->has_red_zone,
				.has_flags = t->has_flags};

	for (int i = 0; i < 8 && t->lens[i]; i++) {
		if (i == t->exit)
			*ret_exit = w.len;
		ins[w.nins++] = w.len;
		w.len = (uint8_t)(w.len + t->lens[i]);
	}
	if (t->exit < 0)
		*ret_exit = w.len;
	return w;
}

static void test_moved(void)
{
	static struct steps *s; /* its maps are there until the program ends */
	uint32_t bodies = 0, owned = 0;
	uint32_t ntests = 0, several = 0;

	s = steps_create(LO, HI);
	for (size_t i = 0; i < ARRAY_LEN(moved); i++) {
		uint8_t ins[8];
		uint32_t exit_off = 0;
		struct stub_window w = window_make(&moved[i], ins, &exit_off);
		struct steps_result r;

		/* that bodies show flags which the program does not read is seldom to be seen */
		steps_try(s, &w, exit_off, w.has_flags ? STATES : 10 * STATES, i + 7, &r);
		if (!ok(!r.why[0] && r.states > STATES / 4 && r.bodies > STATES / 8,
			"%s (%u states)", moved[i].name, r.states))
			printf("# %s; %u faults, %u bodies\n", r.why, r.faults, r.bodies);
		bodies += r.bodies;
		owned += r.owned;
		ntests += r.tests;
		several += r.several;
	}
	ok(owned > bodies / 50 && owned < bodies / 2,
	   "some of them are counted by the owner of the words (%u of %u)", owned, bodies);
	ok(several > ARRAY_LEN(moved) * STATES / 8, "%u stubs had more than one", several);
	ok(ntests > STATES, "%u relays had tests that were not true", ntests);
}

/*
 * A jump to a few instructions up to a return: the stub has a copy of them, at the end of which the
 * body runs, with the registers that it has there.
 */
static void test_tails(void)
{
	/* cmp %rsi, %rdi; jne tail; more. tail: mov 0x1000(%rip), %rax; pop %rbx; ret */
	static const uint8_t code[] = {0x48, 0x39, 0xf7, 0x75, 0x30, 0x90};
	static const uint8_t tail[] = {0x48, 0x8b, 0x05, 0x00, 0x10, 0x00, 0x00, 0x5b, 0xc3};
	static const uint8_t jump[] = {0x90, 0x90, 0x90, 0xeb, 0x30};
	static const uint8_t ins[] = {0, 3, 5}, tail_ins[] = {0, 7, 8}, jump_ins[] = {0, 1, 2, 3};
	const struct stub_body body = {.off = 3, .is_exit = true, .has_tail = true};
	struct stub_window w = {.addr = AT,
				.code = code,
				.len = sizeof(code),
				.nins = 3,
				.ins = ins,
				.nbodies = 1,
				.bodies = &body,
				.has_red_zone = true,
				.has_flags = true,
				.tail = AT + 5 + 0x30,
				.tail_code = tail,
				.tail_ins = tail_ins,
				.tail_len = sizeof(tail),
				.tail_nins = 3};
	static struct steps *s; /* its maps are there until the program ends */
	uint8_t buf[STUB_SIZE_MAX];
	struct steps_result r;
	struct stub ret;

	s = steps_create(LO, HI);
	steps_try(s, &w, 3, 2 * STATES, 1, &r);
	ok(!r.why[0] && r.tails > STATES / 4 && r.bodies > STATES / 4, "a tail behind jcc: %u, %s",
	   r.tails, r.why);
	w.code = jump;
	w.len = sizeof(jump);
	w.ins = jump_ins;
	w.nins = 4;
	steps_try(s, &w, 3, 2 * STATES, 2, &r);
	ok(!r.why[0] && r.tails > STATES / 4 && r.bodies > STATES / 4, "a tail behind jmp: %u, %s",
	   r.tails, r.why);
	w.tail_len = 8;
	w.tail_nins = 2;
	ok(arch.stubs->make(&w, &(struct stub_env){.code = AT + 0x1000, .switch_addr = AT}, buf,
			    sizeof(buf), &ret) != NULL,
	   "none that does not return");
}

static const struct stub_env env = {.code = 0x500000, .switch_addr = 0x600000};

static void test_refused(void)
{
	for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
		uint8_t ins[8], buf[STUB_SIZE_MAX];
		uint32_t exit_off;
		struct stub_window w = window_make(&refused[i], ins, &exit_off);
		struct stub ret;
		const char *why = arch.stubs->make(&w, &env, buf, sizeof(buf), &ret);

		ok(why != NULL, "%s: %s", refused[i].name, why ? why : "moved");
	}
}

/* As many relays with as many tests as there may be. */
static void test_limits_of_tests(const struct stub_window *call)
{
	struct stub_body b[2] = {{.kind = STUB_RELAY, .func = 0x700000, .slot = 0x710000}};
	struct stub_window w = *call;
	uint8_t buf[STUB_SIZE_MAX];
	struct stub ret = {0};
	const char *why;

	for (uint32_t i = 0; i < STUB_TESTS_MAX; i++)
		b[0].tests[i] = (struct stub_test){.kind = (enum stub_test_kind)i,
						   .reg = 14,
						   .times = i == STUB_TEST_LEFT ? 14 : 0,
						   .addr = 0x720000};
	b[0].ntests = STUB_TESTS_MAX;
	b[1] = b[0];
	w.bodies = b;
	w.nbodies = 2;
	w.has_red_zone = w.has_flags = true;
	why = arch.stubs->make(&w, &env, buf, sizeof(buf), &ret);
	ok(!why && ret.goes_on[0] < ret.goes_on[1], "relays with tests: %u bytes, %s", ret.size,
	   why ? why : "made");
	for (uint8_t reg = 10; reg <= 12; reg++) {
		b[0].tests[STUB_TEST_LEFT].times = (uint8_t)(reg + 1);
		ok(arch.stubs->make(&w, &env, buf, sizeof(buf), &ret) != NULL,
		   "not of register %u, which tests use", reg);
	}
	b[0].tests[STUB_TEST_LEFT].times = 0;
	b[0].ntests = STUB_TESTS_MAX + 1;
	ok(arch.stubs->make(&w, &env, buf, sizeof(buf), &ret) != NULL, "nor too many");
}

static void test_limits(void)
{
	const struct sample call = {.code = {0xe8, 0x00, 0x30, 0x00, 0x00},
				    .lens = {5},
				    .exit = -1};
	const struct stub_body b = {.kind = STUB_CALL, .func = 0x700000};
	const struct stub_body count = {.kind = STUB_COUNT, .counter = 0x700000, .own = 0x700100};
	uint8_t ins[8], buf[STUB_SIZE_MAX];
	uint32_t exit_off;
	struct stub_window w = window_make(&call, ins, &exit_off);
	struct stub_env far = env, shadow = env;
	struct stub ret;

	far.code = 0x500000 + (1ull << 32);
	shadow.has_shadow_stack = true;
	ok(!arch.stubs->make(&w, &env, buf, sizeof(buf), &ret), "a call can be moved");
	ok(arch.stubs->make(&w, &shadow, buf, sizeof(buf), &ret) != NULL,
	   "not with a shadow stack");
	ok(arch.stubs->make(&w, &far, buf, sizeof(buf), &ret) != NULL, "not too far away");
	ok(arch.stubs->make(&w, &env, buf, 12, &ret) != NULL, "not into too little room");
	w.bodies = &b;
	w.nbodies = 1;
	ok(!arch.stubs->make(&w, &env, buf, sizeof(buf), &ret), "with a body");
	test_limits_of_tests(&w);
	far = env;
	far.switch_addr = 1ull << 40;
	ok(arch.stubs->make(&w, &far, buf, sizeof(buf), &ret) != NULL,
	   "not if the switch is too far away");
	w.bodies = &count;
	far = env;
	far.owner_addr = 1ull << 40;
	ok(arch.stubs->make(&w, &far, buf, sizeof(buf), &ret) != NULL,
	   "not if the word of the owner is too far away");
	ok(arch.stubs->locked_make(&env, buf, sizeof(buf)) > 0, "the function of all stubs");
	is_int(arch.stubs->locked_make(&env, buf, 12), 0, "not in too little room");
	far = env;
	far.switch_addr = 1ull << 40;
	is_int(arch.stubs->locked_make(&far, buf, sizeof(buf)), 0, "nor far from the switch");
}

int main(void)
{
	if (!arch.stubs) {
		ok(true, "stubs # SKIP there are none for this processor");
		return tap_done();
	}
	test_refused();
	test_limits();
	test_moved();
	test_tails();
	return tap_done();
}
