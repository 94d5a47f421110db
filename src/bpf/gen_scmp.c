/* SPDX-License-Identifier: MIT */
/*
 * String comparison.
 *
 * In general a run-time function reads both strings. The usual test is cheaper: whether execname,
 * or a name of the probe, equals a constant. The name of the task is in the machine state, padded
 * with NULs, and is compared as one or two words. Names of a probe are offsets in the string table,
 * where equal strings have equal offsets.
 */
#include "bpf/gen.h"

#define COMM_SIZE 16

/* Whether every conditional branch depends on the comparison right before it. */
static bool branches_follow(const struct difo *d)
{
	CLEANUP(free) bool *is_target = xcalloc(d->code_len + 1, sizeof(*is_target));

	for (uint32_t i = 0; i < d->code_len; i++)
		if (dif_op_form(DIF_INSN_OP(d->code[i])) == DIF_FORM_LABEL)
			is_target[MIN(DIF_INSN_LABEL(d->code[i]), d->code_len)] = true;
	for (uint32_t i = 0; i < d->code_len; i++) {
		enum dif_form before = i ? dif_op_form(DIF_INSN_OP(d->code[i - 1])) : DIF_FORM_NONE;

		if (!dif_op_is_cond(DIF_INSN_OP(d->code[i])))
			continue;
		if (is_target[i] || (before != DIF_FORM_CMP && before != DIF_FORM_TST))
			return false;
	}
	return true;
}

/* Whether only the branch right behind uses the flags, and only for equality. */
static bool is_equality(struct gen *g, const struct difo *d, uint32_t at)
{
	if (g->flags.difo != d)
		g->flags = (struct flags_use){.difo = d, .branches_follow = branches_follow(d)};
	return g->flags.branches_follow && at + 1 < d->code_len &&
	       (DIF_INSN_OP(d->code[at + 1]) == DIF_OP_BE ||
		DIF_INSN_OP(d->code[at + 1]) == DIF_OP_BNE);
}

/* The built-in variable in register reg at instruction `at`; -1 when that is not certain. */
static int reg_builtin(const struct difo *d, uint32_t at, uint32_t reg)
{
	uint32_t def = at;

	while (def > 0 && dif_insn_uses(d->code[def - 1]).writes != reg)
		def--;
	if (def-- == 0 || DIF_INSN_OP(d->code[def]) != DIF_OP_LDGS)
		return -1;
	for (uint32_t i = 0; i < at; i++) /* on another path the register may have another value */
		if (dif_op_form(DIF_INSN_OP(d->code[i])) == DIF_FORM_LABEL &&
		    DIF_INSN_LABEL(d->code[i]) > def && DIF_INSN_LABEL(d->code[i]) <= at)
			return -1;
	return (int)DIF_INSN_INDEX(d->code[def]);
}

/* r0 = 0 when the task's name is s, else another value; destroys r1 */
static void comm_compare(struct gen *g, const char *s)
{
	uint32_t off = (uint32_t)offsetof(struct rt_mach, comm);
	uint64_t words[COMM_SIZE / 8] = {0};

	memcpy(words, s, strlen(s));
	gen_mach_load(g, 8, R0, off);
	em_imm(&g->e, R1, words[0]);
	em_alu_reg(&g->e, BPF_XOR, R0, R1);
	if (strlen(s) < 8)
		return;
	gen_mach_load(g, 8, R2, off + 8);
	em_imm(&g->e, R1, words[1]);
	em_alu_reg(&g->e, BPF_XOR, R2, R1);
	em_alu_reg(&g->e, BPF_OR, R0, R2);
}

/* r0 = 0 when the probe's name is the string at offset s of the string table */
static void name_compare(struct gen *g, uint32_t name, uint32_t s)
{
	gen_mach_load(g, 4, R0, (uint32_t)offsetof(struct rt_mach, names) + 4 * name);
	em_alu_imm(&g->e, BPF_XOR, R0, (int32_t)s);
}

/* r0 = 0 for equal, else another value; false: no comparison of this kind, nothing was emitted */
static bool known_compare(struct gen *g, const struct dif_at *at)
{
	bool is_first = at->reads[0].kind == RA_STR;
	const struct ra_loc *s = &at->reads[is_first ? 0 : 1];
	int id;

	if (s->kind != RA_STR || !is_equality(g, at->d, at->i))
		return false;
	id = reg_builtin(at->d, at->i, is_first ? DIF_INSN_R2(at->insn) : DIF_INSN_R1(at->insn));
	if (id == DIF_VAR_EXECNAME && g->l->strsize >= COMM_SIZE &&
	    strlen(strtab_get(g->l->strtab, s->n)) < COMM_SIZE)
		comm_compare(g, strtab_get(g->l->strtab, s->n));
	else if (id >= DIF_VAR_PROBEPROV + g->l->opts.has_pids && id <= DIF_VAR_PROBENAME &&
		 strlen(strtab_get(g->l->strtab, s->n)) + 1 < g->l->strsize)
		name_compare(g, (uint32_t)(id - DIF_VAR_PROBEPROV), s->n);
	else
		return false;
	return true;
}

void gen_scmp(struct gen *g, const struct dif_at *at)
{
	uint32_t equal = em_label(&g->e);

	if (known_compare(g, at)) {
		em_jmp_imm(&g->e, BPF_JEQ, R0, 0, equal);
		em_imm(&g->e, R0, 1);
		em_here(&g->e, equal);
	} else {
		at_check_readable(g, at, &at->reads[0], 1);
		at_check_readable(g, at, &at->reads[1], 1);
		ra_loc_args(g, at->reads, 2);
		gen_rt(g, "rt_strcmp");
		at_check_rt(g, at);
		em_here(&g->e, equal);
	}
	em_alu_imm(&g->e, BPF_ADD, R0, SCMP_EQUAL);
	ra_loc_put(g, &at->writes[1], R0);
	em_imm(&g->e, R0, SCMP_EQUAL);
	ra_loc_put(g, &at->writes[0], R0);
}
