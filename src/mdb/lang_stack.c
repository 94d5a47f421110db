/* SPDX-License-Identifier: MIT */
/* Stacks of languages: frames with their places, receivers, arguments and variables. */
#include "mdb/lang.h"

#include <ctype.h>
#include <inttypes.h>

#include "base/text.h"

static void local_row(struct mdb *m, const struct lang *l, uint32_t frame,
		      const struct value_local *local)
{
	struct strbuf name = {0}, text = {0};

	if (local->kind == LOCAL_FUNCTION || local->kind == LOCAL_EXCEPTION)
		return;
	if (local->kind == LOCAL_SELF)
		strbuf_adds(&name, l->self);
	else if (local->kind == LOCAL_ARG)
		strbuf_addf(&name, "arg%" PRIu64, local->key);
	else
		value_name_add(l->p, l->h, local->key, &name);
	lang_value_add_short(m, l, local->word, &text);
	emit_row(&m->out);
	emit_int(&m->out, "frame", frame, 0);
	emit_say(&m->out, "          ");
	emit_bytes(&m->out, "variable", strbuf_text(&name), name.len, 0);
	text_escape(&m->out.text, m->out.is_json ? "" : strbuf_text(&name),
		    m->out.is_json ? 0 : name.len);
	emit_say(&m->out, ": %s", strbuf_text(&text));
	emit_addr(&m->out, "word", local->word, 0);
	emit_bytes(&m->out, "value", strbuf_text(&text), text.len, 0);
	emit_end(&m->out);
	strbuf_deinit(&name);
	strbuf_deinit(&text);
}

/* "file.py:49 (leaf)" in its parts; false: it is none. */
static bool file_first_split(const char *text, struct strbuf *name, struct strbuf *file)
{
	const char *at = NULL, *line;
	size_t n;

	for (const char *p = text; (p = strstr(p, " (")); p++)
		at = p;
	if (!at || !strchr(at, ')'))
		return false;
	for (line = at; line > text && isdigit((unsigned char)line[-1]);)
		line--;
	n = (size_t)((line > text && line < at && line[-1] == ':' ? line - 1 : at) - text);
	strbuf_add(name, at + 2, strlen(at) - 3);
	strbuf_add(file, text, n);
	if (text + n < at) {
		strbuf_adds(file, ", line ");
		strbuf_add(file, line, (size_t)(at - line));
	}
	return true;
}

/* "Class.leaf(File.java:27)*" in its parts, "Class.leaf*" and the file; false: it is none. */
static bool call_split(const char *text, struct strbuf *name, struct strbuf *file)
{
	const char *open = strrchr(text, '('), *close = open ? strchr(open, ')') : NULL, *line;

	if (!close || open == text || open[-1] == ' ')
		return false;
	for (line = close; line > open && isdigit((unsigned char)line[-1]);)
		line--;
	if (line == close || line[-1] != ':')
		return false;
	strbuf_add(name, text, (size_t)(open - text));
	strbuf_adds(name, close + 1);
	strbuf_add(file, open + 1, (size_t)(line - open - 2));
	strbuf_adds(file, ", line ");
	strbuf_add(file, line, (size_t)(close - line));
	return true;
}

/* "leaf at /srv/obj.js line 27" in its parts. */
static void place_split(const char *text, struct strbuf *name, struct strbuf *file)
{
	const char *at = NULL, *line;

	for (const char *p = text; (p = strstr(p, " at ")); p++)
		at = p;
	strbuf_add(name, text, at ? (size_t)(at - text) : strlen(text));
	if (!at)
		return;
	at += strlen(" at ");
	line = strstr(at, " line ");
	strbuf_add(file, at, line ? (size_t)(line - at) : strlen(at));
	if (line)
		strbuf_addf(file, ", line %s", line + strlen(" line "));
}

/* The function that a frame runs, where the runtime has it as a value; NULL: it is not known. */
static const struct value_local *frame_function(const struct frame *f)
{
	for (uint32_t i = 0; i < f->locals.len; i++)
		if (f->locals.data[i].kind == LOCAL_FUNCTION)
			return &f->locals.data[i];
	return NULL;
}

/* The place of a frame: file and position have a line each. */
static void place_show(struct mdb *m, const struct strbuf *file)
{
	const char *text, *line = NULL;
	struct strbuf clean = {0};

	text_escape(&clean, strbuf_text(file), file->len);
	text = strbuf_text(&clean);
	for (const char *p = text; (p = strstr(p, ", line ")); p++)
		line = p;
	emit_say(&m->out, "          file: %.*s\n", (int)(line ? line - text : (int)clean.len),
		 text);
	if (line)
		emit_say(&m->out, "          posn: %s\n", line + strlen(", "));
	strbuf_deinit(&clean);
}

