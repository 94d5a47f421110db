/* SPDX-License-Identifier: MIT */
/*
 * Prints syntax trees as S-expressions, which golden tests compare.
 *
 *     (clause (probe "syscall" "" "read" "entry")
 *       (pred (== pid 5))
 *       (= (index (self ts) tid) timestamp)
 *       (call printf "%d\n" (-> (index args 0) f)))
 *
 * Behind an expression of known type stands the type: pid<int>, (+ 1<int> 2l<long>)<long>. A type
 * that is not built into D is shown by its number: <#120>.
 */
#include "d/parse/ast_text.h"
#include "d/parse/ident.h"

static void type_name_print(const struct type_name *t, struct strbuf *out);

/* ---- expressions ----------------------------------------------------------------------------- */

static void type_id_print(type_id id, struct strbuf *out)
{
	static const char *const names[] = {
		[TYPE_ERROR] = "error",
		[TYPE_VOID] = "void",
		[TYPE_CHAR] = "char",
		[TYPE_SCHAR] = "schar",
		[TYPE_UCHAR] = "uchar",
		[TYPE_SHORT] = "short",
		[TYPE_USHORT] = "ushort",
		[TYPE_INT] = "int",
		[TYPE_UINT] = "uint",
		[TYPE_LONG] = "long",
		[TYPE_ULONG] = "ulong",
		[TYPE_LLONG] = "llong",
		[TYPE_ULLONG] = "ullong",
		[TYPE_BOOL] = "_Bool",
		[TYPE_STRING] = "string",
		[TYPE_DYNAMIC] = "dynamic",
		[TYPE_STACK] = "stackid_t",
		[TYPE_SYMADDR] = "_symaddr",
		[TYPE_USYMADDR] = "_usymaddr",
		[TYPE_INT8] = "int8_t",
		[TYPE_INT16] = "int16_t",
		[TYPE_INT32] = "int32_t",
		[TYPE_INT64] = "int64_t",
		[TYPE_UINT8] = "uint8_t",
		[TYPE_UINT16] = "uint16_t",
		[TYPE_UINT32] = "uint32_t",
		[TYPE_UINT64] = "uint64_t",
		[TYPE_UINTPTR] = "uintptr_t",
		[TYPE_SIZE] = "size_t",
		[TYPE_PTRDIFF] = "ptrdiff_t",
		[TYPE_PID] = "pid_t",
		[TYPE_UID] = "uid_t",
		[TYPE_GID] = "gid_t",
		[TYPE_ID] = "id_t",
		[TYPE_VOID_PTR] = "void *",
		[TYPE_CHAR_PTR] = "char *",
		[TYPE_PROCESSORID] = "processorid_t",
	};

	if (id < ARRAY_LEN(names) && names[id])
		strbuf_addf(out, "<%s>", names[id]);
	else
		strbuf_addf(out, "<#%u>", id);
}

static void list_print(struct expr *const *list, uint32_t n, struct strbuf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		strbuf_addc(out, ' ');
		expr_print(list[i], out);
	}
}

static void unary_print(const struct expr *e, struct strbuf *out)
{
	strbuf_addf(out, "(%s", op_rows[e->unary.op].dumped);
	list_print((struct expr *const[]){e->unary.e}, 1, out);
	strbuf_addc(out, ')');
}

static void binary_print(const struct expr *e, const char *op, const char *suffix,
			 struct strbuf *out)
{
	strbuf_addf(out, "(%s%s", op, suffix);
	list_print((struct expr *const[]){e->binary.l, e->binary.r}, 2, out);
	strbuf_addc(out, ')');
}

/* Prints "(head TYPE operand)"; t and operand may be NULL. */
static void typed_print(const char *head, const struct type_name *t, struct expr *operand,
			struct strbuf *out)
{
	strbuf_addf(out, "(%s", head);
	if (t) {
		strbuf_addc(out, ' ');
		type_name_print(t, out);
	}
	if (operand)
		list_print(&operand, 1, out);
	strbuf_addc(out, ')');
}

static void name_print(const char *name, enum ident_scope scope, struct strbuf *out)
{
	static const char *const scopes[] = {
		[SCOPE_GLOBAL] = "",
		[SCOPE_SELF] = "(self ",
		[SCOPE_THIS] = "(this ",
	};

	strbuf_addf(out, "%s%s%s", scopes[scope], name, scope == SCOPE_GLOBAL ? "" : ")");
}

static void var_print(const struct expr *e, struct strbuf *out)
{
	strbuf_adds(out, "(var ");
	name_print(e->var.ident->name, e->var.ident->scope, out);
	list_print(e->var.keys, e->var.nkeys, out);
	strbuf_addc(out, ')');
}

