/* SPDX-License-Identifier: MIT */
/* The parser's entry points, and its handling of tokens. */
#include "d/parse/parse_impl.h"

#include "base/text.h"

/* ---- tokens ---------------------------------------------------------------------------------- */

void parser_advance(struct parser *p)
{
	if (p->failed)
		return;
	p->prev_end = p->tok.span.off + p->tok.span.len;
	p->tok = lex_next(&p->lx);
	if (p->tok.kind == TOK_ERROR) {
		p->bad = p->tok;
		p->failed = p->clause_failed = true;
	}
}

bool parser_accept(struct parser *p, enum tok kind)
{
	if (p->tok.kind != kind)
		return false;
	parser_advance(p);
	return true;
}

bool parser_expect(struct parser *p, enum tok kind)
{
	const char *text = tok_text(kind);

	if (parser_accept(p, kind))
		return true;
	if (p->tok.kind == TOK_EPRED && (kind == TOK_RPAREN || kind == TOK_RBRACKET))
		parser_unclosed(p, kind);
	else
		parser_syntax(p, "'%s' expected here", text);
	return false;
}

enum tok parser_open(struct parser *p, enum tok closing)
{
	enum tok outer = p->closing;

	p->closing = closing;
	return outer;
}

bool parser_expect_last(struct parser *p, enum tok kind)
{
	if (p->tok.kind == kind)
		p->lx.outer = true;
	return parser_expect(p, kind);
}

const char *parser_name(struct parser *p, bool any_word)
{
	const char *name = p->tok.text;

	if (p->tok.kind != TOK_IDENT && !(any_word && tok_is_keyword(p->tok.kind))) {
		if (tok_is_keyword(p->tok.kind))
			parser_syntax(p, "'%s' is a keyword; a name is expected here", name);
		else
			parser_syntax(p, "a name is expected here");
		return NULL;
	}
	parser_advance(p);
	return name;
}

struct span parser_span_from(const struct parser *p, uint32_t off)
{
	return (struct span){off, p->prev_end > off ? p->prev_end - off : 1};
}

bool parser_enter(struct parser *p)
{
	if (p->depth >= PARSE_DEPTH_MAX) {
		parser_error(p, D_SYNTAX, p->tok.span,
			     "program text is nested more than %u levels deep", PARSE_DEPTH_MAX);
		parser_hint(p, "split the expression, or use an inline for a part of it");
		return false;
	}
	p->depth++;
	return true;
}

void parser_leave(struct parser *p)
{
	p->depth--;
}

void parser_add_ident(struct parser *p, const char *name)
{
	hashmap_sets(p->idents, name, p);
}

void parser_add_typedef(struct parser *p, const char *name)
{
	hashmap_sets(p->typedefs, name, p);
}

/* ---- external declarations ------------------------------------------------------------------- */

/* Whether the word outside clauses opens a table: in ustack helpers. */
static bool word_opens_table(struct parser *p)
{
	return p->in->is_helper && strcmp(p->tok.text, "table") == 0 &&
	       !name_is_type(p, "table", strlen("table"));
}

/* Whether a word outside clauses opens a declaration, not a clause (d-language.md 1.7). */
static bool word_opens_decl(struct parser *p)
{
	const char *word = p->tok.text;
	size_t len = strcspn(word, "*");
	static const char *const probes[] = {"BEGIN", "END", "ERROR"};

	if (keyword_opens_decl(keyword_find(word, p->tok.len)) || word_opens_table(p))
		return true;
	if (p->in->pspec || strpbrk(word, ":-.?!"))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(probes); i++)
		if (strcmp(word, probes[i]) == 0)
			return false;
	return name_is_type(p, word, len);
}

static void parse_decl(struct parser *p, struct decl *d)
{
	bool is_table = word_opens_table(p);

	lex_rewind(&p->lx, &p->tok);
	p->lx.outer = false;
	p->tok = lex_next(&p->lx);
	if (p->tok.kind == TOK_KW_INLINE)
		parse_inline(p, d);
	else if (p->tok.kind == TOK_KW_TRANSLATOR)
		parse_translator(p, d);
	else if (p->tok.kind == TOK_KW_PROVIDER)
		parse_provider(p, d);
	else if (is_table)
		parse_table(p, d);
	else
		parse_vars(p, d);
}

static void head_error(struct parser *p)
{
	if (p->recovering)
		parser_fail(p);
	else if (p->tok.kind == TOK_SEMI)
		parser_syntax(p, "no ';' follows the '}' of a clause");
	else if (p->tok.kind == TOK_RBRACE)
		parser_syntax(p, "there is no '{' for this '}': remove it");
	else
		parser_syntax(p, "a probe description or a declaration is expected here");
}

static struct decl *parse_external(struct parser *p)
{
	struct decl *d = ARENA_NEW(p->arena, struct decl);
	uint32_t start = p->tok.span.off;

	d->in_include = p->lx.include_depth > 0;
	p->clause_failed = false;
	if (p->tok.kind != TOK_WORD)
		head_error(p);
	else if (word_opens_decl(p))
		parse_decl(p, d);
	else
		parse_clause(p, d);
	d->span = parser_span_from(p, start);
	return d;
}

typedef LIST(struct decl *) decl_list;

