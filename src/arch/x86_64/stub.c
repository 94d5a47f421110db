/* SPDX-License-Identifier: MIT */
/*
 * Stubs for x86-64: bodies of probes, and all around the moved instructions (move.c).
 *
 * Flags are restored by sahf, and the overflow flag by an addition, because popfq takes 20 cycles
 * and more. Neither changes the flags of the system (trap, direction, alignment), which bodies
 * leave as they are; but for the direction flag, which the function of a relay expects to be 0.
 *
 * Facts    SysV AMD64 ABI 3.2.2 (red zone, alignment of the stack), 3.2.1 (direction flag). Linux
 *          include/uapi/linux/rseq.h: cpu_id is negative when it is not valid, and so it is masked.
 */
#include "arch/x86_64/emit.h"
#include "arch/x86_64/x86_64.h"

#define RED_ZONE     128
#define THREAD_SHIFT 12 /* threads' blocks lie on stacks, which are some pages apart */

/* The part of a body for threads that are not the owner: behind the instructions of the window. */
struct rest {
	const struct stub_body *b;
	uint32_t forward; /* the jump to the part */
	uint32_t back;	  /* offset where it goes on */
};

struct rests {
	bool are_near; /* jumps to them have a distance of one byte */
	uint32_t n;
	struct rest list[2 * STUB_BODIES_MAX]; /* a tail may have a body a second time */
};

/* A relay whose tests are in the stub; what is done if one of them is true stands at its end. */
struct cold {
	const struct stub_body *b;
	uint32_t index;			/* of the body in the window */
	uint32_t ntrue;			/* jumps that lead there, */
	uint32_t jumps[STUB_TESTS_MAX]; /* as code_forward32() has returned them */
	uint32_t keeps_from;		/* jumps from this one on have the flags in rax */
	uint8_t regs;			/* bit n: register n was pushed */
	uint32_t back;			/* the offset at which the stub goes on */
};

struct body_ctx {
	struct rests *rests;
	const struct stub_window *w;
	uint16_t *goes_on; /* of struct stub */
	const struct stub_env *env;
	struct cold *colds; /* STUB_BODIES_MAX */
	uint32_t *ncolds;
	uint32_t at;	 /* bodies at this offset, */
	bool exits;	 /* of this kind */
	const char *why; /* why they cannot be written */
};

static void stack_add(struct emit *e, int32_t n)
{
	if (n >= INT8_MIN && n <= INT8_MAX) {
		EMIT(e, 0x48, 0x8d, 0x64, 0x24, (uint8_t)n); /* lea n(%rsp), %rsp */
	} else {
		EMIT(e, 0x48, 0x8d, 0xa4, 0x24);
		code_u32(e, (uint32_t)n);
	}
}

/* cmpb $0, switch; je over: returns where that is written. */
static uint32_t switch_test(struct emit *e, const struct stub_env *env)
{
	EMIT(e, 0x80, 0x3d);
	code_distance(e, env->switch_addr, 1);
	EMIT(e, 0x00, 0x74);
	return code_forward(e);
}

/* %rdx = how far the word of the CPU is from that of CPU 0. */
static void word_find(struct emit *e, const struct stub_env *env)
{
	if (env->cpu == STUB_CPU_RSEQ) {
		EMIT(e, 0x64, 0x8b, 0x14, 0x25); /* mov %fs:rseq_cpu, %edx */
		code_u32(e, (uint32_t)env->rseq_cpu);
	} else {
		EMIT(e, 0x64, 0x48, 0x8b, 0x14, 0x25, 0, 0, 0, 0); /* mov %fs:0, %rdx */
		EMIT(e, 0x48, 0xc1, 0xea, THREAD_SHIFT);	   /* shr */
	}
	EMIT(e, 0x81, 0xe2); /* and $mask, %edx */
	code_u32(e, env->cpu_mask);
	EMIT(e, 0x48, 0xc1, 0xe2, env->cpu_shift); /* shl */
}

static bool has_one_word(const struct stub_env *env)
{
	return env->cpu == STUB_CPU_ONE || !env->cpu_mask;
}

/* %rcx = the word of CPU 0. */
static void counter_load(struct emit *e, taddr counter)
{
	EMIT(e, 0x48, 0x8d, 0x0d); /* lea counter(%rip), %rcx */
	code_distance(e, counter, 0);
}

