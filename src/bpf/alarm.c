/* SPDX-License-Identifier: MIT */
/* Makes the perf events by which programs end their session (alarm.h). */
#include "bpf/alarm.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/map.h"
#include "kernel/sys.h"

static size_t buffer_size(void)
{
	return 2 * (size_t)sysconf(_SC_PAGESIZE); /* its head, and one page of data */
}

/* The event of one CPU; none where the CPU is offline. */
static struct err *event_create(uint32_t cpu, struct alarm_event *ev)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_BPF_OUTPUT,
		.sample_type = PERF_SAMPLE_RAW,
		.sample_period = 1,
		.wakeup_events = 1,
	};

	ev->fd = sys_perf_event_open(&attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ev->fd < 0)
		return errno == ENODEV || errno == ENXIO
			       ? NULL
			       : err_sys(errno, "there is no event for the quota of CPU time");
	ev->buffer = sys_mmap(NULL, buffer_size(), PROT_READ | PROT_WRITE, MAP_SHARED, ev->fd, 0);
	if (ev->buffer == MAP_FAILED) {
		ev->buffer = NULL;
		return err_hint(err_sys(errno, "there is no memory for the quota of CPU time"),
				"a limit may be too low: ulimit -l, or "
				"/proc/sys/kernel/perf_event_mlock_kb");
	}
	if (fcntl(ev->fd, F_SETSIG, SIGKILL) < 0 || fcntl(ev->fd, F_SETOWN, getpid()) < 0 ||
	    fcntl(ev->fd, F_SETFL, O_ASYNC) < 0)
		return err_sys(errno, "there is no signal for the quota of CPU time");
	return NULL;
}

struct err *alarm_create(struct alarm *a, uint32_t ncpus, int *ret_map)
{
	struct map_spec s = {BPF_MAP_TYPE_PERF_EVENT_ARRAY, "alarm", 4, 4, ncpus, .flags = 0};
	struct err *e = map_create(&s, ret_map);

	if (e)
		return e;
	*a = (struct alarm){ncpus, xcalloc(ncpus, sizeof(*a->cpus))};
	for (uint32_t i = 0; i < ncpus; i++)
		a->cpus[i].fd = -1;
	for (uint32_t i = 0; i < ncpus && !e; i++) {
		e = event_create(i, &a->cpus[i]);
		if (!e && a->cpus[i].fd >= 0)
			e = map_set(*ret_map, s.name, &i, &a->cpus[i].fd);
	}
	return e;
}

void alarm_destroy(struct alarm *a)
{
	for (uint32_t i = 0; i < a->ncpus; i++) {
		if (a->cpus[i].buffer)
			(void)munmap(a->cpus[i].buffer, buffer_size());
		if (a->cpus[i].fd >= 0)
			(void)close(a->cpus[i].fd);
	}
	free(a->cpus);
	*a = (struct alarm){0};
}
