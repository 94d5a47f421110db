/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the helper machine (rt/helper.h), which executes ustack helpers.
 *
 * Each iteration of one loop executes some instructions that need no calls, and one that does. The
 * kernel's verifier follows each of the latter once. Everything that an instruction changes is in
 * memory, of whose contents the verifier knows nothing.
 *
 * Nothing that a helper or a process contains can do harm: registers and variables are masked,
 * memory is read by functions that fail where there is none, the number of instructions is bounded,
 * and subroutines that read tables count as many instructions as they read words.
 *
 * A fault ends the clauses of one frame, or of one helper on uthread; a walk whose instructions are
 * used up runs no clauses any more. Both are counted, and marked in the stack, because frames may
 * be missing from there on (fault.c).
 */
/* This file uses the struct of arch/frame.h, and none of its steps. */
#pragma clang diagnostic ignored "-Wundefined-internal"
#include "rt/helper_memory.h"

static long (*const bpf_get_current_comm)(void *buf, u32 size) = (void *)16;

/* The context of the loop: addresses that are map values to the verifier, or rt_mach. */
struct helper_env {
	char *scratch;
	struct rt_mach *m;
};

/* The register whose number is in the lowest byte. */
INLINE u64 *reg_of(struct rt_hwork *h, u64 n)
{
	n &= RT_HELPER_NREGS - 1;
	OPAQUE(n);
	n &= RT_HELPER_NREGS - 1;
	return &h->regs[n];
}

/* ---- instructions ------------------------------------------------------------------------- */

INLINE u64 divide(struct rt_mach *m, u32 op, u64 a, u64 b)
{
	if (!b)
		return fault(m, FAULT_DIVZERO, 0);
	switch (op) {
	case HOP_UDIV: return a / b;
	case HOP_UREM: return a % b;
	case HOP_SDIV: return rt_sdiv(m, a, b);
	default: return rt_srem(m, a, b);
	}
}

INLINE u64 compute(u32 op, u64 a, u64 b)
{
	switch (op) {
	case HOP_ADD: return a + b;
	case HOP_SUB: return a - b;
	case HOP_AND: return a & b;
	case HOP_OR: return a | b;
	case HOP_XOR: return a ^ b;
	case HOP_SHL: return a << (b & 63);
	case HOP_SHR: return a >> (b & 63);
	case HOP_SAR: return (s64)a >> (b & 63);
	default: return a * b;
	}
}

INLINE u64 jumps(u32 op, u64 a, u64 b)
{
	switch (op) {
	case HOP_JEQ: return a == b;
	case HOP_JNE: return a != b;
	case HOP_JLT: return a < b;
	case HOP_JLE: return a <= b;
	case HOP_JSLT: return (s64)a < (s64)b;
	case HOP_JSLE: return (s64)a <= (s64)b;
	default: return 1;
	}
}

/* Built-in variables; of: the operand of the instruction. */

INLINE u64 pid_tgid(struct rt_mach *m)
{
	return cfg.pidns.level ? rt_pid_tgid(m) : bpf_get_current_pid_tgid();
}

INLINE u64 var_curthread(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return bpf_get_current_task();
}

INLINE u64 var_pid(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return pid_tgid(m) >> 32;
}

INLINE u64 var_tid(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return pid_tgid(m) & 0xffffffff;
}

INLINE u64 var_execname(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	bpf_get_current_comm(h->strings[RT_HELPER_STRINGS], 16);
	return (u64)h->strings[RT_HELPER_STRINGS];
}

INLINE u64 var_ppid(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return rt_ppid(m);
}

INLINE u64 var_uid(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return bpf_get_current_uid_gid() & 0xffffffff;
}

INLINE u64 var_gid(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return bpf_get_current_uid_gid() >> 32;
}

INLINE u64 var_execargs(struct rt_mach *m, struct rt_hwork *h, u64 of)
{
	return of ? rt_execargs(m, of) : fault(m, FAULT_ILLOP, 0);
}

INLINE u64 builtin(struct rt_mach *m, struct rt_hwork *h, u32 id, u64 of)
{
	switch (id) {
/* clang-format off */
#define VAR_NO(name, code)
#define VAR_REGISTER(name, code)
#define VAR_YES(name, code) case code: return var_##name(m, h, of);
#define BUILTIN(id, name, code, type, attr, since, helpers, what) VAR_##helpers(name, code)
#define BUILTIN_OTHER(...)
#include "dif/builtins.def"
	/* clang-format on */
	default: return fault(m, FAULT_ILLOP, 0);
	}
}

/*
 * The instructions for which a subroutine of D counts: it may read strings whole, some of them once
 * for each byte of another.
 */
