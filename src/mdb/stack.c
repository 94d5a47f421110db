/* SPDX-License-Identifier: MIT */
/* Stacks: native frames by unwind tables, with frames of languages between them. */
#include "mdb/impl.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/text.h"
#include "helper/ustack.h"
#include "session/session.h"
#include "unwind/walk.h"

#define FRAMES_MAX 1000000u
#define TEXT_MAX   (256u << 20)
#define HELPERS(m) ((struct helper **)(m)->replay.helpers)

/* ---- walks ----------------------------------------------------------------------------------- */

/* The stack pointer and frame pointer of a native frame, by its number. */
static void frame_keep(void *ctx, uint32_t number, const struct walk_frame *f)
{
	struct stack *s = ctx;

	while (s->frames.len <= number)
		vec_push(&s->frames, (struct frame){0});
	s->frames.data[number].sp = f->sp;
	s->frames.data[number].fp = f->fp;
}

/* Notes the first reason for which a helper is missing. */
static void helper_failed(void *ctx, const struct helper *h, const char *why)
{
	struct mdb *m = ctx;
	struct strbuf text = {0};

	if (m->declined || !why)
		return;
	strbuf_addf(&text, "%s: %s", basename(h->path), why);
	m->declined = xstrdup(strbuf_text(&text));
	strbuf_deinit(&text);
}

/* A helper that cannot be made is missing in stacks; the reason is a notice, or the error. */
static struct err *walks_make(struct mdb *m)
{
	struct helper **list = xcalloc(USTACK_HELPERS_MAX, sizeof(struct helper *));
	struct ustack_opts opts;
	struct err *e, *of_values;

	compiler_refresh(&m->h->compiler);
	live_helper_opts(&m->h->live, &opts);
	e = ustacks_create(&opts, &m->ustacks);
	m->walk = walk_target_open(m->t, m->files);
	m->replay = (struct replay){.target = m->t,
				    .helpers = list,
				    .files = m->files,
				    .space = walk_target_space(m->walk),
				    .max_frames = FRAMES_MAX,
				    .strsize = TEXT_MAX,
				    .max_actions = REPLAY_ACTIONS_DEEP,
				    .frame = frame_keep};
	if (m->ustacks)
		m->replay.nhelpers = ustacks_of_target(m->ustacks, m->t, list);
	for (uint32_t i = 0; i < m->replay.nhelpers; i++) {
		of_values = helper_compile_values(list[i], opts.compile);
		if (of_values)
			m->opts.error(m->opts.ctx, err_text(of_values));
		err_destroy(of_values);
	}
	m->replay.ctx = m;
	m->replay.failed = helper_failed;
	replay_begin(&m->replay);
	m->replay.failed = NULL;
	return e;
}

void stacks_end(struct mdb *m)
{
	if (!m->walk)
		return;
	census_end(m);
	free(m->declined);
	m->declined = NULL;
	replay_end(&m->replay);
	free(HELPERS(m));
	walk_target_close(m->walk);
	ustacks_destroy(m->ustacks);
	m->ustacks = NULL;
	m->walk = NULL;
}

/* Sets the option helper; the file must be a regular one, because a FIFO would block. */
static struct err *helper_set(struct mdb *m, const char *path)
{
	struct stat st;

	if (*path && stat(path, &st) != 0)
		return err_sys(errno, "cannot read '%s'", path);
	if (*path && !S_ISREG(st.st_mode))
		return err_new("'%s' is no file of D", path);
	if (dtrace_setopt(m->h, "helper", path) != 0)
		return err_new("%s", dtrace_errmsg(m->h, dtrace_errno(m->h)));
	return NULL;
}

/* The helper that was used before is used on if the new one is wrong. */
struct err *cmd_load(struct mdb *m, const struct call *c)
{
	CLEANUP(free) char *before = m->helper;
	struct err *e = helper_set(m, c->argv[0]), *other;