static void counter_add(struct emit *e, const struct stub_env *env, taddr counter)
{
	if (has_one_word(env)) {
		EMIT(e, 0xf0, 0x48, 0xff, 0x05); /* lock incq counter(%rip) */
		code_distance(e, counter, 0);
		return;
	}
	word_find(e, env);
	counter_load(e, counter);
	EMIT(e, 0xf0, 0x48, 0xff, 0x04, 0x11); /* lock incq (%rcx,%rdx) */
}

static uint32_t locked_make(const struct stub_env *env, uint8_t *buf, uint32_t size)
{
	struct emit e = {.buf = buf, .size = size, .code = env->code};
	uint32_t over = switch_test(&e, env);

	EMIT(&e, 0x52); /* push %rdx */
	if (has_one_word(env))
		EMIT(&e, 0x31, 0xd2); /* xor %edx, %edx */
	else
		word_find(&e, env);
	EMIT(&e, 0xf0, 0x48, 0xff, 0x04, 0x11); /* lock incq (%rcx,%rdx) */
	EMIT(&e, 0x5a);
	code_arrive(&e, over);
	EMIT(&e, 0xc3);
	return e.is_full || e.is_far ? 0 : e.n;
}

static void flags_save(struct emit *e)
{
	EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
}

static void flags_restore(struct emit *e)
{
	EMIT(e, 0x04, 0x7f, 0x9e); /* add $127, %al: overflows if it is 1; sahf */
}

static void locked_write(struct emit *e, const struct stub_window *w, const struct stub_env *env,
			 const struct stub_body *b)
{
	uint32_t over;

	if (w->has_red_zone)
		stack_add(e, -RED_ZONE);
	EMIT(e, 0x50); /* push %rax */
	if (w->has_flags)
		flags_save(e);
	EMIT(e, 0x51, 0x52); /* push %rcx; push %rdx */
	over = switch_test(e, env);
	counter_add(e, env, b->counter);
	code_arrive(e, over);
	EMIT(e, 0x5a, 0x59);
	if (w->has_flags)
		flags_restore(e);
	EMIT(e, 0x58);
	if (w->has_red_zone)
		stack_add(e, RED_ZONE);
}

/* The word of the owner is incremented by one instruction, which no signal divides. */
static void owned_write(struct emit *e, const struct body_ctx *c, const struct stub_body *b)
{
	const struct stub_window *w = c->w;
	struct rest *r = &c->rests->list[c->rests->n++];
	uint32_t over = 0;

	if (w->has_red_zone)
		stack_add(e, -RED_ZONE);
	if (w->has_flags) {
		EMIT(e, 0x50); /* push %rax */
		flags_save(e);
	}
	EMIT(e, 0x51); /* push %rcx */
	if (c->env->tests_switch)
		over = switch_test(e, c->env);
	EMIT(e, 0x64, 0x48, 0x8b, 0x0c, 0x25, 0, 0, 0, 0); /* mov %fs:0, %rcx */
	EMIT(e, 0x48, 0x3b, 0x0d);			   /* cmp owner(%rip), %rcx */
	code_distance(e, c->env->owner_addr, 0);
	r->b = b;
	if (c->rests->are_near) {
		EMIT(e, 0x75); /* jne */
		r->forward = code_forward(e);
	} else {
		EMIT(e, 0x0f, 0x85); /* jne */
		r->forward = code_forward32(e);
	}
	EMIT(e, 0x48, 0xff, 0x05); /* incq own(%rip) */
	code_distance(e, b->own, 0);
	r->back = e->n;
	if (c->env->tests_switch)
		code_arrive(e, over);
	EMIT(e, 0x59); /* pop */
	if (w->has_flags) {
		flags_restore(e);
		EMIT(e, 0x58);
	}
	if (w->has_red_zone)
		stack_add(e, RED_ZONE);
}

/* The same without the common function: where the switch was tested, or there is none. */
static void rest_count(struct emit *e, const struct stub_env *env, const struct rest *r)
{
	uint32_t over = 0;

	if (!env->tests_switch)
		over = switch_test(e, env);
	EMIT(e, 0x52); /* push %rdx */
	counter_add(e, env, r->b->counter);
	EMIT(e, 0x5a);
	if (!env->tests_switch)
		code_arrive(e, over);
}

