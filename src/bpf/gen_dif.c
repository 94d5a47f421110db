/* SPDX-License-Identifier: MIT */
/*
 * Translates one DIF object to eBPF.
 *
 * 1. describes what each instruction reads, writes and destroys (struct ra_insn), with comparison
 *    flags and tuple entries as virtual registers of their own;
 * 2. allocates registers;
 * 3. emits instructions in order.
 *
 * Flags    cmp a, b copies a and b to two virtual registers, which a branch compares. Copies share
 *          locations where they can, so the usual pair is one conditional jump and no move.
 * Tuples   entry k is a virtual register. The number of entries is known at each instruction. Where
 *          two paths with different numbers meet, nothing may use the stack until it is flushed;
 *          the compiler does not produce anything else.
 */
#include "bpf/gen.h"
#include "dif/asm.h"

#define DEPTH_NONE  0xff /* not reached */
#define DEPTH_MIXED 0xfe

enum { V_FLAG_A = DIF_MAX_REGS, V_FLAG_B, V_TUPLE };
#define V_MAX (V_TUPLE + DIF_MAX_TUPLE)

struct op_gen {
	void (*emit)(struct gen *g, const struct dif_at *at, const struct op_gen *op);
	int arg; /* BPF operation, or size of an access */
	bool is_signed;
	bool is_user;
	bool clobbers; /* destroys r0-r5 */
	bool keeps_reads;
};

/* ---- arithmetic ----------------------------------------------------------------------------- */

static bool is_small_const(const struct ra_loc *p)
{
	return p->kind == RA_CONST && fits_s32(p->value);
}

static bool is_commutative(int op)
{
	return op == BPF_ADD || op == BPF_MUL || op == BPF_AND || op == BPF_OR || op == BPF_XOR;
}

static bool is_shift(int op)
{
	return op == BPF_LSH || op == BPF_RSH || op == BPF_ARSH;
}

/* dst op= b, where dst is not the register of b */
static void alu_emit(struct gen *g, int op, int dst, const struct ra_loc *b)
{
	if (is_shift(op) && b->kind == RA_CONST)
		em_alu_imm(&g->e, op, dst, (int32_t)(b->value & 63));
	else if (is_small_const(b))
		em_alu_imm(&g->e, op, dst, (int32_t)b->value);
	else
		em_alu_reg(&g->e, op, dst, ra_loc_use(g, b, R1));
}

static void gen_alu(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	const struct ra_loc *a = &at->reads[0], *b = &at->reads[1], *d = &at->writes[0], *t;
	int dst = ra_loc_dst(d, R0);

	if (d->kind == RA_UNUSED)
		return;
	if (b->kind == RA_REG && (int)b->n == dst && !ra_loc_same(a, b)) {
		if (is_commutative(op->arg)) {
			t = a;
			a = b;
			b = t;
		} else {
			dst = R0;
		}
	}
	if (b->kind == RA_REG && (int)b->n == dst) { /* both operands are the destination */
		em_alu_reg(&g->e, op->arg, dst, dst);
		return;
	}
	ra_loc_load(g, dst, a);
	alu_emit(g, op->arg, dst, b);
	ra_loc_put(g, d, dst);
}

static void gen_not(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	const struct ra_loc *d = &at->writes[0];
	int dst = ra_loc_dst(d, R0);

	(void)op;
	if (d->kind == RA_UNUSED)
		return;
	ra_loc_load(g, dst, &at->reads[0]);
	em_alu_imm(&g->e, BPF_XOR, dst, -1);
	ra_loc_put(g, d, dst);
}

/* Adds a fault for a divisor of 0. */
static void check_divisor(struct gen *g, const struct dif_at *at)
{
	const struct ra_loc *b = &at->reads[1], none = {.kind = RA_CONST};

	if (b->kind == RA_CONST && b->value)
		return;
	em_jmp_imm(&g->e, BPF_JEQ, ra_loc_use(g, b, R1), 0,
		   at_fault(g, at, DIF_FAULT_DIVZERO, none));
}

static void gen_udiv(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	const struct ra_loc *b = &at->reads[1];

	check_divisor(g, at);
	if (at->writes[0].kind == RA_UNUSED)
		return;
	ra_loc_load(g, R0, &at->reads[0]);
	if (is_small_const(b) && b->value)
		em_alu_imm(&g->e, op->arg, R0, (int32_t)b->value);
	else
		em_alu_reg(&g->e, op->arg, R0, ra_loc_use(g, b, R1));
	ra_loc_put(g, &at->writes[0], R0);
}

