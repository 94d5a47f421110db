/* SPDX-License-Identifier: MIT */
/* Parses tables: what ustack helpers know of versions of their runtimes (d-language.md 2.10). */
#include "d/parse/parse_impl.h"

#define COLUMNS_MAX 256u /* and rows: each makes the expression that chooses a column deeper */

/* decl-specs declarator "=" conditional {"," conditional} ";" */
static struct table_row parse_row(struct parser *p)
{
	struct table_row row = {.span = p->tok.span};
	LIST(struct expr *) vals = {0};

	row.type = parse_declarator(p, parse_specs(p, false), DECLARATOR_NAMED);
	parser_expect(p, TOK_ASSIGN);
	do {
		struct expr *val = parse_cond(p);

		list_push(p->arena, &vals, val);
		if (vals.len > COLUMNS_MAX)
			parser_syntax(p, "a table has at most %u columns", COLUMNS_MAX);
	} while (parser_accept(p, TOK_COMMA));
	row.span = parser_span_from(p, row.span.off);
	parser_expect(p, TOK_SEMI);
	if (row.type->name)
		parser_add_ident(p, row.type->name);
	row.vals = vals.data;
	row.nvals = vals.len;
	return row;
}

/* "table" IDENT "{" row { row } "}" ";" -- "table" is a word, not a keyword */
void parse_table(struct parser *p, struct decl *d)
{
	LIST(struct table_row) rows = {0};

	d->kind = DECL_TABLE;
	parser_advance(p);
	d->table.name_span = p->tok.span;
	d->table.name = parser_name(p, false);
	parser_expect(p, TOK_LBRACE);
	do {
		struct table_row row = parse_row(p);

		list_push(p->arena, &rows, row);
		if (rows.len > COLUMNS_MAX)
			parser_syntax(p, "a table has at most %u rows", COLUMNS_MAX);
	} while (!p->failed && p->tok.kind != TOK_RBRACE);
	parser_expect(p, TOK_RBRACE);
	parser_expect_last(p, TOK_SEMI);
	if (d->table.name)
		parser_add_ident(p, d->table.name);
	d->table.rows = rows.data;
	d->table.nrows = rows.len;
}
