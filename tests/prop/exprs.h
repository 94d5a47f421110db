/* SPDX-License-Identifier: MIT */
/*
 * Random expressions in DIF, for property tests: built with types in mind (numbers and strings), so
 * that most of them do something.
 *
 * A batch may be restricted to what the compiler to machine code takes (exprs.is_native).
 */
#pragma once

#include "../unit/bpf/gen_fixture.h"
#include "dif/names.h"

#define STRSIZE	  64
#define USER_SIZE 512
#define NVARS	  16
#define BAD_ADDR  0x10
#define MAX_REGS  60

static uint64_t rng;

static uint32_t rnd(uint32_t n)
{
	rng ^= rng >> 12; /* xorshift64* */
	rng ^= rng << 25;
	rng ^= rng >> 27;
	return (uint32_t)((rng * 0x2545f4914f6cdd1dull) >> 32) % n;
}

static char *user; /* USER_SIZE readable bytes, then nothing */

/* ---- expressions ---------------------------------------------------------------------------- */

struct exprs {
	struct gx *x;
	struct dif_builder *b;
	uint32_t next_reg; /* registers are taken like a stack, in a shuffled order */
	uint8_t regs[MAX_REGS];
	struct prog_var *ints[NVARS], *strs[NVARS], *arrs[NVARS];
	uint32_t nints, nstrs, narrs;
	bool tuple_used;
	bool is_native;	     /* only what runs in the process */
	bool texts_compared; /* the flags say only whether two strings are equal */
};

static uint32_t reg_take(struct exprs *e)
{
	assert(e->next_reg < MAX_REGS);
	return e->regs[e->next_reg++];
}

static void reg_drop(struct exprs *e)
{
	e->next_reg--;
}

static uint32_t gen_int(struct exprs *e, int depth);
static uint32_t gen_str(struct exprs *e, int depth);

static void setx(struct exprs *e, uint64_t v, uint32_t rd)
{
	dif_emit(e->b, dif_idx(DIF_OP_SETX, dif_int(e->b, v), rd));
}

static uint32_t const_int(struct exprs *e)
{
	static const uint64_t some[] = {0,
					1,
					2,
					3,
					7,
					8,
					10,
					36,
					63,
					64,
					65,
					255,
					256,
					1000,
					65535,
					65536,
					INT32_MAX,
					0x80000000ull,
					UINT32_MAX,
					1ull << 32,
					INT64_MAX,
					1ull << 63,
					UINT64_MAX,
					(uint64_t)-2,
					(uint64_t)-10,
					(uint64_t)-4096};
	uint64_t v = rnd(4) ? some[rnd(ARRAY_LEN(some))]
			    : (uint64_t)rnd(UINT32_MAX) << 32 | rnd(UINT32_MAX);
	uint32_t rd = reg_take(e);

	setx(e, v, rd);
	return rd;
}

static uint32_t int_builtin(struct exprs *e)
{
	static const uint32_t ids[] = {DIF_VAR_PID,  DIF_VAR_TID,      DIF_VAR_UID,   DIF_VAR_GID,
				       DIF_VAR_ARG0, DIF_VAR_ARG0 + 3, DIF_VAR_ERRNO, DIF_VAR_IPL,
				       DIF_VAR_ID,   DIF_VAR_ZONENAME};
	uint32_t rd = reg_take(e), k = rnd(40);

	while (e->is_native && (k >= ARRAY_LEN(ids) || ids[k] == DIF_VAR_UID ||
				ids[k] == DIF_VAR_GID || ids[k] == DIF_VAR_ZONENAME))
		k = rnd(ARRAY_LEN(ids));
	dif_emit(e->b,
		 dif_idx(DIF_OP_LDGS, ids[k < ARRAY_LEN(ids) ? k : rnd(ARRAY_LEN(ids) - 1)], rd));
	return rd;
}

