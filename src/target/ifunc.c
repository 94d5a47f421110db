/* SPDX-License-Identifier: MIT */
/* Finds which implementation of an indirect function a process uses. */
#include "target/ifunc.h"

#include "arch/arch.h"
#include "files/gate.h"
#include "target/target.h"

bool ifunc_bias(const struct proc_maps *maps, const struct ifunc_object *o, uint64_t *ret_bias)
{
	for (uint32_t i = 0; i < o->funcs->code.list.len; i++) {
		const struct image_segment *g = &o->funcs->code.list.data[i];
		const struct proc_map *m = proc_maps_find_off(maps, &o->inode, g->off);

		if (m) {
			*ret_bias = m->start + (g->off - m->off) - g->addr;
			return true;
		}
	}
	return false;
}

/* True if the symbol of the relocation has this name, its version aside. */
static bool is_about(struct gate_elf *g, uint32_t symbols, const GElf_Rela *r, const char *name)
{
	Elf_Scn *scn = elf_getscn(g->elf, symbols);
	Elf_Data *data = gate_data(g, scn);
	uint64_t index = GELF_R_SYM(r->r_info);
	const char *s;
	GElf_Shdr sh;
	GElf_Sym sym;

	if (!data || index > INT32_MAX || !gelf_getshdr(scn, &sh) ||
	    !gelf_getsym(data, (int)index, &sym))
		return false;
	s = gate_text(g, sh.sh_link, sym.st_name);
	return s && strcmp(s, name) == 0;
}

static bool is_slot(struct gate_elf *g, uint32_t symbols, const GElf_Rela *r, const struct func *fn,
		    bool is_own)
{
	uint32_t type = (uint32_t)GELF_R_TYPE(r->r_info);

	if (type == arch.elf.irelative)
		return is_own && (uint64_t)r->r_addend == fn->addr;
	return (type == arch.elf.jump_slot || type == arch.elf.glob_dat) &&
	       is_about(g, symbols, r, fn->name);
}

/* Returns the address of a word that contains the chosen address; 0 if the file has none. */
static uint64_t find_slot(struct gate_file *file, const struct func *fn, bool is_own)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Rela r;
	uint64_t slot = 0;
	struct gate_elf g;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	while (g.elf && !slot && (scn = elf_nextscn(g.elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && sh.sh_type == SHT_RELA
					 ? gate_data(&g, scn)
					 : NULL;
		size_t n = data && sh.sh_entsize ? data->d_size / sh.sh_entsize : 0;

		for (size_t i = 0;
		     i < n && i <= INT32_MAX && !slot && gelf_getrela(data, (int)i, &r); i++)
			if (is_slot(&g, sh.sh_link, &r, fn, is_own))
				slot = r.r_offset;
	}
	gate_elf_close(&g);
	return slot;
}

taddr ifunc_chosen(struct target *t, const struct ifunc_object *object, const struct func *fn,
		   const struct ifunc_object *user)
{
	uint64_t bias, slot = find_slot(user->file, fn, user->file == object->file);
	const struct proc_maps *maps = target_maps(t);
	const struct proc_map *m;
	taddr chosen;

	if (!slot || !ifunc_bias(maps, user, &bias) ||
	    !target_read(t, bias + slot, &chosen, sizeof(chosen)))
		return 0;
	m = proc_maps_find(maps, chosen);
	/* Before the first call of the function, the word leads back into the importing file. */
	if (!m || !m->is_exec || !proc_map_is_of(m, &object->inode))
		return 0;
	return chosen;
}
