/* SPDX-License-Identifier: MIT */
/* Prints syntax trees as D text that parses to the same tree. */
#include "d/parse/ast_text.h"

/* Precedence (d-language.md 2.2): an operand of lower precedence needs parentheses. */
enum prec {
	PREC_COMMA,
	PREC_ASSIGN,
	PREC_COND,
	PREC_BINARY, /* the prec of op_rows[] is added */
	PREC_UNARY = PREC_BINARY + OP_PREC_MAX + 1,
	PREC_POSTFIX,
};

static void expr_d(const struct expr *e, uint32_t min_prec, struct strbuf *out);
static void type_name_d(const struct type_name *t, struct strbuf *out);

/* ---- expressions ----------------------------------------------------------------------------- */

static uint32_t binary_prec(enum expr_op op)
{
	return PREC_BINARY + op_rows[op].prec;
}

static bool is_negative(const struct expr *e)
{
	return e->kind == EXPR_INT && !e->ival.is_char && (int64_t)e->ival.val < 0 &&
	       (e->ival.lit_type == TYPE_INT || e->ival.lit_type == TYPE_LONG);
}

static uint32_t expr_prec(const struct expr *e)
{
	switch (e->kind) {
	case EXPR_COMMA: return PREC_COMMA;
	case EXPR_ASSIGN: return PREC_ASSIGN;
	case EXPR_COND: return PREC_COND;
	case EXPR_BINARY: return binary_prec(e->binary.op);
	case EXPR_CAST:
	case EXPR_SIZEOF_TYPE:
	case EXPR_SIZEOF:
	case EXPR_STRINGOF: return PREC_UNARY;
	case EXPR_UNARY: return op_is_postfix(e->unary.op) ? PREC_POSTFIX : PREC_UNARY;
	case EXPR_INT: return is_negative(e) ? PREC_UNARY : PREC_POSTFIX;
	case EXPR_BAD:
	case EXPR_STR:
	case EXPR_IDENT:
	case EXPR_AGG:
	case EXPR_CALL:
	case EXPR_INDEX:
	case EXPR_MEMBER:
	case EXPR_OFFSETOF:
	case EXPR_XLATE:
	case EXPR_VAR: return PREC_POSTFIX;
	}
	BUG("expression kind %d", (int)e->kind);
}

static void list_d(struct expr *const *list, uint32_t n, struct strbuf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_adds(out, ", ");
		expr_d(list[i], PREC_ASSIGN, out);
	}
}

static void ident_d(const struct expr *e, struct strbuf *out)
{
	static const char *const scopes[] = {
		[SCOPE_GLOBAL] = "",
		[SCOPE_SELF] = "self->",
		[SCOPE_THIS] = "this->",
	};

	strbuf_addf(out, "%s%s", scopes[e->ident.scope], e->ident.name);
}

static void unary_d(const struct expr *e, struct strbuf *out)
{
	if (op_is_postfix(e->unary.op)) {
		expr_d(e->unary.e, PREC_POSTFIX, out);
		strbuf_adds(out, op_text(e->unary.op));
		return;
	}
	/* The blank keeps - -x from being read as --x. */
	strbuf_addf(out, "%s ", op_text(e->unary.op));
	expr_d(e->unary.e, PREC_UNARY, out);
}

static void binary_d(const struct expr *e, struct strbuf *out)
{
	uint32_t prec = binary_prec(e->binary.op);

	expr_d(e->binary.l, prec, out);
	strbuf_addf(out, " %s ", op_text(e->binary.op));
	expr_d(e->binary.r, prec + 1, out);
}

static void cond_d(const struct expr *e, struct strbuf *out)
{
	expr_d(e->cond.c, PREC_BINARY, out);
	strbuf_adds(out, " ? ");
	expr_d(e->cond.t, PREC_COMMA, out);
	strbuf_adds(out, " : ");
	expr_d(e->cond.f, PREC_COND, out);
}

static void agg_d(const struct expr *e, struct strbuf *out)
{
	strbuf_addf(out, "@%s", e->agg.name);
	if (!e->agg.has_keys)
		return;
	strbuf_addc(out, '[');
	list_d(e->agg.keys, e->agg.nkeys, out);
	strbuf_addc(out, ']');
}

