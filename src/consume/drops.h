/* SPDX-License-Identifier: MIT */
/*
 * Reports lost records: the growth of the kernel's counters since they were last read.
 *
 * Owns     the values last read; the counters themselves are the run's.
 * Errors   those of the function that takes the report.
 * Facts    d-language.md 7.2 names the kinds and their order.
 */
#pragma once

#include "base/err.h"
#include "record/format.h"
#include "dtrace.h"

struct drops;
struct specs;

struct drop {
	dtrace_dropkind_t kind;
	int cpu;	       /* -1 = all */
	uint64_t count, total; /* since the last report; of that kind since the beginning */
};
/* An error ends the report; the drops that follow are reported the next time. */
typedef struct err *drop_f(void *ctx, const struct drop *d);

/* control, which has ncpus CPUs, and specs must live longer than the result. */
struct drops *drops_create(const struct rt_control *control, uint32_t ncpus,
			   const struct specs *specs);
void drops_destroy(struct drops *d); /* NULL is allowed */
MUST_CHECK struct err *drops_report(struct drops *d, drop_f *func, void *ctx);
