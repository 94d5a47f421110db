/* SPDX-License-Identifier: MIT */
/* The DIF interpreter: the machine and its instruction loop. Semantics: interp.h. */
#include "dif/interp_impl.h"

#define DEFAULT_STRSIZE	   256u
#define DEFAULT_SCRATCH	   (64u << 10)
#define DEFAULT_DYNVARSIZE (1u << 20)

/* ---- an environment that refuses everything -------------------------------------------------- */

static bool none_load(void *ctx, uint64_t addr, void *buf, uint32_t size)
{
	(void)ctx, (void)addr, (void)buf, (void)size;
	return false;
}

static enum dif_fault none_builtin(void *ctx, uint32_t id, uint64_t index, uint64_t *ret)
{
	(void)ctx, (void)id, (void)index;
	*ret = 0;
	return DIF_FAULT_ILLOP;
}

static uint32_t none_rand(void *ctx)
{
	(void)ctx;
	return 4;
}

static bool none_progenyof(void *ctx, int32_t pid)
{
	(void)ctx, (void)pid;
	return false;
}

const struct dif_env dif_env_none = {
	.load_kernel = none_load,
	.load_user = none_load,
	.builtin = none_builtin,
	.rand = none_rand,
	.progenyof = none_progenyof,
};

/* ---- machine --------------------------------------------------------------------------------- */

struct dif_machine *dif_machine_create(const struct dif_env *env,
				       const struct dif_machine_opts *opts)
{
	struct dif_machine *m = xcalloc(1, sizeof(*m));

	m->env = *env;
	m->strsize = opts && opts->strsize ? opts->strsize : DEFAULT_STRSIZE;
	m->strsize = MAX(1u, MIN(m->strsize, DIF_MAX_STRING));
	m->scratch_size = opts && opts->scratch_size ? opts->scratch_size
						     : MAX(DEFAULT_SCRATCH, 32 * m->strsize);
	m->dyn_max = opts && opts->dynvarsize ? opts->dynvarsize : DEFAULT_DYNVARSIZE;
	m->arena = arena_create();
	m->scratch = xcalloc(1, m->scratch_size);
	mem_add_region(m, m->scratch, m->scratch_size, false);
	m->tok_text = xcalloc(1, m->scratch_size + 1);
	mem_add_region(m, m->tok_text, m->scratch_size + 1, false);
	for (size_t i = 0; i < ARRAY_LEN(m->text); i++)
		m->text[i] = xcalloc(1, m->strsize);
	vars_init(m);
	return m;
}

void dif_machine_destroy(struct dif_machine *m)
{
	if (!m)
		return;
	vars_deinit(m);
	for (size_t i = 0; i < ARRAY_LEN(m->text); i++)
		free(m->text[i]);
	vec_deinit(&m->regions);
	vec_deinit(&m->blocks);
	free(m->scratch);
	free(m->tok_text);
	arena_destroy(m->arena);
	free(m);
}

void dif_machine_begin_firing(struct dif_machine *m, uint64_t thread)
{
	m->thread = thread;
	m->tok_rest = 0;
	vars_forget_locals(m);
	m->scratch_top = 0;
	m->blocks.len = 0;
}

/* Bytes of blocks that later clauses of a firing still see, as RT_SCRATCH_KEPT in the kernel. */
#define SCRATCH_KEPT 1024u

/*
 * Strings in scratch memory end with their clause, but the next clause may go on with strtok(): the
 * text that is left is copied out of scratch memory.
 */
static void tok_keep(struct dif_machine *m)
{
	uint64_t off = m->tok_rest - mem_addr(m->scratch);

	if (off >= m->scratch_top)
		return;
	memcpy(m->tok_text, m->scratch + off, m->scratch_top - off);
	m->tok_text[m->scratch_top - off] = '\0';
	m->tok_rest = mem_addr(m->tok_text);
}

