/* SPDX-License-Identifier: MIT */
/* Replaces macro variables and script arguments: $pid, $$pid, $1, $$1 (d-language.md 1.7, 1.9). */
#include "d/parse/lex.h"
#include "base/text.h"
#include "d/text/usage.h"

/* A macro variable: its name or number, as a value ($) or as a string ($$). */
struct macro {
	const char *from; /* '$' */
	const char *name, *to;
	bool is_num, is_text; /* $1; $$1 or $$pid */
	uint32_t num;
};

static bool macro_scan(const char *p, const char *end, struct macro *m)
{
	uint64_t num = 0;

	*m = (struct macro){.from = p++};
	if (p < end && *p == '$') {
		m->is_text = true;
		p++;
	}
	m->name = p;
	m->is_num = p < end && is_digit(*p);
	if (m->is_num) {
		for (; p < end && is_digit(*p); p++)
			num = MIN(num * 10 + (uint64_t)(*p - '0'), (uint64_t)UINT32_MAX);
	} else {
		while (p < end && (is_letter(*p) || (p > m->name && is_digit(*p))))
			p++;
	}
	m->num = (uint32_t)num;
	m->to = p;
	return p > m->name;
}

/* The text of script argument number num, NULL when it was not given. */
static const char *arg_text(struct lexer *lx, uint32_t num)
{
	int argc = lx->in->argc;

	if (num >= (uint32_t)MAX(argc, 0) || !lx->in->argv[num])
		return NULL;
	if (num == (uint32_t)argc - 1)
		lx->last_arg_used = true;
	return lx->in->argv[num];
}

static bool macro_value(const struct lexer *lx, const struct macro *m, int64_t *ret)
{
	const struct parse_env *env = lx->in->env;
	char *name = arena_strndup(lx->in->arena, m->name, (size_t)(m->to - m->name));

	return env && env->macro && env->macro(env->ctx, name, ret);
}

/* ---- in expressions -------------------------------------------------------------------------- */

static struct token token_int(struct span at, uint64_t val, type_id type)
{
	return (struct token){.kind = TOK_INT,
			      .span = at,
			      .ival = val,
			      .lit_type = type,
			      .is_macro = true};
}

static struct token token_str(struct lexer *lx, struct span at, const char *s, size_t slen)
{
	struct token t = {.kind = TOK_STR, .span = at, .is_macro = true};
	size_t len;

	t.text = unescape(lx->in->arena, s, slen, &len);
	t.len = (uint32_t)strlen(t.text);
	return t;
}

/* The usage line of the script as the end of a hint; "" when it has none. */
static const char *header_text(const struct parse_input *in)
{
	const char *header = in->src->kind == SOURCE_FILE ? usage_header(in->arena, in->src) : NULL;

	return header ? arena_printf(in->arena, "; its header says: %s", header) : "";
}

static void hint_target(const struct parse_input *in)
{
	diag_hint(in->diags, "it is the process of -p PID or -c COMMAND: give one of them%s",
		  header_text(in));
}

void macro_report_target(const struct parse_input *in, struct span at, bool is_text)
{
	diag_error(in->diags, D_MACRO_UNDEF, at, "macro variable $%starget is not defined",
		   is_text ? "$" : "");
	hint_target(in);
}

/* Adds a hint how to give a named macro variable a value. */
static void hint_named(struct lexer *lx, bool is_target)
{
	if (lx->quiet)
		return;
	if (is_target)
		hint_target(lx->in);
	else
		diag_hint(lx->in->diags,
			  "there are $target, $pid, $ppid, $uid, $gid and others, and the "
			  "script's arguments $1, $2, ...");
}

/*
 * Adds a hint how many arguments the script takes, with its usage line. part: of the description in
 * which the missing argument m stands; NULL: it stands elsewhere.
 */
static void hint_args(struct lexer *lx, const struct macro *m, const char *part)
{
	const struct parse_input *in = lx->in;
	uint32_t want = usage_args_taken(in->src), given = (uint32_t)MAX(in->argc - 1, 0);
	const char *end = header_text(in);

	if (lx->quiet)
		return;
	if (part)
		end = arena_printf(in->arena, ": $%.*s stands for the %s%s", (int)(m->to - m->name),
				   m->name, part, end);
	else if (!*end)
		end = "; with -x defaultargs missing ones are 0 or \"\"";
	diag_hint(in->diags, "the %s takes %u argument%s, %u given%s",
		  in->src->kind == SOURCE_FILE ? "script" : "program", want, PLURAL(want), given,
		  end);
}

