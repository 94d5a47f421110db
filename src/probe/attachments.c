/* SPDX-License-Identifier: MIT */
/* Holds the links of attached units, and detaches the units. */
#include "probe/attachments.h"

#include <unistd.h>

void attachments_add(struct attachments *a, int fd)
{
	if (a->nfds == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 8;
		a->fds = xrealloc(a->fds, a->cap * sizeof(*a->fds));
	}
	a->fds[a->nfds++] = fd;
}

void attachments_close_from(struct attachments *a, uint32_t from)
{
	for (uint32_t i = from; i < a->nfds; i++)
		(void)close(a->fds[i]); /* nothing can be done about a failing close of a link */
	a->nfds = MIN(a->nfds, from);
}

void attachments_add_to(struct attachments *a, int fd, uint32_t group)
{
	if (group)
		vec_push(&a->group_fds, (struct group_fd){fd, group});
	else
		attachments_add(a, fd);
}

void attachments_close_group(struct attachments *a, uint32_t group)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < a->group_fds.len; i++)
		if (a->group_fds.data[i].group == group)
			(void)close(a->group_fds.data[i].fd);
		else
			a->group_fds.data[n++] = a->group_fds.data[i];
	a->group_fds.len = n;
}

void attachments_prepare(struct attachments *a)
{
	if (!a->keeper)
		err_destroy(keeper_create(true, &a->keeper)); /* attachments_keeper() tells */
	if (a->keeper)
		keeper_set_interrupted(a->keeper, a->is_interrupted);
}

struct err *attachments_keeper(struct attachments *a, struct keeper **ret)
{
	struct err *e = a->keeper ? NULL : keeper_create(false, &a->keeper);

	if (e)
		return e;
	keeper_set_interrupted(a->keeper, a->is_interrupted);
	*ret = a->keeper;
	return NULL;
}

void attachments_close_fast(struct attachments *a)
{
	attachments_close_from(a, 0);
	for (uint32_t i = 0; i < a->group_fds.len; i++)
		(void)close(a->group_fds.data[i].fd);
	a->group_fds.len = 0;
}

void attachments_close(struct attachments *a)
{
	attachments_close_fast(a);
	keeper_destroy(a->keeper);
	if (a->own)
		a->own_destroy(a->own);
	free(a->fds);
	vec_deinit(&a->group_fds);
	*a = (struct attachments){.is_interrupted = a->is_interrupted};
}
