/* SPDX-License-Identifier: MIT */
/*
 * The lowering's own declarations, shared by the lower*.c files only.
 *
 * Registers: a function that returns a register gives it to its caller, who releases it with
 * reg_free() or passes it to a function whose comment says "takes". %r0 stands for the constant 0
 * and is never written.
 *
 * A value is canonical when its register holds the value of its type, extended to 64 bits. Loads,
 * casts and constants are canonical. The result of arithmetic on a narrow type is not, because
 * arithmetic and comparisons are 64 bits wide (d-language.md 3.3; check_fold.c folds constants the
 * same way). Such a result is cut where it is converted, stored or passed: in casts, assignments,
 * keys and arguments. An action that records a value records only the bytes of its type.
 */
#pragma once

#include "base/hashmap.h"
#include "d/lower/lower.h"
#include "d/parse/op.h"

struct lower {
	struct check *c;
	struct types *t;
	struct dif_builder *b;
	struct hashmap *weights; /* struct expr * -> weight_of() of it; made when first needed */
	uint64_t used[4];	 /* registers in use, bit by bit */
	struct span span;	 /* of the node being lowered */
	bool has_failed;	 /* an error was reported: the code is not used */
	bool is_tuple_used;	 /* keys were pushed: the next ones need flushts */
	/* while lvalue_of_target() runs: a dynamic variable, and the address of its copy */
	struct expr *root;
	uint32_t root_copy;
};

/* ---- lower.c --------------------------------------------------------------------------------- */

uint32_t lower_value(struct lower *l, struct expr *e);
uint32_t lower_canonical(struct lower *l, struct expr *e);
void lower_discard(struct lower *l, struct expr *e);
/* Lowers two operands; when no program can see the order, first the one with more registers. */
typedef uint32_t lower_fn(struct lower *l, struct expr *e);
void lower_pair(struct lower *l, lower_fn *fn, struct expr *a, struct expr *b, uint32_t *ret_a,
		uint32_t *ret_b);
/* Whether lower_value(e) yields a canonical register. */
bool is_canonical(const struct lower *l, const struct expr *e);
/* Whether the cast e leaves the value of its operand as it is. */
bool cast_keeps_value(const struct lower *l, const struct expr *e);

/* ---- lower_reg.c: registers, and the order of evaluation ------------------------------------- */

uint32_t reg_alloc(struct lower *l);
void reg_free(struct lower *l, uint32_t r);
/* Allocates the register r, which is free. */
void reg_take(struct lower *l, uint32_t r);
/* Whether b is to be evaluated before a: it needs more registers, and the order has no effect. */
bool second_goes_first(struct lower *l, struct expr *a, struct expr *b);

/* Instructions carry the span of their node: lowering a node begins and ends with these two. */
static inline struct span span_enter(struct lower *l, struct span at)
{
	struct span outer = l->span;

	l->span = at;
	dif_set_span(l->b, at.off);
	return outer;
}

static inline void span_leave(struct lower *l, struct span outer)
{
	l->span = outer;
	dif_set_span(l->b, outer.off);
}

void emit(struct lower *l, enum dif_op op, uint32_t r1, uint32_t r2, uint32_t rd);
/* A register with a constant; %r0 for 0. */
uint32_t emit_const(struct lower *l, uint64_t val);
/* A register with the value of r that may be written: r, or a new one for %r0. Takes r. */
uint32_t emit_writable(struct lower *l, uint32_t r);
/* r1 op r2; takes both. */
uint32_t emit_op(struct lower *l, enum dif_op op, uint32_t r1, uint32_t r2);
uint32_t emit_op_imm(struct lower *l, enum dif_op op, uint32_t r1, uint64_t imm);
/* Cuts r to its low 1 to 64 bits and extends it again; takes r. */
uint32_t emit_cut(struct lower *l, uint32_t r, uint32_t bits, bool is_signed);
/* Makes an integer canonical; values of other types are. Takes r. */
uint32_t emit_cut_type(struct lower *l, uint32_t r, type_id type);
/* Multiplies an index by the size of an element; takes r. */
uint32_t emit_scale(struct lower *l, uint32_t r, uint32_t size);