static uint32_t binary(struct exprs *e, int depth)
{
	static const enum dif_op ops[] = {DIF_OP_OR,  DIF_OP_XOR,  DIF_OP_AND,	DIF_OP_SLL,
					  DIF_OP_SRL, DIF_OP_SRA,  DIF_OP_SUB,	DIF_OP_ADD,
					  DIF_OP_MUL, DIF_OP_SDIV, DIF_OP_UDIV, DIF_OP_SREM,
					  DIF_OP_UREM};
	uint32_t a = gen_int(e, depth - 1), b = gen_int(e, depth - 1);

	/* the result may go to either operand */
	if (rnd(2)) {
		dif_emit(e->b, dif_rrr(ops[rnd(ARRAY_LEN(ops))], a, b, a));
		reg_drop(e);
		return a;
	}
	dif_emit(e->b, dif_rrr(ops[rnd(ARRAY_LEN(ops))], a, b, b));
	dif_emit(e->b, dif_rrr(DIF_OP_MOV, b, 0, a));
	reg_drop(e);
	return a;
}

static uint32_t unary(struct exprs *e, int depth)
{
	uint32_t a = gen_int(e, depth - 1);

	if (rnd(2))
		dif_emit(e->b, dif_rrr(DIF_OP_NOT, a, 0, a));
	else
		dif_emit(e->b, dif_rrr(DIF_OP_SUB, 0, a, a));
	return a;
}

static const enum dif_op branches[] = {DIF_OP_BE,  DIF_OP_BNE,	DIF_OP_BG, DIF_OP_BGU,
				       DIF_OP_BGE, DIF_OP_BGEU, DIF_OP_BL, DIF_OP_BLU,
				       DIF_OP_BLE, DIF_OP_BLEU};

/* Sets the flags; takes no register. */
static void condition(struct exprs *e, int depth)
{
	uint32_t a, b, kind = rnd(3);

	switch (kind) {
	case 0:
		a = gen_int(e, depth - 1);
		dif_emit(e->b, dif_rrr(DIF_OP_TST, a, 0, 0));
		reg_drop(e);
		break;
	case 1:
		a = gen_int(e, depth - 1);
		b = gen_int(e, depth - 1);
		dif_emit(e->b, dif_rrr(DIF_OP_CMP, a, b, 0));
		reg_drop(e);
		reg_drop(e);
		break;
	default:
		a = gen_str(e, depth - 1);
		b = gen_str(e, depth - 1);
		dif_emit(e->b, dif_rrr(DIF_OP_SCMP, a, b, 0));
		reg_drop(e);
		reg_drop(e);
	}
	e->texts_compared = kind == 2;
}

static enum dif_op random_branch(const struct exprs *e)
{
	return branches[rnd(e->is_native && e->texts_compared ? 2 : ARRAY_LEN(branches))];
}

/* c ? x : y, or a comparison when the arms are constants */
static uint32_t choice(struct exprs *e, int depth, uint32_t (*arm)(struct exprs *, int))
{
	uint32_t other = dif_label_create(e->b), done = dif_label_create(e->b), rd, r;

	condition(e, depth);
	rd = reg_take(e);
	dif_emit_branch(e->b, random_branch(e), other);
	if (rnd(3) == 0) /* the same flags again */
		dif_emit_branch(e->b, random_branch(e), other);
	r = arm(e, depth - 1);
	dif_emit(e->b, dif_rrr(DIF_OP_MOV, r, 0, rd));
	reg_drop(e);
	dif_emit_branch(e->b, DIF_OP_BA, done);
	dif_label_here(e->b, other);
	r = arm(e, depth - 1);
	dif_emit(e->b, dif_rrr(DIF_OP_MOV, r, 0, rd));
	reg_drop(e);
	dif_label_here(e->b, done);
	return rd;
}