static void sub_list_d(const struct expr *base, const char *brackets, struct expr *const *list,
		       uint32_t n, struct strbuf *out)
{
	expr_d(base, PREC_POSTFIX, out);
	strbuf_addc(out, brackets[0]);
	list_d(list, n, out);
	strbuf_addc(out, brackets[1]);
}

/* Prints head, type and tail, in which the operand follows. */
static void typed_d(const char *head, const struct type_name *t, const char *tail,
		    struct strbuf *out)
{
	strbuf_adds(out, head);
	type_name_d(t, out);
	strbuf_adds(out, tail);
}

static void expr_form_d(const struct expr *e, struct strbuf *out)
{
	switch (e->kind) {
	case EXPR_BAD:
	case EXPR_VAR: return; /* the parser makes neither of a correct text */
	case EXPR_INT:
		if (e->ival.is_char)
			char_print(e->ival.val, out);
		else
			int_print(e->ival.val, e->ival.lit_type, out);
		return;
	case EXPR_STR: str_print(e->str.p, e->str.len, out); return;
	case EXPR_IDENT: ident_d(e, out); return;
	case EXPR_AGG: agg_d(e, out); return;
	case EXPR_UNARY: unary_d(e, out); return;
	case EXPR_BINARY: binary_d(e, out); return;
	case EXPR_ASSIGN:
		expr_d(e->binary.l, PREC_UNARY, out);
		strbuf_addf(out, " %s= ", op_text(e->binary.op));
		expr_d(e->binary.r, PREC_ASSIGN, out);
		return;
	case EXPR_COMMA:
		expr_d(e->binary.l, PREC_COMMA, out);
		strbuf_adds(out, ", ");
		expr_d(e->binary.r, PREC_ASSIGN, out);
		return;
	case EXPR_COND: cond_d(e, out); return;
	case EXPR_CALL: sub_list_d(e->call.fn, "()", e->call.args, e->call.nargs, out); return;
	case EXPR_INDEX:
		sub_list_d(e->index.base, "[]", e->index.subs, e->index.nsubs, out);
		return;
	case EXPR_MEMBER:
		expr_d(e->member.base, PREC_POSTFIX, out);
		/* without the blank, a.b`c would be read as one name */
		strbuf_addf(out, "%s%s",
			    e->member.arrow		  ? "->"
			    : strchr(e->member.name, '`') ? ". "
							  : ".",
			    e->member.name);
		return;
	case EXPR_CAST:
		if (e->cast.to)
			typed_d("(", e->cast.to, ")", out);
		expr_d(e->cast.e, PREC_UNARY, out);
		return;
	case EXPR_SIZEOF_TYPE: typed_d("sizeof (", e->cast.to, ")", out); return;
	case EXPR_SIZEOF:
		strbuf_adds(out, "sizeof ");
		expr_d(e->unary.e, PREC_UNARY, out);
		return;
	case EXPR_OFFSETOF:
		typed_d("offsetof(", e->of.of, ", ", out);
		strbuf_addf(out, "%s)", e->of.member);
		return;
	case EXPR_STRINGOF:
		strbuf_adds(out, "stringof ");
		expr_d(e->unary.e, PREC_UNARY, out);
		return;
	case EXPR_XLATE:
		typed_d("xlate <", e->xlate.to, "> (", out);
		expr_d(e->xlate.e, PREC_COMMA, out);
		strbuf_addc(out, ')');
		return;
	}
	BUG("expression kind %d", (int)e->kind);
}

static void expr_d(const struct expr *e, uint32_t min_prec, struct strbuf *out)
{
	bool parens = expr_prec(e) < min_prec;

	if (parens)
		strbuf_addc(out, '(');
	expr_form_d(e, out);
	if (parens)
		strbuf_addc(out, ')');
}

/* ---- types ----------------------------------------------------------------------------------- */

