/* SPDX-License-Identifier: MIT */
/* When processes have begun: before the session or during it. */
#include "helper/begun.h"

#include <time.h>
#include <unistd.h>

#include "rt/helper.h"
#include "target/ident.h"
#include "helper/ustack.h"

uint64_t begun_clock(void)
{
	const uint64_t rate = (uint64_t)sysconf(_SC_CLK_TCK);
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail */
	return (uint64_t)ts.tv_sec * rate + (uint64_t)ts.tv_nsec * rate / 1000000000;
}

bool begun_since(pid_t pid, uint64_t time)
{
	uint64_t start;

	return proc_started(pid, &start) && start > time;
}

uint64_t ustacks_begun_key(pid_t pid)
{
	uint64_t start, arg_start;

	if (!proc_began(pid, &start, &arg_start) || !arg_start)
		return 0;
	return rt_helper_begun_key((uint64_t)pid, start, arg_start);
}