/* A frame alone begins with its frame pointer, and has its function in brackets. */
void lang_frame_split(const char *text, struct strbuf *name, struct strbuf *file)
{
	if (!(*text == '@' && file_first_split(text + 1, name, file)) &&
	    !call_split(text, name, file))
		place_split(text + (*text == '@'), name, file);
}

static void lang_frame_show(struct mdb *m, uint32_t i, const struct frame *f, bool is_verbose,
			    bool is_alone)
{
	const struct value_local *function = frame_function(f);
	struct strbuf name = {0}, file = {0};
	struct lang l = {.label = "lang"};
	bool has_values = lang_at(m, f->part, &l);

	lang_frame_split(f->text, &name, &file);
	emit_row(&m->out);
	emit_value(&m->out, f->fp);
	emit_int(&m->out, "frame", i, 0);
	emit_addr(&m->out, "fp", f->fp, is_alone ? -1 : 0);
	emit_addr(&m->out, "pc", f->pc, is_alone ? -1 : 0);
	emit_str(&m->out, "language", l.label, 0);
	if (!is_alone)
		emit_say(&m->out, "%s:%*s", l.label, (int)MAX(7 - (int)strlen(l.label), 1), "");
	emit_bytes(&m->out, "name", strbuf_text(&name), name.len, 1);
	emit_bytes(&m->out, "file", strbuf_text(&file), file.len, 0);
	if (function) {
		emit_addr(&m->out, "function", function->word, 0);
		if (is_alone)
			emit_say(&m->out, "(%" PRIx64 ")", function->word);
	}
	emit_end(&m->out);
	if (is_verbose && file.len)
		place_show(m, &file);
	for (uint32_t k = 0; is_verbose && has_values && k < f->locals.len; k++)
		local_row(m, &l, i, &f->locals.data[k]);
	strbuf_deinit(&name);
	strbuf_deinit(&file);
}

static void native_frame_show(struct mdb *m, uint32_t i, const struct frame *f)
{
	struct strbuf name = {0};

	frame_name_add(m, f, &name);
	emit_row(&m->out);
	emit_int(&m->out, "frame", i, 0);
	emit_say(&m->out, "native: ");
	emit_bytes(&m->out, "native", strbuf_text(&name), name.len, 1);
	emit_end(&m->out);
	strbuf_deinit(&name);
}

static void elided_show(struct mdb *m, uint32_t *n)
{
	if (*n)
		emit_say(&m->out, "        (%u internal frame%s elided)\n", *n, PLURAL(*n));
	*n = 0;
}

static void lang_stack_show(struct mdb *m, pid_t tid, bool is_verbose)
{
	uint32_t nelided = 0;
	struct stack s;

	stack_take(m, tid, &s);
	for (uint32_t i = 0; i < s.frames.len && !m->is_interrupted; i++) {
		const struct frame *f = &s.frames.data[i];
		struct strbuf name = {0};
		bool has_name = f->text || mdb_name_add(m, f->pc, f->is_return, &name);

		strbuf_deinit(&name);
		if (!has_name) {
			nelided++;
			continue;
		}
		elided_show(m, &nelided);
		if (f->text)
			lang_frame_show(m, i, f, is_verbose, false);
		else
			native_frame_show(m, i, f);
	}
	elided_show(m, &nelided);
	if (s.missing)
		emit_say(&m->out, "(%s)\n", s.missing);
	stack_free(&s);
}

struct err *cmd_lstack(struct mdb *m, const struct call *c)
{
	struct err *e = c->has_addr ? mdb_thread_check(m, (pid_t)c->addr) : NULL;

	if (e)
		return e;
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		pid_t tid = m->tids.data[i];

		if (c->opts['a'])
			emit_say(&m->out, "thread %d:\n", (int)tid);
		else if (tid != (c->has_addr ? (pid_t)c->addr : m->tid))
			continue;
		lang_stack_show(m, tid, c->opts['v']);
	}
	return NULL;
}

struct err *cmd_lframe(struct mdb *m, const struct call *c)
{
	bool is_found = false;
	struct stack s;

	stack_take(m, m->tid, &s);
	for (uint32_t i = 0; i < s.frames.len; i++) {
		const struct frame *f = &s.frames.data[i];

		if (f->fp != c->addr || !f->text)
			continue;
		lang_frame_show(m, i, f, c->opts['v'], true);
		is_found = true;
	}
	stack_free(&s);
	return is_found ? NULL
			: err_new("no frame of a language has the frame pointer %" PRIx64
				  "; ::stackregs shows those of the thread",
				  c->addr);
}
