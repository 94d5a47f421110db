/* SPDX-License-Identifier: MIT */
/* Writes windows in batches, and takes them back. */
#include <errno.h>
#include <time.h>

#include "arch/patch.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"

/*
 * For windows to which a signal handler was about to return. Those that are to be written are tried
 * again later, too, as long as the caller likes (PATCH_HELD), and most of them are held by what an
 * earlier call has left on a stack: nobody waits long for them.
 */
#define RETRIES_WRITE 3
#define RETRIES_BACK  4
#define RETRY_NS      1000000 /* before the first one; each later one waits four times as long */
#define USER_END      (1ull << 47)

_Static_assert(PATCH_BATCH == WINDOWS_BATCH && PATCH_BOUNDS_MAX <= WINDOWS_BOUNDS, "the same");

struct change {
	struct windows_job job;
	enum windows_result result;
};

static void change_run(void *ctx)
{
	struct change *c = ctx;

	c->result = windows_change(&c->job);
}

/*
 * *ret_over: the process has ended, or the user does not wait for a thread that does not stop
 * (is_interrupted, which may be NULL); no error then.
 */
static struct err *change_do(struct patch *p, struct change *c, const atomic_int *is_interrupted,
			     bool *ret_over)
{
	uint64_t until = now_ns() + p->busy_ns;
	struct err *e = worker_run(change_run, c);

	while (!e && c->result == WINDOWS_BUSY && busy_wait(until, is_interrupted))
		e = worker_run(change_run, c);
	*ret_over = !e && (c->result == WINDOWS_GONE ||
			   (c->result == WINDOWS_BUSY && is_interrupted && *is_interrupted));
	if (e || *ret_over)
		return e;
	stop_count(p, c->job.stop_ns);
	switch (c->result) {
	case WINDOWS_DONE:
	case WINDOWS_GONE: break;
	case WINDOWS_REFUSED: return refuse_hold(c->job.pid, false, c->job.tid, c->job.sys);
	case WINDOWS_BUSY: return refuse_busy(c->job.pid, c->job.tid);
	case WINDOWS_SHARED: return refuse_shared(c->job.pid, c->job.tid);
	}
	return NULL;
}

/* Waits before another try; false: there is to be none. */
static bool retry_wait(uint32_t n, uint32_t most)
{
	struct timespec pause = {.tv_nsec = RETRY_NS};

	for (uint32_t i = 0; i < n; i++)
		pause.tv_nsec *= 4;
	if (n >= most)
		return false;
	(void)nanosleep(&pause, NULL);
	return true;
}

/* ---- writing --------------------------------------------------------------------------------- */

struct batch {
	uint32_t n;
	uint32_t at[PATCH_BATCH];    /* positions in the order in which they are written */
	uint32_t which[PATCH_BATCH]; /* of the caller's windows */
	uint32_t rows[PATCH_BATCH];
	uint32_t groups[PATCH_BATCH];
	struct window_bounds bounds[PATCH_BATCH];
	uint8_t results[PATCH_BATCH];
};

static bool row_take(struct patch *p, uint32_t *ret)
{
	for (uint32_t i = 0; i < p->journal->nrows; i++) {
		uint32_t row = (p->next_row + i) % p->journal->nrows;

		if (p->journal->rows[row].is_used)
			continue;
		p->next_row = row + 1;
		*ret = row;
		return true;
	}
	return false;
}

static void row_free(struct patch *p, uint32_t row)
{
	p->journal->rows[row].is_used = false;
	(void)region_rows_write(p, row, 1); /* who reads it compares with memory */
}

static bool window_is_sound(const struct patch *p, const struct patch_window *w)
{
	taddr code = patch_code_addr(p);

	return w->nbounds <= PATCH_BOUNDS_MAX && !(w->is_call && (w->pad || w->nbounds)) &&
	       w->addr < USER_END - 16 && w->pad < USER_END - 16 &&
	       (w->stub - code < patch_code_size(p) || mirrors_have_code(p, w->stub));
}

