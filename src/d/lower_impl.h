/*
 * Inside of the lowering, shared by the lower*.c files only.
 *
 * Registers: every function that returns a register gives it to its caller, who releases it with
 * reg_free() or passes it to one that says "takes". %r0 stands for the constant 0 and is never
 * written.
 *
 * A value is canonical when its register holds it extended to 64 bits as its type says. Loads,
 * casts and constants are; the result of arithmetic on a narrow type is not, because arithmetic and
 * comparisons are 64 bits wide (d-language.md 3.3) and so fold the same way when constant
 * (check_fold.c). It is cut where it is converted, stored or passed: casts, assignments, keys and
 * arguments. Recording cuts by itself.
 */
#pragma once

#include "base/hashmap.h"
#include "d/lower.h"
#include "d/op.h"

struct lower {
	struct check *c;
	struct types *t;
	struct dif_builder *b;
	struct hashmap *weights; /* struct expr * -> what weigh() found; made when first needed */
	uint64_t used[4];	 /* registers in use, bit by bit */
	struct span span;	 /* of the node being lowered */
	bool has_failed;	 /* reported; the code is dropped */
	bool is_tuple_used;	 /* keys were pushed: the next ones need flushts */
	struct expr *root;	 /* while place_of_target() runs: a dynamic variable... */
	uint32_t root_copy;	 /* ...and the copy that stands for it */
};

/* ---- lower.c --------------------------------------------------------------------------------- */

uint32_t lower_value(struct lower *l, struct expr *e);
uint32_t lower_canonical(struct lower *l, struct expr *e);
void lower_discard(struct lower *l, struct expr *e);
/* Two operands, the one that needs more registers first when the order cannot be seen. */
typedef uint32_t lower_fn(struct lower *l, struct expr *e);
void lower_pair(struct lower *l, lower_fn *fn, struct expr *a, struct expr *b, uint32_t *ret_a,
		uint32_t *ret_b);
/* True when e's register is canonical as it comes. */
bool is_canonical(const struct lower *l, const struct expr *e);

/* ---- lower_reg.c: registers, and the order of evaluation ------------------------------------- */

uint32_t reg_alloc(struct lower *l);
void reg_free(struct lower *l, uint32_t r);
/* Marks a register that is free: a value is about to arrive in it. */
void reg_take(struct lower *l, uint32_t r);
bool second_goes_first(struct lower *l, struct expr *a, struct expr *b);

/* Instructions carry the span of the node they belong to: every node enters and leaves its own. */
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
/* %r0 for 0 */
uint32_t emit_const(struct lower *l, uint64_t val);
/* The register itself, or a new one with 0 when it is %r0: something that may be written. Takes r.
 */
uint32_t emit_writable(struct lower *l, uint32_t r);
/* r1 op r2; takes both */
uint32_t emit_op(struct lower *l, enum dif_op op, uint32_t r1, uint32_t r2);
uint32_t emit_op_imm(struct lower *l, enum dif_op op, uint32_t r1, uint64_t imm);
/* Cuts to bits 1..64 and extends again; takes r. */
uint32_t emit_cut(struct lower *l, uint32_t r, uint32_t bits, bool is_signed);
/* Cuts to an integer type; other types pass. Takes r. */
uint32_t emit_cut_type(struct lower *l, uint32_t r, type_id type);
/* Multiplies an index by the size of what it counts; takes r. */
uint32_t emit_scale(struct lower *l, uint32_t r, uint32_t size);

/* ---- lower_cond.c ---------------------------------------------------------------------------- */

/* Branches to label when e is true (when == true) or false; falls through otherwise. */
void lower_branch(struct lower *l, struct expr *e, uint32_t label, bool when);
/* 0 or 1 */
uint32_t lower_truth(struct lower *l, struct expr *e);
uint32_t lower_cond(struct lower *l, struct expr *e);

/* ---- lower_place.c: variables and memory ----------------------------------------------------- */

/* What an lvalue stands for, evaluated once so that it can be both read and written. */
struct place {
	enum place_kind { PLACE_VAR, PLACE_ELEM, PLACE_MEM } kind;
	type_id type;
	const struct ident *ident; /* VAR, ELEM */
	struct expr **keys;	   /* ELEM */
	uint32_t *key_regs, nkeys; /* ELEM */
	uint32_t addr;		   /* MEM: register */
	bool is_user;		   /* MEM */
	/* MEM, a bit-field when bit_size != 0: bits bit_pos... of the win_size bytes at addr; what
	 * does not fit in 8 bytes goes on behind them */
	uint32_t win_size, bit_pos, bit_size;
	struct whole *whole; /* MEM: part of a dynamic variable, from place_of_target() */
};

/* A dynamic variable, of which a copy in scratch memory is changed and then stored. */
struct whole {
	struct place var;
	uint32_t copy; /* register: address */
};

/* Reports an object that no variable or record can hold: an empty or a very large struct. */
bool lower_type_fits(struct lower *l, type_id type, struct span at);
struct place place_of(struct lower *l, struct expr *e);
/* The same of an lvalue that is going to be stored to. */
struct place place_of_target(struct lower *l, struct expr *e);
/* The value in a register of its own; a by-reference value's address. */
uint32_t place_load(struct lower *l, const struct place *p);
/* Does not take r. */
void place_store(struct lower *l, const struct place *p, uint32_t r);
void place_release(struct lower *l, struct place *p);
/* A variable, an element, a member, an indexed or dereferenced value; the address when by
 * reference. */
uint32_t lower_lvalue(struct lower *l, struct expr *e);
/* Address of an lvalue in memory. */
uint32_t lower_address(struct lower *l, struct expr *e);

/* Where the object e stands for lies, and where the pointer e leads to. */
bool mem_is_user(const struct lower *l, const struct expr *e);
bool ptr_is_user(const struct lower *l, const struct expr *e);

/* ---- lower_tuple.c: keys and arguments ------------------------------------------------------- */

/* A value that outlives its source: strings and structs of user memory are copied in. */
uint32_t lower_arg(struct lower *l, struct expr *e);
/* All are evaluated before the first is pushed: evaluating may itself use the tuple stack. */
uint32_t *lower_keys(struct lower *l, struct expr **e, uint32_t n);
void push_keys(struct lower *l, struct expr **e, const uint32_t *regs, uint32_t n);
void free_keys(struct lower *l, const uint32_t *regs, uint32_t n);
uint32_t lower_call(struct lower *l, struct expr *e);
/* Length of a string with its NUL; does not take addr. */
uint32_t emit_strsize(struct lower *l, uint32_t addr);
/* Address of a string that scmp or st?s can read: user memory is copied in first. */
uint32_t lower_string(struct lower *l, struct expr *e);