INLINE u64 call_cost(u32 subr)
{
	switch (subr) {
/* clang-format off */
#define COST_NO(id)
#define COST_SHORT(id)
#define COST_LONG(id) case DIF_SUBR_##id:
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, ...) COST_##helpers(id)
#include "dif/subrs.def"
		/* clang-format on */
		return 2 * cfg.strsize;
	default: return 16 + cfg.strsize / 16;
	}
}

/* clang-format off */
#define PASS_0
#define PASS_1 , v[0]
#define PASS_2 , v[0], v[1]
#define PASS_3 , v[0], v[1], v[2]
#define REVERSED_byte_order(bits) __builtin_bswap##bits(v[0])

#define CALL_NO(...)
#define CALL_SHORT(id, name, args, ...) \
	case DIF_SUBR_##id: { enum { NARGS = RT_COUNT args }; \
		return rt_sub_##name(m RT_PASTE(PASS_, RT_COUNT args) __VA_ARGS__); }
#define CALL_LONG CALL_SHORT
#define CALL_INLINE_NO(...)
#define CALL_INLINE_SHORT(id, how, value) case DIF_SUBR_##id: return REVERSED_##how(value);

/* Subroutines: those of D that helpers may call, and their own. */
INLINE u64 call(struct rt_mach *m, struct rt_hwork *h, u32 subr)
{
	const u64 *v = h->push;

	switch (subr) {
#define NOTHING
#define ALSO(value) , value
#define SUBR_ATTACH(...)
#define SUBR_WALK(id, name, code, result, args, optional, addresses, what, reference, function, passed, also) \
	case DIF_SUBR_##id: return function(m PASS_##passed also);
#include "dif/helper_subrs.def"
	default: break;
	}
	h->fuel -= call_cost(subr);
	switch (subr) {
#define OPT(type, value) , v[NARGS]
#define NONE
#define SUBR(id, name, code, result, args, optional, fx, addresses, helpers, ...) \
	CALL_##helpers(id, name, args, optional)
#define SUBR_INLINE(id, name, code, result, args, optional, fx, addresses, helpers, reference, attr, since, what, how, \
		    value) \
	CALL_INLINE_##helpers(id, how, value)
#include "dif/subrs.def"
	default: return fault(m, FAULT_ILLOP, 0);
	}
}
/* clang-format on */

/* Where a string of h->strings is in the firing's scratch value. */
#define STRING_OFF(k) (cfg.helper_off + offsetof(struct rt_hwork, strings) + (k)*RT_HELPER_STRSIZE)

/* Copies a string to the place of a clause-local variable. */
INLINE void local_put_string(struct rt_mach *m, struct rt_hwork *h, u32 slot, u64 from)
{
	u32 k = slot & (RT_HELPER_STRINGS - 1);
	char *to;

	OPAQUE(k);
	k &= RT_HELPER_STRINGS - 1;
	to = h->strings[k];
	h->regs[HREG_LOCALS + k] = 0;
	if (!from)
		return;
	if (rt_helper_copy(m, STRING_OFF(k), from))
		h->regs[HREG_LOCALS + k] = (u64)to;
	else if (bpf_probe_read_kernel_str(to, RT_HELPER_STRSIZE, from) < 0)
		fault(m, FAULT_BADADDR, from);
	else
		h->regs[HREG_LOCALS + k] = (u64)to;
}

INLINE u64 user_register(struct rt_mach *m, u32 word)
{
	struct unwind_work *w = work_of(m);

	if (!w || word >= FRAME_NREGS || !(w->f.is_first || w->saves) ||
	    !(w->f.known >> (word & 31) & 1))
		return fault(m, FAULT_ILLOP, word);
	return w->f.regs[word];
}

/* Names the frame, and goes to the next one; true if the walk is over. */
INLINE long frame_end(struct rt_mach *m, struct rt_hwork *h)
{
	u64 name = h->result;

	h->result = h->text_len = h->memo = 0;
	if (name)
		rt_walk_name(m, name);
	if (h->known)
		rt_helper_keep(m);
	return m->fault.kind ? 0 : !rt_walk_next(m);
}

/* Whether the address is that of a text of a helper, or in the scratch memory of this firing. */
INLINE u64 address_is_own(struct rt_mach *m, struct rt_hwork *h, u64 addr)
{
	return IS_USER(addr) || addr - h->code < 8 * RT_HCODE ||
	       addr - m->scratch < cfg.scratch_stride;
}

INLINE void own_check(struct rt_mach *m, struct rt_hwork *h, u64 insn, u64 b)
{
	u64 addr = insn & HOP_IMMEDIATE ? h->push[insn >> 24 & (RT_HELPER_PUSHES - 1)]
					: b + (u64)((s64)insn >> 32);

	if (!address_is_own(m, h, addr))
		fault(m, FAULT_BADADDR, addr);
}

