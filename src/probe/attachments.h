/*
 * Holds what attached units hang on, and takes them off their places.
 *
 * Owns     the descriptors of links, and the keeper: closing them, in this order, takes everything
 *          off.
 */
#pragma once

#include "keeper/keeper.h"

struct attachments {
	int *fds;
	uint32_t nfds, cap;
	struct keeper *keeper; /* of uprobes (keeper/keeper.h); NULL = there are none */
	/* The engine's own data about these units, and the function that releases it. */
	void *own;
	void (*own_destroy)(void *own);
};

void attachments_add(struct attachments *a, int fd); /* takes the descriptor */
/* Makes one if need be. */
MUST_CHECK struct err *attachments_keeper(struct attachments *a, struct keeper **ret);
/* Takes off what costs no time: all but the uprobes (providers.md 1.2). */
void attachments_close_fast(struct attachments *a);
void attachments_close(struct attachments *a);
