/* SPDX-License-Identifier: MIT */
/* Computes expressions while it reads them. */
#include "mdb/expr.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/str.h"
#include "base/text.h"

#define DEPTH_MAX 200 /* operands inside of operands */

struct reader {
	const char *p;
	const struct expr_env *env;
	uint32_t depth;	 /* of operands that are being read */
	uint32_t parens; /* of parentheses that are open */
};

bool expr_is_name_char(char c)
{
	return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '@' || c == '$' ||
	       (unsigned char)c >= 0x80;
}

bool expr_begins(const char *at)
{
	return *at && (expr_is_name_char(*at) || strchr("+^&(<`'-~#*%", *at)) && *at != '$';
}

static void blanks_skip(struct reader *r)
{
	while (*r->p == ' ' || *r->p == '\t')
		r->p++;
}

/* ---- names and numbers ----------------------------------------------------------------------- */

static struct err *number_parse(const char *text, size_t len, uint64_t *ret)
{
	/* clang-format off */
	static const struct {
		char letter;
		uint32_t base;
	} bases[] = {{'t', 10}, {'T', 10}, {'o', 8}, {'O', 8}, {'i', 2}, {'I', 2}, {'x', 16}, {'X', 16}};
	/* clang-format on */
	uint32_t base = 16;
	uint64_t value = 0;
	size_t i = 0;

	for (size_t k = 0; len > 2 && *text == '0' && k < ARRAY_LEN(bases); k++) {
		if (text[1] != bases[k].letter)
			continue;
		base = bases[k].base;
		i = 2;
	}
	for (; i < len; i++) {
		uint32_t digit = isdigit((unsigned char)text[i]) ? (uint32_t)(text[i] - '0')
				 : isxdigit((unsigned char)text[i])
					 ? (uint32_t)(tolower((unsigned char)text[i]) - 'a') + 10
					 : 16;

		if (digit >= base)
			return err_new("'%.*s' is no number of base %u", (int)len, text, base);
		if (__builtin_mul_overflow(value, (uint64_t)base, &value) ||
		    __builtin_add_overflow(value, (uint64_t)digit, &value))
			return err_new("'%.*s' has more than 64 bits", (int)len, text);
	}
	*ret = value;
	return NULL;
}

static bool is_hexadecimal(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!isxdigit((unsigned char)text[i]))
			return false;
	return true;
}

static size_t name_len(const char *p)
{
	size_t n = 0;

	while (expr_is_name_char(p[n]))
		n++;
	return n;
}

static struct err *name_check(size_t len)
{
	return len < EXPR_NAME_MAX ? NULL : err_new("a name is too long");
}

static char *name_copy(const char *p, size_t len)
{
	char *name = xmalloc(len + 1);

	memcpy(name, p, len);
	name[len] = '\0';
	return name;
}

static struct err *symbol_find(struct reader *r, const char *object, const char *name,
			       uint64_t *ret)
{
	CLEANUP(free) char *shown = text_clean(xstrdup(name));

	if (r->env->symbol && r->env->symbol(r->env->ctx, object, name, ret))
		return NULL;
	if (object) {
		CLEANUP(free) char *of = text_clean(xstrdup(object));

		return err_new("object '%s' has no symbol '%s'", of, shown);
	}
	return err_new("'%s' is no symbol and no number", shown);
}

/*
 * The name of an object before a backquote, which may have other characters than names have:
 * "libstdc++.so.6`"; 0: there is none.
 */
static size_t object_len(const struct reader *r)
{
	size_t n = 0;

	while (expr_is_name_char(r->p[n]) || (n && (r->p[n] == '-' || r->p[n] == '+')))
		n++;
	if (r->p[n] != '`' || n >= EXPR_NAME_MAX)
		return 0;
	if (memchr(r->p, '-', n) || memchr(r->p, '+', n)) {
		CLEANUP(free) char *object = name_copy(r->p, n);

		if (!r->env->has_object || !r->env->has_object(r->env->ctx, object))
			return 0;
	}
	return n;
}

