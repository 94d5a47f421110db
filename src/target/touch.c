/* SPDX-License-Identifier: MIT */
/* Reads a byte here and there in the constants of a process. */
#include "target/touch.h"

#include <sys/uio.h>

#include "target/maps.h"
#include "files/gate.h"

#define STEP 65536u

static void map_touch(pid_t pid, const struct proc_map *m, uint64_t size)
{
	struct iovec remote[TOUCH_MAX / STEP], local[TOUCH_MAX / STEP];
	char bytes[TOUCH_MAX / STEP];
	uint64_t n = 0;

	for (taddr at = m->start; at < m->start + size && n < ARRAY_LEN(remote);
	     at = (at / STEP + 1) * STEP) {
		remote[n] = (struct iovec){(void *)(uintptr_t)at, 1};
		local[n] = (struct iovec){&bytes[n], 1};
		n++;
	}
	/* The bytes are not used. If some cannot be read, clauses cannot read them either. */
	if (process_vm_readv(pid, local, n, remote, n, 0) < 0)
		return;
}

static bool is_touchable(struct gate *g, const struct proc_map *m)
{
	return m->ino && !m->is_exec && !m->is_shared && gate_is_dev_harmless(g, m->dev);
}

void proc_touch_constants(struct gate *g, pid_t pid)
{
	uint64_t left = TOUCH_MAX;
	struct proc_maps maps;
	struct err *e = proc_maps_read(pid, &maps);

	for (uint32_t i = 0; !e && i < maps.maps.len && left; i++) {
		const struct proc_map *m = &maps.maps.data[i];
		uint64_t size = MIN(m->end - m->start, left);

		if (!is_touchable(g, m))
			continue;
		map_touch(pid, m, size);
		left -= size;
	}
	if (!e)
		proc_maps_deinit(&maps);
	err_destroy(e); /* the process has ended */
}
