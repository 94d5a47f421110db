/* SPDX-License-Identifier: MIT */
/* Files of the process: variables that they export, by name and address, and their code. */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "arch/arch.h"
#include "files/gate.h"
#include "files/mapping.h"
#include "files/mounts.h"
#include "memprof.h"

#define FILE_MAX (1 << 28)

struct range {
	uint64_t start, end;
	char device[32]; /* as in /proc/PID/maps: "fe:01" */
	uint64_t inode;
	char path[4352];
};

/* Where the first bytes of a module are mapped. */
static bool module_find(pid_t pid, const char *module, struct range *ret)
{
	char maps[64], line[4352];
	bool is_found = false;
	FILE *fp;

	(void)snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	fp = fopen(maps, "re");
	if (!fp)
		return false;
	while (!is_found && fgets(line, sizeof(line), fp)) {
		uint64_t offset;
		int at = 0;
		char *name;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %31s %" SCNu64 " %n",
			   &ret->start, &ret->end, &offset, ret->device, &ret->inode, &at) < 5 ||
		    !at || offset)
			continue;
		name = strrchr(line + at, '/');
		is_found = name && strcmp(name + 1, module) == 0;
		if (is_found)
			(void)snprintf(ret->path, sizeof(ret->path), "%s", line + at);
	}
	(void)fclose(fp);
	return is_found;
}

/*
 * Whether a file on this device can be opened and read without waiting for somebody who may never
 * answer. What the process's own list of mounts says of its type is no answer: a user may mount an
 * overlay there, in a namespace of its own, above a file system that a process serves.
 */
static bool device_is_local(const char *device)
{
	unsigned int dev_major, dev_minor;
	struct mounts mounts;
	bool ret;

	if (sscanf(device, "%x:%x", &dev_major, &dev_minor) != 2)
		return false;
	mounts_init(&mounts);
	ret = mounts_is_dev_harmless(&mounts, makedev(dev_major, dev_minor));
	mounts_deinit(&mounts);
	return ret;
}

/* Whether reading a range waits for nobody: memory of nobody's file, or of a local one. */
static bool range_is_local(const struct range *map, struct range *known)
{
	if (strcmp(map->device, "00:00") == 0)
		return true;
	if (strcmp(map->device, known->device) == 0)
		return true;
	if (!device_is_local(map->device))
		return false;
	*known = *map;
	return true;
}

void addresses_check(pid_t pid, const uint64_t *addrs, size_t n, bool *ret_are_local)
{
	struct range map, known = {0};
	char path[64], line[4352];
	FILE *fp;

	memset(ret_are_local, 0, n * sizeof(*ret_are_local));
	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	fp = fopen(path, "re");
	if (!fp)
		return;
	while (fgets(line, sizeof(line), fp)) {
		int is_local = -1;

		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %*s %31s", &map.start, &map.end,
			   map.device) != 3)
			continue;
		for (size_t i = 0; i < n; i++) {
			if (addrs[i] < map.start || addrs[i] >= map.end)
				continue;
			if (is_local < 0)
				is_local = range_is_local(&map, &known);
			ret_are_local[i] = is_local;
		}
	}
	(void)fclose(fp);
}

/* A copy of the mapped file: a mapping of a file that is cut off faults. */
static char *file_copy(pid_t pid, const struct range *map, size_t *ret_size)
{
	struct mapping m = {.pid = (uint64_t)pid,
			    .start = map->start,
			    .end = map->end,
			    .inode = {.ino = map->inode},
			    .path = map->path,
			    .has_root = true,
			    .root = process_root_open((uint64_t)pid)};
	struct gate *gate = gate_create();
	struct gate_file *file = device_is_local(map->device) ? mapping_open(gate, &m) : NULL;
	const struct stat *st = file ? gate_file_stat(file) : NULL;
	char *ret = NULL;

	if (st && S_ISREG(st->st_mode) && st->st_size > 0 && st->st_size <= FILE_MAX)
		ret = malloc((size_t)st->st_size);
	if (ret && gate_file_read(file, ret, (size_t)st->st_size, 0) == st->st_size) {
		*ret_size = (size_t)st->st_size;
	} else {
		free(ret);
		ret = NULL;
	}
	gate_file_close(file);
	gate_destroy(gate);
	if (m.root >= 0)
		(void)close(m.root);
	return ret;
}

static bool is_within(uint64_t off, uint64_t n, uint64_t each, size_t size)
{
	return off <= size && n <= (size - off) / each;
}

/* The address that the file itself gives its first byte: not 0 if it cannot be moved. */
static uint64_t first_address(const char *file, size_t size)
{
	const Elf64_Ehdr *eh = (const void *)file;
	const Elf64_Phdr *ph = (const void *)(file + eh->e_phoff);

	if (eh->e_phoff % 8 || !is_within(eh->e_phoff, eh->e_phnum, sizeof(*ph), size))
		return 0;
	for (uint32_t i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_offset == 0)
			return ph[i].p_vaddr;
	return 0;
}

/* A copy of a module's file, which has a header of ELF, and where it is in the process. */
struct module {
	char *file;
	size_t size;
	uint64_t bias; /* an address in the process less that in the file */
};

static bool module_read(pid_t pid, const char *name, struct module *ret)
{
	struct range map;
	size_t size = 0;
	char *file = module_find(pid, name, &map) ? file_copy(pid, &map, &size) : NULL;
	const Elf64_Ehdr *eh = (const void *)file;

	if (!file)
		return false;
	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64) {
		free(file);
		return false;
	}
	*ret = (struct module){file, size, map.start - first_address(file, size)};
	return true;
}