static void members_d(const struct decl_specs *s, struct strbuf *out)
{
	strbuf_adds(out, "{ ");
	for (uint32_t i = 0; i < s->nmembers; i++) {
		const struct member_decl *m = &s->members[i];

		type_name_d(m->type, out);
		if (m->bits) {
			strbuf_adds(out, " : ");
			expr_d(m->bits, PREC_COND, out);
		}
		strbuf_adds(out, "; ");
	}
	strbuf_adds(out, "} ");
}

static void items_d(const struct decl_specs *s, struct strbuf *out)
{
	strbuf_adds(out, "{ ");
	for (uint32_t i = 0; i < s->nitems; i++) {
		strbuf_addf(out, "%s%s", i ? ", " : "", s->items[i].name);
		if (s->items[i].val) {
			strbuf_adds(out, " = ");
			expr_d(s->items[i].val, PREC_COND, out);
		}
	}
	strbuf_adds(out, " } ");
}

/* Prints the specifiers, each word followed by a blank. */
static void specs_d(const struct decl_specs *s, struct strbuf *out)
{
	uint32_t bases = s->flags & (SPEC_VOID | SPEC_CHAR | SPEC_INT | SPEC_FLOAT | SPEC_DOUBLE |
				     SPEC_STRING | SPEC_LONGLONG);

	for (uint32_t i = 0; s->sc != SC_NONE && i <= (uint32_t)s->two_classes; i++)
		strbuf_addf(out, "%s ", storage_text(s->sc));
	if (s->name)
		strbuf_addf(out, "%s ", s->name);
	if (s->tag != TAG_NONE) {
		strbuf_addf(out, "%s ", tag_text(s));
		if (s->tag_name)
			strbuf_addf(out, "%s ", s->tag_name);
		if (s->has_body && s->tag == TAG_ENUM)
			items_d(s, out);
		else if (s->has_body)
			members_d(s, out);
	}
	flags_print(s->flags, out);
	/* SPEC_COMBO is set again by repeating a base type, or by adding one to a tag. */
	if (s->flags & SPEC_COMBO && bases)
		flags_print(bases & -bases, out);
	else if (s->flags & SPEC_COMBO)
		strbuf_adds(out, "struct combo ");
}

static void params_d(struct type_name *const *params, uint32_t n, bool varargs,
		     const char *brackets, struct strbuf *out)
{
	strbuf_addc(out, brackets[0]);
	for (uint32_t i = 0; i < n; i++) {
		if (i)
			strbuf_adds(out, ", ");
		type_name_d(params[i], out);
	}
	if (varargs)
		strbuf_adds(out, n ? ", ..." : "...");
	strbuf_addc(out, brackets[1]);
}

static void suffix_d(const struct deriv *d, struct strbuf *out)
{
	if (d->kind != DERIV_ARRAY) {
		params_d(d->params, d->nparams, d->varargs, d->kind == DERIV_FUNC ? "()" : "[]",
			 out);
		return;
	}
	strbuf_addc(out, '[');
	if (d->dim)
		expr_d(d->dim, PREC_COND, out);
	strbuf_addc(out, ']');
}

/* Puts the first n derivations around the declarator in inner: '*' before it, the others behind. */
static void derivs_d(const struct deriv *derivs, uint32_t n, struct strbuf *inner)
{
	for (uint32_t i = n; i > 0; i--) {
		const struct deriv *d = &derivs[i - 1];
		struct strbuf ptr = {0};

		if (d->kind != DERIV_PTR) {
			suffix_d(d, inner);
			continue;
		}
		strbuf_adds(&ptr, "*");
		flags_print(d->quals, &ptr);
		strbuf_adds(&ptr, strbuf_text(inner));
		strbuf_clear(inner);
		/* Arrays and functions bind tighter than '*'. */
		strbuf_addf(inner, i > 1 && derivs[i - 2].kind != DERIV_PTR ? "(%s)" : "%s",
			    strbuf_text(&ptr));
		strbuf_deinit(&ptr);
	}
}

