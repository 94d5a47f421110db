/* SPDX-License-Identifier: MIT */
/* The gate: all sections of a file together are bounded, though each of them is small. */
#include <stdlib.h>

#include "files/gate.h"
#include "tap.h"

#define NSECTIONS 40
#define SIZE	  4096u /* of each section, and the limit; all are the same bytes */

struct file {
	Elf64_Ehdr head;
	Elf64_Shdr sections[NSECTIONS];
	char bytes[SIZE];
};

static struct file *file_make(void)
{
	struct file *f = aligned_alloc(64, (sizeof(*f) + 63) / 64 * 64);

	memset(f, 0, sizeof(*f));
	memcpy(f->head.e_ident, ELFMAG, SELFMAG);
	f->head.e_ident[EI_CLASS] = ELFCLASS64;
	f->head.e_ident[EI_DATA] = ELFDATA2LSB;
	f->head.e_ident[EI_VERSION] = EV_CURRENT;
	f->head.e_type = ET_DYN;
	f->head.e_version = EV_CURRENT;
	f->head.e_ehsize = sizeof(f->head);
	f->head.e_shentsize = sizeof(f->sections[0]);
	f->head.e_shoff = offsetof(struct file, sections);
	f->head.e_shnum = NSECTIONS;
	for (int i = 1; i < NSECTIONS; i++)
		f->sections[i] = (Elf64_Shdr){.sh_type = SHT_PROGBITS,
					      .sh_offset = offsetof(struct file, bytes),
					      .sh_size = SIZE,
					      .sh_addralign = 1};
	return f;
}

int main(void)
{
	struct file *f = file_make();
	struct gate_elf g;
	int n = 0;

	gate_elf_memory((char *)f, sizeof(*f), SIZE, &g);
	ok(g.elf != NULL, "a file with many sections");
	for (int i = 1; i < NSECTIONS; i++) {
		bool is_there = gate_data(&g, elf_getscn(g.elf, (size_t)i)) != NULL;

		n += is_there && gate_raw_data(&g, elf_getscn(g.elf, (size_t)i)) != NULL;
	}
	is_int(n, GATE_DEBUG_FACTOR, "so many sections as all together may have bytes");
	ok(g.is_cut, "that others were left out is known");
	ok(gate_data(&g, elf_getscn(g.elf, 1)) != NULL, "one that was read before stays readable");
	ok(gate_text(&g, NSECTIONS - 1, 0) == NULL, "a table of texts counts as well");
	gate_elf_close(&g);
	gate_elf_memory((char *)f, sizeof(*f), SIZE, &g);
	ok(gate_data(&g, elf_getscn(g.elf, NSECTIONS - 1)) != NULL, "each opening counts anew");
	gate_elf_close(&g);
	free(f);
	return tap_done();
}
