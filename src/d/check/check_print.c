/* SPDX-License-Identifier: MIT */
/* print() and printm(): actions that record values and memory as they are. */
#include "d/check/check_impl.h"

#include "dif/shape.h"

/* *e, or e[index] for a pointer to 64-bit words. */
static struct expr *expr_deref(struct check *c, struct expr *e, uint32_t index)
{
	struct expr *at = e, *d;

	if (index) {
		at = expr_new(c, EXPR_BINARY, e->span, e->type);
		at->binary.op = OP_ADD;
		at->binary.l = e;
		at->binary.r = expr_int(c, e->span, index, TYPE_INT);
	}
	d = expr_new(c, EXPR_UNARY, e->span, type_deref(c->types, e->type));
	d->unary.op = OP_DEREF;
	d->unary.e = at;
	d->is_lvalue = true;
	return d;
}

/*
 * Replaces a pointer to a structure by the structure (d-language.md 6.5; where DTrace's print()
 * comes from, it accepts pointers only). False after reporting.
 */
static bool pointer_follow(struct check *c, struct expr **e)
{
	type_id to = type_deref(c->types, (*e)->type);

	if (type_kind(c->types, (*e)->type) != TK_PTR || !type_is_sou(c->types, to))
		return true;
	if (!type_complete(c->types, to) || type_size(c->types, to) == 0) {
		check_error(c, D_PRINT_SIZE, (*e)->span,
			    "print( ) of a pointer to \"%s\", whose members are not known",
			    type_text(c, to));
		diag_hint(c->diags, "print the address: print((uintptr_t)...)");
		return false;
	}
	*e = expr_deref(c, *e, 0);
	return true;
}

/*
 * Gives e the type of its enumeration if the source has the name of an enumerator, which is an int
 * everywhere else: print() shows that name.
 */
static void enumerator_type(struct check *c, const struct expr *source, struct expr *e)
{
	const struct ident *id;

	if (!source || source->kind != EXPR_IDENT || e->kind != EXPR_INT)
		return;
	id = ident_find(c, source->ident.scope, source->ident.name);
	if (id && id->kind == IDENT_ENUMERATOR && id->enum_type != TYPE_NONE &&
	    type_size(c->types, id->enum_type) == type_size(c->types, e->type))
		e->type = id->enum_type;
}

bool act_check_print(struct check *c, struct expr *call, struct prog_act *act)
{
	static const struct value_tags tags = {D_PRINT_VOID, D_PRINT_DYN, D_PRINT_AGG};
	const struct expr *source = call->call.nargs ? call->call.args[0] : NULL;
	type_id whole = TYPE_NONE;
	struct shape *named;
	struct expr *e;

	if (call->call.nargs == 1) {
		e = call->call.args[0] = check_any(c, call->call.args[0]);
		if (e->kind == EXPR_XLATE) {
			whole = xlate_output(c, e);
			call->call.args[0] = xlate_whole(c, e);
		}
	}
	e = check_recorded(c, call, &tags);

	if (!e)
		return false;
	enumerator_type(c, source, e);
	if (!pointer_follow(c, &e))
		return false;
	act->shape = type_shape(c, e->type);
	if (whole != TYPE_NONE) { /* the struct that xlate_whole() has made has no name */
		named = arena_memdup(c->arena, act->shape, sizeof(*named));
		named->type = type_text(c, whole);
		act->shape = named;
	}
	act_arg(c, act, e, datum_kind_of(c, e->type));
	return true;
}

/* printm(n, memref(addr, len)) is tracemem(addr, n, len): both operands are taken from memref(). */
bool act_check_printm(struct check *c, struct expr *call, struct prog_act *act)
{
	struct expr **args = call->call.args, *pair;

	if (!check_arg_count(c, call_subr(c, call), call))
		return false;
	for (uint32_t i = 0; i < 2; i++) {
		args[i] = check_expr(c, args[i]);
		if (expr_is_bad(args[i]))
			return false;
	}
	if (!expr_is_positive(c, args[0]) || args[0]->ival.val > UINT32_MAX) {
		check_error(c, D_PRINTM_SIZE, args[0]->span,
			    "printm( ) argument #1 must be a positive integer constant");
		return false;
	}
	if (type_kind(c->types, args[1]->type) != TK_PTR ||
	    type_size(c->types, type_deref(c->types, args[1]->type)) != sizeof(uint64_t)) {
		check_error(c, D_PRINTM_ADDR, args[1]->span,
			    "printm( ) argument #2 must be a pointer to an address and a length");
		diag_hint(c->diags, "use memref(address, length)");
		return false;
	}
	act->memory.size = (uint32_t)args[0]->ival.val;
	act->memory.len_arg = 1;
	pair = expr_keep(c, &args[1]);
	act_arg(c, act, expr_deref(c, args[1], 0), DATUM_MEMORY);
	act_arg(c, act, expr_deref(c, pair, 1), DATUM_INT);
	return true;
}
