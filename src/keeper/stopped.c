/* SPDX-License-Identifier: MIT */
/* Releasing the processes that the tracer's programs may stop. */
#include "keeper/stopped.h"

#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "rt/follow.h"
#include "target/ident.h"

/* Removes one process from the map and returns it; false if the map is empty. */
static bool process_take(int procs_fd, uint32_t *ret_pid, struct rt_watched *ret_value)
{
	union bpf_attr attr = {.map_fd = (uint32_t)procs_fd,
			       .next_key = (uint64_t)(uintptr_t)ret_pid};

	if (syscall(SYS_bpf, BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr)) != 0)
		return false;
	attr = (union bpf_attr){.map_fd = (uint32_t)procs_fd,
				.key = (uint64_t)(uintptr_t)ret_pid,
				.value = (uint64_t)(uintptr_t)ret_value};
	if (syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) != 0)
		*ret_value = (struct rt_watched){0};
	attr = (union bpf_attr){.map_fd = (uint32_t)procs_fd, .key = (uint64_t)(uintptr_t)ret_pid};
	return syscall(SYS_bpf, BPF_MAP_DELETE_ELEM, &attr, sizeof(attr)) == 0;
}

/*
 * A BPF program that runs meanwhile may still stop a process that it has found in the map, and add
 * a child to the map. So the map is emptied in rounds, until a round finds nothing to resume.
 */
void stopped_map_release(int procs_fd)
{
	struct waiting {
		uint64_t start;
		uint32_t pid;
	} waiting[512]; /* the processes of one round */
	struct rt_watched value;
	uint32_t pid, n, found = 1;

	while (found) {
		for (n = found = 0; n < ARRAY_LEN(waiting) && process_take(procs_fd, &pid, &value);)
			if (value.flags & RT_WATCHED_OUTLIVES) {
				waiting[n++] = (struct waiting){value.start, pid};
				found++;
			}
		if (found)
			(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
		for (; n > 0; n--)
			proc_resume_exact((pid_t)waiting[n - 1].pid, waiting[n - 1].start);
	}
}
