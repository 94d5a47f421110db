/* SPDX-License-Identifier: MIT */
/*
 * A function that is called while a large file is read.
 *
 * A table of a large file takes tenths of a second: func is called between parts of the work of
 * some 0.1 ms each, so that urgent work need not wait for the whole.
 */
#pragma once

#include <stddef.h>

struct image_pause {
	void (*func)(void *ctx); /* NULL: nothing is to be called */
	void *ctx;
};

static inline void image_pause_run(const struct image_pause *p)
{
	if (p && p->func)
		p->func(p->ctx);
}