void dif_machine_begin_clause(struct dif_machine *m)
{
	uint32_t end;

	tok_keep(m);
	end = m->blocks.len ? ROUND_UP(m->blocks.data[m->blocks.len - 1].end, 8u) : 0;
	if (end > MIN(SCRATCH_KEPT, m->scratch_size / 8))
		end = 0;
	if (!end)
		m->blocks.len = 0;
	m->scratch_top = end;
}

uint64_t dif_machine_string(struct dif_machine *m, const char *text)
{
	char *copy = arena_strdup(m->arena, text);

	mem_add_region(m, copy, (uint32_t)strlen(copy) + 1, false);
	return mem_addr(copy);
}

bool dif_machine_text(struct dif_machine *m, uint64_t addr, char *buf, uint32_t *ret_len)
{
	if (addr)
		return mem_load_text(m, SPACE_KERNEL, addr, buf, m->strsize - 1, ret_len);
	buf[0] = '\0';
	*ret_len = 0;
	return true;
}

bool dif_machine_bytes(struct dif_machine *m, uint64_t addr, void *buf, uint32_t size)
{
	return mem_load(m, SPACE_KERNEL, addr, buf, size);
}

uint32_t dif_machine_strsize(const struct dif_machine *m)
{
	return m->strsize;
}

uint64_t dif_machine_drops(const struct dif_machine *m)
{
	return m->drops;
}

uint64_t dif_fault(struct dif_machine *m, enum dif_fault kind, uint64_t value)
{
	if (m->fault == DIF_FAULT_NONE) {
		m->fault = kind;
		m->fault_value = value;
		m->done = true;
	}
	return 0;
}

/* ---- instructions, by form ------------------------------------------------------------------- */

static void exec_none(struct dif_machine *m, dif_insn i)
{
	if (DIF_INSN_OP(i) == DIF_OP_FLUSHTS)
		m->ntuple = 0;
	else if (DIF_INSN_OP(i) == DIF_OP_POPTS && m->ntuple)
		m->ntuple--;
}

static uint64_t op_divide(struct dif_machine *m, enum dif_op op, uint64_t a, uint64_t b)
{
	bool overflows = a == (uint64_t)INT64_MIN && b == UINT64_MAX;

	if (!b)
		return dif_fault(m, DIF_FAULT_DIVZERO, 0);
	switch ((int)op) {
	case DIF_OP_SDIV: return overflows ? a : (uint64_t)((int64_t)a / (int64_t)b);
	case DIF_OP_SREM: return overflows ? 0 : (uint64_t)((int64_t)a % (int64_t)b);
	case DIF_OP_UDIV: return a / b;
	case DIF_OP_UREM: return a % b;
	default: BUG("opcode %d does not divide", (int)op);
	}
}

static uint64_t op_compute(struct dif_machine *m, enum dif_op op, uint64_t a, uint64_t b)
{
	switch ((int)op) {
	case DIF_OP_OR: return a | b;
	case DIF_OP_XOR: return a ^ b;
	case DIF_OP_AND: return a & b;
	case DIF_OP_SLL: return a << (b & 63);
	case DIF_OP_SRL: return a >> (b & 63);
	case DIF_OP_SRA: return (uint64_t)((int64_t)a >> (b & 63));
	case DIF_OP_SUB: return a - b;
	case DIF_OP_ADD: return a + b;
	case DIF_OP_MUL: return a * b;
	default: return op_divide(m, op, a, b);
	}
}

static void exec_rrr(struct dif_machine *m, dif_insn i)
{
	m->regs[DIF_INSN_RD(i)] =
		op_compute(m, DIF_INSN_OP(i), m->regs[DIF_INSN_R1(i)], m->regs[DIF_INSN_R2(i)]);
}

static void exec_rr(struct dif_machine *m, dif_insn i)
{
	uint64_t a = m->regs[DIF_INSN_R1(i)];
	enum dif_op op = DIF_INSN_OP(i);

	m->regs[DIF_INSN_RD(i)] = op == DIF_OP_NOT ? ~a : op == DIF_OP_MOV ? a : mem_alloc(m, a);
}

