/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: core files. The input is a core file, whatever it claims: it is refused with a
 * message, or it has threads and memory, all of which can be asked for.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "arch/arch.h"
#include "files/gate.h"
#include "target/maps.h"
#include "target/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void maps_check(struct target *t)
{
	const struct proc_maps *maps = target_maps(t);
	uint8_t bytes[256];

	if (!maps->maps.len)
		BUG("no memory");
	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (m->start >= m->end || (i && m->start < m[-1].end))
			BUG("mappings that overlap");
		if (proc_maps_find(maps, m->start) != m || proc_maps_find(maps, m->end - 1) != m)
			BUG("a mapping that is not found");
		(void)target_read(t, m->start, bytes, 1);
		(void)target_read(t, m->end - 8, bytes, sizeof(bytes));
	}
}

static void target_check(struct target *t)
{
	target_tids tids = {0};
	struct target_aux aux;
	struct target_who who;
	struct arch_regs regs;
	siginfo_t si;

	target_threads(t, &tids);
	if (!tids.len)
		BUG("no thread");
	for (uint32_t i = 0; i < tids.len && i < 100; i++) {
		struct err *e = target_regs(t, tids.data[i], &regs);

		if (e || !target_who(t, tids.data[i], &who))
			BUG("a thread without registers");
	}
	maps_check(t);
	err_destroy(target_aux(t, &aux));
	(void)target_program(t);
	(void)target_signal(t, &si);
	err_destroy(target_refresh(t));
	vec_deinit(&tids);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct gate *gate;
	static char path[64];
	static int fd = -1;
	struct target *t = NULL;
	struct err *e;

	if (!gate) {
		gate = gate_create();
		fd = memfd_create("fuzz_core", MFD_CLOEXEC); /* nothing is left when it ends */
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		BUG("cannot write '%s'", path);
	e = target_core_open(path, gate, &t);
	if (!e == !t)
		BUG("neither a target nor an error");
	if (t)
		target_check(t);
	err_destroy(e);
	target_close(t);
	return 0;
}