/* Adds a window to the batch; what cannot be written gets its state. */
static void batch_add(struct patch *p, struct batch *b, const struct patch_window *w, uint32_t k,
		      enum patch_state *state)
{
	struct window_bounds *bounds = &b->bounds[b->n];
	struct window_row *r;
	uint32_t row;

	*state = PATCH_BEYOND;
	if (!window_is_sound(p, w) || !row_take(p, &row))
		return;
	*bounds = (struct window_bounds){.n = w->nbounds};
	for (uint8_t i = 0; i < w->nbounds; i++) {
		bounds->offs[i] = w->bounds[i].off;
		bounds->to[i] = w->bounds[i].to;
	}
	r = &p->journal->rows[row];
	*r = (struct window_row){.addr = w->addr,
				 .pad = w->pad,
				 .stub = w->stub,
				 .is_used = true,
				 .is_call = w->is_call};
	memcpy(r->old, w->old, sizeof(r->old));
	memcpy(r->old_pad, w->old_pad, sizeof(r->old_pad));
	*state = PATCH_OUT;
	b->which[b->n] = k;
	b->groups[b->n] = w->group;
	b->rows[b->n++] = row;
}

static enum patch_state state_of(uint8_t result)
{
	switch ((enum window_result)result) {
	case WINDOW_DONE: return PATCH_IN;
	case WINDOW_HELD: return PATCH_HELD;
	case WINDOW_DIFFERS: return PATCH_DIFFERS;
	case WINDOW_REFUSED: return PATCH_REFUSED;
	case WINDOW_BEYOND: return PATCH_BEYOND;
	case WINDOW_LATE: return PATCH_OUT;
	}
	BUG("result %d of a window", result);
}

/* Writes the rows of a batch into the head, those that follow one another at once. */
static bool rows_write(const struct patch *p, const struct batch *b)
{
	for (uint32_t i = 0, n; i < b->n; i += n) {
		for (n = 1; i + n < b->n && b->rows[i + n] == b->rows[i] + n;)
			n++;
		if (!region_rows_write(p, b->rows[i], n))
			return false;
	}
	return true;
}

/*
 * The head cannot be written, for want of memory, and a later tracer would not find the windows:
 * none of the batch is written.
 */
static void batch_refuse(struct patch *p, const struct batch *b, enum patch_state *states)
{
	for (uint32_t i = 0; i < b->n; i++) {
		states[b->which[i]] = PATCH_REFUSED;
		row_free(p, b->rows[i]);
	}
}

/* *k: the position behind the batch; it becomes that of the first one there was no time for. */
static struct err *batch_write(struct patch *p, struct batch *b, const atomic_int *is_interrupted,
			       enum patch_state *states, uint32_t *k, bool *ret_over)
{
	struct change c = {.job = {.pid = p->pid,
				   .mem_fd = p->mem_fd,
				   .journal = p->journal,
				   .rows = b->rows,
				   .n = b->n,
				   .bounds = b->bounds,
				   .groups = b->groups,
				   .results = b->results,
				   .write_ns = p->write_ns}};
	struct err *e;

	if (!rows_write(p, b)) {
		batch_refuse(p, b, states);
		return NULL;
	}
	e = change_do(p, &c, is_interrupted, ret_over);
	for (uint32_t i = b->n; i-- > 0;) {
		enum patch_state *s = &states[b->which[i]];

		*s = e || *ret_over ? PATCH_OUT : state_of(b->results[i]);
		if (!e && !*ret_over && b->results[i] == WINDOW_LATE)
			*k = b->at[i];
		/* of one that the kernel has refused, a part may be there: the row stays */
		if (*s != PATCH_IN && *s != PATCH_REFUSED)
			row_free(p, b->rows[i]);
	}
	return e;
}

/* ---- those that stand already ---------------------------------------------------------------- */

