/* SPDX-License-Identifier: MIT */
/*
 * Records: builds the data of recording actions in the machine state, and sends them to the ring.
 */
#include "bpf/gen.h"

#define UNKNOWN_OFFSET UINT32_MAX /* -1 */

static uint32_t rec_off(const struct gen *g, uint32_t off)
{
	return g->mach->rec_off + off;
}

static bool is_heap_used(const struct clause_layout *cl)
{
	return cl->max_size > cl->heap_off;
}

static uint32_t executed_size(const struct clause_layout *cl)
{
	return cl->executed_off ? (cl->clause->nacts + 63) / 64 * 8 : 0;
}

void gen_record_begin(struct gen *g)
{
	const struct clause_layout *cl = g->uc->layout;
	struct emitter *e = &g->e;

	em_store_imm(e, 4, R9, (int32_t)rec_off(g, offsetof(struct rt_rec, clause)),
		     (int32_t)cl->clause->index);
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, probe));
	gen_mach_store(g, 4, rec_off(g, offsetof(struct rt_rec, probe)), R0);
	if (cl->pid_off) {
		gen_pid_tgid(g);
		em_alu_imm(e, BPF_RSH, R0, 32);
		gen_mach_store(g, 8, rec_off(g, cl->pid_off), R0);
	}
	if (cl->spec_off)
		em_store_imm(e, 8, R9,
			     (int32_t)rec_off(g, cl->spec_off + offsetof(struct rt_spec_tag, word)),
			     0);
	for (uint32_t k = 0; k < executed_size(cl); k += 8)
		em_store_imm(e, 8, R9, (int32_t)rec_off(g, cl->executed_off + k), 0);
	if (is_heap_used(cl))
		em_store_imm(e, 8, R9, (int32_t)HEAP_OFF, (int32_t)cl->heap_off);
}

/* ---- which actions were executed ------------------------------------------------------------ */

static bool starts_block(const struct prog_clause *c, uint32_t act)
{
	if (act == 0 || c->acts[act - 1].kind == ACT_BRZ || c->acts[act - 1].kind == ACT_JMP)
		return true;
	for (uint32_t i = 0; i < act; i++)
		if ((c->acts[i].kind == ACT_BRZ || c->acts[i].kind == ACT_JMP) &&
		    c->acts[i].target == act)
			return true;
	return false;
}

void gen_record_mark(struct gen *g, uint32_t act)
{
	const struct clause_layout *cl = g->uc->layout;
	const struct prog_clause *c = cl->clause;
	uint32_t i = act;

	if (!cl->executed_off || !starts_block(c, act))
		return;
	while (i < c->nacts && (i == act || !starts_block(c, i))) {
		uint64_t bits = 0;
		uint32_t word = i / 64, off = rec_off(g, cl->executed_off + word * 8);

		for (; i < c->nacts && i / 64 == word && (i == act || !starts_block(c, i)); i++)
			if (act_is_recording(c->acts[i].kind) ||
			    (c->is_default && c->acts[i].kind == ACT_SPECULATE))
				bits |= 1ull << (i % 64);
		if (!bits)
			continue;
		gen_mach_load(g, 8, R0, off);
		em_imm(&g->e, R1, bits);
		em_alu_reg(&g->e, BPF_OR, R0, R1);
		gen_mach_store(g, 8, off, R0);
	}
}

/* ---- fields --------------------------------------------------------------------------------- */

/* The same as at_check_readable(), for the address in r6. */
static void bytes_check_readable(struct gen *g, uint32_t size, uint32_t action)
{
	struct ra_loc none = {.kind = RA_CONST};

	if (!g->l->facts.has_blocks)
		return;
	em_mov(&g->e, R2, R6);
	em_imm(&g->e, R3, size);
	gen_rt(g, "rt_readable");
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(&g->e, BPF_JNE, R0, 0, gen_fault(g, 0, action, UNKNOWN_OFFSET, none));
}

void gen_read_bytes(struct gen *g, uint32_t off, uint32_t size, bool is_user, uint32_t needed,
		    uint32_t action)
{
	struct emitter *e = &g->e;
	struct ra_loc addr = {.kind = RA_REG, .n = R6};

	em_mov(e, R6, R0);
	if (!is_user)
		bytes_check_readable(g, needed, action);
	em_addr(e, R1, R9, off);
	em_imm(e, R2, size);
	em_mov(e, R3, R6);
	em_helper(e, is_user ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel);
	em_jmp_imm(e, BPF_JNE, R0, 0,
		   gen_fault(g, DIF_FAULT_BADADDR, action, UNKNOWN_OFFSET, addr));
}

