/* SPDX-License-Identifier: MIT */
/* The walk of a user stack on the host. */
#include "unwind/walk.h"

#include "base/vec.h"
#include "files/gate.h"
#include "target/maps.h"
#include "target/target.h"
#include "image/debugfile.h"
#include "image/ehframe.h"
#include "image/image.h"
#include "arch/step.h"

#define VDSO_MAX ((uint64_t)1 << 20) /* bytes; it has two pages */

_Static_assert(FRAME_NREGS <= ARCH_NREGS_MAX, "ARCH_NREGS_MAX");

/* ---- what the frame step asks for ----------------------------------------------------------- */

struct frame_env {
	const struct walk_space *space;
	bool asks; /* whoever sees the frames is asked about those of RULE_DATA */
};

FRAME_FUNC u64 env_read(struct frame_env *env, u64 *dst, u64 addr, u32 size)
{
	return env->space->read(env->space->ctx, addr, dst, size);
}

FRAME_FUNC u64 env_read_pair(struct frame_env *env, struct frame *f, u64 addr)
{
	return env_read(env, f->pair, addr, sizeof(f->pair));
}

static u64 row_rule(const struct walk_code *c)
{
	const struct unwind_row *row = NULL;

	if (c->lazy && !(c->off >> 32))
		row = unwind_lazy_find(c->lazy, (uint32_t)c->off);
	else if (c->rows && !(c->off >> 32))
		row = unwind_row_find(c->rows, (uint32_t)c->off);
	return row ? unwind_row_rule(row) : RULE_NO_TABLE;
}

FRAME_FUNC u64 env_rule(struct frame_env *env, struct frame *f)
{
	struct walk_code code;
	u64 rule = RULE_NO_CODE;

	if (env->space->code(env->space->ctx, f->insn, WALK_ROWS, &code))
		rule = code.is_data ? RULE_DATA : row_rule(&code);
	rule = frame_rule(env, f, rule);
	return RULE_KIND(rule) == RULE_DATA && !env->asks ? RULE_NO_CODE : rule;
}

FRAME_FUNC u64 env_rare_cfa(struct frame_env *env, struct frame *f, u64 rule)
{
	return frame_rare_cfa(env, f, rule);
}

/* ---- the walk ------------------------------------------------------------------------------- */

/* Makes the frame that was chosen the next one, as rt/unwind.c does. */
static enum walk_end frame_steer(struct frame_env *env, struct frame *f,
				 const struct walk_choice *c)
{
	f->pc = c->pc;
	f->sp = c->sp;
	f->fp = c->fp;
	f->insn = f->pc - 1;
	f->is_first = 0;
	f->known = f->carried_sp = 0;
	if (!f->pc)
		return WALK_COMPLETE;
	f->rule = env_rule(env, f);
	return f->rule == RULE_NO_CODE ? WALK_CUT : WALK_ON;
}

/* The step of a walk that restores callee-saved registers. */
static enum walk_end frame_step_saving(struct frame_env *env, struct frame *f)
{
	struct walk_code code;
	bool is_code = env->space->code(env->space->ctx, f->insn, WALK_SAVED, &code);
	enum walk_end end;

	frame_keep(f, is_code && !code.is_data ? row_rule(&code) : RULE_NO_CODE);
	end = frame_step(env, f);
	frame_restore(env, f);
	return end;
}

/* Shows the frame; true: whoever saw it wants the walk to end. */
static bool frame_show(const struct frame *f, const struct walk_frame *w, walk_frame_fn *frame,
		       void *ctx, struct walk_choice *ret)
{
	*ret = (struct walk_choice){0};
	frame(ctx, w, f->is_first, ret);
	return ret->is_over;
}

