/* The parser of the operands in notes. */
#include "usdt/operand.h"

#include <ctype.h>
#include <stdlib.h>

#include "arch/arch.h"

#define SYMBOL_MAX 256 /* bytes of a symbol's name */

struct parser {
	const char *p, *end; /* the text of one operand that is not parsed yet */
	uint64_t pc;
	usdt_symbol_f *symbol;
	void *ctx;
};

static bool char_skip(struct parser *ps, char c)
{
	if (ps->p >= ps->end || *ps->p != c)
		return false;
	ps->p++;
	return true;
}

static bool number_get(struct parser *ps, int64_t *ret)
{
	bool is_negative = char_skip(ps, '-');
	uint64_t v = 0;
	uint32_t base = 10, digits = 0;

	if (!is_negative)
		(void)char_skip(ps, '+');
	if (ps->end - ps->p > 2 && ps->p[0] == '0' && tolower((unsigned char)ps->p[1]) == 'x') {
		base = 16;
		ps->p += 2;
	}
	for (; ps->p < ps->end && isxdigit((unsigned char)*ps->p); ps->p++, digits++) {
		uint32_t d = isdigit((unsigned char)*ps->p)
				     ? (uint32_t)(*ps->p - '0')
				     : (uint32_t)(tolower((unsigned char)*ps->p) - 'a' + 10);

		if (d >= base)
			break;
		v = v * base + d;
	}
	*ret = (int64_t)(is_negative ? 0 - v : v);
	return digits > 0;
}

/* Parses a register such as "%rax": returns its offset in struct pt_regs, and its size. */
static bool register_get(struct parser *ps, uint32_t *ret_off, uint32_t *ret_size)
{
	const char *name;

	if (!char_skip(ps, '%'))
		return false;
	name = ps->p;
	while (ps->p < ps->end && isalnum((unsigned char)*ps->p))
		ps->p++;
	return arch.register_find(name, (size_t)(ps->p - name), ret_off, ret_size);
}

/* Parses the name of a symbol, as in "foo", "foo+8" and "8+foo", and adds its address to disp. */
static bool symbol_get(struct parser *ps, int64_t *disp)
{
	const char *name = ps->p;
	char text[SYMBOL_MAX];
	uint64_t addr;
	size_t len;

	while (ps->p < ps->end && (isalnum((unsigned char)*ps->p) || strchr("_.$@", *ps->p)))
		ps->p++;
	len = (size_t)(ps->p - name);
	if (!len || len >= sizeof(text) || !ps->symbol)
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	if (!ps->symbol(ps->ctx, text, &addr))
		return false;
	*disp += (int64_t)addr;
	return true;
}

/*
 * Parses the displacement before a parenthesis: a number, a symbol, or a sum of them; an empty
 * displacement is 0.
 */
static bool displacement_get(struct parser *ps, int64_t *ret, bool *ret_has_symbol)
{
	*ret = 0;
	*ret_has_symbol = false;
	while (ps->p < ps->end && *ps->p != '(') {
		const char *at = ps->p;
		int64_t v;

		if (number_get(ps, &v)) {
			*ret += v;
			continue;
		}
		ps->p = at;
		(void)char_skip(ps, '+');
		if (*ret_has_symbol || !symbol_get(ps, ret))
			return false;
		*ret_has_symbol = true;
	}
	return true;
}

/* Parses "disp(base,index,scale)", of which any part may be missing. */
static bool memory_get(struct parser *ps, struct usdt_operand *o)
{
	uint32_t size;
	const char *begin = ps->p;
	bool has_symbol;
	int64_t scale = 1;

	o->kind = USDT_OPERAND_MEMORY;
	o->scale = 1;
	if (!displacement_get(ps, &o->disp, &has_symbol))
		return false;
	if (ps->p == ps->end && ps->p > begin)
		/*
		 * An absolute address is refused if it has a symbol, which may be mapped elsewhere.
		 */
		return !has_symbol;
	if (!char_skip(ps, '('))
		return false;
	if (ps->p < ps->end && *ps->p == '%') {
		o->has_base = register_get(ps, &o->base, &size);
		if (!o->has_base)
			return false;
	}
	if (char_skip(ps, ',')) {
		o->has_index = register_get(ps, &o->index, &size);
		if (!o->has_index)
			return false;
		if (char_skip(ps, ',') && (!number_get(ps, &scale) || scale < 1 || scale > 8))
			return false;
		o->scale = (uint8_t)scale;
	}
	/* A symbol must come with the program counter, and disp then counts from the probe. */
	if (has_symbol != (o->has_base && o->base == arch.pc))
		return false;
	if (has_symbol)
		o->disp -= (int64_t)ps->pc;
	return char_skip(ps, ')') && ps->p == ps->end;
}

/* Parses the size of an operand, "-4@" or "8f@"; an operand without one has that of a pointer. */
static void size_get(struct parser *ps, uint32_t word, struct usdt_operand *o)
{
	const char *at = ps->p;
	int64_t size;

	o->size = (uint8_t)word;
	if (!number_get(ps, &size)) {
		ps->p = at;
		return;
	}
	o->is_float = char_skip(ps, 'f');
	if (!char_skip(ps, '@')) {
		ps->p = at;
		return;
	}
	o->is_signed = size < 0 && !o->is_float;
	size = size < 0 ? -size : size;
	o->size = size == 1 || size == 2 || size == 4 || size == 8 ? (uint8_t)size : 0;
}

static struct usdt_operand operand_parse(struct parser ps, uint32_t word)
{
	struct usdt_operand o = {0};
	uint32_t width;
	bool is_good;

	size_get(&ps, word, &o);
	if (char_skip(&ps, '$')) {
		o.kind = USDT_OPERAND_CONST;
		is_good = number_get(&ps, &o.disp) && ps.p == ps.end;
	} else if (ps.p < ps.end && *ps.p == '%') {
		o.kind = USDT_OPERAND_REGISTER;
		is_good = register_get(&ps, &o.base, &width) && ps.p == ps.end;
	} else {
		is_good = memory_get(&ps, &o);
	}
	if (!is_good || !o.size)
		o = (struct usdt_operand){.kind = USDT_OPERAND_NONE,
					  .size = o.size ? o.size : 8,
					  .is_signed = o.is_signed,
					  .is_float = o.is_float};
	return o;
}

void usdt_operands_parse(const char *text, uint64_t pc, uint32_t word, usdt_symbol_f *symbol,
			 void *ctx, struct usdt_operands *ret)
{
	*ret = (struct usdt_operands){0};
	while (*text && ret->n < USDT_OPERANDS_MAX) {
		struct parser ps = {.pc = pc, .symbol = symbol, .ctx = ctx};
		uint32_t depth = 0;

		text += strspn(text, " ");
		ps.p = text;
		for (; *text && (*text != ' ' || depth); text++) {
			depth += *text == '(';
			depth -= *text == ')' && depth;
		}
		ps.end = text;
		if (ps.p < ps.end)
			ret->list[ret->n++] = operand_parse(ps, word);
	}
}
