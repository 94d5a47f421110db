/* SPDX-License-Identifier: MIT */
/* Threads of a report: what each does, and its frames. */
#include <inttypes.h>

#include "base/text.h"
#include "crash/report.h"
#include "mdb/lang.h"
#include "provider/syscalls.h"
#include "sym/sym.h"

#define THREADS_MAX 256u /* whose stacks are shown */
#define ENDS	    64u	 /* frames that are shown of either end of a stack */
#define WALKS_NS    20000000000ull

/* ---- frames ---------------------------------------------------------------------------------- */

static void language_frame(struct crash_report *r, const struct frame *f)
{
	struct strbuf name = {0}, file = {0};
	char language[LANGUAGE_MAX];

	language_of(r->m, f->part, language);
	lang_frame_split(f->text, &name, &file);
	doc_str(&r->doc, "kind", "language");
	doc_str(&r->doc, "language", language);
	doc_bytes(&r->doc, "name", strbuf_text(&name), name.len);
	if (file.len)
		doc_bytes(&r->doc, "place", strbuf_text(&file), file.len);
	doc_say(&r->doc, "    [ ");
	doc_tells(&r->doc, f->text + (*f->text == '@'));
	doc_say(&r->doc, " ]\n");
	strbuf_deinit(&name);
	strbuf_deinit(&file);
}

static void native_frame(struct crash_report *r, const struct frame *f)
{
	struct strbuf name = {0};
	struct sym_line line;

	frame_name_add(r->m, f, &name);
	doc_str(&r->doc, "kind", "native");
	doc_bytes(&r->doc, "name", strbuf_text(&name), name.len);
	doc_addr(&r->doc, "pc", f->pc);
	doc_addr(&r->doc, "sp", f->sp);
	doc_say(&r->doc, "    ");
	doc_tell(&r->doc, strbuf_text(&name), name.len);
	if (syms_line(r->m->syms, r->m->named, f->pc - f->is_return, &line)) {
		doc_str(&r->doc, "file", line.file);
		doc_int(&r->doc, "line", line.line);
		doc_say(&r->doc, " (");
		doc_tells(&r->doc, basename(line.file));
		doc_say(&r->doc, ":%u)", line.line);
	}
	doc_say(&r->doc, "\n");
	strbuf_deinit(&name);
}

static void frames_add(struct crash_report *r, const struct stack *s)
{
	uint32_t n = s->frames.len, left_out = n > 2 * ENDS ? n - 2 * ENDS : 0;

	doc_open(&r->doc, "frames", '[');
	for (uint32_t i = 0; i < n; i++) {
		if (left_out && i == ENDS) {
			doc_say(&r->doc, "    ... %u frame%s left out ...\n", left_out,
				WORD_FOR(left_out, " is", "s are"));
			i += left_out;
		}
		doc_open(&r->doc, NULL, '{');
		doc_int(&r->doc, "frame", i);
		if (s->frames.data[i].kind == REPLAY_LANGUAGE)
			language_frame(r, &s->frames.data[i]);
		else
			native_frame(r, &s->frames.data[i]);
		doc_close(&r->doc, '}');
	}
	doc_close(&r->doc, ']');
	doc_int(&r->doc, "frames-left-out", left_out);
	if (s->missing) {
		doc_str(&r->doc, "missing", s->missing);
		doc_say(&r->doc, "    (");
		doc_tells(&r->doc, s->missing);
		doc_say(&r->doc, ")\n");
	}
	doc_bool(&r->doc, "is-cut", s->is_cut);
	if (s->is_cut)
		doc_say(&r->doc, "    (the caller of this frame cannot be found)\n");
}

/* ---- threads --------------------------------------------------------------------------------- */

/* A line of proc/task. */
struct task {
	int64_t tid;
	char state;
	const char *name, *call, *wait;
	size_t name_len, call_len, wait_len;
};

static bool task_parse(const char *line, size_t len, struct task *ret)
{
	const char *field[5] = {0};
	size_t size[5] = {0};
	char number[24];

	for (uint32_t i = 0; i < 5; i++) {
		const char *tab = memchr(line, '\t', len);

		field[i] = line;
		size[i] = tab ? (size_t)(tab - line) : len;
		len -= tab ? size[i] + 1 : len;
		line = tab ? tab + 1 : line + size[i];
	}
	if (!size[0] || size[0] >= sizeof(number))
		return false;
	memcpy(number, field[0], size[0]);
	number[size[0]] = '\0';
	*ret = (struct task){.tid = strtoll(number, NULL, 10),
			     .state = size[1] == 1 ? *field[1] : '?',
			     .name = field[2],
			     .name_len = size[2],
			     .call = field[3],
			     .call_len = size[3],
			     .wait = field[4],
			     .wait_len = size[4]};
	return ret->tid > 0;
}

