/* SPDX-License-Identifier: MIT */
/*
 * Elements of associative arrays, and thread-local scalars that found no room in the thread's block
 * (layout.h): each is an element of a hash map, with the key built in the machine state.
 *
 * Slots. Scripts that measure a time store it under a key, read it at the end and remove it. The
 * kernel's hash map takes 150 ns to insert an element and 100 to remove it. Therefore arrays of
 * numbers of which elements are removed have a table of slots as well (struct rt_slot), in which
 * nearly all of their elements are. A key has one slot. An element whose slot is taken is in the
 * hash map, and counted in the slot's `others`: while that is 0, the hash map is not asked.
 *
 *     tag 0        empty; value and key are 0
 *     tag of key   the element of that key; value 0: it is not stored yet, and reads as unset
 *     SLOT_BUSY    an element is being removed
 *
 *     empty --compare and exchange--> tag --compare and exchange--> SLOT_BUSY --exchange--> empty
 *
 * Several CPUs, and the probes of an interrupt, may use a slot at once. When two of them store
 * to one key while a third one empties its slot, the element can be in both tables: reading
 * prefers the slot, and removing removes both. A program that stores to an element and removes
 * it at the same time on two CPUs finds either result. As in the kernel's map, a value that is
 * stored in the instant in which the element is removed, and its room given to another key,
 * may become the value of that key.
 *
 * The tag is a reversible function of the first eight bytes of the key, and of the other eight,
 * which stand in the slot, too: different keys never pass for each other. One key of 2^64 has the
 * tag 0, and one SLOT_BUSY; what is stored for these two may be lost.
 */
#include "bpf/gen.h"
#include "dif/asm.h"

#define SLOT_BUSY   1
#define SLOT_FACTOR 0x9e3779b97f4a7c15ull /* 2^64 / golden ratio: its multiples are far apart */
#define SLOT(field) ((int16_t)offsetof(struct rt_slot, field))
/*
 * EEXIST of BPF_NOEXIST. The helper returned an int until Linux d7ba4cc900bf ("bpf: return long
 * from bpf_map_ops funcs"), v6.4, so only 32 bits of it are compared.
 */
#define ELEM_EXISTS (-17)

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
	uint32_t off = g->mach->arr_key_off + f->off;

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
	uint32_t key_off = g->mach->arr_key_off, pos = 0;

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

/* ---- elements of the hash map --------------------------------------------------------------- */

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

/* ---- slots ---------------------------------------------------------------------------------- */

/* The bytes of a slotted array's key, without the owner's number with which it may begin. */
static uint32_t slot_key_size(const struct var_layout *vl)
{
	return vl->key_size - (vl->owner ? 8 : 0);
}

static bool slot_has_key(const struct var_layout *vl)
{
	return slot_key_size(vl) > 8;
}

/*
 * r1 = the slot of the key that has been built, r2 = its tag, r3 = what `key` is; destroys r0, r4
 */
static void slot_find(struct gen *g, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	uint32_t key = g->mach->arr_key_off + (vl->owner ? 8 : 0), size = slot_key_size(vl);

	em_imm(e, R4, SLOT_FACTOR);
	gen_mach_load(g, MIN(size, 8u), R2, key);
	if (slot_has_key(vl)) {
		gen_mach_load(g, size - 8, R3, key + 8);
		em_mov(e, R0, R3);
		em_alu_reg(e, BPF_MUL, R0, R4);
		em_alu_reg(e, BPF_XOR, R2, R0);
		em_alu_imm(e, BPF_ADD, R3, 1); /* 0 is that of an empty slot */
	}
	em_alu_reg(e, BPF_XOR, R2, R4);
	em_alu_reg(e, BPF_MUL, R2, R4);
	em_mov(e, R0, R2);
	em_alu_imm(e, BPF_RSH, R0, 64 - RT_SLOT_BITS);
	em_alu_imm(e, BPF_MUL, R0, sizeof(struct rt_slot));
	em_map_value(e, R1, MAP_REF(MAP_GVARS, 0), mach_slots_off(g->mach, g->l, vl));
	em_alu_reg(e, BPF_ADD, R1, R0);
}

/* Jumps to label if the slot does not have the key. r0 = the slot's tag */
static void slot_compare(struct gen *g, const struct var_layout *vl, uint32_t label)
{
	struct emitter *e = &g->e;

	em_load(e, 8, R0, R1, SLOT(tag));
	em_jmp_reg(e, BPF_JNE, R0, R2, label);
	if (slot_has_key(vl)) {
		em_load(e, 8, R4, R1, SLOT(key));
		em_jmp_reg(e, BPF_JNE, R4, R3, label);
	}
}