	m->helper = NULL;
	if (!e) {
		stacks_end(m);
		e = walks_make(m);
	}
	if (!e) {
		m->helper = xstrdup(c->argv[0]);
		return NULL;
	}
	stacks_end(m);
	m->helper = before ? xstrdup(before) : NULL;
	other = helper_set(m, before ? before : "");
	err_destroy(other); /* it was set before */
	return e;
}

void stack_free(struct stack *s)
{
	for (uint32_t i = 0; i < s->frames.len; i++) {
		free(s->frames.data[i].text);
		vec_deinit(&s->frames.data[i].locals);
	}
	vec_deinit(&s->frames);
	free(s->missing);
	*s = (struct stack){0};
}

void walks_begin(struct mdb *m)
{
	struct err *e = m->walk ? NULL : walks_make(m);

	if (e)
		m->opts.error(m->opts.ctx, err_text(e));
	err_destroy(e);
}

/* The frame whose registers are asked for. */
struct frame_search {
	uint64_t number; /* how many come before it */
	bool is_found;
	struct frame_regs *ret;
};

static void frame_search_step(void *ctx, const struct walk_frame *f, bool is_first,
			      struct walk_choice *ret)
{
	uint32_t fp = arch.unwind.words[arch.unwind.fp];
	struct frame_search *s = ctx;

	if (s->number--)
		return;
	s->is_found = true;
	s->ret->known = f->known;
	memcpy(s->ret->words, f->regs, arch.nregs * sizeof(*f->regs));
	ret->is_over = true;
	if (is_first)
		return;
	s->ret->words[arch.pc / 8] = f->pc;
	s->ret->words[arch.sp / 8] = f->sp;
	s->ret->words[fp] = f->fp;
	s->ret->known |= 1ull << arch.pc / 8 | 1ull << arch.sp / 8 | 1ull << fp;
}

struct err *stack_frame_regs(struct mdb *m, uint64_t number, struct frame_regs *ret)
{
	struct frame_search s = {.number = number, .ret = ret};
	struct arch_regs regs;
	struct err *e = target_regs(m->t, m->tid, &regs);

	if (e)
		return e;
	walks_begin(m);
	(void)stack_walk_each(&m->replay.space, &regs, true, frame_search_step, &s);
	if (s.is_found)
		return NULL;
	return err_hint(err_new("there is no frame %" PRIu64, number),
			"::stack -n shows the frames; the innermost one is 0");
}

/* Takes the frames that a walk has found. */
static void frames_take(struct replay *r, struct stack *ret)
{
	while (ret->frames.len < r->frames.len)
		vec_push(&ret->frames, (struct frame){0});
	ret->frames.len = r->frames.len;
	for (uint32_t i = 0; i < r->frames.len; i++) {
		struct replay_frame *from = &r->frames.data[i];
		struct frame *to = &ret->frames.data[i];

		to->kind = from->kind;
		to->pc = from->pc;
		to->is_return = from->is_return;
		to->text = from->text;
		to->is_stub = from->is_stub;
		to->part = from->part;
		to->locals = from->locals;
		from->text = NULL;
		from->locals = (value_locals){0};
		if (to->kind == REPLAY_LANGUAGE && i) {
			to->fp = to[-1].fp;
			to->pc = to[-1].pc;
		}
	}
	ret->is_cut = r->is_cut || r->is_full;
	replay_frames_deinit(&r->frames);
}

void stack_take(struct mdb *m, pid_t tid, struct stack *ret)
{
	struct replay *r = &m->replay;
	struct target_who who;
	struct arch_regs regs;
	struct err *e = target_regs(m->t, tid, &regs);

	*ret = (struct stack){0};
	if (e || !target_who(m->t, tid, &who)) {
		ret->missing = xstrdup(e ? err_text(e) : "it has ended");
		err_destroy(e);
		return;
	}
	walks_begin(m);
	walks_begin(m);
	r->regs = &regs;
	r->thread = replay_thread_of(&who);
	r->ctx = ret;
	replay_walk(r);
	frames_take(r, ret);
}

