/* SPDX-License-Identifier: MIT */
/*
 * Holds the links of attached units, and detaches the units.
 *
 * Owns     the descriptors of links, and the keeper: closing them, in this order, detaches
 *          everything.
 */
#pragma once

#include <stdatomic.h>

#include "base/vec.h"
#include "keeper/keeper.h"

struct group_fd {
	int fd;
	uint32_t group;
};

struct attachments {
	int *fds;
	uint32_t nfds, cap;
	VEC(struct group_fd) group_fds; /* those that are closed with their group */
	struct keeper
		*keeper;  /* holds uprobes, and events if they are many; NULL = there are none */
	uint32_t nevents; /* events of tracefs */
	/* As in struct attach_opts: the keeper is not waited for any more. NULL: it always is. */
	const atomic_int *is_interrupted;
	/* The engine's own data about these units, and the function that releases it. */
	void *own;
	void (*own_destroy)(void *own);
};

void attachments_add(struct attachments *a, int fd); /* takes the descriptor */
/* The same for one that attachments_close_group() closes, too. Group 0: only the end does. */
void attachments_add_to(struct attachments *a, int fd, uint32_t group);
void attachments_close_group(struct attachments *a, uint32_t group);
/* Closes the descriptors from number `from` on, which are the last that were added. */
void attachments_close_from(struct attachments *a, uint32_t from);
/* Makes the keeper early, when it is known that some probe will need it. */
void attachments_prepare(struct attachments *a);
/* Returns the keeper, and makes it at the first call. */
MUST_CHECK struct err *attachments_keeper(struct attachments *a, struct keeper **ret);
/* Closes the links that close fast: all but the uprobes (providers.md 1.2). */
void attachments_close_fast(struct attachments *a);
void attachments_close(struct attachments *a);
