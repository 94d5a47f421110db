/* SPDX-License-Identifier: MIT */
/*
 * Control lines: '#', '#line', '#error', '#ident', '#pragma', '#pragma D' (d-language.md 1.6,
 * 11.3).
 */
#include "d/parse/attr.h"
#include "d/parse/harm.h"
#include "d/parse/lex.h"

struct word {
	const char *text;
	struct span span;
	bool is_str;
};

struct control {
	LIST(struct word) words; /* without '#', 'pragma' and 'D' */
	uint32_t first;		 /* number of the word that names the directive */
	struct span span;	 /* the whole line */
	const char *line_end;	 /* the newline */
	/* Where the lexer goes on: at line_end, or at a comment that ends in a later line. */
	const char *resume;
};

/* Behind which words a directive may stand. */
enum { AT_HASH = 1, AT_PRAGMA = 2, AT_PRAGMA_D = 4, AT_ANY = 7 };

static uint32_t args_len(const struct control *c)
{
	return c->words.len - c->first - 1;
}

static const struct word *arg(const struct control *c, uint32_t i)
{
	return &c->words.data[c->first + 1 + i];
}

/*
 * Reports an error in a control line, also while the parser skips text after an error: control
 * lines are independent of what surrounds them.
 */
PRINTF_LIKE(4, 5)
static void control_error(struct lexer *lx, enum dtag tag, struct span at, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	diag_error(lx->in->diags, tag, at, "%s", arena_vprintf(lx->in->arena, fmt, ap));
	va_end(ap);
}

/* ---- words of a line ------------------------------------------------------------------------- */

static void word_push(struct lexer *lx, struct control *c, const char *from, const char *to)
{
	struct word w = {.span = lex_span(lx, from, to)};

	w.text = arena_strndup(lx->in->arena, from, (size_t)(to - from));
	list_push(lx->in->arena, &c->words, w);
}

/* Adds a string to the words; false after reporting that it is not closed. */
static bool string_push(struct lexer *lx, struct control *c, const char **p)
{
	const char *from = (*p)++;
	struct word w = {.is_str = true};
	size_t len;

	while (*p < c->line_end && **p != '"')
		*p += **p == '\\' && *p + 1 < c->line_end ? 2 : 1;
	if (*p == c->line_end) {
		control_error(lx, D_STR_NL, lex_span(lx, from, *p),
			      "newline encountered in string constant");
		return false;
	}
	w.text = unescape(lx->in->arena, from + 1, (size_t)(*p - from - 1), &len);
	w.span = lex_span(lx, from, ++*p);
	list_push(lx->in->arena, &c->words, w);
	return true;
}

static bool words_split(struct lexer *lx, struct control *c)
{
	const char *p = lx->p + 1;

	while (p < c->line_end) {
		const char *from = p;

		if (is_blank(*p)) {
			p++;
		} else if (*p == '"') {
			if (!string_push(lx, c, &p))
				return false;
		} else if (c->line_end - p > 1 && p[0] == '/' && p[1] == '*') {
			p = memmem(p + 2, (size_t)(c->line_end - p - 2), "*/", 2);
			if (!p) {
				c->resume = from;
				return true;
			}
			p += 2;
		} else {
			while (p < c->line_end && !is_blank(*p) && *p != '"')
				p++;
			word_push(lx, c, from, p);
		}
	}
	return true;
}

/* ---- #line, #error, #ident ------------------------------------------------------------------- */

static bool all_digits(const char *s)
{
	return *s && strspn(s, "0123456789") == strlen(s);
}

/* Obeys '#line': word number `first` is the line number. */
static void line_set(struct lexer *lx, struct control *c, uint32_t first)
{
	const struct word *w = c->words.data + first, *end = c->words.data + c->words.len;
	const char *file = NULL;

	if (w == end || w->is_str || !all_digits(w->text) || strlen(w->text) > 9) {
		control_error(lx, D_PRAGMA_MALFORM, c->span,
			      "malformed #line: expected a line number and a file name");
		return;
	}
	if (w + 1 < end && w[1].is_str)
		file = strcmp(w[1].text, "/dev/stdin") == 0 ? "" : w[1].text;
	source_line_mark(lx->in->map, lex_span(lx, c->line_end, c->line_end).off + 1,
			 (uint32_t)strtoul(w->text, NULL, 10), file);
	for (const struct word *state = w + 2; state < end; state++) {
		if (strcmp(state->text, "1") == 0)
			lx->include_depth++;
		else if (strcmp(state->text, "2") == 0 && lx->include_depth)
			lx->include_depth--;
	}
}

static void line_run(struct lexer *lx, struct control *c)
{
	line_set(lx, c, c->first + 1);
}