static void rest_write(struct emit *e, const struct rests *rests, const struct stub_env *env,
		       const struct rest *r)
{
	if (rests->are_near)
		code_arrive(e, r->forward);
	else
		code_arrive32(e, r->forward);
	if (env->locked_func && !env->tests_switch) {
		counter_load(e, r->b->counter);
		EMIT(e, 0xe8); /* call */
		code_distance(e, env->locked_func, 0);
	} else {
		rest_count(e, env, r);
	}
	if (e->n + 2 - r->back <= 128)
		EMIT(e, 0xeb, (uint8_t)(r->back - (e->n + 2))); /* jmp */
	else
		code_jump(e, e->code + r->back);
}

static void count_write(struct emit *e, const struct body_ctx *c, const struct stub_body *b)
{
	if (c->env->owner_addr && c->rests->n < ARRAY_LEN(c->rests->list))
		owned_write(e, c, b);
	else
		locked_write(e, c->w, c->env, b);
}

/* Saves all registers as struct native_frame, of which the stack pointer is not right yet. */
static void frame_write(struct emit *e, const struct stub_window *w, const struct stub_body *b)
{
	if (w->has_red_zone)
		stack_add(e, -RED_ZONE);
	EMIT(e, 0x9c);	     /* pushfq */
	EMIT(e, 0x54);	     /* push %rsp */
	EMIT(e, 0xff, 0x35); /* push pc */
	code_const_distance(e, b->pc);
	EMIT(e, 0x57, 0x56, 0x52, 0x51, 0x50);			 /* di si dx cx ax */
	EMIT(e, 0x41, 0x50, 0x41, 0x51, 0x41, 0x52, 0x41, 0x53); /* r8 to r11 */
	EMIT(e, 0x53, 0x55);					 /* bx bp */
	EMIT(e, 0x41, 0x54, 0x41, 0x55, 0x41, 0x56, 0x41, 0x57); /* r12 to r15 */
}

/* Calls the function of the body with the frame; rax is what it returns. */
static void frame_call(struct emit *e, const struct stub_window *w, const struct stub_body *b)
{
	EMIT(e, 0x48, 0x81, 0x84, 0x24); /* addq $, STUB_FRAME_SP * 8(%rsp) */
	code_u32(e, STUB_FRAME_SP * 8);
	code_u32(e, 8 + (w->has_red_zone ? RED_ZONE : 0));
	EMIT(e, 0x48, 0x89, 0xe7);	 /* mov %rsp, %rdi */
	EMIT(e, 0x48, 0x83, 0xe4, 0xf0); /* and $-16, %rsp */
	EMIT(e, 0x57, 0x57);		 /* push %rdi, twice: the alignment stays */
	EMIT(e, 0xfc, 0xbe);		 /* cld; mov $site, %esi */
	code_u32(e, b->site);
	EMIT(e, 0xe8);
	code_distance(e, b->func, 0);
	EMIT(e, 0x5c); /* pop %rsp */
}

/* Restores all registers and the flags; more: bytes that are added to the stack pointer, too. */
static void frame_restore(struct emit *e, const struct stub_window *w, int32_t more)
{
	EMIT(e, 0x41, 0x5f, 0x41, 0x5e, 0x41, 0x5d, 0x41, 0x5c);
	EMIT(e, 0x5d, 0x5b);
	EMIT(e, 0x41, 0x5b, 0x41, 0x5a, 0x41, 0x59, 0x41, 0x58);
	/* ax cx dx si di pc sp flags are left. Was the direction flag set? */
	EMIT(e, 0xf6, 0x44, 0x24, 57, 0x04, 0x74, 0x01, 0xfd); /* testb $4, 57(%rsp); je; std */
	EMIT(e, 0x8b, 0x44, 0x24, 56);			       /* mov 56(%rsp), %eax */
	EMIT(e, 0x86, 0xc4, 0xc0, 0xe0, 0x04); /* xchg %al, %ah; shl $4, %al: bit 7 is OF */
	EMIT(e, 0x04, 0x80, 0x9e);	       /* add $128, %al: overflows if it is set; sahf */
	EMIT(e, 0x58, 0x59, 0x5a, 0x5e, 0x5f);
	stack_add(e, 24 + (w->has_red_zone ? RED_ZONE : 0) + more);
}

