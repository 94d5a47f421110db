/* SPDX-License-Identifier: MIT */
/* The parser of the operands in notes. */
#include "usdt/operand.h"

#include <ctype.h>
#include <stdlib.h>

#include "arch/arch.h"

#define SYMBOL_MAX 256 /* bytes of a symbol's name */

struct parser {
	const char *p, *end; /* the text of one operand that is not parsed yet */
	uint64_t pc;
	const struct usdt_image *im;
	enum usdt_lack lack; /* why the last function has failed, if not for the form */
};

/* How the value of a symbol is meant, by the suffix that assemblers write behind its name. */
enum symbol_use {
	SYMBOL_PLAIN,	/* its address */
	SYMBOL_SLOT,	/* the word of the global offset table that has its address */
	SYMBOL_OFFSET,	/* its distance from that table, to whose address a register points */
	SYMBOL_THREAD,	/* its distance from the thread's base */
	SYMBOL_UNKNOWN, /* any other suffix */
};

/* The displacement of an operand in memory. */
struct displacement {
	uint64_t value; /* a sum modulo 2^64, as the processor's addresses are */
	bool has_symbol;
	enum symbol_use use;
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

static enum symbol_use symbol_use_get(const char *suffix)
{
	static const struct {
		const char *suffix;
		enum symbol_use use;
	} uses[] = {
		{"", SYMBOL_PLAIN},	    {"@GOTPCREL", SYMBOL_SLOT}, {"@GOT", SYMBOL_SLOT},
		{"@GOTOFF", SYMBOL_OFFSET}, {"@tpoff", SYMBOL_THREAD},
	};

