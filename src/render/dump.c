/* SPDX-License-Identifier: MIT */
/* Shows the stacks of all threads of a process. */
#include "render/dump.h"

#include <inttypes.h>

#include "base/text.h"
#include "sym/sym.h"
#include "helper/dump.h"
#include "render/json.h"
#include "render/print.h"

#define INDENT 4

static const char *state_text(char state)
{
	switch (state) {
	case 'R': return "running";
	case 'S': return "sleeping";
	case 'D': return "waiting in the kernel";
	case 'T': return "stopped";
	case 't': return "traced";
	case 'I':
	case 'P': return "idle";
	default: return NULL;
	}
}

static dtrace_frame_t frame_of(const struct dump *d, const struct dump_form *how,
			       const struct replay_frame *f)
{
	bool is_language = f->kind == REPLAY_LANGUAGE;

	return (dtrace_frame_t){
		.dtf_addr = f->pc,
		.dtf_pid = (pid_t)d->named,
		.dtf_flags = (is_language    ? DTRACE_FRAME_LANGUAGE
			      : f->is_return ? DTRACE_FRAME_RETURN
					     : 0) |
			     (how->opts->stackmerge > 0 ? DTRACE_FRAME_MERGED : 0),
		.dtf_helper = f->text,
	};
}

/* Why the stack ends before its end; NULL: it does not. */
static const char *end_text(const struct dump_thread *t)
{
	return t->is_cut    ? "the stack is cut here: the caller of this frame cannot be found"
	       : t->is_full ? "the stack is cut here: it has more frames than any stack can have"
			    : NULL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void helper_text_add(struct strbuf *out, const char *text)
{
	CLEANUP(free) char *clean = text_clean(xstrdup(text));

	if (*clean == '@')
		strbuf_addf(out, "%*s  [ %s ]\n", INDENT, "", clean + 1);
	else
		strbuf_addf(out, "%*s%s\n", INDENT, "", clean);
}

static void native_text_add(const struct dump_form *how, const dtrace_frame_t *f,
			    struct strbuf *out)
{
	struct sym_name name = {0};
	struct strbuf text = {0};
	bool is_known = print_frame_find(how->syms, how->opts, f, &name) && name.name;

	if (!is_known && f->dtf_helper && *f->dtf_helper != '@') {
		helper_text_add(out, f->dtf_helper);
		return;
	}
	print_frame_text(how->syms, how->opts, f, &text);
	if (text.len)
		(void)text_clean(text.data);
	strbuf_addf(out, "%*s%s\n", INDENT, "", strbuf_text(&text));
	strbuf_deinit(&text);
	if (f->dtf_helper && *f->dtf_helper == '@')
		helper_text_add(out, f->dtf_helper);
}

/* Adds the lines of a stack. */
static void stack_text_add(const struct dump *d, const struct dump_form *how,
			   const struct dump_thread *t, struct strbuf *out)
{
	const char *end = end_text(t);

	for (uint32_t i = 0; i < t->frames.len; i++) {
		dtrace_frame_t f = frame_of(d, how, &t->frames.data[i]);

		if (t->frames.data[i].kind == REPLAY_LANGUAGE)
			helper_text_add(out, t->frames.data[i].text);
		else
			native_text_add(how, &f, out);
	}
	if (t->missing)
		strbuf_addf(out, "%*s(%s)\n", INDENT, "", t->missing);
	if (end)
		strbuf_addf(out, "%*s(%s)\n", INDENT, "", end);
}

/* Adds who it is: "4711 (name), sleeping". */
static void thread_text_add(const struct dump_thread *t, struct strbuf *out)
{
	CLEANUP(free) char *name = text_clean(xstrdup(t->name));
	const char *state = state_text(t->state);

	strbuf_addf(out, "%d", (int)t->tid);
	if (t->inner != t->tid)
		strbuf_addf(out, " = %d in its container", (int)t->inner);
	if (*name)
		strbuf_addf(out, " (%s)", name);
	if (state)
		strbuf_addf(out, ", %s", state);
}

void dump_text(const struct dump *d, const struct dump_form *how, struct strbuf *out)
{
	uint32_t n = d->threads.len;
	struct strbuf *stacks = xcalloc(n + 1, sizeof(*stacks));
	bool *is_shown = xcalloc(n + 1, sizeof(*is_shown));

	strbuf_addf(out, "%d:\t%s\n%s", (int)d->pid, d->args ? d->args : "",
		    strbuf_text(&d->notes));
	for (uint32_t i = 0; i < n; i++)
		stack_text_add(d, how, &d->threads.data[i], &stacks[i]);
	for (uint32_t i = 0; i < n; i++) {
		if (is_shown[i])
			continue;
		strbuf_adds(out, "-----------------  thread ");
		thread_text_add(&d->threads.data[i], out);
		for (uint32_t k = i + 1; how->opts->stackmerge > 0 && k < n; k++) {
			if (strcmp(strbuf_text(&stacks[i]), strbuf_text(&stacks[k])) != 0)
				continue;
			is_shown[k] = true;
			strbuf_adds(out, "; ");
			thread_text_add(&d->threads.data[k], out);
		}
		strbuf_adds(out, "  -----------------\n");
		strbuf_add(out, strbuf_text(&stacks[i]), stacks[i].len);
	}
	for (uint32_t i = 0; i < n; i++)
		strbuf_deinit(&stacks[i]);
	free(stacks);
	free(is_shown);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void thread_json_add(const struct dump *d, const struct dump_form *how,
			    const struct dump_thread *t, struct strbuf *out)
{
	const char *state = state_text(t->state), *end = t->missing ? t->missing : end_text(t);

	strbuf_addf(out, "{\"tid\": %d", (int)t->tid);
	if (t->inner != t->tid)
		strbuf_addf(out, ", \"tid-in-container\": %d", (int)t->inner);
	json_member(out, "name", t->name);
	if (state)
		json_member(out, "state", state);
	strbuf_adds(out, ", \"frames\": [");
	for (uint32_t i = 0; i < t->frames.len; i++) {
		dtrace_frame_t f = frame_of(d, how, &t->frames.data[i]);

		strbuf_adds(out, i ? ", " : "");
		print_frame_json(how->syms, how->opts, &f, out);
	}
	strbuf_adds(out, "]");
	if (end)
		json_member(out, "cut", end);
	strbuf_addc(out, '}');
}

void dump_json(const struct dump *d, const struct dump_form *how, struct strbuf *out)
{
	strbuf_addf(out, "{\"pid\": %d", (int)d->pid);
	json_member(out, "command", d->args ? d->args : "");
	if (d->held_ns)
		strbuf_addf(out, ", \"held-us\": %" PRIu64, d->held_ns / 1000);
	if (d->notes.len)
		json_member(out, "notes", strbuf_text(&d->notes));
	strbuf_adds(out, ", \"threads\": [");
	for (uint32_t i = 0; i < d->threads.len; i++) {
		strbuf_adds(out, i ? ", " : "");
		thread_json_add(d, how, &d->threads.data[i], out);
	}
	strbuf_adds(out, "]}\n");
}