#define FRAME_REGS 15
#define FRAME_AX   10
#define FRAME_SI   13
#define FRAME_DI   14

/* The numbers of the registers of the frame's first words. */
static const uint8_t frame_regs[FRAME_REGS] = {15, 14, 13, 12, 5, 3, 11, 10, 9, 8, 0, 1, 2, 6, 7};

/* The words that a body of STUB_CALL saves; the stack pointer is at the first one. */
struct saves {
	uint32_t regs, restored; /* bits of words */
	uint32_t first;		 /* number of the first word */
	bool has_flags;		 /* they are alive */
	bool has_word;		 /* the function reads those of the system, too */
	int32_t above;		 /* bytes above the frame */
};

static void word_push(struct emit *e, uint32_t word)
{
	if (frame_regs[word] >= 8)
		EMIT(e, 0x41);
	EMIT(e, 0x50 | (frame_regs[word] & 7));
}

static void word_pop(struct emit *e, uint32_t word)
{
	if (frame_regs[word] >= 8)
		EMIT(e, 0x41);
	EMIT(e, 0x58 | (frame_regs[word] & 7));
}

/* An instruction with rax or eax and a word of the frame: opcode with the bytes before it. */
static void word_access(struct emit *e, bool is_wide, uint8_t opcode, const struct saves *s,
			uint32_t word)
{
	if (is_wide)
		EMIT(e, 0x48);
	EMIT(e, opcode, 0x84, 0x24);
	code_u32(e, (word - s->first) * 8);
}

static struct saves saves_of(const struct stub_window *w, const struct stub_body *b)
{
	uint32_t regs = (1u << FRAME_REGS) - 1;
	struct saves s = {.restored = (b->destroys & regs) | 1u << FRAME_SI | 1u << FRAME_DI,
			  .has_flags = w->has_flags,
			  .has_word = b->reads >> STUB_FRAME_FLAGS & 1,
			  .above = w->has_red_zone ? RED_ZONE : 0};

	if (s.has_flags || b->reads >> FRAME_REGS)
		s.restored |= 1u << FRAME_AX;
	s.regs = s.restored | (b->reads & regs);
	s.first = (uint32_t)__builtin_ctz(s.regs);
	return s;
}

/* Lowers the stack pointer to the first word, and stores the registers. */
static void regs_save(struct emit *e, const struct saves *s)
{
	int32_t gap = STUB_FRAME_NWORDS - FRAME_REGS;

	if (s->has_word) {
		if (s->above)
			stack_add(e, -s->above);
		EMIT(e, 0x9c); /* pushfq */
		gap--;
		stack_add(e, -8 * gap);
	} else {
		stack_add(e, -s->above - 8 * gap);
	}
	gap = 0;
	for (uint32_t i = FRAME_REGS; i-- > s->first;) {
		if (!(s->regs >> i & 1)) {
			gap++;
			continue;
		}
		if (gap)
			stack_add(e, -8 * gap);
		gap = 0;
		word_push(e, i);
	}
}

/* Stores the words that are no general registers; rax is saved. */
static void words_save(struct emit *e, const struct saves *s, const struct stub_body *b)
{
	if (s->has_flags && !s->has_word) {
		EMIT(e, 0x9f, 0x0f, 0x90, 0xc0); /* lahf; seto %al */
		word_access(e, false, 0x89, s, STUB_FRAME_FLAGS);
	}
	if (b->reads >> STUB_FRAME_PC & 1) {
		EMIT(e, 0x48, 0x8b, 0x05); /* mov pc(%rip), %rax */
		code_const_distance(e, b->pc);
		word_access(e, true, 0x89, s, STUB_FRAME_PC);
	}
	if (b->reads >> STUB_FRAME_SP & 1) {
		EMIT(e, 0x48, 0x8d, 0x84, 0x24); /* lea n(%rsp), %rax: as at the site */
		code_u32(e, (STUB_FRAME_NWORDS - s->first) * 8 + (uint32_t)s->above);
		word_access(e, true, 0x89, s, STUB_FRAME_SP);
	}
}