static void headed_list_print(const char *head, const struct expr *first, struct expr *const *list,
			      uint32_t n, struct strbuf *out)
{
	strbuf_addf(out, "(%s", head);
	if (first)
		list_print((struct expr *const[]){(struct expr *)first}, 1, out);
	list_print(list, n, out);
	strbuf_addc(out, ')');
}

static void agg_print(const struct expr *e, struct strbuf *out)
{
	strbuf_addf(out, "(agg %s", e->agg.name);
	list_print(e->agg.keys, e->agg.nkeys, out);
	strbuf_addc(out, ')');
}

static void member_print(const struct expr *e, struct strbuf *out)
{
	strbuf_addf(out, "(%s", e->member.arrow ? "->" : ".");
	list_print((struct expr *const[]){e->member.base}, 1, out);
	strbuf_addf(out, " %s)", e->member.name);
}

static void offsetof_print(const struct expr *e, struct strbuf *out)
{
	strbuf_adds(out, "(offsetof ");
	type_name_print(e->of.of, out);
	strbuf_addf(out, " %s)", e->of.member);
}

void expr_print(const struct expr *e, struct strbuf *out)
{
	switch (e->kind) {
	case EXPR_BAD: strbuf_adds(out, "(bad)"); break;
	case EXPR_INT:
		if (e->ival.is_char)
			char_print(e->ival.val, out);
		else
			int_print(e->ival.val, e->ival.lit_type, out);
		break;
	case EXPR_STR: str_print(e->str.p, e->str.len, out); break;
	case EXPR_IDENT: name_print(e->ident.name, e->ident.scope, out); break;
	case EXPR_AGG: agg_print(e, out); break;
	case EXPR_UNARY: unary_print(e, out); break;
	case EXPR_BINARY: binary_print(e, op_text(e->binary.op), "", out); break;
	case EXPR_ASSIGN: binary_print(e, op_text(e->binary.op), "=", out); break;
	case EXPR_COMMA: binary_print(e, ",", "", out); break;
	case EXPR_COND:
		headed_list_print("?:", e->cond.c, (struct expr *const[]){e->cond.t, e->cond.f}, 2,
				  out);
		break;
	case EXPR_CALL:
		headed_list_print("call", e->call.fn, e->call.args, e->call.nargs, out);
		break;
	case EXPR_INDEX:
		headed_list_print("index", e->index.base, e->index.subs, e->index.nsubs, out);
		break;
	case EXPR_MEMBER: member_print(e, out); break;
	case EXPR_CAST: typed_print("cast", e->cast.to, e->cast.e, out); break;
	case EXPR_SIZEOF_TYPE: typed_print("sizeof", e->cast.to, NULL, out); break;
	case EXPR_SIZEOF: typed_print("sizeof", NULL, e->unary.e, out); break;
	case EXPR_OFFSETOF: offsetof_print(e, out); break;
	case EXPR_STRINGOF: typed_print("stringof", NULL, e->unary.e, out); break;
	case EXPR_XLATE: typed_print("xlate", e->xlate.to, e->xlate.e, out); break;
	case EXPR_VAR: var_print(e, out); break;
	}
	if (e->type != TYPE_NONE)
		type_id_print(e->type, out);
}

/* ---- types ----------------------------------------------------------------------------------- */

static void members_print(const struct decl_specs *s, struct strbuf *out)
{
	for (uint32_t i = 0; i < s->nmembers; i++) {
		strbuf_adds(out, " (member ");
		type_name_print(s->members[i].type, out);
		if (s->members[i].bits) {
			strbuf_adds(out, " (bits ");
			expr_print(s->members[i].bits, out);
			strbuf_addc(out, ')');
		}
		strbuf_addc(out, ')');
	}
}

static void items_print(const struct decl_specs *s, struct strbuf *out)
{
	for (uint32_t i = 0; i < s->nitems; i++) {
		strbuf_addf(out, " (%s", s->items[i].name);
		if (s->items[i].val) {
			strbuf_addc(out, ' ');
			expr_print(s->items[i].val, out);
		}
		strbuf_addc(out, ')');
	}
}

static void specs_print(const struct decl_specs *s, struct strbuf *out)
{
	size_t start = out->len;

	if (s->sc != SC_NONE)
		strbuf_addf(out, "%s ", storage_text(s->sc));
	if (s->two_classes)
		strbuf_adds(out, "two-classes ");
	if (s->flags & SPEC_COMBO)
		strbuf_adds(out, "combo ");
	flags_print(s->flags, out);
	if (s->name)
		strbuf_addf(out, "%s ", s->name);
	if (s->tag != TAG_NONE) {
		strbuf_addf(out, "(%s %s", tag_text(s), s->tag_name ? s->tag_name : "-");
		if (s->has_body)
			strbuf_adds(out, " body");
		members_print(s, out);
		items_print(s, out);
		strbuf_adds(out, ") ");
	}
	if (out->len == start)
		strbuf_adds(out, "no-type ");
	out->data[--out->len] = '\0';
}