static bool memory_has(const struct patch *p, taddr addr, const uint8_t *want, uint32_t size)
{
	uint8_t now[WINDOWS_JUMP];

	return sys_pread(p->mem_fd, now, size, addr) == (ssize_t)size &&
	       memcmp(now, want, size) == 0;
}

/*
 * Whether the jump of a row is where its window begins. Somebody's breakpoint may be on its first
 * byte, if that is the file's: when it goes, the jump is whole again (keeper/windows.c).
 */
static bool row_has_jump(const struct patch *p, const struct window_row *r)
{
	uint8_t size = r->pad ? arch_patch->short_size : arch_patch->jump_size;
	uint8_t jump[WINDOWS_JUMP], now[WINDOWS_JUMP];

	if (!windows_jump_make(r, jump) ||
	    sys_pread(p->mem_fd, now, size, r->addr) != (ssize_t)size)
		return false;
	if (!r->pad && jump[0] == r->old[0] && now[0] == arch_patch->breakpoint)
		now[0] = jump[0];
	return memcmp(now, jump, size) == 0;
}

/* Whether our jump is at the window of a row: that there is a row says only that it may be. */
static bool row_stands(const struct patch *p, const struct window_row *r)
{
	uint8_t jump[WINDOWS_JUMP];

	if (!row_has_jump(p, r))
		return false;
	return !r->pad || (arch_patch->jump_make(r->pad, r->stub, jump) &&
			   memory_has(p, r->pad, jump, arch_patch->jump_size));
}

static int by_row_addr(const void *pa, const void *pb)
{
	const struct window_row *const *a = pa, *const *b = pb;

	return ((*a)->addr > (*b)->addr) - ((*a)->addr < (*b)->addr);
}

/* An earlier call may have failed in its middle: what it has written holds our own jumps. */
static void standing_find(const struct patch *p, const struct patch_window *w, uint32_t n,
			  enum patch_state *states)
{
	const struct windows_journal *j = p->journal;
	CLEANUP(free)
	const struct window_row **rows = xcalloc(MAX(j->nrows, 1u), sizeof(void *));
	uint32_t nrows = 0;

	for (uint32_t i = 0; i < j->nrows; i++)
		if (j->rows[i].is_used)
			rows[nrows++] = &j->rows[i];
	qsort(rows, nrows, sizeof(*rows), by_row_addr);
	for (uint32_t i = 0; i < n && nrows; i++) {
		const struct window_row key = {.addr = w[i].addr}, *k = &key;
		const struct window_row **r = bsearch(&k, rows, nrows, sizeof(*rows), by_row_addr);

		if (r && (*r)->stub == w[i].stub && (*r)->pad == w[i].pad && row_stands(p, *r))
			states[i] = PATCH_IN;
	}
}

void patch_set_busy(struct patch *p, uint64_t busy_ns)
{
	p->busy_ns = busy_ns ? busy_ns : PATCH_BUSY_NS;
}

bool patch_stands(const struct patch *p, const struct patch_window *w)
{
	struct window_row r = {.addr = w->addr,
			       .pad = w->pad,
			       .stub = w->stub,
			       .is_call = w->is_call};

	memcpy(r.old, w->old, sizeof(r.old));
	return row_stands(p, &r);
}

/* Whether a part of the window may be there; memory that cannot be read has none. */
static bool row_remains(const struct patch *p, const struct window_row *r)
{
	uint8_t jump[WINDOWS_JUMP];

	return row_has_jump(p, r) || (r->pad && arch_patch->jump_make(r->pad, r->stub, jump) &&
				      memory_has(p, r->pad, jump, arch_patch->jump_size));
}

static int by_window_addr(const void *pa, const void *pb)
{
	const struct patch_window *const *a = pa, *const *b = pb;

	return ((*a)->addr > (*b)->addr) - ((*a)->addr < (*b)->addr);
}

