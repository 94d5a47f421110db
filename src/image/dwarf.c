/* SPDX-License-Identifier: MIT */
/*
 * Debug information of a file: finds the file that has it, and the function and source line of an
 * address.
 */
#include "image/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>

#include "arch/arch.h"
#include "base/hashmap.h"
#include "base/sorted.h"
#include "base/str.h"
#include "base/vec.h"
#include "image/build_id.h"
#include "image/debugfile.h"
#include "files/gate.h"

#define UNITS_MAX 1000000
#define LOOK_BACK 8  /* ranges below an address that a search tries, because ranges may overlap */
#define MAX_DEPTH 32 /* levels of namespaces and classes */
#define DIES_MAX  4000000 /* examined in the search for the functions of one unit */

struct die_range {
	uint64_t start, end;
	Dwarf_Off die;
};

typedef VEC(struct die_range) range_vec; /* ascending once sorted */

/*
 * The functions of a compilation unit; collected when the first address in the unit is looked up.
 */
struct unit_funcs {
	range_vec ranges;
	uint32_t nseen; /* DIEs examined */
};

struct dwarf_file {
	struct gate_file *opened, *alt_opened;
	struct gate_elf file, alt_file;
	Dwarf *dw, *alt;
	char *empty;	    /* the image behind alt_file if no alternate file was found */
	VEC(char *) copies; /* copies of the sections whose last string had no end */
	range_vec ranges;   /* the code of the compilation units */
	bool has_ranges;
	struct hashmap *funcs; /* offset of a unit's DIE -> struct unit_funcs */
};

/* ---- opening -------------------------------------------------------------------------------- */

static void funcs_destroy_all(struct dwarf_file *d)
{
	struct unit_funcs *f;
	size_t pos = 0;

	while (d->funcs && (f = hashmap_next(d->funcs, &pos, NULL, NULL))) {
		vec_deinit(&f->ranges);
		free(f);
	}
	hashmap_destroy(d->funcs);
}

void dwarf_file_close(struct dwarf_file *d)
{
	if (!d)
		return;
	if (d->dw)
		(void)dwarf_end(d->dw);
	if (d->alt)
		(void)dwarf_end(d->alt);
	gate_elf_close(&d->file);
	gate_elf_close(&d->alt_file);
	gate_file_close(d->opened);
	gate_file_close(d->alt_opened);
	free(d->empty);
	for (uint32_t i = 0; i < d->copies.len; i++)
		free(d->copies.data[i]);
	vec_deinit(&d->copies);
	vec_deinit(&d->ranges);
	funcs_destroy_all(d);
	free(d);
}

/* True if dw has compilation units, and not only the call frame information that every file has. */
static bool has_units(Dwarf *dw)
{
	Dwarf_Off next;
	size_t size;

	return dw && dwarf_nextcu(dw, 0, &next, &size, NULL, NULL, NULL) == 0;
}

/* Sections that contain strings; old compilers write compressed ones as .zdebug_info. */
static bool has_texts(const char *name)
{
	static const char *const tails[] = {"debug_info", "debug_types", "debug_line", "debug_str",
					    "debug_line_str"};
	const char *tail = name ? strstr(name, "debug_") : NULL;

	for (size_t i = 0; tail && i < ARRAY_LEN(tails); i++)
		if (strcmp(tail, tails[i]) == 0)
			return true;
	return false;
}

/*
 * libdw 0.188 returns strings without checking that they end within their section; a hostile file
 * leaves out the last NUL. libdw reads through libelf's Elf_Data: a section whose last byte is no
 * NUL gets a copy that has one behind it. Must be called after libdw has decompressed the sections,
 * and before it reads units.
 */