static void slot_others_add(struct gen *g, int32_t n)
{
	em_imm(&g->e, R4, (uint64_t)(int64_t)n);
	em_atomic(&g->e, BPF_ADD, R1, SLOT(others), R4);
}

/* dst = the number; not r0, nor needed before */
static void slotted_load(struct gen *g, const struct var_layout *vl, int dst)
{
	struct emitter *e = &g->e;
	uint32_t other = em_label(e), done = em_label(e);

	slot_find(g, vl);
	slot_compare(g, vl, other);
	gen_value_load(g, vl, dst, R1, SLOT(value));
	em_ja(e, done);
	em_here(e, other);
	em_load(e, 8, R0, R1, SLOT(others));
	em_imm(e, dst, 0);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	gen_map_and_key(g, MAP_REF(MAP_ARR, vl->map));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_imm(e, dst, 0);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	gen_value_load(g, vl, dst, R0, 0);
	em_here(e, done);
}

/* Stores to the hash map what finds no room in its slot, to which r1 points. */
static void other_store(struct gen *g, const struct var_layout *vl, const struct ra_loc *v,
			uint32_t done)
{
	struct emitter *e = &g->e;
	uint32_t exists = em_label(e);

	slot_others_add(g, 1); /* before the element is there, so that who looks for it finds it */
	elem_insert_number(g, vl, v, done);
	em_store(e, 8, R10, FRAME_TMP, R0);
	slot_find(g, vl);
	slot_others_add(g, -1);
	em_load(e, 8, R0, R10, FRAME_TMP);
	em_jmp32_imm(e, BPF_JEQ, R0, ELEM_EXISTS, exists);
	gen_count(g, offsetof(struct rt_cpu, dyn_drops));
	em_ja(e, done);
	em_here(e, exists);
	gen_map_and_key(g, MAP_REF(MAP_ARR, vl->map));
	em_helper(e, BPF_FUNC_map_lookup_elem);
	em_jmp_imm(e, BPF_JEQ, R0, 0, done); /* another CPU has removed it */
	em_store(e, vl->var->type.size, R0, 0, ra_loc_use(g, v, R1));
}

/* Stores a number that is not 0. */
static void slotted_store(struct gen *g, const struct var_layout *vl, const struct ra_loc *v)
{
	struct emitter *e = &g->e;
	uint32_t differs = em_label(e), write = em_label(e), other = em_label(e),
		 done = em_label(e);

	slot_find(g, vl);
	slot_compare(g, vl, differs);
	em_here(e, write);
	em_store(e, vl->var->type.size, R1, SLOT(value), ra_loc_use(g, v, R4));
	em_ja(e, done);
	em_here(e, differs);
	em_jmp_imm(e, BPF_JNE, R0, 0, other);
	em_load(e, 8, R4, R1, SLOT(others));
	em_jmp_imm(e, BPF_JNE, R4, 0, other);
	em_atomic(e, BPF_CMPXCHG, R1, SLOT(tag), R2);
	if (slot_has_key(vl)) {
		em_jmp_imm(e, BPF_JNE, R0, 0, other);
		em_store(e, 8, R1, SLOT(key), R3);
		em_ja(e, write);
	} else {
		em_jmp_imm(e, BPF_JEQ, R0, 0, write);
		em_jmp_reg(e, BPF_JEQ, R0, R2, write);
	}
	em_here(e, other);
	other_store(g, vl, v, done);
	em_here(e, done);
}

static void slotted_remove(struct gen *g, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	uint32_t other = em_label(e), done = em_label(e);

	slot_find(g, vl);
	slot_compare(g, vl, other);
	em_imm(e, R4, SLOT_BUSY);
	em_atomic(e, BPF_CMPXCHG, R1, SLOT(tag), R4);
	em_jmp_reg(e, BPF_JNE, R0, R2, other);
	em_store_imm(e, 8, R1, SLOT(value), 0);
	em_store_imm(e, 8, R1, SLOT(key), 0);
	em_imm(e, R4, 0);
	em_atomic(e, BPF_XCHG, R1, SLOT(tag), R4); /* other CPUs see both stores before this one */
	em_here(e, other);
	em_load(e, 8, R0, R1, SLOT(others));
	em_jmp_imm(e, BPF_JEQ, R0, 0, done);
	elem_remove(g, vl);
	em_jmp_imm(e, BPF_JNE, R0, 0, done);
	slot_find(g, vl);
	slot_others_add(g, -1);
	em_here(e, done);
}

/* ---- slots, by functions when a unit has many of these pieces of code ------------------------ */

