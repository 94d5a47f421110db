/* SPDX-License-Identifier: MIT */
/* Lowering of lvalues: variables, elements of associative arrays, memory, bit-fields. */
#include "d/lower/lower_impl.h"

/* ---- address spaces -------------------------------------------------------------------------- */

/* Whether an object of the type lies in user memory; a pointer's target does not matter here. */
static bool type_in_user(const struct lower *l, type_id id)
{
	for (;;) {
		const struct type_info *info = type_get(l->t, id);

		switch (info->kind) {
		case TK_USERLAND: return true;
		case TK_TYPEDEF:
		case TK_CONST:
		case TK_VOLATILE:
		case TK_RESTRICT:
		case TK_ARRAY: id = info->ref; continue;
		case TK_VOID:
		case TK_INT:
		case TK_FLOAT:
		case TK_PTR:
		case TK_STRUCT:
		case TK_UNION:
		case TK_ENUM:
		case TK_FUNC:
		case TK_STRING:
		case TK_DYNAMIC:
		case TK_STACK:
		case TK_SYMADDR:
		case TK_USYMADDR:
		case TK_ERROR: return false;
		}
		BUG("type kind %d", (int)info->kind);
	}
}

bool mem_is_user(const struct lower *l, const struct expr *e)
{
	const struct expr *base;

	if (e->kind == EXPR_COND)
		return mem_is_user(l, e->cond.t) || mem_is_user(l, e->cond.f);
	if (e->kind == EXPR_COMMA)
		return mem_is_user(l, e->binary.r);
	if (e->kind == EXPR_UNARY && e->unary.op == OP_DEREF)
		return ptr_is_user(l, e->unary.e);
	if (e->kind != EXPR_MEMBER && e->kind != EXPR_INDEX)
		return false; /* a D variable, or a copy in scratch memory */
	base = e->kind == EXPR_MEMBER ? e->member.base : e->index.base;
	if (e->kind == EXPR_MEMBER && !e->member.arrow)
		return mem_is_user(l, base);
	return ptr_is_user(l, base);
}

bool ptr_is_user(const struct lower *l, const struct expr *e)
{
	/* the address of an array is its own; a pointer in user memory leads to user memory */
	if (mem_is_user(l, e) || type_in_user(l, e->type))
		return true;
	return type_kind(l->t, e->type) == TK_PTR && type_in_user(l, type_deref(l->t, e->type));
}

/* ---- variables ------------------------------------------------------------------------------- */

struct scope_ops {
	enum dif_scope scope;
	enum dif_op load, store, load_elem, store_elem;
};

static const struct scope_ops scope_ops[] = {
	[SCOPE_GLOBAL] = {DIF_SCOPE_GLOBAL, DIF_OP_LDGS, DIF_OP_STGS, DIF_OP_LDGAA, DIF_OP_STGAA},
	[SCOPE_SELF] = {DIF_SCOPE_THREAD, DIF_OP_LDTS, DIF_OP_STTS, DIF_OP_LDTAA, DIF_OP_STTAA},
	/* there are no clause-local associative arrays: D_ARR_LOCAL */
	[SCOPE_THIS] = {DIF_SCOPE_LOCAL, DIF_OP_LDLS, DIF_OP_STLS, DIF_OP_NOP, DIF_OP_NOP},
};

bool lower_type_fits(struct lower *l, type_id type, struct span at)
{
	uint32_t size = type_size(l->t, type);

	if (l->has_failed)
		return false;
	if (!type_is_byref(l->t, type) || type_is_string(l->t, type) ||
	    (size > 0 && size <= DIF_MAX_STATIC))
		return true;
	diag_error(l->c->diags, size ? D_DECL_ARRBIG : D_DECL_INCOMPLETE, at,
		   "a value of type %s has %u bytes: 1 to %u are possible",
		   type_name(l->t, type, l->c->arena), size, DIF_MAX_STATIC);
	l->has_failed = true;
	return false;
}

static void note_var(struct lower *l, const struct ident *id, uint8_t flags)
{
	struct dif_var v = {
		.name = id->name,
		.id = id->id,
		.kind = id->kind == IDENT_VAR ? DIF_VAR_SCALAR : DIF_VAR_ARRAY,
		.scope = (uint8_t)scope_ops[id->scope].scope,
		.flags = flags,
		.type = dif_type_of(l->t, id->type),
	};

	if (lower_type_fits(l, id->type, l->span))
		dif_note_var(l->b, &v);
}

