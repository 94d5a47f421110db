/* SPDX-License-Identifier: MIT */
/*
 * Executes windows and stubs one instruction at a time (steps.h).
 *
 * An int3 begins a run: its handler puts the state of the run into the signal's frame, with the
 * trap flag set, and returns there. After each instruction the handler is called again. The one
 * that sees the end takes the state out of the frame, and returns behind the int3.
 */
#include "steps.h"

#include "insns.h"

#include <asm/prctl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <ucontext.h>

#define PAGE	    4096u
#define ARENA_SIZE  0x10000u
#define ARENA_DATA  0xa000u /* pointers lead below this; then the thread block, then the stack */
#define ARENA_FS    0xb000u
#define ARENA_STACK 0xe000u
#define PAGES_MAX   24
#define STEPS_MAX   600	     /* of a window; each body takes up to as many */
#define BODIES	    3u	     /* of a stub; the areas below have a part for each */
#define STUB_AREA   0x40000u /* stubs; then the function, counters, its copy of the frame */
#define AREA_FUNC   0x4000u  /* of relays; the function of calls calls it */
#define FUNC_SIZE   0x100u
#define AREA_CALL   0x4800u
#define AREA_FALSE  0x5000u /* a function that returns 0 */
#define AREA_LOCKED 0x5200u /* stub_env.locked_func */
#define LOCKED_MAX  0x80u
#define AREA_SLOT   0x5100u /* of a relay */
#define SLOT_SIZE   8u
#define AREA_COUNTS 0x6000u
#define COUNTS_SIZE (CPUS << CPU_SHIFT)
#define AREA_OWN    0x6800u /* the owner's counter */
#define AREA_SWITCH 0x7000u
#define AREA_OWNER  0x7008u
#define AREA_WORD   0x7800u /* of a test of a relay */
#define AREA_FRAME  0x8000u
#define FRAME_SIZE  0x100u
#define AREA_BYTES  0x10000u /* the same */
#define BYTES	    0x10000u
#define CPUS	    4
#define CPU_SHIFT   7
#define FLAGS_SEEN  0xcd5u /* CF PF AF ZF SF DF OF */
#define FLAG_TRAP   0x100
#define FLAG_DF	    0x400
#define FP_SIZE	    416
#define NGREGS	    15

/* Of struct native_frame and of gregs: the same registers in its order. */
static const int frame_gregs[NGREGS] = {REG_R15, REG_R14, REG_R13, REG_R12, REG_RBP,
					REG_RBX, REG_R11, REG_R10, REG_R9,  REG_R8,
					REG_RAX, REG_RCX, REG_RDX, REG_RSI, REG_RDI};

struct state {
	greg_t regs[NGREG];
	uint8_t fp[FP_SIZE];
};

struct page {
	uint8_t *at;
	uint8_t image[PAGE], after[PAGE];
};

struct steps {
	int64_t bias;
	uint8_t *area; /* for stubs */
	uint8_t *arena, *image, *after;
	uint32_t npages;
	struct page pages[PAGES_MAX];
	uint64_t random;
};

/* One run: the handler's alone while it lasts. */
static struct {
	enum { RUN_NONE, RUN_STARTS, RUN_STEPS } phase;
	bool is_repeated; /* the first instruction repeats itself */
	uint64_t lo, hi, fs, own_fs;
	uint64_t sites[BODIES]; /* registers there are kept, */
	uint64_t next;		/* and where control went from the first one */
	/*
	 * Of a window, by offset of an instruction: where the next one is; NULL: of a stub. A jump
	 * into the window leaves it: in memory it is as it was there, and the stub leads there.
	 */
	const uint8_t *follow;
	/* Of a window: where its tail is, into which the run goes on from this jump; 0: not. */
	uint64_t tail, tail_end, tail_from;
	uint64_t last; /* the instruction that was executed */
	struct state in, out, saved, at_site[BODIES];
	bool was_at_site[BODIES], was_in_tail;
	uint32_t steps, limit;
	int signal;
	uint64_t fault;
} run;

static inline __attribute__((always_inline)) void fs_call(int what, uint64_t v)
{
	long r = SYS_arch_prctl;

	__asm__ volatile("syscall" : "+a"(r) : "D"((long)what), "S"(v) : "rcx", "r11", "memory");
}

/* Copies as no function of a library would: the thread pointer is not ours. */
static inline __attribute__((always_inline)) void bytes_copy(void *to, const void *from, size_t n)
{
	__asm__ volatile("cld; rep movsb" : "+D"(to), "+S"(from), "+c"(n)::"memory");
}

/* Whether a run goes on at an instruction that is not the first one of all. */
__attribute__((no_sanitize("address", "undefined"), no_stack_protector)) static bool
run_goes_on(uint64_t pc)
{
	uint64_t last = run.last;

	if (pc == run.tail && last == run.tail_from)
		run.was_in_tail = true;
	if (pc >= run.tail && pc < run.tail_end &&
	    ((pc == run.tail && last == run.tail_from) || (last >= run.tail && pc > last)))
		return true;
	if (pc < run.lo || pc >= run.hi || last < run.lo || last >= run.hi ||
	    (pc == run.lo && !run.is_repeated))
		return false;
	return !run.follow || pc == last || pc == run.lo + run.follow[last - run.lo];
}