void patch_forget(struct patch *p, const struct patch_window *w, uint32_t n)
{
	CLEANUP(free) const struct patch_window **sorted = xcalloc(MAX(n, 1u), sizeof(*sorted));
	uint8_t byte;

	for (uint32_t i = 0; i < n; i++)
		sorted[i] = &w[i];
	qsort(sorted, n, sizeof(*sorted), by_window_addr);
	for (uint32_t i = 0; i < p->journal->nrows && n; i++) {
		const struct window_row *r = &p->journal->rows[i];
		const struct patch_window key = {.addr = r->addr}, *k = &key;

		if (r->is_used && bsearch(&k, sorted, n, sizeof(*sorted), by_window_addr) &&
		    !row_remains(p, r)) {
			/* others' bytes may hide the jump */
			p->journal->has_strange |= sys_pread(p->mem_fd, &byte, 1, r->addr) == 1;
			row_free(p, i);
		}
	}
}

/* ---- passes ---------------------------------------------------------------------------------- */

/* A window where it comes in the order of writing: with its group, at the place of the first. */
struct turn_of {
	uint32_t first, k;
};

static int by_group(const void *pa, const void *pb, void *ctx)
{
	const struct patch_window *w = ctx, *a = &w[*(const uint32_t *)pa],
				  *b = &w[*(const uint32_t *)pb];

	if (a->group != b->group)
		return (a->group > b->group) - (a->group < b->group);
	return (a > b) - (a < b);
}

static int by_turn(const void *pa, const void *pb)
{
	const struct turn_of *a = pa, *b = pb;

	if (a->first != b->first)
		return (a->first > b->first) - (a->first < b->first);
	return (a->k > b->k) - (a->k < b->k);
}

/* The order in which windows are written: those of a group behind one another; the caller's. */
static uint32_t *windows_order(const struct patch_window *w, uint32_t n)
{
	uint32_t *order = xcalloc(MAX(n, 1u), sizeof(*order));
	CLEANUP(free) struct turn_of *turns = xcalloc(MAX(n, 1u), sizeof(*turns));
	bool has_groups = false;

	for (uint32_t i = 0; i < n; i++) {
		order[i] = i;
		has_groups |= w[i].group != 0;
	}
	if (!has_groups)
		return order;
	qsort_r(order, n, sizeof(*order), by_group, (void *)(uintptr_t)w);
	for (uint32_t i = 0; i < n; i++) {
		bool is_first =
			!i || !w[order[i]].group || w[order[i]].group != w[order[i - 1]].group;

		turns[i] = (struct turn_of){is_first ? order[i] : turns[i - 1].first, order[i]};
	}
	qsort(turns, n, sizeof(*turns), by_turn);
	for (uint32_t i = 0; i < n; i++)
		order[i] = turns[i].k;
	return order;
}

/* The position behind the group that begins at a position, or behind one that is alone. */
static uint32_t group_end(const struct patch_window *w, uint32_t n, const uint32_t *order,
			  uint32_t from)
{
	uint32_t to = from + 1, group = w[order[from]].group;

	while (group && to < n && w[order[to]].group == group)
		to++;
	return to;
}

/* What is to be written of the windows at these positions, which are a group, or one alone. */
static void group_add(struct patch *p, struct batch *b, const struct patch_window *w,
		      const uint32_t *order, uint32_t from, uint32_t to, enum patch_state want,
		      enum patch_state *states)
{
	uint32_t before = b->n;
	bool is_refused = false;

	for (uint32_t i = from; i < to; i++) {
		uint32_t k = order[i];

		if (states[k] != want && states[k] != PATCH_OUT)
			continue;
		b->at[b->n] = i;
		batch_add(p, b, &w[k], k, &states[k]);
		is_refused |= states[k] != PATCH_OUT;
	}
	if (!is_refused)
		return;
	while (b->n > before) {
		row_free(p, b->rows[--b->n]);
		states[b->which[b->n]] = PATCH_BEYOND;
	}
}

