/*
 * Records that were lost: what the counters of the kernel's side have gained since they were last
 * read.
 *
 * Owns     what was read of the counters; the counters are the run's.
 * Errors   those of the function that is told.
 * Facts    d-language.md 7.2 names the kinds and their order.
 */
#pragma once

#include "base/err.h"
#include "bpf/rt/abi.h"
#include "dtrace.h"

struct drops;
struct specs;

struct drop {
	dtrace_dropkind_t kind;
	int cpu;	       /* -1 = all */
	uint64_t count, total; /* now, and of that kind since the beginning */
};
/* An error ends the report; what it has not come to is reported the next time. */
typedef struct err *drop_f(void *ctx, const struct drop *d);

/* control, of ncpus CPUs, and specs outlive it. */
struct drops *drops_create(const struct rt_control *control, uint32_t ncpus,
			   const struct specs *specs);
void drops_destroy(struct drops *d); /* NULL is allowed */
MUST_CHECK struct err *drops_report(struct drops *d, drop_f *func, void *ctx);
