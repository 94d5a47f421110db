/* SPDX-License-Identifier: MIT */
/* Walks over stacks that are made here, by rows that are made here. */
#include "unwind/walk.h"

#include "arch/arch.h"
#include "arch/machine/regs.h"
#include "arch/rule.h"
#include "arch/machine.h"
#include "image/ehframe.h"
#include "tap.h"

#define CODE   0x400000u      /* has rows */
#define BARE   0x500000u      /* is executable and has none */
#define DATA   0x600000u      /* is not executable */
#define STACK  0x7fff00000ull /* NWORDS words */
#define NWORDS 128u

/* Functions of CODE: where their rows begin. */
enum {
	OUTER = 0x100,
	MIDDLE = 0x200,
	INNER = 0x300,
	SIGNAL = 0x400,
	LEAF = 0x500,
	ALIGNED = 0x600,  /* has its frame's address in the carried register */
	CARRIER = 0x700,  /* has saved that register at CFA - 40 */
	BEGINNER = 0x800, /* not yet */
	END = 0x900,
};

struct world {
	uint64_t words[NWORDS];
	uint64_t insn; /* at BARE */
	struct unwind_rows rows, saved;
	struct arch_regs regs;
};

static bool world_read(void *ctx, taddr addr, void *dst, size_t size)
{
	const struct world *w = ctx;

	if (addr >= STACK && addr + size <= STACK + sizeof(w->words)) {
		memcpy(dst, (const char *)w->words + (addr - STACK), size);
		return true;
	}
	if (addr != BARE || size > sizeof(w->insn))
		return false;
	memcpy(dst, &w->insn, size);
	return true;
}

static bool world_code(void *ctx, taddr addr, enum walk_rows which, struct walk_code *ret)
{
	const struct world *w = ctx;

	*ret = (struct walk_code){.is_data = addr >> 20 == DATA >> 20};
	if (addr >> 20 == CODE >> 20) {
		ret->rows = which == WALK_SAVED ? &w->saved : &w->rows;
		ret->off = addr - CODE;
		return true;
	}
	return ret->is_data || addr >> 20 == BARE >> 20;
}

static struct walk_space space_of(struct world *w)
{
	return (struct walk_space){.read = world_read, .code = world_code, .ctx = w};
}

/* Distance from the CFA to what a function saves: fp, and above it maybe the return address. */
static int16_t saved_at(void)
{
	return arch.unwind.has_link ? 32 : 16;
}

static void row_put(struct unwind_rows *r, uint32_t off, enum unwind_cfa kind, int32_t cfa,
		    int16_t fp)
{
	vec_push(&r->rows, (struct unwind_row){.off = off, .kind = kind, .cfa = cfa, .fp = fp});
}

static void world_make(struct world *w)
{
	uint8_t leaf_reg = 0;

	*w = (struct world){0};
	for (uint32_t i = 0; i < ARCH_NREGS_MAX; i++)
		w->regs.words[i] = 1000 + i;
	if (strcmp(arch.name, "x86_64") == 0)
		w->regs.words[arch.mode / 8] = 0x33; /* 64-bit code */
	row_put(&w->rows, OUTER, UNWIND_END, 0, 0);
	row_put(&w->rows, MIDDLE, UNWIND_FP, 64, saved_at());
	row_put(&w->rows, INNER, UNWIND_SP, 48, saved_at());
	row_put(&w->rows, SIGNAL, UNWIND_SIGNAL, 0, 0);
	row_put(&w->rows, LEAF, UNWIND_IN_REG, 8, 0);
	vec_last(&w->rows.rows)->reg = leaf_reg;
	row_put(&w->rows, ALIGNED, UNWIND_REG, 64, saved_at());
	vec_last(&w->rows.rows)->reg = (uint8_t)arch.unwind.carried;
	row_put(&w->rows, CARRIER, UNWIND_CARRY, 48, saved_at());
	vec_last(&w->rows.rows)->reg = 5;
	row_put(&w->rows, BEGINNER, UNWIND_CARRY, 48, saved_at());
	row_put(&w->rows, END, UNWIND_NONE, 0, 0);
	/* the first register at CFA - 40, the second unchanged, the third lost */
	row_put(&w->saved, INNER, UNWIND_SAVED, 5 | RULE_SAVED_LOST << 10, 0);
	row_put(&w->saved, SIGNAL, UNWIND_NONE, 0, 0);
}