char *module_copy(pid_t pid, const char *module, size_t *ret_size)
{
	struct module m;

	if (!module_read(pid, module, &m))
		return NULL;
	*ret_size = m.size;
	return m.file;
}

/*
 * The file belongs to the traced process, so whatever it says is checked. Tables do not overlap in
 * a file that a linker has made: in another one, no more is walked than the file is large.
 */
typedef bool symbol_f(const struct module *m, const char *name, const Elf64_Sym *sym, void *arg);

static void symbols_walk(const struct module *m, uint8_t type, symbol_f *func, void *arg)
{
	const char *file = m->file;
	const Elf64_Ehdr *eh = (const void *)file;
	size_t size = m->size, left = size;
	uint64_t nsections = eh->e_shnum;

	if (eh->e_shoff % 8 || !is_within(eh->e_shoff, nsections, sizeof(Elf64_Shdr), size))
		return;
	for (uint64_t i = 0; i < nsections; i++) {
		const Elf64_Shdr *sections = (const void *)(file + eh->e_shoff), *s = &sections[i],
				 *t;
		const Elf64_Sym *syms = (const void *)(file + s->sh_offset);
		uint64_t n = s->sh_size / sizeof(*syms);

		if (s->sh_type != SHT_DYNSYM || s->sh_link >= nsections || s->sh_offset % 8 ||
		    !is_within(s->sh_offset, n, sizeof(*syms), size) || s->sh_size > left)
			continue;
		left -= (size_t)s->sh_size;
		t = &sections[s->sh_link];
		if (!t->sh_size || !is_within(t->sh_offset, t->sh_size, 1, size) ||
		    file[t->sh_offset + t->sh_size - 1])
			continue; /* its last name would have no end */
		for (uint64_t k = 0; k < n; k++)
			if (ELF64_ST_TYPE(syms[k].st_info) == type && syms[k].st_shndx &&
			    syms[k].st_name < t->sh_size &&
			    !func(m, file + t->sh_offset + syms[k].st_name, &syms[k], arg))
				return;
	}
}

struct variable_search {
	variable_f *func;
	void *arg;
};

static bool variable_found(const struct module *m, const char *name, const Elf64_Sym *sym,
			   void *arg)
{
	const struct variable_search *s = arg;

	return s->func(name, m->bias + sym->st_value, s->arg);
}

bool variables_find(pid_t pid, const char *module, variable_f *func, void *arg)
{
	struct variable_search s = {func, arg};
	struct module m;

	if (!module_read(pid, module, &m))
		return false;
	symbols_walk(&m, STT_OBJECT, variable_found, &s);
	free(m.file);
	return true;
}

/* The bytes of the file at an address in it; NULL: not all of them are code. */
static const uint8_t *code_at(const struct module *m, uint64_t addr, uint64_t size)
{
	const Elf64_Ehdr *eh = (const void *)m->file;
	const Elf64_Phdr *ph = (const void *)(m->file + eh->e_phoff);

	if (eh->e_machine != arch.elf.machine || eh->e_phoff % 8 ||
	    !is_within(eh->e_phoff, eh->e_phnum, sizeof(*ph), m->size))
		return NULL;
	for (uint32_t i = 0; i < eh->e_phnum; i++)
		if (ph[i].p_type == PT_LOAD && ph[i].p_flags & PF_X && addr >= ph[i].p_vaddr &&
		    is_within(addr - ph[i].p_vaddr, size, 1, ph[i].p_filesz) &&
		    is_within(ph[i].p_offset, ph[i].p_filesz, 1, m->size))
			return (const uint8_t *)m->file + ph[i].p_offset + (addr - ph[i].p_vaddr);
	return NULL;
}

struct function_search {
	function_code_f *func;
	void *arg;
};

static bool function_found(const struct module *m, const char *name, const Elf64_Sym *sym,
			   void *arg)
{
	const struct function_search *s = arg;
	const uint8_t *code = code_at(m, sym->st_value, sym->st_size);

	return !code || s->func(name, code, sym->st_size, m->bias + sym->st_value, s->arg);
}

bool functions_read(pid_t pid, const char *module, function_code_f *func, void *arg)
{
	struct function_search s = {func, arg};
	struct module m;

	if (!module_read(pid, module, &m))
		return false;
	symbols_walk(&m, STT_FUNC, function_found, &s);
	free(m.file);
	return true;
}

bool code_find(pid_t pid, const char *module, code_f *func, void *arg)
{
	const Elf64_Ehdr *eh;
	const Elf64_Phdr *ph;
	struct module m;
	uint64_t left;

	if (!module_read(pid, module, &m))
		return false;
	left = m.size; /* as of tables */
	eh = (const void *)m.file;
	ph = (const void *)(m.file + eh->e_phoff);
	if (eh->e_machine == arch.elf.machine && eh->e_phoff % 8 == 0 &&
	    is_within(eh->e_phoff, eh->e_phnum, sizeof(*ph), m.size))
		for (uint32_t i = 0; i < eh->e_phnum; i++) {
			if (ph[i].p_type != PT_LOAD || !(ph[i].p_flags & PF_X) ||
			    !is_within(ph[i].p_offset, ph[i].p_filesz, 1, m.size) ||
			    ph[i].p_filesz > left)
				continue;
			left -= ph[i].p_filesz;
			func((const uint8_t *)m.file + ph[i].p_offset, (size_t)ph[i].p_filesz,
			     m.bias + ph[i].p_vaddr, arg);
		}
	free(m.file);
	return true;
}