/* A number or symbol. */
static struct err *word_read(struct reader *r, uint64_t *ret)
{
	CLEANUP(free) char *object = NULL, *name = NULL;
	size_t of = object_len(r), n;
	bool is_quoted = *r->p == '`' || of;
	struct err *e;

	if (of)
		object = name_copy(r->p, of);
	n = name_len(r->p + of + is_quoted);
	e = name_check(n);
	if (!e && !n)
		e = err_new("a name is missing behind '`'");
	if (!e && !is_quoted && (isdigit((unsigned char)*r->p) || is_hexadecimal(r->p, n))) {
		e = number_parse(r->p, n, ret);
	} else if (!e) {
		name = name_copy(r->p + of + is_quoted, n);
		e = symbol_find(r, object, name, ret);
	}
	if (!e)
		r->p += of + is_quoted + n;
	return e;
}

/* 'ab': the bytes of a number, the first one lowest. */
static struct err *bytes_read(struct reader *r, uint64_t *ret)
{
	const char *end = strchr(r->p + 1, '\'');
	size_t n = end ? (size_t)(end - r->p) - 1 : 0;

	if (!n || n > sizeof(*ret))
		return err_new("between quotes are one to eight bytes");
	*ret = 0;
	for (size_t i = 0; i < n; i++)
		*ret |= (uint64_t)(unsigned char)r->p[1 + i] << 8 * i;
	r->p = end + 1;
	return NULL;
}

static struct err *variable_read(struct reader *r, uint64_t *ret)
{
	size_t n = name_len(r->p + 1);
	CLEANUP(free) char *name = name_copy(r->p + 1, MIN(n, (size_t)EXPR_NAME_MAX));

	if (!n)
		return err_new("a name is missing behind '<'");
	if (!r->env->variable || !r->env->variable(r->env->ctx, name, ret)) {
		(void)text_clean(name);
		return err_new("there is no register or variable '%s'", name);
	}
	r->p += 1 + n;
	return NULL;
}

/* ---- operators ------------------------------------------------------------------------------- */

static struct err *binary_read(struct reader *r, uint32_t level, uint64_t *ret);

static struct err *primary_read(struct reader *r, uint64_t *ret)
{
	struct err *e;

	switch (*r->p) {
	case '\0': return err_new("an expression is missing");
	case '+': *ret = r->env->next; break;
	case '^': *ret = r->env->previous; break;
	case '&': *ret = r->env->last; break;
	case '<': return variable_read(r, ret);
	case '\'': return bytes_read(r, ret);
	case '(':
		r->p++;
		r->parens++;
		e = binary_read(r, 0, ret);
		if (e)
			return e;
		blanks_skip(r);
		if (*r->p != ')')
			return err_new("')' is missing");
		r->parens--;
		break;
	case '.':
		if (!expr_is_name_char(r->p[1])) {
			*ret = r->env->dot;
			break;
		}
		return word_read(r, ret);
	default:
		if (*r->p == '`' || expr_is_name_char(*r->p))
			return word_read(r, ret);
		return err_new("'%c' begins no expression",
			       isprint((unsigned char)*r->p) ? *r->p : '?');
	}
	r->p++;
	return NULL;
}

static struct err *unary_read(struct reader *r, uint64_t *ret)
{
	char op;
	uint64_t value;
	struct err *e;

	blanks_skip(r);
	op = *r->p;
	if (!op || !strchr("-~#*%", op))
		return primary_read(r, ret);
	r->p++;
	e = ++r->depth < DEPTH_MAX ? unary_read(r, &value) : err_new("the expression is too deep");
	r->depth--;
	if (e)
		return e;
	if (op == '-')
		*ret = -value;
	else if (op == '~')
		*ret = ~value;
	else if (op == '#')
		*ret = !value;
	else if (!r->env->read || !r->env->read(r->env->ctx, value, ret, sizeof(*ret)))
		return err_new("no memory at 0x%" PRIx64 " can be read", value);
	return NULL;
}