static void ident_run(struct lexer *lx, struct control *c)
{
	(void)lx, (void)c; /* '#ident' has no meaning here */
}

static void error_run(struct lexer *lx, struct control *c)
{
	const struct word *last;
	const char *from, *to;

	if (!args_len(c)) {
		control_error(lx, D_PRAGERR, c->span, "#error:");
	} else {
		from = lex_text(lx, arg(c, 0)->span);
		last = &c->words.data[c->words.len - 1];
		to = lex_text(lx, last->span) + last->span.len;
		control_error(lx, D_PRAGERR, c->span, "#error: %.*s", (int)(to - from), from);
	}
	lx->fatal = true;
}

/* ---- #pragma D ------------------------------------------------------------------------------- */

static void fail_malformed(struct lexer *lx, const struct control *c, const char *usage)
{
	const struct word *name = &c->words.data[c->first];

	control_error(lx, D_PRAGMA_MALFORM, c->span, "malformed #pragma D %s", name->text);
	diag_hint(lx->in->diags, "#pragma D %s %s", name->text, usage);
}

static void option_run(struct lexer *lx, struct control *c)
{
	const struct parse_env *env = lx->in->env;
	const struct word *w;
	char *name, *value;

	/* name="value with blanks" was split into two words with no gap between them */
	bool is_glued = args_len(c) == 2 && arg(c, 1)->is_str &&
			arg(c, 0)->span.off + arg(c, 0)->span.len == arg(c, 1)->span.off &&
			strchr(arg(c, 0)->text, '=');

	if (args_len(c) != 1 && !is_glued) {
		fail_malformed(lx, c, "name=value");
		return;
	}
	w = arg(c, 0);
	name = arena_strdup(lx->in->arena, w->text);
	value = strchr(name, '=');
	if (is_glued)
		value = arena_printf(lx->in->arena, "%s%s", value, arg(c, 1)->text);
	if (value) {
		*strchr(name, '=') = '\0';
		value++;
	}
	if (env && env->set_option)
		(void)env->set_option(env->ctx, w->span, name, value); /* it reports its errors */
}

/* Keeps the pragma for the checker. */
static struct decl *pragma_push(struct lexer *lx, const struct control *c, enum pragma_kind kind)
{
	struct decl *d = ARENA_NEW(lx->in->arena, struct decl);
	uint32_t n = c->words.len - c->first;

	d->kind = DECL_PRAGMA;
	d->span = c->span;
	d->in_include = lx->include_depth > 0;
	d->pragma.kind = kind;
	d->pragma.words = ARENA_NEW_N(lx->in->arena, const char *, n);
	d->pragma.spans = ARENA_NEW_N(lx->in->arena, struct span, n);
	d->pragma.nwords = n;
	for (uint32_t i = 0; i < n; i++) {
		d->pragma.words[i] = c->words.data[c->first + i].text;
		d->pragma.spans[i] = c->words.data[c->first + i].span;
	}
	list_push(lx->in->arena, &lx->pragmas, d);
	return d;
}

static void attributes_run(struct lexer *lx, struct control *c)
{
	bool of_provider = args_len(c) > 1 && strcmp(arg(c, 1)->text, "provider") == 0;
	enum provider_part part = NPARTS;
	struct attr attr;
	struct decl *d;

	if (args_len(c) != (of_provider ? 4 : 2)) {
		fail_malformed(lx, c,
			       of_provider ? "name/data/class provider NAME part"
					   : "name/data/class identifier");
		return;
	}
	if (!attr_parse(arg(c, 0)->text, &attr)) {
		control_error(lx, D_PRAGMA_INVAL, arg(c, 0)->span,
			      "invalid attributes specified by #pragma D attributes: %s",
			      arg(c, 0)->text);
		diag_hint(lx->in->diags, "write them as Evolving/Private/Common");
		return;
	}
	if (of_provider && !provider_part_parse(arg(c, 3)->text, &part)) {
		control_error(lx, D_PRAGMA_INVAL, arg(c, 3)->span,
			      "invalid provider part specified by #pragma D attributes: %s",
			      arg(c, 3)->text);
		diag_hint(lx->in->diags, "the parts are provider, module, function, name and args");
		return;
	}
	d = pragma_push(lx, c, PRAGMA_ATTRIBUTES);
	d->pragma.attr = attr;
	d->pragma.part = (uint8_t)part;
}