static void terminate_texts(struct dwarf_file *d, struct gate_elf *g)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	size_t names;

	if (elf_getshdrstrndx(g->elf, &names))
		return;
	while ((scn = elf_nextscn(g->elf, scn))) {
		Elf_Data *data;
		char *copy;

		if (!gelf_getshdr(scn, &sh) || !has_texts(gate_text(g, names, sh.sh_name)))
			continue;
		data = elf_getdata(scn, NULL);
		if (!data || !data->d_buf || !data->d_size ||
		    !((const char *)data->d_buf)[data->d_size - 1])
			continue;
		copy = xmalloc(data->d_size + 1);
		memcpy(copy, data->d_buf, data->d_size);
		copy[data->d_size] = '\0';
		vec_push(&d->copies, copy);
		data->d_buf = copy;
	}
}

/* Returns the debug information of an open file, or NULL. */
static Dwarf *dwarf_of(struct dwarf_file *d, struct gate_elf *g)
{
	Dwarf *dw = g->elf && gate_is_debug_small(g) ? dwarf_begin_elf(g->elf, DWARF_C_READ, NULL)
						     : NULL;

	if (dw)
		terminate_texts(d, g);
	return dw;
}

/* Opens the debug information in the file itself; NULL if there is none. */
static struct dwarf_file *open_file(struct gate_file *file, uint64_t limit)
{
	struct dwarf_file *d = xcalloc(1, sizeof(*d));

	d->opened = gate_file_share(file);
	gate_elf_open(file, limit, &d->file);
	d->dw = dwarf_of(d, &d->file);
	if (has_units(d->dw))
		return d;
	dwarf_file_close(d);
	return NULL;
}

struct search {
	const struct build_id *want; /* which the debug file must have, too */
	uint64_t limit;
	struct dwarf_file *found;
};

static bool use_debug_file(void *ctx, struct gate_file *file)
{
	struct search *w = ctx;
	struct build_id id = {.len = 0};

	w->found = open_file(file, w->limit);
	if (w->found)
		(void)build_id_read(&id, &w->found->file);
	if (w->found && !build_id_equal(&id, w->want)) {
		dwarf_file_close(w->found);
		w->found = NULL;
	}
	return w->found != NULL;
}

/* ---- the alternate file --------------------------------------------------------------------- */

/* An ELF file whose debug information is one empty string. */
struct empty_image {
	Elf64_Ehdr eh;
	Elf64_Shdr sections[3];
	char names[22];
};

/* clang-format off */
static const struct empty_image empty_image = {
	.eh = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_version = EV_CURRENT,
		.e_shoff = offsetof(struct empty_image, sections),
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	},
	.sections = {
		[1] = {
			.sh_name = 1,
			.sh_type = SHT_PROGBITS,
			.sh_offset = offsetof(struct empty_image, names),
			.sh_size = 1,
			.sh_addralign = 1,
		},
		[2] = {
			.sh_name = 12,
			.sh_type = SHT_STRTAB,
			.sh_offset = offsetof(struct empty_image, names),
			.sh_size = sizeof(empty_image.names),
			.sh_addralign = 1,
		},
	},
	.names = "\0.debug_str\0.shstrtab",
};
/* clang-format on */

static bool use_alt_file(void *ctx, struct gate_file *file)
{
	struct dwarf_file *d = ctx;

	gate_elf_open(file, d->file.limit, &d->alt_file);
	d->alt = dwarf_of(d, &d->alt_file);
	if (d->alt) {
		d->alt_opened = gate_file_share(file);
		return true;
	}
	gate_elf_close(&d->alt_file);
	return false;
}

/*
 * Opens the alternate file by the path that the debug file gives. An absolute path begins at the
 * root directory of the process that uses the file, a relative one in the file's own folder.
 */
static void open_alt_named(struct dwarf_file *d, const struct debug_search *where, const char *name)
{
	CLEANUP(gate_file) struct gate_file *file = NULL;
	struct strbuf path = {0};
	const char *slash = strrchr(where->path, '/');

	if (*name != '/' && slash)
		strbuf_add(&path, where->path, (size_t)(slash - where->path) + 1);
	strbuf_adds(&path, name);
	file = gate_open_path(where->gate, where->root, strbuf_text(&path));
	if (file)
		(void)use_alt_file(d, file);
	strbuf_deinit(&path);
}