static void world_end(struct world *w)
{
	unwind_rows_deinit(&w->rows);
	unwind_rows_deinit(&w->saved);
}

static void word_put(struct world *w, uint64_t addr, uint64_t value)
{
	w->words[(addr - STACK) / 8] = value;
}

static void regs_put(struct world *w, uint64_t pc, uint64_t sp, uint64_t fp)
{
	w->regs.words[FRAME_PC] = pc;
	w->regs.words[FRAME_SP] = sp;
	w->regs.words[FRAME_FP] = fp;
}

/* What the function with that CFA has saved. */
static void call_put(struct world *w, uint64_t cfa, uint64_t fp, uint64_t ra)
{
	word_put(w, cfa - (uint64_t)saved_at(), fp);
	word_put(w, cfa - (uint64_t)saved_at() + 8, ra);
}

/* MIDDLE, with fp, was called by OUTER. */
static void middle_put(struct world *w, uint64_t fp)
{
	call_put(w, fp + 64, 0, CODE + OUTER + 4);
}

static void pcs_are(const struct walk_stack *s, const uint64_t *want, uint32_t n, const char *what)
{
	bool same = s->nframes == n;

	for (uint32_t i = 0; i < n && same; i++)
		same = s->frames[i].pc == want[i];
	if (!ok(same, "%s", what))
		for (uint32_t i = 0; i < s->nframes; i++)
			printf("# %#llx\n", (unsigned long long)s->frames[i].pc);
}

static void test_rules(void)
{
	static const uint64_t want[] = {CODE + INNER, CODE + MIDDLE + 8, CODE + OUTER + 4};
	struct walk_space space;
	struct walk_stack s;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	regs_put(&w, CODE + INNER, STACK + 16, 1);
	call_put(&w, STACK + 64, STACK + 128, CODE + MIDDLE + 8);
	middle_put(&w, STACK + 128);
	stack_walk(&space, &w.regs, 10, &s);
	pcs_are(&s, want, 3, "by rules");
	ok(!s.is_cut && !s.is_doubtful, "to the outermost frame");
	ok(s.frames[0].is_exact && !s.frames[1].is_exact, "only the first was interrupted");
	is_int(s.frames[1].sp, STACK + 64, "the caller's stack pointer is the CFA");
	is_int(s.frames[1].fp, STACK + 128, "its frame pointer was saved");
	free(s.frames);
	stack_walk(&space, &w.regs, 2, &s);
	pcs_are(&s, want, 2, "no more frames than asked for");
	free(s.frames);
	stack_walk(&space, &w.regs, 0, &s);
	ok(!s.nframes && !s.frames, "maybe none");
	world_end(&w);
}

static void test_register(void)
{
	static const uint64_t want[] = {CODE + LEAF, CODE + MIDDLE + 8, CODE + OUTER + 4};
	struct walk_space space;
	struct walk_stack s;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	regs_put(&w, CODE + LEAF, STACK, STACK + 128);
	w.regs.words[arch.unwind.words[0]] = CODE + MIDDLE + 8;
	middle_put(&w, STACK + 128);
	stack_walk(&space, &w.regs, 10, &s);
	pcs_are(&s, want, 3, "a return address in a register");
	free(s.frames);
	word_put(&w, STACK + 128 + 64 - (uint64_t)saved_at() + 8, CODE + LEAF + 4);
	stack_walk(&space, &w.regs, 10, &s);
	ok(s.nframes == 3 && s.is_cut, "which only the first frame has");
	free(s.frames);
	world_end(&w);
}

