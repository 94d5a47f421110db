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

void attachments_prepare(struct attachments *a)
{
	if (!a->keeper)
		err_destroy(keeper_create(true, &a->keeper)); /* attachments_keeper() tells */
}

struct err *attachments_keeper(struct attachments *a, struct keeper **ret)
{
	struct err *e = a->keeper ? NULL : keeper_create(false, &a->keeper);

	if (e)
		return e;
	*ret = a->keeper;
	return NULL;
}

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
	free(a->fds);
	*a = (struct attachments){0};
}