static void params_print(struct type_name *const *params, uint32_t n, bool varargs,
			 struct strbuf *out)
{
	for (uint32_t i = 0; i < n; i++) {
		strbuf_addc(out, ' ');
		type_name_print(params[i], out);
	}
	if (varargs)
		strbuf_adds(out, " ...");
}

static void deriv_print(const struct deriv *d, struct strbuf *out)
{
	static const char *const heads[] = {
		[DERIV_PTR] = " (ptr",
		[DERIV_ARRAY] = " (array",
		[DERIV_FUNC] = " (func",
		[DERIV_ASSOC] = " (assoc",
	};

	strbuf_adds(out, heads[d->kind]);
	if (d->quals) {
		strbuf_addc(out, ' ');
		flags_print(d->quals, out);
		out->data[--out->len] = '\0';
	}
	if (d->dim) {
		strbuf_addc(out, ' ');
		expr_print(d->dim, out);
	}
	params_print(d->params, d->nparams, d->varargs, out);
	strbuf_addc(out, ')');
}

/* Prints the declarator without its specifiers. */
static void declarator_print(const struct type_name *t, struct strbuf *out)
{
	for (uint32_t i = 0; i < t->nderivs; i++)
		deriv_print(&t->derivs[i], out);
	if (t->name)
		strbuf_addf(out, " %s", t->name);
}

static void type_name_print(const struct type_name *t, struct strbuf *out)
{
	strbuf_addc(out, '[');
	specs_print(t->specs, out);
	declarator_print(t, out);
	strbuf_addc(out, ']');
}

/* ---- statements, external declarations ------------------------------------------------------- */

static void newline_print(uint32_t indent, struct strbuf *out)
{
	strbuf_addf(out, "\n%*s", (int)indent * 2, "");
}

static void stmts_print(struct stmt *const *stmts, uint32_t n, uint32_t indent, struct strbuf *out);

static void stmt_print(const struct stmt *s, uint32_t indent, struct strbuf *out)
{
	newline_print(indent, out);
	switch (s->kind) {
	case STMT_EXPR: expr_print(s->e, out); return;
	case STMT_WHILE:
		strbuf_adds(out, "(while ");
		expr_print(s->e, out);
		strbuf_addc(out, ' ');
		expr_print(s->most, out);
		stmts_print(s->then_body, s->nthen, indent + 1, out);
		strbuf_addc(out, ')');
		return;
	case STMT_IF:
		strbuf_adds(out, "(if ");
		expr_print(s->e, out);
		newline_print(indent + 1, out);
		strbuf_adds(out, "(then");
		stmts_print(s->then_body, s->nthen, indent + 2, out);
		strbuf_addc(out, ')');
		if (s->nelse) {
			newline_print(indent + 1, out);
			strbuf_adds(out, "(else");
			stmts_print(s->else_body, s->nelse, indent + 2, out);
			strbuf_addc(out, ')');
		}
		strbuf_addc(out, ')');
		return;
	}
}

static void stmts_print(struct stmt *const *stmts, uint32_t n, uint32_t indent, struct strbuf *out)
{
	for (uint32_t i = 0; i < n; i++)
		stmt_print(stmts[i], indent, out);
}

static void pspec_print(const struct pspec *s, struct strbuf *out)
{
	const char *const fields[] = {s->prov, s->mod, s->func, s->name};

	if (s->id) {
		strbuf_addf(out, "(probe %u)", s->id);
		return;
	}
	strbuf_adds(out, "(probe");
	for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
		strbuf_addc(out, ' ');
		str_print(fields[i], strlen(fields[i]), out);
	}
	strbuf_addc(out, ')');
}

static void clause_print(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "(clause");
	for (uint32_t i = 0; i < d->clause.nspecs; i++) {
		newline_print(1, out);
		pspec_print(&d->clause.specs[i], out);
	}
	if (d->clause.pred) {
		newline_print(1, out);
		strbuf_adds(out, "(pred ");
		expr_print(d->clause.pred, out);
		strbuf_addc(out, ')');
	}
	if (d->clause.has_body) {
		newline_print(1, out);
		strbuf_adds(out, "(body");
		stmts_print(d->clause.body, d->clause.nbody, 2, out);
		strbuf_addc(out, ')');
	}
	strbuf_addc(out, ')');
}

static void vars_print(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "(declare ");
	specs_print(d->vars.specs, out);
	for (uint32_t i = 0; i < d->vars.nnames; i++) {
		newline_print(1, out);
		strbuf_adds(out, "(name");
		declarator_print(d->vars.names[i], out);
		strbuf_addc(out, ')');
	}
	strbuf_addc(out, ')');
}

