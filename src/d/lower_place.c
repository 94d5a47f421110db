/* Lowering of places: variables, elements of associative arrays, memory, bit-fields. */
#include "d/lower_impl.h"

/* ---- address spaces -------------------------------------------------------------------------- */

/* A qualifier on the object itself; what a pointer leads to is another question. */
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
		case TK_FWD:
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
	/* an array is where it lies; a pointer loaded from user memory leads there */
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

/* Of a 16-byte integer or float only the first 8 bytes can be in a register. */
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

/* addr + off in a register of its own */
static uint32_t emit_offset(struct lower *l, uint32_t addr, uint32_t off)
{
	uint32_t r = emit_writable(l, emit_const(l, off));

	emit(l, DIF_OP_ADD, addr, r, r);
	return r;
}

/*
 * The bytes to load for a bit-field: the smallest aligned 1, 2, 4 or 8 that hold all its bits. A
 * field of a packed struct may cross every such window; then 8 bytes, and the rest behind them.
 */
static uint32_t bit_window(uint32_t bit_off, uint32_t bit_size, struct place *p)
{
	uint32_t bits, start = 0;

	for (bits = 8; bits <= 64; bits *= 2) {
		start = bit_off / bits * bits;
		if (bit_off + bit_size <= start + bits)
			break;
	}
	p->win_size = MIN(bits, 64u) / 8;
	p->bit_pos = bit_off - start;
	p->bit_size = bit_size;
	return start / 8;
}

/* Bits that lie behind the window. */
static uint32_t bits_behind(const struct place *p)
{
	uint32_t end = p->bit_pos + p->bit_size;

	return end > p->win_size * 8 ? end - p->win_size * 8 : 0;
}

static uint32_t behind_size(uint32_t bits)
{
	return bits > 32 ? 8 : bits > 16 ? 4 : bits > 8 ? 2 : 1;
}

static uint32_t load_bits(struct lower *l, const struct place *p)
{
	uint32_t behind = bits_behind(p), r = emit_load(l, p->addr, p->win_size, false, p->is_user);

	if (p->bit_pos)
		r = emit_op_imm(l, DIF_OP_SRL, r, p->bit_pos);
	if (behind) {
		uint32_t next = emit_offset(l, p->addr, p->win_size);
		uint32_t high = emit_load(l, next, behind_size(behind), false, p->is_user);

		reg_free(l, next);
		high = emit_op_imm(l, DIF_OP_SLL, high, p->bit_size - behind);
		r = emit_op(l, DIF_OP_OR, r, high);
	}
	return emit_cut(l, r, p->bit_size, type_is_signed(l->t, p->type));
}

/* Replaces `bits` bits from pos on in the size bytes at addr by r >> shift. Takes neither register.
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

static void store_bits(struct lower *l, const struct place *p, uint32_t r)
{
	uint32_t behind = bits_behind(p), here = p->bit_size - behind;

	store_some_bits(l, p->addr, p->win_size, p->bit_pos, here, r, 0);
	if (behind) {
		uint32_t next = emit_offset(l, p->addr, p->win_size);

		store_some_bits(l, next, behind_size(behind), 0, behind, r, here);
		reg_free(l, next);
	}
}

/*
 * A string in memory holds its characters and cannot be NULL: NULL becomes "". Of others only as
 * much is stored as there is, because the memory behind the NUL of the source may not be readable.
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

static void store_memory(struct lower *l, const struct place *p, uint32_t r)
{
	uint32_t size;

	if (p->bit_size) {
		store_bits(l, p, r);
		return;
	}
	if (!type_is_byref(l->t, p->type)) {
		emit(l, store_ops[size_log2(type_size(l->t, p->type))], r, 0, p->addr);
		return;
	}
	if (type_is_string(l->t, p->type)) {
		store_string(l, p->addr, r);
		return;
	}
	size = emit_const(l, type_size(l->t, p->type));
	emit(l, DIF_OP_COPYS, r, size, p->addr);
	reg_free(l, size);
}

/* ---- places ---------------------------------------------------------------------------------- */

