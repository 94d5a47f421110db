/* SPDX-License-Identifier: MIT */
/*
 * D variables: global, thread-local and clause-local scalars.
 *
 * Clause-locals are in the machine state, globals in a map with one element, thread-locals in a
 * block of task storage (looked up once a clause: FRAME_TLS); elements of arrays are in
 * gen_array.c. A by-reference variable reads as the kernel address of its storage:
 * its map pointer is stored to the machine state and loaded back, which makes it a number for the
 * verifier.
 */
#include "bpf/gen.h"
#include "dif/asm.h"

#define TLS_INPLACE_MAX 16 /* most clauses in a unit whose lookups are in place */
#define TMP_ADDR	((uint32_t)offsetof(struct rt_mach, tmp) + 7 * 8)

const struct var_layout *gen_var_of(struct gen *g, const struct dif_at *at)
{
	uint32_t id = DIF_INSN_INDEX(at->insn);
	const struct var_layout *vl =
		layout_var(g->l, (enum dif_scope)dif_op_scope(DIF_INSN_OP(at->insn)), id);

	if (!vl)
		gen_fail(g, "variable 0x%x has no storage", id);
	return vl;
}

void gen_pointer_to_number(struct gen *g, int dst, int src)
{
	gen_mach_store(g, 8, TMP_ADDR, src);
	gen_mach_load(g, 8, dst, TMP_ADDR);
}

void gen_value_load(struct gen *g, const struct var_layout *vl, int dst, int base, int32_t off)
{
	em_load(&g->e, vl->var->type.size, dst, base, off);
	if (vl->var->type.is_signed)
		em_extend(&g->e, dst, vl->var->type.size, true);
}

/* ---- thread-local block --------------------------------------------------------------------- */

/* r0 = the task's block or NULL */
static void storage_get_call(struct gen *g, uint32_t flags)
{
	struct emitter *e = &g->e;

	em_helper(e, HELPER_GET_CURRENT_TASK_BTF);
	em_map(e, R1, MAP_REF(MAP_TLS, 0));
	em_mov(e, R2, R0);
	em_imm(e, R3, 0);
	em_imm(e, R4, flags);
	em_helper(e, HELPER_TASK_STORAGE_GET);
}

