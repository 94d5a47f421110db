/* SPDX-License-Identifier: MIT */
/*
 * DIF as text that can be read back, for tests, fuzzing and dumps.
 *
 * The grammar: one item a line; "!" outside quotes begins a comment; blank lines are allowed.
 *
 *     file        = { { label ":" } [ directive | instruction ] "\n" }
 *     directive   = ".int" NUMBER               next entry of the integer table
 *                 | ".str" STRING               next bytes of the string table, with a NUL
 *                 | ".var" STRING { word }      next entry of the variable table
 *                 | ".ret" { word }             type of the result
 *                 | ".word" NUMBER              an instruction by its bits
 *     word        = "ctf" | "string" | "byref" | "byuref" | "signed"                (of types)
 *                 | "kind=" N | "ckind=" N | "flags=" N | "size=" N                 (of types)
 *                 | "global" | "thread" | "local" | "scalar" | "array"              (of variables)
 *                 | "ref" | "mod"                                                   (of variables)
 *                 | "id=" N | "scope=" N | "varkind=" N | "varflags=" N             (of variables)
 *     instruction = MNEMONIC operands           operands as in asm.h, with these choices:
 *       register    "%r" N
 *       target      N | label
 *       integer     "DT_INTEGER[" N "]" | NUMBER       the number is added to the table
 *       string      "DT_STRING[" N "]" | STRING        the string is added to the table
 *       variable    "DT_VAR(" N ")" | NAME             a built-in, or of a .var line of that scope
 *                                                      above
 *       subroutine  "DIF_SUBR(" N ")" | NAME
 *       tuple type  "DT_TYPE(" N ")" | N
 *       translator  "DT_XLREF[" N "]" | N
 *     label, NAME = letter or "_", then letters, digits, "_"
 *     NUMBER, N   = [ "-" ] decimal, or 0x hexadecimal
 *     STRING      = '"' { byte | '\n' | '\t' | '\"' | '\\' | '\x' HH } '"'
 *
 * Printing and then parsing any object whose string table ends with NUL gives the same object,
 * without spans.
 */
#include "dif/asm.h"

#include "base/hashmap.h"
#include "base/vec.h"

/* ---- words of types and variables ------------------------------------------------------------ */

enum attr {
	ATTR_KIND,
	ATTR_CKIND,
	ATTR_FLAGS,
	ATTR_SIGNED,
	ATTR_SIZE,
	ATTR_FIRST_VAR, /* .ret has none of those from here on */
	ATTR_ID = ATTR_FIRST_VAR,
	ATTR_SCOPE,
	ATTR_VKIND,
	ATTR_VFLAGS,
	ATTR_LEN
};

static const struct word {
	const char *text; /* ends in '=' when a number follows */
	enum attr attr;
	uint32_t value;
} words[] = {
	{"ctf", ATTR_KIND, DIF_KIND_CTF},
	{"string", ATTR_KIND, DIF_KIND_STRING},
	{"byref", ATTR_FLAGS, DIF_TF_BYREF},
	{"byuref", ATTR_FLAGS, DIF_TF_BYUREF},
	{"stackid", ATTR_FLAGS, DIF_TF_STACK},
	{"signed", ATTR_SIGNED, 1},
	{"kind=", ATTR_KIND, 0},
	{"ckind=", ATTR_CKIND, 0},
	{"flags=", ATTR_FLAGS, 0},
	{"size=", ATTR_SIZE, 0},
	{"global", ATTR_SCOPE, DIF_SCOPE_GLOBAL},
	{"thread", ATTR_SCOPE, DIF_SCOPE_THREAD},
	{"local", ATTR_SCOPE, DIF_SCOPE_LOCAL},
	{"scalar", ATTR_VKIND, DIF_VAR_SCALAR},
	{"array", ATTR_VKIND, DIF_VAR_ARRAY},
	{"ref", ATTR_VFLAGS, DIF_VF_REF},
	{"mod", ATTR_VFLAGS, DIF_VF_MOD},
	{"id=", ATTR_ID, 0},
	{"scope=", ATTR_SCOPE, 0},
	{"varkind=", ATTR_VKIND, 0},
	{"varflags=", ATTR_VFLAGS, 0},
};

