/* SPDX-License-Identifier: MIT */
/* Text of addresses and stacks (d-language.md 6.6, 6.7). */
#include "render/impl.h"

#include "base/text.h"
#include "sym/sym.h"

static void out_hex(struct strbuf *o, uint64_t v)
{
	struct spec s = {0, -1, -1};

	strbuf_adds(o, "0x");
	out_unsigned(o, &s, v, 16, false);
}

/* Adds the object and the offset from its start in memory. */
static void raw_text(struct printer *p, struct strbuf *o, uint64_t pid, uint64_t addr,
		     const char *object)
{
	strbuf_adds(o, object);
	strbuf_addc(o, ':');
	out_hex(o, addr - syms_start(p->syms, pid, addr, true));
}

/* Adds a text of the traced process without bytes that could control the terminal. */
static void clean_text(struct strbuf *o, const char *text)
{
	CLEANUP(free) char *clean = text_clean(xstrdup(text));

	strbuf_adds(o, clean);
}

/* Adds " at FILE:LINE"; false: the line is unknown. */
static bool line_text(struct printer *p, struct strbuf *o, const struct position *at)
{
	CLEANUP(free) char *file = NULL;
	struct sym_line line;

	if (!syms_line(p->syms, at->pid, at->addr - at->is_return, &line))
		return false;
	file = text_clean(xstrdup(line.file));
	strbuf_adds(o, " at ");
	strbuf_adds(o, file);
	strbuf_addf(o, ":%u", line.line);
	return true;
}

static void offset_text(struct strbuf *o, const struct sym_name *n)
{
	if (n->name && n->off) {
		strbuf_addc(o, '+');
		out_hex(o, n->off);
	}
}

/* Whether the text must not depend on the process. */
static bool is_merged(enum addr_form form)
{
	return form == ADDR_FUNC || form == ADDR_LINE;
}

/*
 * Adds the address of code or data that has no name. The address in the file is the same in all
 * processes, so that stacks of a stripped program read the same, and addr2line, objdump and nm know
 * it. Of generated code, and of files that could not be read, only the address in the process is
 * known.
 */
static void unnamed_text(struct printer *p, struct strbuf *o, const struct position *at,
			 const struct sym_name *n, enum addr_form form)
{
	if (n->has_file_addr && (!p->opts->absaddr || is_merged(form))) {
		strbuf_addc(o, '+');
		out_hex(o, n->file_addr);
	} else {
		out_hex(o, at->addr);
	}
}

static void name_text(struct printer *p, struct strbuf *o, const struct position *at,
		      const struct sym_name *n, enum addr_form form)
{
	strbuf_adds(o, n->object);
	if (form == ADDR_MOD)
		return;
	strbuf_addc(o, '`');
	if (!n->name && at->is_handler_call) {
		strbuf_adds(o, "<signal handler called>"); /* gdb prints the same text */
		return;
	}
	if (!n->name) {
		unnamed_text(p, o, at, n, form);
		return;
	}
	strbuf_adds(o, n->name);
	if (form == ADDR_FULL)
		offset_text(o, n);
}

void position_text(struct printer *p, struct strbuf *o, const struct position *at,
		   enum addr_form form)
{
	struct sym_name n;

	if (at->is_language) {
		clean_text(o, at->helper + (*at->helper == '@'));
		return;
	}
	bool is_known = position_find(p, at, &n);

	/* generated code may lie in a file of memory, without symbols */
	if ((!is_known || !n.name) && at->helper && *at->helper != '@') {
		clean_text(o, at->helper);
		return;
	}
	if (!is_known) {
		out_hex(o, at->addr);
		return;
	}
	if ((at->pid && p->opts->noresolve && form != ADDR_MOD) ||
	    (is_merged(form) && !n.name && !n.has_file_addr && !at->is_handler_call)) {
		raw_text(p, o, at->pid, at->addr, n.object);
		return;
	}
	name_text(p, o, at, &n, form);
	if (form == ADDR_FULL && p->opts->lines)
		(void)line_text(p, o, at);
	if (form == ADDR_LINE && !line_text(p, o, at))
		offset_text(o, &n);
}

void addr_text(struct printer *p, struct strbuf *o, uint64_t pid, uint64_t addr,
	       enum addr_form form)
{
	const struct position at = {.pid = pid, .addr = addr};

	position_text(p, o, &at, form);
}

/* ---- stacks --------------------------------------------------------------------------------- */

/* The state of printing frames as lines. */
struct frame_lines {
	struct printer *p;
	struct strbuf *o;
	enum addr_form form;
	uint32_t indent;
};

/* d-language.md 6.6 */
static void annotation_add(struct strbuf *o, const char *text)
{
	strbuf_adds(o, "  [ ");
	clean_text(o, text);
	strbuf_adds(o, " ]\n");
}

static void frame_line(void *ctx, const struct position *at)
{
	struct frame_lines *f = ctx;

	strbuf_pad(f->o, ' ', f->indent);
	if (at->is_language && *at->helper == '@') {
		annotation_add(f->o, at->helper + 1);
		return;
	}
	if (at->mark)
		strbuf_adds(f->o, mark_text(at->mark));
	else
		position_text(f->p, f->o, at, f->form);
	strbuf_addc(f->o, '\n');
	if (at->helper && !at->is_language && *at->helper == '@') {
		strbuf_pad(f->o, ' ', f->indent);
		annotation_add(f->o, at->helper + 1);
	}
}

void print_stack(struct printer *p, struct strbuf *o, const struct datum *d, uint32_t indent)
{
	struct frame_lines f = {p, o, stack_form(p, d), indent};

	strbuf_addc(o, '\n');
	walk_stack(p, d, frame_line, &f);
}

/* The printed text is the name: stacks that read the same are the same. */
void printer_stack_name(struct printer *p, enum datum_kind kind, const char *bytes, uint32_t size,
			uint64_t time, struct strbuf *out)
{
	const struct datum d = {.kind = kind,
				.size = size,
				.bytes = bytes,
				.time = time,
				.is_merged = true};
	struct strbuf text = {0};

	print_stack(p, &text, &d, 0);
	strbuf_add(out, text.data, text.len);
	strbuf_deinit(&text);
}