static void parse_externals(struct parser *p, decl_list *decls)
{
	while (p->tok.kind != TOK_EOF) {
		uint32_t start = p->tok.span.off;
		struct decl *d;

		/* The rest of a declaration with an error causes no message of its own. */
		if (p->recovering && (p->tok.kind == TOK_RBRACE || p->tok.kind == TOK_SEMI)) {
			parser_advance(p);
			continue;
		}
		d = parse_external(p);
		if (p->failed) {
			parser_sync_outer(p);
			p->recovering = true;
			if (p->tok.span.off == start)
				parser_advance(p); /* always advances, so that the loop ends */
			continue;
		}
		p->recovering = false;
		list_push(p->arena, decls, d);
	}
}

/* Inserts the pragmas, which the lexer has collected, among the declarations by their position. */
static void pragmas_merge(struct parser *p, const decl_list *decls, struct ast *ast)
{
	uint32_t n = decls->len + p->lx.pragmas.len, i = 0, j = 0;

	ast->decls = ARENA_NEW_N(p->arena, struct decl *, n);
	while (ast->ndecls < n) {
		bool pragma_next = j < p->lx.pragmas.len &&
				   (i == decls->len ||
				    p->lx.pragmas.data[j]->span.off < decls->data[i]->span.off);

		ast->decls[ast->ndecls++] =
			pragma_next ? p->lx.pragmas.data[j++] : decls->data[i++];
	}
}

/*
 * The program and its arguments as one word of the shell, when the shell has split it: dtrace -n
 * BEGIN { trace }. NULL: the arguments are arguments.
 */
static const char *program_joined(struct parser *p)
{
	struct strbuf text = {0}, word = {0};
	bool is_split = false;
	const char *joined;

	if (p->in->src->kind == SOURCE_FILE)
		return NULL;
	strbuf_add(&text, p->in->src->text, p->in->src->len);
	for (int i = 1; i < p->in->argc; i++) {
		const char *arg = p->in->argv[i];

		is_split |= *arg == '{' || *arg == '/' || strcmp(arg, "}") == 0;
		strbuf_addf(&text, " %s", arg);
	}
	shell_quote(&word, strbuf_text(&text), text.len);
	joined = is_split ? arena_strdup(p->arena, strbuf_text(&word)) : NULL;
	strbuf_deinit(&text);
	strbuf_deinit(&word);
	return joined;
}

static void check_last_arg(struct parser *p)
{
	int last = p->in->argc - 1;
	const char *joined;

	if (last < 1 || p->lx.last_arg_used || p->in->argref)
		return;
	joined = program_joined(p);
	diag_error(p->in->diags, D_MACRO_UNUSED, (struct span){SOURCE_NOWHERE, 0},
		   "extraneous argument '%s' ($%d is not referenced)", p->in->argv[last], last);
	if (joined)
		diag_hint(p->in->diags,
			  "the shell has split the program; quotes hold it together: %s", joined);
	else
		diag_hint(p->in->diags, "-x argref lets arguments be unused");
}

/* ---- entry points ---------------------------------------------------------------------------- */

static void parser_init(struct parser *p, const struct parse_input *in)
{
	*p = (struct parser){
		.in = in,
		.arena = in->arena,
		.idents = hashmap_create(),
		.typedefs = hashmap_create(),
		.tags = hashmap_create(),
	};
	lex_init(&p->lx, in);
}

static void parser_deinit(struct parser *p)
{
	hashmap_destroy(p->idents);
	hashmap_destroy(p->typedefs);
	hashmap_destroy(p->tags);
}

struct ast *parse_program(const struct parse_input *in)
{
	struct ast *ast = ARENA_NEW(in->arena, struct ast);
	uint32_t errors = diags_count(in->diags);
	decl_list decls = {0};
	struct parser p;

	parser_init(&p, in);
	ast->context = in->context;
	parser_advance(&p);
	/* An error in the first token has no declaration yet that could recover from it. */
	if (p.failed)
		parser_sync_outer(&p);
	parse_externals(&p, &decls);
	pragmas_merge(&p, &decls, ast);
	if (diags_count(in->diags) == errors) {
		if (!decls.len && !in->allow_empty)
			diag_error(in->diags, D_EMPTY, p.tok.span,
				   "empty D program translation unit");
		check_last_arg(&p);
	}
	parser_deinit(&p);
	return ast;
}

static bool parse_whole(struct parser *p, const struct parse_input *in, uint32_t *ret_errors)
{
	*ret_errors = diags_count(in->diags);
	parser_init(p, in);
	p->lx.outer = false;
	parser_advance(p);
	return !p->failed;
}

struct expr *parse_expr(const struct parse_input *in)
{
	struct expr *e = NULL;
	struct parser p;
	uint32_t errors;

	if (parse_whole(&p, in, &errors))
		e = parse_comma(&p);
	if (!p.failed && p.tok.kind != TOK_EOF)
		parser_syntax(&p, "the expression ends before this");
	parser_deinit(&p);
	return diags_count(in->diags) == errors ? e : NULL;
}

struct type_name *parse_type(const struct parse_input *in)
{
	struct type_name *t = NULL;
	struct parser p;
	uint32_t errors;

	if (parse_whole(&p, in, &errors))
		t = parse_type_name(&p);
	if (!p.failed && p.tok.kind != TOK_EOF)
		parser_syntax(&p, "the type ends before this");
	parser_deinit(&p);
	return diags_count(in->diags) == errors ? t : NULL;
}
