/* SPDX-License-Identifier: MIT */
/*
 * Property: for random expressions, the kernel and the DIF interpreter give the same value, or the
 * same fault at the same place.
 *
 * Expressions are built with types in mind (numbers and strings), so that most of them do
 * something: all arithmetic, comparisons and control flow, variables of all scopes, arrays, scratch
 * memory, loads of user and kernel memory good and bad, every subroutine in the kernel. A batch of
 * clauses, one expression each, is one program run once; the interpreter runs the same expressions
 * in the same order.
 *
 * Usage: kernel_vs_interp [SEED [ROUNDS]]; a failure names the seed of its round and prints the
 * DIFO.
 */
#include "../unit/tap.h"

#include "../unit/bpf/gen_fixture.h"
#include "dif/interp.h"
#include "dif/names.h"

#include <sys/mman.h>
#include <sys/syscall.h>

#define BATCH	  40
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
	uint32_t a, b;

	switch (rnd(3)) {
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
}

/* c ? x : y, or a comparison when the arms are constants */
static uint32_t choice(struct exprs *e, int depth, uint32_t (*arm)(struct exprs *, int))
{
	uint32_t other = dif_label_create(e->b), done = dif_label_create(e->b), rd, r;

	condition(e, depth);
	rd = reg_take(e);
	dif_emit_branch(e->b, branches[rnd(ARRAY_LEN(branches))], other);
	if (rnd(3) == 0) /* the same flags again */
		dif_emit_branch(e->b, branches[rnd(ARRAY_LEN(branches))], other);
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

static uint32_t gen_int(struct exprs *e, int depth)
{
	if (depth <= 0 || e->next_reg > MAX_REGS - 12)
		return rnd(2) ? const_int(e) : int_builtin(e);
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
	uint32_t rd = reg_take(e);

	dif_emit(e->b, dif_idx(DIF_OP_SETS, dif_str(e->b, some[rnd(ARRAY_LEN(some))]), rd));
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

/* ---- the interpreter's surroundings --------------------------------------------------------- */

static struct dif_machine *machine;

static bool load_kernel(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	(void)ctx, (void)addr, (void)buf, (void)size;
	return false;
}

static bool load_user(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	uint64_t base = (uintptr_t)user;

	(void)ctx;
	if (addr < base || addr - base > USER_SIZE || size > USER_SIZE - (addr - base))
		return false;
	memcpy(buf, user + (addr - base), size);
	return true;
}

/* This process and its ancestors, as /proc has them. */
static bool progenyof(void *ctx, int32_t pid)
{
	long p = getpid(), up;

	(void)ctx;
	for (; p > 0 && p != pid; p = up) {
		CLEANUP(file) FILE *f = NULL;
		char path[64];

		(void)snprintf(path, sizeof(path), "/proc/%ld/stat", p);
		f = fopen(path, "re");
		up = 0;
		if (!f || fscanf(f, "%*d (%*[^)]) %*c %ld", &up) != 1)
			break;
	}
	return p == pid; /* the first process is its own parent's child: pid 0 */
}

static char comm[17];

static enum dif_fault builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	(void)ctx, (void)index;
	switch (id) {
	case DIF_VAR_PID: *ret = (uint64_t)getpid(); break;
	case DIF_VAR_TID: *ret = (uint64_t)syscall(SYS_gettid); break;
	case DIF_VAR_UID: *ret = getuid(); break;
	case DIF_VAR_GID: *ret = getgid(); break;
	case DIF_VAR_ID: *ret = 100; break;
	case DIF_VAR_EXECNAME: *ret = dif_machine_string(machine, comm); break;
	case DIF_VAR_ZONENAME: *ret = 0; return DIF_FAULT_ILLOP;
	default: *ret = 0;
	}
	return DIF_FAULT_NONE;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static bool is_own_address(uint64_t v)
{
	return v > UINT32_MAX && v - (uintptr_t)user > USER_SIZE + 64;
}

static bool check_fault(const struct rt_rec *rec, const struct dif_result *want, uint32_t clause)
{
	const struct rt_rec_fault *f = (const struct rt_rec_fault *)(const void *)rec;

	if (rec->clause != RT_REC_FAULT || f->fault.clause != clause) {
		printf("# no fault, want kind %d at %u\n", want->fault, want->offset);
		return false;
	}
	if (f->fault.kind != want->fault || f->fault.offset != (int)want->offset ||
	    f->fault.action != 1 ||
	    (!is_own_address(want->fault_value) && f->fault.value != want->fault_value)) {
		printf("# fault kind %u at %d of action %u value 0x%llx, want kind %d at %u value "
		       "0x%llx\n",
		       f->fault.kind, f->fault.offset, f->fault.action,
		       (unsigned long long)f->fault.value, want->fault, want->offset,
		       (unsigned long long)want->fault_value);
		return false;
	}
	return true;
}

static bool check_string(const struct rt_rec *rec, const struct rec_field *f, uint64_t want)
{
	char text[STRSIZE] = "";
	struct rt_str s;
	uint32_t len;

	if (f->kind == REC_COMM)
		return strcmp((const char *)rec + f->off, comm) == 0;
	if (f->kind == REC_STRID)
		return true; /* known when the layout is made */
	memcpy(&s, (const char *)rec + f->off, sizeof(s));
	if (s.len == UINT32_MAX || !want) {
		if (s.len != UINT32_MAX || want)
			printf("# length 0x%x, want a text at 0x%llx\n", s.len,
			       (unsigned long long)want);
		return s.len == UINT32_MAX && !want;
	}
	if (!dif_machine_text(machine, want, text, &len) || len != s.len ||
	    memcmp((const char *)rec + s.off, text, len) != 0) {
		printf("# text '%.*s', want '%s'\n", (int)s.len, (const char *)rec + s.off, text);
		return false;
	}
	return true;
}

/* A string that cannot be read when it is recorded is a fault without offset. */
static bool is_unreadable(const struct rec_field *f, uint64_t addr)
{
	char text[STRSIZE];
	uint32_t len;

	return f->kind == REC_STR && addr && !dif_machine_text(machine, addr, text, &len);
}

/*
 * After a store that cannot read what it should copy, the variable is the old one here, empty
 * there: the rest of the round says nothing.
 */
static bool is_store_fault(const struct difo *d, const struct dif_result *r)
{
	enum dif_op op = DIF_INSN_OP(d->code[r->offset / sizeof(dif_insn)]);

	return r->fault && (dif_op_form(op) == DIF_FORM_STV);
}

static bool check_one(struct gx *x, const struct difo *d, uint32_t clause, bool *ret_stop)
{
	const struct clause_layout *cl = &x->layout->clauses[clause];
	const struct rec_field *f = &cl->acts[0].fields[0];
	const struct rt_rec *rec = gx_record(x, NULL);
	struct dif_result want;
	int64_t got;

	dif_machine_begin_clause(machine);
	want = dif_run(machine, d);
	*ret_stop = is_store_fault(d, &want);
	if (!rec) {
		printf("# no record\n");
		return false;
	}
	if (want.fault)
		return check_fault(rec, &want, clause);
	if (is_unreadable(f, want.value)) {
		want = (struct dif_result){.fault = DIF_FAULT_BADADDR,
					   .fault_value = want.value,
					   .offset = (uint32_t)-1};
		return check_fault(rec, &want, clause);
	}
	if (rec->clause != clause) {
		const struct rt_rec_fault *rf = (const struct rt_rec_fault *)(const void *)rec;

		printf("# record of clause %u kind %u offset %d\n", rec->clause, rf->fault.kind,
		       rf->fault.offset);
		return false;
	}
	if (d->ret.kind == DIF_KIND_STRING)
		return check_string(rec, f, want.value);
	memcpy(&got, (const char *)rec + f->off, 8);
	if ((uint64_t)got != want.value)
		printf("# value 0x%llx, want 0x%llx\n", (unsigned long long)got,
		       (unsigned long long)want.value);
	return (uint64_t)got == want.value;
}

/* ---- rounds --------------------------------------------------------------------------------- */

static void make_variables(struct exprs *e)
{
	const struct dif_type types[] = {gx_s8, gx_u16, gx_s32, gx_u64};
	struct dif_type str = {DIF_KIND_STRING, 0, DIF_TF_BYREF, false, STRSIZE};
	struct dif_type keys[] = {gx_s64, str, gx_s32};

	for (uint32_t i = 0; i < 12; i++)
		e->ints[e->nints++] = gx_var(e->x, "i", (enum dif_scope)(i % 3), types[i / 3]);
	for (uint32_t i = 0; i < 3; i++)
		e->strs[e->nstrs++] = gx_var(e->x, "s", (enum dif_scope)i, str);
	e->arrs[e->narrs++] = gx_array(e->x, "a", DIF_SCOPE_GLOBAL, gx_s32, 2, keys);
	e->arrs[e->narrs++] = gx_array(e->x, "b", DIF_SCOPE_THREAD, gx_u64, 1, keys);
	e->arrs[e->narrs++] = gx_array(e->x, "c", DIF_SCOPE_GLOBAL, str, 3, keys);
	e->arrs[e->narrs++] = gx_array(e->x, "d", DIF_SCOPE_THREAD, str, 1, keys + 1);
}

static void print_difo(const struct difo *d)
{
	struct strbuf out = {0};
	char *line, *save = NULL, *text;

	difo_print(d, &out);
	text = xstrdup(strbuf_text(&out));
	for (line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		printf("# %s\n", line);
	free(text);
	strbuf_deinit(&out);
}

/* Every subroutine that both sides have is called, or there is a reason. */
static void test_coverage(void)
{
	for (uint32_t s = 0; dif_subr_name(s); s++) {
		bool is_covered = false;

		for (uint32_t i = 0; i < ARRAY_LEN(calls) && dif_subr_is_interpreted(s); i++)
			is_covered |= calls[i].subr == s;
		for (uint32_t i = 0; i < ARRAY_LEN(memory_calls); i++)
			is_covered |= memory_calls[i] == s;
		for (uint32_t i = 0; i < ARRAY_LEN(not_compared); i++)
			is_covered |= not_compared[i].subr == s;
		ok(is_covered, "%s is compared, or has a test of its own", dif_subr_name(s));
	}
}

static void test_frequency(void)
{
	for (uint32_t s = 0; dif_subr_name(s); s++) {
		bool is_other = false;

		for (uint32_t i = 0; i < ARRAY_LEN(not_compared); i++)
			is_other |= not_compared[i].subr == s;
		if (!is_other)
			ok(ncalls[s] >= 5, "%s was called in %u places", dif_subr_name(s),
			   ncalls[s]);
	}
}

static uint32_t run_round(uint64_t seed)
{
	struct gx *x = gx_create();
	struct exprs e = {.x = x};
	struct difo *difos[BATCH];
	uint32_t failed = 0;
	bool stop = false;
	struct dif_env env = dif_env_none;
	struct dif_machine_opts mopts = {.strsize = STRSIZE, .scratch_size = 1 << 20};
	struct unit u;
	struct err *err;

	rng = seed * 0x9e3779b97f4a7c15ull + 1;
	x->opts.strsize = STRSIZE;
	x->shuffle = rnd(3) ? 0 : 1 + rnd(1000);
	make_variables(&e);
	for (uint32_t i = 0; i < BATCH; i++) {
		bool is_string = rnd(4) == 0;
		struct prog_clause *c = gx_clause(x, 1);

		difos[i] = random_difo(&e, is_string);
		err = difo_verify(difos[i], DIF_MAX_REGS);
		if (err) {
			print_difo(difos[i]);
			printf("Bail out! invalid DIF: %s\n", err_text(err));
			exit(1);
		}
		gx_act(x, c, ACT_TRACE, difos[i], is_string ? DATUM_STRING : DATUM_INT);
	}
	gx_finish(x);
	u = gx_unit(x, PLACE_TEST_RUN, 0, BATCH);
	gx_probe(x, &u, 0);
	gx_run(x, gx_load(x, &u), 0);

	env.load_kernel = load_kernel;
	env.load_user = load_user;
	env.progenyof = progenyof;
	env.builtin = builtin;
	machine = dif_machine_create(&env, &mopts);
	dif_machine_begin_firing(machine, 1);
	for (uint32_t i = 0; i < BATCH && !failed && !stop; i++) {
		if (check_one(x, difos[i], i, &stop))
			continue;
		failed++;
		printf("# seed %llu clause %u shuffle %u\n", (unsigned long long)seed, i,
		       x->shuffle);
		print_difo(difos[i]);
	}
	dif_machine_destroy(machine);
	gx_destroy(x);
	return failed;
}

static void make_user_memory(void)
{
	long page = sysconf(_SC_PAGESIZE);
	char *p = mmap(NULL, (size_t)page * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		       -1, 0);

	if (p == MAP_FAILED || mprotect(p + page, (size_t)page, PROT_NONE))
		exit(1);
	user = p + page - USER_SIZE;
	rng = 42;
	for (uint32_t i = 0; i < USER_SIZE; i++)
		user[i] = rnd(6) ? "/.a,bc0129x "[rnd(12)] : (char)(rnd(2) ? 0 : rnd(256));
}

int main(int argc, char **argv)
{
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 0) : argc > 1 ? 1 : 60;
	CLEANUP(file) FILE *f = fopen("/proc/self/comm", "re");
	uint32_t failed = 0;

	gx_skip();
	if (!f || fscanf(f, "%16[^\n]", comm) != 1)
		return 1;
	make_user_memory();
	test_coverage();
	for (uint64_t i = 0; i < rounds && failed < 3; i++)
		failed += run_round(seed + i);
	ok(failed == 0, "%llu random expressions", (unsigned long long)rounds * BATCH);
	if (rounds >= 60)
		test_frequency();
	return tap_done();
}
