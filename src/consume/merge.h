/* SPDX-License-Identifier: MIT */
/*
 * The records of several engines in the order of their times.
 *
 * Each engine hands out its own records in that order (struct engine's drain()). Those of the
 * first engine, which has the most, are passed on where they lie; those of the others are copied
 * first, and handed out between them. With one engine nothing is copied.
 *
 * Owns     the copies, while merge_drain() runs.
 * Errors   the first error of an engine, or of the function that handles records, ends the drain.
 */
#pragma once

#include "probe/engine.h"

/* runs: at least one. Everything else is as in struct engine's drain(). */
MUST_CHECK struct err *merge_drain(struct engine_run *const *runs, uint32_t n, uint64_t horizon,
				   engine_record_f *func, void *ctx);