static struct place place_of_var(struct lower *l, struct expr *e)
{
	struct place p = {.kind = PLACE_VAR, .type = e->type, .ident = e->var.ident};

	if (p.ident->kind == IDENT_ARRAY) {
		p.kind = PLACE_ELEM;
		p.keys = e->var.keys;
		p.nkeys = e->var.nkeys;
		p.key_regs = lower_keys(l, p.keys, p.nkeys);
	}
	return p;
}

static struct place place_of_member(struct lower *l, struct expr *e)
{
	struct expr *base = e->member.base;
	type_id sou = e->member.arrow ? type_deref(l->t, base->type) : base->type;
	struct place p = {.kind = PLACE_MEM, .type = e->type, .is_user = mem_is_user(l, e)};
	uint32_t bit_off = 0, off;
	/* not e->member.member's own offset: that counts from an anonymous member it may be in */
	const struct type_member *m = type_find_member(l->t, sou, e->member.name, &bit_off);

	if (!m)
		BUG("member '%s' was not checked", e->member.name);
	off = m->bit_size ? bit_window(bit_off, m->bit_size, &p) : bit_off / 8;
	p.addr = lower_value(l, base);
	if (off)
		p.addr = emit_op_imm(l, DIF_OP_ADD, p.addr, off);
	return p;
}

static struct place place_of_index(struct lower *l, struct expr *e)
{
	struct place p = {.kind = PLACE_MEM, .type = e->type, .is_user = mem_is_user(l, e)};
	uint32_t size = type_size(l->t, type_deref(l->t, e->index.base->type)), index;

	lower_pair(l, lower_value, e->index.base, e->index.subs[0], &p.addr, &index);
	p.addr = emit_op(l, DIF_OP_ADD, p.addr, emit_scale(l, index, size));
	return p;
}

struct place place_of(struct lower *l, struct expr *e)
{
	if (e->kind == EXPR_VAR)
		return place_of_var(l, e);
	if (e->kind == EXPR_MEMBER)
		return place_of_member(l, e);
	if (e->kind == EXPR_INDEX)
		return place_of_index(l, e);
	if (e->kind == EXPR_UNARY && e->unary.op == OP_DEREF)
		return (struct place){.kind = PLACE_MEM,
				      .type = e->type,
				      .is_user = mem_is_user(l, e),
				      .addr = lower_value(l, e->unary.e)};
	BUG("expression kind %d is not a place", (int)e->kind);
}

uint32_t place_load(struct lower *l, const struct place *p)
{
	uint32_t rd;

	switch (p->kind) {
	case PLACE_VAR:
		note_var(l, p->ident, DIF_VF_REF);
		rd = reg_alloc(l);
		dif_emit(l->b, dif_idx(scope_ops[p->ident->scope].load, p->ident->id, rd));
		return rd;
	case PLACE_ELEM:
		note_var(l, p->ident, DIF_VF_REF);
		push_keys(l, p->keys, p->key_regs, p->nkeys);
		rd = reg_alloc(l);
		dif_emit(l->b, dif_idx(scope_ops[p->ident->scope].load_elem, p->ident->id, rd));
		return rd;
	case PLACE_MEM:
		if (p->bit_size)
			return load_bits(l, p);
		if (!type_is_byref(l->t, p->type))
			return emit_load(l, p->addr, type_size(l->t, p->type),
					 type_is_signed(l->t, p->type), p->is_user);
		rd = reg_alloc(l);
		emit(l, DIF_OP_MOV, p->addr, 0, rd);
		return rd;
	}
	BUG("place kind %d", (int)p->kind);
}