static void declarator_d(const struct type_name *t, struct strbuf *out)
{
	struct strbuf inner = {0};

	strbuf_adds(&inner, t->name ? t->name : "");
	derivs_d(t->derivs, t->nderivs, &inner);
	strbuf_adds(out, strbuf_text(&inner));
	strbuf_deinit(&inner);
}

static void type_name_d(const struct type_name *t, struct strbuf *out)
{
	specs_d(t->specs, out);
	declarator_d(t, out);
}

/* ---- statements, external declarations ------------------------------------------------------- */

static void block_d(struct stmt *const *stmts, uint32_t n, uint32_t indent, struct strbuf *out);

static void stmt_d(const struct stmt *s, uint32_t indent, struct strbuf *out)
{
	strbuf_addf(out, "%.*s", (int)MIN(indent, 16u), "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t");
	switch (s->kind) {
	case STMT_EXPR:
		expr_d(s->e, PREC_COMMA, out);
		strbuf_adds(out, ";\n");
		return;
	case STMT_WHILE:
		strbuf_adds(out, "while (");
		expr_d(s->e, PREC_COMMA, out);
		strbuf_adds(out, "; ");
		expr_d(s->most, PREC_COMMA, out);
		strbuf_adds(out, ") ");
		block_d(s->then_body, s->nthen, indent, out);
		strbuf_addc(out, '\n');
		return;
	case STMT_IF:
		strbuf_adds(out, "if (");
		expr_d(s->e, PREC_COMMA, out);
		strbuf_adds(out, ") ");
		block_d(s->then_body, s->nthen, indent, out);
		if (s->nelse) {
			strbuf_adds(out, " else ");
			block_d(s->else_body, s->nelse, indent, out);
		}
		strbuf_addc(out, '\n');
		return;
	}
}

static void block_d(struct stmt *const *stmts, uint32_t n, uint32_t indent, struct strbuf *out)
{
	strbuf_adds(out, "{\n");
	for (uint32_t i = 0; i < n; i++)
		stmt_d(stmts[i], indent + 1, out);
	strbuf_addf(out, "%.*s}", (int)MIN(indent, 16u), "\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t\t");
}

static void clause_d(const struct decl *d, struct strbuf *out)
{
	for (uint32_t i = 0; i < d->clause.nspecs; i++)
		strbuf_addf(out, "%s%s", i ? ",\n" : "", d->clause.specs[i].text);
	if (d->clause.pred) {
		strbuf_adds(out, "\n/");
		expr_d(d->clause.pred, PREC_COMMA, out);
		strbuf_addc(out, '/');
	}
	strbuf_addc(out, '\n');
	if (d->clause.has_body) {
		block_d(d->clause.body, d->clause.nbody, 0, out);
		strbuf_addc(out, '\n');
	}
}

static void vars_d(const struct decl *d, struct strbuf *out)
{
	specs_d(d->vars.specs, out);
	for (uint32_t i = 0; i < d->vars.nnames; i++) {
		if (i)
			strbuf_adds(out, ", ");
		declarator_d(d->vars.names[i], out);
	}
	strbuf_adds(out, ";\n");
}

static void inline_d(const struct decl *d, struct strbuf *out)
{
	struct strbuf inner = {0};

	strbuf_adds(out, "inline ");
	specs_d(d->inl.type->specs, out);
	strbuf_adds(&inner, d->inl.type->name);
	if (d->inl.has_params)
		params_d(d->inl.params, d->inl.nparams, false, "[]", &inner);
	derivs_d(d->inl.type->derivs, d->inl.type->nderivs, &inner);
	strbuf_adds(out, strbuf_text(&inner));
	strbuf_deinit(&inner);
	strbuf_adds(out, " = ");
	expr_d(d->inl.e, PREC_ASSIGN, out);
	strbuf_adds(out, ";\n");
}

static void translator_d(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "translator ");
	type_name_d(d->xlator.out, out);
	strbuf_adds(out, " < ");
	type_name_d(d->xlator.in, out);
	strbuf_adds(out, " > {\n");
	for (uint32_t i = 0; i < d->xlator.nmembers; i++) {
		strbuf_addf(out, "\t%s = ", d->xlator.members[i].name);
		expr_d(d->xlator.members[i].e, PREC_ASSIGN, out);
		strbuf_adds(out, ";\n");
	}
	strbuf_adds(out, "};\n");
}