void stack_take_parked(struct mdb *m, uint32_t part, uint64_t word, struct stack *ret)
{
	struct arch_regs regs;
	struct err *e = target_regs(m->t, m->tid, &regs);

	*ret = (struct stack){0};
	if (e) {
		ret->missing = xstrdup(err_text(e));
		err_destroy(e);
		return;
	}
	walks_begin(m);
	m->replay.regs = &regs;
	m->replay.ctx = ret;
	replay_parked(&m->replay, part, word);
	frames_take(&m->replay, ret);
}

/* ---- output ---------------------------------------------------------------------------------- */

void frame_name_add(struct mdb *m, const struct frame *f, struct strbuf *out)
{
	if (f->kind == REPLAY_LANGUAGE)
		strbuf_adds(out, f->text + (*f->text == '@'));
	else if (!mdb_name_add(m, f->pc, f->is_return, out)) {
		if (f->text)
			strbuf_adds(out, f->text);
		else
			strbuf_addf(out, "0x%" PRIx64, f->pc);
	}
}

/* Which frames are shown. */
struct choice {
	bool no_native, no_language;
	bool with_regs; /* frame pointer and instruction pointer before each native frame */
};

static bool frame_is_shown(const struct frame *f, const struct choice *which)
{
	return f->kind == REPLAY_LANGUAGE ? !which->no_language : !which->no_native;
}

static void frame_row(struct mdb *m, pid_t tid, uint32_t i, const struct frame *f,
		      const struct choice *which)
{
	bool is_language = f->kind == REPLAY_LANGUAGE;
	struct strbuf name = {0};

	frame_name_add(m, f, &name);
	emit_row(&m->out);
	emit_value(&m->out, f->pc);
	emit_int(&m->out, "tid", tid, 0);
	emit_int(&m->out, "frame", i, 0);
	if (which->with_regs && is_language)
		emit_say(&m->out, "%16s %16s ", "", "");
	if (!is_language) {
		emit_addr(&m->out, "fp", f->fp, which->with_regs ? 16 : 0);
		emit_addr(&m->out, "sp", f->sp, 0);
		emit_addr(&m->out, "pc", f->pc, which->with_regs ? 16 : 0);
	}
	if (is_language)
		emit_say(&m->out, "  [ ");
	emit_bytes(&m->out, is_language ? "language" : "name", strbuf_text(&name), name.len, 1);
	if (is_language)
		emit_say(&m->out, "]");
	emit_end(&m->out);
	strbuf_deinit(&name);
}

static void stack_rows(struct mdb *m, pid_t tid, const struct stack *s, const struct choice *which)
{
	for (uint32_t i = 0; i < s->frames.len && !m->is_interrupted; i++)
		if (frame_is_shown(&s->frames.data[i], which))
			frame_row(m, tid, i, &s->frames.data[i], which);
	if (!s->missing && !s->is_cut)
		return;
	emit_row(&m->out);
	emit_int(&m->out, "tid", tid, 0);
	emit_say(&m->out, "(");
	emit_str(&m->out, "cut",
		 s->missing ? s->missing
			    : "the stack is cut here: the caller of this frame cannot be found",
		 0);
	emit_say(&m->out, "%s)",
		 s->missing ? s->missing
			    : "the stack is cut here: the caller of this frame cannot be found");
	emit_end(&m->out);
}

/* The text by which stacks are compared. */
static void stack_text_add(struct mdb *m, const struct stack *s, const struct choice *which,
			   struct strbuf *out)
{
	for (uint32_t i = 0; i < s->frames.len; i++) {
		if (!frame_is_shown(&s->frames.data[i], which))
			continue;
		frame_name_add(m, &s->frames.data[i], out);
		strbuf_addc(out, '\n');
	}
	if (s->missing)
		strbuf_adds(out, s->missing);
}

