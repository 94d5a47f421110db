/* SPDX-License-Identifier: MIT */
/*
 * What a firing costs: one function with stubs of several kinds, in this process.
 *
 * Prints for each the nanoseconds of CPU that it adds to a call, the least of many rounds.
 */
#include "arch/arch.h"
#include "arch/patch.h"

#include <sys/mman.h>
#include <sys/rseq.h>
#include <time.h>

#define AREA   0x10000
#define ROUNDS 41
#define CALLS  100000
#define FUNC   0x2000 /* called by STUB_CALL: ret */
#define STUBS  0x3000
#define COUNTS 0x8000
#define SWITCH 0xc000

typedef uint64_t victim_fn(uint64_t);

/*
 * push rbp; mov rsp, rbp; push rbx; sub $8, rsp; mov rdi, rbx; lea 1(rbx), rax; add $8, rsp; pop
 * rbx; pop rbp; ret
 */
static const uint8_t victim[] = {0x55, 0x48, 0x89, 0xe5, 0x53, 0x48, 0x83, 0xec,
				 0x08, 0x48, 0x89, 0xfb, 0x48, 0x8d, 0x43, 0x01,
				 0x48, 0x83, 0xc4, 0x08, 0x5b, 0x5d, 0xc3};
static const uint8_t entry_ins[] = {0, 3, 4}; /* behind the push */
static const uint8_t exit_ins[] = {0, 4, 5, 6};
#define ENTRY	  1
#define ENTRY_LEN 8
#define EXIT	  16
#define EXIT_LEN  7
#define EXIT_RET  6

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double round_run(victim_fn *f)
{
	double t = cpu_ns();
	volatile uint64_t sum = 0;

	for (uint64_t i = 0; i < CALLS; i++)
		sum += f(i);
	(void)sum;
	return (cpu_ns() - t) / CALLS;
}

struct variant {
	const char *name;
	bool has_entry, has_exit, has_body, has_flags, has_red_zone;
	uint32_t destroys; /* by a function */
	enum stub_kind kind;
	uint8_t *code;
	double best;
};

static uint32_t window_patch(uint8_t *area, uint32_t stub_off, uint8_t *at, const uint8_t *ins,
			     uint8_t nins, uint8_t len, uint8_t body_off, const struct variant *v)
{
	struct stub_env env = {.code = (uint64_t)area + stub_off,
			       .switch_addr = (uint64_t)area + SWITCH,
			       .rseq_cpu = (int32_t)__rseq_offset + 4,
			       .cpu_mask = 63,
			       .cpu_shift = 6};
	struct stub_body b = {.kind = v->kind,
			      .destroys = v->destroys,
			      .off = body_off,
			      .counter = (uint64_t)area + COUNTS,
			      .func = (uint64_t)area + FUNC,
			      .pc = (uint64_t)at};
	uint8_t code[16];
	struct stub_window w = {.addr = (uint64_t)at,
				.code = code,
				.len = len,
				.nins = nins,
				.ins = ins,
				.nbodies = v->has_body,
				.bodies = &b,
				.has_flags = v->has_flags,
				.has_red_zone = v->has_red_zone};
	struct stub s;
	const char *why;

	memcpy(code, at, len);
	why = arch.stubs->make(&w, &env, area + stub_off, STUB_SIZE_MAX, &s);
	if (why || !arch_patch->jump_make((uint64_t)at, env.code, at))
		BUG("no stub: %s", why);
	return ROUND_UP(stub_off + s.size, 64u);
}

int main(void)
{
	struct variant variants[] = {
		{.name = "untraced"},
		{.name = "jump there and back", .has_entry = true},
		{.name = "count", .has_entry = true, .has_body = true},
		{.name = "count, flags kept",
		 .has_entry = true,
		 .has_body = true,
		 .has_flags = true},
		{.name = "count, flags and red zone kept",
		 .has_entry = true,
		 .has_body = true,
		 .has_flags = true,
		 .has_red_zone = true},
		{.name = "count at the return", .has_exit = true, .has_body = true},
		{.name = "count at entry and return",
		 .has_entry = true,
		 .has_exit = true,
		 .has_body = true,
		 .has_flags = true},
		{.name = "call of a function",
		 .has_entry = true,
		 .has_body = true,
		 .kind = STUB_CALL},
		{.name = "call of a function that destroys all registers",
		 .has_entry = true,
		 .has_body = true,
		 .kind = STUB_CALL,
		 .destroys = STUB_FRAME_ALL},
		{.name = "call of a function at entry and return",
		 .has_entry = true,
		 .has_exit = true,
		 .has_body = true,
		 .kind = STUB_CALL},
	};
	uint8_t *area = mmap(NULL, AREA, PROT_READ | PROT_WRITE | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t stub_off = STUBS;

	if (area == MAP_FAILED || !arch.stubs)
		return 1;
	area[FUNC] = 0xc3;
	area[SWITCH] = 1;
	for (uint32_t i = 0; i < ARRAY_LEN(variants); i++) {
		struct variant *v = &variants[i];

		v->code = area + i * 64;
		v->best = 1e9;
		memcpy(v->code, victim, sizeof(victim));
		if (v->has_entry)
			stub_off = window_patch(area, stub_off, v->code + ENTRY, entry_ins,
						ARRAY_LEN(entry_ins), ENTRY_LEN, 0, v);
		if (v->has_exit)
			stub_off = window_patch(area, stub_off, v->code + EXIT, exit_ins,
						ARRAY_LEN(exit_ins), EXIT_LEN, EXIT_RET, v);
	}
	for (int round = 0; round < ROUNDS; round++)
		for (uint32_t i = 0; i < ARRAY_LEN(variants); i++) {
			double t = round_run((victim_fn *)(void *)variants[i].code);

			variants[i].best = MIN(variants[i].best, t);
		}
	for (uint32_t i = 0; i < ARRAY_LEN(variants); i++)
		printf("%6.1f ns  %+6.1f  %s\n", variants[i].best,
		       variants[i].best - variants[0].best, variants[i].name);
	return 0;
}