static bool task_find(const struct strbuf *tasks, int64_t tid, struct task *ret)
{
	const char *at = strbuf_text(tasks), *end = at + tasks->len;

	while (at < end) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);

		if (task_parse(at, len, ret) && ret->tid == tid)
			return true;
		at += len + 1;
	}
	return false;
}

static const char *call_name(long nr)
{
	for (uint32_t i = 0; i < syscall_nrows; i++)
		if (syscall_rows[i].nr64 == nr)
			return syscall_rows[i].name;
	return NULL;
}

/* "230 0x0 0x0 ... SP PC" becomes "clock_nanosleep(0x0, 0x0, ...)". */
static void call_add(struct crash_report *r, const struct task *t)
{
	char text[256], *at, *end;
	const char *name;
	long nr;

	if (!t->call_len || t->call_len >= sizeof(text))
		return;
	memcpy(text, t->call, t->call_len);
	text[t->call_len] = '\0';
	nr = strtol(text, &at, 10);
	name = at > text && nr >= 0 ? call_name(nr) : NULL;
	if (!name)
		return;
	doc_str(&r->doc, "system-call", name);
	doc_open(&r->doc, "arguments", '[');
	doc_say(&r->doc, "  in %s(", name);
	for (int i = 0; i < 6; i++) {
		uint64_t word = strtoull(at, &end, 16);

		if (end == at)
			break;
		at = end;
		doc_addr(&r->doc, NULL, word);
		doc_say(&r->doc, "%s0x%" PRIx64, i ? ", " : "", word);
	}
	doc_say(&r->doc, ")");
	doc_close(&r->doc, ']');
}

/* The exception of a thread that has not crashed: that of the one that has is in the head. */
static void thrown_add(struct crash_report *r, const struct stack *s)
{
	struct exception x;

	exception_thread_find(r->m, s, &x);
	if (x.source != EXCEPTION_NONE) {
		doc_say(&r->doc, "    ");
		crash_report_exception(r, &x);
	}
	exception_deinit(&x);
}

static void thread_add(struct crash_report *r, pid_t tid, bool is_first, const struct strbuf *tasks,
		       bool with_frames)
{
	struct strbuf name = {0};
	struct target_who who;
	struct stack s = {0};
	struct task t;
	bool is_known = task_find(tasks, tid, &t);

	if (is_known)
		crash_field_add(&name, t.name, t.name_len);
	else if (r->m && target_who(r->m->t, tid, &who))
		strbuf_adds(&name, who.name);
	doc_open(&r->doc, NULL, '{');
	doc_int(&r->doc, "tid", tid);
	doc_bytes(&r->doc, "name", strbuf_text(&name), name.len);
	doc_bool(&r->doc, "has-crashed", is_first && !r->is_alive);
	doc_say(&r->doc, "thread %d ", (int)tid);
	doc_tell(&r->doc, strbuf_text(&name), name.len);
	if (is_first && !r->is_alive)
		doc_say(&r->doc, "  (it crashed)");
	if (is_known && !is_first)
		call_add(r, &t);
	doc_say(&r->doc, "\n");
	if (with_frames && is_first)
		frames_add(r, &r->first);
	else if (with_frames) {
		stack_take(r->m, tid, &s);
		thrown_add(r, &s);
		frames_add(r, &s);
		stack_free(&s);
	}
	doc_close(&r->doc, '}');
	strbuf_deinit(&name);
}

/* Without a core, what /proc has of threads is all that is known. */
static void tasks_add(struct crash_report *r, const struct strbuf *tasks)
{
	const char *at = strbuf_text(tasks), *end = at + tasks->len;
	uint32_t n = 0;
	struct task t;

	while (at < end && n < THREADS_MAX) {
		const char *line_end = memchr(at, '\n', (size_t)(end - at));
		size_t len = (size_t)((line_end ? line_end : end) - at);

		if (task_parse(at, len, &t))
			thread_add(r, (pid_t)t.tid, n++ == 0, tasks, false);
		at += len + 1;
	}
}

void crash_report_threads(struct crash_report *r)
{
	uint64_t begin = now_ns();
	uint32_t n = r->m ? r->m->tids.len : 0, shown = 0;
	struct strbuf tasks = {0};

	(void)crash_input_text(r->in, CRASH_IN_TASK, 4u << 20, &tasks); /* all that is there */
	doc_open(&r->doc, "threads", '[');
	for (; shown < n && shown < THREADS_MAX; shown++) {
		if (now_ns() - begin > WALKS_NS)
			break;
		thread_add(r, r->m->tids.data[shown], shown == 0, &tasks, true);
	}
	if (!n)
		tasks_add(r, &tasks);
	doc_close(&r->doc, ']');
	doc_int(&r->doc, "threads-left-out", n - shown);
	if (n > shown)
		doc_say(&r->doc, "(%u further thread%s left out)\n", n - shown,
			WORD_FOR(n - shown, " is", "s are"));
	strbuf_deinit(&tasks);
}