static enum walk_end walk64_run(struct frame_env *env, struct frame *f, bool saves,
				walk_frame_fn *frame, void *ctx)
{
	bool asks = env->asks, is_exact = true, is_bare;
	enum walk_end end = WALK_ON;

	env->asks = false; /* what was interrupted was running */
	f->rule = env_rule(env, f);
	env->asks = asks;
	is_bare = RULE_KIND(f->rule) == RULE_NO_TABLE;
	if (is_bare)
		f->rule = frame_first_rule(env, f, false);
	while (end == WALK_ON) {
		struct walk_frame w = {.pc = f->pc,
				       .sp = f->sp,
				       .fp = f->fp,
				       .is_exact = is_exact,
				       .is_bare = is_bare,
				       .is_data = RULE_KIND(f->rule) == RULE_DATA,
				       .regs = f->regs,
				       .known = saves || f->is_first ? f->known : 0};
		struct walk_choice c;

		if (frame_show(f, &w, frame, ctx, &c))
			return WALK_COMPLETE;
		if (f->rule == RULE_NO_CODE)
			return WALK_CUT;
		end = c.is_steered ? frame_steer(env, f, &c)
		      : saves	   ? frame_step_saving(env, f)
				   : frame_step(env, f);
		is_exact = frame_is_exact(f);
		is_bare = RULE_KIND(f->rule) == RULE_NO_TABLE;
	}
	return end;
}

static enum walk_end walk32_run(struct frame_env *env, struct frame *f, walk_frame_fn *frame,
				void *ctx)
{
	enum walk_end end = WALK_ON;
	struct walk_choice c;

	frame32_begin(f);
	for (bool is_exact = true; end == WALK_ON; is_exact = false) {
		struct walk_frame w = {.pc = f->pc, .sp = f->sp, .fp = f->fp, .is_exact = is_exact};

		if (frame_show(f, &w, frame, ctx, &c))
			return WALK_COMPLETE;
		end = frame32_step(env, f, false);
	}
	return end;
}

/* ---- frames that are kept -------------------------------------------------------------------- */

struct keeping {
	struct walk_stack *stack;
	uint32_t max;
};

static void frame_keep_shown(void *ctx, const struct walk_frame *f, bool is_first,
			     struct walk_choice *ret)
{
	struct keeping *k = ctx;
	struct walk_frame *kept = &k->stack->frames[k->stack->nframes++];

	(void)is_first;
	*kept = *f;
	kept->regs = NULL; /* those of the walk */
	kept->known = 0;
	ret->is_over = k->stack->nframes == k->max;
}

void stack_walk(const struct walk_space *space, const struct arch_regs *regs, uint32_t max,
		struct walk_stack *ret)
{
	struct keeping k = {.stack = ret, .max = max};
	struct frame_env env = {.space = space};
	struct frame f = {0};
	enum walk_end end;
	bool is_whole;

	*ret = (struct walk_stack){0};
	if (!max)
		return;
	ret->frames = xcalloc(max, sizeof(*ret->frames));
	memcpy(f.regs, regs->words, sizeof(f.regs));
	frame_begin(&f);
	end = frame_is_32(&f) ? walk32_run(&env, &f, frame_keep_shown, &k)
			      : walk64_run(&env, &f, false, frame_keep_shown, &k);
	is_whole = ret->nframes == 1 && !frame_is_32(&f) && frame_is_newborn(&env, &f);
	ret->is_cut = end == WALK_CUT && !is_whole;
	ret->is_doubtful = f.is_doubtful && !is_whole;
}

/* ---- frames that a helper follows ------------------------------------------------------------ */

bool stack_walk_each(const struct walk_space *space, const struct arch_regs *regs, bool saves,
		     walk_frame_fn *frame, void *ctx)
{
	struct frame_env env = {.space = space, .asks = true};
	struct frame f = {0};

	memcpy(f.regs, regs->words, sizeof(f.regs));
	frame_begin(&f);
	if (frame_is_32(&f)) /* helpers are for programs of 64 bits */
		return true;
	return walk64_run(&env, &f, saves, frame, ctx) == WALK_CUT;
}

/* ---- a target -------------------------------------------------------------------------------- */

/* The rows of a mapped file, which its mappings share. */
struct mapped {
	struct image *image; /* NULL: the vDSO, or a file that cannot be opened */
	enum walk_rows which;
	struct gate_file *file;	  /* that of `lazy` */
	struct unwind_lazy *lazy; /* NULL: all rows are read */
	struct unwind_rows rows;
};

