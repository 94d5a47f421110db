/* Debug information of a file: which file has it, what is at an address. */
#include "sym/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "sym/debugfile.h"
#include "sym/elfsym.h"

/* Larger files are mapped, which needs less memory, but ends us if somebody truncates them. */
#define READ_MAX  ((off_t)64 << 20)
#define UNITS_MAX 1000000
#define LOOK_BACK 8 /* ranges of units that overlap */

struct unit_range {
	uint64_t start, end;
	Dwarf_Off unit; /* of its DIE */
};

struct dwarf_file {
	int fd, alt_fd;
	Elf *elf;
	Dwarf *dw, *alt;
	VEC(struct unit_range) ranges; /* ascending */
	bool has_ranges;
};

/* ---- opening -------------------------------------------------------------------------------- */

void dwarf_file_close(struct dwarf_file *d)
{
	if (!d)
		return;
	if (d->dw)
		(void)dwarf_end(d->dw);
	if (d->alt)
		(void)dwarf_end(d->alt);
	(void)elf_end(d->elf);
	if (d->fd >= 0)
		(void)close(d->fd);
	if (d->alt_fd >= 0)
		(void)close(d->alt_fd);
	vec_deinit(&d->ranges);
	free(d);
}

/* Has it units, and not only the frame information that every file has? */
static bool has_units(Dwarf *dw)
{
	Dwarf_Off next;
	size_t size;

	return dw && dwarf_nextcu(dw, 0, &next, &size, NULL, NULL, NULL) == 0;
}

/* fd: taken over. */
static struct dwarf_file *open_file(int fd)
{
	struct dwarf_file *d = xcalloc(1, sizeof(*d));
	struct stat st;
	bool is_small = fstat(fd, &st) == 0 && st.st_size <= READ_MAX;

	(void)elf_version(EV_CURRENT);
	*d = (struct dwarf_file){.fd = fd, .alt_fd = -1};
	d->elf = elf_begin(fd, is_small ? ELF_C_READ : ELF_C_READ_MMAP, NULL);
	if (d->elf && elf_kind(d->elf) == ELF_K_ELF)
		d->dw = dwarf_begin_elf(d->elf, DWARF_C_READ, NULL);
	if (has_units(d->dw))
		return d;
	dwarf_file_close(d);
	return NULL;
}

struct search {
	const struct elf_syms *want; /* its build-id */
	struct dwarf_file *found;
};

static bool has_build_id(Elf *elf, const struct elf_syms *want)
{
	const void *id;
	ssize_t len = dwelf_elf_gnu_build_id(elf, &id);

	return len < 0 ? want->build_id_len == 0
		       : (uint32_t)len == want->build_id_len &&
				 memcmp(id, want->build_id, (size_t)len) == 0;
}

static bool use_debug_file(void *ctx, int fd)
{
	struct search *w = ctx;
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);

	w->found = own >= 0 ? open_file(own) : NULL;
	if (w->found && !has_build_id(w->found->elf, w->want)) {
		dwarf_file_close(w->found);
		w->found = NULL;
	}
	return w->found != NULL;
}

static bool use_alt_file(void *ctx, int fd)
{
	struct dwarf_file *d = ctx;

	d->alt_fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	d->alt = d->alt_fd >= 0 ? dwarf_begin(d->alt_fd, DWARF_C_READ) : NULL;
	if (d->alt)
		dwarf_setalt(d->dw, d->alt);
	return d->alt != NULL;
}

/* What several debug files share is in another one (DW_FORM_GNU_ref_alt, dwz). */
static void open_alt(struct dwarf_file *d, const struct debug_place *place)
{
	struct elf_syms want = {0};
	const char *name;
	const void *id;
	ssize_t len = dwelf_dwarf_gnu_debugaltlink(d->dw, &name, &id);

	if (len <= 0 || (size_t)len > sizeof(want.build_id))
		return;
	memcpy(want.build_id, id, (size_t)len);
	want.build_id_len = (uint32_t)len;
	if (!debug_file_find(&want, place, use_alt_file, d))
		(void)dwarf_getalt(d->dw); /* by name */
}

struct dwarf_file *dwarf_file_open(int fd, const struct debug_place *place)
{
	int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct dwarf_file *d = own >= 0 ? open_file(own) : NULL;
	struct search w = {0};
	struct elf_syms *s;

	if (!d) {
		s = elf_syms_read(fd);
		w.want = s;
		(void)debug_file_find(s, place, use_debug_file, &w);
		elf_syms_destroy(s);
		d = w.found;
	}
	if (d)
		open_alt(d, place);
	return d;
}

/* ---- units ---------------------------------------------------------------------------------- */

static int by_start(const void *pa, const void *pb)
{
	const struct unit_range *a = pa, *b = pb;

	return a->start < b->start ? -1 : a->start > b->start;
}

static void add_ranges(struct dwarf_file *d, Dwarf_Die *unit)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &start, &end)) > 0 && d->ranges.len < INT32_MAX)
		if (start < end)
			vec_push(&d->ranges,
				 (struct unit_range){start, end, dwarf_dieoffset(unit)});
}

/* Not from .debug_aranges, which clang does not write. */
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
			add_ranges(d, &unit);
	}
	if (d->ranges.len)
		qsort(d->ranges.data, d->ranges.len, sizeof(*d->ranges.data), by_start);
}

static bool unit_at(struct dwarf_file *d, uint64_t addr, Dwarf_Die *ret_unit)
{
	uint32_t lo = 0, hi;

	if (!d->has_ranges)
		read_ranges(d);
	hi = d->ranges.len;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (d->ranges.data[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	for (uint32_t i = lo; i > 0 && lo - i < LOOK_BACK; i--)
		if (addr < d->ranges.data[i - 1].end)
			return dwarf_offdie(d->dw, d->ranges.data[i - 1].unit, ret_unit) != NULL;
	return false;
}

/* ---- questions ------------------------------------------------------------------------------ */

bool dwarf_file_function(struct dwarf_file *d, uint64_t addr, Dwarf_Die *ret_die)
{
	Dwarf_Die unit, *scopes = NULL;
	int n = unit_at(d, addr, &unit) ? dwarf_getscopes(&unit, addr, &scopes) : 0;
	bool found = false;

	for (int i = 0; i < n && !found; i++)
		if (dwarf_tag(&scopes[i]) == DW_TAG_subprogram) {
			*ret_die = scopes[i];
			found = true;
		}
	free(scopes);
	return found;
}

/* The name that the compiler was given, where libdw has put the unit's directory before it. */
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
		return false; /* line 0: code of no line */
	*ret_file = source_name(&unit, path);
	*ret_line = (uint32_t)n;
	return true;
}
