/* SPDX-License-Identifier: MIT */
/* Questions to the readers of ELF files, for fuzz targets. */
#include "elf_check.h"

#include "image/ehframe.h"
#include "d/types/import_dwarf.h"
#include "image/funcs.h"
#include "image/debugfile.h"
#include "image/demangle.h"
#include "image/dwarf.h"
#include "image/elfsym.h"

#define PROBED	      64  /* addresses that are asked for */
#define CONTAINED_MAX 500 /* structures within each other */
#define TYPE_DEPTH    12
#define TYPES_WALKED  200 /* for one parameter */
#define TYPE_SIZE_MAX (1u << 30)

/* ---- symbols --------------------------------------------------------------------------------- */

void check_symbols(struct elf_syms *s)
{
	struct arena *a = arena_create();
	uint64_t start, end, bias;

	for (uint32_t i = 0; i < s->syms.len && i < PROBED; i++) {
		const struct elf_sym *sym = &s->syms.data[i];

		if (i && s->syms.data[i - 1].addr >= sym->addr)
			BUG("symbols are not in order");
		(void)elf_syms_find(s, sym->addr + sym->size / 2);
		(void)demangle(a, sym->name);
	}
	segments_span(&s->segments, &start, &end);
	(void)segments_addr(&s->segments, start, &end);
	(void)segments_bias(&s->segments, 0x400000, 0, true, &bias);
	arena_destroy(a);
	elf_syms_destroy(s);
}

/* ---- debug information ------------------------------------------------------------------------
 */

/* Looks into a type as an expression or print() may: members, elements, what pointers lead to. */
static void type_walk(struct types *t, type_id id, uint32_t depth, uint32_t *budget)
{
	struct arena *a;
	uint32_t off;

	if (depth > TYPE_DEPTH || !*budget)
		return;
	--*budget;
	a = arena_create();
	(void)type_name(t, id, a);
	(void)type_align(t, id);
	id = type_resolve(t, id);
	if (type_size(t, id) > TYPE_SIZE_MAX)
		BUG("a type of %u bytes", type_size(t, id));
	if (type_is_pointer(t, id))
		type_walk(t, type_deref(t, id), depth + 1, budget);
	if (type_is_sou(t, id) && type_complete(t, id))
		for (uint32_t i = 0; i < type_get(t, id)->nmembers; i++) {
			const struct type_member m = type_get(t, id)->members[i];

			if (*m.name && !type_find_member(t, id, m.name, &off))
				BUG("no member is named '%s'", m.name);
			type_walk(t, m.type, depth + 1, budget);
		}
	arena_destroy(a);
}

/* No struct has itself in it, however deep: who prints values goes down without counting. */
static void type_check_ends(struct types *t, type_id id, uint32_t depth, uint32_t *budget)
{
	id = type_resolve(t, id);
	if (depth > CONTAINED_MAX)
		BUG("a type that contains itself");
	if (!*budget || !--*budget)
		return;
	if (type_kind(t, id) == TK_ARRAY)
		type_check_ends(t, type_deref(t, id), depth + 1, budget);
	if (!type_is_sou(t, id) || !type_get(t, id)->is_complete)
		return;
	for (uint32_t i = 0; i < type_get(t, id)->nmembers; i++)
		type_check_ends(t, type_get(t, id)->members[i].type, depth + 1, budget);
}

/* What args[] of a pid probe looks at. */
static void check_type(struct dwarf_import *im, struct types *t, struct dwarf_arg *arg)
{
	uint32_t budget = TYPES_WALKED, contained = 4 * CONTAINED_MAX;
	bool is_known;
	type_id type;

	if (!dwarf_tag(&arg->type))
		return;
	type = dwarf_import_arg(im, t, &arg->type, arg->is_ref);
	is_known = type != TYPE_NONE && type != TYPE_ERROR;
	if (is_known)
		type_walk(t, type, 0, &budget);
	if (is_known && type_is_pointer(t, type))
		type = type_deref(t, type);
	if (is_known)
		type_check_ends(t, type, 0, &contained);
}

