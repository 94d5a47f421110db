/* SPDX-License-Identifier: MIT */
/* Walks the symbols of ELF files. */
#include "image/symtab.h"

#include <string.h>

#include "files/gate.h"

#define TABLES_MAX 16 /* of a file: the linker makes one of each kind, and each takes memory */
#define AHEAD	   16 /* memory is asked for so many symbols before it is needed */

struct symtab symtab_begin(struct gate_elf *g, enum symtab_which which)
{
	return (struct symtab){.g = g, .which = which};
}

/* Goes to the next table; false: there is none. */
static bool table_next(struct symtab *t)
{
	GElf_Shdr sh;

	while (t->g->elf && (t->scn = elf_nextscn(t->g->elf, t->scn))) {
		if (!gelf_getshdr(t->scn, &sh) ||
		    (sh.sh_type != SHT_SYMTAB && sh.sh_type != SHT_DYNSYM))
			continue;
		t->is_dynamic = sh.sh_type == SHT_DYNSYM;
		t->has_static |= !t->is_dynamic;
		if (!(t->which & (t->is_dynamic ? SYMTAB_DYNAMIC : SYMTAB_STATIC)))
			continue;
		if (t->ntables++ == TABLES_MAX) {
			t->g->is_cut = true;
			break;
		}
		t->data = gate_data(t->g, t->scn);
		t->texts = NULL;
		t->len = t->data && sh.sh_entsize ? t->data->d_size / sh.sh_entsize : 0;
		t->len = MIN(t->len, (size_t)INT32_MAX);
		t->strings = sh.sh_link;
		return true;
	}
	t->g = NULL;
	return false;
}

bool symtab_next(struct symtab *t)
{
	if (!t->g)
		return false;
	for (t->index += t->data != NULL;; t->index = 0) {
		if (t->index < t->len && gelf_getsym(t->data, (int)t->index, &t->sym))
			return true;
		if (!table_next(t))
			return false;
	}
}

const char *symtab_name(const struct symtab *t)
{
	return gate_text(t->g, t->strings, t->sym.st_name);
}

const char *symtab_text(struct symtab *t, size_t *ret_room)
{
	Elf_Scn *scn = t->texts ? NULL : elf_getscn(t->g->elf, t->strings);
	size_t ahead = t->index + AHEAD;
	GElf_Sym sym;

	if (scn)
		t->texts = gate_data(t->g, scn);
	if (!t->texts || !t->texts->d_buf || t->sym.st_name >= t->texts->d_size)
		return NULL;
	if (ahead < t->len && gelf_getsym(t->data, (int)ahead, &sym) &&
	    sym.st_name < t->texts->d_size)
		__builtin_prefetch((const char *)t->texts->d_buf + sym.st_name);
	*ret_room = t->texts->d_size - t->sym.st_name;
	return (const char *)t->texts->d_buf + t->sym.st_name;
}

bool symtab_is(const struct symtab *t, const char *name)
{
	const char *s = symtab_name(t);

	return s && strcmp(s, name) == 0;
}
