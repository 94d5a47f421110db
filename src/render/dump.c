/* SPDX-License-Identifier: MIT */
/* Shows the stacks of all threads of a process. */
#include "render/dump.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "sym/sym.h"
#include "helper/dump.h"
#include "render/json.h"
#include "render/print.h"

#define INDENT	   4
#define TITLES_MAX 20u /* of what has equal stacks */

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

static void parked_title_add(const struct dump_parked *p, struct strbuf *out)
{
	strbuf_addf(out, "%s ", p->kind);
	if (p->id)
		text_escape(out, p->id, strlen(p->id));
	else
		strbuf_addf(out, "0x%" PRIx64, p->addr);
	if (p->name) {
		strbuf_adds(out, " (");
		text_escape(out, p->name, strlen(p->name));
		strbuf_addc(out, ')');
	}
	if (p->state) {
		strbuf_adds(out, ", ");
		text_escape(out, p->state, strlen(p->state));
	}
}

/* Those of equal stacks: the index of the first, how many they are. */
struct parked_group {
	uint32_t first, n;
	struct strbuf titles;
	char *stack;
};

static struct parked_group *group_find(struct hashmap *groups, const struct dump_form *how,
				       uint32_t i, char *stack)
{
	bool is_merged = how->opts->stackmerge > 0;
	struct parked_group *g = is_merged ? hashmap_finds(groups, stack) : NULL;

	if (g) {
		free(stack);
		return g;
	}
	g = xcalloc(1, sizeof(*g));
	g->first = i;
	g->stack = stack;
	if (is_merged)
		hashmap_sets(groups, stack, g);
	return g;
}

static void parked_text_add(const struct dump *d, const struct dump_form *how, struct strbuf *out)
{
	struct parked_group **of = xcalloc(d->nparked + 1, sizeof(struct parked_group *));
	struct hashmap *groups = hashmap_create();

	for (uint32_t i = 0; i < d->nparked; i++) {
		const struct dump_parked *p = &d->parked[i];
		struct strbuf stack = {0};

		for (uint32_t k = 0; k < p->frames.len; k++)
			helper_text_add(&stack, p->frames.data[k]);
		if (p->cut)
			strbuf_addf(&stack, "%*s(%s)\n", INDENT, "", p->cut);
		of[i] = group_find(groups, how, i, xstrdup(strbuf_text(&stack)));
		strbuf_deinit(&stack);
		if (of[i]->n++ < TITLES_MAX) {
			strbuf_adds(&of[i]->titles, of[i]->n > 1 ? "; " : "");
			parked_title_add(p, &of[i]->titles);
		}
	}
	for (uint32_t i = 0; i < d->nparked; i++) {
		struct parked_group *g = of[i];

		if (g->first != i)
			continue;
		strbuf_addf(out, "-----------------  %s", strbuf_text(&g->titles));
		if (g->n > TITLES_MAX)
			strbuf_addf(out, "; and %u other%s", g->n - TITLES_MAX,
				    PLURAL(g->n - TITLES_MAX));
		strbuf_addf(out, "  -----------------\n%s", g->stack);
	}
	for (uint32_t i = d->nparked; i--;) { /* the first of a group comes last */
		if (of[i]->first != i)
			continue;
		strbuf_deinit(&of[i]->titles);
		free(of[i]->stack);
		free(of[i]);
	}
	hashmap_destroy(groups);
	free(of);
	if (d->nmore)
		strbuf_addf(out,
			    "... and up to %" PRIu64
			    " more that no thread runs: -x pstacktasks=N shows up to N\n",
			    d->nmore);
	if (d->no_parked)
		strbuf_addf(out, "(what no thread runs is not shown: %s)\n", d->no_parked);
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
	if (d->has_parked)
		parked_text_add(d, how, out);
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

static void parked_json_add(const struct dump_parked *p, struct strbuf *out)
{
	strbuf_addf(out, "{\"address\": \"0x%" PRIx64 "\"", p->addr);
	json_member(out, "kind", p->kind);
	json_member(out, "language", p->language);
	if (p->id)
		json_member(out, "id", p->id);
	if (p->name)
		json_member(out, "name", p->name);
	if (p->state)
		json_member(out, "state", p->state);
	strbuf_adds(out, ", \"frames\": [");
	for (uint32_t i = 0; i < p->frames.len; i++) {
		const char *text = p->frames.data[i];

		strbuf_adds(out, i ? ", {\"kind\": \"language\"" : "{\"kind\": \"language\"");
		json_member(out, "symbol", text + (*text == '@'));
		strbuf_addc(out, '}');
	}
	strbuf_adds(out, "]");
	if (p->cut)
		json_member(out, "cut", p->cut);
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
	strbuf_adds(out, "]");
	if (d->has_parked) {
		strbuf_adds(out, ", \"parked\": [");
		for (uint32_t i = 0; i < d->nparked; i++) {
			strbuf_adds(out, i ? ", " : "");
			parked_json_add(&d->parked[i], out);
		}
		strbuf_addf(out, "], \"parked-more\": %" PRIu64, d->nmore);
	}
	if (d->no_parked)
		json_member(out, "parked-missing", d->no_parked);
	strbuf_adds(out, "}\n");
}