static const uint32_t attr_max[ATTR_LEN] = {
	[ATTR_KIND] = UINT8_MAX,  [ATTR_CKIND] = UINT8_MAX, [ATTR_FLAGS] = UINT8_MAX,
	[ATTR_SIGNED] = 1,	  [ATTR_SIZE] = UINT32_MAX, [ATTR_ID] = UINT32_MAX,
	[ATTR_SCOPE] = UINT8_MAX, [ATTR_VKIND] = UINT8_MAX, [ATTR_VFLAGS] = UINT8_MAX,
};

/* Whether several words of an attribute add up; otherwise the last one counts. */
static bool attr_is_set(enum attr attr)
{
	return attr == ATTR_FLAGS || attr == ATTR_VFLAGS;
}

/* ---- printing -------------------------------------------------------------------------------- */

static bool word_has_number(const struct word *w)
{
	return w->text[strlen(w->text) - 1] == '=';
}

static void print_attr(enum attr attr, uint32_t value, struct strbuf *out)
{
	bool is_done = attr_is_set(attr) && value == 0;

	for (size_t i = 0; i < ARRAY_LEN(words) && !is_done; i++) {
		const struct word *w = &words[i];

		if (w->attr != attr)
			continue;
		if (word_has_number(w)) { /* stands behind the plain words of its attribute */
			strbuf_addf(out, attr == ATTR_ID ? " %s0x%x" : " %s%u", w->text, value);
			is_done = true;
		} else if (attr_is_set(attr) && (value & w->value)) {
			strbuf_addf(out, " %s", w->text);
			value &= ~w->value;
			is_done = value == 0;
		} else if (!attr_is_set(attr) && value == w->value) {
			strbuf_addf(out, " %s", w->text);
			is_done = true;
		}
	}
}

static void print_type(const struct dif_type *t, struct strbuf *out)
{
	print_attr(ATTR_KIND, t->kind, out);
	print_attr(ATTR_CKIND, t->ckind, out);
	print_attr(ATTR_SIZE, t->size, out);
	print_attr(ATTR_FLAGS, t->flags, out);
	if (t->is_signed)
		strbuf_adds(out, " signed");
}

static void print_tables(const struct difo *d, struct strbuf *out)
{
	for (uint32_t i = 0; i < d->ints_len; i++)
		strbuf_addf(out, ".int 0x%llx\n", (unsigned long long)d->ints[i]);
	for (uint32_t off = 0; off < d->strs_size;) {
		size_t len = strnlen(d->strs + off, d->strs_size - off);

		strbuf_adds(out, ".str ");
		dif_quote(out, d->strs + off, len);
		strbuf_addc(out, '\n');
		off += (uint32_t)len + 1;
	}
	for (uint32_t i = 0; i < d->vars_len; i++) {
		const struct dif_var *v = &d->vars[i];
		const char *name = v->name ? v->name : "";

		strbuf_adds(out, ".var ");
		dif_quote(out, name, strlen(name));
		print_attr(ATTR_ID, v->id, out);
		print_attr(ATTR_SCOPE, v->scope, out);
		print_attr(ATTR_VKIND, v->kind, out);
		print_attr(ATTR_VFLAGS, v->flags, out);
		print_type(&v->type, out);
		strbuf_addc(out, '\n');
	}
}

/* The fields that the text shows. An instruction can be read back if all other bits are zero. */
static dif_insn insn_shown_bits(dif_insn i)
{
	dif_insn mask = 0xff000000;

	for (const char *p = dif_syntax[dif_op_form(DIF_INSN_OP(i))].operands; *p; p++)
		mask |= strchr("1AT", *p)     ? 0xff0000
			: *p == '2'	      ? 0xff00
			: *p == 'd'	      ? 0xff
			: *p == 'L'	      ? 0xffffff
			: strchr("ISVFX", *p) ? 0xffff00
					      : 0;
	return i & mask;
}

void difo_print_asm(const struct difo *d, struct strbuf *out)
{
	strbuf_adds(out, ".ret");
	print_type(&d->ret, out);
	strbuf_addc(out, '\n');
	print_tables(d, out);
	for (uint32_t i = 0; i < d->code_len; i++) {
		if (dif_op_name(DIF_INSN_OP(d->code[i])) &&
		    insn_shown_bits(d->code[i]) == d->code[i]) {
			strbuf_addc(out, '\t');
			dif_insn_print(d, d->code[i], out);
		} else {
			strbuf_addf(out, ".word 0x%08x", d->code[i]);
		}
		strbuf_addc(out, '\n');
	}
}

