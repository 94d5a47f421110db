/* SPDX-License-Identifier: MIT */
/* Runs ustack helpers over a thread that is stopped. */
#include "helper/replay.h"

#include "record/format.h"
#include "rt/helper.h"
#include "target/target.h"
#include "helper/helper.h"

/* A helper with its variables. */
struct part {
	const struct helper *h;
	struct process *proc;
	bool is_attached, has_values;
};

struct walk {
	struct replay *r;
	struct part *parts;
	struct process_frame frame;
	struct process_hooks hooks;
	/* the clauses that run */
	struct part *part;
	uint32_t left;		/* actions */
	uint64_t result;	/* address of the value, in the machine of result_of */
	struct part *result_of; /* NULL: no name */
	struct strbuf text;	/* of uframe() */
	uint64_t unwind[3];	/* arguments of unwind() */
	struct walk_choice *choice;
	uint32_t nframes, text_left;
	bool saves;	/* a helper wants callee-saved registers */
	bool is_parked; /* no frame was interrupted, and uthread clauses do not run */
};

/* ---- frames ---------------------------------------------------------------------------------- */

static void frame_note(struct walk *w, enum replay_frame_kind kind, const struct walk_frame *at,
		       const char *text)
{
	struct replay_frame f = {.kind = kind,
				 .pc = at ? at->pc : 0,
				 .is_return = at && (!at->is_exact || w->is_parked),
				 .text = text ? xstrdup(text) : NULL,
				 .part = w->part ? (uint32_t)(w->part - w->parts) : 0};

	if (w->nframes >= w->r->max_frames) {
		free(f.text);
		return;
	}
	w->nframes++;
	vec_push(&w->r->frames, f);
}

/* The variables of the frame that was noted last, which was added or (false) has got a name. */
static void locals_note(struct walk *w, struct part *part, struct replay_frame *f, bool is_added)
{
	if (!part->has_values)
		return;
	f->part = (uint32_t)(part - w->parts);
	w->frame.args[7] = is_added;
	value_locals_read(part->proc, part->h, &f->locals);
}

static char *text_read(const struct part *part, uint64_t addr)
{
	struct dif_machine *m = process_machine(part->proc);
	char *buf = xcalloc(1, dif_machine_strsize(m));
	uint32_t len;

	if (!dif_machine_text(m, addr, buf, &len))
		buf[0] = '\0';
	return buf;
}

/* The value of the clauses is the name of the native frame, if it is not empty and finds room. */
static void name_note(struct walk *w, struct replay_frame *native)
{
	CLEANUP(free) char *text = w->result_of ? text_read(w->result_of, w->result) : NULL;
	struct part *part = w->result_of;
	size_t n = text ? strlen(text) : 0;

	w->result_of = NULL;
	if (!n || n >= w->text_left)
		return;
	w->text_left -= (uint32_t)n + 1;
	native->is_stub = *text == RT_USTACK_STUB;
	native->text = xstrdup(text + native->is_stub);
	locals_note(w, part, native, false);
}

static void scratch_free(struct walk *w)
{
	for (uint32_t i = 0; i < w->r->nhelpers; i++)
		if (w->parts[i].is_attached)
			dif_machine_begin_clause(process_machine(w->parts[i].proc));
}

/* ---- what clauses do ------------------------------------------------------------------------- */

static void on_begin(void *ctx, const struct prog_clause *cl, const struct prog_act *act)
{
	struct walk *w = ctx;

	if (w->r->hooks)
		w->r->hooks->begin(w->r->hooks->ctx, cl, act);
}

static void on_read(void *ctx, uint64_t addr, const void *bytes, uint32_t size)
{
	struct walk *w = ctx;

	if (w->r->hooks)
		w->r->hooks->read(w->r->hooks->ctx, addr, bytes, size);
}

static void on_value(void *ctx, const struct prog_act *act, uint32_t k, const struct difo *d,
		     const struct dif_result *r)
{
	struct walk *w = ctx;

	if (w->r->hooks)
		w->r->hooks->value(w->r->hooks->ctx, act, k, d, r);
	if (!act || r->fault != DIF_FAULT_NONE)
		return;
	if (act->kind == ACT_UNWIND && k < 3)
		w->unwind[k] = r->value;
	if (act->kind == ACT_UFRAME && act->arg_kinds[k] == DATUM_STRING) {
		CLEANUP(free) char *text = text_read(w->part, r->value);

		strbuf_adds(&w->text, text);
	} else if (act->kind == ACT_UFRAME) {
		strbuf_addf(&w->text, "%lld", (long long)r->value);
	}
	if (act->kind == ACT_EXPR) {
		w->result_of = d->ret.kind == DIF_KIND_STRING && r->value ? w->part : NULL;
		w->result = r->value;
	}
}