void gen_user_addr(struct gen *g, uint32_t off)
{
	em_mov(&g->e, R6, R0);
	gen_pid_tgid(g);
	em_alu_imm(&g->e, BPF_RSH, R0, 32);
	gen_mach_store(g, 8, off, R0);
	gen_mach_store(g, 8, off + 8, R6);
}

void gen_strid(struct gen *g, uint32_t off, const struct difo *d)
{
	const char *s = difo_is_strconst(d);
	uint32_t id;

	if (!s) {
		id = (uint32_t)difo_is_builtin(d) - DIF_VAR_PROBEPROV;
		gen_mach_load(g, 4, R0, (uint32_t)offsetof(struct rt_mach, names) + 4 * id);
		gen_mach_store(g, 4, off, R0);
		return;
	}
	if (!strtab_find(g->l->strtab, s, strlen(s), &id))
		BUG("string constant is not in the session's table");
	em_store_imm(&g->e, 4, R9, (int32_t)off, (int32_t)id);
}

/*
 * r0 = 1 where it is 0: for an empty user string, kernels before 6.17 do not count the NUL. A
 * branch would double the number of paths that the verifier walks.
 */
static void nul_count(struct emitter *e)
{
	em_mov(e, R1, R0);
	em_alu_imm(e, BPF_ADD, R1, -1);
	em_alu_imm(e, BPF_RSH, R1, 63);
	em_alu_reg(e, BPF_ADD, R0, R1);
}

/*
 * Appends a string. One that is just copyinstr(x) is read from user memory directly into the
 * record; a fault is then reported as the subroutine's.
 */
static void string_field(struct gen *g, const struct rec_field *f, const struct difo *d,
			 uint32_t action)
{
	struct emitter *e = &g->e;
	const struct clause_layout *cl = g->uc->layout;
	struct ra_loc addr = {.kind = RA_REG, .n = R6};
	uint32_t offset = UNKNOWN_OFFSET, done = em_label(e), off = rec_off(g, f->off);
	uint32_t have = em_label(e);
	bool is_user = gen_difo_copyinstr(g, d, action, &offset);

	if (!is_user) {
		gen_difo(g, d, action);
		em_jmp_imm(e, BPF_JNE, R0, 0, have);
		em_store_imm(e, 8, R9, (int32_t)off, 0);
		em_store_imm(e, 4, R9, (int32_t)(off + offsetof(struct rt_str, len)), -1);
		em_ja(e, done);
		is_user = d->ret.flags & DIF_TF_BYUREF;
	}
	em_here(e, have);
	em_mov(e, R6, R0);
	if (!is_user)
		bytes_check_readable(g, 1, action);
	gen_mach_load(g, 8, R7, HEAP_OFF);
	/*
	 * Always true. It makes r7 a number of unknown value for the verifier, which would
	 * otherwise track an exact value that differs on every path to this point.
	 */
	em_jmp_imm(e, BPF_JGT, R7, (int32_t)(cl->max_size - f->size), g->out);
	em_addr(e, R1, R9, g->mach->rec_off);
	em_alu_reg(e, BPF_ADD, R1, R7);
	em_imm(e, R2, f->size);
	em_mov(e, R3, R6);
	em_helper(e, is_user ? BPF_FUNC_probe_read_user_str : BPF_FUNC_probe_read_kernel_str);
	em_jmp_imm(e, BPF_JSLT, R0, 0, gen_fault(g, DIF_FAULT_BADADDR, action, offset, addr));
	if (is_user)
		nul_count(e);
	gen_mach_store(g, 4, off, R7);
	em_alu_reg(e, BPF_ADD, R7, R0);
	gen_mach_store(g, 8, HEAP_OFF, R7);
	em_alu_imm(e, BPF_ADD, R0, -1);
	gen_mach_store(g, 4, off + (uint32_t)offsetof(struct rt_str, len), R0);
	em_here(e, done);
}

static void record_field(struct gen *g, const struct rec_field *f, const struct difo *d,
			 uint32_t needed, uint32_t action)
{
	uint32_t off = rec_off(g, f->off);

	switch (f->kind) {
	case REC_STACK: gen_record_stack(g, f, off); break;
	case REC_COMM: gen_comm(g, off); break;
	case REC_STRID: gen_strid(g, off, d); break;
	case REC_STR: string_field(g, f, d, action); break;
	case REC_INT:
		gen_difo(g, d, action);
		gen_mach_store(g, f->size, off, R0);
		break;
	case REC_BYTES:
		gen_difo(g, d, action);
		if (f->datum == DATUM_USYM || f->datum == DATUM_UMOD || f->datum == DATUM_UADDR)
			gen_user_addr(g, off);
		else
			gen_read_bytes(g, off, f->size, d->ret.flags & DIF_TF_BYUREF, needed,
				       action);
		break;
	}
}

