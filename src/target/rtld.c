/* SPDX-License-Identifier: MIT */
/* The dynamic linker of a process. */
#include "target/rtld.h"

#include <elf.h>
#include <string.h>

#include "files/gate.h"
#include "image/segments.h"
#include "image/symtab.h"
#include "target/link_map.h"
#include "target/maps.h"
#include "target/target.h"

/* Returns the value of a symbol, 0 = the file has no such symbol, and the file's entry point. */
static uint64_t symbol_value(struct gate_file *file, const char *name, uint64_t *ret_entry)
{
	struct symtab t;
	struct gate_elf g;
	GElf_Ehdr eh;
	uint64_t value = 0;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	*ret_entry = g.elf && gelf_getehdr(g.elf, &eh) ? eh.e_entry : 0;
	t = symtab_begin(&g, SYMTAB_ALL);
	while (!value && symtab_next(&t))
		if (t.sym.st_shndx != SHN_UNDEF && symtab_is(&t, name))
			value = t.sym.st_value;
	gate_elf_close(&g);
	return value;
}

/* Opens the file that is mapped at addr; NULL if there is none, or it cannot be opened. */
static struct gate_file *open_at(struct target *t, taddr addr)
{
	const struct proc_map *first = target_file_at(t, addr);

	return first ? target_open_map(t, first) : NULL;
}

uint64_t rtld_symbol(struct target *t, taddr addr, const char *name, uint64_t *ret_entry)
{
	CLEANUP(gate_file) struct gate_file *file = open_at(t, addr);

	*ret_entry = 0;
	return file ? symbol_value(file, name, ret_entry) : 0;
}

/* ---- the hook ------------------------------------------------------------------------------- */

/*
 * Converts an address to a file offset; false if no segment contains it. *ret_narrow says whether
 * the file is a 32-bit one.
 */
static bool file_off(struct gate_file *file, uint64_t addr, uint64_t *ret_off, bool *ret_narrow)
{
	struct image_segments segments;
	struct gate_elf g;
	bool found;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	segments_read(&segments, g.elf);
	found = segments_off(&segments, addr, ret_off);
	segments_deinit(&segments);
	*ret_narrow = g.elf && gelf_getclass(g.elf) == ELFCLASS32;
	gate_elf_close(&g);
	return found;
}

bool rtld_find(struct target *t, struct rtld *ret)
{
	struct rtld r = {0};
	uint64_t hook, debug, entry;
	CLEANUP(gate_file) struct gate_file *file = NULL;
	const struct proc_map *first;
	struct target_aux aux;
	struct err *e = target_aux(t, &aux);
	bool is_narrow;

	if (e || !aux.base) {
		err_destroy(e); /* the process has ended */
		return false;
	}
	file = open_at(t, aux.base);
	if (!file)
		return false;
	first = target_file_at(t, aux.base);
	r.dev = first->dev;
	r.ino = first->ino;
	hook = symbol_value(file, "_dl_debug_state", &entry);
	debug = symbol_value(file, "_r_debug", &entry);
	if (!hook || !file_off(file, hook, &r.hook_off, &is_narrow))
		return false;
	if (debug)
		r.state = (int64_t)(debug - hook + link_map_state_off(is_narrow));
	r.file = gate_file_take(&file);
	*ret = r;
	return true;
}

void rtld_deinit(struct rtld *r)
{
	gate_file_close(r->file);
	r->file = NULL;
}