static uint32_t load(struct exprs *e, int depth)
{
	static const enum dif_op uloads[] = {DIF_OP_ULDSB, DIF_OP_ULDSH, DIF_OP_ULDSW, DIF_OP_ULDUB,
					     DIF_OP_ULDUH, DIF_OP_ULDUW, DIF_OP_ULDX};
	static const enum dif_op kloads[] = {DIF_OP_LDSB, DIF_OP_LDSH, DIF_OP_LDSW, DIF_OP_LDUB,
					     DIF_OP_LDUH, DIF_OP_LDUW, DIF_OP_LDX};
	uint32_t a, b;

	if (rnd(8) == 0) {
		a = reg_take(e);
		setx(e, BAD_ADDR + rnd(100), a);
		dif_emit(e->b, dif_rrr(rnd(2) ? kloads[rnd(7)] : uloads[rnd(7)], a, 0, a));
		return a;
	}
	if (rnd(2)) { /* a byte of a string, which may be NULL */
		a = gen_str(e, depth - 1);
		dif_emit(e->b, dif_rrr(rnd(2) ? DIF_OP_LDSB : DIF_OP_LDUB, a, 0, a));
		return a;
	}
	a = gen_int(e, depth - 1); /* user[a % (size + 8)]: sometimes beyond the end */
	b = reg_take(e);
	setx(e, USER_SIZE + (rnd(8) ? (uint64_t)-7 : 8), b);
	dif_emit(e->b, dif_rrr(DIF_OP_UREM, a, b, a));
	setx(e, (uintptr_t)user, b);
	dif_emit(e->b, dif_rrr(DIF_OP_ADD, a, b, a));
	dif_emit(e->b, dif_rrr(uloads[rnd(7)], a, 0, a));
	reg_drop(e);
	return a;
}

static void var_access(struct exprs *e, const struct prog_var *v, bool is_store, uint32_t r)
{
	static const enum dif_op ops[3][2] = {{DIF_OP_LDGS, DIF_OP_STGS},
					      {DIF_OP_LDTS, DIF_OP_STTS},
					      {DIF_OP_LDLS, DIF_OP_STLS}};

	gx_note(e->b, v);
	dif_emit(e->b, dif_idx(ops[v->scope][is_store], v->id, r));
}

static uint32_t int_var(struct exprs *e, int depth)
{
	const struct prog_var *v = e->ints[rnd(e->nints)];
	uint32_t rd;

	if (rnd(2)) {
		rd = rnd(4) ? gen_int(e, depth - 1) : reg_take(e);
		if (rnd(4) == 0)
			setx(e, 0, rd);
		else if (rd == e->regs[e->next_reg - 1])
			setx(e, rnd(1000), rd);
		var_access(e, v, true, rd);
		if (rnd(2))
			return rd;
	} else {
		rd = reg_take(e);
	}
	var_access(e, v, false, rd);
	return rd;
}

static void push(struct exprs *e, uint32_t r, bool is_string)
{
	dif_emit(e->b, is_string ? dif_rrr(DIF_OP_PUSHTR, DIF_TUPLE_STR, 0, r)
				 : dif_rrr(DIF_OP_PUSHTV, DIF_TUPLE_INT, 0, r));
}

static void tuple_begin(struct exprs *e)
{
	dif_emit(e->b, dif_rrr(DIF_OP_FLUSHTS, 0, 0, 0));
}

/* A store of NULL frees dynamic strings: not while a register may hold the address of one. */
static bool can_store(const struct exprs *e, const struct prog_var *v)
{
	bool is_dynamic = v->kind == DIF_VAR_ARRAY || v->scope == DIF_SCOPE_THREAD;

	return v->type.kind != DIF_KIND_STRING || !is_dynamic || e->next_reg == 0;
}

static uint32_t array_elem(struct exprs *e, int depth, const struct prog_var *v)
{
	enum dif_op ld = v->scope == DIF_SCOPE_GLOBAL ? DIF_OP_LDGAA : DIF_OP_LDTAA;
	enum dif_op st = v->scope == DIF_SCOPE_GLOBAL ? DIF_OP_STGAA : DIF_OP_STTAA;
	bool is_string = v->type.kind == DIF_KIND_STRING, is_store = rnd(2) && can_store(e, v);
	uint32_t rd = reg_take(e), keys[4], val = 0, mark;

	mark = e->next_reg;
	if (is_store)
		val = is_string ? gen_str(e, depth - 1) : gen_int(e, depth - 1);
	for (uint32_t k = 0; k < v->nkeys; k++) {
		if (v->keys[k].kind == DIF_KIND_STRING) {
			keys[k] = gen_str(e, depth - 1);
			continue;
		}
		keys[k] = reg_take(e);
		setx(e, rnd(3), keys[k]);
	}
	tuple_begin(e);
	for (uint32_t k = 0; k < v->nkeys; k++)
		push(e, keys[k], v->keys[k].kind == DIF_KIND_STRING);
	gx_note(e->b, v);
	if (val)
		dif_emit(e->b, dif_idx(st, v->id, rnd(5) ? val : 0));
	dif_emit(e->b, dif_idx(ld, v->id, rd));
	e->next_reg = mark;
	return rd;
}

