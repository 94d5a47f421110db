/* SPDX-License-Identifier: MIT */
/*
 * Finds the variable that has its value in a register or a word of the stack while the program is
 * at an instruction, and with it the type of the value.
 */
#include <dwarf.h>

#include "arch/arch.h"
#include "image/dwarf.h"
#include "image/dwarf_impl.h"

#define DEPTH_MAX 64	 /* of nested scopes */
#define DIES_MAX  100000 /* that are looked at */

struct search {
	const struct dwarf_value *value;
	uint64_t pc;
	Dwarf_Attribute frame_base; /* of the function */
	bool has_frame_base;
	uint32_t nseen;
};

/* Finds the register of struct pt_regs that has the DWARF number; false if there is none. */
static bool register_word(uint64_t number, uint32_t *ret)
{
	if (number >= arch.unwind.nregs)
		return false;
	*ret = arch.unwind.words[number];
	return true;
}

/* Reads a location that is a single operation. */
static bool location_get(Dwarf_Attribute *attr, uint64_t pc, Dwarf_Op *ret)
{
	Dwarf_Op *expr;
	size_t len;

	if (dwarf_getlocation_addr(attr, pc, &expr, &len, 1) != 1 || len != 1)
		return false;
	*ret = *expr;
	return true;
}

static bool op_register(const Dwarf_Op *op, uint32_t *ret_word)
{
	if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31)
		return register_word(op->atom - DW_OP_reg0, ret_word);
	return op->atom == DW_OP_regx && register_word(op->number, ret_word);
}

/* Finds the register and the distance from which places in the frame count. */
static bool frame_base_get(struct search *s, uint32_t *ret_word, int64_t *ret_disp)
{
	const struct dwarf_value *v = s->value;
	Dwarf_Op op;

	*ret_disp = 0;
	if (!s->has_frame_base || !location_get(&s->frame_base, s->pc, &op))
		return false;
	if (op.atom != DW_OP_call_frame_cfa)
		return op_register(&op, ret_word);
	*ret_word = v->cfa_word;
	*ret_disp = v->cfa_disp;
	return v->has_cfa;
}

static bool op_is_value(struct search *s, const Dwarf_Op *op)
{
	const struct dwarf_value *v = s->value;
	uint32_t word;
	int64_t disp;

	if (!v->is_memory)
		return op_register(op, &word) && word == v->word;
	if (op->atom == DW_OP_fbreg)
		return frame_base_get(s, &word, &disp) && word == v->word &&
		       disp + (int64_t)op->number == v->disp;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31 &&
	       register_word(op->atom - DW_OP_breg0, &word) && word == v->word &&
	       (int64_t)op->number == v->disp;
}

/* Is this the type of a single number of the value's size, with a sign if the value has one? */
static bool type_fits(const struct dwarf_value *v, Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding;
	Dwarf_Die t;
	int size;

	if (!dwarf_type_resolve(type, &t))
		return false;
	size = dwarf_bytesize(&t);
	switch (dwarf_tag(&t)) {
	case DW_TAG_pointer_type: return v->size == 8 && !v->is_signed;
	case DW_TAG_enumeration_type: return size == (int)v->size;
	case DW_TAG_base_type:
		if (size != (int)v->size ||
		    dwarf_formudata(dwarf_attr(&t, DW_AT_encoding, &attr), &encoding) != 0)
			return false;
		if (encoding == DW_ATE_float)
			return v->is_float;
		return !v->is_float && v->is_signed == (encoding == DW_ATE_signed ||
							encoding == DW_ATE_signed_char);
	default: return false;
	}
}

static bool variable_check(struct search *s, Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attr;
	Dwarf_Op op;

	return dwarf_attr_integrate(die, DW_AT_location, &attr) &&
	       location_get(&attr, s->pc, &op) && op_is_value(s, &op) &&
	       dwarf_type_of(die, ret_type) && type_fits(s->value, ret_type);
}

/* Looks in the scopes around the instruction, the innermost one first. */
static bool scope_search(struct search *s, Dwarf_Die *scope, int depth, Dwarf_Die *ret_type)
{
	Dwarf_Die die;
	int tag;

	if (depth > DEPTH_MAX || dwarf_child(scope, &die) != 0)
		return false;
	do {
		tag = dwarf_tag(&die);
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine) &&
		    dwarf_haspc(&die, s->pc) > 0 && scope_search(s, &die, depth + 1, ret_type))
			return true;
	} while (++s->nseen < DIES_MAX && dwarf_siblingof(&die, &die) == 0);
	(void)dwarf_child(scope, &die); /* it was there before */
	do {
		tag = dwarf_tag(&die);
		if ((tag == DW_TAG_variable || tag == DW_TAG_formal_parameter) &&
		    variable_check(s, &die, ret_type))
			return true;
	} while (++s->nseen < DIES_MAX && dwarf_siblingof(&die, &die) == 0);
	return false;
}

bool dwarf_file_value(struct dwarf_file *d, uint64_t pc, const struct dwarf_value *value,
		      Dwarf_Die *ret_type)
{
	struct search s = {.value = value, .pc = pc};
	Dwarf_Die func;

	if (!dwarf_file_function(d, pc, &func))
		return false;
	s.has_frame_base = dwarf_attr_integrate(&func, DW_AT_frame_base, &s.frame_base) != NULL;
	return scope_search(&s, &func, 0, ret_type);
}