static void inline_print(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "(inline ");
	type_name_print(d->inl.type, out);
	if (d->inl.has_params) {
		strbuf_adds(out, " (params");
		params_print(d->inl.params, d->inl.nparams, false, out);
		strbuf_addc(out, ')');
	}
	newline_print(1, out);
	expr_print(d->inl.e, out);
	strbuf_addc(out, ')');
}

static void translator_print(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "(translator ");
	type_name_print(d->xlator.out, out);
	strbuf_addc(out, ' ');
	type_name_print(d->xlator.in, out);
	for (uint32_t i = 0; i < d->xlator.nmembers; i++) {
		newline_print(1, out);
		strbuf_addf(out, "(%s ", d->xlator.members[i].name);
		expr_print(d->xlator.members[i].e, out);
		strbuf_addc(out, ')');
	}
	strbuf_addc(out, ')');
}

static void sources_print(const struct probe_decl *pr, struct strbuf *out)
{
	for (uint32_t i = 0; i < pr->nsources; i++) {
		const struct source_decl *src = &pr->sources[i];

		newline_print(2, out);
		if (src->reason) {
			strbuf_adds(out, "(reason ");
			str_print(src->reason, strlen(src->reason), out);
			strbuf_addc(out, ')');
			continue;
		}
		strbuf_addf(out, "(%s %s", src->is_other ? "or" : "from", src->spec.text);
		if (src->guard) {
			strbuf_adds(out, " (guard ");
			expr_print(src->guard, out);
			strbuf_addc(out, ')');
		}
		for (uint32_t k = 0; k < src->nargs; k++) {
			strbuf_addc(out, ' ');
			expr_print(src->args[k], out);
		}
		strbuf_addc(out, ')');
	}
}

static void provider_print(const struct decl *d, struct strbuf *out)
{
	strbuf_addf(out, "(provider %s", d->provider.name);
	for (uint32_t i = 0; i < d->provider.nprobes; i++) {
		const struct probe_decl *pr = &d->provider.probes[i];

		newline_print(1, out);
		strbuf_addf(out, "(probe %s", pr->name);
		params_print(pr->args, pr->nargs, pr->varargs, out);
		if (pr->has_xargs) {
			strbuf_adds(out, " (as");
			params_print(pr->xargs, pr->nxargs, false, out);
			strbuf_addc(out, ')');
		}
		sources_print(pr, out);
		strbuf_addc(out, ')');
	}
	strbuf_addc(out, ')');
}

static void pragma_print(const struct decl *d, struct strbuf *out)
{
	strbuf_adds(out, "(pragma");
	for (uint32_t i = 0; i < d->pragma.nwords; i++) {
		strbuf_addc(out, ' ');
		str_print(d->pragma.words[i], strlen(d->pragma.words[i]), out);
	}
	strbuf_addc(out, ')');
}

static void block_print(const struct decl *d, struct strbuf *out)
{
	strbuf_addf(out, "(block %s", d->block.name);
	params_print(d->block.params, d->block.nparams, false, out);
	stmts_print(d->block.body, d->block.nbody, 1, out);
	strbuf_addc(out, ')');
}

static void table_print(const struct decl *d, struct strbuf *out)
{
	strbuf_addf(out, "(table %s", d->table.name);
	for (uint32_t i = 0; i < d->table.nrows; i++) {
		const struct table_row *row = &d->table.rows[i];

		newline_print(1, out);
		strbuf_adds(out, "(row ");
		type_name_print(row->type, out);
		for (uint32_t k = 0; k < row->nvals; k++) {
			strbuf_addc(out, ' ');
			expr_print(row->vals[k], out);
		}
		strbuf_addc(out, ')');
	}
	strbuf_addc(out, ')');
}

static void decl_print(const struct decl *d, struct strbuf *out)
{
	switch (d->kind) {
	case DECL_CLAUSE: clause_print(d, out); return;
	case DECL_VARS: vars_print(d, out); return;
	case DECL_INLINE: inline_print(d, out); return;
	case DECL_TRANSLATOR: translator_print(d, out); return;
	case DECL_PROVIDER: provider_print(d, out); return;
	case DECL_PRAGMA: pragma_print(d, out); return;
	case DECL_BLOCK: block_print(d, out); return;
	case DECL_TABLE: table_print(d, out); return;
	}
	BUG("declaration kind %d", (int)d->kind);
}

void ast_print(const struct ast *ast, struct strbuf *out)
{
	for (uint32_t i = 0; i < ast->ndecls; i++) {
		if (i)
			strbuf_addc(out, '\n');
		decl_print(ast->decls[i], out);
		strbuf_addc(out, '\n');
	}
}
