/* SPDX-License-Identifier: MIT */
/*
 * Uprobes that save the first request of the keeper a grace period.
 *
 * The kernel locks out every fork() while it places a uprobe (dup_mmap_sem), and the first writer
 * of that lock waits for a grace period of RCU: 12 ms and more. Until the next grace period has
 * passed, further writers do not wait. So while the tracer is still finding out which instructions
 * to probe, the keeper probes some in a file of its own, which nobody maps.
 */
#include "keeper/warm.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/apart.h"
#include "kernel/capabilities.h"

#define NOP  0x90
#define STEP 16 /* bytes from one instruction to the next */

int uprobe_event_open(struct perf_event_attr *ev, pid_t pid, int cpu)
{
	int fd;

	capabilities_raise();
	fd = (int)syscall(SYS_perf_event_open, ev, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	capabilities_lower();
	return fd;
}

static int event_open(const struct warm *w)
{
	struct perf_event_attr ev = {.type = w->pmu_type, .size = sizeof(ev)};
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", w->file);
	ev.config1 = (uint64_t)(uintptr_t)path;
	ev.config2 = (uint64_t)STEP * w->n;
	return uprobe_event_open(&ev, 0, -1);
}

void warm_begin(struct warm *w, uint32_t pmu_type)
{
	uint8_t nops[WARM_MAX * STEP];

	*w = (struct warm){.file = -1, .pmu_type = pmu_type};
	if (!pmu_type)
		return;
	memset(nops, NOP, sizeof(nops));
	w->file = (int)syscall(SYS_memfd_create, "uprobe-keeper", MFD_CLOEXEC);
	if (w->file < 0 || pwrite(w->file, nops, sizeof(nops), 0) != sizeof(nops))
		return;
	w->is_on = true;
	warm_renew(w);
}

void warm_renew(struct warm *w)
{
	int fd = w->is_on && w->n < WARM_MAX ? event_open(w) : -1;

	if (fd >= 0)
		w->fds[w->n++] = fd;
	else
		w->is_on = false;
}

/* The kernel takes a grace period to close each of them: a clone waits for that. */
void warm_end(struct warm *w)
{
	struct apart_closing closing = {{-1, -1}};
	bool is_apart = w->n && apart_closing_begin(&closing);

	for (uint32_t i = 0; i < w->n; i++)
		(void)close(w->fds[i]);
	if (w->file >= 0)
		(void)close(w->file);
	if (is_apart)
		apart_closing_end(&closing);
	*w = (struct warm){.file = -1};
}