/* A function that keeps its frame's address in a register has called one that saves it, or not. */
static void test_carried(void)
{
	static const struct {
		uint32_t callee;
		bool in_register, is_called; /* the callee was itself called, by INNER's rule */
		uint32_t nframes;
		const char *what;
	} cases[] = {
		{CARRIER, false, false, 4, "a register that the callee has saved"},
		{BEGINNER, true, false, 4, "that the callee still has"},
		{INNER, true, false, 2, "that nobody knows of"},
		{CARRIER, false, true, 5, "that an inner callee may use"},
		{BEGINNER, true, true, 3, "of which the callee's value is not known"},
	};
	uint32_t word = arch.unwind.words[arch.unwind.carried];

	for (uint32_t i = 0; i < ARRAY_LEN(cases); i++) {
		bool is_called = cases[i].is_called;
		uint32_t nwhole = is_called ? 5 : 4;
		uint64_t want[] = {CODE + INNER, CODE + cases[i].callee + 8, CODE + ALIGNED + 8,
				   CODE + MIDDLE + 8, CODE + OUTER + 4};
		struct walk_space space;
		struct walk_stack s;
		struct world w;

		world_make(&w);
		space = space_of(&w);
		regs_put(&w, is_called ? want[0] : want[1], is_called ? STACK + 8 : STACK + 56, 1);
		w.regs.words[word] = cases[i].in_register ? STACK + 240 : 3;
		call_put(&w, STACK + 56, 1, want[1]);
		call_put(&w, STACK + 104, 1, want[2]);
		word_put(&w, STACK + 104 - 40, cases[i].in_register ? 5 : STACK + 240);
		call_put(&w, STACK + 240 + 64, STACK + 400, want[3]);
		middle_put(&w, STACK + 400);
		stack_walk(&space, &w.regs, 10, &s);
		pcs_are(&s, want + !is_called, cases[i].nframes, cases[i].what);
		ok(s.is_cut == (cases[i].nframes < nwhole), "and whether the stack is cut");
		free(s.frames);
		world_end(&w);
	}
}

/* Code without rows: pairs of the caller's frame pointer and the return address. */
static void test_frame_pointer(void)
{
	static const uint64_t want[] = {BARE, BARE + 0x50, BARE + 0x60};
	struct walk_space space;
	struct walk_stack s;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	regs_put(&w, BARE, STACK, STACK + 64);
	word_put(&w, STACK + 64, STACK + 96);
	word_put(&w, STACK + 72, BARE + 0x50);
	word_put(&w, STACK + 104, BARE + 0x60);
	stack_walk(&space, &w.regs, 10, &s);
	pcs_are(&s, want, 3, "by frame pointer");
	ok(!s.is_cut, "to the frame whose frame pointer is 0");
	free(s.frames);
	word_put(&w, STACK + 64, STACK + 8);
	stack_walk(&space, &w.regs, 10, &s);
	pcs_are(&s, want, 2, "which must lead up");
	ok(s.is_cut, "or the stack is cut");
	free(s.frames);
	regs_put(&w, BARE, STACK, STACK + sizeof(w.words));
	stack_walk(&space, &w.regs, 10, &s);
	ok(s.nframes == 1 && s.is_cut, "so it is where memory is missing");
	free(s.frames);
	world_end(&w);
}

static void test_first_instruction(void)
{
	static const uint64_t want[] = {BARE, CODE + MIDDLE + 8, CODE + OUTER + 4};
	struct walk_space space;
	struct walk_stack s;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	w.insn = machine_here()->enter;
	regs_put(&w, BARE, STACK + 16, STACK + 128);
	if (arch.unwind.has_link)
		w.regs.words[arch.unwind.words[arch.unwind.ra]] = CODE + MIDDLE + 8;
	else
		word_put(&w, STACK + 16, CODE + MIDDLE + 8);
	middle_put(&w, STACK + 128);
	stack_walk(&space, &w.regs, 10, &s);
	pcs_are(&s, want, 3, "at the first instruction the frame pointer is the caller's");
	free(s.frames);
	world_end(&w);
}

