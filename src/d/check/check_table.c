/* SPDX-License-Identifier: MIT */
/*
 * Tables: what a ustack helper knows of each version of a runtime (d-language.md 2.10).
 *
 *     table NAME {
 *         uint64_t key = 1, 2;
 *         uint64_t a = 10, 20;
 *         uint8_t b = 3, 4;
 *         uint8_t c = 5, 6;
 *     };
 *
 * becomes variables, of which the small rows share as many as they need, and inlines, which take
 * the rows out of them and choose the column:
 *
 *     uint64_t key, a, NAME.1;
 *     inline uint64_t b = NAME.1 & 255;
 *     inline uint64_t c = NAME.1 >> 8 & 255;
 *     inline uint64_t NAME[uint64_t k] = (key = k,
 *         a = key == 1 ? 10 : key == 2 ? 20 : 0,
 *         NAME.1 = key == 1 ? 3 | 5 << 8 : key == 2 ? 4 | 6 << 8 : 0,
 *         key == 1 || key == 2);
 */
#include "base/text.h"
#include "d/check/check_impl.h"

#define WORD_BITS 64u

/* A variable of the table. */
struct table_var {
	const char *name;
	uint32_t used; /* bits that rows have */
	/* the value in each column; texts: of one row of strings */
	uint64_t *vals;
	struct expr **texts;
};

struct table_build {
	struct check *c;
	struct decl *d;
	LIST(struct table_var) vars; /* the first one is the key */
	uint32_t ncolumns;
	bool is_bad;
};

PRINTF_LIKE(5, 6)
static void table_fail(struct table_build *b, enum dtag tag, struct span at, const char *hint,
		       const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	check_error(b->c, tag, at, "%s", arena_vprintf(b->c->arena, fmt, ap));
	va_end(ap);
	diag_hint(b->c->diags, "%s", hint);
	b->is_bad = true;
}

/* ---- values ------------------------------------------------------------------------------ */

/* Checks a value: a constant that the row's type holds. */
static void check_val(struct table_build *b, struct expr **val, type_id type)
{
	const struct types *t = b->c->types;
	struct expr *e = *val = check_expr(b->c, *val);

	if (expr_is_bad(e))
		b->is_bad = true;
	else if (type_is_string(t, type) && e->kind != EXPR_STR)
		table_fail(b, D_OP_INT, e->span, "write it in quotes",
			   "a value of a row of strings is a string");
	else if (!type_is_string(t, type) && !expr_is_const(b->c, e))
		table_fail(b, D_OP_INT, e->span, "what is known only later is assigned by a clause",
			   "a value of a table is an integer constant");
	else if (e->kind == EXPR_INT && int_convert(t, e->ival.val, type) != e->ival.val)
		table_fail(b, D_INT_OFLOW, e->span, "give the row a larger type",
			   "the value does not fit into the row's \"%s\"", type_text(b->c, type));
}

/* The type of a row; TYPE_ERROR after reporting. */
static type_id row_type(struct table_build *b, const struct table_row *row, bool is_key)
{
	const struct types *t = b->c->types;
	struct decl_object obj;
	uint32_t size;

	if (!decl_object(b->c, row->type, UINT32_MAX, &obj)) {
		b->is_bad = true;
		return TYPE_ERROR;
	}
	size = type_is_integer(t, obj.type) ? type_size(t, obj.type) : 0;
	if (!obj.is_assoc &&
	    (size == WORD_BITS / 8 ||
	     (!is_key && ((size && !type_is_signed(t, obj.type)) || type_is_string(t, obj.type)))))
		return obj.type;
	table_fail(b, D_OP_INT, row->type->span,
		   is_key ? "uint64_t version = 1, 2;"
			  : "types of rows: uint8_t, uint16_t, uint32_t, uint64_t, int64_t, string",
		   is_key ? "the first row of a table is its key, an integer of 64 bits"
			  : "a row of a table is unsigned, has 64 bits, or is a string");
	return TYPE_ERROR;
}

static type_id check_row(struct table_build *b, const struct table_row *row, bool is_key)
{
	type_id type = row_type(b, row, is_key);

	for (uint32_t i = 0; i < row->nvals && type != TYPE_ERROR; i++)
		check_val(b, &row->vals[i], type);
	if (row->nvals != b->ncolumns)
		table_fail(b, D_PROTO_LEN, row->span, "a row has one value for each key",
			   "row %s has %u value%s, the first row has %u", row->type->name,
			   row->nvals, PLURAL(row->nvals), b->ncolumns);
	return type;
}

