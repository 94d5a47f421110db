/* SPDX-License-Identifier: MIT */
/* Growth: page faults that make a page present, by the stack that has touched it. */
#include "memprof.h"

int growth_run(struct memprof *m)
{
	const struct tracing t = {.d = memprof_d_growth,
				  .agg = "bytes",
				  .nothing =
					  "the process has touched no new page: it does not grow"};

	session_open(m);
	return session_run(m, &t);
}