/* ---- parsing --------------------------------------------------------------------------------- */

struct ref {
	uint32_t insn, line;
	const char *name;
};

struct parser {
	struct arena *arena;
	const char *p;	 /* in the current line */
	const char *end; /* of the current line */
	uint32_t line;
	struct err *err; /* the first one */
	VEC(dif_insn) code;
	VEC(uint64_t) ints;
	struct strbuf strs;
	VEC(struct dif_var) vars;
	VEC(struct ref) refs;	/* branches to labels */
	struct hashmap *labels; /* name -> instruction index + 1 */
	struct dif_type ret;
};

PRINTF_LIKE(2, 3) static bool parse_fail(struct parser *ps, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	if (!ps->err) {
		va_start(ap, fmt);
		strbuf_vaddf(&text, fmt, ap);
		va_end(ap);
		ps->err = err_new("line %u: %s", ps->line, strbuf_text(&text));
		strbuf_deinit(&text);
	}
	return false;
}

static bool is_name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_name(char c)
{
	return is_name_start(c) || (c >= '0' && c <= '9');
}

static char parser_peek(const struct parser *ps)
{
	return ps->p < ps->end ? *ps->p : '\0';
}

static void space_skip(struct parser *ps)
{
	while (parser_peek(ps) == ' ' || parser_peek(ps) == '\t' || parser_peek(ps) == '\r')
		ps->p++;
}

static bool text_take(struct parser *ps, const char *text)
{
	size_t len = strlen(text);

	space_skip(ps);
	if ((size_t)(ps->end - ps->p) < len || memcmp(ps->p, text, len) != 0)
		return false;
	ps->p += len;
	return true;
}

static bool line_is_done(struct parser *ps)
{
	space_skip(ps);
	return ps->p == ps->end || *ps->p == '!';
}

/* Reads a name, with an optional '.' before it, into the arena; NULL when there is none. */
static const char *name_take(struct parser *ps)
{
	const char *start;

	space_skip(ps);
	start = ps->p;
	if (parser_peek(ps) == '.')
		ps->p++;
	if (!is_name_start(parser_peek(ps))) {
		ps->p = start;
		return NULL;
	}
	while (is_name(parser_peek(ps)))
		ps->p++;
	return arena_strndup(ps->arena, start, (size_t)(ps->p - start));
}

static int digit_value(char c, uint32_t base)
{
	int v = c >= '0' && c <= '9'   ? c - '0'
		: c >= 'a' && c <= 'f' ? c - 'a' + 10
		: c >= 'A' && c <= 'F' ? c - 'A' + 10
				       : 99;

	return v < (int)base ? v : -1;
}

static bool parse_number(struct parser *ps, uint64_t *ret)
{
	bool neg = text_take(ps, "-");
	uint32_t base = text_take(ps, "0x") ? 16 : 10;
	uint64_t v = 0;

	if (digit_value(parser_peek(ps), base) < 0)
		return parse_fail(ps, "expected a number");
	for (int dig; (dig = digit_value(parser_peek(ps), base)) >= 0; ps->p++)
		if (__builtin_mul_overflow(v, base, &v) || __builtin_add_overflow(v, dig, &v))
			return parse_fail(ps, "number does not fit in 64 bits");
	*ret = neg ? 0 - v : v;
	return true;
}

static bool parse_small(struct parser *ps, uint32_t max, uint32_t *ret)
{
	uint64_t v = 0;

	if (!parse_number(ps, &v))
		return false;
	if (v > max)
		return parse_fail(ps, "number is larger than %u", max);
	*ret = (uint32_t)v;
	return true;
}

static bool parse_escape(struct parser *ps, struct strbuf *out)
{
	int hi, lo;
	char c = parser_peek(ps);

	switch (c) {
	case 'n': strbuf_addc(out, '\n'); break;
	case 't': strbuf_addc(out, '\t'); break;
	case '"':
	case '\\': strbuf_addc(out, c); break;
	case 'x':
		hi = ps->end - ps->p > 2 ? digit_value(ps->p[1], 16) : -1;
		lo = ps->end - ps->p > 2 ? digit_value(ps->p[2], 16) : -1;
		if (hi < 0 || lo < 0 || (hi == 0 && lo == 0))
			return parse_fail(ps, "bad \\x escape");
		strbuf_addc(out, (char)(hi << 4 | lo));
		ps->p += 2;
		break;
	default: return parse_fail(ps, "unknown escape in string");
	}
	ps->p++;
	return true;
}