static void check_columns(struct table_build *b)
{
	const struct table_row *key = &b->d->table.rows[0];

	for (uint32_t i = 1; i < key->nvals && !b->is_bad; i++)
		for (uint32_t k = 0; k < i; k++)
			if (key->vals[i]->ival.val == key->vals[k]->ival.val)
				table_fail(b, D_DECL_IDRED, key->vals[i]->span,
					   "a key chooses one column",
					   "two columns have the key %lld",
					   (long long)key->vals[i]->ival.val);
}

/* ---- variables --------------------------------------------------------------------------- */

static struct table_var *var_add(struct table_build *b, const char *name, struct span at,
				 type_id type, uint32_t used)
{
	struct arena *a = b->c->arena;
	struct table_var v = {.name = name, .used = used};

	v.vals = ARENA_NEW_N(a, uint64_t, b->ncolumns);
	v.texts = type_is_string(b->c->types, type) ? ARENA_NEW_N(a, struct expr *, b->ncolumns)
						    : NULL;
	var_create(b->c, at, SCOPE_GLOBAL, name, type, false, NULL, 0)->is_declared = true;
	list_push(a, &b->vars, v);
	return &b->vars.data[b->vars.len - 1];
}

/* The variable that has room for so many bits, at a multiple of them. */
static struct table_var *word_find(struct table_build *b, uint32_t bits, uint32_t *ret_shift)
{
	const char *name = b->d->table.name;
	uint32_t nwords = 0;

	for (uint32_t i = 0; i < b->vars.len; i++) {
		struct table_var *v = &b->vars.data[i];
		uint32_t shift = (v->used + bits - 1) / bits * bits;

		nwords += strchr(v->name, '.') != NULL;
		if (strchr(v->name, '.') && shift + bits <= WORD_BITS) {
			*ret_shift = shift;
			v->used = shift + bits;
			return v;
		}
	}
	*ret_shift = 0;
	return var_add(b, arena_printf(b->c->arena, "%s.%u", name, nwords + 1),
		       b->d->table.name_span, TYPE_UINT64, bits);
}

/* ---- expressions, unchecked --------------------------------------------------------------- */

static struct expr *expr_name(struct table_build *b, const char *name)
{
	struct expr *e = expr_new(b->c, EXPR_IDENT, b->d->table.name_span, TYPE_NONE);

	e->ident.name = arena_strdup(b->c->arena, name);
	e->ident.scope = SCOPE_GLOBAL;
	return e;
}

static struct expr *expr_number(struct table_build *b, uint64_t val)
{
	return expr_int(b->c, b->d->table.name_span, val, TYPE_UINT64);
}

static struct expr *expr_two(struct table_build *b, enum expr_kind kind, enum expr_op op,
			     struct expr *l, struct expr *r)
{
	struct expr *e = expr_new(b->c, kind, b->d->table.name_span, TYPE_NONE);

	e->binary.op = op;
	e->binary.l = l;
	e->binary.r = r;
	return e;
}

static struct expr *key_is(struct table_build *b, uint32_t column)
{
	const struct table_var *key = &b->vars.data[0];

	return expr_two(b, EXPR_BINARY, OP_EQ, expr_name(b, key->name),
			expr_number(b, key->vals[column]));
}

/* The variable's value in the column that the key chooses. */
static struct expr *expr_chosen(struct table_build *b, const struct table_var *v)
{
	struct expr *all = v->texts ? expr_new(b->c, EXPR_STR, b->d->table.name_span, TYPE_NONE)
				    : expr_number(b, 0);

	if (v->texts)
		all->str.p = "";
	for (uint32_t i = b->ncolumns; i > 0; i--) {
		struct expr *e = expr_new(b->c, EXPR_COND, b->d->table.name_span, TYPE_NONE);

		e->cond.c = key_is(b, i - 1);
		e->cond.t = v->texts ? v->texts[i - 1] : expr_number(b, v->vals[i - 1]);
		e->cond.f = all;
		all = e;
	}
	return all;
}

/* ---- the names ---------------------------------------------------------------------------- */

static struct ident *inline_add(struct table_build *b, const char *name, struct span at,
				struct expr *e)
{
	struct ident *id = ident_create(b->c, IDENT_INLINE, name, at, TYPE_UINT64);

