/* SPDX-License-Identifier: MIT */
/* Types of arguments of programs' own probes from debug information. */
#include "provider/usdt.h"

#include "arch/arch.h"
#include "image/debugfile.h"
#include "image/dwarf.h"
#include "image/ehframe.h"

/* Finds from which register and distance places in the frame count at an instruction. */
static void frame_find(struct provider_env *env, struct usdt_object *o,
		       const struct place_site *site, struct dwarf_value *v)
{
	const struct unwind_row *row;

	if (site->off > UINT32_MAX)
		return;
	if (!o->rows) {
		o->rows = xcalloc(1, sizeof(*o->rows));
		unwind_rows_read(site->file->opened, env->files->limit, NULL, o->rows);
	}
	row = unwind_row_find(o->rows, (uint32_t)site->off);
	v->has_cfa = row && (row->kind == UNWIND_SP || row->kind == UNWIND_FP);
	if (v->has_cfa) {
		v->cfa_word =
			arch.unwind.words[row->kind == UNWIND_SP ? arch.unwind.sp : arch.unwind.fp];
		v->cfa_disp = row->cfa;
	}
}

/* Returns the type of a variable that has its value where the operand has it; NULL: none. */
static const char *site_type(struct provider_env *env, struct dwarf_file *dw,
			     const struct usdt_group *grp, const struct usdt_operand *op,
			     Dwarf_Die *ret)
{
	struct dwarf_value v = {
		.is_memory = op->kind == USDT_OPERAND_MEMORY,
		.word = op->base / 8,
		.disp = op->disp,
		.size = op->size,
		.is_signed = op->is_signed,
		.is_float = op->is_float,
	};

	if (op->kind != USDT_OPERAND_REGISTER && !v.is_memory)
		return NULL;
	if (op->base % 8 || op->has_index || op->is_thread || (v.is_memory && !op->has_base))
		return NULL;
	if (v.is_memory)
		frame_find(env, grp->object, &grp->code.sites.data[0], &v);
	if (!dwarf_file_value(dw, grp->note->pc, &v, ret))
		return NULL;
	return dwarf_type_text(ret, env->arena);
}

const char *usdt_debug_operand(struct provider_env *env, const struct usdt_group *first,
			       uint32_t index, Dwarf_Die *ret)
{
	struct code_file *file = first->object->file;
	struct dwarf_file *dw = file->file.is_32bit || !env->files
					? NULL
					: code_file_dwarf(first->object->target, file);
	const char *type = NULL;

	for (const struct usdt_group *grp = first; dw && grp; grp = grp->next_namesake) {
		const char *other;

		if (!grp->code.sites.len || index >= grp->operands->n)
			continue;
		other = site_type(env, dw, grp, &grp->operands->list[index], ret);
		if (!other || (type && strcmp(type, other) != 0))
			return NULL;
		type = other;
	}
	if (type)
		code_file_keep_types(file);
	return type;
}