/* Keeps the registers of those sites at which control is for the first time. */
static inline __attribute__((always_inline, no_sanitize("address", "undefined"))) void
sites_keep(const greg_t *g)
{
	for (uint32_t i = 0; i < BODIES; i++)
		if (run.sites[i] == (uint64_t)g[REG_RIP] && !run.was_at_site[i]) {
			bytes_copy(run.at_site[i].regs, g, sizeof(run.at_site[i].regs));
			run.was_at_site[i] = true;
		}
}

__attribute__((no_sanitize("address", "undefined"), no_stack_protector)) static void
trap_handle(int sig, siginfo_t *info, void *ctx)
{
	ucontext_t *uc = ctx;
	greg_t *g = uc->uc_mcontext.gregs;
	void *fp = uc->uc_mcontext.fpregs;
	uint64_t pc = (uint64_t)g[REG_RIP];
	bool goes_on;

	if (run.phase == RUN_STARTS) {
		bytes_copy(run.saved.regs, g, sizeof(run.saved.regs));
		bytes_copy(run.saved.fp, fp, FP_SIZE);
		for (int i = REG_R8; i <= REG_EFL; i++)
			g[i] = run.in.regs[i];
		g[REG_EFL] |= FLAG_TRAP;
		bytes_copy((uint8_t *)fp + 160, run.in.fp + 160, FP_SIZE - 160);
		run.phase = RUN_STEPS;
		run.steps = 0;
		for (uint32_t i = 0; i < BODIES; i++)
			run.was_at_site[i] = false;
		run.was_in_tail = false;
		run.next = 0;
		run.last = run.lo;
		fs_call(ARCH_SET_FS, run.fs);
		sites_keep(g);
		return;
	}
	if (run.phase != RUN_STEPS) {
		signal(sig, SIG_DFL);
		return;
	}
	if (run.was_at_site[0] && !run.next)
		run.next = pc;
	goes_on = sig == SIGTRAP && run_goes_on(pc);
	/* a jump to the site leaves the window, too */
	if (goes_on || (sig == SIGTRAP && !run.follow))
		sites_keep(g);
	if (goes_on && ++run.steps < run.limit) {
		run.last = pc;
		return;
	}
	run.signal = sig == SIGTRAP ? 0 : sig;
	run.fault = sig == SIGSEGV || sig == SIGBUS ? (uint64_t)info->si_addr : 0;
	bytes_copy(run.out.regs, g, sizeof(run.out.regs));
	bytes_copy(run.out.fp, fp, FP_SIZE);
	for (int i = REG_R8; i <= REG_EFL; i++)
		g[i] = run.saved.regs[i];
	bytes_copy(fp, run.saved.fp, FP_SIZE);
	run.phase = RUN_NONE;
	fs_call(ARCH_SET_FS, run.own_fs);
}

/* Copies what the stub has passed, and destroys what it may. */
__asm__(".pushsection .rodata\n"
	"steps_func:\n"
	"	movabs $0x1122334455667788, %rdx\n"
	"	incq 160(%rdx)\n"
	"	mov %rsi, 144(%rdx)\n"
	"	mov %rsp, 152(%rdx)\n"
	"	mov %rdi, %rsi\n"
	"	mov %rdx, %rdi\n"
	"	mov $18, %ecx\n"
	"	rep movsq\n"
	"	mov $0x5a5a5a5a, %eax\n"
	"	mov %rax, %rbx; mov %rax, %rcx; mov %rax, %rdx; mov %rax, %rsi; mov %rax, %rdi\n"
	"	mov %rax, %rbp; mov %rax, %r8; mov %rax, %r9; mov %rax, %r10; mov %rax, %r11\n"
	"	mov %rax, %r12; mov %rax, %r13; mov %rax, %r14; mov %rax, %r15\n"
	"	cmp $0x12, %rax\n"
	"	ret\n"
	"steps_func_end:\n"
	".popsection\n");
extern const uint8_t steps_func[], steps_func_end[];
#define FUNC_FRAME 2 /* of the address of the copy in it */
#define COPY_SITE  18
#define COPY_SP	   19
#define COPY_N	   20

static uint64_t random_next(struct steps *s)
{
	s->random ^= s->random << 13;
	s->random ^= s->random >> 7;
	s->random ^= s->random << 17;
	return s->random;
}

/* A word as registers and memory have them: pointers, small numbers, any. */
static uint64_t word_make(struct steps *s)
{
	uint64_t r = random_next(s);

	switch (r >> 60) {
	case 0:
	case 1: return r & 0xff;
	case 2: return -(uint64_t)(r & 0xff);
	/* no memory is there: that of sanitizers begins at 2 GB, and bit 62 makes it no address */
	case 3: return r & 1 ? r & 0x3fffffff : (r & 0xffffffff) | 1ull << 62;
	case 4:
	case 5: return random_next(s);
	default: return (uint64_t)s->arena + 0x800 + (r & 0xffff) % (ARENA_DATA - 0x1000);
	}
}