static void on_done(void *ctx, const struct prog_act *act, const struct dif_result *r)
{
	struct walk *w = ctx;

	if (act->kind == ACT_UFRAME) {
		if (w->text.len >= RT_HELPER_STRSIZE)
			w->text.data[RT_HELPER_STRSIZE - 1] = '\0';
		if (w->text.len && w->nframes < w->r->max_frames) {
			frame_note(w, REPLAY_LANGUAGE, NULL, strbuf_text(&w->text));
			locals_note(w, w->part, vec_last(&w->r->frames), true);
		}
		w->result_of = NULL;
	} else if (act->kind == ACT_UNWIND && w->choice) {
		*w->choice = (struct walk_choice){.is_steered = true,
						  .pc = w->unwind[0],
						  .sp = w->unwind[1],
						  .fp = w->unwind[2]};
	}
	if (w->r->hooks)
		w->r->hooks->done(w->r->hooks->ctx, act, r);
	if (act->kind == ACT_UFRAME) {
		strbuf_clear(&w->text);
		scratch_free(w);
	}
}

/* Runs those of a part; false: one has faulted, and their value is lost. */
static bool part_run(struct walk *w, const struct prog *prog, enum helper_probe probe)
{
	for (uint32_t k = 0; k < prog->nclauses; k++) {
		CLEANUP(free) char *why = NULL;

		if (helper_clause_probe(prog->clauses[k]) != probe ||
		    process_clause(w->part->proc, prog->clauses[k], &w->left, &why))
			continue;
		w->result_of = NULL;
		if (w->r->failed)
			w->r->failed(w->r->ctx, w->part->h, why);
		strbuf_clear(&w->text);
		return false;
	}
	return true;
}

/*
 * Runs the clauses of one kind of all helpers; a fault ends them, and their value is lost. On
 * uthread, it ends those of one helper.
 */
static void clauses_run(struct walk *w, enum helper_probe probe)
{
	scratch_free(w);
	strbuf_clear(&w->text);
	w->result_of = NULL;
	for (uint32_t i = 0; i < w->r->nhelpers; i++) {
		w->part = &w->parts[i];
		if (!w->part->is_attached)
			continue;
		if (w->r->part)
			w->r->part(w->r->ctx, w->part->h, probe);
		process_set_frame(w->part->proc, &w->frame);
		if (!part_run(w, w->part->h->prog, probe) && probe != HELPER_UTHREAD)
			return;
	}
}

/* ---- the walk -------------------------------------------------------------------------------- */

static void args_set(struct walk *w, const struct walk_frame *f)
{
	w->frame.args[0] = f->pc;
	w->frame.args[1] = f->fp;
	w->frame.args[2] = f->sp;
	w->frame.args[3] = (w->nframes ? w->nframes - 1 : 0) + w->is_parked;
	w->frame.args[5] = f->is_bare;
	w->frame.args[6] = f->is_data;
	w->frame.regs = f->regs;
	w->frame.known = f->known;
}

static void replay_frame_free(struct replay_frame *f)
{
	free(f->text);
	vec_deinit(&f->locals);
}

/* Forgets the frame, and what the helpers have added to it. */
static void frame_take_back(struct walk *w, uint32_t len, uint32_t nframes)
{
	while (w->r->frames.len > len)
		replay_frame_free(&w->r->frames.data[--w->r->frames.len]);
	w->nframes = nframes;
}

static void on_frame(void *ctx, const struct walk_frame *f, bool is_first, struct walk_choice *ret)
{
	struct walk *w = ctx;
	uint32_t len = w->r->frames.len, nframes = w->nframes;

	if (is_first && !w->is_parked) {
		args_set(w, f);
		clauses_run(w, HELPER_UTHREAD);
	}
	if (w->nframes >= w->r->max_frames) {
		ret->is_over = true;
		return;
	}
	if (w->r->frame)
		w->r->frame(w->r->ctx, w->nframes, f);
	frame_note(w, REPLAY_NATIVE, f, NULL);
	args_set(w, f);
	w->choice = ret;
	clauses_run(w, HELPER_USTACK);
	w->choice = NULL;
	name_note(w, &w->r->frames.data[len]);
	if (f->is_data && !ret->is_steered) {
		frame_take_back(w, len, nframes);
		return;
	}
	w->r->is_full = ret->is_over = w->nframes >= w->r->max_frames;
}

/* Opens the target for each helper, and runs its clauses of attach. */
static void parts_open(struct walk *w)
{
	for (uint32_t i = 0; i < w->r->nhelpers; i++) {
		struct part *part = &w->parts[i];
		CLEANUP(free) char *why = NULL;

		part->h = w->r->helpers[i];
		part->proc = process_open(w->r->target, w->r->files);
		w->part = part;
		process_set_hooks(part->proc, &w->hooks);
		if (w->r->part)
			w->r->part(w->r->ctx, part->h, HELPER_ATTACH);
		part->is_attached = process_attach(part->proc, part->h, &why);
		if (!part->is_attached && w->r->failed)
			w->r->failed(w->r->ctx, part->h, why);
		if (!part->is_attached || !part->h->values)
			continue;
		part->has_values = process_attach_values(part->proc, part->h, &why);
		if (!part->has_values && w->r->failed)
			w->r->failed(w->r->ctx, part->h, why);
	}
}