/* A group that cannot be written in one stop is not written at all. */
static void group_leave(const uint32_t *order, uint32_t from, uint32_t to, enum patch_state *states)
{
	for (uint32_t i = from; i < to; i++)
		states[order[i]] = PATCH_BEYOND;
}

/* One pass over those that are in a state. */
static struct err *pass_write(struct patch *p, const struct patch_window *w, uint32_t n,
			      const uint32_t *order, enum patch_state want,
			      const atomic_int *is_interrupted, enum patch_state *states,
			      bool *ret_over)
{
	struct batch *b = xmalloc(sizeof(*b));
	struct err *e = NULL;

	for (uint32_t k = 0; k < n && !e && !*ret_over;) {
		b->n = 0;
		for (uint32_t to; k < n; k = to) {
			to = group_end(w, n, order, k);
			if (to - k > PATCH_GROUP_MAX) {
				group_leave(order, k, to, states);
				continue;
			}
			if (b->n + (to - k) > PATCH_BATCH)
				break;
			group_add(p, b, w, order, k, to, want, states);
		}
		if (b->n)
			e = batch_write(p, b, is_interrupted, states, &k, ret_over);
		if (is_interrupted && *is_interrupted)
			*ret_over = true;
	}
	free(b);
	return e;
}

/*
 * A group of which a part stood before, and another part could not be written: all of it is taken
 * back.
 */
static struct err *groups_finish(struct patch *p, const struct patch_window *w, uint32_t n,
				 const uint32_t *order, enum patch_state *states)
{
	CLEANUP(free) taddr *addrs = xcalloc(MAX(n, 1u), sizeof(*addrs));
	uint32_t naddrs = 0;

	for (uint32_t k = 0, to; k < n; k = to) {
		enum patch_state left = PATCH_IN;

		to = group_end(w, n, order, k);
		for (uint32_t i = k; i < to; i++)
			left = states[order[i]] != PATCH_IN ? states[order[i]] : left;
		for (uint32_t i = k; i < to && left != PATCH_IN; i++) {
			if (states[order[i]] == PATCH_IN)
				addrs[naddrs++] = w[order[i]].addr;
			states[order[i]] = left;
		}
	}
	return naddrs ? patch_take_back(p, addrs, naddrs) : NULL;
}

static bool some_are(const enum patch_state *states, uint32_t n, enum patch_state want)
{
	for (uint32_t i = 0; i < n; i++)
		if (states[i] == want)
			return true;
	return false;
}

struct err *patch_write(struct patch *p, const struct patch_window *w, uint32_t n,
			const atomic_int *is_interrupted, enum patch_state *states)
{
	CLEANUP(free) uint32_t *order = windows_order(w, n);
	bool is_over = false;
	struct err *e;

	for (uint32_t i = 0; i < n; i++)
		states[i] = PATCH_OUT;
	if (windows_is_there(p->journal, p->mem_fd))
		standing_find(p, w, n, states);
	e = pass_write(p, w, n, order, PATCH_OUT, is_interrupted, states, &is_over);
	for (uint32_t i = 0;
	     !e && !is_over && some_are(states, n, PATCH_HELD) && retry_wait(i, RETRIES_WRITE); i++)
		e = pass_write(p, w, n, order, PATCH_HELD, is_interrupted, states, &is_over);
	if (!e && !is_over)
		e = groups_finish(p, w, n, order, states);
	return e;
}

/* ---- taking back ----------------------------------------------------------------------------- */

static struct err *batch_take_back(struct patch *p, struct batch *b, bool *ret_gone)
{
	struct change c = {.job = {.pid = p->pid,
				   .mem_fd = p->mem_fd,
				   .journal = p->journal,
				   .rows = b->rows,
				   .n = b->n,
				   .results = b->results}};
	struct err *e = change_do(p, &c, NULL, ret_gone);