/* Instructions that are no computations, jumps, loads or variables: they are rarer. */
INLINE long execute_rare(struct rt_mach *m, struct rt_hwork *h, u32 op, u64 insn, u64 b, u64 *ret)
{
	u32 imm = insn >> 32, c = insn >> 24 & 255;

	switch (op) {
	case HOP_TEXT: *ret = h->code + 8 * (imm + b); return 0;
	case HOP_STORE: rt_store(m, *ret, b, c); return 0;
	case HOP_PUTS: local_put_string(m, h, imm, b); return 0;
	case HOP_UREG: *ret = user_register(m, imm); return 0;
	case HOP_VAR: *ret = builtin(m, h, imm, b); return 0;
	case HOP_SAVE: rt_helper_put(m, imm, b); return 0;
	case HOP_SCMP: *ret = rt_strcmp(m, b, *reg_of(h, c)); return 0;
	case HOP_LOOP: h->loops[c & (RT_HELPER_LOOPS - 1)] = imm; return 0;
	case HOP_TRY: h->on_fault = h->pc + imm; return 0;
	case HOP_RESULT: h->result = b; return 0;
	case HOP_ADDS: rt_helper_add(m, b, 1); return 0;
	case HOP_ADDN:
		rt_helper_add(m, insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : b, 0);
		return 0;
	case HOP_FRAME: rt_helper_frame(m); return 0;
	case HOP_UNWIND:
		h->next[0] = h->push[0];
		h->next[1] = h->push[1];
		h->next[2] = h->push[2];
		h->is_steered = 1;
		return 0;
	case HOP_FRAMES:
		h->on_fault = h->pc++;
		h->result = h->text_len = h->memo = h->known = 0;
		return !rt_walk_first(m);
	case HOP_STEP: return frame_end(m, h);
	case HOP_OWN: own_check(m, h, insn, b); return 0;
	default: return 1;
	}
}

/*
 * Goes on with the next frame, or on uthread with the next helper; what the clauses were about to
 * record is dropped.
 */
INLINE long clauses_end(struct rt_hwork *h)
{
	h->result = h->text_len = h->memo = h->known = 0;
	h->pc = h->on_fault;
	return 0;
}

/* The fault of the instruction before the machine's pc ends the clauses of the frame. */
INLINE long fault_end(struct rt_mach *m, struct rt_hwork *h)
{
	rt_fault_take(m);
	m->fault.kind = 0;
	return clauses_end(h);
}

/* The instructions of the walk are used up: from now on there are native frames only. */
INLINE long fuel_end(struct rt_mach *m, struct rt_hwork *h)
{
	if (!h->is_spent)
		rt_fault_spent(m);
	h->is_spent = 1;
	if (h->on_fault < helper_frames(h)) /* no clauses of another helper on uthread */
		h->on_fault = helper_frames(h);
	return clauses_end(h);
}

/*
 * Executes instructions that neither call nor fail, as long as there are any, at most BATCH: calls
 * and returns cost more than what they do. Goes on behind the last one; returns false if the
 * next one is of another kind.
 */
#define BATCH 12

INLINE u64 batch_execute(struct rt_hwork *h)
{
	u64 insn, a, b, c, v;
	u32 pc = h->pc, op, n;

#pragma clang loop unroll(disable)
	for (n = 0; n < BATCH; n++) {
		insn = val_hcode[pc & (RT_HCODE - 1)];
		op = insn & 63;
		a = insn >> 8 & 255;
		b = *reg_of(h, insn >> 16);
		if (hop_computes(insn)) {
			c = insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : *reg_of(h, insn >> 24);
			v = compute(op, b, c);
		} else if (op >= HOP_JEQ && op <= HOP_JMP) {
			c = insn & HOP_IMMEDIATE ? (u64)(s64)(signed char)a
						 : *reg_of(h, insn >> 24);
			pc += jumps(op, b, c) ? (u32)(insn >> 32) + 1 : 1;
			continue;
		} else if (op == HOP_LOAD) {
			if (!line_load(h, b + (u64)((s64)insn >> 32), insn >> 24 & 15, &v))
				break;
			v = sign_extend(v, insn >> 24 & 31);
		} else if (op == HOP_PUSH) {
			h->push[insn >> 24 & (RT_HELPER_PUSHES - 1)] =
				insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : b;
			pc++;
			continue;
		} else if (op == HOP_IMM) {
			v = (u64)((s64)insn >> 32);
		} else if (op == HOP_EXTEND) {
			v = sign_extend(b, insn >> 24 & 31);
		} else if (op == HOP_AGAIN) {
			u64 *left = &h->loops[insn >> 24 & (RT_HELPER_LOOPS - 1)];

			pc += *left ? (u32)(insn >> 32) + 1 : 1;
			*left -= *left != 0;
			continue;
		} else if (op == HOP_NONE) {
			h->result = 0;
			pc++;
			continue;
		} else {
			break;
		}
		*reg_of(h, a) = v;
		pc++;
	}
	h->pc = pc;
	h->fuel -= n;
	return n == BATCH;
}