/* Reads a string and appends it to out. */
static bool parse_string(struct parser *ps, struct strbuf *out)
{
	if (!text_take(ps, "\""))
		return parse_fail(ps, "expected a string");
	while (ps->p < ps->end && *ps->p != '"') {
		char c = *ps->p++;

		if (c == '\0')
			return parse_fail(ps, "NUL in string");
		if (c != '\\')
			strbuf_addc(out, c);
		else if (!parse_escape(ps, out))
			return false;
	}
	if (ps->p == ps->end)
		return parse_fail(ps, "string without end");
	ps->p++;
	return true;
}

/* ---- directives ------------------------------------------------------------------------------ */

static bool parse_word(struct parser *ps, uint32_t *attrs, enum attr limit)
{
	const char *name;
	uint32_t value;

	space_skip(ps);
	name = name_take(ps);
	if (!name)
		return parse_fail(ps, "expected an attribute");
	if (parser_peek(ps) == '=') {
		ps->p++;
		name = arena_printf(ps->arena, "%s=", name);
	}
	for (size_t i = 0; i < ARRAY_LEN(words); i++) {
		const struct word *w = &words[i];

		if (strcmp(w->text, name) != 0 || w->attr >= limit)
			continue;
		value = w->value;
		if (name[strlen(name) - 1] == '=' && !parse_small(ps, attr_max[w->attr], &value))
			return false;
		attrs[w->attr] = attr_is_set(w->attr) ? attrs[w->attr] | value : value;
		return true;
	}
	return parse_fail(ps, "unknown attribute '%s'", name);
}

static bool parse_words(struct parser *ps, uint32_t *attrs, enum attr limit)
{
	while (!line_is_done(ps))
		if (!parse_word(ps, attrs, limit))
			return false;
	return true;
}

static struct dif_type type_of_attrs(const uint32_t *attrs)
{
	return (struct dif_type){
		.kind = (uint8_t)attrs[ATTR_KIND],
		.ckind = (uint8_t)attrs[ATTR_CKIND],
		.flags = (uint8_t)attrs[ATTR_FLAGS],
		.is_signed = attrs[ATTR_SIGNED] != 0,
		.size = attrs[ATTR_SIZE],
	};
}

static bool parse_ret(struct parser *ps)
{
	uint32_t attrs[ATTR_LEN] = {0};

	if (!parse_words(ps, attrs, ATTR_FIRST_VAR))
		return false;
	ps->ret = type_of_attrs(attrs);
	return true;
}

static bool parse_var(struct parser *ps)
{
	uint32_t attrs[ATTR_LEN] = {0};
	struct dif_var v = {0};
	struct strbuf name = {0};
	bool good = parse_string(ps, &name) && parse_words(ps, attrs, ATTR_LEN);

	v.name = arena_strdup(ps->arena, strbuf_text(&name));
	strbuf_deinit(&name);
	if (!good)
		return false;
	v.id = attrs[ATTR_ID];
	v.scope = (uint8_t)attrs[ATTR_SCOPE];
	v.kind = (uint8_t)attrs[ATTR_VKIND];
	v.flags = (uint8_t)attrs[ATTR_VFLAGS];
	v.type = type_of_attrs(attrs);
	vec_push(&ps->vars, v);
	return true;
}

static bool parse_int(struct parser *ps)
{
	uint64_t v = 0;

	if (!parse_number(ps, &v))
		return false;
	vec_push(&ps->ints, v);
	return true;
}

static bool parse_str(struct parser *ps)
{
	if (!parse_string(ps, &ps->strs))
		return false;
	strbuf_addc(&ps->strs, '\0');
	return true;
}

static bool parse_raw(struct parser *ps)
{
	uint32_t v = 0;

	if (!parse_small(ps, UINT32_MAX, &v))
		return false;
	vec_push(&ps->code, v);
	return true;
}

static const struct {
	const char *name;
	bool (*parse)(struct parser *ps);
} directives[] = {
	{".int", parse_int}, {".str", parse_str},  {".var", parse_var},
	{".ret", parse_ret}, {".word", parse_raw},
};

/* ---- instructions ---------------------------------------------------------------------------- */