static void regs_restore(struct emit *e, const struct saves *s)
{
	int32_t gap = 0;

	if (s->has_flags) {
		word_access(e, false, 0x8b, s, STUB_FRAME_FLAGS);
		if (s->has_word)
			/* xchg %al, %ah; shl $4, %al: bit 7 is OF; add $128, %al; sahf */
			EMIT(e, 0x86, 0xc4, 0xc0, 0xe0, 0x04, 0x04, 0x80, 0x9e);
		else
			EMIT(e, 0x04, 0x7f, 0x9e); /* add $127, %al; sahf */
	}
	for (uint32_t i = s->first; i < FRAME_REGS; i++) {
		if (!(s->restored >> i & 1)) {
			gap++;
			continue;
		}
		if (gap)
			stack_add(e, 8 * gap);
		gap = 0;
		word_pop(e, i);
	}
	stack_add(e, 8 * (gap + STUB_FRAME_NWORDS - FRAME_REGS) + s->above);
}

static void call_write(struct emit *e, const struct stub_window *w, const struct stub_env *env,
		       const struct stub_body *b)
{
	struct saves s = saves_of(w, b);
	uint32_t over;

	regs_save(e, &s);
	words_save(e, &s, b);
	over = switch_test(e, env);
	if (s.first) {
		EMIT(e, 0x48, 0x8d, 0x7c, 0x24, (uint8_t)(-8 * (int32_t)s.first)); /* lea, %rdi */
	} else {
		EMIT(e, 0x48, 0x89, 0xe7); /* mov %rsp, %rdi */
	}
	EMIT(e, 0xbe); /* mov $site, %esi */
	code_u32(e, b->site);
	EMIT(e, 0xe8);
	code_distance(e, b->func, 0);
	code_arrive(e, over);
	regs_restore(e, &s);
}

/* ---- relays ---------------------------------------------------------------------------------- */

/*
 * The stack pointer is what it is at the site while the slot is executed. What the function has
 * pushed since then is below it for that moment, within the red zone, which signal handlers keep.
 * Returns the offset at which the slot goes on.
 */
static uint16_t relay_write(struct emit *e, const struct stub_window *w, const struct stub_env *env,
			    const struct stub_body *b)
{
	uint32_t off, no = 0, end;
	uint16_t goes_on;

	frame_write(e, w, b);
	off = switch_test(e, env);
	if (b->func) {
		frame_call(e, w, b);
		EMIT(e, 0x85, 0xc0, 0x74); /* test %eax, %eax; je */
		no = code_forward(e);
	}
	frame_restore(e, w, b->pushed);
	code_jump(e, b->slot);
	goes_on = (uint16_t)e->n;
	if (b->pushed)
		stack_add(e, -b->pushed);
	EMIT(e, 0xeb); /* jmp end */
	end = code_forward(e);
	code_arrive(e, off);
	if (b->func)
		code_arrive(e, no);
	frame_restore(e, w, 0);
	code_arrive(e, end);
	return goes_on;
}

#define RAX 0u
#define RCX 1u
#define RDX 2u

/* The number of a register that is tested; false: tests use it, or there is none. */
static bool test_reg(uint32_t word, uint8_t *ret)
{
	if (word >= ARRAY_LEN(frame_regs) || frame_regs[word] <= RDX)
		return false;
	*ret = frame_regs[word];
	return true;
}

/* An instruction of two registers, with their 64 bits: reg stands in ModRM.reg, rm in ModRM.rm. */
static void regs_emit(struct emit *e, uint8_t op, uint8_t reg, uint8_t rm)
{
	EMIT(e, (uint8_t)(0x48 | (reg >> 3) << 2 | rm >> 3), op,
	     (uint8_t)(0xc0 | (reg & 7) << 3 | (rm & 7)));
}

/* Leads to the cold part if rcx is not 0, without a look at flags: jrcxz over; jmp cold. */
static void cold_jump_rcx(struct emit *e, struct cold *c)
{
	EMIT(e, 0xe3, 0x05, 0xe9);
	c->jumps[c->ntrue++] = code_forward32(e);
}

static void word_test(struct emit *e, const struct stub_test *t, struct cold *c)
{
	EMIT(e, 0x8b, 0x0d); /* mov word(%rip), %ecx */
	code_distance(e, t->addr, 0);
	cold_jump_rcx(e, c);
}

/*
 * rorx shifts without a change of the flags, which may be alive. Where the processor does not have
 * it, the test is true.
 */