static void test_signal(void)
{
	static const uint64_t want[] = {CODE + SIGNAL, CODE + MIDDLE, CODE + OUTER + 4};
	const uint32_t *at = machine_here()->signal;
	struct walk_space space;
	struct walk_stack s;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	regs_put(&w, CODE + SIGNAL, STACK, 1);
	word_put(&w, STACK + at[0], STACK + 512);
	word_put(&w, STACK + at[1], STACK + 400);
	word_put(&w, STACK + at[2], CODE + MIDDLE);
	middle_put(&w, STACK + 512);
	stack_walk(&space, &w.regs, 10, &s);
	pcs_are(&s, want, 3, "through a signal frame");
	ok(s.frames[1].is_exact, "what the signal interrupted is exact");
	is_int(s.frames[1].sp, STACK + 400, "and has its own stack pointer");
	free(s.frames);
	world_end(&w);
}

/* ---- a walk that a helper follows ------------------------------------------------------------ */

struct followed {
	uint32_t n, steer_at;
	struct walk_choice choice;
	uint64_t pcs[8], known[8], first[8], second[8];
	bool is_data[8];
};

static void follow(void *ctx, const struct walk_frame *f, bool is_first, struct walk_choice *ret)
{
	struct followed *o = ctx;
	uint32_t i = o->n++;

	if (i >= ARRAY_LEN(o->pcs)) {
		ret->is_over = true;
		return;
	}
	o->pcs[i] = f->pc;
	o->known[i] = f->known;
	o->first[i] = f->regs[FRAME_SAVED_WORD(0)];
	o->second[i] = f->regs[FRAME_SAVED_WORD(1)];
	o->is_data[i] = f->is_data;
	if (o->choice.is_steered && i == o->steer_at)
		*ret = o->choice;
}

static void test_saved(void)
{
	struct followed o = {0};
	struct walk_space space;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	regs_put(&w, CODE + INNER, STACK + 16, 1);
	call_put(&w, STACK + 64, STACK + 128, CODE + MIDDLE + 8);
	word_put(&w, STACK + 64 - 40, 77);
	middle_put(&w, STACK + 128);
	ok(!stack_walk_each(&space, &w.regs, true, follow, &o) && o.n == 3, "frame by frame");
	is_int(o.first[1], 77, "a saved register of the caller");
	is_int(o.second[1], 1000 + FRAME_SAVED_WORD(1), "an unchanged one");
	ok(o.known[1] >> FRAME_SAVED_WORD(0) & 1 && o.known[1] >> FRAME_SAVED_WORD(1) & 1,
	   "are known");
	ok(!(o.known[1] >> FRAME_SAVED_WORD(2) & 1), "a lost one is not");
	o = (struct followed){0};
	(void)stack_walk_each(&space, &w.regs, false, follow, &o);
	ok(o.known[0] && !o.known[1], "nobody asked: the registers of callers are not known");
	world_end(&w);
}

static void test_steered(void)
{
	struct followed o = {.choice = {.is_steered = true, .pc = DATA + 8, .sp = STACK + 8}};
	struct walk_space space;
	struct world w;

	world_make(&w);
	space = space_of(&w);
	regs_put(&w, CODE + INNER, STACK + 16, 1);
	ok(stack_walk_each(&space, &w.regs, false, follow, &o), "memory that is not executable");
	ok(o.n == 2 && o.pcs[1] == DATA + 8 && o.is_data[1], "is a frame whom nobody leads on");
	o = (struct followed){.choice = {.is_steered = true,
					 .pc = CODE + MIDDLE + 8,
					 .sp = STACK + 80,
					 .fp = STACK + 128}};
	middle_put(&w, STACK + 128);
	ok(!stack_walk_each(&space, &w.regs, false, follow, &o), "a helper says what comes next");
	ok(o.n == 3 && o.pcs[1] == CODE + MIDDLE + 8 && o.pcs[2] == CODE + OUTER + 4,
	   "and the walk goes on from there");
	o = (struct followed){.choice = {.is_steered = true}};
	ok(!stack_walk_each(&space, &w.regs, false, follow, &o) && o.n == 1, "or that it ends");
	world_end(&w);
}

int main(void)
{
	test_rules();
	test_register();
	test_carried();
	test_frame_pointer();
	test_first_instruction();
	test_signal();
	test_saved();
	test_steered();
	return tap_done();
}
