/* SPDX-License-Identifier: MIT */
/* Finds the mapping, file and symbol of an address in a process. */
#include "sym/usym.h"

#include <inttypes.h>

#include "image/dwarf.h"
#include "image/elfsym.h"
#include "sym/perfmap.h"

/* What was found at an address. */
struct found {
	const char *object;
	taddr object_start;
	const char *name;	/* NULL = unknown */
	taddr start;		/* start of the function or variable that has the name */
	struct ufile *file;	/* NULL: none */
	struct ufile_access at; /* how the file can be opened */
	uint64_t file_addr;	/* the address as a virtual address of the file */
	bool has_file_addr;
	bool is_given_up; /* it has no name because memory is bounded */
};

/* ---- code and data of files ------------------------------------------------------------------ */

/* Only what a living process maps now can be opened as a mapping of that process. */
static struct ufile_access access_of(const struct uproc *p, const struct uspace *s,
				     const struct umap *m)
{
	bool is_mapped = !p->ended && !p->is_target && s == p->space;

	return (struct ufile_access){p->pid, m->start, is_mapped ? m->end : 0, uspace_root(s)};
}

static struct elf_syms *syms_of(struct usyms *u, const struct uproc *p, const struct uspace *s,
				const struct umap *m)
{
	struct ufile_access at = access_of(p, s, m);

	return ufile_syms(&u->procs.files, m->file, &at);
}

/*
 * Computes the bias of a file (segments_bias()) of which m is a mapping. If m is not executable, a
 * neighbouring executable mapping of the same file is used, because its segment is known for
 * certain. A core file that leaves out memory of files does not tell which of it is code: then
 * one that claims to be executable may be no segment with code.
 */
static bool bias_of(const struct uspace *s, const struct elf_syms *syms, const struct umap *m,
		    uint64_t *ret_bias)
{
	const struct umap *first = s->maps.data, *end = first + s->maps.len;

	/*
	 * The kernel may map data executable, too, if a program has no PT_GNU_STACK
	 * (READ_IMPLIES_EXEC).
	 */
	if (m->is_exec)
		return segments_bias(&syms->segments, m->start, m->off, true, ret_bias) ||
		       segments_bias(&syms->segments, m->start, m->off, false, ret_bias);
	for (const struct umap *i = m; i >= first && i->file == m->file; i--)
		if (i->is_exec && segments_bias(&syms->segments, i->start, i->off, true, ret_bias))
			return true;
	for (const struct umap *i = m; i < end && i->file == m->file; i++)
		if (i->is_exec && segments_bias(&syms->segments, i->start, i->off, true, ret_bias))
			return true;
	return segments_bias(&syms->segments, m->start, m->off, false, ret_bias);
}

/* Finds the symbol of an address in the file of m. What ufile_syms() returned is invalid then. */
static void find_symbol(struct usyms *u, const struct uproc *p, const struct uspace *s,
			const struct umap *m, uint64_t bias, taddr addr, struct found *ret)
{
	struct ufile_access at = access_of(p, s, m);
	uint64_t start;

	ret->name = ufile_find(&u->procs.files, m->file, &at, addr - bias, u->is_raw, &start);
	ret->start = ret->name ? start + bias : 0;
}

/* Finds the symbol of an address that lies in m, a mapping of a file. */
static void find_in_file(struct usyms *u, const struct uproc *p, const struct uspace *s,
			 const struct umap *m, taddr addr, struct found *ret)
{
	const struct elf_syms *syms = syms_of(u, p, s, m);
	uint64_t bias, first, end;

	*ret = (struct found){.object = m->file->object, .object_start = m->start};
	ret->is_given_up = !syms && m->file->node->is_given_up;
	if (!syms || !bias_of(s, syms, m, &bias))
		return;
	segments_span(&syms->segments, &first, &end);
	ret->object_start = bias + first;
	ret->file = m->file;
	ret->at = access_of(p, s, m);
	ret->file_addr = addr - bias;
	ret->has_file_addr = true;
	find_symbol(u, p, s, m, bias, addr, ret);
	ret->is_given_up = !ret->name && m->file->node->is_given_up;
}

/*
 * Finds the symbol of an address in no known mapping. It may be data of a file of which only the
 * code is known to be mapped, or .bss, which is memory without a file. m is the mapping next to the
 * address; its file is tried.
 */
static bool find_beside(struct usyms *u, const struct uproc *p, const struct uspace *s,
			const struct umap *m, taddr addr, struct found *ret)
{
	const struct elf_syms *syms;
	uint64_t bias, first, end;

	if (!m || !m->file)
		return false;
	syms = syms_of(u, p, s, m);
	if (!syms || !bias_of(s, syms, m, &bias))
		return false;
	segments_span(&syms->segments, &first, &end);
	if (addr - bias < first || addr - bias >= end)
		return false;
	*ret = (struct found){.object = m->file->object,
			      .object_start = bias + first,
			      .file_addr = addr - bias,
			      .has_file_addr = true};
	find_symbol(u, p, s, m, bias, addr, ret);
	return true;
}

/* ---- any address ----------------------------------------------------------------------------- */