/* r0 = a / c or a % c for a positive constant c, on magnitudes, because eBPF divides unsigned. */
static void sdiv_const(struct gen *g, const struct ra_loc *a, int op, int32_t c)
{
	struct emitter *e = &g->e;
	uint32_t positive = em_label(e), done = em_label(e);

	ra_loc_load(g, R0, a);
	em_jmp_imm(e, BPF_JSGE, R0, 0, positive);
	em_neg(e, R0);
	em_alu_imm(e, op, R0, c);
	em_neg(e, R0);
	em_ja(e, done);
	em_here(e, positive);
	em_alu_imm(e, op, R0, c);
	em_here(e, done);
}

static void gen_sdiv(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	const struct ra_loc *b = &at->reads[1];

	check_divisor(g, at);
	if (b->kind == RA_CONST && (int64_t)b->value > 0 && b->value <= INT32_MAX) {
		sdiv_const(g, &at->reads[0], op->arg, (int32_t)b->value);
	} else {
		ra_loc_args(g, at->reads, 2);
		gen_rt(g, op->arg == BPF_DIV ? "rt_sdiv" : "rt_srem");
	}
	ra_loc_put(g, &at->writes[0], R0);
}

/* ---- copies, comparisons, branches ---------------------------------------------------------- */

static void loc_copy(struct gen *g, const struct ra_loc *from, const struct ra_loc *to)
{
	if (to->kind == RA_UNUSED || ra_loc_same(from, to))
		return;
	if (to->kind == RA_REG)
		ra_loc_load(g, (int)to->n, from);
	else
		ra_loc_put(g, to, ra_loc_use(g, from, R0));
}

/* mov, push, cmp, tst: writes[k] = reads[k] for all k at once */
static void gen_copy(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	const struct ra_loc *w = at->writes, *r = at->reads;

	(void)op;
	if (at->nwrites == 2 && w[0].kind != RA_UNUSED && ra_loc_same(&w[0], &r[1]) &&
	    !ra_loc_same(&w[0], &r[0])) {
		ra_loc_load(g, R1, &r[1]);
		loc_copy(g, &r[0], &w[0]);
		ra_loc_put(g, &w[1], R1);
		return;
	}
	for (uint32_t k = 0; k < at->nwrites; k++)
		loc_copy(g, &r[k], &w[k]);
}

/* The comparison that is equivalent when the operands are exchanged. */
static int op_swapped(int op)
{
	switch (op) {
	case BPF_JGT: return BPF_JLT;
	case BPF_JGE: return BPF_JLE;
	case BPF_JLT: return BPF_JGT;
	case BPF_JLE: return BPF_JGE;
	case BPF_JSGT: return BPF_JSLT;
	case BPF_JSGE: return BPF_JSLE;
	case BPF_JSLT: return BPF_JSGT;
	case BPF_JSLE: return BPF_JSGE;
	default: return op;
	}
}

static void branch_emit(struct gen *g, const struct dif_at *at, int op, uint32_t label)
{
	const struct ra_loc *a = &at->reads[0], *b = &at->reads[1], *t;

	if (is_small_const(a) && !is_small_const(b)) {
		t = a;
		a = b;
		b = t;
		op = op_swapped(op);
	}
	if (is_small_const(b))
		em_jmp_imm(&g->e, op, ra_loc_use(g, a, R0), (int32_t)b->value, label);
	else
		em_jmp_reg(&g->e, op, ra_loc_use(g, a, R0), ra_loc_use(g, b, R1), label);
}

/* ---- memory --------------------------------------------------------------------------------- */

/*
 * Memory of the kernel is read by one instruction where bpf_rdonly_cast() makes the address one
 * from which a program may read: the kernel's loader leaves a call of that function out of the
 * code. A read that fails is 0. What is 0 is therefore read once more by the helper, which says
 * whether it has failed; the verifier follows this way first, and finds it covers the other one.
 * Guards of the library are trusted to read what is there (struct difo): neither way reports
 * a fault.
 */
static void load_directly(struct gen *g, const struct dif_at *at, uint32_t size, int dst)
{
	ra_loc_load(g, R1, &at->reads[0]);
	em_imm(&g->e, R2, 0);
	em_kernel_func(&g->e, feat_read_cast());
	em_load(&g->e, size, dst, R0, 0);
}

/*
 * dst = the value that the helper reads, unless nobody wants it; or a fault. The helper makes what
 * it cannot read 0.
 */
static void load_by_helper(struct gen *g, const struct dif_at *at, const struct op_gen *op, int dst)
{
	struct emitter *e = &g->e;

	ra_loc_load(g, R3, &at->reads[0]);
	em_imm(e, R2, (uint64_t)op->arg);
	em_addr(e, R1, R10, (uint32_t)FRAME_TMP);
	em_helper(e, op->is_user ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel);
	if (!difo_is_trusted_load(at->d, at->i))
		em_jmp_imm(e, BPF_JNE, R0, 0, at_fault(g, at, DIF_FAULT_BADADDR, at->reads[0]));
	if (at->writes[0].kind != RA_UNUSED)
		em_load(e, (uint32_t)op->arg, dst, R10, FRAME_TMP);
}

