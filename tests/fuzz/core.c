/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: core files. The input is a core file, whatever it claims: it is refused with a
 * message, or it has threads and memory, all of which can be asked for.
 */
#include <elf.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/procfs.h>
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

/* Opens a core file that these bytes are; NULL: it was refused. */
static struct target *core_open(const void *data, size_t size)
{
	static struct gate *gate;
	static char path[64];
	static int fd = -1;
	struct target *t = NULL;
	struct err *e;

	if (!gate) {
		gate = gate_create();
		fd = memfd_create("fuzz_core", MFD_CLOEXEC); /* nothing is left when it ends */
		(void)snprintf(path, sizeof(path), "/dev/fd/%d", fd);
	}
	if (fd < 0 || ftruncate(fd, 0) || pwrite(fd, data, size, 0) != (ssize_t)size)
		BUG("cannot write '%s'", path);
	e = target_core_open(path, gate, &t);
	if (!e == !t)
		BUG("neither a target nor an error");
	err_destroy(e);
	return t;
}

/* A core file of one thread and one page is accepted: others are not refused for their path. */
static void smallest_check(void)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Phdr ph[2];
		Elf64_Nhdr note;
		char name[8];
		struct elf_prstatus status;
		uint8_t page[4096];
	} core = {
		.eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		       .e_type = ET_CORE,
		       .e_machine = arch.elf.machine,
		       .e_version = EV_CURRENT,
		       .e_phoff = sizeof(core.eh),
		       .e_ehsize = sizeof(core.eh),
		       .e_phentsize = sizeof(core.ph[0]),
		       .e_phnum = ARRAY_LEN(core.ph)},
		.ph = {{.p_type = PT_NOTE,
			.p_offset = offsetof(__typeof__(core), note),
			.p_filesz = offsetof(__typeof__(core), page) -
				    offsetof(__typeof__(core), note)},
		       {.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_offset = offsetof(__typeof__(core), page),
			.p_vaddr = 0x10000,
			.p_filesz = sizeof(core.page),
			.p_memsz = sizeof(core.page)}},
		.note = {5, sizeof(core.status), NT_PRSTATUS},
		.name = "CORE",
		.status = {.pr_pid = 1},
	};
	struct target *t = core_open(&core, sizeof(core));

	if (!t)
		BUG("a core file was refused");
	target_check(t);
	target_close(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool is_checked;
	struct target *t;

	if (!is_checked)
		smallest_check();
	is_checked = true;
	t = core_open(data, size);
	if (t)
		target_check(t);
	target_close(t);
	return 0;
}
