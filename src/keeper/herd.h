/* SPDX-License-Identifier: MIT */
/*
 * The map of the processes that the tracer's BPF programs may stop.
 *
 * It is MAP_WATCHED (rt/abi.h): process ids to struct rt_watched. When the tracer ends, in
 * whatever way, no process may stay stopped: the tracer or, if the tracer was killed, the keeper
 * empties the map and resumes the processes that outlive the tracer.
 */
#pragma once

/* Resumes the processes that the map lists, and empties it; makes only async-signal-safe calls. */
void herd_release(int procs_fd);
