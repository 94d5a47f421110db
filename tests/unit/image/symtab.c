/* SPDX-License-Identifier: MIT */
/* The symbols of this program, and of what is left of it when it is damaged. */
#include "image/symtab.h"

#include <stddef.h>
#include <string.h>

#include "files/gate.h"
#include "tap.h"

#define SIZE_MAX_OWN (64u << 20)

static volatile int symtab_own_variable = 2;

struct count {
	uint32_t nsyms, nnames, nbad, nown;
	bool has_static, has_dynamic_sym, has_static_sym;
};

static struct count symbols_count(struct gate_elf *g, enum symtab_which which)
{
	struct symtab t = symtab_begin(g, which);
	struct count c = {0};

	while (symtab_next(&t)) {
		const char *name = symtab_name(&t), *text;
		size_t room = 0;

		text = symtab_text(&t, &room);
		c.nsyms++;
		c.nnames += name != NULL;
		c.nbad += name && (!text || strlen(name) >= room || strcmp(name, text) != 0);
		c.nown += symtab_is(&t, "symtab_own_variable");
		*(t.is_dynamic ? &c.has_dynamic_sym : &c.has_static_sym) = true;
	}
	c.nbad += symtab_next(&t); /* it stays at its end */
	c.has_static = t.has_static;
	return c;
}

static void test_own(struct gate_file *file)
{
	struct count all, dynamic, local;
	struct gate_elf g;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	all = symbols_count(&g, SYMTAB_ALL);
	dynamic = symbols_count(&g, SYMTAB_DYNAMIC);
	local = symbols_count(&g, SYMTAB_STATIC);
	ok(all.nsyms > 100 && all.nsyms == dynamic.nsyms + local.nsyms, "all are those of both");
	ok(dynamic.has_dynamic_sym && !dynamic.has_static_sym && local.has_static_sym &&
		   !local.has_dynamic_sym,
	   "each kind by itself");
	ok(all.has_static && dynamic.has_static, ".symtab is seen, too, where it is not asked for");
	is_int((int)all.nown, 1, "a static variable is there, once");
	is_int((int)dynamic.nown, 0, "and not for other files");
	is_int((int)(all.nbad + dynamic.nbad + local.nbad), 0, "both ways to a name agree");
	gate_elf_close(&g);

	gate_elf_open(file, 1024, &g);
	all = symbols_count(&g, SYMTAB_ALL);
	ok(!all.nown && all.has_static && g.is_cut, "a table beyond the limit is left out");
	gate_elf_close(&g);
}

/* Every symbol of a damaged file has a name in its table, or none. */
static void test_damaged(struct gate_file *file)
{
	size_t size = (size_t)gate_file_stat(file)->st_size;
	CLEANUP(free) char *whole = xmalloc(size);
	uint32_t seed = 1, nbad = 0;

	if (!ok(size < SIZE_MAX_OWN && gate_file_read(file, whole, size, 0) == (ssize_t)size,
		"the file"))
		return;
	for (int i = 0; i < 60; i++) {
		size_t len = i % 3 ? size : size - (size_t)i * (size / 64);
		CLEANUP(free) char *copy = xmalloc(size);
		Elf64_Ehdr *eh = (Elf64_Ehdr *)(void *)copy;
		struct gate_elf g;

		memcpy(copy, whole, size);
		for (int k = 0; k < 8 && eh->e_shoff < size - sizeof(Elf64_Shdr) * eh->e_shnum;
		     k++) { /* among the headers of sections */
			seed = seed * 1103515245 + 12345;
			copy[eh->e_shoff + (seed >> 8) % (sizeof(Elf64_Shdr) * eh->e_shnum)] =
				(char)(seed >> 3);
		}
		gate_elf_memory(copy, len, GATE_LIMIT_DEFAULT, &g);
		nbad += g.elf ? symbols_count(&g, SYMTAB_ALL).nbad : 0;
		gate_elf_close(&g);
	}
	is_int((int)nbad, 0, "damaged files");
}

/* A file of so many tables, all of them the same two symbols; returns how many are found. */
static uint32_t tables_count(uint16_t ntables, bool *ret_is_cut)
{
	struct {
		Elf64_Ehdr eh;
		Elf64_Sym symbols[2];
		char names[8];
		Elf64_Shdr sections[64];
	} f = {.names = "\0one"};
	struct gate_elf g;
	uint32_t ret;

	memcpy(f.eh.e_ident, ELFMAG, SELFMAG);
	f.eh.e_ident[EI_CLASS] = ELFCLASS64;
	f.eh.e_ident[EI_DATA] = ELFDATA2LSB;
	f.eh.e_ident[EI_VERSION] = EV_CURRENT;
	f.eh.e_type = ET_DYN;
	f.eh.e_machine = EM_X86_64;
	f.eh.e_version = EV_CURRENT;
	f.eh.e_ehsize = sizeof(f.eh);
	f.eh.e_shoff = offsetof(__typeof__(f), sections);
	f.eh.e_shentsize = sizeof(f.sections[0]);
	f.eh.e_shnum = ntables + 2;
	f.symbols[1].st_name = 1;
	f.sections[1] = (Elf64_Shdr){.sh_type = SHT_STRTAB,
				     .sh_offset = offsetof(__typeof__(f), names),
				     .sh_size = sizeof(f.names),
				     .sh_addralign = 1};
	for (uint32_t i = 0; i < ntables; i++)
		f.sections[i + 2] = (Elf64_Shdr){.sh_type = SHT_DYNSYM,
						 .sh_offset = offsetof(__typeof__(f), symbols),
						 .sh_size = sizeof(f.symbols),
						 .sh_link = 1,
						 .sh_addralign = 8,
						 .sh_entsize = sizeof(f.symbols[0])};
	gate_elf_memory((char *)&f, sizeof(f), GATE_LIMIT_DEFAULT, &g);
	ret = symbols_count(&g, SYMTAB_ALL).nnames;
	*ret_is_cut = g.is_cut;
	gate_elf_close(&g);
	return ret;
}

static void test_many(void)
{
	bool is_cut;

	ok(tables_count(2, &is_cut) == 4 && !is_cut, "two tables are walked");
	ok(tables_count(60, &is_cut) == 32 && is_cut, "of sixty, the first sixteen");
}

static void test_none(void)
{
	struct gate_elf g = {.elf = NULL};
	struct symtab t = symtab_begin(&g, SYMTAB_ALL);

	ok(!symtab_next(&t) && !t.has_static, "no ELF file has none");
}

int main(void)
{
	struct gate *g = gate_create();
	struct gate_file *file = gate_open_path(g, -1, "/proc/self/exe");

	if (ok(file && symtab_own_variable == 2, "this program")) {
		test_own(file);
		test_damaged(file);
	}
	test_many();
	test_none();
	gate_file_close(file);
	gate_destroy(g);
	return tap_done();
}
