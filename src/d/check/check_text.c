/* SPDX-License-Identifier: MIT */
/* Hints at text that was written without double quotes: /execname == bash/, == 'bash'. */
#include "d/check/check_impl.h"

/* The text of e; NULL when it spans lines or comes from a macro variable. */
static const char *source_text(struct check *c, const struct expr *e)
{
	struct source_loc loc = source_locate(c->session->sources, e->span.off);
	uint32_t left = loc.src && loc.col <= loc.text_len ? loc.text_len - (loc.col - 1) : 0;
	const char *text = loc.text + loc.col - 1;

	if (!e->span.len || e->span.len > left || *text == '$')
		return NULL;
	return arena_strndup(c->arena, text, e->span.len);
}

/* The name with which an expression like systemd-journald or top.sh begins. */
static const struct expr *first_word(const struct expr *e)
{
	for (;;) {
		if (e->kind == EXPR_BINARY && (e->binary.op == OP_SUB || e->binary.op == OP_DIV))
			e = e->binary.l;
		else if (e->kind == EXPR_MEMBER && !e->member.arrow)
			e = e->member.base;
		else
			return e;
	}
}

/* The other words of such a text are undefined, too: they cause no message of their own. */
static void other_words_poison(struct check *c, const struct expr *e)
{
	for (;; e = e->kind == EXPR_BINARY ? e->binary.l : e->member.base) {
		if (e->kind == EXPR_BINARY && check_is_new_var(c, e->binary.r))
			ident_poison(c, e->binary.r->ident.scope, e->binary.r->ident.name,
				     e->binary.r->span);
		else if (e->kind != EXPR_BINARY && e->kind != EXPR_MEMBER)
			return;
	}
}

bool expr_is_unquoted(struct check *c, const struct expr *e)
{
	const struct expr *first = first_word(e);

	return e->type == TYPE_NONE && first->kind == EXPR_IDENT &&
	       first->ident.scope == SCOPE_GLOBAL && check_is_new_var(c, first);
}

struct expr *check_any_as(struct check *c, struct expr *e, type_id type)
{
	const struct expr *outer = c->unquoted;

	if (!type_is_strcompat(c->types, type) || !expr_is_unquoted(c, e))
		return check_any(c, e);
	c->unquoted = e;
	e = check_any(c, e);
	c->unquoted = outer;
	return e;
}

const char *unquoted_hint(struct check *c, const struct expr *name)
{
	const struct expr *e = c->unquoted;
	const char *text = e && first_word(e) == name ? source_text(c, e) : NULL;

	if (!text)
		return NULL;
	other_words_poison(c, e);
	return arena_printf(c->arena, "text stands in double quotes: \"%s\"", text);
}

void hint_char_text(struct check *c, const struct expr *e)
{
	const char *text = source_text(c, e);
	size_t len = text ? strlen(text) : 0;

	if (len > 2 && text[0] == '\'' && text[len - 1] == '\'')
		diag_hint(c->diags, "text stands in double quotes: \"%.*s\"", (int)len - 2,
			  text + 1);
}