/* Whether the helper wants callee-saved registers in this process (struct helper.saves). */
static bool part_saves(const struct part *part)
{
	const struct prog_vars *vars = part->h->vars;
	uint64_t value;

	if (!part->is_attached || !part->h->saves_if)
		return part->is_attached && part->h->saves;
	for (uint32_t i = 0; i < vars->len; i++) {
		const struct prog_var *v = vars->vars[i];
		struct strbuf text = {0};
		bool is_set;

		if (v->scope != DIF_SCOPE_GLOBAL || strcmp(v->name, part->h->saves_if) != 0)
			continue;
		is_set = process_global(part->proc, v, &value, &text) && value;
		strbuf_deinit(&text);
		return is_set;
	}
	return false;
}

struct process_frame replay_thread_of(const struct target_who *who)
{
	return (struct process_frame){.tid = who->tid,
				      .ppid = who->ppid,
				      .uid = who->uid,
				      .gid = who->gid,
				      .execname = who->name,
				      .execargs = who->args};
}

void replay_begin(struct replay *r)
{
	struct walk *w = xcalloc(1, sizeof(*w));

	r->walk = w;
	w->r = r;
	w->hooks = (struct process_hooks){w, on_begin, on_read, on_value, on_done};
	w->parts = xcalloc(r->nhelpers + 1, sizeof(*w->parts));
	parts_open(w);
	for (uint32_t i = 0; i < r->nhelpers; i++)
		w->saves |= part_saves(&w->parts[i]);
}

static void walk_begin(struct walk *w)
{
	w->left = w->r->max_actions ? w->r->max_actions : REPLAY_ACTIONS;
	w->text_left = w->r->strsize;
	w->nframes = 0;
	w->r->is_full = w->r->is_cut = false;
	for (uint32_t i = 0; i < w->r->nhelpers; i++)
		if (w->parts[i].is_attached)
			dif_machine_begin_firing(process_machine(w->parts[i].proc), 0);
}

void replay_walk(struct replay *r)
{
	struct walk *w = r->walk;

	w->frame = r->thread;
	w->frame.args[4] = r->regs->thread_pointer;
	walk_begin(w);
	r->is_cut = stack_walk_each(&r->space, r->regs, w->saves, on_frame, w);
}

void replay_parked(struct replay *r, uint32_t part, uint64_t word)
{
	struct walk *w = r->walk;
	struct walk_choice first = {0};
	struct arch_regs regs = *r->regs;

	w->part = &w->parts[part];
	if (!w->part->has_values)
		return;
	/* arg3: no frame was interrupted, whose registers could be asked for */
	w->frame = (struct process_frame){.args = {word, 0, 0, 1}, .execname = "", .execargs = ""};
	w->frame.args[4] = r->regs->thread_pointer;
	walk_begin(w);
	scratch_free(w);
	strbuf_clear(&w->text);
	process_set_frame(w->part->proc, &w->frame);
	/* They may set variables of the helper. */
	(void)part_run(w, w->part->h->prog, HELPER_UTHREAD);
	w->choice = &first;
	(void)part_run(w, w->part->h->values, HELPER_BACKTRACE);
	w->choice = NULL;
	if (first.is_steered && first.pc) {
		regs.words[arch.pc / 8] = first.pc;
		regs.words[arch.sp / 8] = first.sp;
		regs.words[arch.unwind.words[arch.unwind.fp]] = first.fp;
		w->is_parked = true;
		r->is_cut = stack_walk_each(&r->space, &regs, false, on_frame, w);
		w->is_parked = false;
	}
	r->is_full = w->nframes >= r->max_frames;
}

bool replay_walks_parked(const struct replay *r, uint32_t part)
{
	const struct prog *values = part < r->nhelpers ? r->helpers[part]->values : NULL;

	for (uint32_t i = 0; values && i < values->nclauses; i++) {
		const struct prog_clause *cl = values->clauses[i];

		for (uint32_t k = 0; k < cl->nacts; k++)
			if (helper_clause_probe(cl) == HELPER_BACKTRACE &&
			    (cl->acts[k].kind == ACT_UFRAME || cl->acts[k].kind == ACT_UNWIND))
				return true;
	}
	return false;
}

void replay_end(struct replay *r)
{
	struct walk *w = r->walk;

	for (uint32_t i = 0; i < r->nhelpers; i++)
		process_close(w->parts[i].proc);
	strbuf_deinit(&w->text);
	free(w->parts);
	free(w);
	r->walk = NULL;
}

void replay_run(struct replay *r)
{
	replay_begin(r);
	replay_walk(r);
	replay_end(r);
}

struct process *replay_values(const struct replay *r, uint32_t part)
{
	const struct walk *w = r->walk;

	return w && part < r->nhelpers && w->parts[part].has_values ? w->parts[part].proc : NULL;
}

char *replay_text(const struct replay *r, uint64_t addr)
{
	return text_read(r->walk->part, addr);
}

const char *replay_frame_text(const struct replay *r)
{
	return strbuf_text(&r->walk->text);
}

void replay_frames_deinit(replay_frames *frames)
{
	for (uint32_t i = 0; i < frames->len; i++)
		replay_frame_free(&frames->data[i]);
	vec_deinit(frames);
}

void replay_deinit(struct replay *r)
{
	replay_frames_deinit(&r->frames);
}
