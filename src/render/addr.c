/* SPDX-License-Identifier: MIT */
/* Addresses and stacks: decodes recorded ones, and finds the name of each frame. */
#include "render/impl.h"

#include "arch/arch.h"
#include "sym/sym.h"

enum addr_form addr_form_of(enum datum_kind kind)
{
	switch (kind) {
	case DATUM_SYM:
	case DATUM_USYM: return ADDR_SYM;
	case DATUM_MOD:
	case DATUM_UMOD: return ADDR_MOD;
	case DATUM_INT:
	case DATUM_STRING:
	case DATUM_BYTES:
	case DATUM_MEMORY:
	case DATUM_STRUCT:
	case DATUM_STACK:
	case DATUM_USTACK:
	case DATUM_STACKID:
	case DATUM_UADDR: return ADDR_FULL;
	}
	BUG("datum kind %d", (int)kind);
}

bool position_find(struct printer *p, const struct position *at, struct sym_name *ret)
{
	return p->syms && (at->is_return ? syms_find_caller(p->syms, at->pid, at->addr, ret)
					 : syms_find(p->syms, at->pid, at->addr, ret));
}

static uint64_t word_at(const char *bytes, uint32_t i)
{
	uint64_t v;

	memcpy(&v, bytes + i * sizeof(v), sizeof(v));
	return v;
}

void addr_of_datum(const struct datum *d, uint64_t *ret_pid, uint64_t *ret_addr)
{
	bool has_pid = d->bytes && d->size >= 2 * sizeof(uint64_t);

	*ret_pid = has_pid ? word_at(d->bytes, 0) : 0;
	*ret_addr = has_pid ? word_at(d->bytes, 1) : datum_int(d);
}

/* ---- stacks --------------------------------------------------------------------------------- */

static const char *const marks[RT_USTACK_MARKS] = {
/* clang-format off */
#define USTACK_MARK(id, word, text) [word] = text,
#include "record/marks.def"
	/* clang-format on */
};

/* The mark that the word of a user stack is; 0: it is none. */
static uint64_t mark_of(const struct datum *d, uint64_t word)
{
	bool is_mark = d->kind == DATUM_USTACK && word < RT_USTACK_MARKS && marks[word];

	return is_mark ? word : 0;
}

const char *async_text(const char *text)
{
	static const char async[] = "async ";

	return strncmp(text, async, sizeof(async) - 1) == 0 ? text + sizeof(async) - 1 : NULL;
}

const char *mark_text(uint64_t mark)
{
	return mark < RT_USTACK_MARKS && marks[mark] ? marks[mark] : marks[RT_USTACK_CUT];
}

/*
 * Frame i of a kernel stack. Its address is a return address, except that of a function that an
 * interrupt stopped: its frame is behind the function by which the interrupt entered the kernel.
 */
static struct position kframe_position(struct printer *p, const char *pcs, uint32_t i,
				       bool is_traced)
{
	struct position at = {.addr = word_at(pcs, i), .is_return = i > 0 || is_traced};
	struct sym_name n;

	if (i > 0 && p->syms && syms_find_caller(p->syms, 0, word_at(pcs, i - 1), &n))
		at.is_return = !n.name || strncmp(n.name, arch.interrupt_prefix,
						  strlen(arch.interrupt_prefix)) != 0;
	return at;
}

/* Whether the word is the name of the frame before it. */
static bool is_name(uint64_t word)
{
	return (word & (RT_USTACK_EXACT | RT_USTACK_NAME | RT_USTACK_LANG)) == RT_USTACK_NAME;
}

/* Whether the word is a frame that a ustack helper has found. */
static bool is_language(uint64_t word)
{
	return (word & (RT_USTACK_EXACT | RT_USTACK_NAME | RT_USTACK_LANG)) ==
	       (RT_USTACK_NAME | RT_USTACK_LANG);
}

