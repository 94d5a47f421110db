/* SPDX-License-Identifier: MIT */
/* The dynamic linker of a process. */
#include "target/rtld.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "target/maps.h"
#include "files/gate.h"

static void aux_take(struct aux *ret, uint64_t type, uint64_t value)
{
	if (type == AT_ENTRY)
		ret->entry = value;
	if (type == AT_BASE)
		ret->base = value;
}

/*
 * The auxiliary vector has words of the process's size. A vector of 32-bit words that is read as
 * 64-bit words contains no AT_ENTRY, so it is then read again.
 */
struct err *proc_aux_read(pid_t pid, struct aux *ret)
{
	CLEANUP(file) FILE *f = NULL;
	union {
		Elf64_auxv_t wide[64];
		Elf32_auxv_t narrow[128];
	} av;
	char path[64];
	size_t size;
	struct err *e = proc_check_numbers();

	*ret = (struct aux){0};
	if (e)
		return e;
	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return err_sys(errno, "cannot read '%s'", path);
	size = fread(&av, 1, sizeof(av), f);
	for (size_t i = 0; i < size / sizeof(av.wide[0]); i++)
		aux_take(ret, av.wide[i].a_type, av.wide[i].a_un.a_val);
	if (ret->entry)
		return NULL;
	ret->is_narrow = true;
	for (size_t i = 0; i < size / sizeof(av.narrow[0]); i++)
		aux_take(ret, av.narrow[i].a_type, av.narrow[i].a_un.a_val);
	return NULL;
}

/* Returns the value of a symbol, 0 = the file has no such symbol, and the file's entry point. */
static uint64_t symbol_value(struct gate_file *file, const char *name, uint64_t *ret_entry)
{
	struct gate_elf g;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Ehdr eh;
	GElf_Sym sym;
	uint64_t value = 0;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	*ret_entry = g.elf && gelf_getehdr(g.elf, &eh) ? eh.e_entry : 0;
	while (g.elf && !value && (scn = elf_nextscn(g.elf, scn))) {
		Elf_Data *data = gelf_getshdr(scn, &sh) && (sh.sh_type == SHT_SYMTAB ||
							    sh.sh_type == SHT_DYNSYM)
					 ? gate_data(&g, scn)
					 : NULL;
		size_t n = data && sh.sh_entsize ? data->d_size / sh.sh_entsize : 0;

		for (size_t i = 0; i < n && !value && gelf_getsym(data, (int)i, &sym); i++) {
			const char *s = gate_text(&g, sh.sh_link, sym.st_name);

			if (s && strcmp(s, name) == 0 && sym.st_shndx != SHN_UNDEF)
				value = sym.st_value;
		}
	}
	gate_elf_close(&g);
	return value;
}

/* Returns the lowest mapping of the file that is mapped at addr. */
static const struct proc_map *first_of(const struct proc_maps *m, taddr addr)
{
	const struct proc_map *at = proc_maps_find(m, addr);

	for (uint32_t i = 0; at && i < m->maps.len; i++)
		if (m->maps.data[i].dev == at->dev && m->maps.data[i].ino == at->ino)
			return &m->maps.data[i];
	return NULL;
}

/* Opens the file that is mapped at addr; NULL if there is none, or it cannot be opened. */
static struct gate_file *open_at(struct gate *g, pid_t pid, taddr addr, struct rtld *ret_file)
{
	struct proc_maps m;
	struct err *e = proc_maps_read(pid, &m);
	const struct proc_map *first;
	struct gate_file *file = NULL;

	if (e) {
		err_destroy(e); /* The caller reports that it found no file. */
		return NULL;
	}
	first = first_of(&m, addr);
	if (first) {
		file = proc_map_open(g, pid, first);
		ret_file->dev = first->dev;
		ret_file->ino = first->ino;
	}
	proc_maps_deinit(&m);
	return file;
}

uint64_t proc_symbol(struct gate *g, pid_t pid, taddr addr, const char *name, uint64_t *ret_entry)
{
	struct rtld at;
	CLEANUP(gate_file) struct gate_file *file = open_at(g, pid, addr, &at);

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
	struct gate_elf g;
	bool found = false;
	GElf_Phdr ph;
	size_t n = 0;

	gate_elf_open(file, GATE_LIMIT_DEFAULT, &g);
	if (!g.elf || elf_getphdrnum(g.elf, &n) != 0)
		n = 0;
	for (size_t i = 0; i < n && !found && gelf_getphdr(g.elf, (int)i, &ph); i++) {
		found = ph.p_type == PT_LOAD && addr >= ph.p_vaddr &&
			addr - ph.p_vaddr < ph.p_filesz;
		if (found)
			*ret_off = addr - ph.p_vaddr + ph.p_offset;
	}
	*ret_narrow = g.elf && gelf_getclass(g.elf) == ELFCLASS32;
	gate_elf_close(&g);
	return found;
}

bool rtld_find(struct gate *g, pid_t pid, struct rtld *ret)
{
	struct rtld r = {0};
	uint64_t hook, debug, entry;
	CLEANUP(gate_file) struct gate_file *file = NULL;
	struct aux aux;
	struct err *e = proc_aux_read(pid, &aux);
	bool is_narrow;

	if (e || !aux.base) {
		err_destroy(e); /* the process has ended */
		return false;
	}
	file = open_at(g, pid, aux.base, &r);
	if (!file)
		return false;
	hook = symbol_value(file, "_dl_debug_state", &entry);
	debug = symbol_value(file, "_r_debug", &entry);
	if (!hook || !file_off(file, hook, &r.hook_off, &is_narrow))
		return false;
	if (debug)
		r.state = (int64_t)(debug - hook) + (is_narrow ? RTLD_STATE_OFF32 : RTLD_STATE_OFF);
	r.file = gate_file_take(&file);
	*ret = r;
	return true;
}

void rtld_deinit(struct rtld *r)
{
	gate_file_close(r->file);
	r->file = NULL;
}
