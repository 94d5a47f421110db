/* SPDX-License-Identifier: MIT */
/*
 * Children of fork() that nobody follows: they have the windows of their parent in their memory.
 *
 * The region is theirs, too, and stays mapped in them whoever dies; its switch is off in them for
 * ever. So their windows do nothing, and can stay. They are taken out all the same when those of
 * the parent are: of each process that has mapped the region by then.
 */
#include <time.h>

#include "patch/patch_impl.h"

struct children {
	struct windows_journal *journal;
	int region_fd;
	uint64_t until;
	uint32_t left;
	struct windows_left who;
};

static void children_run(void *ctx)
{
	struct children *c = ctx;

	c->left = windows_undo_children(c->journal, c->region_fd, c->until, NULL, &c->who);
}

/* Adds those that are not among them yet. */
static void left_add(struct windows_left *to, const struct windows_left *from)
{
	uint32_t had = MIN(to->n, (uint32_t)WINDOWS_LEFT_MAX);

	for (uint32_t i = 0; i < MIN(from->n, (uint32_t)WINDOWS_LEFT_MAX); i++) {
		bool is_new = true;

		for (uint32_t k = 0; k < had; k++)
			is_new &= to->pids[k] != from->pids[i];
		if (is_new && to->n++ < WINDOWS_LEFT_MAX)
			to->pids[to->n - 1] = from->pids[i];
	}
	to->n = MAX(to->n, from->n);
}

void windows_take_out_of_children(struct windows_journal *j, int region_fd,
				  struct windows_left *left)
{
	const struct timespec pause = {.tv_nsec = WINDOWS_UNDO_PAUSE_NS};
	struct children c = {.journal = j,
			     .region_fd = region_fd,
			     .until = now_ns() + windows_children_ns(j),
			     .left = 1};
	struct err *e = NULL;

	while (!e && c.left && now_ns() < c.until) {
		e = worker_run(children_run, &c);
		if (!e && c.left)
			(void)nanosleep(&pause, NULL);
	}
	err_destroy(e); /* what stays does nothing */
	left_add(left, &c.who);
}

bool patch_has_children(struct patch *p)
{
	return windows_has_children(p->journal, p->region_fd);
}

static int by_addr(const void *pa, const void *pb)
{
	const taddr *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

struct windows_journal *windows_copy(const struct patch *p, const taddr *addrs, uint32_t n)
{
	struct windows_journal *j = xmalloc(p->journal_size);
	bool is_some = false;

	memcpy(j, p->journal, p->journal_size);
	for (uint32_t i = 0; i < j->nrows; i++) {
		struct window_row *r = &j->rows[i];

		r->is_used = r->is_used &&
			     (!addrs || bsearch(&r->addr, addrs, n, sizeof(*addrs), by_addr));
		is_some |= r->is_used;
	}
	if (is_some)
		return j;
	free(j);
	return NULL;
}
