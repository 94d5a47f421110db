/* SPDX-License-Identifier: MIT */
/* Tells what ustack helpers do for one stack. */
#include "helper/trace.h"

#include <inttypes.h>

#include "base/str.h"
#include "base/text.h"
#include "target/maps.h"
#include "target/target.h"
#include "image/debugfile.h"
#include "sym/sym.h"
#include "helper/dump.h"
#include "helper/replay.h"
#include "helper/ustack.h"

#define SHOWN_MAX 64 /* bytes of memory that are shown */
#define DECIMALS  10000u

struct report {
	struct strbuf *out;
	const struct trace_opts *opts;
	struct target *target;
	pid_t pid; /* its number: syms_target() */
	const struct helper *h;
	struct strbuf location; /* of the statement that runs */
	/* memory that was read one piece behind the other */
	uint64_t addr, size;
	uint8_t bytes[SHOWN_MAX];
	bool is_missing;
	struct dif_machine *machine; /* NULL: not known yet */
	struct strbuf frame;	     /* what uframe() joins */
	uint64_t unwind[3];
	const struct replay *replay;
};

/* ---- values ---------------------------------------------------------------------------------- */

static void text_add(struct strbuf *out, const char *text)
{
	CLEANUP(free) char *clean = text_clean(xstrdup(text));

	strbuf_addf(out, "\"%s\"", clean);
}

static void number_add(struct strbuf *out, uint64_t v)
{
	strbuf_addf(out, v < DECIMALS ? "%" PRIu64 : "0x%" PRIx64, v);
}

/* The length of the text up to the first NUL, if all of it is ASCII; else 0. */
static uint64_t text_len(const uint8_t *p, uint64_t n)
{
	uint64_t i = 0;

	while (i < n && p[i] >= ' ' && p[i] <= '~')
		i++;
	return i == n || !p[i] ? i : 0;
}

static void bytes_add(struct report *t)
{
	uint64_t shown = MIN(t->size, (uint64_t)SHOWN_MAX), word = 0;
	uint64_t len = text_len(t->bytes, shown);

	if (len > 1 && t->size > 8) {
		strbuf_addf(t->out, "\"%.*s\"%s", (int)len, (const char *)t->bytes,
			    len == shown && shown < t->size ? "..." : "");
	} else if (t->size <= 8) {
		memcpy(&word, t->bytes, t->size);
		number_add(t->out, word);
	} else {
		for (uint64_t i = 0; i < MIN(shown, (uint64_t)16); i++)
			strbuf_addf(t->out, i ? " %02x" : "%02x", t->bytes[i]);
		strbuf_adds(t->out, t->size > 16 ? " ..." : "");
	}
}

static void line_begin(struct report *t)
{
	strbuf_addf(t->out, "  %s: ", strbuf_text(&t->location));
}

/* Writes the line of what was read. */
static void read_flush(struct report *t)
{
	if (!t->size)
		return;
	line_begin(t);
	strbuf_addf(t->out, "reads %" PRIu64 " byte%s at 0x%" PRIx64 ": ", t->size, PLURAL(t->size),
		    t->addr);
	if (t->is_missing)
		strbuf_adds(t->out, "not there");
	else
		bytes_add(t);
	strbuf_addc(t->out, '\n');
	t->size = 0;
}

/* Writes the text of an address. */
static bool name_add(struct report *t, taddr addr, bool is_return, struct strbuf *out)
{
	return t->opts->name(t->opts->ctx, t->pid, addr, is_return, out);
}

static void on_part(void *ctx, const struct helper *h, enum helper_probe probe)
{
	static const char *const names[] = {"attach", "uthread", "ustack"};
	struct report *t = ctx;

	t->h = h;
	if (probe != HELPER_USTACK)
		strbuf_addf(t->out, "%s, dtrace:helper:%s:\n", h->path, names[probe]);
}

static void on_frame(void *ctx, uint32_t number, const struct walk_frame *f)
{
	struct report *t = ctx;

	strbuf_addf(t->out, "frame %" PRIu32 ": ", number);
	(void)name_add(t, f->pc, !f->is_exact, t->out);
	strbuf_addf(t->out, ", pc 0x%" PRIx64 ", fp 0x%" PRIx64 ", sp 0x%" PRIx64 "%s\n", f->pc,
		    f->fp, f->sp,
		    f->is_data ? "; not executable now: a frame only if unwind() is called" : "");
}

