/* SPDX-License-Identifier: MIT */
/*
 * Blocks of statements with a name, in ustack helpers (d-language.md 2.10). A block is checked at
 * each place that uses it: its statements stand there, and its parameters are the arguments.
 */
#include "d/check/check_impl.h"

#define BLOCKS_MAX (1u << 16) /* statements that the blocks of one compile may expand to */

void check_block_def(struct check *c, struct decl *d)
{
	struct ident *id;

	if (!d->block.name || !check_name_is_free(c, d->block.name_span, d->block.name))
		return;
	id = ident_create(c, IDENT_BLOCK, d->block.name, d->block.name_span, TYPE_VOID);
	id->is_declared = true;
	if (!inline_params(c, d->block.params, d->block.nparams, d->span, id))
		id->type = TYPE_ERROR;
	id->block.body = d->block.body;
	id->block.nbody = d->block.nbody;
	ident_apply_pending(c, id);
	session_bind_global(c->session, id->name, id);
}

struct ident *block_called(struct check *c, const struct expr *e)
{
	const struct expr *fn = e->kind == EXPR_CALL ? e->call.fn : NULL;
	struct ident *id = NULL;

	if (fn && fn->kind == EXPR_IDENT && fn->ident.scope == SCOPE_GLOBAL &&
	    !strchr(fn->ident.name, '`'))
		id = ident_find(c, SCOPE_GLOBAL, fn->ident.name);
	return id && id->kind == IDENT_BLOCK ? id : NULL;
}

static uint32_t stmts_count(struct stmt *const *stmts, uint32_t n)
{
	uint32_t count = n;

	for (uint32_t i = 0; i < n; i++)
		count += stmts_count(stmts[i]->then_body, stmts[i]->nthen) +
			 stmts_count(stmts[i]->else_body, stmts[i]->nelse);
	return count;
}

bool block_begin(struct check *c, struct ident *id, const struct expr *call, struct block_use *ret)
{
	struct binding *b;

	attr_use(c, call->span, id->name, id->attr);
	if (id->type == TYPE_ERROR)
		return false;
	if (call->call.nargs != id->inl.nparams) {
		check_error_len(c, call->span, arena_printf(c->arena, "%s( )", id->name), "arg",
				call->call.nargs, id->inl.nparams, id->inl.nparams);
		return false;
	}
	if (id->block.is_expanding) {
		check_error(c, D_UNKNOWN, call->span, "block %s( ) uses itself", id->name);
		diag_hint(c->diags, "a loop repeats statements: while (condition; most) { ... }");
		return false;
	}
	b = inline_bind(c, id, "( )", call->call.args);
	if (id->inl.nparams && !b)
		return false;
	c->nblocks += stmts_count(id->block.body, id->block.nbody);
	if (c->nblocks > BLOCKS_MAX) {
		check_error(c, D_UNKNOWN, call->span,
			    "blocks used here expand to more than %u statements", BLOCKS_MAX);
		return false;
	}
	*ret = (struct block_use){
		.body = stmts_clone(c->arena, id->block.body, id->block.nbody),
		.bindings = c->bindings,
		.layer = session_set_layer(c->session, id->layer),
	};
	c->bindings = b;
	id->block.is_expanding = true;
	return true;
}

void block_end(struct check *c, struct ident *id, const struct block_use *use)
{
	id->block.is_expanding = false;
	session_set_layer(c->session, use->layer);
	c->bindings = use->bindings;
}
