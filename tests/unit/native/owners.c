/* SPDX-License-Identifier: MIT */
/*
 * A slot of live() gets another owner between any two instructions of code that fills or leaves it:
 * as if the thread had slept there for so long that the mark of the other one was due.
 *
 * Steps    SIGTRAP comes after each instruction (the trap flag). Behind one of them, in each run
 *          a later one, the handler takes the slot if the address is still at rest.
 */
#include "tap.h"

#include "prog.h"

#include <signal.h>
#include <ucontext.h>

#define FLAG_TRAP 0x100
#define ADDR	  0x1000ull
#define OTHER	  0x9000ull /* has the slot then */
#define WORD	  (ADDR ^ BLOB_LIVE_XOR)

static const struct blob_live at_rest = {.word = WORD, .time = WORD, .bytes = 1, .elem = 1},
			      taken = {.word = OTHER ^ BLOB_LIVE_XOR,
				       .time = 4711,
				       .bytes = 222,
				       .elem = 2};

static struct {
	bool is_on;
	uintptr_t code, end; /* instructions that count */
	uint32_t n, at;	     /* how many were executed; behind which one the slot is taken */
	struct blob_live *slot;
	bool is_taken;
} step;

static void trap_handle(int sig, siginfo_t *info, void *ctx)
{
	greg_t *g = ((ucontext_t *)ctx)->uc_mcontext.gregs;
	uintptr_t pc = (uintptr_t)g[REG_RIP];

	(void)sig, (void)info;
	if (!step.is_on) {
		g[REG_EFL] &= ~(greg_t)FLAG_TRAP;
		return;
	}
	g[REG_EFL] |= FLAG_TRAP;
	if (pc < step.code || pc >= step.end || step.n++ != step.at)
		return;
	if (step.slot->word != WORD || step.slot->time != WORD)
		return;
	*step.slot = taken;
	step.is_taken = true;
}

static void traps_begin(void)
{
	static uint8_t altstack[1 << 17];
	const stack_t ss = {.ss_sp = altstack, .ss_size = sizeof(altstack)};
	const struct sigaction sa = {.sa_sigaction = trap_handle,
				     .sa_flags = SA_SIGINFO | SA_ONSTACK};

	if (sigaltstack(&ss, NULL) || sigaction(SIGTRAP, &sa, NULL))
		BUG("no handler");
}

static struct blob_live *own_slot(const struct nrun *r)
{
	uint32_t bits = (uint32_t)__builtin_ctz(r->plan->own_slots);
	void *slots = r->data_map + r->plan->own_off;

	return (struct blob_live *)slots + blob_live_own(ADDR, 64 - bits);
}

/* A site, or the function of the blob that gives the address back. */
#define DEAD_FUNC NSITES
typedef void blob_dead_f(void *data, u64 addr, u64 until);

static void run_stepped(struct nrun *r, uint32_t site)
{
	const struct native_frame f = {.rax = ADDR, .rdi = ADDR};
	blob_dead_f *dead = (blob_dead_f *)(uintptr_t)(r->map + blob_entries[BLOB_DEAD]);

	step.is_on = true;
	__asm__ volatile("int3" ::: "memory");
	if (site == DEAD_FUNC)
		dead(r->data_map, ADDR, UINT64_MAX);
	else
		(void)nrun_time(r, site, &f, 1);
	__atomic_store_n(&step.is_on, false, __ATOMIC_SEQ_CST);
}

static bool slot_is(const struct blob_live *s)
{
	return step.slot->word == s->word && step.slot->time == s->time &&
	       step.slot->bytes == s->bytes && step.slot->elem == s->elem;
}

static void owner_check(struct nx *x, uint32_t site, const char *what)
{
	uint32_t ntaken = 0, nwrong = 0, first = 0;

	step.code = (uintptr_t)x->run->map;
	step.end = step.code + NRUN_CODE_SIZE;
	step.slot = own_slot(x->run);
	for (step.at = 0, step.n = 1; step.n > step.at; step.at++) {
		*step.slot = at_rest;
		step.n = 0;
		step.is_taken = false;
		run_stepped(x->run, site);
		if (!step.is_taken)
			continue;
		ntaken++;
		if (!slot_is(&taken) && !nwrong++)
			first = step.at;
	}
	ok(ntaken > 5, "%s: taken behind %u of %u instructions", what, ntaken, step.at);
	if (!ok(!nwrong, "and the other one has it"))
		printf("# %u times not so, first behind instruction %u\n", nwrong, first);
}

int main(void)
{
	struct nx *x = nx_create("pid1:a.out:f:return { @ = live(arg1, arg1); }"
				 "pid1:a.out:g:entry { dead(arg0); }");

	x->opts.livesize = 100;
	nx_lay_out(x);
	nx_make(x, &(struct nrun_opts){0});
	traps_begin();
	owner_check(x, SITE_F_RETURN, "live()");
	owner_check(x, SITE_G_ENTRY, "dead()");
	owner_check(x, DEAD_FUNC, "blob_dead()");
	nx_destroy(x);
	return tap_done();
}
