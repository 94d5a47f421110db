/*
 * Elements of associative arrays, and thread-local scalars that found no room in the thread's block
 * (layout.h): each is an element of a hash map, with the key built in the machine state.
 */
#include "bpf/gen.h"
#include "dif/asm.h"

/* ---- keys ----------------------------------------------------------------------------------- */

/* r0 = identity of the thread: its id; for an idle thread a number for each CPU */
static void thread_id_load(struct gen *g)
{
	struct emitter *e = &g->e;
	uint32_t done = em_label(e);

	em_helper(e, BPF_FUNC_get_current_pid_tgid);
	em_mov32(e, R0, R0);
	em_jmp_imm(e, BPF_JNE, R0, 0, done);
	gen_mach_load(g, 4, R0, offsetof(struct rt_mach, cpu));
	em_alu_imm(e, BPF_ADD, R0, 1);
	em_alu_imm(e, BPF_LSH, R0, 32);
	em_here(e, done);
}

static void key_part(struct gen *g, const struct dif_at *at, const struct key_field *f,
		     const struct ra_loc *v)
{
	struct emitter *e = &g->e;
	uint32_t off = g->l->arr_key_off + f->off;

	if (f->repr == KEY_BYTES) {
		at_check_readable(g, at, v, f->size);
		em_addr(e, R1, R9, off);
		em_imm(e, R2, f->size);
		ra_loc_load(g, R3, v);
		em_helper(e, BPF_FUNC_probe_read_kernel);
		em_jmp_imm(e, BPF_JNE, R0, 0, at_fault(g, at, DIF_FAULT_BADADDR, *v));
	} else if (f->repr == KEY_STRHASH) {
		at_check_readable(g, at, v, 1);
		ra_loc_load(g, R2, v);
		gen_rt(g, "rt_strhash");
		at_check_rt(g, at);
		gen_mach_store(g, 8, off, R0);
	} else {
		gen_mach_store(g, f->size, off, ra_loc_use(g, v, R0));
	}
}

/* Builds the key of which v[] are the tuple entries. */
static void key_build(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
		      const struct ra_loc *v)
{
	uint32_t key_off = g->l->arr_key_off, pos = 0;

	if (vl->owner) {
		em_store_imm(&g->e, 8, R9, (int32_t)key_off, (int32_t)vl->owner);
		pos = 8;
	}
	if (vl->var->scope == DIF_SCOPE_THREAD) {
		thread_id_load(g);
		gen_mach_store(g, 8, key_off + pos, R0);
		pos += 8;
	}
	for (uint32_t k = 0; k < vl->var->nkeys; k++) {
		const struct key_field *f = &vl->keys[k];

		gen_key_pad(g, key_off + pos, key_off + f->off);
		key_part(g, at, f, &v[k]);
		pos = f->off + f->size;
	}
	gen_key_pad(g, key_off + pos, key_off + g->l->arr_maps[vl->map].key_size);
}

/* ---- elements ------------------------------------------------------------------------------- */

/* Loads the value of the element whose key has been built. */
static void elem_load(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	const struct ra_loc *d = &at->writes[0];
	uint32_t unset = em_label(e);
	int dst = ra_loc_dst(d, R1);

	gen_lookup(g, MAP_REF(MAP_ARR, vl->map));
	em_imm(e, dst, 0);
	em_jmp_imm(e, BPF_JEQ, R0, 0, unset);
	if (var_is_byref(vl))
		gen_pointer_to_number(g, dst, R0);
	else
		gen_value_load(g, vl, dst, R0, 0);
	em_here(e, unset);
	ra_loc_put(g, d, dst);
}

/* r0 = the element, after inserting a zeroed one; jumps to done when there is no room */
static void elem_insert_zeroed(struct gen *g, const struct var_layout *vl, uint32_t done)
{
	struct emitter *e = &g->e;
	uint32_t have = em_label(e);

	gen_map_and_key(g, MAP_REF(MAP_ARR, vl->map));
	em_addr(e, R3, R9, g->l->zero_off);
	em_imm(e, R4, BPF_NOEXIST);
	em_helper(e, BPF_FUNC_map_update_elem);
	gen_lookup(g, MAP_REF(MAP_ARR, vl->map));
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	gen_count(g, offsetof(struct rt_cpu, dyn_drops));
	em_ja(e, done);
	em_here(e, have);
}