static void binding_run(struct lexer *lx, struct control *c)
{
	uint32_t version;

	if (args_len(c) != 2) {
		fail_malformed(lx, c, "\"major.minor\" identifier");
		return;
	}
	if (!version_parse(arg(c, 0)->text, &version)) {
		control_error(lx, D_PRAGMA_INVAL, arg(c, 0)->span,
			      "invalid version string specified by #pragma D binding: %s",
			      arg(c, 0)->text);
		return;
	}
	pragma_push(lx, c, PRAGMA_BINDING)->pragma.version = version;
}

static void depends_on_run(struct lexer *lx, struct control *c)
{
	static const char *const classes[] = {
		[DEPENDS_ON_LIBRARY] = "library",
		[DEPENDS_ON_MODULE] = "module",
		[DEPENDS_ON_PROVIDER] = "provider",
	};

	if (args_len(c) != 2) {
		fail_malformed(lx, c, "library|module|provider NAME");
		return;
	}
	for (uint32_t i = 0; i < ARRAY_LEN(classes); i++)
		if (strcmp(classes[i], arg(c, 0)->text) == 0) {
			pragma_push(lx, c, PRAGMA_DEPENDS_ON)->pragma.on = i;
			return;
		}
	control_error(lx, D_PRAGMA_INVAL, arg(c, 0)->span,
		      "invalid class specified by #pragma D depends_on: %s", arg(c, 0)->text);
	diag_hint(lx->in->diags, "the classes are library, module and provider");
}

/* ---- the line -------------------------------------------------------------------------------- */

/*
 * '#pragma D helper exec "PATTERN|PATTERN"', '#pragma D helper symbol "NAME|NAME"',
 * '#pragma D helper registers', '#pragma D helper registers "VARIABLE"', '#pragma D helper fixed
 * "VARIABLE"', '#pragma D helper generated'. Whoever loads the helper asks for them before it is compiled
 * (parse_helper_facts()).
 */
static void helper_run(struct lexer *lx, struct control *c)
{
	const struct parse_env *env = lx->in->env;
	const char *fact = args_len(c) && !arg(c, 0)->is_str ? arg(c, 0)->text : "";
	const char *value = args_len(c) == 2 && arg(c, 1)->is_str ? arg(c, 1)->text : NULL;
	bool takes_value = strcmp(fact, "exec") == 0 || strcmp(fact, "symbol") == 0 ||
			   strcmp(fact, "registers") == 0 || strcmp(fact, "fixed") == 0;
	bool stands_alone = strcmp(fact, "registers") == 0 || strcmp(fact, "generated") == 0;

	if (!lx->in->is_helper)
		control_error(lx, D_PRAGMA_INVAL, c->span,
			      "#pragma D helper stands in files of ustack helpers only");
	else if (!(value && takes_value) && !(args_len(c) == 1 && stands_alone))
		fail_malformed(lx, c,
			       "exec \"PATTERN|PATTERN\", symbol \"NAME|NAME\", registers, "
			       "registers \"VARIABLE\", fixed \"VARIABLE\", or generated");
	else if (env && env->helper)
		env->helper(env->ctx, fact, value);
}

/* Adds the word FACT=PATTERN to the conditions of the row; false: it is none. */
static bool condition_add(struct lexer *lx, struct harm *row, const struct word *w)
{
	const char *equals = w->is_str ? NULL : strchr(w->text, '=');

	if (!equals || equals == w->text || !equals[1] || row->nconditions == HARM_MAX_CONDITIONS)
		return false;
	row->conditions[row->nconditions++] =
		(struct harm_condition){arena_strndup(lx->in->arena, w->text,
						      (size_t)(equals - w->text)),
					equals + 1};
	return true;
}

/* '#pragma D harmful PROVIDER:PROBE FACT=PATTERN... "REASON"': a row of the table (d/parse/harm.h). */
static void harmful_run(struct lexer *lx, struct control *c)
{
	const struct parse_env *env = lx->in->env;
	uint32_t n = args_len(c);
	const char *probe = n > 2 && !arg(c, 0)->is_str ? arg(c, 0)->text : "";
	const char *colon = strchr(probe, ':');
	struct harm row = {0};
	bool good =
		colon && colon > probe && colon[1] && arg(c, n - 1)->is_str && *arg(c, n - 1)->text;

	for (uint32_t i = 1; good && i < n - 1; i++)
		good = condition_add(lx, &row, arg(c, i));
	if (!good) {
		fail_malformed(lx, c, "PROVIDER:PROBE FACT=PATTERN... \"REASON\"");
		return;
	}
	row.prov = arena_strndup(lx->in->arena, probe, (size_t)(colon - probe));
	row.name = colon + 1;
	row.reason = arg(c, n - 1)->text;
	if (env && env->harmful)
		env->harmful(env->ctx, &row);
}