/* A fault unless the bytes at the address in r6, as many as the field `len` says, are D's own. */
static void sized_check_own(struct gen *g, const struct rec_field *f, const struct rec_field *len,
			    uint32_t action)
{
	struct ra_loc none = {.kind = RA_CONST};
	struct emitter *e = &g->e;
	uint32_t fits = em_label(e);

	em_mov(e, R2, R6);
	gen_mach_load(g, len->size, R3, rec_off(g, len->off));
	em_jmp_imm(e, BPF_JLE, R3, (int32_t)f->size, fits);
	em_imm(e, R3, f->size);
	em_here(e, fits);
	gen_rt(g, "rt_readable");
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(e, BPF_JNE, R0, 0, gen_fault(g, 0, action, UNKNOWN_OFFSET, none));
}

/*
 * Records memory: as many bytes as the field `len`, which is recorded already, gives, limited by
 * the room in the record.
 */
static void sized_memory_field(struct gen *g, const struct rec_field *f,
			       const struct rec_field *len, const struct difo *d, uint32_t action)
{
	struct ra_loc addr = {.kind = RA_REG, .n = R6};
	uint32_t fits = em_label(&g->e);
	struct emitter *e = &g->e;

	gen_difo(g, d, action);
	em_mov(e, R6, R0);
	if (g->l->opts.reads_own)
		sized_check_own(g, f, len, action);
	gen_mach_load(g, len->size, R2, rec_off(g, len->off));
	em_jmp_imm(e, BPF_JLE, R2, (int32_t)f->size, fits);
	em_imm(e, R2, f->size);
	em_here(e, fits);
	em_addr(e, R1, R9, rec_off(g, f->off));
	em_mov(e, R3, R6);
	em_helper(e, BPF_FUNC_probe_read_kernel);
	em_jmp_imm(e, BPF_JNE, R0, 0,
		   gen_fault(g, DIF_FAULT_BADADDR, action, UNKNOWN_OFFSET, addr));
}

static void memory_field(struct gen *g, const struct act_layout *al, const struct prog_act *act,
			 uint32_t k)
{
	const struct rec_field *f = &al->fields[k];
	uint32_t len = act->memory.len_arg, action = act->number + k;

	if (len < k)
		sized_memory_field(g, f, &al->fields[len], act->args[k], action);
	/*
	 * A length that is recorded later decides what is shown: only the first byte must exist.
	 * Where clauses may read D's own memory only, the record must be made of that, too.
	 */
	else
		record_field(g, f, act->args[k],
			     len == PROG_NO_ARG || g->l->opts.reads_own ? f->size : 1, action);
}

void gen_record_act(struct gen *g, uint32_t act)
{
	const struct act_layout *al = &g->uc->layout->acts[act];
	const struct prog_act *pa = &g->uc->layout->clause->acts[act];

	for (uint32_t k = 0; k < al->nfields; k++) {
		if (pa->arg_kinds && pa->arg_kinds[k] == DATUM_MEMORY)
			memory_field(g, al, pa, k);
		else
			record_field(g, &al->fields[k], pa->args[k], al->fields[k].size,
				     pa->number + k);
	}
	if (pa->kind == ACT_EXIT)
		em_store_imm(&g->e, 4, R9, offsetof(struct rt_mach, exits), 1);
}

/*
 * The room that a speculation must have for a record: that of the largest possible record, but at
 * most all that a speculation may have.
 */
static uint64_t spec_need(const struct gen *g)
{
	const struct clause_layout *cl = g->uc->layout;

	return ROUND_UP(MIN((uint64_t)cl->max_size,
			    MAX(g->l->opts.specsize & ~7ull, (uint64_t)cl->heap_off)),
			8u);
}

void gen_speculate(struct gen *g, const struct prog_act *act)
{
	struct emitter *e = &g->e;
	uint32_t off = rec_off(g, g->uc->layout->spec_off), is_active = em_label(e);
	struct ra_loc none = {.kind = RA_CONST};

	gen_difo(g, act->args[0], act->number);
	gen_mach_store(g, 4, off + (uint32_t)offsetof(struct rt_spec_tag, id), R0);
	em_store_imm(e, 4, R9, (int32_t)(off + offsetof(struct rt_spec_tag, pad)), 0);
	em_mov(e, R2, R0);
	em_imm(e, R3, spec_need(g));
	gen_rt(g, "rt_speculate");
	gen_mach_store(g, 8, off + (uint32_t)offsetof(struct rt_spec_tag, word), R0);
	em_jmp_imm(e, BPF_JNE, R0, 0, is_active);
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(e, BPF_JNE, R0, 0, gen_fault(g, 0, act->number, UNKNOWN_OFFSET, none));
	em_ja(e, g->out);
	em_here(e, is_active);
}