void gen_tls_create(struct gen *g)
{
	storage_get_call(g, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* A function, because the kernel patches the program around each such call (lookup.c). */
static void emit_tls_func(struct gen *g, uint32_t flags)
{
	storage_get_call(g, flags);
	em_exit(&g->e);
}

void gen_tls_lookup(struct gen *g)
{
	if (g->u->nclauses > TLS_INPLACE_MAX)
		em_call_func(&g->e, gen_func(g, "tls", emit_tls_func, 0));
	else
		storage_get_call(g, 0);
	em_store(&g->e, 8, R10, FRAME_TLS, R0);
}

/* Makes the block and returns with it in r1; else counts a drop and jumps to label c->action. */
static void emit_tls_create(struct gen *g, const struct cold *c)
{
	em_call_func(&g->e,
		     gen_func(g, "tls_create", emit_tls_func, BPF_LOCAL_STORAGE_GET_F_CREATE));
	em_store(&g->e, 8, R10, FRAME_TLS, R0);
	em_mov(&g->e, R1, R0);
	em_jmp_imm(&g->e, BPF_JNE, R1, 0, c->back);
	gen_count(g, offsetof(struct rt_cpu, dyn_drops));
	em_ja(&g->e, c->action);
}

/* r1 = the block, which is made if it does not exist; jumps to done when that is impossible. */
static void tls_get(struct gen *g, uint32_t done)
{
	uint32_t have = em_label(&g->e);

	em_load(&g->e, 8, R1, R10, FRAME_TLS);
	em_jmp_imm(&g->e, BPF_JEQ, R1, 0,
		   gen_cold(g,
			    (struct cold){.emit = emit_tls_create, .back = have, .action = done}));
	em_here(&g->e, have);
}

void gen_source_check(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	const struct dif_type *t = &vl->var->type;

	if (!(t->flags & DIF_TF_BYUREF))
		at_check_readable(g, at, &at->reads[0], t->kind == DIF_KIND_STRING ? 1 : vl->size);
}

void gen_ref_copy_in(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	const struct dif_type *t = &vl->var->type;
	bool is_user = t->flags & DIF_TF_BYUREF, is_string = t->kind == DIF_KIND_STRING;
	int helper = is_string ? (is_user ? BPF_FUNC_probe_read_user_str
					  : BPF_FUNC_probe_read_kernel_str)
			       : (is_user ? BPF_FUNC_probe_read_user : BPF_FUNC_probe_read_kernel);

	ra_loc_load(g, R3, &at->reads[0]);
	em_imm(&g->e, R2, vl->size);
	em_helper(&g->e, helper);
	em_jmp_imm(&g->e, BPF_JSLT, R0, 0, at_fault(g, at, DIF_FAULT_BADADDR, at->reads[0]));
}

/*
 * dst = the address in dst or, where clauses may read D's own memory only, of a copy in scratch
 * memory: where elements of hash maps lie is not known beforehand.
 */
void gen_elem_own(struct gen *g, const struct dif_at *at, const struct var_layout *vl, int dst)
{
	if (!g->l->opts.reads_own)
		return;
	em_mov(&g->e, R2, dst);
	em_imm(&g->e, R3, vl->size);
	gen_rt(g, "rt_own_copy");
	em_mov(&g->e, dst, R0);
	gen_mach_load(g, 4, R1, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(&g->e, BPF_JNE, R1, 0,
		   gen_fault(g, 0, at->action, dif_at_offset(at),
			     (struct ra_loc){.kind = RA_CONST}));
}

/* ---- loads of scalars ----------------------------------------------------------------------- */

static void tls_load(struct gen *g, const struct dif_at *at, const struct var_layout *vl, int dst)
{
	struct emitter *e = &g->e;
	uint32_t unset = em_label(e);

	em_load(e, 8, R1, R10, FRAME_TLS);
	/*
	 * This loads zero while no fault is reported, but the verifier does not know that. With a
	 * known zero it would find code that cannot run without a block and remove it, walking over
	 * the whole program each time.
	 */
	gen_mach_load(g, 4, dst, offsetof(struct rt_mach, fault) + offsetof(struct rt_fault, kind));
	em_jmp_imm(e, BPF_JEQ, R1, 0, unset);
	if (var_is_byref(vl)) {
		em_load(e, 8, R2, R1, (int32_t)vl->off - 8);
		em_jmp_imm(e, BPF_JEQ, R2, 0, unset);
		em_alu_imm(e, BPF_ADD, R1, (int32_t)vl->off);
		gen_pointer_to_number(g, dst, R1);
		gen_elem_own(g, at, vl, dst);
	} else {
		gen_value_load(g, vl, dst, R1, (int32_t)vl->off);
	}
	em_here(e, unset);
}

static void addr_load(struct gen *g, int dst, uint32_t base_off, uint32_t off)
{
	gen_mach_load(g, 8, dst, base_off);
	if (off)
		em_alu_imm(&g->e, BPF_ADD, dst, (int32_t)off);
}

/* dst = the address of a global or clause-local string, or NULL when it holds NULL */
static void string_load(struct gen *g, const struct var_layout *vl, int dst)
{
	struct emitter *e = &g->e;
	uint32_t is_null = em_label(e);
	int32_t local = (int32_t)(g->mach->this_off + vl->off);

	if (vl->var->scope == DIF_SCOPE_GLOBAL) {
		em_map_value(e, R1, MAP_REF(MAP_GVARS, 0), vl->off - 8);
		em_load(e, 8, R1, R1, 0);
	} else {
		em_load(e, 8, R1, R9, local - 8);
	}
	em_imm(e, dst, 0);
	em_jmp_imm(e, BPF_JNE, R1, 0, is_null);
	if (vl->var->scope == DIF_SCOPE_GLOBAL)
		addr_load(g, dst, offsetof(struct rt_mach, gvars), vl->off);
	else
		addr_load(g, dst, offsetof(struct rt_mach, self), (uint32_t)local);
	em_here(e, is_null);
}

static bool is_string(const struct var_layout *vl)
{
	return vl->var->type.kind == DIF_KIND_STRING;
}

static void scalar_load(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
			int dst)
{
	if (is_string(vl) && vl->var->scope != DIF_SCOPE_THREAD) {
		string_load(g, vl, dst);
		return;
	}
	switch ((enum dif_scope)vl->var->scope) {
	case DIF_SCOPE_THREAD: tls_load(g, at, vl, dst); break;
	case DIF_SCOPE_GLOBAL:
		if (var_is_byref(vl)) {
			addr_load(g, dst, offsetof(struct rt_mach, gvars), vl->off);
		} else {
			em_map_value(&g->e, R1, MAP_REF(MAP_GVARS, 0), vl->off);
			gen_value_load(g, vl, dst, R1, 0);
		}
		break;
	case DIF_SCOPE_LOCAL:
		if (var_is_byref(vl))
			addr_load(g, dst, offsetof(struct rt_mach, self),
				  g->mach->this_off + vl->off);
		else
			gen_value_load(g, vl, dst, R9, (int32_t)(g->mach->this_off + vl->off));
		break;
	}
}

void gen_ldv(struct gen *g, const struct dif_at *at)
{
	uint32_t id = DIF_INSN_INDEX(at->insn);
	const struct ra_loc *d = &at->writes[0];
	const struct builtin_gen *b;
	const struct var_layout *vl;
	struct needs needs = {0};
	int dst = ra_loc_dst(d, R0);

	if (id < DIF_VAR_USER) {
		b = builtin_gen_find(g->l, id);
		if (!b)
			at_fault_always(g, at, DIF_FAULT_ILLOP, 0);
		if (!b || d->kind == RA_UNUSED)
			return;
		b->emit(g, b);
		b->need(&needs, b);
		if (needs.faults)
			at_check_rt(g, at);
		ra_loc_put(g, d, R0);
		return;
	}
	vl = gen_var_of(g, at);
	if (!vl || d->kind == RA_UNUSED)
		return;
	if (vl->is_elem) {
		gen_elem_load(g, at, vl, NULL);
		return;
	}
	scalar_load(g, at, vl, dst);
	ra_loc_put(g, d, dst);
}

void gen_lda(struct gen *g, const struct dif_at *at)
{
	struct emitter *e = &g->e;
	uint32_t id = DIF_INSN_R1(at->insn), arg;

	if (id == DIF_VAR_UREGS) {
		gen_uregs(g, at);
		return;
	}
	if (id != DIF_VAR_ARGS) {
		at_fault_always(g, at, DIF_FAULT_ILLOP, 0);
		return;
	}
	if (difo_arg_index(at->d, at->i, &arg)) {
		gen_mach_load(g, 8, R0, ARG_OFF(arg));
		ra_loc_put(g, &at->writes[0], R0);
		return;
	}
	ra_loc_load(g, R0, &at->reads[0]);
	em_jmp_imm(e, BPF_JGE, R0, ARRAY_LEN(((struct rt_mach *)0)->arg),
		   at_fault(g, at, DIF_FAULT_BADINDEX, at->reads[0]));
	em_alu_imm(e, BPF_LSH, R0, 3);
	em_mov(e, R1, R9);
	em_alu_reg(e, BPF_ADD, R1, R0);
	em_load(e, 8, R0, R1, offsetof(struct rt_mach, arg));
	ra_loc_put(g, &at->writes[0], R0);
}

/* ---- stores --------------------------------------------------------------------------------- */

static bool can_be_zero(const struct ra_loc *v)
{
	return v->kind != RA_STR && (v->kind != RA_CONST || !v->value);
}

static void jump_if_zero(struct gen *g, const struct ra_loc *v, uint32_t label)
{
	if (can_be_zero(v))
		em_jmp_imm(&g->e, BPF_JEQ, ra_loc_use(g, v, R0), 0, label);
}

static void tls_store_value(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	const struct ra_loc *v = &at->reads[0];
	uint32_t done = em_label(e), have = em_label(e);
	uint32_t size = vl->var->type.size, create;

	em_load(e, 8, R1, R10, FRAME_TLS);
	if (ra_loc_is_zero(v)) {
		em_jmp_imm(e, BPF_JEQ, R1, 0, done);
		em_store_imm(e, size, R1, (int32_t)vl->off, 0);
		em_here(e, done);
		return;
	}
	em_jmp_imm(e, BPF_JNE, R1, 0, have);
	if (!ra_loc_is_nonzero(v, size)) { /* storing a zero needs no block */
		ra_loc_load(g, R0, v);
		em_extend(e, R0, size, false);
		em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	}
	create = gen_cold(g, (struct cold){.emit = emit_tls_create, .back = have, .action = done});
	em_ja(e, create);
	em_here(e, have);
	em_store(e, size, R1, (int32_t)vl->off, ra_loc_use(g, v, R0));
	em_here(e, done);
}

static void tls_store_ref(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	const struct ra_loc *v = &at->reads[0];
	uint32_t done = em_label(e), clear = em_label(e);

	if (!ra_loc_is_zero(v)) {
		jump_if_zero(g, v, clear);
		gen_source_check(g, at, vl);
		tls_get(g, done);
		em_alu_imm(e, BPF_ADD, R1, (int32_t)vl->off);
		gen_ref_copy_in(g, at, vl);
		em_load(e, 8, R1, R10, FRAME_TLS);
		em_jmp_imm(e, BPF_JEQ, R1, 0, done);
		em_store_imm(e, 8, R1, (int32_t)vl->off - 8, 1);
	}
	if (can_be_zero(v)) {
		if (!ra_loc_is_zero(v))
			em_ja(e, done);
		em_here(e, clear);
		em_load(e, 8, R1, R10, FRAME_TLS);
		em_jmp_imm(e, BPF_JEQ, R1, 0, done);
		em_store_imm(e, 8, R1, (int32_t)vl->off - 8, 0);
	}
	em_here(e, done);
}

/* r1 = the storage of a global or clause-local variable */
static void static_pointer_load(struct gen *g, const struct var_layout *vl)
{
	if (vl->var->scope == DIF_SCOPE_GLOBAL)
		em_map_value(&g->e, R1, MAP_REF(MAP_GVARS, 0), vl->off);
	else
		em_addr(&g->e, R1, R9, g->mach->this_off + vl->off);
}

/* Stores whether a string is NULL, which string_load() reads. */
static void is_null_store(struct gen *g, const struct var_layout *vl, int32_t null)
{
	if (!is_string(vl))
		return;
	static_pointer_load(g, vl);
	em_store_imm(&g->e, 8, R1, -8, null);
}

static void static_store_ref(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	const struct ra_loc *v = &at->reads[0];
	uint32_t done = em_label(e), clear = em_label(e);

	if (!ra_loc_is_zero(v)) {
		jump_if_zero(g, v, clear);
		gen_source_check(g, at, vl);
		static_pointer_load(g, vl);
		gen_ref_copy_in(g, at, vl);
		is_null_store(g, vl, 0);
	}
	if (can_be_zero(v)) {
		if (!ra_loc_is_zero(v))
			em_ja(e, done);
		em_here(e, clear);
		static_pointer_load(g, vl);
		em_imm(e, R2, vl->size);
		em_imm(e, R3, 0);
		em_helper(
			e,
			BPF_FUNC_probe_read_kernel); /* a read that fails zeroes its destination */
		is_null_store(g, vl, 1);
	}
	em_here(e, done);
}

static void static_store_value(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	int v = ra_loc_use(g, &at->reads[0], R0);

	if (vl->var->scope == DIF_SCOPE_GLOBAL) {
		em_map_value(&g->e, R1, MAP_REF(MAP_GVARS, 0), vl->off);
		em_store(&g->e, vl->var->type.size, R1, 0, v);
	} else {
		em_store(&g->e, vl->var->type.size, R9, (int32_t)(g->mach->this_off + vl->off), v);
	}
}

void gen_stv(struct gen *g, const struct dif_at *at)
{
	const struct var_layout *vl = gen_var_of(g, at);

	if (!vl)
		return;
	if (vl->is_elem) {
		gen_elem_store(g, at, vl, NULL);
	} else if (vl->var->scope == DIF_SCOPE_THREAD)
		(var_is_byref(vl) ? tls_store_ref : tls_store_value)(g, at, vl);
	else
		(var_is_byref(vl) ? static_store_ref : static_store_value)(g, at, vl);
}