static void byte_test(struct emit *e, const struct stub_test *t, struct cold *c, uint8_t reg)
{
	if (!__builtin_cpu_supports("bmi2")) {
		EMIT(e, 0xe9);
		c->jumps[c->ntrue++] = code_forward32(e);
		return;
	}
	EMIT(e, 0xc4, reg < 8 ? 0xe3 : 0xc3, 0xfb, 0xf0, (uint8_t)(0xc8 | (reg & 7)), 12);
	EMIT(e, 0x0f, 0xb7, 0xc9); /* rorx $12, reg, %rcx; movzwl %cx, %ecx */
	EMIT(e, 0x48, 0x8d, 0x05); /* lea bytes(%rip), %rax */
	code_distance(e, t->addr, 0);
	EMIT(e, 0x0f, 0xb6, 0x0c, 0x08); /* movzbl (%rax,%rcx), %ecx */
	cold_jump_rcx(e, c);
}

/* rcx = the offset of the CPU's word from that of CPU 0, rdx = its address */
static void left_find(struct emit *e, const struct stub_env *env, const struct stub_test *t)
{
	EMIT(e, 0x64, 0x8b, 0x0c, 0x25); /* mov %fs:rseq_cpu, %ecx */
	code_u32(e, (uint32_t)env->rseq_cpu);
	EMIT(e, 0x81, 0xe1); /* and $mask, %ecx */
	code_u32(e, env->cpu_mask);
	EMIT(e, 0x48, 0xc1, 0xe1, t->shift); /* shl */
	EMIT(e, 0x48, 0x8d, 0x15);	     /* lea word(%rip), %rdx */
	code_distance(e, t->addr, 0);
	EMIT(e, 0x48, 0x01, 0xca); /* add %rcx, %rdx */
}

/* The flags are kept for the slot, which shows them, whether the program reads them or not. */
static void left_test(struct emit *e, const struct body_ctx *x, const struct stub_test *t,
		      struct cold *c, uint8_t reg, uint8_t times)
{
	uint32_t over;

	if (x->env->cpu != STUB_CPU_RSEQ) {
		EMIT(e, 0xe9);
		c->jumps[c->ntrue++] = code_forward32(e);
		return;
	}
	c->keeps_from = c->ntrue;
	flags_save(e);
	over = switch_test(e, x->env);
	left_find(e, x->env, t);
	if (t->times) {
		EMIT(e, 0x50);		      /* push %rax */
		regs_emit(e, 0x89, reg, RAX); /* mov reg, %rax */
		EMIT(e, (uint8_t)(0x48 | times >> 3), 0x0f, 0xaf,
		     (uint8_t)(0xc0 | (times & 7))); /* imul times, %rax */
	}
	EMIT(e, 0x48, 0x8b, 0x0a);		       /* mov (%rdx), %rcx */
	regs_emit(e, 0x29, t->times ? RAX : reg, RCX); /* sub reg, %rcx */
	if (t->times)
		EMIT(e, 0x58); /* pop %rax */
	EMIT(e, 0x0f, 0x86);   /* jbe cold */
	c->jumps[c->ntrue++] = code_forward32(e);
	EMIT(e, 0x48, 0x89, 0x0a); /* mov %rcx, (%rdx) */
	code_arrive(e, over);
	if (x->w->has_flags)
		flags_restore(e);
}

/* Which registers the tests of a body take. */
static uint8_t tests_regs(const struct stub_body *b)
{
	uint8_t regs = 1u << RCX;

	for (uint32_t i = 0; i < b->ntests; i++) {
		if (b->tests[i].kind == STUB_TEST_BYTE)
			regs |= 1u << RAX;
		if (b->tests[i].kind == STUB_TEST_LEFT)
			regs |= 1u << RDX | 1u << RAX;
	}
	return regs;
}

static void regs_push(struct emit *e, uint8_t regs)
{
	for (uint32_t r = RAX; r <= RDX; r++)
		if (regs >> r & 1)
			EMIT(e, (uint8_t)(0x50 | r));
}

static void regs_pop(struct emit *e, uint8_t regs)
{
	for (uint32_t r = RDX + 1; r-- > RAX;)
		if (regs >> r & 1)
			EMIT(e, (uint8_t)(0x58 | r));
}