/* Reads an index as prefix N suffix, or as the number alone. */
static bool parse_index(struct parser *ps, const char *prefix, const char *suffix, uint32_t max,
			uint32_t *ret)
{
	bool full = text_take(ps, prefix);

	if (!parse_small(ps, max, ret))
		return false;
	return !full || text_take(ps, suffix) || parse_fail(ps, "expected '%s'", suffix);
}

static bool operand_reg(struct parser *ps, uint32_t *ret)
{
	return text_take(ps, "%r") ? parse_small(ps, 255, ret)
				   : parse_fail(ps, "expected a register");
}

static bool operand_int(struct parser *ps, uint32_t *ret)
{
	uint64_t v = 0;

	if (text_take(ps, "DT_INTEGER["))
		return parse_small(ps, 0xffff, ret) &&
		       (text_take(ps, "]") || parse_fail(ps, "expected ']'"));
	if (!parse_number(ps, &v))
		return false;
	for (*ret = 0; *ret < ps->ints.len; ++*ret)
		if (ps->ints.data[*ret] == v)
			return true;
	if (*ret > 0xffff)
		return parse_fail(ps, "integer table is full");
	vec_push(&ps->ints, v);
	return true;
}

static bool operand_str(struct parser *ps, uint32_t *ret)
{
	if (text_take(ps, "DT_STRING["))
		return parse_small(ps, 0xffff, ret) &&
		       (text_take(ps, "]") || parse_fail(ps, "expected ']'"));
	if (!ps->strs.len)
		strbuf_addc(&ps->strs, '\0');
	if (ps->strs.len > 0xffff)
		return parse_fail(ps, "string table is full");
	*ret = (uint32_t)ps->strs.len;
	return parse_str(ps);
}

static bool operand_var(struct parser *ps, uint32_t max, uint8_t scope, uint32_t *ret)
{
	const char *name;

	if (text_take(ps, "DT_VAR("))
		return parse_small(ps, max, ret) &&
		       (text_take(ps, ")") || parse_fail(ps, "expected ')'"));
	name = name_take(ps);
	if (!name)
		return parse_fail(ps, "expected a variable");
	for (uint32_t i = 0; i < ps->vars.len; i++) {
		const struct dif_var *v = &ps->vars.data[i];

		if (v->scope == scope && v->id <= max && strcmp(v->name, name) == 0) {
			*ret = v->id;
			return true;
		}
	}
	*ret = dif_builtin_by_name(name);
	return *ret <= max || parse_fail(ps, "unknown variable '%s'", name);
}

static bool operand_subr(struct parser *ps, uint32_t *ret)
{
	const char *name;

	if (text_take(ps, "DIF_SUBR("))
		return parse_small(ps, 0xffff, ret) &&
		       (text_take(ps, ")") || parse_fail(ps, "expected ')'"));
	name = name_take(ps);
	if (!name)
		return parse_fail(ps, "expected a subroutine");
	*ret = dif_subr_by_name(name);
	return *ret != UINT32_MAX || parse_fail(ps, "unknown subroutine '%s'", name);
}

static bool operand_target(struct parser *ps, uint32_t *ret)
{
	struct ref r = {.insn = ps->code.len, .line = ps->line};

	*ret = 0;
	r.name = name_take(ps);
	if (!r.name)
		return parse_small(ps, 0xffffff, ret);
	vec_push(&ps->refs, r);
	return true;
}

static bool parse_operand(struct parser *ps, char what, enum dif_op op, dif_insn *insn)
{
	uint32_t v = 0, shift = 8;
	bool good;

	/* clang-format off */
	switch (what) {
	case '1': shift = 16; good = operand_reg(ps, &v); break;
	case '2': good = operand_reg(ps, &v); break;
	case 'd': shift = 0; good = operand_reg(ps, &v); break;
	case 'L': shift = 0; good = operand_target(ps, &v); break;
	case 'I': good = operand_int(ps, &v); break;
	case 'S': good = operand_str(ps, &v); break;
	case 'V': good = operand_var(ps, 0xffff, dif_op_scope(op), &v); break;
	case 'A': shift = 16; good = operand_var(ps, 0xff, dif_op_scope(op), &v); break;
	case 'F': good = operand_subr(ps, &v); break;
	case 'T': shift = 16; good = parse_index(ps, "DT_TYPE(", ")", 0xff, &v); break;
	case 'X': good = parse_index(ps, "DT_XLREF[", "]", 0xffff, &v); break;
	case ' ': space_skip(ps); return true;
	default: return text_take(ps, (char[]){what, '\0'}) || parse_fail(ps, "expected '%c'", what);
	}
	/* clang-format on */
	*insn |= v << shift;
	return good;
}

