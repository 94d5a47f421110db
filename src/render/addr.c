/* Text of addresses and stacks (d-language.md 6.6, 6.7). */
#include "render/impl.h"

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
	case DATUM_UADDR: return ADDR_FULL;
	}
	BUG("datum kind %d", (int)kind);
}

static void out_hex(struct out *o, uint64_t v)
{
	struct spec s = {0, -1, -1};

	out_adds(o, "0x");
	out_unsigned(o, &s, v, 16, false);
}

/* Offset from where the object begins in memory. */
static void raw_text(struct printer *p, struct out *o, uint64_t pid, uint64_t addr,
		     const char *object)
{
	out_adds(o, object);
	out_addc(o, ':');
	out_hex(o, addr - syms_start(p->syms, pid, addr, true));
}

/* " at FILE:LINE"; false: it is not known. */
static bool line_text(struct printer *p, struct out *o, const struct position *at)
{
	CLEANUP(free) char *file = NULL;
	struct sym_line line;

	if (!syms_line(p->syms, at->pid, at->addr - at->is_return, &line))
		return false;
	file = text_clean(xstrdup(line.file));
	out_adds(o, " at ");
	out_adds(o, file);
	out_addf(o, ":%u", line.line);
	return true;
}

static void offset_text(struct out *o, const struct sym_name *n)
{
	if (n->name && n->off) {
		out_addc(o, '+');
		out_hex(o, n->off);
	}
}

static void name_text(struct out *o, const struct position *at, const struct sym_name *n,
		      enum addr_form form)
{
	out_adds(o, n->object);
	if (form == ADDR_MOD)
		return;
	out_addc(o, '`');
	if (!n->name && at->is_handler_call) {
		out_adds(o, "<signal handler called>"); /* as in gdb */
		return;
	}
	if (!n->name) {
		out_hex(o, at->addr);
		return;
	}
	out_adds(o, n->name);
	if (form == ADDR_FULL)
		offset_text(o, n);
}

static bool is_merged(enum addr_form form)
{
	return form == ADDR_FUNC || form == ADDR_LINE;
}

bool place_find(struct printer *p, const struct position *at, struct sym_name *ret)
{
	return p->syms && (at->is_return ? syms_find_caller(p->syms, at->pid, at->addr, ret)
					 : syms_find(p->syms, at->pid, at->addr, ret));
}

void place_text(struct printer *p, struct out *o, const struct position *at, enum addr_form form)
{
	struct sym_name n;

	if (!place_find(p, at, &n)) {
		out_hex(o, at->addr);
		return;
	}
	if ((at->pid && p->opts->noresolve && form != ADDR_MOD) ||
	    (is_merged(form) && !n.name && !at->is_handler_call)) {
		raw_text(p, o, at->pid, at->addr, n.object);
		return;
	}
	name_text(o, at, &n, form);
	if (form == ADDR_FULL && p->opts->lines)
		(void)line_text(p, o, at);
	if (form == ADDR_LINE && !line_text(p, o, at))
		offset_text(o, &n);
}

void addr_text(struct printer *p, struct out *o, uint64_t pid, uint64_t addr, enum addr_form form)
{
	const struct position at = {.pid = pid, .addr = addr};

	place_text(p, o, &at, form);
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

/* What is in a user stack instead of a frame when the walk could not go on. */
static bool is_cut(uint64_t pid, uint64_t word)
{
	return pid && word == RT_USTACK_CUT;
}

/* Frame i. A function that an interrupt stopped stands behind one that begins with "asm_" (Linux
 * arch/x86/include/asm/idtentry.h). */
static struct position kframe_place(struct printer *p, const char *pcs, uint32_t i, bool is_traced)
{
	struct position at = {.addr = word_at(pcs, i), .is_return = i > 0 || is_traced};
	struct sym_name n;

	if (i > 0 && p->syms && syms_find_caller(p->syms, 0, word_at(pcs, i - 1), &n))
		at.is_return = !n.name || strncmp(n.name, "asm_", 4) != 0;
	return at;
}

/* What a handler returns to, and what was interrupted, are both exact. */
static struct position uframe_place(uint64_t pid, const char *pcs, uint32_t i, uint32_t n)
{
	uint64_t pc = word_at(pcs, i), next = i + 1 < n ? word_at(pcs, i + 1) : 0;
	bool is_exact = pc & RT_USTACK_EXACT;

	return (struct position){
		.pid = pid,
		.addr = pc & ~RT_USTACK_EXACT,
		.is_return = i > 0 && !is_exact,
		.is_handler_call = i > 0 && is_exact && (next & RT_USTACK_EXACT),
	};
}

enum addr_form stack_form(const struct printer *p, const struct datum *d)
{
	if (!d->is_merged)
		return ADDR_FULL;
	return p->opts->stackmerge == PRINT_MERGE_LINE ? ADDR_LINE : ADDR_FUNC;
}

/* kernel: PCs; user: pid, PCs. A zero ends them. */
void walk_stack(struct printer *p, const struct datum *d, frame_func *f, void *ctx)
{
	uint32_t n = d->bytes ? d->size / (uint32_t)sizeof(uint64_t) : 0;
	const char *pcs = d->bytes;
	uint64_t pid = 0;

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
		struct position at =
			pid ? uframe_place(pid, pcs, i, n) : kframe_place(p, pcs, i, d->is_traced);

		f(ctx, is_cut(pid, word_at(pcs, i)) ? NULL : &at);
	}
}

/* Frames as lines. */
struct frame_lines {
	struct printer *p;
	struct out *o;
	enum addr_form form;
	uint32_t indent;
};

static void frame_line(void *ctx, const struct position *at)
{
	struct frame_lines *f = ctx;

	out_pad(f->o, ' ', f->indent);
	if (at)
		place_text(f->p, f->o, at, f->form);
	else
		out_adds(f->o, "[cut]");
	out_addc(f->o, '\n');
}

void print_stack(struct printer *p, struct out *o, const struct datum *d, uint32_t indent)
{
	struct frame_lines f = {p, o, stack_form(p, d), indent};

	out_addc(o, '\n');
	walk_stack(p, d, frame_line, &f);
}

/* The text that is printed: what reads the same is the same. */
void printer_stack_name(struct printer *p, enum datum_kind kind, const char *bytes, uint32_t size,
			struct strbuf *out)
{
	const struct datum d = {.kind = kind, .size = size, .bytes = bytes, .is_merged = true};
	struct out text = {0};

	print_stack(p, &text, &d, 0);
	strbuf_add(out, text.data, text.len);
	out_deinit(&text);
}