/* The text that such a word stands for, or NULL. */
static const char *word_text(struct printer *p, uint64_t word)
{
	const char *text;

	p->helper.len = 0;
	if (!p->aggs || !aggs_text(p->aggs, word & ~RT_USTACK_LANG, &p->helper))
		return NULL;
	text = strbuf_text(&p->helper);
	return text + (*text == RT_USTACK_STUB);
}

/*
 * Whether the word is about the frame of an address before it: a name, or a frame of the language.
 */
static bool is_of_helper(uint64_t word)
{
	return (word & (RT_USTACK_EXACT | RT_USTACK_NAME)) == RT_USTACK_NAME;
}

/*
 * The text that a ustack helper gave for frame i, or NULL. Frames of the language that the helper
 * has added may stand before it.
 */
static const char *uframe_helper(struct printer *p, const char *pcs, uint32_t i, uint32_t n)
{
	for (i++; i < n && is_of_helper(word_at(pcs, i)); i++)
		if (is_name(word_at(pcs, i)))
			return word_text(p, word_at(pcs, i));
	return NULL;
}

/*
 * Frame i of a user stack. The code to which a signal handler returns, and the interrupted
 * instruction, are exact addresses, not return addresses.
 */
static struct position uframe_position(struct printer *p, uint64_t pid, const char *pcs, uint32_t i,
				       uint32_t n)
{
	const char *helper = uframe_helper(p, pcs, i, n);
	uint64_t pc = word_at(pcs, i), next;
	bool is_exact = pc & RT_USTACK_EXACT;
	uint32_t follows = i + 1;

	while (follows < n && is_of_helper(word_at(pcs, follows)))
		follows++;
	next = follows < n ? word_at(pcs, follows) : 0;

	return (struct position){
		.pid = pid,
		.addr = pc & ~RT_USTACK_EXACT,
		.is_return = i > 0 && !is_exact,
		.is_handler_call = i > 0 && is_exact && (next & RT_USTACK_EXACT),
		.helper = helper,
	};
}

/* A frame of the language that the program is written in; it has no address. */
static struct position language_position(struct printer *p, uint64_t pid, uint64_t word)
{
	const char *text = word_text(p, word);

	return (struct position){.pid = pid, .is_language = true, .helper = text ? text : "?"};
}

enum addr_form stack_form(const struct printer *p, const struct datum *d)
{
	if (!d->is_merged)
		return ADDR_FULL;
	return p->opts->stackmerge == PRINT_MERGE_LINE ? ADDR_LINE : ADDR_FUNC;
}

/* A kernel stack is a list of PCs, a user stack pid, PCs and their names; a zero ends the list. */
void walk_stack(struct printer *p, const struct datum *d, frame_func *f, void *ctx)
{
	uint32_t n = d->bytes ? d->size / (uint32_t)sizeof(uint64_t) : 0;
	const char *pcs = d->bytes;
	uint64_t pid = 0, time = p->syms ? syms_time(p->syms) : 0;

	if (p->syms && d->time)
		syms_at(p->syms, d->time);
	if (d->kind == DATUM_USTACK && n) {
		pid = word_at(pcs, 0);
		pcs += sizeof(pid);
		n--;
	} else {
		if (d->is_traced && p->syms)
			syms_trim(p->syms, &pcs, &n);
		n = d->frames ? MIN(n, d->frames) : n;
	}
	for (uint32_t i = 0; i < n && word_at(pcs, i) != 0; i++) {
		uint64_t mark = mark_of(d, word_at(pcs, i));
		struct position at;

		if (mark) {
			f(ctx, &(struct position){.pid = pid, .mark = mark});
			continue;
		}
		if (pid && is_name(word_at(pcs, i)))
			continue;
		if (pid && is_language(word_at(pcs, i)))
			at = language_position(p, pid, word_at(pcs, i));
		else
			at = pid ? uframe_position(p, pid, pcs, i, n)
				 : kframe_position(p, pcs, i, d->is_traced);
		f(ctx, &at);
	}
	if (p->syms && d->time)
		syms_at(p->syms, time);
}