void place_store(struct lower *l, const struct place *p, uint32_t r)
{
	switch (p->kind) {
	case PLACE_VAR:
		note_var(l, p->ident, DIF_VF_MOD);
		dif_emit(l->b, dif_idx(scope_ops[p->ident->scope].store, p->ident->id, r));
		return;
	case PLACE_ELEM:
		note_var(l, p->ident, DIF_VF_MOD);
		push_keys(l, p->keys, p->key_regs, p->nkeys);
		dif_emit(l->b, dif_idx(scope_ops[p->ident->scope].store_elem, p->ident->id, r));
		return;
	case PLACE_MEM:
		store_memory(l, p, r);
		if (p->whole)
			place_store(l, &p->whole->var, p->whole->copy);
		return;
	}
	BUG("place kind %d", (int)p->kind);
}

void place_release(struct lower *l, struct place *p)
{
	if (p->kind == PLACE_ELEM)
		free_keys(l, p->key_regs, p->nkeys);
	else if (p->kind == PLACE_MEM)
		reg_free(l, p->addr);
	if (p->whole) {
		reg_free(l, p->whole->copy);
		place_release(l, &p->whole->var);
	}
}

/* ---- parts of dynamic variables -------------------------------------------------------------- */

/*
 * self->s.x = 1, a[k].b[2]++: DIF stores reach scratch memory, globals and this-> variables, but
 * not the storage of dynamic variables, which is made and freed by whole stores only. So the struct
 * or array is copied to scratch memory, zeros where there is none yet, the part is changed there,
 * and the whole is stored back.
 */

/*
 * The variable e is a part of, when that is a dynamic one; NULL when e can be stored to directly.
 */
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

/* Zeros size bytes at addr: the first 8, which are copied behind them, which... */
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

/* A copy of the variable's value in scratch memory; its address. */
static uint32_t emit_copy_of(struct lower *l, const struct place *var)
{
	uint32_t size = (type_size(l->t, var->type) + 7) / 8 * 8;
	uint32_t is_unset = dif_label_create(l->b), end = dif_label_create(l->b);
	uint32_t r = emit_const(l, size), copy = reg_alloc(l);

	emit(l, DIF_OP_ALLOCS, r, 0, copy);
	reg_free(l, r);
	r = place_load(l, var);
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

struct place place_of_target(struct lower *l, struct expr *e)
{
	struct expr *root = dynamic_root(l, e), *outer_root = l->root;
	uint32_t outer_copy = l->root_copy;
	struct whole *whole;
	struct place p;

	if (!root)
		return place_of(l, e);
	whole = ARENA_NEW(l->c->arena, struct whole);
	whole->var = place_of(l, root);
	whole->copy = emit_copy_of(l, &whole->var);
	l->root = root;
	l->root_copy = whole->copy;
	p = place_of(l, e);
	l->root = outer_root;
	l->root_copy = outer_copy;
	p.whole = whole;
	return p;
}

uint32_t lower_lvalue(struct lower *l, struct expr *e)
{
	struct place p;
	uint32_t r;

	if (e->kind == EXPR_VAR && e->var.ident->kind == IDENT_BUILTIN_ARRAY)
		return load_builtin_array(l, e);
	if (e == l->root) {
		r = reg_alloc(l);
		emit(l, DIF_OP_MOV, l->root_copy, 0, r);
		return r;
	}
	p = place_of(l, e);
	if (p.kind == PLACE_MEM && type_is_byref(l->t, p.type))
		return p.addr;
	/* released first, so that the value can take the address's or a key's register; nothing is
	 * written to that before it has been read, except where a bit-field is put together */
	if (p.kind == PLACE_MEM && !p.bit_size) {
		place_release(l, &p);
		return place_load(l, &p);
	}
	r = place_load(l, &p);
	place_release(l, &p);
	return r;
}

uint32_t lower_address(struct lower *l, struct expr *e)
{
	struct place p;

	if (type_is_byref(l->t, e->type))
		return lower_value(l, e);
	p = place_of(l, e);
	if (p.kind != PLACE_MEM || p.bit_size)
		BUG("the address of a variable or bit-field passed the checks");
	return p.addr;
}