static bool is_meant(void *ctx, const char *name)
{
	(void)ctx;
	return strchr(name, 'r');
}

void check_debug(struct gate_file *file, const struct debug_search *where)
{
	struct dwarf_file *d = dwarf_file_open(file, where);
	struct dwarf_import *im = dwarf_import_create();
	struct types *t = types_create(256);
	struct arena *a = arena_create();
	struct dwarf_inlined inlined;

	for (uint64_t i = 0; d && i < PROBED; i++) {
		uint64_t addr = 0x1000 + i * 16;
		struct dwarf_arg *args, *values, value;
		Dwarf_Die func;
		uint32_t n, nvalues, line;
		const char *source;

		(void)dwarf_file_line(d, addr, &source, &line);
		if (!dwarf_file_function(d, addr, &func))
			continue;
		if (dwarf_function_args(&func, a, &args, &n, &value))
			for (uint32_t k = 0; k < n; k++)
				check_type(im, t, &args[k]);
		for (int on_stack = 0; on_stack < 2; on_stack++)
			if (dwarf_go_args(&func, on_stack, a, &args, &n, &values, &nvalues))
				for (uint32_t k = 0; k < n; k++)
					check_type(im, t, &args[k]);
		arena_reset(a);
	}
	if (d)
		(void)dwarf_file_inlined(d, is_meant, NULL, a, &inlined);
	types_destroy(t);
	dwarf_import_destroy(im);
	arena_destroy(a);
	dwarf_file_close(d);
}

/* ---- functions ------------------------------------------------------------------------------- */

void check_functions(struct gate_file *file, const struct debug_search *where)
{
	struct funcs *f;
	struct err *e = funcs_read(file, where, &f);

	if (e) {
		if (!*err_text(e))
			BUG("no reason");
		err_destroy(e);
		return;
	}
	for (uint32_t i = 0; i < f->list.len && i < PROBED; i++) {
		const struct func *fn = &f->list.data[i];
		uint64_t off;

		if (i && fn[-1].addr > fn->addr)
			BUG("functions are not in order");
		if (!funcs_find(f, fn->name))
			BUG("no function is named '%s'", fn->name);
		if (!funcs_off(f, fn->addr, &off))
			BUG("a function outside of the code");
		(void)funcs_preferred(f, fn);
		(void)funcs_at(f, fn->addr + fn->size / 2);
		(void)funcs_at_off(f, fn->off);
		(void)go_code_abi(&f->go, fn->addr, fn->name);
	}
	funcs_destroy(f);
}

/* ---- unwind rows ------------------------------------------------------------------------------
 */

/* Looks rows up in all of the file. */
void check_lazy_rows(struct gate_file *file, uint64_t limit)
{
	struct unwind_lazy *l = unwind_lazy_open(file, limit, false);

	for (uint32_t off = 0; l && off < 65536; off += 7) {
		const struct unwind_row *row = unwind_lazy_find(l, off);

		if (row && row->kind >= UNWIND_NKINDS)
			BUG("the row at %u is of kind %d", off, row->kind);
	}
	unwind_lazy_close(l);
}

void check_rows(struct unwind_rows *r)
{
	for (uint32_t i = 0; i < r->rows.len; i++) {
		const struct unwind_row *row = &r->rows.data[i];

		if (i && row->off <= row[-1].off)
			BUG("row %u does not ascend", i);
		if (row->kind >= UNWIND_NKINDS)
			BUG("row %u is of kind %d", i, row->kind);
		if (RULE_KIND(unwind_row_rule(row)) >= UNWIND_NKINDS)
			BUG("row %u becomes a rule of another kind", i);
	}
	if (r->rows.len && vec_last(&r->rows)->kind != UNWIND_NONE)
		BUG("the last row ends nowhere");
	unwind_rows_deinit(r);
}