/*
 * One row a subroutine: result (i, s), then arguments: i any, d small, s string, u user string, e a
 * number that may have a name, f rows of flags, b some bits.
 */
static const struct {
	enum dif_subr subr;
	const char *sig;
} calls[] = {
	{DIF_SUBR_STRLEN, "is"},    {DIF_SUBR_INDEX, "iss"},	{DIF_SUBR_INDEX, "issd"},
	{DIF_SUBR_RINDEX, "iss"},   {DIF_SUBR_RINDEX, "issd"},	{DIF_SUBR_STRTOLL, "is"},
	{DIF_SUBR_STRTOLL, "isd"},  {DIF_SUBR_HTONS, "ii"},	{DIF_SUBR_HTONL, "ii"},
	{DIF_SUBR_HTONLL, "ii"},    {DIF_SUBR_NTOHS, "ii"},	{DIF_SUBR_NTOHL, "ii"},
	{DIF_SUBR_NTOHLL, "ii"},    {DIF_SUBR_GETMAJOR, "ii"},	{DIF_SUBR_GETMINOR, "ii"},
	{DIF_SUBR_MSGSIZE, "ii"},   {DIF_SUBR_PROGENYOF, "ip"}, {DIF_SUBR_STRJOIN, "sss"},
	{DIF_SUBR_SUBSTR, "ssd"},   {DIF_SUBR_SUBSTR, "ssdd"},	{DIF_SUBR_STRSTR, "sss"},
	{DIF_SUBR_STRCHR, "ssc"},   {DIF_SUBR_STRRCHR, "ssc"},	{DIF_SUBR_STRTOK, "sss"},
	{DIF_SUBR_BASENAME, "ss"},  {DIF_SUBR_DIRNAME, "ss"},	{DIF_SUBR_CLEANPATH, "ss"},
	{DIF_SUBR_LLTOSTR, "si"},   {DIF_SUBR_LLTOSTR, "sid"},	{DIF_SUBR_TOUPPER, "ss"},
	{DIF_SUBR_TOLOWER, "ss"},   {DIF_SUBR_COPYINSTR, "su"}, {DIF_SUBR_COPYINSTR, "sud"},
	{DIF_SUBR_COPYINSTR, "su"}, {DIF_SUBR_JSON, "sss"},	{DIF_SUBR_STRERRNO, "se"},
	{DIF_SUBR_STRERROR, "se"},  {DIF_SUBR_STRSIGNAL, "se"}, {DIF_SUBR_STRFLAGS, "sfi"},
	{DIF_SUBR_STRFLAGS, "sfb"},
};
#define FIRST_STRING_CALL 17
#define FIRST_ORDER_CALL  7 /* those that exchange the order of bytes */
#define N_ORDER_CALLS	  6

/* Subroutines on memory, which on_memory() puts together. */
/* clang-format off */
static const enum dif_subr memory_calls[] = {
	DIF_SUBR_COPYIN,    DIF_SUBR_COPYINTO,	DIF_SUBR_ALLOCA,    DIF_SUBR_BCOPY,    DIF_SUBR_MEMSTR,
	DIF_SUBR_INET_NTOA, DIF_SUBR_INET_NTOA6, DIF_SUBR_INET_NTOP, DIF_SUBR_LINK_NTOP, DIF_SUBR_MEMREF,
};
/* clang-format on */

