/* SPDX-License-Identifier: MIT */
/*
 * Option livecheck: how snapshots read the memory of processes (agg/livecheck.c), and what is said
 * of objects that were gone, or could not be checked.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#include "files/gate.h"
#include "session/consumer/consumer.h"

/* A process that has ended is there until its parent has waited for it, and has no memory. */
static bool has_memory(uint64_t pid)
{
	char path[64], byte;
	ssize_t n;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/maps", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, &byte, 1);
	(void)close(fd);
	return n == 1;
}

static enum live_memory memory_read(void *arg, uint64_t pid, uint64_t addr, void *to, size_t size)
{
	const struct consumer *c = arg;
	struct gate *g = c->live->names->file_opts.gate;
	uint64_t nlate = gate_late_count(g);

	if (gate_memory_read(g, pid, addr, to, size))
		return LIVE_MEMORY_READ;
	return gate_late_count(g) != nlate || !has_memory(pid) ? LIVE_MEMORY_UNKNOWN
							       : LIVE_MEMORY_NONE;
}

void consumer_livecheck_set(struct consumer *c)
{
	const int64_t *val = c->live->opts->val;
	struct live_check check = {.is_on = val[OPT_livecheck] != OPT_UNSET,
				   .has_base = val[OPT_livebase] != OPT_UNSET,
				   .offset = opt_u32(c->live->opts, OPT_livecheck),
				   .base = opt_u32(c->live->opts, OPT_livebase),
				   .read = memory_read,
				   .arg = c};

	aggs_set_livecheck(c->aggs, &check);
}

void consumer_livecheck_report(struct consumer *c)
{
	struct live_checked now = aggs_live_checked(c->aggs);
	uint64_t ngone = now.ngone - c->live_told.ngone;

	if (ngone)
		report_adjusted(c->live->report,
				"%" PRIu64 " object%s of live() %s gone without a dead(), and %s "
				"not count: livecheck has found other memory there",
				ngone, ngone == 1 ? "" : "s", ngone == 1 ? "was" : "were",
				ngone == 1 ? "does" : "do");
	if (now.nunknown && now.nunknown != c->live_told.nunknown)
		report_adjusted(c->live->report,
				"%" PRIu64 " object%s of live() could not be checked, and count%s: "
				"the process has ended, or its memory does not answer",
				now.nunknown, now.nunknown == 1 ? "" : "s",
				now.nunknown == 1 ? "s" : "");
	c->live_told = now;
}