/* Finds the name of code that a just-in-time compiler has generated since the last exec. */
static void find_in_perfmap(struct usyms *u, struct uproc *p, const struct uspace *s,
			    const struct umap *m, taddr addr, struct found *ret)
{
	struct perfmap *names = s == p->space ? uproc_perfmap(&u->procs, p) : NULL;
	taddr start;
	const char *name = names ? perfmap_find(names, addr, &start) : NULL;

	if (!name)
		return;
	if (!ret->object) {
		ret->object = p->jit->object;
		ret->object_start = m->start;
	}
	ret->name = name;
	ret->start = start;
}

static bool find_in_space(struct usyms *u, struct uproc *p, const struct uspace *s, taddr addr,
			  struct found *ret)
{
	const struct umap *below, *above, *m = uspace_find(s, addr, &below, &above);

	*ret = (struct found){0};
	if (!m)
		return find_beside(u, p, s, below, addr, ret) ||
		       find_beside(u, p, s, above, addr, ret);
	if (m->file)
		find_in_file(u, p, s, m, addr, ret);
	if (m->is_exec && !ret->name)
		find_in_perfmap(u, p, s, m, addr, ret);
	return ret->object != NULL;
}

static bool is_same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* What was found in one address space after the other. */
struct finds {
	bool found, differ; /* differ: two address spaces have different names for the address */
	struct found first;
};

static void space_try(struct usyms *u, struct uproc *p, const struct uspace *s, taddr addr,
		      struct finds *f)
{
	struct found at;

	if (!s || !find_in_space(u, p, s, addr, &at))
		return;
	if (!f->found)
		f->first = at;
	else
		f->differ |= !is_same_text(at.object, f->first.object) ||
			     !is_same_text(at.name, f->first.name);
	f->found = true;
}

/*
 * Finds an address of a process of which only the id is known. Several processes may have had the
 * id, and each may have executed several programs. If two of these have different names for the
 * address, none of the names can be trusted.
 */
static bool find_in_any(struct usyms *u, struct uproc *p, taddr addr, struct found *ret)
{
	struct finds f = {0};

	for (; p && !f.differ; p = p->before) {
		space_try(u, p, p->space, addr, &f);
		for (uint32_t i = p->past.len; i > 0 && !f.differ; i--)
			space_try(u, p, p->past.data[i - 1].space, addr, &f);
	}
	*ret = f.first;
	return f.found && !f.differ;
}

static bool find_known(struct usyms *u, struct uproc *p, taddr addr, struct found *ret)
{
	const struct uspace *s;

	if (u->time == UINT64_MAX)
		return find_in_any(u, p, addr, ret);
	p = uproc_at(p, u->time);
	s = p ? uproc_space(p, u->time) : NULL;
	return s && find_in_space(u, p, s, addr, ret);
}

/* If nothing is mapped at the address, /proc is read again. */
static bool find_in_process(struct usyms *u, uint64_t pid, taddr addr, struct found *ret)
{
	struct uproc *p = uproc_get(&u->procs, pid);

	if (find_known(u, p, addr, ret))
		return true;
	return uproc_again(&u->procs, p) && find_known(u, uproc_get(&u->procs, pid), addr, ret);
}

bool usyms_find(struct usyms *u, uint64_t pid, taddr addr, struct sym_name *ret)
{
	struct found at;

	*ret = (struct sym_name){0};
	u->is_denied = u->is_forgotten = u->is_given_up = false;
	if (!find_in_process(u, pid, addr, &at)) {
		struct uproc *p = uproc_get(&u->procs, pid);

		u->is_denied = p->is_denied;
		u->is_forgotten = uproc_is_forgotten(&u->procs, uproc_at(p, u->time), u->time);
		return false;
	}
	u->is_denied = !at.name && at.file && at.file->node->is_denied;
	u->is_given_up = !at.name && at.is_given_up;
	ret->object = at.object;
	ret->name = at.name;
	ret->off = at.name ? addr - at.start : 0;
	ret->file_addr = at.file_addr;
	ret->has_file_addr = at.has_file_addr;
	return true;
}

bool usyms_line(struct usyms *u, uint64_t pid, taddr addr, struct sym_line *ret)
{
	struct dwarf_file *d;
	struct found at;

	if (!find_in_process(u, pid, addr, &at) || !at.file)
		return false;
	d = ufile_dwarf(&u->procs.files, at.file, &at.at);
	return d && dwarf_file_line(d, at.file_addr, &ret->file, &ret->line);
}

taddr usyms_start(struct usyms *u, uint64_t pid, taddr addr, bool of_object)
{
	struct found at;

	if (!find_in_process(u, pid, addr, &at))
		return addr;
	if (of_object)
		return at.object_start;
	return at.name ? at.start : addr;
}

/* ---- lookups --------------------------------------------------------------------------------- */

void usyms_init(struct usyms *u)
{
	*u = (struct usyms){.time = UINT64_MAX};
	uprocs_init(&u->procs);
}

void usyms_deinit(struct usyms *u)
{
	uprocs_deinit(&u->procs);
}