static void ints_compare(struct dif_machine *m, uint64_t a, uint64_t b)
{
	m->cmp_unsigned = (a > b) - (a < b);
	m->cmp_signed = ((int64_t)a > (int64_t)b) - ((int64_t)a < (int64_t)b);
}

static void texts_compare(struct dif_machine *m, uint64_t a, uint64_t b)
{
	uint32_t alen, blen;
	int cmp;

	if (!dif_machine_text(m, a, m->text[0], &alen)) {
		dif_fault(m, DIF_FAULT_BADADDR, a);
		return;
	}
	if (!dif_machine_text(m, b, m->text[1], &blen)) {
		dif_fault(m, DIF_FAULT_BADADDR, b);
		return;
	}
	cmp = memcmp(m->text[0], m->text[1], MIN(alen, blen) + 1u);
	m->cmp_signed = m->cmp_unsigned = (cmp > 0) - (cmp < 0);
}

static void exec_cmp(struct dif_machine *m, dif_insn i)
{
	uint64_t a = m->regs[DIF_INSN_R1(i)], b = m->regs[DIF_INSN_R2(i)];

	(DIF_INSN_OP(i) == DIF_OP_SCMP ? texts_compare : ints_compare)(m, a, b);
}

static void exec_tst(struct dif_machine *m, dif_insn i)
{
	ints_compare(m, m->regs[DIF_INSN_R1(i)], 0);
}

static bool branch_is_taken(const struct dif_machine *m, enum dif_op op)
{
	switch ((int)op) {
	case DIF_OP_BA: return true;
	case DIF_OP_BE: return m->cmp_unsigned == 0;
	case DIF_OP_BNE: return m->cmp_unsigned != 0;
	case DIF_OP_BG: return m->cmp_signed > 0;
	case DIF_OP_BGE: return m->cmp_signed >= 0;
	case DIF_OP_BL: return m->cmp_signed < 0;
	case DIF_OP_BLE: return m->cmp_signed <= 0;
	case DIF_OP_BGU: return m->cmp_unsigned > 0;
	case DIF_OP_BGEU: return m->cmp_unsigned >= 0;
	case DIF_OP_BLU: return m->cmp_unsigned < 0;
	case DIF_OP_BLEU: return m->cmp_unsigned <= 0;
	default: BUG("opcode %d is not a branch", (int)op);
	}
}

static void exec_label(struct dif_machine *m, dif_insn i)
{
	if (branch_is_taken(m, DIF_INSN_OP(i)))
		m->pc = DIF_INSN_LABEL(i);
}

/* ---- loads and stores ------------------------------------------------------------------------ */

