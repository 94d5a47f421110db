/* SPDX-License-Identifier: MIT */
/*
 * The alarm of a session whose probes have taken more of the CPU time of others than they may: the
 * kernel kills the process. It does so while the process is stopped, frozen, or kept from running,
 * which its user can do.
 *
 * A program calls bpf_perf_event_output(), for the perf event of its CPU; the event's descriptor
 * has a signal for its owner instead of SIGIO, which is SIGKILL.
 *
 * Owns     perf events, and a page of each that is mapped.
 * Errors   struct err *: what the kernel refused; then there must be no session.
 * Facts    Linux kernel/events/core.c: perf_event_wakeup() calls kill_fasync() for an event that
 *          has a buffer. fcntl(2): F_SETSIG, F_SETOWN.
 */
#pragma once

#include "base/err.h"

/* Flags of bpf_perf_event_output(): BPF_F_CURRENT_CPU. */
#define ALARM_THIS_CPU 0xffffffffu

struct alarm {
	uint32_t ncpus; /* 0: there is none */
	struct alarm_event {
		int fd;
		void *buffer;
	} * cpus;
};

/* Makes the events, and the map of them for ncpus CPUs, which is the caller's. */
MUST_CHECK struct err *alarm_create(struct alarm *a, uint32_t ncpus, int *ret_map);
void alarm_destroy(struct alarm *a);