	id->is_declared = true;
	id->inl.e = e;
	ident_apply_pending(b->c, id);
	session_bind_global(b->c->session, id->name, id);
	return id;
}

/* A row that shares a variable with others: an inline takes it out. */
static void small_row_add(struct table_build *b, const struct table_row *row, uint32_t bits)
{
	uint64_t mask = (UINT64_C(1) << bits) - 1;
	uint32_t shift;
	struct table_var *v = word_find(b, bits, &shift);
	struct expr *e = expr_name(b, v->name);

	if (shift)
		e = expr_two(b, EXPR_BINARY, OP_SHR, e, expr_number(b, shift));
	if (shift + bits < WORD_BITS)
		e = expr_two(b, EXPR_BINARY, OP_AND, e, expr_number(b, mask));
	for (uint32_t i = 0; i < b->ncolumns; i++)
		v->vals[i] |= row->vals[i]->ival.val << shift;
	(void)inline_add(b, row->type->name, row->type->name_span, e);
}

static void row_add(struct table_build *b, const struct table_row *row, type_id type)
{
	const struct types *t = b->c->types;
	struct span at = row->type->name_span;
	struct table_var *v;

	if (!check_name_is_free(b->c, at, row->type->name)) {
		b->is_bad = true;
		return;
	}
	if (!type_is_string(t, type) && type_size(t, type) < WORD_BITS / 8) {
		small_row_add(b, row, 8 * (uint32_t)type_size(t, type));
		return;
	}
	v = var_add(b, row->type->name, at, type, WORD_BITS);
	for (uint32_t i = 0; i < b->ncolumns; i++) {
		if (v->texts)
			v->texts[i] = row->vals[i];
		else
			v->vals[i] = row->vals[i]->ival.val;
	}
}

/* The inline that chooses a column; its value says whether there is one. */
static void chooser_add(struct table_build *b)
{
	static const char param[] = "table.key"; /* no name of a program */
	struct expr *e = expr_two(b, EXPR_ASSIGN, OP_NONE, expr_name(b, b->vars.data[0].name),
				  expr_name(b, param));
	struct expr *found = key_is(b, 0);
	struct ident *id;

	for (uint32_t i = 1; i < b->vars.len; i++)
		e = expr_two(b, EXPR_COMMA, OP_NONE, e,
			     expr_two(b, EXPR_ASSIGN, OP_NONE, expr_name(b, b->vars.data[i].name),
				      expr_chosen(b, &b->vars.data[i])));
	for (uint32_t i = 1; i < b->ncolumns; i++)
		found = expr_two(b, EXPR_BINARY, OP_LOR, found, key_is(b, i));
	e = expr_two(b, EXPR_COMMA, OP_NONE, e, found);
	id = inline_add(b, b->d->table.name, b->d->table.name_span, e);
	id->inl.has_params = true;
	id->inl.nparams = 1;
	id->inl.params = ARENA_NEW_N(b->c->arena, const char *, 2);
	id->inl.params[0] = param;
	id->inl.param_types = ARENA_NEW(b->c->arena, type_id);
	id->inl.param_types[0] = TYPE_UINT64;
}

void check_table(struct check *c, struct decl *d)
{
	struct table_build b = {.c = c, .d = d, .ncolumns = d->table.rows[0].nvals};
	type_id *types = ARENA_NEW_N(c->arena, type_id, d->table.nrows);

	if (!check_name_is_free(c, d->table.name_span, d->table.name))
		return;
	for (uint32_t i = 0; i < d->table.nrows; i++)
		types[i] = check_row(&b, &d->table.rows[i], i == 0);
	check_columns(&b);
	for (uint32_t i = 0; i < d->table.nrows && !b.is_bad; i++)
		row_add(&b, &d->table.rows[i], types[i]);
	if (!b.is_bad) {
		chooser_add(&b);
		return;
	}
	/* so that uses of the names are not reported, too */
	ident_poison(c, SCOPE_GLOBAL, d->table.name, d->table.name_span);
	for (uint32_t i = 0; i < d->table.nrows; i++)
		if (!ident_find_own(c, SCOPE_GLOBAL, d->table.rows[i].type->name))
			ident_poison(c, SCOPE_GLOBAL, d->table.rows[i].type->name,
				     d->table.rows[i].type->name_span);
}
