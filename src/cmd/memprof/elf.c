/* SPDX-License-Identifier: MIT */
/* Variables that a library of the process exports: their names and addresses. */
#include <elf.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memprof.h"

struct mapping {
	uint64_t start, end;
	char device[32]; /* as in /proc/PID/maps: "fe:01" */
};

/* Where the first bytes of a module are mapped. */
static bool module_find(pid_t pid, const char *module, struct mapping *ret)
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
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %31s %*s %n", &ret->start,
			   &ret->end, &offset, ret->device, &at) < 4 ||
		    !at || offset)
			continue;
		name = strrchr(line + at, '/');
		is_found = name && strcmp(name + 1, module) == 0;
	}
	(void)fclose(fp);
	return is_found;
}

/* Whether a process or another machine serves file systems of this type. */
static bool type_is_served(const char *type)
{
	static const char *const served[] = {"fuse", "nfs", "cifs", "smb", "9p", "ceph", "afs"};

	for (size_t i = 0; i < sizeof(served) / sizeof(served[0]); i++)
		if (strncmp(type, served[i], strlen(served[i])) == 0)
			return true;
	return false;
}

/*
 * Whether a file on this device can be opened and read without waiting for somebody who may never
 * answer. The kernel's list says so without asking the file system; one that is not mounted where
 * the process looks is not trusted.
 */
static bool device_is_local(pid_t pid, const char *device)
{
	char path[64], line[8192];
	unsigned int major, minor, want_major, want_minor;
	bool is_local = false;
	FILE *fp;

	if (sscanf(device, "%x:%x", &want_major, &want_minor) != 2)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", (int)pid);
	fp = fopen(path, "re");
	if (!fp)
		return false;
	while (!is_local && fgets(line, sizeof(line), fp)) {
		const char *type = strstr(line, " - ");

		if (type && sscanf(line, "%*u %*u %u:%u ", &major, &minor) == 2 &&
		    major == want_major && minor == want_minor) {
			if (type_is_served(type + 3))
				break;
			is_local = true;
		}
	}
	(void)fclose(fp);
	return is_local;
}

/* The mapped file itself, by no path: the process can replace what a path means. */
static int mapping_open(pid_t pid, const struct mapping *map)
{
	char path[96];
	struct stat st;
	int fd, ret;

	if (!device_is_local(pid, map->device))
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)pid,
		       map->start, map->end);
	fd = open(path, O_PATH | O_CLOEXEC); /* which opens no device */
	if (fd < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	ret = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	(void)close(fd);
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

/* The file belongs to the traced process, so whatever it says is checked. */
static void symbols_walk(const char *file, size_t size, uint64_t start, variable_f *func, void *arg)
{
	const Elf64_Ehdr *eh = (const void *)file;
	uint64_t nsections, bias;

	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_shoff % 8 ||
	    !is_within(eh->e_shoff, eh->e_shnum, sizeof(Elf64_Shdr), size))
		return;
	nsections = eh->e_shnum;
	bias = start - first_address(file, size);
	for (uint64_t i = 0; i < nsections; i++) {
		const Elf64_Shdr *sections = (const void *)(file + eh->e_shoff), *s = &sections[i],
				 *t;
		const Elf64_Sym *syms = (const void *)(file + s->sh_offset);
		uint64_t n = s->sh_size / sizeof(*syms);

		if (s->sh_type != SHT_DYNSYM || s->sh_link >= nsections || s->sh_offset % 8 ||
		    !is_within(s->sh_offset, n, sizeof(*syms), size))
			continue;
		t = &sections[s->sh_link];
		if (!t->sh_size || !is_within(t->sh_offset, t->sh_size, 1, size) ||
		    file[t->sh_offset + t->sh_size - 1])
			continue; /* its last name would have no end */
		for (uint64_t k = 0; k < n; k++)
			if (ELF64_ST_TYPE(syms[k].st_info) == STT_OBJECT && syms[k].st_shndx &&
			    syms[k].st_name < t->sh_size &&
			    !func(file + t->sh_offset + syms[k].st_name, bias + syms[k].st_value,
				  arg))
				return;
	}
}

bool variables_find(pid_t pid, const char *module, variable_f *func, void *arg)
{
	struct mapping map;
	struct stat st;
	char *file;
	int fd;

	if (!module_find(pid, module, &map))
		return false;
	fd = mapping_open(pid, &map);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (1 << 28) || !(file = malloc((size_t)st.st_size))) {
		(void)close(fd);
		return false;
	}
	/* a copy: a mapping of a file that is cut off faults */
	if (pread(fd, file, (size_t)st.st_size, 0) == st.st_size)
		symbols_walk(file, (size_t)st.st_size, map.start, func, arg);
	free(file);
	(void)close(fd);
	return true;
}