static void on_begin(void *ctx, const struct prog_clause *cl, const struct prog_act *act)
{
	struct report *t = ctx;
	const char *slash;

	read_flush(t);
	strbuf_clear(&t->location);
	helper_location(t->h, act && act->span ? act->span : cl->span, &t->location);
	slash = strrchr(strbuf_text(&t->location), '/');
	if (slash && t->h->dsession) { /* the name of the file is enough */
		size_t n = strlen(slash + 1);

		memmove(t->location.data, slash + 1, n + 1);
		t->location.len = n;
	}
}

static void on_read(void *ctx, uint64_t addr, const void *bytes, uint32_t size)
{
	struct report *t = ctx;

	if (t->size && (addr != t->addr + t->size || t->is_missing || !bytes))
		read_flush(t);
	if (!t->size) {
		t->addr = addr;
		t->is_missing = !bytes;
	}
	if (bytes && t->size < SHOWN_MAX)
		memcpy(t->bytes + t->size, bytes, MIN((uint64_t)size, SHOWN_MAX - t->size));
	t->size += size;
}

/* The variable to which the object assigns last, as D writes it; false: to none. */
static bool variable_add(struct strbuf *out, const struct difo *d)
{
	const struct dif_var *v = NULL;

	for (uint32_t i = 0; i < d->code_len; i++)
		if (dif_op_form(DIF_INSN_OP(d->code[i])) == DIF_FORM_STV)
			v = difo_find_var(d, dif_op_scope(DIF_INSN_OP(d->code[i])),
					  DIF_INSN_INDEX(d->code[i]));
	if (v)
		strbuf_addf(out, "%s%s = ", v->scope == DIF_SCOPE_LOCAL ? "this->" : "", v->name);
	return v;
}

static void value_add(struct report *t, const struct difo *d, uint64_t value)
{
	CLEANUP(free) char *text = NULL;

	if (d->ret.kind != DIF_KIND_STRING) {
		number_add(t->out, value);
		return;
	}
	text = replay_text(t->replay, value);
	if (value)
		text_add(t->out, text);
	else
		strbuf_adds(t->out, "NULL");
}

static void on_value(void *ctx, const struct prog_act *act, uint32_t k, const struct difo *d,
		     const struct dif_result *r)
{
	struct report *t = ctx;
	bool is_frame = act && (act->kind == ACT_UFRAME || act->kind == ACT_UNWIND);

	read_flush(t);
	if (r->fault != DIF_FAULT_NONE || is_frame) {
		if (act && act->kind == ACT_UNWIND && k < 3)
			t->unwind[k] = r->value;
		return;
	}
	line_begin(t);
	if (!act || act->kind == ACT_BRZ) {
		strbuf_addf(t->out, "%s: %s\n", act ? "condition" : "predicate",
			    r->value ? "true" : "false");
		return;
	}
	if (!variable_add(t->out, d))
		strbuf_adds(t->out, "value ");
	value_add(t, d, r->value);
	strbuf_addc(t->out, '\n');
}

static void on_done(void *ctx, const struct prog_act *act, const struct dif_result *r)
{
	struct report *t = ctx;

	(void)r;
	if (act->kind == ACT_UFRAME) {
		line_begin(t);
		strbuf_adds(t->out, "uframe() adds ");
		text_add(t->out, replay_frame_text(t->replay));
		strbuf_addc(t->out, '\n');
	} else if (act->kind == ACT_UNWIND) {
		line_begin(t);
		strbuf_addf(t->out,
			    "unwind() goes to pc 0x%" PRIx64 ", sp 0x%" PRIx64 ", fp 0x%" PRIx64
			    "\n",
			    t->unwind[0], t->unwind[1], t->unwind[2]);
	}
}

static void on_failed(void *ctx, const struct helper *h, const char *why)
{
	struct report *t = ctx;

	read_flush(t);
	(void)h;
	strbuf_addf(t->out, "  fault: %s\n",
		    why ? why : "the memory of the process cannot be read");
}

/* ---- the stack ------------------------------------------------------------------------------- */