static const struct directive {
	const char *name;
	uint32_t where;
	void (*run)(struct lexer *lx, struct control *c);
} directives[] = {
	/* clang-format off */
	{"line",       AT_ANY,      line_run},
	{"ident",      AT_ANY,      ident_run},
	{"error",      AT_ANY,      error_run},
	{"option",     AT_PRAGMA_D, option_run},
	{"attributes", AT_PRAGMA_D, attributes_run},
	{"binding",    AT_PRAGMA_D, binding_run},
	{"depends_on", AT_PRAGMA_D, depends_on_run},
	{"helper",     AT_PRAGMA_D, helper_run},
	{"harmful",    AT_PRAGMA_D, harmful_run},
	/* clang-format on */
};

static void directive_unknown(struct lexer *lx, uint32_t where, const struct word *name)
{
	bool is_for_cpp;

	if (where == AT_PRAGMA)
		return; /* a pragma of another compiler */
	if (where == AT_PRAGMA_D) {
		control_error(lx, D_PRAGMA_INVAL, name->span, "invalid D pragma: %s", name->text);
		return;
	}
	is_for_cpp = strcmp(name->text, "include") == 0 || strcmp(name->text, "define") == 0 ||
		     strncmp(name->text, "if", 2) == 0;
	lx->needs_cpp |= is_for_cpp;
	if (lx->in->has_hash_comments)
		return;
	control_error(lx, D_PRAGCTL_INVAL, name->span, "invalid control directive: #%s",
		      name->text);
	if (is_for_cpp)
		diag_hint(lx->in->diags, "-C runs the C preprocessor over the script");
}

static void directive_run(struct lexer *lx, struct control *c, uint32_t where)
{
	const struct word *name = &c->words.data[c->first];

	for (size_t i = 0; i < ARRAY_LEN(directives); i++) {
		if (!(directives[i].where & where) || name->is_str ||
		    strcmp(directives[i].name, name->text) != 0)
			continue;
		directives[i].run(lx, c);
		return;
	}
	directive_unknown(lx, where, name);
}

static void control_run(struct lexer *lx, struct control *c)
{
	static const char *const prefixes[] = {"pragma", "D"};
	uint32_t where = AT_HASH;

	for (size_t i = 0; i < ARRAY_LEN(prefixes) && c->first < c->words.len; i++) {
		if (strcmp(c->words.data[c->first].text, prefixes[i]) != 0)
			break;
		c->first++;
		where <<= 1;
	}
	if (c->first == c->words.len) {
		if (where == AT_PRAGMA_D)
			control_error(lx, D_PRAGMA_MALFORM, c->span, "malformed #pragma D");
	} else if (is_digit(c->words.data[c->first].text[0]) && !c->words.data[c->first].is_str) {
		line_set(lx, c, c->first);
	} else {
		directive_run(lx, c, where);
	}
}

void control_line(struct lexer *lx)
{
	struct control c = {.line_end = memchr(lx->p, '\n', (size_t)(lx->end - lx->p))};
	bool is_bang = lx->end - lx->p > 1 && lx->p[1] == '!';

	if (!c.line_end && !is_bang)
		control_error(lx, D_SYNTAX, lex_span(lx, lx->p, lx->end),
			      "end-of-file encountered before end of control line");
	c.resume = c.line_end ? c.line_end : lx->end;
	if (c.line_end && !is_bang) {
		c.span = lex_span(lx, lx->p, c.line_end - (c.line_end[-1] == '\r'));
		if (words_split(lx, &c))
			control_run(lx, &c);
	}
	lx->p = c.resume;
}

void parse_helper_facts(struct arena *a, const char *text, size_t len, const struct parse_env *env)
{
	struct source_map *map = source_map_create(a);
	struct parse_input in = {.src = source_add(map, SOURCE_FILE, "", text, len, false),
				 .map = map,
				 .diags = diags_create(a, map), /* a compile reports them again */
				 .arena = a,
				 .env = env,
				 .is_helper = true};
	struct lexer lx;

	lex_init(&lx, &in);
	while (lx.p < lx.end) {
		const char *newline = memchr(lx.p, '\n', (size_t)(lx.end - lx.p));
		struct control c = {.line_end = newline ? newline : lx.end, .first = 2};

		c.span = lex_span(&lx, lx.p, c.line_end);
		if (*lx.p == '#' && words_split(&lx, &c) && c.words.len > 3 &&
		    strcmp(c.words.data[0].text, "pragma") == 0 &&
		    strcmp(c.words.data[1].text, "D") == 0 &&
		    strcmp(c.words.data[2].text, "helper") == 0)
			helper_run(&lx, &c);
		lx.p = newline ? newline + 1 : lx.end;
	}
}
