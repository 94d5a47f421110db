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

/* The file of a module, as the process sees it, and where its first byte is mapped. */
static bool module_find(pid_t pid, const char *module, char *path, size_t size, uint64_t *ret_base)
{
	char maps[64], line[4352];
	bool is_found = false;
	FILE *fp;

	(void)snprintf(maps, sizeof(maps), "/proc/%d/maps", (int)pid);
	fp = fopen(maps, "re");
	if (!fp)
		return false;
	while (!is_found && fgets(line, sizeof(line), fp)) {
		uint64_t start, offset;
		int at = 0;
		char *name;

		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &start, &offset,
			   &at) < 2 ||
		    !at || offset)
			continue;
		name = strrchr(line + at, '/');
		if (!name || strcmp(name + 1, module) != 0)
			continue;
		(void)snprintf(path, size, "/proc/%d/root%s", (int)pid, line + at);
		*ret_base = start;
		is_found = true;
	}
	(void)fclose(fp);
	return is_found;
}

static bool is_within(uint64_t off, uint64_t n, uint64_t each, size_t size)
{
	return off <= size && n <= (size - off) / each;
}

/* The file belongs to the traced process, so whatever it says is checked. */
static void symbols_walk(const char *file, size_t size, uint64_t base, variable_f *func, void *arg)
{
	const Elf64_Ehdr *eh = (const void *)file;
	uint64_t nsections;

	if (size < sizeof(*eh) || memcmp(eh->e_ident, ELFMAG, SELFMAG) != 0 ||
	    eh->e_ident[EI_CLASS] != ELFCLASS64 || eh->e_shoff % 8 ||
	    !is_within(eh->e_shoff, eh->e_shnum, sizeof(Elf64_Shdr), size))
		return;
	nsections = eh->e_shnum;
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
			    syms[k].st_name < t->sh_size)
				func(file + t->sh_offset + syms[k].st_name, base + syms[k].st_value,
				     arg);
	}
}

bool variables_find(pid_t pid, const char *module, variable_f *func, void *arg)
{
	char path[4352];
	struct stat st;
	uint64_t base;
	char *file;
	int fd;

	if (!module_find(pid, module, path, sizeof(path), &base))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
	    st.st_size > (1 << 28) || !(file = malloc((size_t)st.st_size))) {
		(void)close(fd);
		return false;
	}
	/* a copy: a mapping of a file that is cut off faults */
	if (pread(fd, file, (size_t)st.st_size, 0) == st.st_size)
		symbols_walk(file, (size_t)st.st_size, base, func, arg);
	free(file);
	(void)close(fd);
	return true;
}
