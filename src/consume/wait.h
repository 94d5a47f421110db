/* SPDX-License-Identifier: MIT */
/*
 * Waiting until something is to be consumed.
 *
 * Owns     its descriptors; those that are added stay the caller's.
 * Errors   struct err *: the kernel has no descriptor left.
 * Threads  one.
 */
#pragma once

#include "base/err.h"

struct engine_run;
struct waiter;

/* Waits for the records of n engines, and until somebody writes to wake_fd (an eventfd). */
MUST_CHECK struct err *waiter_create(struct engine_run *const *runs, uint32_t n, int wake_fd,
				     struct waiter **ret);
void waiter_destroy(struct waiter *w); /* NULL is allowed */
/* Adds a descriptor whose readability ends waiter_wait(). */
MUST_CHECK struct err *waiter_watch(struct waiter *w, int fd);
/* The same for one that only interrupts it. */
MUST_CHECK struct err *waiter_listen(struct waiter *w, int fd);
/*
 * Until a program forces a wake-up, a watched descriptor is readable, a signal comes or time is up.
 * False: none of these, but a descriptor of waiter_listen() is readable.
 */
bool waiter_wait(struct waiter *w, uint64_t timeout_ns);