/* Shows each stack once, under the threads that have it; those of most threads first. */
static void stacks_grouped(struct mdb *m, const struct choice *which)
{
	uint32_t n = m->tids.len;
	struct strbuf *texts = xcalloc(n + 1, sizeof(*texts));
	struct stack *stacks = xcalloc(n + 1, sizeof(*stacks));
	uint32_t *owner = xcalloc(n + 1, sizeof(*owner)), *count = xcalloc(n + 1, sizeof(*count));

	for (uint32_t i = 0; i < n; i++) {
		stack_take(m, m->tids.data[i], &stacks[i]);
		stack_text_add(m, &stacks[i], which, &texts[i]);
		while (strcmp(strbuf_text(&texts[owner[i]]), strbuf_text(&texts[i])) != 0)
			owner[i]++;
		count[owner[i]]++;
	}
	for (;;) {
		uint32_t most = 0;

		for (uint32_t i = 1; i < n; i++)
			most = count[i] > count[most] ? i : most;
		if (!n || !count[most] || m->is_interrupted)
			break;
		emit_row(&m->out);
		emit_say(&m->out, "%u thread%s:", count[most], PLURAL(count[most]));
		emit_int(&m->out, "count", count[most], 0);
		emit_list(&m->out, "tids");
		for (uint32_t i = most; i < n; i++) {
			if (owner[i] != most)
				continue;
			emit_say(&m->out, " %d", (int)m->tids.data[i]);
			emit_list_int(&m->out, m->tids.data[i]);
		}
		emit_list_end(&m->out);
		stack_rows(m, m->tids.data[most], &stacks[most], which);
		count[most] = 0;
	}
	for (uint32_t i = 0; i < n; i++) {
		strbuf_deinit(&texts[i]);
		stack_free(&stacks[i]);
	}
	free(texts);
	free(stacks);
	free(owner);
	free(count);
}

static struct err *stacks_show(struct mdb *m, const struct call *c, bool with_regs)
{
	const struct choice which = {.no_native = c->opts['l'],
				     .no_language = c->opts['n'],
				     .with_regs = with_regs};
	struct stack s;

	if (c->opts['u']) {
		stacks_grouped(m, &which);
		return NULL;
	}
	for (uint32_t i = 0; i < m->tids.len && !m->is_interrupted; i++) {
		pid_t tid = m->tids.data[i];

		if (c->opts['a'])
			emit_say(&m->out, "thread %d:\n", (int)tid);
		else if (tid != (c->has_addr ? (pid_t)c->addr : m->tid))
			continue;
		stack_take(m, tid, &s);
		stack_rows(m, tid, &s, &which);
		emit_end(&m->out);
		stack_free(&s);
	}
	return NULL;
}

struct err *cmd_stack(struct mdb *m, const struct call *c)
{
	struct err *e = c->has_addr ? mdb_thread_check(m, (pid_t)c->addr) : NULL;

	return e ? e : stacks_show(m, c, false);
}

struct err *cmd_stack_fp(struct mdb *m, const struct call *c)
{
	struct err *e = c->has_addr ? mdb_thread_check(m, (pid_t)c->addr) : NULL;

	return e ? e : stacks_show(m, c, true);
}

struct err *walk_frames(struct mdb *m, const struct call *c)
{
	struct stack s;

	stack_take(m, m->tid, &s);
	for (uint32_t i = 0; i < s.frames.len; i++) {
		if (s.frames.data[i].kind != REPLAY_NATIVE)
			continue;
		emit_row(&m->out);
		emit_value(&m->out, s.frames.data[i].pc);
		emit_addr(&m->out, "value", s.frames.data[i].pc, 1);
		emit_end(&m->out);
	}
	stack_free(&s);
	return NULL;
}