static bool is_target(const struct macro *m)
{
	return m->to - m->name == 6 && strncmp(m->name, "target", 6) == 0;
}

/* Whether a missing argument, or a missing target process, was reported before. */
static bool lack_was_reported(struct lexer *lx, const struct macro *m)
{
	bool *told = m->is_num ? &lx->arg_missed : &lx->target_missed, before = *told;

	if (!m->is_num && !is_target(m))
		return false;
	*told |= !lx->quiet;
	return before;
}

static struct token token_named(struct lexer *lx, const struct macro *m, struct span at)
{
	struct token t = token_int(at, 0, TYPE_INT);
	int64_t val;

	if (!macro_value(lx, m, &val)) {
		if (!is_target(m)) {
			lex_error(lx, D_MACRO_UNDEF, at, "macro variable %.*s is not defined",
				  (int)at.len, m->from);
			hint_named(lx, false);
			t.is_bad = true;
			return t;
		}
		val = 0; /* in code that is never executed; elsewhere the checker reports it */
		t.lacks_target = true;
	}
	if (m->is_text) {
		const char *s = arena_printf(lx->in->arena, "%lld", (long long)val);
		bool lacks_target = t.lacks_target;

		t = token_str(lx, at, s, strlen(s));
		t.lacks_target = lacks_target;
		return t;
	}
	t.ival = (uint64_t)val;
	t.lit_type = val >= INT32_MIN && val <= INT32_MAX ? TYPE_INT : TYPE_LONG;
	return t;
}

static struct token token_undefined_arg(struct lexer *lx, const struct macro *m, struct span at)
{
	struct token t = token_int(at, 0, TYPE_INT);

	if (lx->in->defaultargs)
		return m->is_text ? token_str(lx, at, "", 0) : t;
	if (!lack_was_reported(lx, m)) {
		lex_error(lx, D_MACRO_UNDEF, at, "macro argument %.*s is not defined", (int)at.len,
			  m->from);
		hint_args(lx, m, NULL);
	}
	t.is_bad = true;
	return t;
}

/* Whether the text is one integer literal, with or without a suffix. */
static bool is_int_text(const char *s, size_t len)
{
	struct int_literal lit;

	if (len && (*s == '+' || *s == '-'))
		s++, len--;
	if (!len || !is_digit(*s))
		return false;
	(void)int_literal_parse(s, len,
				&lit); /* token_int_arg() reports a value that is too large */
	return lit.len == len;
}

static bool is_name_text(const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!is_name_char(s[i]))
			return false;
	return len > 0;
}

/*
 * The token for an argument that is an integer. Its sign is a token of its own, so that both 2 -$1
 * and -$1 work.
 */
static struct token token_int_arg(struct lexer *lx, struct span at, const char *s, size_t len)
{
	struct token sign = {.kind = *s == '-' ? TOK_SUB : TOK_ADD, .span = at, .is_macro = true};
	bool is_signed = *s == '-' || *s == '+';
	struct token t = token_int(at, 0, TYPE_INT);
	struct int_literal lit;
	const char *digits = s + is_signed;

	switch (int_literal_parse(digits, len - is_signed, &lit)) {
	case INT_OK:
		t.ival = lit.val;
		t.lit_type = lit.type;
		break;
	case INT_OFLOW:
	case INT_NO_TYPE:
		t.is_bad = true;
		lex_error(lx, D_MACRO_OFLOW, at, "macro argument '%s' results in integer overflow",
			  s);
		break;
	case INT_BAD_DIGIT:
		t.is_bad = true;
		lex_error(lx, D_INT_DIGIT, at, "constant %s contains invalid digit %c", digits,
			  lit.bad_digit);
		break;
	}
	if (!is_signed)
		return t;
	lx->pending = t;
	lx->has_pending = true;
	return sign;
}

static struct token token_arg(struct lexer *lx, struct span at, const char *s)
{
	size_t len = strlen(s);
	enum tok kind;