/* Bit n: instruction n writes to register a. */
#define HELPER_OP(name, uses, what) | (u64)(((uses)&HOP_WRITES_A) != 0) << HOP_##name
static const u64 writers = 0
#include "rt/helper_ops.def"
	;

/* Executes an instruction of any kind. */
INLINE long insn_execute(struct rt_mach *m, struct rt_hwork *h)
{
	u64 insn = val_hcode[h->pc & (RT_HCODE - 1)], b, a, v;
	u32 op = insn & 63;
	long done = 0;

	if (h->fuel-- < 0 && op != HOP_FRAMES && op != HOP_STEP)
		return fuel_end(m, h);
	h->pc++;
	a = insn >> 8 & 255;
	b = *reg_of(h, insn >> 16);
	if (hop_divides(insn)) {
		v = divide(m, op, b,
			   insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : *reg_of(h, insn >> 24));
	} else if (op == HOP_LOAD) {
		v = word_load(m, h, b + (u64)((s64)insn >> 32), insn >> 24 & 15);
		v = sign_extend(v, insn >> 24 & 31);
	} else if (op == HOP_WIDE) {
		v = val_hcode[h->pc & (RT_HCODE - 1)];
		h->pc++;
	} else if (op == HOP_CALL) {
		u32 subr = insn >> 32;

		v = call(m, h, subr);
	} else {
		v = *reg_of(h, a);
		done = execute_rare(m, h, op, insn, b, &v);
		if (!(writers >> op & 1))
			a = 0;
	}
	if (m->fault.kind)
		done = fault_end(m, h);
	else if (a)
		*reg_of(h, a) = v;
	return done != 0;
}

__attribute__((used)) static long rtcb_helper_step(u64 i, void *ctx)
{
	struct helper_env *env = ctx;
	struct rt_hwork *h = HELPER(env->scratch);

	if (h->fuel >= 0 && batch_execute(h))
		return 0;
	return insn_execute(env->m, h);
}

NOINLINE u64 rt_helper_run(struct rt_mach *m)
{
	struct helper_env env = {.m = m};

	if (!m)
		return 0;
	env.scratch = slot_of(m);
	if (env.scratch)
		HELPER(env.scratch)->entering = 0;
	if (env.scratch)
		bpf_loop(RT_HELPER_MOST, rtcb_helper_step, &env, 0);
	return 0;
}

/* ---- steps of compiled helpers -------------------------------------------------------------- */

NOINLINE u64 rt_helper_load(struct rt_mach *m, u64 addr, u64 c)
{
	struct rt_hwork *h = helper_of(m);
	u64 v = 0;

	if (!h)
		return 0;
	if (!line_load(h, addr, c & 15, &v))
		v = word_load(m, h, addr, c & 15);
	return sign_extend(v, c & 31);
}

NOINLINE u64 rt_helper_rare(struct rt_mach *m, u64 insn, u64 b)
{
	struct rt_hwork *h = helper_of(m);
	u32 op = insn & 63, imm = insn >> 32;

	if (!h)
		return 0;
	switch (op) {
	case HOP_PUTS: local_put_string(m, h, imm, b); return 0;
	case HOP_UREG: return user_register(m, imm);
	case HOP_VAR: /* an address that was read from memory is a number to the verifier */
		*(volatile u64 *)&h->t[0] = builtin(m, h, imm, b);
		return *(volatile u64 *)&h->t[0];
	case HOP_OWN: own_check(m, h, insn, b); return 0;
	default: return fault(m, FAULT_ILLOP, op);
	}
}

NOINLINE u64 rt_helper_cost(struct rt_mach *m, u64 subr)
{
	struct rt_hwork *h = helper_of(m);

	if (h)
		h->fuel -= call_cost(subr);
	return 0;
}

NOINLINE u64 rt_helper_fault(struct rt_mach *m)
{
	struct rt_hwork *h = helper_of(m);

	return h ? fault_end(m, h) : 0;
}

NOINLINE u64 rt_helper_spent(struct rt_mach *m)
{
	struct rt_hwork *h = helper_of(m);

	return h ? fuel_end(m, h) : 0;
}