/*
 * The tool dwz moves what several debug files have in common into an alternate file, to which they
 * refer with DW_FORM_GNU_ref_alt. At the first such reference libdw would open the alternate file
 * by itself, under whatever path the foreign file names, be it a fifo or a file of ours. To prevent
 * that, d always gets an alternate file: the one found through the gate, else an empty one.
 */
static void open_alt(struct dwarf_file *d, const struct debug_search *where)
{
	struct build_mark want = {.debug_link = NULL};
	const char *name;
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(d->dw, &name, &id);

	if (len <= 0)
		return;
	if ((size_t)len <= sizeof(want.id.bytes)) {
		memcpy(want.id.bytes, id, (size_t)len);
		want.id.len = (uint32_t)len;
		if (!debug_file_find(&want, where, use_alt_file, d))
			open_alt_named(d, where, name);
	}
	if (!d->alt) {
		d->empty = xmalloc(sizeof(empty_image));
		memcpy(d->empty, &empty_image, sizeof(empty_image));
		((Elf64_Ehdr *)d->empty)->e_machine = arch.elf.machine;
		gate_elf_memory(d->empty, sizeof(empty_image), d->file.limit, &d->alt_file);
		d->alt = dwarf_of(d, &d->alt_file);
	}
	dwarf_setalt(d->dw, d->alt);
}

/* ---- opening a file with its debug file and alternate file ----------------------------------- */

struct dwarf_file *dwarf_file_open(struct gate_file *file, const struct debug_search *where)
{
	struct dwarf_file *d = open_file(file, where->limit);
	struct build_mark mark;
	struct search w = {.want = &mark.id, .limit = where->limit};

	if (!d) {
		build_mark_read_file(&mark, file, where->limit);
		(void)debug_file_find(&mark, where, use_debug_file, &w);
		build_mark_deinit(&mark);
		d = w.found;
	}
	if (d)
		open_alt(d, where);
	return d;
}

uint64_t dwarf_file_size(const struct dwarf_file *d)
{
	uint64_t size = sizeof(*d);

	size += d->opened ? (uint64_t)gate_file_stat(d->opened)->st_size : 0;
	return size + (d->alt_opened ? (uint64_t)gate_file_stat(d->alt_opened)->st_size : 0);
}

Dwarf *dwarf_file_handle(struct dwarf_file *d)
{
	return d->dw;
}

/* ---- units ---------------------------------------------------------------------------------- */

static int range_compare(const void *pa, const void *pb)
{
	const struct die_range *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void add_ranges(range_vec *ranges, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0 && ranges->len < INT32_MAX)
		if (start < end)
			vec_push(ranges, (struct die_range){start, end, dwarf_dieoffset(die)});
}

static void sort_ranges(range_vec *ranges)
{
	if (ranges->len)
		qsort(ranges->data, ranges->len, sizeof(*ranges->data), range_compare);
}

static bool find_range(struct dwarf_file *d, const range_vec *ranges, uint64_t addr,
		       Dwarf_Die *ret_die)
{
	uint32_t lo = sorted_upto(ranges->data, ranges->len, start, addr);

	for (uint32_t i = lo; i > 0 && lo - i < LOOK_BACK; i--)
		if (addr < ranges->data[i - 1].end)
			return dwarf_offdie(d->dw, ranges->data[i - 1].die, ret_die) != NULL;
	return false;
}

/*
 * Collects the code ranges of all units from their DIEs; .debug_aranges would be quicker, but clang
 * does not write it.
 */
static void read_ranges(struct dwarf_file *d)
{
	Dwarf_Off off = 0, next;
	size_t size;

	d->has_ranges = true;
	for (uint32_t i = 0; i < UNITS_MAX; i++, off = next) {
		Dwarf_Die unit;

		if (dwarf_nextcu(d->dw, off, &next, &size, NULL, NULL, NULL) != 0 || next <= off)
			break;
		if (dwarf_offdie(d->dw, off + size, &unit) &&
		    dwarf_tag(&unit) == DW_TAG_compile_unit)
			add_ranges(&d->ranges, &unit);
	}
	sort_ranges(&d->ranges);
}