/* What the two sides cannot agree on to the bit, and where it is tested instead. */
static const struct {
	enum dif_subr subr;
	const char *why;
} not_compared[] = {
	{DIF_SUBR_RAND, "random: unit/bpf/gen.c"},
	{DIF_SUBR_SAMPLE, "random: unit/native/filter.c, e2e/inproc/relay"},
	{DIF_SUBR_SAMPLED, "of a sample: unit/native/filter.c, e2e/memprof/sampled"},
	{DIF_SUBR_FOLLOWED, "of a sample: unit/native/filter.c, e2e/memprof/sampled"},
	{DIF_SUBR_SPECULATION, "the session's: unit/bpf/rt.c, e2e/spec"},
	{DIF_SUBR_COPYOUT, "writes to a process: unit/bpf/rt.c, e2e/syscall/copyout"},
	{DIF_SUBR_COPYININT, "memory of a process: unit/dif/subr.c, e2e/declared/plockstat"},
	{DIF_SUBR_COPYOUTSTR, "writes to a process: e2e/syscall/copyout"},
	{DIF_SUBR_GETF, "an open file: e2e/data/process_text"},
	{DIF_SUBR_D_PATH, "an open file: e2e/data/process_text"},
	{DIF_SUBR_MUTEX_OWNED, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_MUTEX_OWNER, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_MUTEX_TYPE_ADAPTIVE, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_MUTEX_TYPE_SPIN, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_RW_READ_HELD, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_RW_WRITE_HELD, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_RW_ISWRITER, "a lock: e2e/kernel/locks"},
	{DIF_SUBR_MSGDSIZE, "STREAMS: Linux has none"},
	{DIF_SUBR_MSGSIZE, "STREAMS: Linux has none"},
	{DIF_SUBR_DDI_PATHNAME, "a tree of device nodes: Linux has none"},
	{DIF_SUBR_SX_SHARED_HELD, "FreeBSD's locks: Linux has none"},
	{DIF_SUBR_SX_EXCLUSIVE_HELD, "FreeBSD's locks: Linux has none"},
	{DIF_SUBR_SX_ISEXCLUSIVE, "FreeBSD's locks: Linux has none"},
};

static uint32_t ncalls[64]; /* by subroutine: calls in the expressions made so far */

static uint32_t gen_arg(struct exprs *e, char kind, int depth)
{
	uint32_t r;

	switch (kind) {
	case 's': return gen_str(e, depth - 1);
	case 'i': return gen_int(e, depth - 1);
	case 'd':
		r = reg_take(e);
		setx(e, (uint64_t)((int64_t)rnd(40) - 12), r);
		return r;
	case 'e':
		r = reg_take(e);
		setx(e, (uint64_t)((int64_t)rnd(180) - 20), r);
		return r;
	case 'f':
		r = reg_take(e);
		setx(e,
		     rnd(8)   ? flag_rows_find(flag_kind_name(rnd(15)))
		     : rnd(2) ? FLAG_ROWS(rnd(400), rnd(100))
			      : rnd(UINT32_MAX),
		     r);
		return r;
	case 'b':
		r = reg_take(e);
		setx(e, rnd(4) ? rnd(8) | 1ull << rnd(33) | 1ull << rnd(33) : UINT64_MAX, r);
		return r;
	case 'p':
		r = reg_take(e);
		setx(e, rnd(3) ? (uint64_t)(rnd(2) ? getpid() : getppid()) : rnd(4), r);
		return r;
	case 'c':
		r = reg_take(e);
		setx(e, (uint64_t)("/ab0."[rnd(5)]) | (uint64_t)rnd(2) << 40, r);
		return r;
	default:
		r = reg_take(e);
		setx(e, rnd(8) ? (uintptr_t)user + rnd(USER_SIZE + 4) : BAD_ADDR, r);
		return r;
	}
}

static uint32_t call(struct exprs *e, int depth, uint32_t k)
{
	uint32_t rd = reg_take(e), mark = e->next_reg, args[4], n = 0;

	for (const char *s = calls[k].sig + 1; *s; s++)
		args[n++] = gen_arg(e, *s, depth);
	tuple_begin(e);
	for (uint32_t i = 0; i < n; i++)
		push(e, args[i], calls[k].sig[i + 1] == 's');
	ncalls[calls[k].subr]++;
	dif_emit(e->b, dif_idx(DIF_OP_CALL, calls[k].subr, rd));
	e->next_reg = mark;
	return rd;
}

