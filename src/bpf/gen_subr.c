/* SPDX-License-Identifier: MIT */
/* Subroutine calls: a table with one row each. */
#include "bpf/gen.h"
#include "bpf/engine.h"

struct subr_gen {
	void (*emit)(struct gen *g, const struct dif_at *at, const struct subr_gen *s);
	const char *rt; /* run-time function */
	int arg;
};

static void emit_rt(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	const struct dif_subr_row *row = dif_subr_row(DIF_INSN_INDEX(at->insn));
	uint32_t texts = row->fx & FX_TEXTS ? 2 : row->fx & FX_TEXT ? 1 : 0;
	struct ra_loc args[DIF_SUBR_ARGS];

	for (uint32_t k = 0; k < row->nmax; k++)
		args[k] = k < at->depth ? at->reads[k]
					: (struct ra_loc){.kind = RA_CONST, .value = row->omitted};
	for (uint32_t k = 0; k < texts && !difo_trusts(at->d, at->i); k++)
		at_check_readable(g, at, &args[k], 1);
	ra_loc_args(g, args, row->nmax);
	gen_rt(g, s->rt);
	if (row->fx & FX_FAULTS)
		at_check_rt(g, at);
}

static void emit_getf(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	if (g->l->opts.reads_own && !difo_trusts(at->d, at->i))
		at_fault_always(g, at, DIF_FAULT_KPRIV, 0);
	else
		gen_getf(g, at);
}

static void emit_d_path(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	if (g->l->opts.reads_own && !difo_trusts(at->d, at->i))
		at_fault_always(g, at, DIF_FAULT_KPRIV, 0);
	else
		gen_d_path(g, at);
}

static void emit_rand(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	em_helper(&g->e, BPF_FUNC_get_prandom_u32);
	em_mov32(&g->e, R0, R0);
	em_alu_imm(&g->e, BPF_RSH, R0, 1);
}

/* Whether the object is the predicate of a clause that the process has asked before the kernel. */
static bool is_asked_before(const struct gen *g, const struct difo *d)
{
	for (uint32_t i = 0; i < g->u->nclauses && g->u->is_sampled; i++)
		if (g->u->clauses[i].layout->clause->pred == d)
			return true;
	return false;
}

static void emit_sample(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	if (is_asked_before(g, at->d)) {
		em_imm(&g->e, R0, 1);
		return;
	}
	ra_loc_args(g, at->reads, 2);
	gen_rt(g, "rt_sample");
}

/* Only code in the process can know that it is 0; it has asked before the kernel does. */
static void emit_asked(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	em_imm(&g->e, R0, 1);
}

static void emit_byte_order(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	ra_loc_load(g, R0, &at->reads[0]);
	em_to_be(&g->e, R0, s->arg);
}

/* Linux include/linux/kdev_t.h: MINORBITS is 20 */
static void emit_major(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	ra_loc_load(g, R0, &at->reads[0]);
	em_mov32(&g->e, R0, R0);
	em_alu_imm(&g->e, BPF_RSH, R0, 20);
}

static void emit_minor(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	ra_loc_load(g, R0, &at->reads[0]);
	em_alu_imm(&g->e, BPF_AND, R0, (1 << 20) - 1);
}

/*
 * r0 = the entry of a list of names for a number or, if it is negative, its magnitude; for a number
 * without an entry its digits.
 */
static void emit_name(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	enum name_list_id id = (enum name_list_id)s->arg;
	uint32_t positive = em_label(&g->e), has_name = em_label(&g->e), done = em_label(&g->e);
	const struct name_list *l = &name_lists[id];

	ra_loc_args(g, at->reads, 1); /* the number goes to r2 */
	em_mov(&g->e, R0, R2);
	em_jmp_imm(&g->e, BPF_JSGE, R0, 0, positive);
	em_neg(&g->e, R0);
	em_here(&g->e, positive);
	em_jmp_imm(&g->e, BPF_JLT, R0, (int32_t)l->n, has_name);
	em_imm(&g->e, R3, 10);
	gen_rt(g, "rt_sub_lltostr");
	at_check_rt(g, at);
	em_ja(&g->e, done);
	em_here(&g->e, has_name);
	em_alu_imm(&g->e, BPF_MUL, R0, (int32_t)l->stride);
	gen_mach_load(g, 8, R1, offsetof(struct rt_mach, strtab));
	em_alu_reg(&g->e, BPF_ADD, R0, R1);
	em_alu_imm(&g->e, BPF_ADD, R0, (int32_t)g->l->names_off[id]);
	em_here(&g->e, done);
}

static void emit_flags(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	struct ra_loc args[4] = {at->reads[0],
				 at->reads[1],
				 {.kind = RA_CONST, .value = g->l->flags_off},
				 {.kind = RA_CONST, .value = nflag_names}};

	ra_loc_args(g, args, 4);
	gen_rt(g, "rt_strflags");
	at_check_rt(g, at);
}