static void frame_text_add(struct strbuf *out, const char *text)
{
	CLEANUP(free) char *clean = text_clean(xstrdup(text));

	if (*clean == '@')
		strbuf_addf(out, "%14s  [ %s ]\n", "", clean + 1);
	else
		strbuf_addf(out, "%14s%s\n", "", clean);
}

/* Adds the whole stack to the report, as jstack() shows it. */
static void stack_add(struct report *t, const struct replay *r)
{
	strbuf_adds(t->out, "the stack:\n");
	for (uint32_t i = 0; i < r->frames.len; i++) {
		const struct replay_frame *f = &r->frames.data[i];
		const char *name = f->text;
		struct strbuf text = {0};

		if (f->kind == REPLAY_LANGUAGE) {
			frame_text_add(t->out, name);
			continue;
		}
		if (!name_add(t, f->pc, f->is_return, &text) && name && *name != '@') {
			frame_text_add(t->out, name);
		} else {
			strbuf_addf(t->out, "%14s%s\n", "", strbuf_text(&text));
			if (name && *name == '@')
				frame_text_add(t->out, name);
		}
		strbuf_deinit(&text);
	}
	if (r->is_cut)
		strbuf_addf(t->out, "%14s(there are more frames, which cannot be found)\n", "");
}

/* ---- the thread ------------------------------------------------------------------------------ */

static struct err *thread_replay(struct report *t, struct replay *r, const struct file_opts *files,
				 const struct target_who *who)
{
	struct walk_target *walk;
	struct arch_regs regs;
	struct err *e = target_regs(r->target, who->tid, &regs);

	if (e)
		return e;
	walk = walk_target_open(r->target, files);
	r->space = walk_target_space(walk);
	r->regs = &regs;
	r->thread = replay_thread_of(who);
	replay_run(r);
	stack_add(t, r);
	walk_target_close(walk);
	return NULL;
}

static struct err *thread_trace(struct ustacks *u, struct report *t, pid_t tid)
{
	const struct process_hooks hooks = {t, on_begin, on_read, on_value, on_done};
	struct helper *list[USTACK_HELPERS_MAX];
	struct replay r = {.target = t->target,
			   .helpers = list,
			   .files = ustacks_files(u),
			   .max_frames = t->opts->max_frames,
			   .strsize = t->opts->strsize,
			   .ctx = t,
			   .part = on_part,
			   .frame = on_frame,
			   .failed = on_failed,
			   .hooks = &hooks};
	struct target_who who;
	struct err *e;

	if (!target_who(t->target, tid, &who))
		return err_new("there is no process or thread %d", (int)tid);
	t->replay = &r;
	r.nhelpers = ustacks_of_target(u, t->target, list);
	if (!r.nhelpers)
		strbuf_addf(t->out, "no helper applies to process %d (%s)\n", (int)who.pid,
			    who.name);
	e = thread_replay(t, &r, ustacks_files(u), &who);
	replay_deinit(&r);
	return e;
}

/* Traces all threads, each under a line with its number if there are several. */
static struct err *threads_trace(struct ustacks *u, struct report *t)
{
	struct err *e = NULL;
	target_tids tids = {0};

	target_threads(t->target, &tids);
	for (uint32_t i = 0; i < tids.len && !e; i++) {
		if (tids.len > 1)
			strbuf_addf(t->out, "thread %d:\n", (int)tids.data[i]);
		e = thread_trace(u, t, tids.data[i]);
	}
	vec_deinit(&tids);
	return e;
}

struct err *ustacks_trace(struct ustacks *u, const struct trace_opts *opts, struct strbuf *out)
{
	struct gate *gate = ustacks_files(u)->gate;
	struct report t = {.out = out, .opts = opts};
	struct err *e = opts->core ? target_core_open(opts->core, gate, &t.target)
				   : target_hold(opts->tid, gate, &t.target);

	if (!e) {
		t.pid = (pid_t)syms_target(opts->syms, t.target);
		dump_signal_tell(t.target, out);
		dump_stale_tell(t.target, out);
		e = opts->tid ? thread_trace(u, &t, opts->tid) : threads_trace(u, &t);
	}
	target_close(t.target);
	strbuf_deinit(&t.location);
	return e;
}