	for (uint32_t i = 0; i < b->n && !e; i++)
		if (*ret_gone || b->results[i] != WINDOW_HELD)
			row_free(p, b->rows[i]);
	return e;
}

static int by_addr(const void *pa, const void *pb)
{
	const taddr *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

/* One pass over the windows at the addresses, which ascend. */
static struct err *pass_take_back(struct patch *p, const taddr *addrs, uint32_t n, bool *ret_left)
{
	struct batch *b = xmalloc(sizeof(*b));
	struct err *e = NULL;
	bool is_gone = false;

	*ret_left = false;
	for (uint32_t row = 0; row < p->journal->nrows && !e && !is_gone;) {
		b->n = 0;
		for (; row < p->journal->nrows && b->n < PATCH_BATCH; row++) {
			const struct window_row *r = &p->journal->rows[row];

			if (r->is_used && bsearch(&r->addr, addrs, n, sizeof(*addrs), by_addr))
				b->rows[b->n++] = row;
		}
		if (b->n)
			e = batch_take_back(p, b, &is_gone);
		for (uint32_t i = 0; i < b->n; i++)
			*ret_left |= p->journal->rows[b->rows[i]].is_used;
	}
	free(b);
	return e;
}

static struct err *left_err(pid_t pid)
{
	return err_hint(err_new("some windows of process %d cannot be taken back now: a thread of "
				"it does not stop, a signal handler will return into them, or "
				"another process has the same memory",
				(int)pid),
			"what is left is taken back when dtrace ends, or by the next one");
}

struct err *patch_take_back(struct patch *p, const taddr *addrs, uint32_t n)
{
	taddr *sorted = xmalloc((n + 1) * sizeof(*sorted));
	struct windows_journal *copy;
	bool is_left = n > 0;
	struct err *e = NULL;

	memcpy(sorted, addrs, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_addr);
	copy = n ? windows_copy(p, sorted, n) : NULL;
	for (uint32_t i = 0; is_left && !e; i++) {
		e = pass_take_back(p, sorted, n, &is_left);
		if (!e && is_left && !retry_wait(i, RETRIES_BACK))
			e = left_err(p->pid);
	}
	if (copy)
		windows_take_out_of_children(copy, p->region_fd, &p->left);
	free(copy);
	free(sorted);
	return e;
}

/* ---- all of them ----------------------------------------------------------------------------- */

struct undo {
	struct windows_journal *journal;
	pid_t pid;
	int mem_fd;
	bool is_freed;
	uint32_t left, done;
};

static void undo_run(void *ctx)
{
	struct undo *u = ctx;

	u->left = windows_undo(u->journal, u->pid, u->mem_fd, u->is_freed, &u->done);
}

struct err *windows_take_out(struct windows_journal *j, pid_t pid, int mem_fd, bool is_freed,
			     uint32_t *ret_n)
{
	const struct timespec pause = {.tv_nsec = WINDOWS_UNDO_PAUSE_NS};
	uint64_t until = now_ns() + WINDOWS_UNDO_NS;
	struct undo u = {.journal = j,
			 .pid = pid,
			 .mem_fd = mem_fd,
			 .is_freed = is_freed,
			 .left = 1};
	struct err *e = NULL;

	while (!e && u.left) {
		e = worker_run(undo_run, &u);
		if (!e && u.left && now_ns() > until)
			e = left_err(pid);
		else if (u.left)
			(void)nanosleep(&pause, NULL);
	}
	if (ret_n)
		*ret_n = u.done;
	return e;
}

struct err *patch_take_back_all(struct patch *p)
{
	struct windows_journal *copy = windows_copy(p, NULL, 0);
	struct err *e = windows_take_out(p->journal, p->pid, p->mem_fd, true, NULL);

	if (copy)
		windows_take_out_of_children(copy, p->region_fd, &p->left);
	free(copy);
	return e;
}
