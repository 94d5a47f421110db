/* SPDX-License-Identifier: MIT */
/*
 * The subscribers of the watch (watch.h), in the order in which they have subscribed, and the call
 * of all that want an event; for the files of this room.
 *
 * Owns     the list; the subscribers and their contexts outlive the watch.
 */
#pragma once

#include "base/vec.h"
#include "watch/watch.h"

struct subscription {
	const struct watch_subscriber *sub;
	void *ctx;
};

struct subscribers {
	VEC(struct subscription) list;
};

/*
 * Calls a function of all subscribers of a scope that have it:
 * SUBSCRIBERS_TELL(list, WATCH_ALL, mapped, subject, map).
 */
#define SUBSCRIBERS_TELL(subs, of, event, ...)                                                     \
	do {                                                                                       \
		for (uint32_t i_ = 0; i_ < (subs)->list.len; i_++) {                               \
			const struct subscription *s_ = &(subs)->list.data[i_];                    \
                                                                                                   \
			if (s_->sub->scope == (of) && s_->sub->event)                              \
				s_->sub->event(s_->ctx, ##__VA_ARGS__);                            \
		}                                                                                  \
	} while (0)