/* Writes the tests of a relay; the rest of it comes with cold_write(). NULL, or why not. */
static const char *tests_write(struct emit *e, const struct body_ctx *x, uint32_t index)
{
	const struct stub_body *b = &x->w->bodies[index];
	struct cold *c = &x->colds[(*x->ncolds)++];

	*c = (struct cold){.b = b, .index = index, .keeps_from = STUB_TESTS_MAX};
	c->regs = tests_regs(b);
	if (x->w->has_red_zone)
		stack_add(e, -RED_ZONE);
	regs_push(e, c->regs);
	for (uint32_t i = 0; i < b->ntests; i++) {
		const struct stub_test *t = &b->tests[i];
		uint8_t reg = 0, times = 0;

		if (c->keeps_from < STUB_TESTS_MAX ||
		    (t->kind != STUB_TEST_WORD && !test_reg(t->reg, &reg)) ||
		    (t->times && !test_reg(t->times - 1u, &times)))
			return "a test of it cannot be made";
		switch (t->kind) {
		case STUB_TEST_WORD: word_test(e, t, c); break;
		case STUB_TEST_BYTE: byte_test(e, t, c, reg); break;
		case STUB_TEST_LEFT: left_test(e, x, t, c, reg, times); break;
		}
	}
	regs_pop(e, c->regs);
	if (x->w->has_red_zone)
		stack_add(e, RED_ZONE);
	c->back = e->n;
	return NULL;
}

/* Writes what a relay does if a test is true; returns the offset at which its slot goes on. */
static uint16_t cold_write(struct emit *e, const struct stub_window *w, const struct stub_env *env,
			   const struct cold *c)
{
	uint16_t goes_on;

	for (uint32_t i = c->keeps_from; i < c->ntrue; i++)
		code_arrive32(e, c->jumps[i]);
	if (c->keeps_from < c->ntrue)
		flags_restore(e);
	for (uint32_t i = 0; i < MIN(c->keeps_from, c->ntrue); i++)
		code_arrive32(e, c->jumps[i]);
	regs_pop(e, c->regs);
	if (w->has_red_zone)
		stack_add(e, RED_ZONE);
	goes_on = relay_write(e, w, env, c->b);
	code_jump(e, e->code + c->back);
	return goes_on;
}

/* ---- stubs ----------------------------------------------------------------------------------- */

static bool slot_make(taddr slot, taddr goes_on, uint8_t *buf)
{
	struct emit e = {.buf = buf, .size = STUB_SLOT_SIZE, .code = slot};

	EMIT(&e, 0x90); /* nop: one byte, on which a uprobe costs least */
	code_jump(&e, goes_on);
	while (e.n < STUB_SLOT_SIZE)
		EMIT(&e, 0xcc);
	return !e.is_far;
}

static void body_write_relay(struct emit *e, struct body_ctx *c, uint32_t i)
{
	const struct stub_body *b = &c->w->bodies[i];
	const char *why = NULL;

	if (b->ntests)
		why = b->ntests <= STUB_TESTS_MAX && *c->ncolds < STUB_BODIES_MAX
			      ? tests_write(e, c, i)
			      : "a relay has too many tests";
	else
		c->goes_on[i] = relay_write(e, c->w, c->env, b);
	if (why && !c->why)
		c->why = why;
}

/* Writes those of the bodies at the present instruction that run in its tail, or not. */
static void bodies_write_of(struct emit *e, struct body_ctx *c, bool in_tail)
{
	for (uint32_t i = 0; i < c->w->nbodies; i++) {
		const struct stub_body *b = &c->w->bodies[i];

		if (b->off != c->at || b->is_exit != c->exits || b->has_tail != in_tail)
			continue;
		switch (b->kind) {
		case STUB_COUNT: count_write(e, c, b); break;
		case STUB_CALL: call_write(e, c->w, c->env, b); break;
		case STUB_RELAY: body_write_relay(e, c, i); break;
		}
	}
}

static void nothing_write(struct emit *e, void *ctx)
{
	(void)e, (void)ctx;
}

static bool insn_has_tail(const struct body_ctx *c)
{
	for (uint32_t i = 0; i < c->w->nbodies && c->exits; i++)
		if (c->w->bodies[i].off == c->at && c->w->bodies[i].has_tail)
			return true;
	return false;
}