static void emit_progenyof(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	uint32_t parent = 0, tgid = 0;
	struct err *e = kfield_offset("task_struct", "real_parent", &parent);

	if (!e)
		e = kfield_offset("task_struct", "tgid", &tgid);
	if (e) {
		gen_fail(g, "progenyof: %s", err_text(e));
		err_destroy(e);
		return;
	}
	ra_loc_args(g, at->reads, 1);
	em_imm(&g->e, R3, parent);
	em_imm(&g->e, R4, tgid);
	gen_rt(g, "rt_progenyof");
}

/* r0 = `size` bytes at offset off of the lock that is the argument, or a fault */
static void lock_word_load(struct gen *g, const struct dif_at *at, uint32_t off, uint32_t size)
{
	if (g->l->opts.reads_own) {
		at_fault_always(g, at, DIF_FAULT_KPRIV, 0);
		return;
	}
	ra_loc_args(g, at->reads, 1);
	if (off)
		em_alu_imm(&g->e, BPF_ADD, R2, (int32_t)off);
	em_imm(&g->e, R3, size);
	gen_rt(g, "rt_lock_word");
	at_check_rt(g, at);
}

/* r0 = r0 != 0 */
static void truth_emit(struct gen *g)
{
	uint32_t done = em_label(&g->e);

	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, done);
	em_imm(&g->e, R0, 1);
	em_here(&g->e, done);
}

/*
 * The owner of a mutex, with flags in its low three bits (Linux include/linux/mutex_types.h). arg:
 * is 1 where only the truth value is needed.
 */
static void emit_mutex(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	uint32_t off = 0;
	struct err *e = kfield_offset("mutex", "owner", &off);

	if (e) {
		gen_fail(g, "mutex_owner: %s", err_text(e));
		err_destroy(e);
		return;
	}
	lock_word_load(g, at, off, 8);
	em_alu_imm(&g->e, BPF_AND, R0, -8);
	if (s->arg)
		truth_emit(g);
}

/* The type of a mutex: on Linux all of them sleep. */
static void emit_mutex_type(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	lock_word_load(g, at, 0, 8);
	em_imm(&g->e, R0, (uint64_t)s->arg);
}

/*
 * A rwlock_t begins with a word that has the writer in its lowest byte, a bit for a waiting writer,
 * and above these the number of readers (Linux include/asm-generic/qrwlock_types.h). arg: the bits.
 */
static void emit_rwlock(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	lock_word_load(g, at, 0, 4);
	em_alu_imm(&g->e, BPF_AND, R0, s->arg);
	truth_emit(g);
}

#define RW_WRITER  0xff
#define RW_WAITING 0x100
#define RW_READERS (~0x1ff)

static void emit_stackid(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	if (at->reads[0].kind != RA_CONST) /* DIF that the compiler has not made */
		at_fault_always(g, at, DIF_FAULT_ILLOP, 0);
	else
		gen_stack_value(g, at->reads[0].value);
}

static void emit_illop(struct gen *g, const struct dif_at *at, const struct subr_gen *s)
{
	at_fault_always(g, at, DIF_FAULT_ILLOP, 0);
}

static const struct subr_gen subrs[] = {
/* clang-format off */
#define SUBR(id, name, code, ...) [code] = {emit_rt, "rt_sub_" #name, 0},
#define SUBR_INLINE(id, name, code, result, args, optional, fx, addresses, helpers, reference, attr, since, what, how, \
		    value) \
	[code] = {emit_##how, NULL, value},
#define SUBR_FOREIGN(id, name, code, ...) [code] = {emit_illop, NULL, 0},
#include "dif/subrs.def"
	[DIF_SUBR_STACKID] = {emit_stackid, NULL, 0},
	/* clang-format on */
};

enum name_list_id names_of_subr(uint32_t subr)
{
	/* those of programs over a core file are none of the kernel's */
	return subr < ARRAY_LEN(subrs) && subrs[subr].emit == emit_name
		       ? (enum name_list_id)subrs[subr].arg
		       : NNAMES;
}

void gen_call(struct gen *g, const struct dif_at *at)
{
	const struct dif_subr_row *row = dif_subr_row(DIF_INSN_INDEX(at->insn));
	uint32_t id = DIF_INSN_INDEX(at->insn);
	const struct subr_gen *s = &subrs[id < ARRAY_LEN(subrs) ? id : DIF_SUBR_MSGSIZE];

	if (s->emit == emit_illop || at->depth < row->nmin || at->depth > row->nmax) {
		emit_illop(g, at, s);
		return;
	}
	s->emit(g, at, s);
	ra_loc_put(g, &at->writes[0], R0);
}