/* rd = subr(args), the registers of the arguments are given back */
static void call_at(struct exprs *e, enum dif_subr subr, const uint32_t *args, uint32_t n,
		    uint32_t rd)
{
	tuple_begin(e);
	for (uint32_t i = 0; i < n; i++)
		push(e, args[i], false);
	ncalls[subr]++;
	dif_emit(e->b, dif_idx(DIF_OP_CALL, subr, rd));
}

static uint32_t user_addr(struct exprs *e)
{
	uint32_t r = reg_take(e);

	setx(e,
	     rnd(12)  ? (uintptr_t)user + rnd(USER_SIZE - 40)
	     : rnd(2) ? BAD_ADDR
		      : (uintptr_t)user + USER_SIZE - 4,
	     r);
	return r;
}

/* r = size, now and then some bytes more: beyond the block */
static void size_or_more(struct exprs *e, uint32_t size, uint32_t r)
{
	setx(e, size + (rnd(10) ? 0 : rnd(24)), r);
}

/* Reads some bytes in, around and behind the block of size bytes at p; r and v are lost. */
static void look_around(struct exprs *e, uint32_t p, uint32_t size, uint32_t r, uint32_t v)
{
	static const enum dif_op loads[] = {DIF_OP_LDUB, DIF_OP_LDSH, DIF_OP_LDUW, DIF_OP_LDX};

	setx(e, rnd(3) ? rnd(size) : (uint64_t)((int64_t)rnd(size + 40) - 20), r);
	dif_emit(e->b, dif_rrr(DIF_OP_ADD, p, r, r));
	dif_emit(e->b, dif_rrr(loads[rnd(4)], r, 0, v));
}

/*
 * p = size bytes of user memory in scratch memory: copyin(), or alloca() and copyinto(), or bcopy()
 * of that
 */
static uint32_t memory(struct exprs *e, uint32_t size)
{
	uint32_t p = reg_take(e), ua = user_addr(e), n = reg_take(e), q = reg_take(e);

	setx(e, size, n);
	if (rnd(2)) {
		call_at(e, DIF_SUBR_COPYIN, (uint32_t[]){ua, n}, 2, p);
	} else {
		call_at(e, DIF_SUBR_ALLOCA, (uint32_t[]){n}, 1, p);
		if (rnd(12) == 0) /* outside */
			setx(e, BAD_ADDR, p);
		size_or_more(e, size, n);
		call_at(e, DIF_SUBR_COPYINTO, (uint32_t[]){ua, n, p}, 3, q);
	}
	if (rnd(4) == 0)
		look_around(e, p, size, n, q);
	setx(e, size, n);
	if (rnd(2)) {
		call_at(e, DIF_SUBR_ALLOCA, (uint32_t[]){n}, 1, q);
		size_or_more(e, size, n);
		call_at(e, DIF_SUBR_BCOPY, (uint32_t[]){p, q, n}, 3, ua);
		dif_emit(e->b, dif_rrr(DIF_OP_MOV, q, 0, p));
	}
	for (int i = 0; i < 3; i++)
		reg_drop(e);
	return p;
}

/* A text made of memory. */
static uint32_t text_of_memory(struct exprs *e)
{
	uint32_t size = 20 + rnd(20), p = memory(e, size), a = reg_take(e), b = reg_take(e);

	switch (rnd(5)) {
	case 0:
		setx(e, (uint64_t) "-x"[rnd(2)], a);
		setx(e, rnd(10) ? rnd(size + 1) : 4097, b);
		call_at(e, DIF_SUBR_MEMSTR, (uint32_t[]){p, a, b}, 3, p);
		break;
	case 1: call_at(e, DIF_SUBR_INET_NTOA, &p, 1, p); break;
	case 2:
		setx(e, rnd(2), a);
		call_at(e, DIF_SUBR_INET_NTOA6, (uint32_t[]){p, a}, 1 + rnd(2), p);
		break;
	case 3:
		setx(e, rnd(8) ? (rnd(2) ? 2 : 10) : rnd(20), a);
		call_at(e, DIF_SUBR_INET_NTOP, (uint32_t[]){a, p}, 2, p);
		break;
	default:
		setx(e, rnd(8) ? (rnd(2) ? 1 : 32) : rnd(40), a);
		call_at(e, DIF_SUBR_LINK_NTOP, (uint32_t[]){a, p}, 2, p);
	}
	reg_drop(e);
	reg_drop(e);
	return p;
}