enum op {
	OP_OR,
	OP_XOR,
	OP_AND,
	OP_EQ,
	OP_NE,
	OP_SHL,
	OP_SHR,
	OP_ADD,
	OP_SUB,
	OP_MUL,
	OP_DIV,
	OP_UP
};
/* clang-format off */
static const struct {
	const char *text;
	uint32_t level; /* those that bind more have the greater one */
	enum op op;
	bool is_inner; /* between parentheses only */
} ops[] = {
	{"==", 3, OP_EQ, false}, {"!=", 3, OP_NE, false}, {"<<", 4, OP_SHL, false},
	{">>", 4, OP_SHR, false}, {"|", 0, OP_OR, false}, {"^", 1, OP_XOR, false},
	{"&", 2, OP_AND, false}, {"+", 5, OP_ADD, false}, {"-", 5, OP_SUB, false},
	{"*", 6, OP_MUL, false}, {"%", 6, OP_DIV, false}, {"#", 6, OP_UP, false},
	{"/", 6, OP_DIV, true},
};
/* clang-format on */
#define LEVELS 7

static int op_at(const struct reader *r)
{
	for (size_t i = 0; i < ARRAY_LEN(ops); i++)
		if (strncmp(r->p, ops[i].text, strlen(ops[i].text)) == 0 &&
		    (!ops[i].is_inner || r->parens))
			return (int)i;
	return -1;
}

static struct err *op_apply(enum op op, uint64_t a, uint64_t b, uint64_t *ret)
{
	if ((op == OP_DIV || op == OP_UP) && !b)
		return err_new("division by zero");
	switch (op) {
	case OP_OR: *ret = a | b; break;
	case OP_XOR: *ret = a ^ b; break;
	case OP_AND: *ret = a & b; break;
	case OP_EQ: *ret = a == b; break;
	case OP_NE: *ret = a != b; break;
	case OP_SHL: *ret = b < 64 ? a << b : 0; break;
	case OP_SHR: *ret = b < 64 ? a >> b : 0; break;
	case OP_ADD: *ret = a + b; break;
	case OP_SUB: *ret = a - b; break;
	case OP_MUL: *ret = a * b; break;
	case OP_DIV: *ret = a / b; break;
	case OP_UP: *ret = (a / b + (a % b != 0)) * b; break;
	}
	return NULL;
}

/* Reads operands that are joined by operators of this level, or of one that binds more. */
static struct err *binary_read(struct reader *r, uint32_t level, uint64_t *ret)
{
	struct err *e;

	if (level == LEVELS) {
		e = ++r->depth < DEPTH_MAX ? unary_read(r, ret)
					   : err_new("the expression is too deep");
		r->depth--;
		return e;
	}
	e = binary_read(r, level + 1, ret);
	while (!e) {
		const char *before = r->p;
		uint64_t right;
		int k;

		blanks_skip(r);
		k = op_at(r);
		if (k < 0 || ops[k].level != level) {
			r->p = before;
			return NULL;
		}
		r->p += strlen(ops[k].text);
		e = binary_read(r, level + 1, &right);
		if (!e)
			e = op_apply(ops[k].op, *ret, right, ret);
	}
	return e;
}

struct err *expr_read(const char **at, const struct expr_env *env, uint64_t *ret)
{
	struct reader r = {.p = *at, .env = env};
	struct err *e = binary_read(&r, 0, ret);

	*at = r.p;
	return e;
}

struct err *expr_eval(const char *text, const struct expr_env *env, uint64_t *ret)
{
	const char *at = text;
	struct err *e = expr_read(&at, env, ret);

	while (!e && (*at == ' ' || *at == '\t'))
		at++;
	if (!e && *at)
		e = err_new("'%c' does not belong into the expression",
			    isprint((unsigned char)*at) ? *at : '?');
	return e;
}