static bool unit_at(struct dwarf_file *d, uint64_t addr, Dwarf_Die *ret_unit)
{
	if (!d->has_ranges)
		read_ranges(d);
	return find_range(d, &d->ranges, addr, ret_unit);
}

/* ---- functions of a unit --------------------------------------------------------------------- */

static bool has_functions(int tag)
{
	return tag == DW_TAG_namespace || tag == DW_TAG_structure_type ||
	       tag == DW_TAG_class_type || tag == DW_TAG_union_type ||
	       tag == DW_TAG_enumeration_type || tag == DW_TAG_module;
}

/*
 * Collects the functions below a DIE. rustc and clang define functions inside the DIEs of
 * namespaces and types. libdw's dwarf_getscopes() does not find those, because it descends only
 * into DIEs that have addresses.
 */
static void add_functions(struct unit_funcs *f, Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;

	if (depth > MAX_DEPTH || dwarf_child(parent, &child) != 0)
		return;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			add_ranges(&f->ranges, &child);
		else if (has_functions(tag))
			add_functions(f, &child, depth + 1);
	} while (f->nseen++ < DIES_MAX && dwarf_siblingof(&child, &child) == 0);
}

static const struct unit_funcs *unit_funcs(struct dwarf_file *d, Dwarf_Die *unit)
{
	Dwarf_Off key = dwarf_dieoffset(unit);
	struct unit_funcs *f;

	if (!d->funcs)
		d->funcs = hashmap_create();
	f = hashmap_find(d->funcs, &key, sizeof(key));
	if (f)
		return f;
	f = xcalloc(1, sizeof(*f));
	add_functions(f, unit, 0);
	sort_ranges(&f->ranges);
	hashmap_set(d->funcs, &key, sizeof(key), f);
	return f;
}

/* ---- lookups by address --------------------------------------------------------------------- */

bool dwarf_file_function(struct dwarf_file *d, uint64_t addr, Dwarf_Die *ret_die)
{
	Dwarf_Die unit;

	return unit_at(d, addr, &unit) &&
	       find_range(d, &unit_funcs(d, &unit)->ranges, addr, ret_die);
}

bool dwarf_file_type(struct dwarf_file *d, uint64_t addr, enum dwarf_named kind, const char *name,
		     Dwarf_Die *ret_die)
{
	Dwarf_Die unit;

	return dwarf_find_type(d->dw, unit_at(d, addr, &unit) ? &unit : NULL, kind, name, ret_die);
}

/*
 * Returns the file's name as the compiler was given it: libdw prepends the unit's directory to a
 * relative name.
 */
static const char *source_name(Dwarf_Die *unit, const char *path)
{
	Dwarf_Attribute attr;
	const char *dir = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attr));
	size_t len = dir ? strlen(dir) : 0;

	return len && strncmp(path, dir, len) == 0 && path[len] == '/' ? path + len + 1 : path;
}

bool dwarf_file_line(struct dwarf_file *d, uint64_t addr, const char **ret_file, uint32_t *ret_line)
{
	Dwarf_Line *line;
	const char *path;
	Dwarf_Die unit;
	int n = 0;

	if (!unit_at(d, addr, &unit))
		return false;
	line = dwarf_getsrc_die(&unit, addr);
	path = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	if (!path || dwarf_lineno(line, &n) || n <= 0)
		return false; /* line 0 marks code that belongs to no line */
	*ret_file = source_name(&unit, path);
	*ret_line = (uint32_t)n;
	return true;
}

bool dwarf_file_inlined(struct dwarf_file *d, dwarf_name_f *is_meant, void *ctx, struct arena *a,
			struct dwarf_inlined *ret)
{
	return dwarf_find_inlined(d->dw, is_meant, ctx, a, ret);
}