/* memref(v, w): one of the two */
static uint32_t pair(struct exprs *e, int depth)
{
	uint32_t v = gen_int(e, depth - 1), w = gen_int(e, depth - 1);

	call_at(e, DIF_SUBR_MEMREF, (uint32_t[]){v, w}, 2, v);
	if (rnd(2)) {
		setx(e, 8, w);
		dif_emit(e->b, dif_rrr(DIF_OP_ADD, v, w, v));
	}
	dif_emit(e->b, dif_rrr(DIF_OP_LDX, v, 0, v));
	reg_drop(e);
	return v;
}

/* alloca(n); store there, inside or outside; load it back */
static uint32_t scratch(struct exprs *e, int depth)
{
	static const struct {
		enum dif_op st, ld;
		uint32_t size;
	} acc[] = {{DIF_OP_STB, DIF_OP_LDSB, 1},
		   {DIF_OP_STH, DIF_OP_LDUH, 2},
		   {DIF_OP_STW, DIF_OP_LDSW, 4},
		   {DIF_OP_STX, DIF_OP_LDX, 8}};
	uint32_t v = gen_int(e, depth - 1), p = reg_take(e), t = reg_take(e), k = rnd(4);

	setx(e, 16, t);
	dif_emit(e->b, dif_rrr(DIF_OP_ALLOCS, t, 0, p));
	setx(e, rnd(16 / acc[k].size) * acc[k].size, t);
	dif_emit(e->b, dif_rrr(DIF_OP_ADD, p, t, p));
	if (rnd(10) == 0)
		setx(e, BAD_ADDR, p);
	dif_emit(e->b, dif_rrr(acc[k].st, v, 0, p));
	dif_emit(e->b, dif_rrr(acc[k].ld, p, 0, v));
	reg_drop(e);
	reg_drop(e);
	return v;
}

/* Numbers that need no memory of others. */
static uint32_t native_int(struct exprs *e, int depth)
{
	switch (rnd(12)) {
	case 0:
	case 1:
	case 2:
	case 3: return binary(e, depth);
	case 4: return unary(e, depth);
	case 5:
	case 6: return choice(e, depth, gen_int);
	case 7:
	case 8: return int_var(e, depth);
	case 9: return array_elem(e, depth, e->arrs[rnd(2)]);
	case 10: return const_int(e);
	default: return call(e, depth, FIRST_ORDER_CALL + rnd(N_ORDER_CALLS));
	}
}

static uint32_t gen_int(struct exprs *e, int depth)
{
	if (depth <= 0 || e->next_reg > MAX_REGS - 12)
		return rnd(2) ? const_int(e) : int_builtin(e);
	if (e->is_native)
		return native_int(e, depth);
	switch (rnd(15)) {
	case 14: return pair(e, depth);
	case 0:
	case 1:
	case 2:
	case 3: return binary(e, depth);
	case 4: return unary(e, depth);
	case 5:
	case 6: return choice(e, depth, gen_int);
	case 7: return load(e, depth);
	case 8:
	case 9: return int_var(e, depth);
	case 10: return array_elem(e, depth, e->arrs[rnd(2)]);
	case 11: return scratch(e, depth);
	case 12: return const_int(e);
	default: return call(e, depth, rnd(FIRST_STRING_CALL));
	}
}

static uint32_t const_str(struct exprs *e)
{
	static const char *const some[] =
		{"",
		 "a",
		 "abc",
		 "/usr/lib/x",
		 "/",
		 "//a//b/",
		 "a,b,c",
		 "0x1f",
		 "-42",
		 "hello world",
		 "..",
		 "./a/../b",
		 "0123456789012345678901234567890123456789012345678901234567890123456789"};
	uint32_t rd = reg_take(e), k = rnd(ARRAY_LEN(some));

	if (e->is_native) /* neither empty nor longer than strsize */
		k = 1 + rnd(ARRAY_LEN(some) - 2);
	dif_emit(e->b, dif_idx(DIF_OP_SETS, dif_str(e->b, some[k]), rd));
	return rd;
}