/* ---- sending -------------------------------------------------------------------------------- */

void gen_end_run(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	em_map_value(e, R1, MAP_REF(MAP_CONTROL, 0), offsetof(struct rt_control, state));
	em_load(e, 4, R0, R1, 0);
	em_jmp_imm(e, BPF_JNE, R0, RT_STATE_ON, done);
	em_store_imm(e, 4, R1, 0, RT_STATE_EXITING);
	em_here(e, done);
}

static void emit_drop(struct gen *g, const struct cold *c)
{
	gen_count(g, offsetof(struct rt_cpu, drops));
	if (g->env->stops_when_full)
		gen_end_run(g);
	em_ja(&g->e, c->back);
}

/* Leaves the clause when nothing was recorded. */
static void record_skip_if_empty(struct gen *g)
{
	const struct clause_layout *cl = g->uc->layout;

	gen_mach_load(g, 8, R0, rec_off(g, cl->executed_off));
	for (uint32_t k = 8; k < executed_size(cl); k += 8) {
		gen_mach_load(g, 8, R1, rec_off(g, cl->executed_off + k));
		em_alu_reg(&g->e, BPF_OR, R0, R1);
	}
	em_jmp_imm(&g->e, BPF_JEQ, R0, 0, g->out);
}

static bool has_exit(const struct prog_clause *c)
{
	for (uint32_t i = 0; i < c->nacts; i++)
		if (c->acts[i].kind == ACT_EXIT)
			return true;
	return false;
}

/* r7 = flags for the ring: a record of a clause that called exit() wakes the consumer. */
static void ring_flags_set(struct gen *g)
{
	uint32_t done = em_label(&g->e);

	em_imm(&g->e, R7, BPF_RB_FORCE_WAKEUP);
	if (!g->uc->layout->executed_off)
		return; /* exit() is called on every path */
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, exits));
	em_jmp_imm(&g->e, BPF_JNE, R0, 0, done);
	em_imm(&g->e, R7, BPF_RB_NO_WAKEUP);
	em_here(&g->e, done);
}

/* After a record was sent: adds its size to that of its speculation, if it has one. */
static void spec_count(struct gen *g)
{
	const struct clause_layout *cl = g->uc->layout;
	uint32_t off = rec_off(g, cl->spec_off), none = em_label(&g->e);

	gen_mach_load(g, 8, R3, off + (uint32_t)offsetof(struct rt_spec_tag, word));
	em_jmp_imm(&g->e, BPF_JEQ, R3, 0, none);
	gen_mach_load(g, 4, R2, off + (uint32_t)offsetof(struct rt_spec_tag, id));
	if (is_heap_used(cl))
		gen_mach_load(g, 8, R4, HEAP_OFF);
	else
		em_imm(&g->e, R4, cl->heap_off);
	gen_rt(g, "rt_spec_used");
	em_here(&g->e, none);
}

void gen_record_end(struct gen *g)
{
	struct emitter *e = &g->e;
	const struct clause_layout *cl = g->uc->layout;
	bool exits = has_exit(cl->clause);
	uint32_t drop;

	if (cl->executed_off)
		record_skip_if_empty(g);
	if (exits)
		ring_flags_set(g);
	gen_timestamp(g);
	gen_mach_store(g, 8, rec_off(g, offsetof(struct rt_rec, time)), R0);
	drop = gen_cold(g, (struct cold){.emit = emit_drop, .back = g->out});
	if (is_heap_used(cl)) {
		gen_mach_load(g, 8, R3, HEAP_OFF);
		em_jmp_imm(e, BPF_JGT, R3, (int32_t)cl->max_size, g->out);
	} else {
		em_imm(e, R3, cl->heap_off);
	}
	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, cpu));
	em_addr(e, R2, R9, g->mach->rec_off);
	if (exits)
		em_mov(e, R4, R7);
	else
		em_imm(e, R4, BPF_RB_NO_WAKEUP);
	em_call_rt(e, RT_RING_OUTPUT);
	em_jmp_imm(e, BPF_JNE, R0, 0, drop);
	if (cl->spec_off)
		spec_count(g);
}