/* Writes a copy of the tail, with the bodies before its last instruction, which returns. */
static const char *tail_write(struct emit *e, struct body_ctx *c)
{
	const struct stub_window *w = c->w;
	const char *why = NULL;
	bool ends = false;

	for (uint32_t i = 0; i < w->tail_nins && !why; i++) {
		uint32_t off = w->tail_ins[i];
		bool is_last = i + 1u == w->tail_nins;
		uint32_t end = is_last ? w->tail_len : w->tail_ins[i + 1];

		if (off >= end || end > w->tail_len || ends)
			return "the bytes of its tail are no instructions";
		if (is_last)
			bodies_write_of(e, c, true);
		why = insn_move(e, w->tail_code + off, end - off, w->tail + off, is_last,
				c->env->has_shadow_stack, nothing_write, NULL, &ends);
	}
	return why ? why : ends ? NULL : "its tail does not return";
}

static void bodies_write(struct emit *e, void *ctx)
{
	struct body_ctx *c = ctx;
	const char *why;

	bodies_write_of(e, c, false);
	if (!insn_has_tail(c) || c->why)
		return;
	why = tail_write(e, c);
	if (why)
		c->why = why;
}

/* Whether a body shows the flags to somebody, whether the program reads them or not. */
static bool bodies_show_flags(const struct stub_window *w)
{
	bool shows = false;

	for (uint32_t i = 0; i < w->nbodies; i++)
		shows |= w->bodies[i].kind == STUB_RELAY ||
			 (w->bodies[i].kind == STUB_CALL &&
			  w->bodies[i].reads >> STUB_FRAME_FLAGS & 1);
	return shows;
}

static const char *stub_try(const struct stub_window *w, const struct stub_env *env, bool are_near,
			    uint8_t *buf, uint32_t size, struct stub *ret)
{
	struct emit e = {.buf = buf, .size = MIN(size, STUB_SIZE_MAX), .code = env->code};
	struct stub s = {.nins = w->nins};
	struct rests rests = {.are_near = are_near};
	struct cold colds[STUB_BODIES_MAX];
	uint32_t ncolds = 0;
	bool ends = false;

	if (!w->nins || w->nins > STUB_INSNS_MAX || w->ins[0] != 0)
		return "too many instructions";
	if (w->nbodies > STUB_BODIES_MAX)
		return "too many probes";
	for (uint32_t i = 0; i < w->nins; i++) {
		uint32_t off = w->ins[i], end = i + 1 < w->nins ? w->ins[i + 1] : w->len;
		struct body_ctx c = {.w = w,
				     .env = env,
				     .colds = colds,
				     .ncolds = &ncolds,
				     .at = off,
				     .goes_on = s.goes_on,
				     .rests = &rests};
		const char *why;

		if (off >= end || end > w->len)
			return "its bytes are no instruction";
		if (ends)
			return "control does not reach an instruction";
		s.bounds[i] = (uint16_t)e.n;
		bodies_write(&e, &c);
		c.exits = true;
		why = insn_move(&e, w->code + off, end - off, w->addr + off, i + 1 == w->nins,
				env->has_shadow_stack, bodies_write, &c, &ends);
		if (why || c.why)
			return why ? why : c.why;
	}
	s.behind = (uint16_t)e.n;
	if (!ends)
		code_jump(&e, w->addr + w->len);
	for (uint32_t i = 0; i < rests.n; i++)
		rest_write(&e, &rests, env, &rests.list[i]);
	for (uint32_t i = 0; i < ncolds; i++)
		s.goes_on[colds[i].index] = cold_write(&e, w, env, &colds[i]);
	code_consts(&e);
	if (e.is_full)
		return "its stub would be too long";
	if (e.is_far)
		return "an address is too far away";
	s.size = (uint16_t)e.n;
	*ret = s;
	return NULL;
}

static const char *stub_write(const struct stub_window *w, const struct stub_env *env, uint8_t *buf,
			      uint32_t size, struct stub *ret)
{
	struct stub_window own = *w;
	const char *why;

	/* what one body destroys another one would show */
	own.has_flags |= w->nbodies > 1 && bodies_show_flags(w);
	why = stub_try(&own, env, true, buf, size, ret);
	return why ? stub_try(&own, env, false, buf, size, ret) : NULL;
}

const struct arch_stubs x86_64_stubs = {.make = stub_write,
					.slot_make = slot_make,
					.locked_make = locked_make};