	if (is_int_text(s, len))
		return token_int_arg(lx, at, s, len);
	if (!is_name_text(s, len)) {
		bool quoted = len > 1 && s[0] == '"' && s[len - 1] == '"';

		return token_str(lx, at, s + quoted, len - 2 * quoted);
	}
	if (is_digit(*s) && !strchr(s, '`')) {
		struct token t = token_int(at, 0, TYPE_INT);

		lex_error(lx, D_SYNTAX, at, "macro argument '%s' is neither an integer nor a name",
			  s);
		if (!lx->quiet)
			diag_hint(lx->in->diags, "$%.*s takes it as a string", (int)at.len,
				  lex_text(lx, at));
		t.is_bad = true;
		return t;
	}
	kind = keyword_find(s, len);
	return (struct token){.kind = kind,
			      .span = at,
			      .text = arena_strdup(lx->in->arena, s),
			      .len = (uint32_t)len,
			      .is_macro = true};
}

struct token lex_macro(struct lexer *lx)
{
	const char *arg;
	struct macro m;
	struct span at;

	if (!macro_scan(lx->p, lx->end, &m)) {
		at = lex_span(lx, lx->p, m.to);
		lx->p = m.to;
		lex_error(lx, D_SYNTAX, at, "syntax error near \"%.*s\"", (int)at.len, m.from);
		return (struct token){.kind = TOK_ERROR, .span = at};
	}
	lx->p = m.to;
	at = lex_span(lx, m.from, m.to);
	if (!m.is_num)
		return token_named(lx, &m, at);
	arg = arg_text(lx, m.num);
	if (!arg)
		return token_undefined_arg(lx, &m, at);
	return m.is_text ? token_str(lx, at, arg, strlen(arg)) : token_arg(lx, at, arg);
}

/* ---- in probe descriptions ------------------------------------------------------------------- */

/* The value of m, NULL when it has none. In a description $ and $$ mean the same. */
static const char *field_value(struct lexer *lx, const struct macro *m)
{
	int64_t val;

	if (m->is_num)
		return arg_text(lx, m->num);
	if (!macro_value(lx, m, &val))
		return NULL;
	return arena_printf(lx->in->arena, "%lld", (long long)val);
}

/* Replaces the macros of a field; false: *ret_bad is one that has no value. */
static bool field_expand(struct lexer *lx, const char *field, struct strbuf *out,
			 struct macro *ret_bad)
{
	const char *end = field + strlen(field), *p = field, *dollar;

	while ((dollar = memchr(p, '$', (size_t)(end - p)))) {
		const char *val = NULL;
		struct macro m;

		if (macro_scan(dollar, end, &m))
			val = field_value(lx, &m);
		/* The name must end the field, as in 'pid$target'; '$target-main' is refused. */
		if (!val || (!m.is_num && m.to != end)) {
			*ret_bad = m;
			return false;
		}
		strbuf_add(out, p, (size_t)(dollar - p));
		strbuf_adds(out, val);
		p = m.to;
	}
	strbuf_adds(out, p);
	return true;
}

static void field_error(struct lexer *lx, struct span at, const struct macro *bad, const char *part)
{
	int64_t val;

	lex_error(
		lx, D_PDESC_INVAL, at,
		"invalid probe description \"%.*s\": Undefined macro variable in probe description",
		(int)at.len, lex_text(lx, at));
	if (bad->is_num)
		hint_args(lx, bad, part);
	else if (macro_value(lx, bad, &val) && !lx->quiet)
		diag_hint(lx->in->diags, "a named macro variable ends its field: pid$target");
	else if (bad->to > bad->name)
		hint_named(lx, is_target(bad));
}

const char *macro_expand_field(struct lexer *lx, struct span at, const char *field,
			       const char *part)
{
	struct strbuf out = {0};
	const char *ret = NULL;
	struct macro bad;

	if (!strchr(field, '$'))
		return field;
	if (field_expand(lx, field, &out, &bad))
		ret = arena_strndup(lx->in->arena, strbuf_text(&out), out.len);
	else if (!lack_was_reported(lx, &bad))
		field_error(lx, at, &bad, part);
	strbuf_deinit(&out);
	return ret;
}