static void gen_load(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	struct emitter *e = &g->e;
	const struct ra_loc *d = &at->writes[0];
	uint32_t size = (uint32_t)op->arg, loaded = em_label(e);
	int dst = ra_loc_dst(d, R0);
	bool is_direct = !op->is_user && d->kind != RA_UNUSED && feat_read_cast() != 0;
	bool is_trusted = difo_is_trusted_load(at->d, at->i);

	if (is_trusted && d->kind == RA_UNUSED)
		return;
	if (!op->is_user && !is_trusted)
		at_check_readable(g, at, &at->reads[0], size);
	if (is_direct)
		load_directly(g, at, size, dst);
	if (is_direct && !is_trusted)
		em_jmp_imm(e, BPF_JNE, dst, 0, loaded);
	if (!is_direct || !is_trusted)
		load_by_helper(g, at, op, dst);
	if (d->kind == RA_UNUSED)
		return;
	em_here(e, loaded);
	if (op->is_signed)
		em_extend(e, dst, size, true);
	ra_loc_put(g, d, dst);
}

static void gen_store(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	struct ra_loc args[3] = {at->reads[1],
				 at->reads[0],
				 {.kind = RA_CONST, .value = (uint64_t)op->arg}};

	ra_loc_args(g, args, 3);
	gen_rt(g, "rt_store");
	at_check_rt(g, at);
}

static void gen_allocs(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	(void)op;
	ra_loc_args(g, at->reads, 1);
	gen_rt(g, "rt_allocs");
	at_check_rt(g, at);
	ra_loc_put(g, &at->writes[0], R0);
}

static void gen_copys(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	(void)op;
	ra_loc_args(g, at->reads, 3);
	gen_rt(g, "rt_copys");
	at_check_rt(g, at);
}

/* ---- the rest ------------------------------------------------------------------------------- */

static void gen_setx(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	struct ra_loc c = {.kind = RA_CONST, .value = at->d->ints[DIF_INSN_INDEX(at->insn)]};

	(void)op;
	loc_copy(g, &c, &at->writes[0]);
}

static struct ra_loc string_loc(const struct gen *g, const struct difo *d, dif_insn insn)
{
	const char *s = d->strs + DIF_INSN_INDEX(insn);
	struct ra_loc p = {.kind = RA_STR};

	if (!strtab_find(g->l->strtab, s, strlen(s), &p.n))
		BUG("string constant is not in the session's table");
	return p;
}

static void gen_sets(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	struct ra_loc s = string_loc(g, at->d, at->insn);

	(void)op;
	loc_copy(g, &s, &at->writes[0]);
}

static void gen_nothing(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	(void)g, (void)at, (void)op;
}

static void gen_illop(struct gen *g, const struct dif_at *at, const struct op_gen *op)
{
	(void)op;
	at_fault_always(g, at, DIF_FAULT_ILLOP, 0);
}

#define FORWARD(name, to)                                                                          \
	static void name(struct gen *g, const struct dif_at *at, const struct op_gen *op)          \
	{                                                                                          \
		(void)op;                                                                          \
		to(g, at);                                                                         \
	}
FORWARD(op_ldv, gen_ldv)
FORWARD(op_stv, gen_stv)
FORWARD(op_lda, gen_lda)
FORWARD(op_ldaa, gen_ldaa)
FORWARD(op_staa, gen_staa)
FORWARD(op_call, gen_call)
FORWARD(op_scmp, gen_scmp)

