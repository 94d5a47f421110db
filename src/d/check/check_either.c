/* SPDX-License-Identifier: MIT */
/*
 * __either(e, ...): the first of several expressions that this kernel's types allow.
 *
 * The D library reads members of kernel structures, which move between versions: mm->rss_stat was a
 * struct of counts and became an array of counters. Both ways are written down, and the choice is
 * made when the program is compiled; nothing is left of it at run time. Not a function: what is not
 * chosen is not an error, whatever it mentions.
 */
#include "d/check/check_impl.h"

#define EITHER "__either"

bool check_is_either(const struct expr *e)
{
	const struct expr *fn = e->call.fn;

	return fn->kind == EXPR_IDENT && fn->ident.scope == SCOPE_GLOBAL &&
	       strcmp(fn->ident.name, EITHER) == 0;
}

/*
 * The checked copy of e; NULL, without a report or a declaration, when e cannot be compiled here.
 */
static struct expr *either_try(struct check *c, const struct expr *e)
{
	struct attempt attempt = attempt_begin(c);
	bool were_dropped = diags_drop(c->diags, true);
	struct expr *v = check_any(c, expr_clone(c->arena, e));

	diags_drop(c->diags, were_dropped);
	if (!expr_is_bad(v))
		return v;
	attempt_undo(c, &attempt);
	return NULL;
}

struct expr *check_either(struct check *c, struct expr *e)
{
	uint32_t n = e->call.nargs;
	struct expr *v = NULL;

	if (!n) {
		check_error_len(c, e->span, EITHER "( )", "arg", 0, 1, UINT32_MAX);
		return expr_bad(c, e->span);
	}
	for (uint32_t i = 0; !v && i + 1 < n; i++)
		v = either_try(c, e->call.args[i]);
	return v ? v : check_any(c, e->call.args[n - 1]); /* the last one may complain */
}