	for (size_t i = 0; i < ARRAY_LEN(uses); i++)
		if (strcmp(uses[i].suffix, suffix) == 0)
			return uses[i].use;
	return SYMBOL_UNKNOWN;
}

/* Parses the name of a symbol, as in "foo", "foo+8" and "8+foo", and adds its value to d. */
static bool symbol_get(struct parser *ps, struct displacement *d)
{
	const char *name = ps->p;
	char text[SYMBOL_MAX], *suffix;
	uint64_t addr;
	size_t len;

	while (ps->p < ps->end && (isalnum((unsigned char)*ps->p) || strchr("_.$@", *ps->p)))
		ps->p++;
	len = (size_t)(ps->p - name);
	if (!len || len >= sizeof(text) || *name == '@')
		return false;
	memcpy(text, name, len);
	text[len] = '\0';
	suffix = strchrnul(text, '@');
	d->use = symbol_use_get(suffix);
	*suffix = '\0';
	if (d->use == SYMBOL_UNKNOWN || !ps->im->symbol ||
	    !ps->im->symbol(ps->im->ctx, text, d->use == SYMBOL_THREAD, &addr)) {
		ps->lack = USDT_LACK_SYMBOL;
		return false;
	}
	d->value += addr;
	d->has_symbol = true;
	return true;
}

/*
 * Parses the displacement before a parenthesis: a number, a symbol, or a sum of them; an empty
 * displacement is 0.
 */
static bool displacement_get(struct parser *ps, struct displacement *ret)
{
	*ret = (struct displacement){0};
	while (ps->p < ps->end && *ps->p != '(') {
		const char *at = ps->p;
		int64_t v;

		if (number_get(ps, &v)) {
			ret->value += (uint64_t)v;
			continue;
		}
		ps->p = at;
		(void)char_skip(ps, '+');
		if (ret->has_symbol || !symbol_get(ps, ret))
			return false;
	}
	return true;
}

/* Parses "(base,index,scale)", of which any part may be missing. */
static bool registers_get(struct parser *ps, struct usdt_operand *o)
{
	int64_t scale = 1;
	uint32_t size;

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
	return char_skip(ps, ')') && ps->p == ps->end;
}

/*
 * Makes the address of a symbol count from the probe's instruction, because a file is mapped where
 * there is room. False if the operand does not say how far the file has moved.
 */
static bool symbol_relocate(struct parser *ps, const struct displacement *d, struct usdt_operand *o)
{
	bool has_pc = o->has_base && o->base == arch.pc;

	ps->lack = USDT_LACK_SYMBOL;
	switch (d->use) {
	case SYMBOL_PLAIN:
		if (!has_pc)
			return ps->im->is_fixed;
		break;
	case SYMBOL_SLOT: /* the table has the address that the symbol has */
		if (!o->has_base || o->has_index || !ps->im->is_program)
			return false;
		o->kind = USDT_OPERAND_ADDRESS;
		break;
	case SYMBOL_OFFSET:
		if (!o->has_base || has_pc)
			return false;
		break;
	case SYMBOL_THREAD: return o->is_thread && ps->im->is_program;
	case SYMBOL_UNKNOWN: return false;
	}
	o->has_base = true;
	o->base = arch.pc;
	o->disp = (int64_t)((uint64_t)o->disp - ps->pc);
	return true;
}

/* Parses "disp(base,index,scale)", of which any part may be missing. */
static bool memory_get(struct parser *ps, struct usdt_operand *o)
{
	const char *begin = ps->p;
	struct displacement d;

	o->kind = USDT_OPERAND_MEMORY;
	o->scale = 1;
	if (!displacement_get(ps, &d))
		return false;
	o->disp = (int64_t)d.value;
	if (ps->p == ps->end ? ps->p == begin : !registers_get(ps, o))
		return false;
	if (d.has_symbol)
		return symbol_relocate(ps, &d, o);
	/* without a symbol, an address that counts from the instruction has no meaning */
	return !(o->has_base && o->base == arch.pc);
}

/* Parses "%fs:", the prefix of memory that each thread has for itself. */
static bool thread_skip(struct parser *ps)
{
	size_t len = strlen(arch.thread_prefix);

	if ((size_t)(ps->end - ps->p) <= len || strncmp(ps->p, arch.thread_prefix, len) != 0)
		return false;
	ps->p += len;
	return true;
}

/* Parses the part of an operand that says where the value is. */
static bool location_get(struct parser *ps, struct usdt_operand *o)
{
	uint32_t width;

	if (char_skip(ps, '$')) {
		o->kind = USDT_OPERAND_CONST;
		return number_get(ps, &o->disp) && ps->p == ps->end;
	}
	if (thread_skip(ps)) {
		ps->lack = USDT_LACK_THREAD;
		o->is_thread = true;
		return !o->is_32bit && memory_get(ps, o);
	}
	if (ps->p < ps->end && *ps->p == '%') {
		const char *name = ps->p + 1;

		o->kind = USDT_OPERAND_REGISTER;
		if (register_get(ps, &o->base, &width) && ps->p == ps->end)
			return true;
		if (memchr(name, ':', (size_t)(ps->end - name)))
			ps->lack = USDT_LACK_THREAD;
		else if (arch.is_vector(name, (size_t)(ps->end - name)))
			ps->lack = USDT_LACK_VECTOR;
		return false;
	}
	return memory_get(ps, o);
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

static struct usdt_operand operand_parse(struct parser ps)
{
	struct usdt_operand o = {.is_32bit = ps.im->word == 4};

	size_get(&ps, ps.im->word, &o);
	if (!location_get(&ps, &o) || !o.size)
		o = (struct usdt_operand){.kind = USDT_OPERAND_NONE,
					  .lack = (uint8_t)ps.lack,
					  .size = o.size ? o.size : 8,
					  .is_signed = o.is_signed,
					  .is_float = o.is_float};
	return o;
}

void usdt_operands_parse(const char *text, uint64_t pc, const struct usdt_image *im,
			 struct usdt_operands *ret)
{
	*ret = (struct usdt_operands){0};
	while (*text && ret->n < USDT_OPERANDS_MAX) {
		struct parser ps = {.pc = pc, .im = im};
		uint32_t depth = 0;

		text += strspn(text, " ");
		ps.p = text;
		for (; *text && (*text != ' ' || depth); text++) {
			depth += *text == '(';
			depth -= *text == ')' && depth;
		}
		ps.end = text;
		if (ps.p < ps.end)
			ret->list[ret->n++] = operand_parse(ps);
	}
}
