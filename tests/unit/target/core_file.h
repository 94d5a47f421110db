/* SPDX-License-Identifier: MIT */
/* For tests: a process with threads that wait, and the core file of a target that is held. */
#pragma once

#include "arch/arch.h"
#include "files/gate.h"
#include "target/maps.h"
#include "target/target.h"

#include <elf.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/procfs.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITERS 2 /* threads beside the first one */

static volatile uint64_t marker; /* in the process: MARKER */
#define MARKER 0x1122334455667788u

__attribute__((noinline, unused)) static void *wait_here(void *up)
{
	(void)!write(*(int *)up, "x", 1);
	for (;;)
		(void)pause();
	return NULL;
}

/* Starts it, and waits until all its threads wait. */
__attribute__((unused)) static pid_t waiters_start(void)
{
	int up[2];
	pid_t pid = pipe(up) ? -1 : fork();
	pthread_t t;
	char c;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		marker = MARKER;
		for (int i = 0; i < WAITERS; i++)
			(void)pthread_create(&t, NULL, wait_here, &up[1]);
		(void)wait_here(&up[1]);
	}
	for (int i = 0; i < 1 + WAITERS; i++)
		(void)!read(up[0], &c, 1);
	(void)close(up[0]);
	(void)close(up[1]);
	return pid;
}

__attribute__((unused)) static void waiters_end(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* ---- the core file --------------------------------------------------------------------------- */

static void core_note(FILE *f, uint32_t type, const void *desc, size_t size)
{
	const Elf64_Nhdr n = {.n_namesz = 5, .n_descsz = (uint32_t)size, .n_type = type};
	static const char zeros[4];

	(void)fwrite(&n, sizeof(n), 1, f);
	(void)fwrite("CORE\0\0\0", 8, 1, f);
	(void)fwrite(desc, size, 1, f);
	(void)fwrite(zeros, -size & 3, 1, f);
}

static void core_note_files(FILE *f, const struct proc_maps *maps)
{
	char *text = NULL;
	size_t size;
	FILE *note = open_memstream(&text, &size);
	uint64_t head[2] = {0, 4096};

	for (uint32_t i = 0; i < maps->maps.len; i++)
		head[0] += maps->maps.data[i].path[0] == '/';
	(void)fwrite(head, sizeof(head), 1, note);
	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];
		const uint64_t range[3] = {m->start, m->end, m->off / 4096};

		if (m->path[0] == '/')
			(void)fwrite(range, sizeof(range), 1, note);
	}
	for (uint32_t i = 0; i < maps->maps.len; i++)
		if (maps->maps.data[i].path[0] == '/')
			(void)fwrite(maps->maps.data[i].path, strlen(maps->maps.data[i].path) + 1,
				     1, note);
	(void)fclose(note);
	core_note(f, NT_FILE, text, size);
	free(text);
}

static void core_notes(FILE *f, struct target *t, const target_tids *tids, const siginfo_t *si)
{
	struct elf_prpsinfo info = {.pr_pid = target_pid(t), .pr_uid = 7, .pr_gid = 8};
	char path[64];
	char auxv[1024];
	size_t n;

	(void)snprintf(info.pr_fname, sizeof(info.pr_fname), "waiters");
	(void)snprintf(info.pr_psargs, sizeof(info.pr_psargs), "waiters and more");
	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", (int)target_pid(t));
	for (uint32_t i = 0; i < tids->len; i++) {
		struct elf_prstatus st = {.pr_pid = tids->data[i]};

		(void)ptrace(PTRACE_GETREGS, tids->data[i], NULL, &st.pr_reg);
		core_note(f, NT_PRSTATUS, &st, sizeof(st));
		if (i)
			continue;
		core_note(f, NT_PRPSINFO, &info, sizeof(info));
		if (si)
			core_note(f, NT_SIGINFO, si, sizeof(*si));
		{
			CLEANUP(file) FILE *from = fopen(path, "re");

			n = from ? fread(auxv, 1, sizeof(auxv), from) : 0;
		}
		core_note(f, NT_AUXV, auxv, n);
		core_note_files(f, target_maps(t));
	}
}

#define CORE_MAP_MAX ((size_t)16 << 20) /* a sanitizer's shadow has terabytes */

/* As the kernel, leaves out what a file has, but for the start of ELF files. */
static size_t core_bytes_of(const struct proc_map *m)
{
	if (m->end - m->start > CORE_MAP_MAX)
		return 0;
	if (m->is_write || !proc_map_has_file(m))
		return m->end - m->start;
	return m->off ? 0 : 4096;
}

/* Writes the core file of a held target as the kernel does; si: the signal, or NULL. */
__attribute__((unused)) static bool core_write(struct target *t, const char *path,
					       const siginfo_t *si)
{
	const struct proc_maps *maps = target_maps(t);
	CLEANUP(file) FILE *f = fopen(path, "we");
	uint32_t n = maps->maps.len + 1;
	CLEANUP(free) Elf64_Phdr *ph = xcalloc(n, sizeof(*ph));
	Elf64_Ehdr eh = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			 .e_type = ET_CORE,
			 .e_machine = arch.elf.machine,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(eh),
			 .e_ehsize = sizeof(eh),
			 .e_phentsize = sizeof(*ph),
			 .e_phnum = (uint16_t)n};
	target_tids tids = {0};

	if (!f)
		return false;
	target_threads(t, &tids);
	(void)fseek(f, (long)(sizeof(eh) + n * sizeof(*ph)), SEEK_SET);
	ph[0] = (Elf64_Phdr){.p_type = PT_NOTE, .p_offset = (uint64_t)ftell(f)};
	core_notes(f, t, &tids, si);
	ph[0].p_filesz = (uint64_t)ftell(f) - ph[0].p_offset;
	for (uint32_t i = 1; i < n; i++) {
		const struct proc_map *m = &maps->maps.data[i - 1];
		size_t size = core_bytes_of(m);
		CLEANUP(free) char *bytes = xmalloc(size + 1);

		ph[i] = (Elf64_Phdr){.p_type = PT_LOAD,
				     .p_flags = PF_R | (m->is_exec ? PF_X : 0) |
						(m->is_write ? PF_W : 0),
				     .p_offset = (uint64_t)ftell(f),
				     .p_vaddr = m->start,
				     .p_memsz = m->end - m->start};
		if (target_read(t, m->start, bytes, size))
			ph[i].p_filesz = size;
		(void)fwrite(bytes, 1, ph[i].p_filesz, f);
	}
	rewind(f);
	(void)fwrite(&eh, sizeof(eh), 1, f);
	(void)fwrite(ph, sizeof(*ph), n, f);
	vec_deinit(&tids);
	return !ferror(f);
}