#define LOADS(p, user)                                                                             \
	[DIF_OP_##p##LDSB] = {gen_load, 1, .is_signed = true, LOAD_ATTRS(user)},                   \
	[DIF_OP_##p##LDSH] = {gen_load, 2, .is_signed = true, LOAD_ATTRS(user)},                   \
	[DIF_OP_##p##LDSW] = {gen_load, 4, .is_signed = true, LOAD_ATTRS(user)},                   \
	[DIF_OP_##p##LDUB] = {gen_load, 1, LOAD_ATTRS(user)},                                      \
	[DIF_OP_##p##LDUH] = {gen_load, 2, LOAD_ATTRS(user)},                                      \
	[DIF_OP_##p##LDUW] = {gen_load, 4, LOAD_ATTRS(user)},                                      \
	[DIF_OP_##p##LDX] = {gen_load, 8, LOAD_ATTRS(user)}
#define LOAD_ATTRS(user) .is_user = (user), .clobbers = true, .keeps_reads = true

/* insn_describe() has rules of its own for branches, ret, ldgs and call. */
#define G(func) .emit = func
#define A(n)	.arg = n
static const struct op_gen ops[] = {
	/* clang-format off */
	[DIF_OP_OR]   = {G(gen_alu), A(BPF_OR)},    [DIF_OP_XOR]  = {G(gen_alu), A(BPF_XOR)},
	[DIF_OP_AND]  = {G(gen_alu), A(BPF_AND)},   [DIF_OP_SLL]  = {G(gen_alu), A(BPF_LSH)},
	[DIF_OP_SRL]  = {G(gen_alu), A(BPF_RSH)},   [DIF_OP_SRA]  = {G(gen_alu), A(BPF_ARSH)},
	[DIF_OP_SUB]  = {G(gen_alu), A(BPF_SUB)},   [DIF_OP_ADD]  = {G(gen_alu), A(BPF_ADD)},
	[DIF_OP_MUL]  = {G(gen_alu), A(BPF_MUL)},   [DIF_OP_NOT]  = {G(gen_not)},
	[DIF_OP_UDIV] = {G(gen_udiv), A(BPF_DIV)},  [DIF_OP_UREM] = {G(gen_udiv), A(BPF_MOD)},
	[DIF_OP_SDIV] = {G(gen_sdiv), A(BPF_DIV), .clobbers = true},
	[DIF_OP_SREM] = {G(gen_sdiv), A(BPF_MOD), .clobbers = true},
	[DIF_OP_MOV]  = {G(gen_copy)},	      [DIF_OP_CMP]  = {G(gen_copy)},
	[DIF_OP_TST]  = {G(gen_copy)},	      [DIF_OP_SCMP] = {G(op_scmp), .clobbers = true},
	[DIF_OP_BA]   = {G(gen_nothing)},
	[DIF_OP_BE]   = {G(gen_nothing), A(BPF_JEQ)},	   [DIF_OP_BNE]  = {G(gen_nothing), A(BPF_JNE)},
	[DIF_OP_BG]   = {G(gen_nothing), A(BPF_JSGT)},   [DIF_OP_BGU]  = {G(gen_nothing), A(BPF_JGT)},
	[DIF_OP_BGE]  = {G(gen_nothing), A(BPF_JSGE)},   [DIF_OP_BGEU] = {G(gen_nothing), A(BPF_JGE)},
	[DIF_OP_BL]   = {G(gen_nothing), A(BPF_JSLT)},   [DIF_OP_BLU]  = {G(gen_nothing), A(BPF_JLT)},
	[DIF_OP_BLE]  = {G(gen_nothing), A(BPF_JSLE)},   [DIF_OP_BLEU] = {G(gen_nothing), A(BPF_JLE)},
	LOADS(, false), LOADS(U, true), LOADS(R, false),
	[DIF_OP_RET]  = {G(gen_nothing)},	      [DIF_OP_NOP]  = {G(gen_nothing)},
	[DIF_OP_SETX] = {G(gen_setx)},	      [DIF_OP_SETS] = {G(gen_sets)},
	[DIF_OP_LDGA] = {G(op_lda), .keeps_reads = true}, [DIF_OP_LDTA] = {G(gen_illop)},
	[DIF_OP_LDGS] = {G(op_ldv)},	      [DIF_OP_STGS] = {G(op_stv), .clobbers = true, .keeps_reads = true},
	[DIF_OP_LDTS] = {G(op_ldv)},	      [DIF_OP_STTS] = {G(op_stv), .clobbers = true, .keeps_reads = true},
	[DIF_OP_LDLS] = {G(op_ldv)},	      [DIF_OP_STLS] = {G(op_stv), .clobbers = true, .keeps_reads = true},
	[DIF_OP_CALL] = {G(op_call)},
	[DIF_OP_PUSHTR] = {G(gen_copy)},	      [DIF_OP_PUSHTV] = {G(gen_copy)},
	[DIF_OP_POPTS] = {G(gen_nothing)},	      [DIF_OP_FLUSHTS] = {G(gen_nothing)},
	[DIF_OP_LDGAA] = {G(op_ldaa), .clobbers = true, .keeps_reads = true},
	[DIF_OP_LDTAA] = {G(op_ldaa), .clobbers = true, .keeps_reads = true},
	[DIF_OP_STGAA] = {G(op_staa), .clobbers = true, .keeps_reads = true},
	[DIF_OP_STTAA] = {G(op_staa), .clobbers = true, .keeps_reads = true},
	[DIF_OP_ALLOCS] = {G(gen_allocs), .clobbers = true},
	[DIF_OP_COPYS] = {G(gen_copys), .clobbers = true},
	[DIF_OP_STB]  = {G(gen_store), A(1), .clobbers = true}, [DIF_OP_STH] = {G(gen_store), A(2), .clobbers = true},
	[DIF_OP_STW]  = {G(gen_store), A(4), .clobbers = true}, [DIF_OP_STX] = {G(gen_store), A(8), .clobbers = true},
	[DIF_OP_XLATE] = {G(gen_illop)},	      [DIF_OP_XLARG] = {G(gen_illop)},
	/* clang-format on */
};

/* ---- faults --------------------------------------------------------------------------------- */

uint32_t at_fault(struct gen *g, const struct dif_at *at, uint32_t kind, struct ra_loc value)
{
	return gen_fault(g, kind, at->action, dif_at_offset(at), value);
}

void at_fault_always(struct gen *g, const struct dif_at *at, uint32_t kind, uint64_t value)
{
	struct ra_loc v = {.kind = RA_CONST, .value = value};

	em_imm(&g->e, R0, 0);
	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, at_fault(g, at, kind, v));
	if (at->writes && at->writes[0].kind != RA_UNUSED)
		ra_loc_put(g, &at->writes[0], R0);
}

void at_check_rt(struct gen *g, const struct dif_at *at)
{
	struct ra_loc none = {0};

	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(&g->e, BPF_JNE, R1, 0, at_fault(g, at, 0, none));
}

void at_check_readable(struct gen *g, const struct dif_at *at, const struct ra_loc *addr,
		       uint32_t size)
{
	if (!g->l->facts.has_blocks || addr->kind == RA_STR)
		return;
	ra_loc_load(g, R2, addr);
	em_imm(&g->e, R3, size);
	gen_rt(g, "rt_readable");
	at_check_rt(g, at);
}

/* ---- 1. what instructions read and write ---------------------------------------------------- */

struct difo_gen {
	struct gen *g;
	const struct difo *d;
	uint32_t action;
	/* the instructions to translate; arrays are indexed by instructions of the whole object */
	uint32_t from, to;
	/* the instruction at which the object ends, with tuple entry 0 as its result; or RA_NONE */
	uint32_t tuple_result;
	const struct difo_test *test; /* NULL: the result is wanted, in r0 */
	uint32_t out;		      /* label: where the test fails */
	struct ra_insn *ri;
	uint8_t *depth; /* of the tuple stack before each instruction; DEPTH_NONE: not reached */
	uint8_t is_string[DIF_MAX_TUPLE];
	uint8_t (*strings)[DIF_MAX_TUPLE]; /* is_string at instructions that use the tuple */
	uint32_t nvregs;
	uint16_t map[V_MAX]; /* virtual registers, numbered in the order of use: few are used */
	uint32_t *labels;    /* by instruction: label + 1; 0 = none */
	struct regalloc *ra;
};

static uint16_t vreg_get(struct difo_gen *dg, uint32_t v)
{
	if (v == 0)
		return RA_ZERO;
	if (!dg->map[v])
		dg->map[v] = (uint16_t)++dg->nvregs;
	return dg->map[v] - 1;
}

static void reads_add(struct difo_gen *dg, struct ra_insn *ri, const uint32_t *v, uint32_t n)
{
	uint16_t *r = ARENA_NEW_N(dg->g->tmp, uint16_t, ri->nreads + n);

	if (ri->nreads)
		memcpy(r, ri->reads, ri->nreads * sizeof(*r));
	for (uint32_t k = 0; k < n; k++)
		r[ri->nreads + k] = vreg_get(dg, v[k]);
	ri->reads = r;
	ri->nreads += n;
}

static void write_add(struct difo_gen *dg, struct ra_insn *ri, uint32_t v)
{
	ri->writes[ri->nwrites++] = vreg_get(dg, v);
}

/* The registers that a form reads: r1, r2, rd (or rs). %r0 is one like all others here. */
static const char *const form_reads[] = {
	[DIF_FORM_RRR] = "12",	 [DIF_FORM_RR] = "1",	   [DIF_FORM_LOAD] = "1",
	[DIF_FORM_STORE] = "1d", [DIF_FORM_RET] = "d",	   [DIF_FORM_LDA] = "2",
	[DIF_FORM_STV] = "d",	 [DIF_FORM_COPYS] = "12d", [DIF_FORM_XLATE] = "",
};

static void operands_read(struct difo_gen *dg, struct ra_insn *ri, dif_insn insn)
{
	const char *p = form_reads[dif_op_form(DIF_INSN_OP(insn))];

	for (; p && *p; p++)
		reads_add(dg, ri,
			  (uint32_t[]){*p == '1'   ? DIF_INSN_R1(insn)
				       : *p == '2' ? DIF_INSN_R2(insn)
						   : DIF_INSN_RD(insn)},
			  1);
}

/* Notes that the instruction reads the whole tuple stack. */
static void tuple_read(struct difo_gen *dg, struct ra_insn *ri, uint32_t i, uint32_t depth)
{
	uint32_t v[DIF_MAX_TUPLE];

	if (depth >= DEPTH_MIXED) {
		gen_fail(dg->g, "DIF instruction %u: the tuple stack depends on the way here", i);
		depth = 0;
	}
	for (uint32_t k = 0; k < depth; k++)
		v[k] = V_TUPLE + k;
	reads_add(dg, ri, v, depth);
	memcpy(dg->strings[i], dg->is_string, sizeof(dg->is_string));
}

static void depth_join(uint8_t *to, uint8_t depth)
{
	*to = *to == DEPTH_NONE || *to == depth ? depth : DEPTH_MIXED;
}

static void push_describe(struct difo_gen *dg, struct ra_insn *ri, uint32_t i, uint8_t *depth)
{
	dif_insn insn = dg->d->code[i];
	uint32_t k = *depth;

	if (k >= DIF_MAX_TUPLE) {
		gen_fail(dg->g, "DIF instruction %u: the tuple stack depends on the way here", i);
		return;
	}
	dg->is_string[k] =
		DIF_INSN_OP(insn) == DIF_OP_PUSHTR && DIF_INSN_TTYPE(insn) == DIF_TUPLE_STR;
	reads_add(dg, ri, (uint32_t[]){DIF_INSN_RS(insn)}, 1);
	write_add(dg, ri, V_TUPLE + k);
	ri->copies = true;
	*depth = (uint8_t)(k + 1);
}

static void compare_describe(struct difo_gen *dg, struct ra_insn *ri, dif_insn insn)
{
	uint32_t b = DIF_INSN_OP(insn) == DIF_OP_TST ? 0 : DIF_INSN_R2(insn);

	reads_add(dg, ri, (uint32_t[]){DIF_INSN_R1(insn), b}, 2);
	if (DIF_INSN_OP(insn) == DIF_OP_SCMP) {
		write_add(dg, ri, V_FLAG_B);
		write_add(dg, ri, V_FLAG_A);
		ri->home = (struct ra_loc){.kind = RA_CONST, .value = SCMP_EQUAL};
		return;
	}
	write_add(dg, ri, V_FLAG_A);
	write_add(dg, ri, V_FLAG_B);
	ri->copies = true;
}

static void branch_describe(struct difo_gen *dg, struct ra_insn *ri, dif_insn insn)
{
	uint32_t target = DIF_INSN_LABEL(insn);

	/* what a branch leads to behind the instructions does not read their values */
	ri->target = MIN(target, dg->to) - dg->from;
	ri->ends = DIF_INSN_OP(insn) == DIF_OP_BA;
	if (!ri->ends)
		reads_add(dg, ri, (uint32_t[]){V_FLAG_A, V_FLAG_B}, 2);
}

/* Notes the value of constants, and of arguments of the probe, which are in the machine state. */
static void home_describe(struct difo_gen *dg, struct ra_insn *ri, uint32_t i)
{
	dif_insn insn = dg->d->code[i];
	uint32_t id = DIF_INSN_INDEX(insn), arg;
	enum dif_op op = DIF_INSN_OP(insn);

	if (op == DIF_OP_SETX)
		ri->home = (struct ra_loc){.kind = RA_CONST, .value = dg->d->ints[id]};
	else if (op == DIF_OP_SETS)
		ri->home = string_loc(dg->g, dg->d, insn);
	else if (op == DIF_OP_LDGS && id >= DIF_VAR_ARG0 && id <= DIF_VAR_ARG9)
		ri->home =
			(struct ra_loc){.kind = RA_MACH, .n = (uint32_t)ARG_OFF(id - DIF_VAR_ARG0)};
	else if (op == DIF_OP_LDGA && difo_arg_index(dg->d, i, &arg))
		ri->home = (struct ra_loc){.kind = RA_MACH, .n = (uint32_t)ARG_OFF(arg)};
	else if (op == DIF_OP_MOV && DIF_INSN_R1(insn) == 0)
		ri->home = (struct ra_loc){.kind = RA_CONST};
}

/* Whether the load is of a thread-local in a hash map, or is copied, which takes a call. */
static bool loads_elem(const struct layout *l, dif_insn insn)
{
	const struct var_layout *vl;

	if (DIF_INSN_OP(insn) != DIF_OP_LDTS)
		return false;
	vl = layout_var(l, DIF_SCOPE_THREAD, DIF_INSN_INDEX(insn));
	return vl && (vl->is_elem || (l->opts.reads_own && dif_type_is_byref(&vl->var->type)));
}

static void clobbers_describe(const struct layout *l, struct ra_insn *ri, dif_insn insn)
{
	const struct op_gen *op = &ops[DIF_INSN_OP(insn)];
	uint32_t id = DIF_INSN_INDEX(insn);
	const struct builtin_gen *b;

	ri->clobbers = op->clobbers || loads_elem(l, insn);
	ri->keeps_reads = op->keeps_reads;
	if (l->facts.has_blocks &&
	    (DIF_INSN_OP(insn) == DIF_OP_CALL || DIF_INSN_OP(insn) == DIF_OP_SCMP))
		ri->keeps_reads =
			true; /* a call that checks strings comes before the call itself */
	if (DIF_INSN_OP(insn) == DIF_OP_CALL)
		ri->clobbers = dif_subr_row(id)->fx & FX_CALLS;
	if (DIF_INSN_OP(insn) == DIF_OP_LDGA)
		ri->clobbers = DIF_INSN_R1(insn) == DIF_VAR_UREGS;
	if (DIF_INSN_OP(insn) == DIF_OP_LDGS && id < DIF_VAR_USER) {
		b = builtin_gen_find(l, id);
		ri->clobbers = b && b->clobbers;
	}
}

static bool uses_tuple(enum dif_op op)
{
	return op == DIF_OP_CALL || (op >= DIF_OP_LDGAA && op <= DIF_OP_STTAA);
}

/* Fills in ri of instruction i; *depth becomes the depth behind it. */
static void insn_describe(struct difo_gen *dg, uint32_t i, uint8_t *depth)
{
	struct ra_insn *ri = &dg->ri[i];
	dif_insn insn = dg->d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);
	enum dif_form form = dif_op_form(op);

	clobbers_describe(dg->g->l, ri, insn);
	if (form == DIF_FORM_CMP || form == DIF_FORM_TST) {
		compare_describe(dg, ri, insn);
	} else if (form == DIF_FORM_LABEL) {
		branch_describe(dg, ri, insn);
	} else if (form == DIF_FORM_PUSHTR || form == DIF_FORM_PUSHTV) {
		push_describe(dg, ri, i, depth);
	} else {
		operands_read(dg, ri, insn);
		if (uses_tuple(op))
			tuple_read(dg, ri, i, *depth);
		if (dif_insn_uses(insn).writes)
			write_add(dg, ri, DIF_INSN_RD(insn));
		ri->copies = op == DIF_OP_MOV;
		ri->ends = op == DIF_OP_RET;
		home_describe(dg, ri, i);
	}
	if (op == DIF_OP_CALL || op == DIF_OP_FLUSHTS)
		*depth = 0;
	else if (op == DIF_OP_POPTS && *depth && *depth < DEPTH_MIXED)
		--*depth;
}

/* establishes: ri of every instruction; depth; labels of branch targets */
static void insns_describe(struct difo_gen *dg)
{
	struct arena *a = dg->g->tmp;

	dg->ri = ARENA_NEW_N(a, struct ra_insn, dg->to);
	dg->depth = ARENA_NEW_N(a, uint8_t, dg->d->code_len + 1);
	dg->labels = ARENA_NEW_N(a, uint32_t, dg->d->code_len + 1);
	dg->strings = arena_alloc(a, sizeof(*dg->strings) * dg->to);
	memset(dg->depth, DEPTH_NONE, dg->d->code_len + 1);
	dg->depth[dg->from] = 0;
	for (uint32_t i = dg->from; i < dg->to; i++) {
		struct ra_insn *ri = &dg->ri[i];
		uint8_t depth = dg->depth[i];

		ri->target = RA_NONE;
		if (depth == DEPTH_NONE) {
			ri->ends = true;
			continue;
		}
		if (i == dg->tuple_result) {
			reads_add(dg, ri, (uint32_t[]){V_TUPLE}, 1);
			ri->ends = true;
			continue;
		}
		insn_describe(dg, i, &depth);
		if (ri->target != RA_NONE) {
			uint32_t target = DIF_INSN_LABEL(dg->d->code[i]);

			depth_join(&dg->depth[target], depth);
			if (dg->test && target == dg->test->is_false)
				dg->labels[target] = dg->out + 1;
			else if (!dg->labels[target])
				dg->labels[target] = em_label(&dg->g->e) + 1;
		}
		if (!ri->ends)
			depth_join(&dg->depth[i + 1], depth);
	}
}

/* ---- 3. instructions ------------------------------------------------------------------------ */

static void emit_insn(struct difo_gen *dg, uint32_t i, uint32_t end)
{
	struct gen *g = dg->g;
	dif_insn insn = dg->d->code[i];
	enum dif_op op = DIF_INSN_OP(insn);
	struct dif_at at = {.d = dg->d,
			    .i = i,
			    .insn = insn,
			    .action = dg->action,
			    .reads = dg->ra->reads[i - dg->from],
			    .writes = dg->ra->writes[i - dg->from],
			    .nreads = dg->ri[i].nreads,
			    .nwrites = dg->ri[i].nwrites,
			    .depth = dg->depth[i],
			    .is_string = dg->strings[i]};

	if (i == dg->tuple_result || op == DIF_OP_RET) {
		ra_loc_load(g, R0, &at.reads[0]);
		if (i + 1 < dg->to)
			em_ja(&g->e, end);
	} else if (op == DIF_OP_BA) {
		em_ja(&g->e, dg->labels[DIF_INSN_LABEL(insn)] - 1);
	} else if (dif_op_form(op) == DIF_FORM_LABEL) {
		branch_emit(g, &at, ops[op].arg, dg->labels[DIF_INSN_LABEL(insn)] - 1);
	} else if (at.nwrites != 1 || dg->ri[i].home.kind == RA_UNUSED ||
		   !ra_loc_same(&dg->ri[i].home, &at.writes[0])) {
		ops[op].emit(g, &at, &ops[op]);
	}
}

static void insns_emit(struct difo_gen *dg)
{
	struct gen *g = dg->g;
	uint32_t end = em_label(&g->e), span = g->e.span;

	for (uint32_t k = 0; k < dg->ra->nzeros; k++) {
		em_imm(&g->e, R0, 0);
		ra_loc_put(g, &dg->ra->zeros[k], R0);
	}
	for (uint32_t i = dg->from; i < dg->to; i++) {
		if (dg->labels[i])
			em_here(&g->e, dg->labels[i] - 1);
		if (dg->depth[i] == DEPTH_NONE)
			continue;
		if (dg->d->spans && dg->d->spans[i])
			g->e.span = dg->d->spans[i];
		emit_insn(dg, i, end);
	}
	if (dg->test && dg->labels[dg->to])
		em_here(&g->e, dg->labels[dg->to] - 1);
	em_here(&g->e, end);
	g->e.span = span;
}

/*
 * what: the members d, action, from, to, tuple_result, test and out. Returns whether control can
 * reach what is behind the instructions.
 */
static bool gen_code(struct gen *g, const struct difo_gen *what)
{
	struct difo_gen *dg;
	struct ra_opts opts = {.nstack = FRAME_NSPILL,
			       .mach_off = g->mach->spill_off,
			       .mach_nslots = g->mach->spill_nslots,
			       .seed = g->env->shuffle};

	arena_reset(g->tmp);
	dg = ARENA_NEW(g->tmp, struct difo_gen);
	*dg = *what;
	dg->g = g;
	insns_describe(dg);
	if (g->err)
		return true;
	if (opts.seed)
		opts.seed += g->e.code->insns.len;
	dg->ra = regalloc_run(g->tmp, dg->ri + dg->from, dg->to - dg->from, dg->nvregs, &opts);
	if (!dg->ra) {
		gen_fail(g, "the expression needs more than %u values at once", opts.mach_nslots);
		return true;
	}
	insns_emit(dg);
	return dg->depth[dg->to] != DEPTH_NONE;
}

void gen_difo(struct gen *g, const struct difo *d, uint32_t action)
{
	struct difo_gen what = {.d = d,
				.action = action,
				.to = d->code_len,
				.tuple_result = RA_NONE};

	(void)gen_code(g, &what);
}

bool gen_difo_part(struct gen *g, const struct difo *d, uint32_t action,
		   const struct difo_test *test, uint32_t from, uint32_t to, uint32_t out)
{
	struct difo_gen what = {.d = d,
				.action = action,
				.from = from,
				.to = to,
				.tuple_result = RA_NONE,
				.test = test,
				.out = out};

	return from == to || gen_code(g, &what);
}

bool gen_difo_test(struct gen *g, const struct difo *d, uint32_t action, uint32_t from,
		   uint32_t out)
{
	struct difo_test test;

	if (difo_test_find(d, &test))
		return gen_difo_part(g, d, action, &test, from, test.end, out);
	if (difo_is_zero(d)) {
		test = (struct difo_test){d->code_len - 1, RA_NONE};
		(void)gen_difo_part(g, d, action, &test, from, test.end, out);
		em_ja(&g->e, out);
		return false;
	}
	gen_difo(g, d, action);
	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, out);
	return true;
}

bool gen_difo_copyinstr(struct gen *g, const struct difo *d, uint32_t action, uint32_t *ret_offset)
{
	uint32_t n = d->code_len, call;

	if (n < 3)
		return false;
	call = n - 2;
	if (d->code[call] !=
		    dif_idx(DIF_OP_CALL, DIF_SUBR_COPYINSTR, DIF_INSN_RD(d->code[n - 1])) ||
	    DIF_INSN_OP(d->code[call - 1]) != DIF_OP_PUSHTV)
		return false;
	for (uint32_t i = 0; i < call; i++) {
		enum dif_op op = DIF_INSN_OP(d->code[i]);

		/* there must be one argument, and no way around the call */
		if (dif_op_form(op) == DIF_FORM_LABEL && DIF_INSN_LABEL(d->code[i]) >= call)
			return false;
		if (op == DIF_OP_RET || op == DIF_OP_PUSHTR ||
		    (op == DIF_OP_PUSHTV && i + 1 < call))
			return false;
	}
	*ret_offset = call * (uint32_t)sizeof(dif_insn);
	(void)gen_code(g, &(struct difo_gen){.d = d,
					     .action = action,
					     .to = n - 1,
					     .tuple_result = call});
	return true;
}