static uint32_t str_var(struct exprs *e, int depth)
{
	const struct prog_var *v = e->strs[rnd(e->nstrs)];
	bool is_store = rnd(2) && can_store(e, v);
	uint32_t rd = reg_take(e);

	if (is_store) {
		uint32_t s = gen_str(e, depth - 1);

		var_access(e, v, true, rnd(5) ? s : 0);
		reg_drop(e);
	}
	var_access(e, v, false, rd);
	return rd;
}

static uint32_t gen_str(struct exprs *e, int depth)
{
	uint32_t rd;

	if (e->is_native)
		return depth > 0 && e->next_reg < MAX_REGS - 12 && rnd(4) == 0
			       ? choice(e, depth, gen_str)
			       : const_str(e);
	if (depth <= 0 || e->next_reg > MAX_REGS - 12) {
		if (rnd(12) == 0) {
			rd = reg_take(e);
			dif_emit(e->b, dif_idx(DIF_OP_LDGS, DIF_VAR_EXECNAME, rd));
			return rd;
		}
		if (rnd(25) == 0) {
			rd = reg_take(e);
			setx(e, rnd(2) ? 0 : BAD_ADDR, rd);
			return rd;
		}
		return const_str(e);
	}
	switch (rnd(9)) {
	case 8: return text_of_memory(e);
	case 0: return choice(e, depth, gen_str);
	case 1:
	case 2: return str_var(e, depth);
	case 3: return array_elem(e, depth, e->arrs[2 + rnd(e->narrs - 2)]);
	case 4: return const_str(e);
	default:
		return call(e, depth,
			    FIRST_STRING_CALL + rnd(ARRAY_LEN(calls) - FIRST_STRING_CALL));
	}
}

static struct difo *random_difo(struct exprs *e, bool is_string)
{
	uint32_t r;

	for (uint32_t i = 0; i < MAX_REGS; i++)
		e->regs[i] = (uint8_t)(i + 1);
	for (uint32_t i = 0; rnd(2) && i < MAX_REGS; i++) {
		uint32_t k = rnd(MAX_REGS);
		uint8_t t = e->regs[i];

		e->regs[i] = e->regs[k];
		e->regs[k] = t;
	}
	e->b = dif_builder_create(e->x->arena);
	e->next_reg = 0;
	r = is_string ? gen_str(e, 1 + (int)rnd(4)) : gen_int(e, 1 + (int)rnd(4));
	dif_emit(e->b, dif_rrr(DIF_OP_RET, 0, 0, r));
	return dif_builder_finish(e->b, is_string ? gx_string : gx_s64);
}

/* ---- variables ------------------------------------------------------------------------------- */

static void make_variables(struct exprs *e)
{
	const struct dif_type types[] = {gx_s8, gx_u16, gx_s32, gx_u64};
	struct dif_type str = {DIF_KIND_STRING, 0, DIF_TF_BYREF, false, STRSIZE};
	struct dif_type keys[] = {gx_s64, str, gx_s32};

	for (uint32_t i = 0; i < 12; i++)
		e->ints[e->nints++] = gx_var(e->x, "i", (enum dif_scope)(i % 3), types[i / 3]);
	for (uint32_t i = 0; i < 3 && !e->is_native; i++)
		e->strs[e->nstrs++] = gx_var(e->x, "s", (enum dif_scope)i, str);
	e->arrs[e->narrs++] = gx_array(e->x, "a", DIF_SCOPE_GLOBAL, gx_s32, 2, keys);
	e->arrs[e->narrs++] = gx_array(e->x, "b", DIF_SCOPE_THREAD, gx_u64, 1, keys);
	if (e->is_native)
		return;
	e->arrs[e->narrs++] = gx_array(e->x, "c", DIF_SCOPE_GLOBAL, str, 3, keys);
	e->arrs[e->narrs++] = gx_array(e->x, "d", DIF_SCOPE_THREAD, str, 1, keys + 1);
}
