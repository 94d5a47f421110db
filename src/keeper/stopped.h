/* SPDX-License-Identifier: MIT */
/*
 * The map of the processes that the tracer's BPF programs may stop.
 *
 * It is MAP_WATCHED (rt/follow.h): process ids to struct rt_watched. When the tracer ends, in
 * whatever way, no process may stay stopped: the tracer or, if the tracer was killed, the keeper
 * empties the map and resumes the processes that outlive the tracer.
 */
#pragma once

/*
 * Empties the map and resumes the processes in it that outlive the tracer; other ones end with it.
 * It makes only async-signal-safe calls.
 */
void stopped_map_release(int procs_fd);