/* ---- lower_cond.c ---------------------------------------------------------------------------- */

/* Branches to label when e is true (when == true) or false; falls through otherwise. */
void lower_branch(struct lower *l, struct expr *e, uint32_t label, bool when);
/* 0 or 1 */
uint32_t lower_truth(struct lower *l, struct expr *e);
uint32_t lower_cond(struct lower *l, struct expr *e);

/* ---- lower_lvalue.c: variables and memory ---------------------------------------------------- */

/* An evaluated lvalue: it can be read and then written without evaluating its operands again. */
struct lvalue {
	enum lvalue_kind { LVALUE_VAR, LVALUE_ELEM, LVALUE_MEM } kind;
	type_id type;
	const struct ident *ident; /* VAR, ELEM */
	struct expr **keys;	   /* ELEM */
	uint32_t *key_regs, nkeys; /* ELEM */
	uint32_t addr;		   /* MEM: register */
	bool is_user;		   /* MEM */
	/*
	 * MEM, for a bit-field (bit_size != 0): it begins at bit bit_pos of the win_size bytes at
	 * addr. Bits beyond 8 bytes are in the bytes behind these.
	 */
	uint32_t win_size, bit_pos, bit_size;
	struct var_copy *copy; /* MEM: lvalue_of_target() found it within a copy of a variable */
};

/*
 * A dynamic variable of which a part is to be changed: lower_lvalue.c says why the part is changed
 * in a copy, which is then stored to the variable.
 */
struct var_copy {
	struct lvalue var;
	uint32_t addr; /* register: address of the copy */
};

/*
 * False after reporting a type that no variable or record can hold: an empty or very large struct.
 */
bool lower_type_fits(struct lower *l, type_id type, struct span at);
struct lvalue lvalue_of(struct lower *l, struct expr *e);
/* The same for an lvalue to which a value will be stored. */
struct lvalue lvalue_of_target(struct lower *l, struct expr *e);
/* The value, in a new register; a by-reference value is represented by its address. */
uint32_t lvalue_load(struct lower *l, const struct lvalue *v);
/* Does not take r. */
void lvalue_store(struct lower *l, const struct lvalue *v, uint32_t r);
void lvalue_release(struct lower *l, struct lvalue *v);
/* The value of an lvalue expression; for a by-reference type, its address. */
uint32_t lower_lvalue(struct lower *l, struct expr *e);
/* The address of an lvalue in memory. */
uint32_t lower_address(struct lower *l, struct expr *e);

/* Whether the object e lies in user memory; whether the pointer e leads there. */
bool mem_is_user(const struct lower *l, const struct expr *e);
bool ptr_is_user(const struct lower *l, const struct expr *e);

/* ---- lower_tuple.c: keys and arguments ------------------------------------------------------- */

/* A value for a subroutine or a key: strings and structs in user memory are copied to scratch. */
uint32_t lower_arg(struct lower *l, struct expr *e);
/* Evaluates all keys before push_keys() pushes the first: evaluating may use the tuple stack. */
uint32_t *lower_keys(struct lower *l, struct expr **e, uint32_t n);
void push_keys(struct lower *l, struct expr **e, const uint32_t *regs, uint32_t n);
void free_keys(struct lower *l, const uint32_t *regs, uint32_t n);
uint32_t lower_call(struct lower *l, struct expr *e);
/* Size of a string with its NUL; does not take addr. */
uint32_t emit_strsize(struct lower *l, uint32_t addr);
/* Address of a string for scmp and st?s, which do not read user memory: it is copied first. */
uint32_t lower_string(struct lower *l, struct expr *e);