static bool parse_insn(struct parser *ps, const char *name)
{
	enum dif_op op;
	dif_insn insn;

	for (uint32_t code = 1;; code++) {
		if (code > 0xff)
			return parse_fail(ps, "unknown instruction '%s'", name);
		op = (enum dif_op)code;
		if (dif_op_name(op) && strcmp(dif_op_name(op), name) == 0)
			break;
	}
	insn = (dif_insn)op << 24;
	for (const char *p = dif_syntax[dif_op_form(op)].operands; *p; p++)
		if (!parse_operand(ps, *p, op, &insn))
			return false;
	vec_push(&ps->code, insn);
	return true;
}

static bool parse_item(struct parser *ps, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(directives); i++)
		if (strcmp(directives[i].name, name) == 0)
			return directives[i].parse(ps);
	return name[0] == '.' ? parse_fail(ps, "unknown directive '%s'", name)
			      : parse_insn(ps, name);
}

static bool parse_line(struct parser *ps)
{
	const char *name;

	while (!line_is_done(ps)) {
		name = name_take(ps);
		if (!name)
			return parse_fail(ps, "expected an instruction or a directive");
		if (!text_take(ps, ":")) {
			if (!parse_item(ps, name))
				return false;
			return line_is_done(ps) ||
			       parse_fail(ps, "unexpected text at the end of the line");
		}
		if (name[0] == '.' || hashmap_finds(ps->labels, name))
			return parse_fail(ps, "bad or repeated label '%s'", name);
		hashmap_sets(ps->labels, name, (void *)((uintptr_t)ps->code.len + 1));
	}
	return true;
}

static bool parse_lines(struct parser *ps, const char *text)
{
	while (*text) {
		ps->line++;
		ps->p = text;
		ps->end = strchrnul(text, '\n');
		text = *ps->end ? ps->end + 1 : ps->end;
		if (!parse_line(ps))
			return false;
	}
	return true;
}

static bool refs_resolve(struct parser *ps)
{
	for (uint32_t i = 0; i < ps->refs.len; i++) {
		const struct ref *r = &ps->refs.data[i];
		uintptr_t at = (uintptr_t)hashmap_finds(ps->labels, r->name);

		ps->line = r->line;
		if (!at)
			return parse_fail(ps, "unknown label '%s'", r->name);
		if (at - 1 > 0xffffff)
			return parse_fail(ps, "label '%s' is too far", r->name);
		ps->code.data[r->insn] |= (dif_insn)(at - 1);
	}
	return true;
}

static void *to_arena(struct arena *a, const void *data, size_t len, size_t elem_size)
{
	return len ? arena_memdup(a, data, len * elem_size) : NULL;
}

static struct difo *difo_create(struct parser *ps)
{
	struct difo *d = ARENA_NEW(ps->arena, struct difo);

	d->code_len = ps->code.len;
	d->code = to_arena(ps->arena, ps->code.data, ps->code.len, sizeof(*d->code));
	d->ints_len = ps->ints.len;
	d->ints = to_arena(ps->arena, ps->ints.data, ps->ints.len, sizeof(*d->ints));
	d->strs_size = (uint32_t)ps->strs.len;
	d->strs = to_arena(ps->arena, ps->strs.data, ps->strs.len, 1);
	d->vars_len = ps->vars.len;
	d->vars = to_arena(ps->arena, ps->vars.data, ps->vars.len, sizeof(*d->vars));
	d->ret = ps->ret;
	return d;
}

struct err *difo_parse(struct arena *a, const char *text, struct difo **ret_difo)
{
	struct parser ps = {.arena = a, .labels = hashmap_create()};

	if (parse_lines(&ps, text) && refs_resolve(&ps))
		*ret_difo = difo_create(&ps);
	vec_deinit(&ps.code);
	vec_deinit(&ps.ints);
	vec_deinit(&ps.vars);
	vec_deinit(&ps.refs);
	strbuf_deinit(&ps.strs);
	hashmap_destroy(ps.labels);
	return ps.err;
}