static void state_make(struct steps *s, struct state *st)
{
	for (int i = REG_R8; i <= REG_EFL; i++)
		st->regs[i] = (greg_t)word_make(s);
	st->regs[REG_RSP] = (greg_t)((uint64_t)s->arena + ARENA_STACK + (random_next(s) & 0x3f8));
	if (random_next(s) & 1)
		st->regs[REG_RBP] = st->regs[REG_RSP] + (greg_t)(random_next(s) & 0xf8);
	if (random_next(s) & 1)
		st->regs[REG_RCX] &= 0xf;
	st->regs[REG_EFL] = (greg_t)(0x202 | (random_next(s) & FLAGS_SEEN));
	if (random_next(s) & 7)
		st->regs[REG_EFL] &= ~(greg_t)FLAG_DF;
	for (uint32_t i = 160; i < FP_SIZE; i += 8) {
		uint64_t v = word_make(s);

		memcpy(st->fp + i, &v, 8);
	}
}

struct steps *steps_create(taddr lo, taddr hi)
{
	static uint8_t altstack[1 << 17];
	struct sigaction sa = {.sa_sigaction = trap_handle,
			       .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	int signals[] = {SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
	stack_t ss = {.ss_sp = altstack, .ss_size = sizeof(altstack)};
	struct steps *s = xcalloc(1, sizeof(*s));
	uint64_t span, frame;
	uint8_t *p;

	lo &= ~(uint64_t)(PAGE - 1);
	span = ROUND_UP(hi - lo, PAGE) + PAGE;
	p = mmap(NULL, span + STUB_AREA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	s->arena =
		mmap(NULL, ARENA_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED || s->arena == MAP_FAILED || sigaltstack(&ss, NULL) < 0 ||
	    mprotect(p + span, STUB_AREA, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		BUG("no memory for the steps");
	s->bias = (int64_t)((uint64_t)p - lo);
	s->area = p + span;
	s->image = xmalloc(ARENA_SIZE);
	s->after = xmalloc(ARENA_SIZE);
	for (uint32_t i = 0; i < BODIES; i++) {
		p = s->area + AREA_FUNC + i * FUNC_SIZE;
		memcpy(p, steps_func, (size_t)(steps_func_end - steps_func));
		frame = (uint64_t)s->area + AREA_FRAME + i * FRAME_SIZE;
		memcpy(p + FUNC_FRAME, &frame, 8);
	}
	memcpy(s->area + AREA_FALSE, "\x31\xc0\xc3", 3); /* xor %eax, %eax; ret */
	for (size_t i = 0; i < ARRAY_LEN(signals); i++)
		sigaction(signals[i], &sa, NULL);
	run.fs = (uint64_t)s->arena + ARENA_FS;
	fs_call(ARCH_GET_FS, (uint64_t)&run.own_fs);
	return s;
}

/* ---- memory of a window ---------------------------------------------------------------------- */

static struct page *page_get(struct steps *s, uint64_t addr)
{
	uint8_t *at = (uint8_t *)(addr & ~(uint64_t)(PAGE - 1));
	struct page *p;

	for (uint32_t i = 0; i < s->npages; i++)
		if (s->pages[i].at == at)
			return &s->pages[i];
	if (s->npages == PAGES_MAX || mprotect(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC) < 0)
		return NULL;
	p = &s->pages[s->npages++];
	p->at = at;
	for (uint32_t i = 0; i < PAGE; i += 8) {
		uint64_t v = word_make(s);

		memcpy(p->image + i, &v, 8);
	}
	return p;
}

static void pages_forget(struct steps *s)
{
	for (uint32_t i = 0; i < s->npages; i++) {
		madvise(s->pages[i].at, PAGE, MADV_DONTNEED);
		mprotect(s->pages[i].at, PAGE, PROT_NONE);
	}
	s->npages = 0;
}

/* Instructions that lie together. */
struct piece {
	uint64_t at;
	const uint8_t *code, *ins;
	uint32_t len, nins;
};

/* Maps the pages of instructions, with nothing in them. */
static bool piece_clear(struct steps *s, const struct piece *c)
{
	for (uint64_t a = c->at & ~(uint64_t)(PAGE - 1); a < c->at + c->len; a += PAGE) {
		struct page *p = page_get(s, a);

		if (!p)
			return false;
		memset(p->image, 0xcc, PAGE);
	}
	return true;
}

/* Copies instructions, and maps what they refer to. False: they cannot be tried. */
static bool piece_map(struct steps *s, const struct piece *c, bool *ret_repeated)
{
	ZydisDecoder d;

	ZydisDecoderInit(&d, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	for (uint32_t i = 0; i < c->len; i++)
		page_get(s, c->at + i)->image[(c->at + i) % PAGE] = c->code[i];
	for (uint32_t i = 0; i < c->nins; i++) {
		uint32_t off = c->ins[i];
		ZydisDecodedInstruction in;
		uint64_t to;

		if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&d, NULL, c->code + off,
								c->len - off, &in)) ||
		    !insn_repeats(&in))
			return false;
		if (!i)
			*ret_repeated =
				in.attributes & (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE |
						 ZYDIS_ATTRIB_HAS_REPNE);
		if (!(in.attributes & ZYDIS_ATTRIB_HAS_MODRM) || in.raw.modrm.mod != 0 ||
		    in.raw.modrm.rm != 5)
			continue;
		to = c->at + off + in.length + (uint64_t)in.raw.disp.value;
		if (to >= (uint64_t)s->area - PAGE || !page_get(s, to) || !page_get(s, to + 64))
			continue; /* not of the file: the access faults */
	}
	return true;
}

/* Maps a window, its tail, and what they refer to. False: it is skipped. */
static bool window_map(struct steps *s, const struct stub_window *w)
{
	struct piece window = {w->addr + (uint64_t)s->bias, w->code, w->ins, w->len, w->nins},
		     tail = {w->tail + (uint64_t)s->bias, w->tail_code, w->tail_ins, w->tail_len,
			     w->tail_nins};
	bool is_repeated;

	run.is_repeated = false;
	if (!piece_clear(s, &window) || (w->tail_len && !piece_clear(s, &tail)))
		return false;
	if (w->tail_len && !piece_map(s, &tail, &is_repeated))
		return false;
	return piece_map(s, &window, &run.is_repeated);
}

/* ---- runs and comparisons -------------------------------------------------------------------- */

static void run_start(struct steps *s, uint64_t lo, uint64_t hi, uint32_t limit)
{
	memcpy(s->arena, s->image, ARENA_SIZE);
	for (uint32_t i = 0; i < s->npages; i++)
		memcpy(s->pages[i].at, s->pages[i].image, PAGE);
	run.lo = lo;
	run.hi = hi;
	run.limit = limit;
	run.in.regs[REG_RIP] = (greg_t)lo;
	run.phase = RUN_STARTS;
	__asm__ volatile("int3" ::: "memory");
}

PRINTF_LIKE(2, 3) static bool differ(struct steps_result *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(r->why, sizeof(r->why), fmt, ap);
	va_end(ap);
	return false;
}

/* The state after the window, or at its fault. */
struct end {
	struct state st;
	int signal;
	uint64_t fault;
	uint32_t at; /* the fault: offset in the window */
};

static uint32_t window_off(const struct stub_window *w, const struct stub *s, uint32_t off)
{
	uint32_t i = 0;

	while (i + 1u < s->nins && s->bounds[i + 1] <= off)
		i++;
	return w->ins[i];
}

/* hole_lo, hole_hi: bytes of the stack that bodies may have written. */
static bool ends_compare(struct steps *s, const struct end *a, const struct end *b,
			 uint64_t hole_lo, uint64_t hole_hi, bool with_flags,
			 struct steps_result *r)
{
	static const char *const names[] = {"r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15",
					    "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp"};

	if (a->signal != b->signal || a->fault != b->fault)
		return differ(r, "signal %d at %#lx, in the stub %d at %#lx", a->signal,
			      (unsigned long)a->fault, b->signal, (unsigned long)b->fault);
	if (a->signal ? a->at != b->at : a->st.regs[REG_RIP] != b->st.regs[REG_RIP])
		return differ(r, "it ends at %#llx (+%u), the stub at %#llx (+%u)",
			      (unsigned long long)a->st.regs[REG_RIP], a->at,
			      (unsigned long long)b->st.regs[REG_RIP], b->at);
	for (int i = REG_R8; i <= REG_RSP; i++)
		if (a->st.regs[i] != b->st.regs[i])
			return differ(r, "%s is %#llx, in the stub %#llx", names[i],
				      (unsigned long long)a->st.regs[i],
				      (unsigned long long)b->st.regs[i]);
	if (with_flags && ((a->st.regs[REG_EFL] ^ b->st.regs[REG_EFL]) & FLAGS_SEEN))
		return differ(r, "flags are %#llx, in the stub %#llx",
			      (unsigned long long)a->st.regs[REG_EFL],
			      (unsigned long long)b->st.regs[REG_EFL]);
	/* but for the addresses of the last x87 instruction, bytes 8 to 23 */
	if (memcmp(a->st.fp, b->st.fp, 8) != 0 ||
	    memcmp(a->st.fp + 24, b->st.fp + 24, FP_SIZE - 24) != 0)
		return differ(r, "vector or x87 registers differ");
	for (uint32_t i = 0; i < ARENA_SIZE; i++) {
		uint64_t addr = (uint64_t)s->arena + i;

		if (s->arena[i] != s->after[i] && (addr < hole_lo || addr >= hole_hi))
			return differ(r, "memory at %#x (sp %+lld) is %#x, with the stub %#x", i,
				      (long long)addr - (long long)a->st.regs[REG_RSP], s->after[i],
				      s->arena[i]);
	}
	for (uint32_t i = 0; i < s->npages; i++)
		if (memcmp(s->pages[i].at, s->pages[i].after, PAGE) != 0)
			return differ(r, "memory on the page %p differs", (void *)s->pages[i].at);
	return true;
}

static void end_take(struct end *e)
{
	e->st = run.out;
	e->signal = run.signal;
	e->fault = run.fault;
}

/* The slot of a relay: executed if it had to be, with the registers and flags of the site. */
static bool slot_check(const struct stub_body *b, uint32_t i, const struct state *at_site,
		       bool want, struct steps_result *r)
{
	const struct state *at_slot = &run.at_site[i];

	if (run.was_at_site[i] != want)
		return differ(r, "the slot before +%u was%s executed", b->off, want ? " not" : "");
	for (int k = REG_R8; k <= REG_RSP && want; k++)
		if (at_slot->regs[k] != at_site->regs[k] + (k == REG_RSP ? b->pushed : 0))
			return differ(r, "register %d is %#llx in the slot", k,
				      (unsigned long long)at_slot->regs[k]);
	if (want && ((at_slot->regs[REG_EFL] ^ at_site->regs[REG_EFL]) & FLAGS_SEEN))
		return differ(r, "flags are %#llx in the slot instead of %#llx",
			      (unsigned long long)at_slot->regs[REG_EFL],
			      (unsigned long long)at_site->regs[REG_EFL]);
	return true;
}

/* The words that a body counts in, or that its test takes from: of CPU 0. */
static uint8_t *counts_of(const struct steps *s, uint32_t i)
{
	return s->area + AREA_COUNTS + i * COUNTS_SIZE;
}

static uint64_t *own_of(const struct steps *s, uint32_t i)
{
	return (uint64_t *)(s->area + AREA_OWN) + i;
}

/* What body i of a stub must have done. */
static bool body_check(struct steps *s, const struct stub_body *b, uint32_t i,
		       const struct state *at_site, uint32_t want, struct steps_result *r)
{
	const uint64_t *f = (const uint64_t *)(s->area + AREA_FRAME + i * FRAME_SIZE);
	uint64_t n = 0;

	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		n += *(uint64_t *)(counts_of(s, i) + (cpu << CPU_SHIFT));
	r->owned += *own_of(s, i) != 0;
	n += *own_of(s, i);
	if (b->kind == STUB_CALL)
		n = f[COPY_N];
	if (n != want)
		return differ(r, "the body before +%u ran %u times instead of %u", b->off,
			      (unsigned)n, want);
	r->bodies += want;
	if (b->kind != STUB_CALL || !want)
		return true;
	for (int k = 0; k < NGREGS; k++)
		if (b->reads >> k & 1 && f[k] != (uint64_t)at_site->regs[frame_gregs[k]])
			return differ(r, "word %d of the frame is %#lx instead of %#llx", k,
				      (unsigned long)f[k],
				      (unsigned long long)at_site->regs[frame_gregs[k]]);
	if ((b->reads >> STUB_FRAME_PC & 1 && f[STUB_FRAME_PC] != b->pc) ||
	    (b->reads >> STUB_FRAME_SP & 1 &&
	     f[STUB_FRAME_SP] != (uint64_t)at_site->regs[REG_RSP]) ||
	    (b->reads >> STUB_FRAME_FLAGS & 1 &&
	     (f[STUB_FRAME_FLAGS] ^ (uint64_t)at_site->regs[REG_EFL]) & FLAGS_SEEN))
		return differ(r, "pc, sp or flags of the frame: %#lx %#lx %#lx",
			      (unsigned long)f[STUB_FRAME_PC], (unsigned long)f[STUB_FRAME_SP],
			      (unsigned long)f[STUB_FRAME_FLAGS]);
	if (f[COPY_SITE] != b->site)
		return differ(r, "the function was called with %#lx", (unsigned long)f[COPY_SITE]);
	return true;
}

static uint64_t locked_make(struct steps *s, const struct stub_env *env)
{
	struct stub_env own = *env;

	own.code = (uint64_t)s->area + AREA_LOCKED;
	if (!arch.stubs->locked_make(&own, s->area + AREA_LOCKED, LOCKED_MAX))
		BUG("no function that counts");
	return own.code;
}

/* This thread is the owner, or another one, or nobody; there may be no word for one. */
static void owner_make(struct steps *s, struct stub_env *env, bool is_on)
{
	uint64_t r = random_next(s), who = r & 1 ? run.fs : r & 2 ? r << 4 : 0;

	env->tests_switch = r & 4;
	if (env->cpu != STUB_CPU_ONE && r & 24)
		env->owner_addr = (uint64_t)s->area + AREA_OWNER;
	if (r & 32)
		env->locked_func = locked_make(s, env);
	if (!env->owner_addr || (!is_on && !env->tests_switch))
		who = 0;
	memcpy(s->area + AREA_OWNER, &who, sizeof(who));
	memset(s->area + AREA_OWN, 0, BODIES * sizeof(uint64_t));
}

/* The function of a body of STUB_CALL: copies the frame, and destroys what the body says. */
static void func_make(struct steps *s, const struct stub_body *b, uint32_t i)
{
	static const uint8_t numbers[NGREGS] = {15, 14, 13, 12, 5, 3, 11, 10, 9, 8, 0, 1, 2, 6, 7};
	uint8_t *p = s->area + AREA_CALL + i * FUNC_SIZE;
	int32_t distance;

	memcpy(p, "\x9c\xfc", 2); /* pushfq; cld */
	p += 2;
	for (int k = 0; k < NGREGS; k++) {
		if (b->destroys >> k & 1)
			continue;
		*p++ = numbers[k] >= 8 ? 0x41 : 0x40; /* push */
		*p++ = 0x50 | (numbers[k] & 7);
	}
	*p++ = 0xe8;
	distance = (int32_t)(s->area + AREA_FUNC + i * FUNC_SIZE - (p + 4));
	memcpy(p, &distance, 4);
	p += 4;
	for (int k = NGREGS - 1; k >= 0; k--) {
		if (b->destroys >> k & 1)
			continue;
		*p++ = numbers[k] >= 8 ? 0x41 : 0x40; /* pop */
		*p++ = 0x58 | (numbers[k] & 7);
	}
	memcpy(p, "\x9d\x40\x80\xfc\x7f\xc3", 6); /* popfq; cmp $127, %spl; ret */
}

static uint64_t word_of(const struct state *st, uint32_t word)
{
	return (uint64_t)st->regs[frame_gregs[word]];
}

static uint64_t left_of(const struct stub_test *t, const struct state *at_site)
{
	return word_of(at_site, t->reg) * (t->times ? word_of(at_site, t->times - 1) : 1);
}

/*
 * Fills the memory at which the tests of a relay look; returns whether one of them is true. left:
 * what each CPU has left.
 */
static bool tests_make(struct steps *s, const struct stub_body *b, uint32_t i,
		       const struct state *at_site, const struct stub_env *env, uint64_t *ret_left)
{
	uint8_t *bytes = s->area + AREA_BYTES + i * BYTES;
	uint64_t r = random_next(s), *word = (uint64_t *)(s->area + AREA_WORD) + i;
	bool is_true = !b->ntests;

	*ret_left = 0;
	for (uint32_t k = 0; k < b->ntests; k++) {
		const struct stub_test *t = &b->tests[k];
		uint64_t v = t->kind == STUB_TEST_WORD ? 0 : left_of(t, at_site);

		switch (t->kind) {
		case STUB_TEST_WORD:
			/* bytes behind the word do not count */
			*word = r & 8 ? 1ull << 31 : 1ull << 32;
			is_true |= r >> 3 & 1;
			break;
		case STUB_TEST_BYTE:
			memset(bytes, !(r & 16), BYTES);
			bytes[(v >> 12) % BYTES] = r & 16 ? 0x80 : 0;
			is_true |= (r >> 4 & 1) || !__builtin_cpu_supports("bmi2");
			break;
		case STUB_TEST_LEFT:
			*ret_left = r & 32   ? v + (r >> 6 & 1)
				    : r & 64 ? word_make(s)
					     : v + (r >> 40);
			is_true |= env->cpu != STUB_CPU_RSEQ || *ret_left <= v;
			break;
		}
	}
	for (uint32_t cpu = 0; cpu < CPUS; cpu++)
		*(uint64_t *)(counts_of(s, i) + (cpu << CPU_SHIFT)) = *ret_left;
	return is_true;
}

/* A relay that was not taken has subtracted what it tested, from one of the words. */
static bool tests_check(struct steps *s, const struct stub_body *b, uint32_t i,
			const struct state *at_site, uint64_t left, bool subtracts,
			struct steps_result *r)
{
	const struct stub_test *t = b->ntests ? &b->tests[b->ntests - 1] : NULL;
	uint32_t nleft = 0, nother = 0;

	if (!t || t->kind != STUB_TEST_LEFT)
		return true;
	subtracts = subtracts && left_of(t, at_site) != 0;
	for (uint32_t cpu = 0; cpu < CPUS; cpu++) {
		uint64_t v = *(uint64_t *)(counts_of(s, i) + (cpu << CPU_SHIFT));

		nleft += v == left - left_of(t, at_site);
		nother += v != left;
	}
	if (nother != subtracts || (subtracts && nleft != 1))
		return differ(r, "a test has changed %u words", nother);
	return true;
}

/* The bodies of a stub, of one offset and kind, and what has to become of them. */
struct set {
	uint32_t n;
	struct stub_body bodies[BODIES];
	uint64_t left[BODIES];
	bool are_true[BODIES]; /* one of the tests is */
};

/* Writes the stub. Bodies for which it has no room are left out, but for the first one. */
static const char *stub_make(struct steps *s, struct stub_window *w, const struct stub_env *env,
			     struct set *set, struct stub *ret)
{
	const char *why;

	for (;; set->n--) {
		w->nbodies = (uint8_t)set->n;
		memset(s->area, 0xcc, STUB_SIZE_MAX);
		why = arch.stubs->make(w, env, s->area, STUB_SIZE_MAX, ret);
		if (!why || set->n <= 1 || strcmp(why, "its stub would be too long") != 0)
			break;
	}
	for (uint32_t i = 0; i < set->n && !why; i++)
		if (set->bodies[i].kind == STUB_RELAY &&
		    !arch.stubs->slot_make(set->bodies[i].slot, env->code + ret->goes_on[i],
					   s->area + AREA_SLOT + i * SLOT_SIZE))
			why = "it has no slot";
	return why;
}

/* Clears what bodies write to, and fills what their tests read. */
static void set_prepare(struct steps *s, struct set *set, const struct state *at_site,
			const struct stub_env *env)
{
	memset(s->area + AREA_COUNTS, 0, BODIES * COUNTS_SIZE);
	memset(s->area + AREA_FRAME, 0, BODIES * FRAME_SIZE);
	memset(run.sites, 0, sizeof(run.sites));
	for (uint32_t i = 0; i < set->n; i++) {
		const struct stub_body *b = &set->bodies[i];

		if (b->kind != STUB_RELAY)
			continue;
		run.sites[i] = b->slot;
		set->are_true[i] = tests_make(s, b, i, at_site, env, &set->left[i]);
	}
}

static bool set_check(struct steps *s, const struct set *set, const struct state *at_site,
		      bool runs, struct steps_result *r)
{
	for (uint32_t i = 0; i < set->n; i++) {
		const struct stub_body *b = &set->bodies[i];
		bool is_true = set->are_true[i];

		if (b->kind != STUB_RELAY) {
			if (!body_check(s, b, i, at_site, runs, r))
				return false;
			continue;
		}
		if (!slot_check(b, i, at_site,
				runs && is_true && b->func != (uint64_t)s->area + AREA_FALSE, r) ||
		    !tests_check(s, b, i, at_site, set->left[i], runs && !is_true, r))
			return false;
		r->tests += b->ntests && runs && !is_true;
		r->bodies += runs;
	}
	r->several += set->n > 1 && runs;
	return true;
}

/* Runs the stub with these bodies (n 0: none) from run.in, and compares. */
static bool stub_try(struct steps *s, const struct stub_window *file, struct set *set,
		     const struct end *a, const struct state *at_site, bool is_on, bool is_reached,
		     struct steps_result *r)
{
	struct stub_window w = *file;
	struct stub_env env = {.code = (uint64_t)s->area,
			       .switch_addr = (uint64_t)s->area + AREA_SWITCH,
			       .rseq_cpu = -0x60,
			       .cpu_mask = CPUS - 1,
			       .cpu_shift = CPU_SHIFT};
	struct end end = {0};
	struct stub stub;
	const char *why;
	uint64_t hole;

	env.cpu = (enum stub_cpu)(random_next(s) % 3);
	owner_make(s, &env, is_on);
	w.addr += (uint64_t)s->bias;
	w.tail += (uint64_t)s->bias;
	for (uint32_t i = 0, known = 0; set->n && i < file->nbodies; i++) {
		known += file->bodies[i].off == set->bodies[0].off;
		if (i + 1u == file->nbodies && !known)
			w.has_flags = w.has_red_zone = true;
	}
	w.bodies = set->bodies;
	hole = (uint64_t)at_site->regs[REG_RSP] - (w.has_red_zone ? 128 : 0);
	why = stub_make(s, &w, &env, set, &stub);
	if (why)
		return differ(r, "no stub: %s", why);
	set_prepare(s, set, at_site, &env);
	s->area[AREA_SWITCH] = is_on;
	run_start(s, (uint64_t)s->area, (uint64_t)s->area + AREA_COUNTS, STEPS_MAX * (1 + set->n));
	end_take(&end);
	if (run.steps == run.limit)
		return differ(r, "the stub does not end");
	if (end.signal)
		end.at = window_off(file, &stub,
				    (uint32_t)((uint64_t)end.st.regs[REG_RIP] - (uint64_t)s->area));
	if (!set_check(s, set, at_site, is_on && is_reached, r))
		return false;
	return ends_compare(s, a, &end, set->n ? hole - 1024 : 0, set->n ? hole : 0,
			    !set->n || w.has_flags, r);
}

/* The word of a register that tests may look at. */
static uint8_t test_word(struct steps *s)
{
	static const uint8_t words[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 14};

	return words[random_next(s) % ARRAY_LEN(words)];
}

static void body_tests_make(struct steps *s, struct stub_body *b, uint32_t k)
{
	for (uint32_t n = (uint32_t)(random_next(s) % (STUB_TESTS_MAX + 1)); n; n--) {
		struct stub_test *t = &b->tests[b->ntests++];

		*t = (struct stub_test){.kind = (enum stub_test_kind)(random_next(s) % 3),
					.reg = test_word(s)};
		for (uint32_t i = 0; i + 1u < b->ntests; i++)
			if (b->tests[i].kind == t->kind) { /* there is memory for one of each */
				b->ntests--;
				break;
			}
		if (b->ntests && t == &b->tests[b->ntests - 1] && t->kind == STUB_TEST_LEFT) {
			t->times = random_next(s) & 1 ? (uint8_t)(1 + test_word(s)) : 0;
			t->shift = CPU_SHIFT;
			t->addr = (uint64_t)counts_of(s, k);
			return;
		}
		t->addr = (uint64_t)s->area +
			  (t->kind == STUB_TEST_WORD ? AREA_WORD + k * 8 : AREA_BYTES + k * BYTES);
	}
}

/* Body number k: but for the first one, where that is. */
static void body_make(struct steps *s, const struct stub_window *w, uint32_t exit_off,
		      struct set *set, uint32_t k)
{
	struct stub_body *b = &set->bodies[k];
	uint64_t r = random_next(s);

	*b = (struct stub_body){
		.kind = r & 8	? STUB_RELAY
			: r & 1 ? STUB_COUNT
				: STUB_CALL,
		.off = w->ins[(r >> 8) % w->nins],
		.counter = (uint64_t)counts_of(s, k),
		.own = (uint64_t)own_of(s, k),
		.func = (uint64_t)s->area + AREA_FUNC + k * FUNC_SIZE,
		.site = (uint32_t)(r >> 32),
		.reads = (uint32_t)random_next(s) & STUB_FRAME_ALL,
		.destroys = (uint32_t)random_next(s) & ((1u << NGREGS) - 1),
		.pc = random_next(s),
		.slot = (uint64_t)s->area + AREA_SLOT + k * SLOT_SIZE,
		.pushed = (int16_t)(((int)(r >> 12 & 3) - 1) * 8),
	};
	if (b->kind == STUB_CALL) {
		b->func = (uint64_t)s->area + AREA_CALL + k * FUNC_SIZE;
		/* the registers of arguments are destroyed by the call */
		b->destroys |= 1u << (NGREGS - 1) | 1u << (NGREGS - 2);
		func_make(s, b, k);
	}
	if (b->kind == STUB_RELAY && r & 16)
		b->func = r & 32 ? 0 : (uint64_t)s->area + AREA_FALSE;
	if (r & 2 && exit_off < w->len)
		b->off = (uint8_t)exit_off;
	else if (r & 4 && w->nbodies)
		b->off = w->bodies[0].off;
	for (uint32_t i = 0; i < w->nbodies && w->tail_len && r & 64; i++)
		if (w->bodies[i].has_tail) {
			b->off = w->bodies[i].off;
			b->has_tail = true;
		}
	b->is_exit = b->has_tail || b->off == exit_off;
	if (k) {
		b->off = set->bodies[0].off;
		b->has_tail = set->bodies[0].has_tail;
		b->is_exit = set->bodies[0].is_exit;
	}
	if (b->kind == STUB_RELAY && b->func)
		body_tests_make(s, b, k);
}

/* Half of the sets have one body, as most windows do. */
static void set_make(struct steps *s, const struct stub_window *w, uint32_t exit_off,
		     struct set *set)
{
	uint64_t r = random_next(s);

	*set = (struct set){.n = r & 1 ? 1 : (uint32_t)(2 + (r >> 8) % (BODIES - 1))};
	for (uint32_t k = 0; k < set->n; k++)
		body_make(s, w, exit_off, set, k);
}

static bool has_stack(const struct steps *s, const struct state *st)
{
	uint64_t off = (uint64_t)st->regs[REG_RSP] - (uint64_t)s->arena;

	return off >= ARENA_STACK - 0x1000 && off < ARENA_SIZE;
}

void steps_try(struct steps *s, const struct stub_window *w, uint32_t exit_off, uint32_t n,
	       uint64_t seed, struct steps_result *ret)
{
	uint64_t at = w->addr + (uint64_t)s->bias;
	uint8_t follow[UINT8_MAX] = {0};

	for (uint32_t i = 0; i < w->nins; i++)
		follow[w->ins[i]] = i + 1 < w->nins ? w->ins[i + 1] : w->len;
	*ret = (struct steps_result){0};
	s->random = seed * 0x9e3779b97f4a7c15ull + 1;
	for (uint32_t i = 0; i < ARENA_SIZE; i += 8) {
		uint64_t v = word_make(s);

		memcpy(s->image + i, &v, 8);
	}
	memcpy(s->image + ARENA_FS, &run.fs, sizeof(run.fs));
	ret->is_skipped = !window_map(s, w);
	for (uint32_t i = 0; i < n && !ret->is_skipped; i++) {
		struct set set, none = {0};
		const struct stub_body *b = &set.bodies[0];
		struct state at_site;
		struct end a = {0};
		uint64_t tail = w->tail + (uint64_t)s->bias, site;
		bool was_at_site, went_to_tail, is_reached, jumps;

		state_make(s, &run.in);
		set_make(s, w, exit_off, &set);
		run.follow = follow;
		run.tail = b->has_tail ? tail : 0;
		run.tail_end = b->has_tail ? tail + w->tail_len : 0;
		run.tail_from = at + b->off;
		site = b->has_tail ? tail + w->tail_ins[w->tail_nins - 1] : at + b->off;
		run.sites[0] = site;
		run_start(s, at, at + w->len, STEPS_MAX);
		run.follow = NULL;
		run.tail = run.tail_end = 0;
		run.sites[0] = 0;
		if (run.steps == run.limit)
			continue;
		end_take(&a);
		a.at = (uint32_t)((uint64_t)a.st.regs[REG_RIP] - at);
		/* The copy is in the jump's place; else the tail may be the window's own. */
		if (run.was_in_tail && (uint64_t)a.st.regs[REG_RIP] - tail < w->tail_len)
			a.at = b->off;
		/* The stub has pushed the return address when the processor refuses the target. */
		if (a.signal == SIGSEGV && !a.fault && is_indirect_call(w, a.at))
			continue;
		memcpy(s->after, s->arena, ARENA_SIZE);
		for (uint32_t k = 0; k < s->npages; k++)
			memcpy(s->pages[k].after, s->pages[k].at, PAGE);
		was_at_site = run.was_at_site[0];
		went_to_tail = run.was_in_tail;
		at_site = was_at_site ? run.at_site[0] : a.st;
		jumps = run.next != at + follow[b->off];
		is_reached = was_at_site &&
			     (b->has_tail ? went_to_tail
					  : jumps || !b->is_exit || !is_conditional(w, b->off));
		ret->states++;
		ret->faults += a.signal != 0;
		/* without its body, the stub leads to the tail in memory */
		if (!b->has_tail && !stub_try(s, w, &none, &a, &a.st, true, false, ret))
			break;
		ret->tails += b->has_tail && is_reached;
		/* Bodies need a stack: no program makes one of a random number. */
		if (has_stack(s, &at_site) &&
		    !stub_try(s, w, &set, &a, &at_site, (random_next(s) & 7) != 0, is_reached, ret))
			break;
	}
	pages_forget(s);
}
