/* SPDX-License-Identifier: MIT */
/* Holds the links of attached units, and detaches the units. */
#include "probe/attachments.h"

#include <unistd.h>

#include "base/vec.h"
#include "keeper/keeper.h"

struct attached_fd {
	int fd;
	uint32_t group;
};

struct attachments {
	VEC(struct attached_fd) fds; /* in the order in which they were added */
	struct keeper *keeper;	     /* NULL = there is none */
	uint32_t nevents;	     /* events of tracefs */
	const atomic_int *is_interrupted;
	const struct privileges *privileges;
	void *own;
	void (*own_destroy)(void *own);
};

struct attachments *attachments_create(const atomic_int *is_interrupted)
{
	struct attachments *a = xcalloc(1, sizeof(*a));

	a->is_interrupted = is_interrupted;
	return a;
}

void attachments_confine(struct attachments *a, const struct privileges *p)
{
	a->privileges = p;
}

void attachments_destroy(struct attachments *a)
{
	if (a)
		attachments_close(a);
	free(a);
}

/* ---- links ----------------------------------------------------------------------------------- */

void attachments_add(struct attachments *a, int fd, uint32_t group)
{
	vec_push(&a->fds, (struct attached_fd){fd, group});
}

uint32_t attachments_count(const struct attachments *a)
{
	return a->fds.len;
}

void attachments_close_from(struct attachments *a, uint32_t from)
{
	for (uint32_t i = from; i < a->fds.len; i++)
		(void)close(a->fds.data[i].fd); /* nothing can be done about a failing close */
	a->fds.len = MIN(a->fds.len, from);
}

void attachments_close_group(struct attachments *a, uint32_t group)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->fds.len; i++)
		if (a->fds.data[i].group == group)
			(void)close(a->fds.data[i].fd);
		else
			a->fds.data[n++] = a->fds.data[i];
	a->fds.len = n;
}

uint64_t attachments_sum(const struct attachments *a, uint64_t (*f)(int fd))
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < a->fds.len; i++)
		n += f(a->fds.data[i].fd);
	return n;
}

uint32_t attachments_count_event(struct attachments *a)
{
	return a->nevents++;
}

/* ---- the keeper, the engine's own data ------------------------------------------------------- */

void attachments_prepare(struct attachments *a)
{
	if (!a->keeper)
		err_destroy(keeper_create(true, &a->keeper)); /* attachments_keeper() tells */
	if (!a->keeper)
		return;
	keeper_set_interrupted(a->keeper, a->is_interrupted);
	keeper_confine(a->keeper, a->privileges);
}

struct err *attachments_keeper(struct attachments *a, struct keeper **ret)
{
	struct err *e = a->keeper ? NULL : keeper_create(false, &a->keeper);

	if (e)
		return e;
	keeper_set_interrupted(a->keeper, a->is_interrupted);
	keeper_confine(a->keeper, a->privileges);
	*ret = a->keeper;
	return NULL;
}

struct keeper *attachments_made_keeper(const struct attachments *a)
{
	return a->keeper;
}

void *attachments_own(const struct attachments *a)
{
	return a->own;
}

void attachments_set_own(struct attachments *a, void *own, void (*destroy)(void *own))
{
	a->own = own;
	a->own_destroy = destroy;
}

/* ---- the end --------------------------------------------------------------------------------- */

void attachments_close_fast(struct attachments *a)
{
	attachments_close_from(a, 0);
}

void attachments_close(struct attachments *a)
{
	attachments_close_fast(a);
	keeper_destroy(a->keeper);
	if (a->own)
		a->own_destroy(a->own);
	vec_deinit(&a->fds);
	*a = (struct attachments){.is_interrupted = a->is_interrupted};
}
