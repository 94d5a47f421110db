/* SPDX-License-Identifier: MIT */
/*
 * Holds the links of attached units, and detaches the units.
 *
 * Owns     the descriptors of links, and the keeper: closing them, in this order, detaches
 *          everything.
 * Errors   struct err *: why there is no keeper.
 * Threads  one.
 */
#pragma once

#include <stdatomic.h>

#include "base/base.h"
#include "base/err.h"

struct attachments;
struct privileges;
struct keeper; /* keeper/keeper.h: holds uprobes, and events if they are many */

/* is_interrupted: as in struct attach_opts: the keeper is not waited for any more; NULL: it is. */
struct attachments *attachments_create(const atomic_int *is_interrupted);
/* Breakpoints come only into processes that these privileges allow (keeper_confine()). */
void attachments_confine(struct attachments *a, const struct privileges *p);
void attachments_destroy(struct attachments *a); /* NULL is allowed */

/* Takes the descriptor. Group 0 is closed by attachments_close_from() and the end only. */
void attachments_add(struct attachments *a, int fd, uint32_t group);
void attachments_close_group(struct attachments *a, uint32_t group);
/* How many descriptors there are; closes those that were added since there were so many. */
uint32_t attachments_count(const struct attachments *a);
void attachments_close_from(struct attachments *a, uint32_t from);
/* The sum of f over all descriptors. */
uint64_t attachments_sum(const struct attachments *a, uint64_t (*f)(int fd));
/* Counts an event of tracefs; returns how many there were before. */
uint32_t attachments_count_event(struct attachments *a);

/* Makes the keeper early, when it is known that some probe will need it. */
void attachments_prepare(struct attachments *a);
/* Returns the keeper, and makes it at the first call. */
MUST_CHECK struct err *attachments_keeper(struct attachments *a, struct keeper **ret);
/* Returns the keeper if there is one, else NULL. */
struct keeper *attachments_made_keeper(const struct attachments *a);

/* The engine's own data about these units; destroy releases it at the end. NULL: none yet. */
void *attachments_own(const struct attachments *a);
void attachments_set_own(struct attachments *a, void *own, void (*destroy)(void *own));

/* Closes the links that close fast: all but the uprobes (providers.md 1.2). */
void attachments_close_fast(struct attachments *a);
/* Closes everything; the result can be used again. */
void attachments_close(struct attachments *a);