static void elem_remove(struct gen *g, const struct var_layout *vl)
{
	gen_map_and_key(g, MAP_REF(MAP_ARR, vl->map));
	em_helper(&g->e, BPF_FUNC_map_delete_elem);
}

/*
 * Inserts an element with the number v, and jumps to done; goes on when there is an element, which
 * another CPU may have inserted meanwhile, or when there is no room.
 */
static void elem_insert_number(struct gen *g, const struct var_layout *vl, const struct ra_loc *v,
			       uint32_t done)
{
	struct emitter *e = &g->e;

	ra_loc_load(g, R0, v);
	em_extend(e, R0, vl->var->type.size, false);
	em_store(e, 8, R10, FRAME_TMP, R0);
	gen_map_and_key(g, MAP_REF(MAP_ARR, vl->map));
	em_addr(e, R3, R10, (uint32_t)FRAME_TMP);
	em_imm(e, R4, BPF_NOEXIST);
	em_helper(e, BPF_FUNC_map_update_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
}

/* Stores reads[0] to the element whose key has been built; zero removes the element. */
static void elem_store(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	const struct ra_loc *v = &at->reads[0];
	uint32_t done = em_label(e), remove = em_label(e), have = em_label(e);
	uint32_t size = var_is_byref(vl) ? 8 : vl->var->type.size;
	bool inserts_number = !var_is_byref(vl) && g->l->arr_maps[vl->map].val_size == 8;

	if (ra_loc_is_zero(v)) {
		elem_remove(g, vl);
		return;
	}
	if (!ra_loc_is_nonzero(v, size)) {
		ra_loc_load(g, R0, v);
		em_extend(e, R0, size, false);
		em_jmp_imm(e, BPF_JEQ, R0, 0, remove);
	}
	if (var_is_byref(vl))
		gen_source_check(g, at, vl);
	if (inserts_number && vl->is_removed)
		elem_insert_number(g, vl, v, done);
	gen_lookup(g, MAP_REF(MAP_ARR, vl->map));
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	if (inserts_number && !vl->is_removed)
		elem_insert_number(g, vl, v, done);
	elem_insert_zeroed(g, vl, done);
	em_here(e, have);
	if (var_is_byref(vl)) {
		em_mov(e, R1, R0);
		gen_ref_copy_in(g, at, vl);
	} else {
		em_store(e, size, R0, 0, ra_loc_use(g, v, R1));
	}
	if (!ra_loc_is_nonzero(v, size)) {
		em_ja(e, done);
		em_here(e, remove);
		elem_remove(g, vl);
	}
	em_here(e, done);
}

void gen_elem_load(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
		   const struct ra_loc *tuple)
{
	key_build(g, at, vl, tuple);
	elem_load(g, at, vl);
}

void gen_elem_store(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
		    const struct ra_loc *tuple)
{
	key_build(g, at, vl, tuple);
	elem_store(g, at, vl);
}

/* ---- associative arrays --------------------------------------------------------------------- */

/* The array whose key the tuple is; NULL when the tuple does not fit the array. */
static const struct var_layout *array_of(struct gen *g, const struct dif_at *at)
{
	const struct var_layout *vl = gen_var_of(g, at);

	if (vl && at->depth != vl->var->nkeys) {
		gen_fail(g, "'%s' has %u keys, not %u", vl->var->name, vl->var->nkeys, at->depth);
		return NULL;
	}
	return vl;
}

void gen_ldaa(struct gen *g, const struct dif_at *at)
{
	const struct var_layout *vl = array_of(g, at);

	if (vl) {
		gen_elem_load(g, at, vl, at->reads);
	}
}

void gen_staa(struct gen *g, const struct dif_at *at)
{
	const struct var_layout *vl = array_of(g, at);

	if (vl) {
		gen_elem_store(g, at, vl, at->reads + 1);
	}
}
