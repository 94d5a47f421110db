/* SPDX-License-Identifier: MIT */
/* Lets the makers of twins go on that a dead tracer has left stopped. */
#include "keeper/owned.h"

#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

bool owned_add(struct owned *o, uint64_t id, int pidfd, int twins_fd)
{
	if (o->n == OWNED_MAX)
		return false;
	o->list[o->n++] = (struct owned_process){id, pidfd, twins_fd};
	return true;
}

void owned_drop(struct owned *o, uint64_t id)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->list[i].id == id) {
			(void)close(o->list[i].pidfd);
			(void)close(o->list[i].twins_fd);
			o->list[i] = o->list[--o->n];
			return;
		}
}

uint32_t owned_list_fds(const struct owned *o, int *fds, uint32_t n)
{
	for (uint32_t i = 0; i < o->n; i++) {
		fds[n++] = o->list[i].pidfd;
		fds[n++] = o->list[i].twins_fd;
	}
	return n;
}

/* True also where the kernel does not say: rather one too many goes on. */
static bool has_twins(int twins_fd)
{
	uint32_t zero = 0;
	uint64_t n = 0;
	union bpf_attr attr = {.map_fd = (uint32_t)twins_fd,
			       .key = (uint64_t)(uintptr_t)&zero,
			       .value = (uint64_t)(uintptr_t)&n};

	return syscall(SYS_bpf, BPF_MAP_LOOKUP_ELEM, &attr, sizeof(attr)) != 0 || n;
}

/* A program that runs meanwhile may have counted nothing yet, and stops its maker after that. */
void owned_resume(const struct owned *o)
{
	if (o->n)
		(void)syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
	for (uint32_t i = 0; i < o->n; i++)
		if (has_twins(o->list[i].twins_fd))
			/* fails if the process has ended */
			(void)syscall(SYS_pidfd_send_signal, o->list[i].pidfd, SIGCONT, NULL, 0);
}