/* In these functions, r1 is the machine state and r2 the number to be stored. */
static const struct var_layout *slot_func_begin(struct gen *g, uint32_t var)
{
	em_mov(&g->e, R9, R1);
	return &g->l->vars[var];
}

static void emit_slotted_load(struct gen *g, uint32_t var)
{
	const struct var_layout *vl = slot_func_begin(g, var);

	slotted_load(g, vl, R5);
	em_mov(&g->e, R0, R5);
	em_exit(&g->e);
}

static void emit_slotted_store(struct gen *g, uint32_t var)
{
	const struct var_layout *vl = slot_func_begin(g, var);
	struct ra_loc v = {.kind = RA_REG, .n = R6};

	em_mov(&g->e, R6, R2);
	slotted_store(g, vl, &v);
	em_imm(&g->e, R0, 0);
	em_exit(&g->e);
}

static void emit_slotted_remove(struct gen *g, uint32_t var)
{
	slotted_remove(g, slot_func_begin(g, var));
	em_imm(&g->e, R0, 0);
	em_exit(&g->e);
}

static void slot_call(struct gen *g, const char *name, void (*emit)(struct gen *g, uint32_t var),
		      const struct var_layout *vl)
{
	em_mov(&g->e, R1, R9);
	em_call_func(&g->e, gen_func(g, name, emit, (uint32_t)(vl - g->l->vars)));
}

/* The same three with code in place, or with a call. */
static void slot_load(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	const struct ra_loc *d = &at->writes[0];
	int dst = ra_loc_dst(d, R1);

	if (lookup_is_inplace(g, MAP_REF(MAP_ARR, vl->map))) {
		slotted_load(g, vl, dst);
	} else {
		slot_call(g, "array load", emit_slotted_load, vl);
		em_mov(&g->e, dst, R0);
	}
	ra_loc_put(g, d, dst);
}

static void slot_store_nonzero(struct gen *g, const struct var_layout *vl, const struct ra_loc *v)
{
	if (lookup_is_inplace(g, MAP_REF(MAP_ARR, vl->map))) {
		slotted_store(g, vl, v);
		return;
	}
	ra_loc_load(g, R2, v);
	slot_call(g, "array store", emit_slotted_store, vl);
}

static void slot_remove(struct gen *g, const struct var_layout *vl)
{
	if (lookup_is_inplace(g, MAP_REF(MAP_ARR, vl->map)))
		slotted_remove(g, vl);
	else
		slot_call(g, "array remove", emit_slotted_remove, vl);
}

static void slot_store(struct gen *g, const struct dif_at *at, const struct var_layout *vl)
{
	struct emitter *e = &g->e;
	const struct ra_loc *v = &at->reads[0];
	uint32_t size = vl->var->type.size, remove = em_label(e), done = em_label(e);

	if (ra_loc_is_zero(v)) {
		slot_remove(g, vl);
		return;
	}
	if (!ra_loc_is_nonzero(v, size)) {
		ra_loc_load(g, R0, v);
		em_extend(e, R0, size, false);
		em_jmp_imm(e, BPF_JEQ, R0, 0, remove);
	}
	slot_store_nonzero(g, vl, v);
	if (!ra_loc_is_nonzero(v, size)) {
		em_ja(e, done);
		em_here(e, remove);
		slot_remove(g, vl);
	}
	em_here(e, done);
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
	if (var_is_byref(vl))
		gen_elem_own(g, at, vl, dst);
	em_here(e, unset);
	ra_loc_put(g, d, dst);
}

/* r0 = the element, after inserting a zeroed one; jumps to done when there is no room */
static void elem_insert_zeroed(struct gen *g, const struct var_layout *vl, uint32_t done)
{
	struct emitter *e = &g->e;
	uint32_t have = em_label(e);

	gen_map_and_key(g, MAP_REF(MAP_ARR, vl->map));
	em_addr(e, R3, R9, g->mach->zero_off);
	em_imm(e, R4, BPF_NOEXIST);
	em_helper(e, BPF_FUNC_map_update_elem);
	gen_lookup(g, MAP_REF(MAP_ARR, vl->map));
	em_jmp_imm(e, BPF_JNE, R0, 0, have);
	gen_count(g, offsetof(struct rt_cpu, dyn_drops));
	em_ja(e, done);
	em_here(e, have);
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
	if (mach_slots_off(g->mach, g->l, vl))
		slot_load(g, at, vl);
	else
		elem_load(g, at, vl);
}

void gen_elem_store(struct gen *g, const struct dif_at *at, const struct var_layout *vl,
		    const struct ra_loc *tuple)
{
	key_build(g, at, vl, tuple);
	if (mach_slots_off(g->mach, g->l, vl))
		slot_store(g, at, vl);
	else
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