/* args[n], uregs[n] */
static uint32_t load_builtin_array(struct lower *l, struct expr *e)
{
	const struct ident *id = e->var.ident;
	uint32_t index = lower_value(l, e->var.keys[0]), rd;

	note_var(l, id, DIF_VF_REF);
	reg_free(l, index);
	rd = reg_alloc(l);
	emit(l, DIF_OP_LDGA, id->id, index, rd);
	return rd;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* [user memory][signed][log2 of the size] */
static const enum dif_op load_ops[2][2][4] = {
	{{DIF_OP_LDUB, DIF_OP_LDUH, DIF_OP_LDUW, DIF_OP_LDX},
	 {DIF_OP_LDSB, DIF_OP_LDSH, DIF_OP_LDSW, DIF_OP_LDX}},
	{{DIF_OP_ULDUB, DIF_OP_ULDUH, DIF_OP_ULDUW, DIF_OP_ULDX},
	 {DIF_OP_ULDSB, DIF_OP_ULDSH, DIF_OP_ULDSW, DIF_OP_ULDX}},
};

static const enum dif_op store_ops[4] = {DIF_OP_STB, DIF_OP_STH, DIF_OP_STW, DIF_OP_STX};

/* A register holds only the first 8 bytes of a 16-byte integer or float. */
static uint32_t size_log2(uint32_t size)
{
	return size >= 8 ? 3 : size >= 4 ? 2 : size >= 2 ? 1 : 0;
}

static uint32_t emit_load(struct lower *l, uint32_t addr, uint32_t size, bool is_signed,
			  bool is_user)
{
	uint32_t rd = reg_alloc(l);

	emit(l, load_ops[is_user][is_signed][size_log2(size)], addr, 0, rd);
	return rd;
}

/* addr + off in a new register; does not take addr. */
static uint32_t emit_offset(struct lower *l, uint32_t addr, uint32_t off)
{
	uint32_t r = emit_writable(l, emit_const(l, off));

	emit(l, DIF_OP_ADD, addr, r, r);
	return r;
}

/*
 * Chooses the bytes to load for a bit-field: the smallest aligned group of 1, 2, 4 or 8 bytes that
 * holds all its bits. A field of a packed struct may cross every such group; then 8 bytes are
 * loaded, and the bytes behind them. Returns the byte offset of the group.
 */
static uint32_t bit_window(uint32_t bit_off, uint32_t bit_size, struct lvalue *v)
{
	uint32_t bits, start = 0;

	for (bits = 8; bits <= 64; bits *= 2) {
		start = bit_off / bits * bits;
		if (bit_off + bit_size <= start + bits)
			break;
	}
	v->win_size = MIN(bits, 64u) / 8;
	v->bit_pos = bit_off - start;
	v->bit_size = bit_size;
	return start / 8;
}

/* The number of bits of a bit-field that lie behind its win_size bytes. */
static uint32_t bits_behind(const struct lvalue *v)
{
	uint32_t end = v->bit_pos + v->bit_size;

	return end > v->win_size * 8 ? end - v->win_size * 8 : 0;
}

static uint32_t behind_size(uint32_t bits)
{
	return bits > 32 ? 8 : bits > 16 ? 4 : bits > 8 ? 2 : 1;
}

static uint32_t load_bits(struct lower *l, const struct lvalue *v)
{
	uint32_t behind = bits_behind(v), r = emit_load(l, v->addr, v->win_size, false, v->is_user);

	if (v->bit_pos)
		r = emit_op_imm(l, DIF_OP_SRL, r, v->bit_pos);
	if (behind) {
		uint32_t next = emit_offset(l, v->addr, v->win_size);
		uint32_t high = emit_load(l, next, behind_size(behind), false, v->is_user);

		reg_free(l, next);
		high = emit_op_imm(l, DIF_OP_SLL, high, v->bit_size - behind);
		r = emit_op(l, DIF_OP_OR, r, high);
	}
	return emit_cut(l, r, v->bit_size, type_is_signed(l->t, v->type));
}

/*
 * Stores r >> shift to `bits` bits from bit pos on of the `size` bytes at addr; takes no register.
 */
static void store_some_bits(struct lower *l, uint32_t addr, uint32_t size, uint32_t pos,
			    uint32_t bits, uint32_t r, uint32_t shift)
{
	uint64_t mask = bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
	uint32_t val = emit_const(l, shift ? shift : mask), old;

	emit(l, shift ? DIF_OP_SRL : DIF_OP_AND, r, val, val);
	if (shift)
		val = emit_op_imm(l, DIF_OP_AND, val, mask);
	if (pos)
		val = emit_op_imm(l, DIF_OP_SLL, val, pos);
	old = emit_load(l, addr, size, false, false);
	old = emit_op_imm(l, DIF_OP_AND, old, ~(mask << pos));
	old = emit_op(l, DIF_OP_OR, old, val);
	emit(l, store_ops[size_log2(size)], old, 0, addr);
	reg_free(l, old);
}

static void store_bits(struct lower *l, const struct lvalue *v, uint32_t r)
{
	uint32_t behind = bits_behind(v), here = v->bit_size - behind;

	store_some_bits(l, v->addr, v->win_size, v->bit_pos, here, r, 0);
	if (behind) {
		uint32_t next = emit_offset(l, v->addr, v->win_size);

		store_some_bits(l, next, behind_size(behind), 0, behind, r, here);
		reg_free(l, next);
	}
}

/*
 * A string in memory is its characters and cannot be NULL, so NULL is stored as "". Of other
 * strings only the characters and the NUL are copied: memory behind the NUL may not be readable.
 */
static void store_string(struct lower *l, uint32_t addr, uint32_t r)
{
	uint32_t on_null = dif_label_create(l->b), end = dif_label_create(l->b), size;

	if (r) { /* %r0 is the constant NULL */
		emit(l, DIF_OP_TST, r, 0, 0);
		dif_emit_branch(l->b, DIF_OP_BE, on_null);
		size = emit_strsize(l, r);
		emit(l, DIF_OP_COPYS, r, size, addr);
		reg_free(l, size);
		dif_emit_branch(l->b, DIF_OP_BA, end);
	}
	dif_label_here(l->b, on_null);
	emit(l, DIF_OP_STB, 0, 0, addr);
	dif_label_here(l->b, end);
}

static void store_memory(struct lower *l, const struct lvalue *v, uint32_t r)
{
	uint32_t size;

	if (v->bit_size) {
		store_bits(l, v, r);
		return;
	}
	if (!type_is_byref(l->t, v->type)) {
		emit(l, store_ops[size_log2(type_size(l->t, v->type))], r, 0, v->addr);
		return;
	}
	if (type_is_string(l->t, v->type)) {
		store_string(l, v->addr, r);
		return;
	}
	size = emit_const(l, type_size(l->t, v->type));
	emit(l, DIF_OP_COPYS, r, size, v->addr);
	reg_free(l, size);
}

/* ---- lvalues --------------------------------------------------------------------------------- */

static struct lvalue lvalue_of_var(struct lower *l, struct expr *e)
{
	struct lvalue v = {.kind = LVALUE_VAR, .type = e->type, .ident = e->var.ident};

	if (v.ident->kind == IDENT_ARRAY) {
		v.kind = LVALUE_ELEM;
		v.keys = e->var.keys;
		v.nkeys = e->var.nkeys;
		v.key_regs = lower_keys(l, v.keys, v.nkeys);
	}
	return v;
}

static struct lvalue lvalue_of_member(struct lower *l, struct expr *e)
{
	struct expr *base = e->member.base;
	type_id sou = e->member.arrow ? type_deref(l->t, base->type) : base->type;
	struct lvalue v = {.kind = LVALUE_MEM, .type = e->type, .is_user = mem_is_user(l, e)};
	uint32_t bit_off = 0, off;
	/*
	 * the offset in e->member.member counts from the anonymous member it may be in, not from
	 * sou
	 */
	const struct type_member *m = type_find_member(l->t, sou, e->member.name, &bit_off);

	if (!m)
		BUG("member '%s' was not checked", e->member.name);
	off = m->bit_size ? bit_window(bit_off, m->bit_size, &v) : bit_off / 8;
	v.addr = lower_value(l, base);
	if (off)
		v.addr = emit_op_imm(l, DIF_OP_ADD, v.addr, off);
	return v;
}

static struct lvalue lvalue_of_index(struct lower *l, struct expr *e)
{
	struct lvalue v = {.kind = LVALUE_MEM, .type = e->type, .is_user = mem_is_user(l, e)};
	uint32_t size = type_size(l->t, type_deref(l->t, e->index.base->type)), index;

	lower_pair(l, lower_value, e->index.base, e->index.subs[0], &v.addr, &index);
	v.addr = emit_op(l, DIF_OP_ADD, v.addr, emit_scale(l, index, size));
	return v;
}

struct lvalue lvalue_of(struct lower *l, struct expr *e)
{
	if (e->kind == EXPR_VAR)
		return lvalue_of_var(l, e);
	if (e->kind == EXPR_MEMBER)
		return lvalue_of_member(l, e);
	if (e->kind == EXPR_INDEX)
		return lvalue_of_index(l, e);
	if (e->kind == EXPR_UNARY && e->unary.op == OP_DEREF)
		return (struct lvalue){.kind = LVALUE_MEM,
				       .type = e->type,
				       .is_user = mem_is_user(l, e),
				       .addr = lower_value(l, e->unary.e)};
	BUG("expression kind %d is not an lvalue", (int)e->kind);
}

uint32_t lvalue_load(struct lower *l, const struct lvalue *v)
{
	uint32_t rd;

	switch (v->kind) {
	case LVALUE_VAR:
		note_var(l, v->ident, DIF_VF_REF);
		rd = reg_alloc(l);
		dif_emit(l->b, dif_idx(scope_ops[v->ident->scope].load, v->ident->id, rd));
		return rd;
	case LVALUE_ELEM:
		note_var(l, v->ident, DIF_VF_REF);
		push_keys(l, v->keys, v->key_regs, v->nkeys);
		rd = reg_alloc(l);
		dif_emit(l->b, dif_idx(scope_ops[v->ident->scope].load_elem, v->ident->id, rd));
		return rd;
	case LVALUE_MEM:
		if (v->bit_size)
			return load_bits(l, v);
		if (!type_is_byref(l->t, v->type))
			return emit_load(l, v->addr, type_size(l->t, v->type),
					 type_is_signed(l->t, v->type), v->is_user);
		rd = reg_alloc(l);
		emit(l, DIF_OP_MOV, v->addr, 0, rd);
		return rd;
	}
	BUG("lvalue kind %d", (int)v->kind);
}

void lvalue_store(struct lower *l, const struct lvalue *v, uint32_t r)
{
	switch (v->kind) {
	case LVALUE_VAR:
		note_var(l, v->ident, DIF_VF_MOD);
		dif_emit(l->b, dif_idx(scope_ops[v->ident->scope].store, v->ident->id, r));
		return;
	case LVALUE_ELEM:
		note_var(l, v->ident, DIF_VF_MOD);
		push_keys(l, v->keys, v->key_regs, v->nkeys);
		dif_emit(l->b, dif_idx(scope_ops[v->ident->scope].store_elem, v->ident->id, r));
		return;
	case LVALUE_MEM:
		store_memory(l, v, r);
		if (v->copy)
			lvalue_store(l, &v->copy->var, v->copy->addr);
		return;
	}
	BUG("lvalue kind %d", (int)v->kind);
}

void lvalue_release(struct lower *l, struct lvalue *v)
{
	if (v->kind == LVALUE_ELEM)
		free_keys(l, v->key_regs, v->nkeys);
	else if (v->kind == LVALUE_MEM)
		reg_free(l, v->addr);
	if (v->copy) {
		reg_free(l, v->copy->addr);
		lvalue_release(l, &v->copy->var);
	}
}

/*
 * ---- parts of dynamic variables --------------------------------------------------------------
 *
 * self->s.x = 1, a[k].b[2]++: a DIF store can change scratch memory, globals and this-> variables,
 * but not the storage of a dynamic variable (thread-local, or an element of an associative array),
 * because only storing the variable itself makes and frees that storage. So the struct or array is
 * copied to scratch memory (zeros, when the variable is unset), the part is changed in the copy,
 * and the copy is stored to the variable.
 */

/* The dynamic variable of which e is a part; NULL when a value can be stored to e directly. */
static struct expr *dynamic_root(const struct lower *l, struct expr *e)
{
	const struct expr *part = e;

	while (e->kind == EXPR_MEMBER || e->kind == EXPR_INDEX) {
		if (e->kind == EXPR_MEMBER ? e->member.arrow
					   : type_kind(l->t, e->index.base->type) != TK_ARRAY)
			return NULL;
		e = e->kind == EXPR_MEMBER ? e->member.base : e->index.base;
	}
	if (e == part || e->kind != EXPR_VAR || type_is_string(l->t, e->type))
		return NULL;
	if (e->var.ident->kind == IDENT_ARRAY ||
	    (e->var.ident->kind == IDENT_VAR && e->var.ident->scope == SCOPE_SELF))
		return e;
	return NULL;
}

/* Zeros size bytes at addr: stores 8 zero bytes, then doubles their number by copying them. */
static void emit_zeros(struct lower *l, uint32_t addr, uint32_t size)
{
	emit(l, DIF_OP_STX, 0, 0, addr);
	for (uint32_t done = 8; done < size; done *= 2) {
		uint32_t n = emit_const(l, MIN(done, size - done));
		uint32_t to = emit_offset(l, addr, done);

		emit(l, DIF_OP_COPYS, addr, n, to);
		reg_free(l, n);
		reg_free(l, to);
	}
}

/* The address of a copy of the variable's value in scratch memory. */
static uint32_t emit_copy_of(struct lower *l, const struct lvalue *var)
{
	uint32_t size = (type_size(l->t, var->type) + 7) / 8 * 8;
	uint32_t is_unset = dif_label_create(l->b), end = dif_label_create(l->b);
	uint32_t r = emit_const(l, size), copy = reg_alloc(l);

	emit(l, DIF_OP_ALLOCS, r, 0, copy);
	reg_free(l, r);
	r = lvalue_load(l, var);
	emit(l, DIF_OP_TST, r, 0, 0);
	dif_emit_branch(l->b, DIF_OP_BE, is_unset);
	{
		uint32_t n = emit_const(l, type_size(l->t, var->type));

		emit(l, DIF_OP_COPYS, r, n, copy);
		reg_free(l, n);
	}
	dif_emit_branch(l->b, DIF_OP_BA, end);
	dif_label_here(l->b, is_unset);
	emit_zeros(l, copy, size);
	dif_label_here(l->b, end);
	reg_free(l, r);
	return copy;
}

struct lvalue lvalue_of_target(struct lower *l, struct expr *e)
{
	struct expr *root = dynamic_root(l, e), *outer_root = l->root;
	uint32_t outer_copy = l->root_copy;
	struct var_copy *copy;
	struct lvalue v;

	if (!root)
		return lvalue_of(l, e);
	copy = ARENA_NEW(l->c->arena, struct var_copy);
	copy->var = lvalue_of(l, root);
	copy->addr = emit_copy_of(l, &copy->var);
	l->root = root;
	l->root_copy = copy->addr;
	v = lvalue_of(l, e);
	l->root = outer_root;
	l->root_copy = outer_copy;
	v.copy = copy;
	return v;
}

uint32_t lower_lvalue(struct lower *l, struct expr *e)
{
	struct lvalue v;
	uint32_t r;

	if (e->kind == EXPR_VAR && e->var.ident->kind == IDENT_BUILTIN_ARRAY)
		return load_builtin_array(l, e);
	if (e == l->root) {
		r = reg_alloc(l);
		emit(l, DIF_OP_MOV, l->root_copy, 0, r);
		return r;
	}
	v = lvalue_of(l, e);
	if (v.kind == LVALUE_MEM && type_is_byref(l->t, v.type))
		return v.addr;
	/*
	 * The register of the address is released first, so that the value can take it: a load
	 * reads the address before it writes the value. A bit-field needs several loads.
	 */
	if (v.kind == LVALUE_MEM && !v.bit_size) {
		lvalue_release(l, &v);
		return lvalue_load(l, &v);
	}
	r = lvalue_load(l, &v);
	lvalue_release(l, &v);
	return r;
}

uint32_t lower_address(struct lower *l, struct expr *e)
{
	struct lvalue v;

	if (type_is_byref(l->t, e->type))
		return lower_value(l, e);
	v = lvalue_of(l, e);
	if (v.kind != LVALUE_MEM || v.bit_size)
		BUG("the address of a variable or bit-field passed the checks");
	return v.addr;
}
