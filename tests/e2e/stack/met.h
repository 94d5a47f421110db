/* SPDX-License-Identifier: MIT */
/* For programs that tests trace with trigger/met. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Does dtrace know that this process has helpers? */
static inline int met_is_there(void)
{
	char met[32];

	snprintf(met, sizeof(met), "met.%d", (int)getpid());
	return access(met, F_OK) == 0;
}

/*
 * Waits until dtrace knows which helpers this process has, or that it has none. dtrace looks at the
 * process when its first stack is recorded.
 */
static inline void met_wait(void)
{
	char met[32], unmet[32];

	snprintf(met, sizeof(met), "met.%d", (int)getpid());
	snprintf(unmet, sizeof(unmet), "unmet.%d", (int)getpid());
	for (int i = getenv("MET_NEVER") ? 6000 : 0;
	     i < 6000 && !met_is_there() && access(unmet, F_OK) != 0; i++)
		usleep(20000);
	/* it may execute another program, or open a library with a helper */
	(void)unlink(met);
	(void)unlink(unmet);
}