static void sources_d(const struct probe_decl *pr, struct strbuf *out)
{
	for (uint32_t i = 0; i < pr->nsources; i++) {
		const struct source_decl *src = &pr->sources[i];

		strbuf_adds(out, !i ? "\n\t\t= " : src->is_other ? "\n\t\t|| " : ",\n\t\t");
		if (src->reason) {
			str_print(src->reason, strlen(src->reason), out);
			continue;
		}
		strbuf_adds(out, src->spec.text);
		if (src->guard) {
			strbuf_adds(out, " /");
			expr_d(src->guard, PREC_COMMA, out);
			strbuf_adds(out, "/");
		}
		if (src->has_args)
			strbuf_adds(out, " (");
		for (uint32_t k = 0; k < src->nargs; k++) {
			strbuf_adds(out, k ? ", " : "");
			expr_d(src->args[k], PREC_ASSIGN, out);
		}
		if (src->has_args)
			strbuf_adds(out, ")");
	}
}

static void provider_d(const struct decl *d, struct strbuf *out)
{
	strbuf_addf(out, "provider %s {\n", d->provider.name);
	for (uint32_t i = 0; i < d->provider.nprobes; i++) {
		const struct probe_decl *pr = &d->provider.probes[i];

		strbuf_addf(out, "\tprobe %s", pr->name);
		params_d(pr->args, pr->nargs, pr->varargs, "()", out);
		if (pr->has_xargs) {
			strbuf_adds(out, " : ");
			params_d(pr->xargs, pr->nxargs, false, "()", out);
		}
		sources_d(pr, out);
		strbuf_adds(out, ";\n");
	}
	strbuf_adds(out, "};\n");
}

static void pragma_d(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "#pragma D");
	for (uint32_t i = 0; i < d->pragma.nwords; i++) {
		strbuf_addc(out, ' ');
		if (i)
			str_print(d->pragma.words[i], strlen(d->pragma.words[i]), out);
		else
			strbuf_adds(out, d->pragma.words[i]);
	}
	strbuf_addc(out, '\n');
}

static void helper_block_d(const struct decl *d, struct strbuf *out)
{
	strbuf_addf(out, "inline void %s", d->block.name);
	params_d(d->block.params, d->block.nparams, false, "()", out);
	strbuf_addc(out, '\n');
	block_d(d->block.body, d->block.nbody, 0, out);
	strbuf_addc(out, '\n');
}

static void table_d(const struct decl *d, struct strbuf *out)
{
	strbuf_addf(out, "table %s {\n", d->table.name);
	for (uint32_t i = 0; i < d->table.nrows; i++) {
		const struct table_row *row = &d->table.rows[i];

		strbuf_addc(out, '\t');
		type_name_d(row->type, out);
		for (uint32_t k = 0; k < row->nvals; k++) {
			strbuf_adds(out, k ? ", " : " = ");
			expr_d(row->vals[k], PREC_ASSIGN, out);
		}
		strbuf_adds(out, ";\n");
	}
	strbuf_adds(out, "};\n");
}

static void decl_d(const struct decl *d, struct strbuf *out)
{
	switch (d->kind) {
	case DECL_CLAUSE: clause_d(d, out); return;
	case DECL_VARS: vars_d(d, out); return;
	case DECL_INLINE: inline_d(d, out); return;
	case DECL_TRANSLATOR: translator_d(d, out); return;
	case DECL_PROVIDER: provider_d(d, out); return;
	case DECL_PRAGMA: pragma_d(d, out); return;
	case DECL_BLOCK: helper_block_d(d, out); return;
	case DECL_TABLE: table_d(d, out); return;
	}
	BUG("declaration kind %d", (int)d->kind);
}

void ast_print_d(const struct ast *ast, struct strbuf *out)
{
	for (uint32_t i = 0; i < ast->ndecls; i++) {
		if (i)
			strbuf_addc(out, '\n');
		decl_d(ast->decls[i], out);
	}
}