struct walk_target {
	struct target *target;
	const struct file_opts *opts;
	const struct proc_maps *maps;
	struct mapped **known[2]; /* by enum walk_rows and mapping; NULL: not asked for yet */
	VEC(struct mapped *) files;
};

static bool space_read(void *ctx, taddr addr, void *dst, size_t size)
{
	const struct walk_target *w = ctx;

	return target_read(w->target, addr, dst, size);
}

static bool is_vdso(const struct proc_map *m)
{
	return strcmp(m->path, "[vdso]") == 0;
}

static void vdso_read(const struct walk_target *w, const struct proc_map *m, enum walk_rows which,
		      struct unwind_rows *ret)
{
	size_t size = MIN(m->end - m->start, VDSO_MAX);
	CLEANUP(free) char *image = xmalloc(size);

	if (!target_read(w->target, m->start, image, size))
		return;
	if (which == WALK_SAVED)
		unwind_saved_read_memory(image, size, ret);
	else
		unwind_rows_read_memory(image, size, ret);
}

/* Returns the rows of a mapping, reading those of its file if no other mapping has. */
static struct mapped *mapped_get(struct walk_target *w, const struct proc_map *m,
				 enum walk_rows which)
{
	bool has_file = !is_vdso(m);
	struct image *i = has_file ? target_image(w->target, w->opts->images, m) : NULL;
	struct mapped *f;

	for (uint32_t k = 0; i && k < w->files.len; k++)
		if (w->files.data[k]->image == i && w->files.data[k]->which == which) {
			image_put(i);
			return w->files.data[k];
		}
	f = xcalloc(1, sizeof(*f));
	f->image = i;
	f->which = which;
	if (i)
		f->lazy = unwind_lazy_open(i->opened, w->opts->limit, which == WALK_SAVED);
	if (f->lazy)
		f->file = gate_file_share(i->opened);
	else if (!has_file)
		vdso_read(w, m, which, &f->rows);
	else if (i && which == WALK_SAVED)
		unwind_saved_read(i->opened, w->opts->limit, NULL, &f->rows);
	else if (i)
		unwind_rows_read(i->opened, w->opts->limit, NULL, &f->rows);
	vec_push(&w->files, f);
	return f;
}

static const struct mapped *mapped_of(struct walk_target *w, const struct proc_map *m,
				      enum walk_rows which)
{
	struct mapped **slot = &w->known[which][m - w->maps->maps.data];

	if (!*slot)
		*slot = mapped_get(w, m, which);
	return *slot;
}

static bool space_code(void *ctx, taddr addr, enum walk_rows which, struct walk_code *ret)
{
	struct walk_target *w = ctx;
	const struct proc_map *m = proc_maps_find(w->maps, addr);
	const struct mapped *f;

	if (!m || !(m->is_exec || m->is_shared || !proc_map_has_file(m)))
		return false;
	*ret = (struct walk_code){.off = addr - m->start + m->off, .is_data = !m->is_exec};
	if (!m->is_exec || !(proc_map_has_file(m) || is_vdso(m)))
		return true;
	f = mapped_of(w, m, which);
	ret->rows = &f->rows;
	ret->lazy = f->lazy;
	return true;
}

struct walk_space walk_target_space(struct walk_target *w)
{
	return (struct walk_space){.read = space_read, .code = space_code, .ctx = w};
}

struct walk_target *walk_target_open(struct target *t, const struct file_opts *files)
{
	struct walk_target *w = xcalloc(1, sizeof(*w));

	w->target = t;
	w->opts = files;
	w->maps = target_maps(t);
	for (size_t i = 0; i < ARRAY_LEN(w->known); i++)
		w->known[i] = xcalloc(w->maps->maps.len + 1, sizeof(struct mapped *));
	return w;
}

void walk_target_close(struct walk_target *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->files.len; i++) {
		unwind_lazy_close(w->files.data[i]->lazy);
		gate_file_close(w->files.data[i]->file);
		unwind_rows_deinit(&w->files.data[i]->rows);
		image_put(w->files.data[i]->image);
		free(w->files.data[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(w->known); i++)
		free(w->known[i]);
	vec_deinit(&w->files);
	free(w);
}