/* clang-format off */
#define ACCESSES(prefix, space_)                                    \
	[DIF_OP_##prefix##LDSB] = {1, true, space_},	\
	[DIF_OP_##prefix##LDSH] = {2, true, space_},               \
	[DIF_OP_##prefix##LDSW] = {4, true, space_},               \
	[DIF_OP_##prefix##LDUB] = {1, false, space_},              \
	[DIF_OP_##prefix##LDUH] = {2, false, space_},              \
	[DIF_OP_##prefix##LDUW] = {4, false, space_},              \
	[DIF_OP_##prefix##LDX] = {8, false, space_}

static const struct access {
	uint8_t size;
	bool is_signed;
	enum space space;
} accesses[] = {
	ACCESSES(, SPACE_KERNEL), ACCESSES(U, SPACE_USER), ACCESSES(R, SPACE_KERNEL),
	[DIF_OP_STB] = {1, false, SPACE_KERNEL}, [DIF_OP_STH] = {2, false, SPACE_KERNEL},
	[DIF_OP_STW] = {4, false, SPACE_KERNEL}, [DIF_OP_STX] = {8, false, SPACE_KERNEL},
};
/* clang-format on */

static uint64_t number_from(const void *data, const struct access *acc)
{
	uint64_t v;
	uint32_t v32;
	uint16_t v16;
	uint8_t v8;

	switch (acc->size) {
	case 1: memcpy(&v8, data, 1); return acc->is_signed ? (uint64_t)(int8_t)v8 : v8;
	case 2: memcpy(&v16, data, 2); return acc->is_signed ? (uint64_t)(int16_t)v16 : v16;
	case 4: memcpy(&v32, data, 4); return acc->is_signed ? (uint64_t)(int32_t)v32 : v32;
	default: memcpy(&v, data, 8); return v;
	}
}

static void exec_load(struct dif_machine *m, dif_insn i)
{
	const struct access *acc = &accesses[DIF_INSN_OP(i)];
	uint64_t addr = m->regs[DIF_INSN_R1(i)];
	uint8_t data[8];

	if (mem_load(m, acc->space, addr, data, acc->size))
		m->regs[DIF_INSN_RD(i)] = number_from(data, acc);
	else
		dif_fault(m, DIF_FAULT_BADADDR, addr);
}

static void exec_store(struct dif_machine *m, dif_insn i)
{
	uint32_t size = accesses[DIF_INSN_OP(i)].size;
	uint64_t addr = m->regs[DIF_INSN_RD(i)], v = m->regs[DIF_INSN_R1(i)];
	void *host = mem_writable(m, addr, size);
	uint32_t v32 = (uint32_t)v;
	uint16_t v16 = (uint16_t)v;
	uint8_t v8 = (uint8_t)v;

	if (!host)
		dif_fault(m, DIF_FAULT_BADADDR, addr);
	else if (addr % size)
		dif_fault(m, DIF_FAULT_BADALIGN, addr);
	else
		memcpy(host,
		       size == 1   ? (void *)&v8
		       : size == 2 ? (void *)&v16
		       : size == 4 ? (void *)&v32
				   : (void *)&v,
		       size);
}

static void exec_copys(struct dif_machine *m, dif_insn i)
{
	uint64_t src = m->regs[DIF_INSN_R1(i)], size = m->regs[DIF_INSN_R2(i)];
	uint64_t dst = m->regs[DIF_INSN_RD(i)];
	CLEANUP(free) void *copy = NULL;
	void *host;

	if (!size)
		return;
	host = mem_writable(m, dst, size);
	if (!host) {
		dif_fault(m, DIF_FAULT_BADADDR, dst);
		return;
	}
	copy = xmalloc(size); /* the size is at most that of a writable region */
	if (mem_load(m, SPACE_KERNEL, src, copy, size))
		memcpy(host, copy, size);
	else
		dif_fault(m, DIF_FAULT_BADADDR, src);
}

/* ---- constants, variables, tuples ------------------------------------------------------------ */

static void exec_ret(struct dif_machine *m, dif_insn i)
{
	m->value = m->regs[DIF_INSN_RD(i)];
	m->done = true;
}

static void exec_setx(struct dif_machine *m, dif_insn i)
{
	m->regs[DIF_INSN_RD(i)] = m->d->ints[DIF_INSN_INDEX(i)];
}

static void exec_sets(struct dif_machine *m, dif_insn i)
{
	m->regs[DIF_INSN_RD(i)] = mem_addr(m->d->strs + DIF_INSN_INDEX(i));
}

static uint64_t builtin_load(struct dif_machine *m, uint32_t id, uint64_t index)
{
	uint64_t v = 0;
	enum dif_fault fault = m->env.builtin(m->env.ctx, id, index, &v);

	return fault == DIF_FAULT_NONE ? v : dif_fault(m, fault, v);
}

static void exec_lda(struct dif_machine *m, dif_insn i)
{
	m->regs[DIF_INSN_RD(i)] = builtin_load(m, DIF_INSN_R1(i), m->regs[DIF_INSN_R2(i)]);
}

static void exec_ldv(struct dif_machine *m, dif_insn i)
{
	uint32_t id = DIF_INSN_INDEX(i);
	uint64_t v = id < DIF_VAR_USER
			     ? builtin_load(m, id, 0)
			     : var_load(m, difo_find_var(m->d, dif_op_scope(DIF_INSN_OP(i)), id));

	m->regs[DIF_INSN_RD(i)] = v;
}

static void exec_stv(struct dif_machine *m, dif_insn i)
{
	var_store(m, difo_find_var(m->d, dif_op_scope(DIF_INSN_OP(i)), DIF_INSN_INDEX(i)),
		  m->regs[DIF_INSN_RS(i)]);
}

static void exec_call(struct dif_machine *m, dif_insn i)
{
	m->regs[DIF_INSN_RD(i)] = subr_call(m, DIF_INSN_INDEX(i));
	m->ntuple = 0;
}

static void tuple_push(struct dif_machine *m, struct tuple_elem e)
{
	if (m->ntuple == DIF_MAX_TUPLE)
		dif_fault(m, DIF_FAULT_TUPOFLOW, 0);
	else
		m->tuple[m->ntuple++] = e;
}

static void exec_pushtr(struct dif_machine *m, dif_insn i)
{
	tuple_push(m, (struct tuple_elem){.value = m->regs[DIF_INSN_RS(i)],
					  .size = m->regs[DIF_INSN_R2(i)],
					  .is_ref = true,
					  .is_string = DIF_INSN_TTYPE(i) == DIF_TUPLE_STR});
}

static void exec_pushtv(struct dif_machine *m, dif_insn i)
{
	tuple_push(m, (struct tuple_elem){.value = m->regs[DIF_INSN_RS(i)]});
}

/* The verifier refuses these instructions. */
static void exec_xlate(struct dif_machine *m, dif_insn i)
{
	(void)i;
	dif_fault(m, DIF_FAULT_ILLOP, 0);
}

static void (*const execs[])(struct dif_machine *m, dif_insn i) = {
	[DIF_FORM_NONE] = exec_none,	 [DIF_FORM_RRR] = exec_rrr,
	[DIF_FORM_RR] = exec_rr,	 [DIF_FORM_CMP] = exec_cmp,
	[DIF_FORM_TST] = exec_tst,	 [DIF_FORM_LABEL] = exec_label,
	[DIF_FORM_LOAD] = exec_load,	 [DIF_FORM_STORE] = exec_store,
	[DIF_FORM_RET] = exec_ret,	 [DIF_FORM_SETX] = exec_setx,
	[DIF_FORM_SETS] = exec_sets,	 [DIF_FORM_LDA] = exec_lda,
	[DIF_FORM_LDV] = exec_ldv,	 [DIF_FORM_STV] = exec_stv,
	[DIF_FORM_CALL] = exec_call,	 [DIF_FORM_PUSHTR] = exec_pushtr,
	[DIF_FORM_PUSHTV] = exec_pushtv, [DIF_FORM_COPYS] = exec_copys,
	[DIF_FORM_XLATE] = exec_xlate,
};

struct dif_result dif_run(struct dif_machine *m, const struct difo *d)
{
	struct dif_result r = {0};

	if (d->strs_size)
		mem_add_region(m, d->strs, d->strs_size, false);
	memset(m->regs, 0, sizeof(m->regs));
	m->d = d;
	m->ntuple = 0;
	m->value = 0;
	m->fault = DIF_FAULT_NONE;
	m->done = false;
	for (m->pc = 0; !m->done;) {
		dif_insn i = d->code[m->pc];

		r.offset = m->pc++ * (uint32_t)sizeof(i);
		execs[dif_op_form(DIF_INSN_OP(i))](m, i);
	}
	if (m->fault == DIF_FAULT_NONE)
		return (struct dif_result){.value = m->value};
	r.fault = m->fault;
	r.fault_value = m->fault_value;
	return r;
}
