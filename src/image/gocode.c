/* SPDX-License-Identifier: MIT */
/* Code of the Go compiler in an ELF file. */
#include "image/gocode.h"

#include <ctype.h>

#include "image/segments.h"

#define INFO_SECTION  ".go.buildinfo"
#define INFO_HEAD     32 /* bytes before the text, from Go 1.18 on */
#define INFO_INLINE   2	 /* flag: the section contains the text, and not its address */
#define FIRST_MINOR   17 /* minor number of the first version that passes arguments in registers */
#define TEXT_MAX_READ 64

/* ---- version --------------------------------------------------------------------------------- */

static bool find_section(struct gate_elf *file, const char *want, GElf_Shdr *ret)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(file->elf, &names))
		return false;
	while ((scn = elf_nextscn(file->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, ret) ? gate_text(file, names, ret->sh_name) : NULL;

		if (name && strcmp(name, want) == 0)
			return true;
	}
	return false;
}

/* Reads the bytes that the file has for an address of memory. */
static bool read_memory(struct gate_elf *file, uint64_t addr, void *to, size_t size)
{
	const struct image_segment *s;
	struct image_segments all;
	bool is_read;

	segments_read(&all, file->elf);
	s = segments_at(&all, addr, size);
	is_read =
		s && gate_file_read(file->file, to, size, s->off + addr - s->addr) == (ssize_t)size;
	segments_deinit(&all);
	return is_read;
}

/*
 * Reads the version by its address. Up to Go 1.17, the section contains the address of a Go string,
 * which consists of the address and the number of its bytes.
 */
static size_t read_by_address(struct gate_elf *file, const uint8_t *head, char *text, size_t size)
{
	uint64_t at, string[2];

	memcpy(&at, head + 16, sizeof(at));
	if (!read_memory(file, at, string, sizeof(string)) || !string[1] || string[1] >= size ||
	    !read_memory(file, string[0], text, string[1]))
		return 0;
	return string[1];
}

/* Reads the text that runtime.Version() returns; returns its length, 0 if the file has none. */
static size_t read_version(struct gate_elf *file, char *text, size_t size)
{
	static const uint8_t magic[] = "\xff Go buildinf:";
	uint8_t head[INFO_HEAD + 1];
	GElf_Shdr sh;
	size_t len;

	if (!find_section(file, INFO_SECTION, &sh) ||
	    gate_file_read(file->file, head, sizeof(head), sh.sh_offset) != sizeof(head) ||
	    memcmp(head, magic, sizeof(magic) - 1) != 0)
		return 0;
	if (!(head[15] & INFO_INLINE))
		return head[14] == 8 ? read_by_address(file, head, text, size) : 0;
	len = head[INFO_HEAD]; /* a number of seven bits a byte: a version takes less than two */
	if (!len || len > 0x7f || len >= size ||
	    gate_file_read(file->file, text, len, sh.sh_offset + INFO_HEAD + 1) != (ssize_t)len)
		return 0;
	return len;
}

/* Returns the minor number of "go1.19.8" or "devel go1.22-1a2b3c"; 0 if there is none. */
static unsigned long minor_of(const char *text, const char **ret_start)
{
	const char *at = strstr(text, "go1.");

	*ret_start = at;
	return at && isdigit((unsigned char)at[4]) ? strtoul(at + 4, NULL, 10) : 0;
}

void go_code_read(struct go_code *g, struct gate_elf *file, bool is_32bit)
{
	char text[TEXT_MAX_READ] = "";
	size_t len = read_version(file, text, sizeof(text));
	const char *start;
	unsigned long minor;
	GElf_Shdr sh;

	text[len] = '\0';
	if (!len && !find_section(file, INFO_SECTION, &sh) &&
	    !find_section(file, ".gopclntab", &sh) &&
	    !find_section(file, ".data.rel.ro.gopclntab", &sh))
		return;
	minor = minor_of(text, &start);
	for (size_t i = 0; minor && i < sizeof(g->version) - 1 && isgraph((unsigned char)start[i]);
	     i++)
		g->version[i] = start[i];
	if (is_32bit || (minor && minor < FIRST_MINOR))
		g->abi = GO_STACK;
	else
		g->abi = minor ? GO_REGISTERS : GO_UNKNOWN;
}

enum go_abi go_code_abi(const struct go_code *g, uint64_t addr, const char *name)
{
	static const char on_stack[] = ".abi0";
	size_t len = strlen(name), tail = sizeof(on_stack) - 1;

	if (g->abi == GO_NONE || addr < g->start || addr >= g->end)
		return GO_NONE;
	return len > tail && strcmp(name + len - tail, on_stack) == 0 ? GO_STACK : g->abi;
}
