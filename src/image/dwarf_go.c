/* SPDX-License-Identifier: MIT */
/*
 * Parameters and results of functions of Go.
 *
 * From Go 1.17 on, each floating-point number in a value takes one of fifteen registers, and each
 * other word one of nine; a string takes two, for its address and length. If not enough registers
 * are left for all words of a value, the complete value is passed on the stack (Go
 * src/cmd/compile/abi-internal.md). Results take registers from the first one on again.
 *
 * DWARF gives the location of parameters at the first instruction. In a program that was compiled
 * without optimization, however, it gives the stack addresses to which the first instructions store
 * them. Therefore the convention decides, unless DWARF names registers. DWARF does not say where
 * results are.
 */
#include <dwarf.h>

#include "image/dwarf.h"

#define MAX_DEPTH   32	  /* levels of types: damaged files may have cycles */
#define BUDGET	    10000 /* members examined for one parameter: cycles may branch */
#define ARGS_MAX    256
#define NINT	    9
#define NFLOAT	    15
#define WORD	    8
#define KIND_ATTR   0x2900 /* DW_AT_go_kind: the kind that package reflect knows */
#define KIND_STRING 24
#define RESULT_MARK DW_AT_variable_parameter /* true for a result */

/* The number of registers in use, or the number that one value takes. */
struct regs {
	uint32_t nint, nfloat;
	uint32_t nseen; /* number of members that were examined, at most BUDGET */
};

/* ---- types ---------------------------------------------------------------------------------- */

static bool count_words(Dwarf_Die *type, struct regs *r, int depth);

static bool count_base(Dwarf_Die *type, struct regs *r)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0;

	(void)dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding);
	if (encoding == DW_ATE_complex_float)
		r->nfloat += 2;
	else if (encoding == DW_ATE_float)
		r->nfloat++;
	else
		r->nint++;
	return true;
}

static bool count_members(Dwarf_Die *type, struct regs *r, int depth)
{
	Dwarf_Die m, of;

	if (dwarf_child(type, &m) != 0)
		return true;
	do {
		if (dwarf_tag(&m) == DW_TAG_member &&
		    (!dwarf_type_of(&m, &of) || !count_words(&of, r, depth + 1)))
			return false;
	} while (dwarf_siblingof(&m, &m) == 0);
	return true;
}

/* An array of one element is passed as this element; longer arrays are never in registers. */
static bool count_array(Dwarf_Die *type, struct regs *r, int depth)
{
	Dwarf_Word size = 0, elem_size = 0;
	Dwarf_Die elem;

	if (!dwarf_type_of(type, &elem) || dwarf_aggregate_size(type, &size) != 0)
		return false;
	if (!size)
		return true;
	return dwarf_aggregate_size(&elem, &elem_size) == 0 && elem_size == size &&
	       count_words(&elem, r, depth + 1);
}

/* Adds the registers that a value of the type takes; false if it is never passed in registers. */
static bool count_words(Dwarf_Die *type, struct regs *r, int depth)
{
	Dwarf_Die t;

	if (depth > MAX_DEPTH || ++r->nseen > BUDGET || !dwarf_type_resolve(type, &t))
		return false;
	switch (dwarf_tag(&t)) {
	case DW_TAG_base_type: return count_base(&t, r);
	case DW_TAG_structure_type: return count_members(&t, r, depth);
	case DW_TAG_array_type: return count_array(&t, r, depth);
	default: r->nint++; return true; /* pointers, maps, channels, functions */
	}
}

static bool is_string(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Word kind;
	Dwarf_Die t;

	return dwarf_type_resolve(type, &t) && dwarf_attr(&t, KIND_ATTR, &attr) &&
	       dwarf_formudata(&attr, &kind) == 0 && kind == KIND_STRING;
}

/* ---- assignment ----------------------------------------------------------------------------- */

/*
 * Converts DWARF's number of a register to its index among the registers of Go's convention; -1 if
 * the register is none of those.
 */
static int go_register(uint64_t number)
{
	static const int8_t index[] = {[0] = 0,	 [1] = -1, [2] = 2, [3] = 1, [4] = 4,  [5] = 3,
				       [6] = -1, [7] = -1, [8] = 5, [9] = 6, [10] = 7, [11] = 8};

	return number < ARRAY_LEN(index) ? index[number] : -1;
}

static bool location_at(Dwarf_Die *param, Dwarf_Addr entry, Dwarf_Op **ret_ops, size_t *ret_n)
{
	Dwarf_Attribute attr;

	return dwarf_attr_integrate(param, DW_AT_location, &attr) &&
	       dwarf_getlocation_addr(&attr, entry, ret_ops, ret_n, 1) == 1 && *ret_n > 0;
}

/* Returns the index of the first register if DWARF names n registers in Go's order; else -1. */
static int first_register(Dwarf_Die *param, Dwarf_Addr entry, uint32_t n)
{
	uint32_t nregs = 0;
	int first = -1;
	Dwarf_Op *ops;
	size_t nops;

	if (!location_at(param, entry, &ops, &nops))
		return -1;
	for (size_t i = 0; i < nops; i++) {
		int at;

		if (ops[i].atom == DW_OP_piece)
			continue;
		at = ops[i].atom >= DW_OP_reg0 && ops[i].atom <= DW_OP_reg31
			     ? go_register(ops[i].atom - DW_OP_reg0)
			     : -1;
		if (at < 0 || (nregs && at != first + (int)nregs))
			return -1;
		first = nregs ? first : at;
		nregs++;
	}
	return nregs == n ? first : -1;
}

/*
 * Parses a location of one or two operations, and returns its distance from the frame's base, which
 * in Go is the address behind the return address. libdw does not read locations in the form of
 * blocks, which Go uses.
 */
static bool block_offset(Dwarf_Die *param, uint64_t *ret_off)
{
	Dwarf_Attribute attr;
	Dwarf_Block block;
	uint64_t off = 0;

	if (!dwarf_attr_integrate(param, DW_AT_location, &attr) ||
	    dwarf_formblock(&attr, &block) != 0 || !block.length)
		return false;
	for (Dwarf_Word i = 1; i < block.length && i <= 4; i++)
		off |= (uint64_t)(block.data[i] & 0x7f) << 7 * (i - 1);
	*ret_off = off;
	if (block.data[0] == DW_OP_call_frame_cfa)
		return block.length == 1;
	return block.data[0] == DW_OP_fbreg && block.length >= 2 && block.length <= 5 &&
	       !(block.data[block.length - 1] & 0xc0); /* the last byte, of a positive number */
}

/*
 * Returns the index of the stack word, above the return address, where the parameter begins; or -1.
 */
static int stack_word(Dwarf_Die *param, Dwarf_Addr entry)
{
	uint64_t off = 0;
	Dwarf_Op *ops;
	size_t n;

	if (location_at(param, entry, &ops, &n)) {
		if (n != 1 || (ops[0].atom != DW_OP_fbreg && ops[0].atom != DW_OP_call_frame_cfa))
			return -1;
		off = ops[0].atom == DW_OP_fbreg ? ops[0].number : 0;
	} else if (!block_offset(param, &off)) {
		return -1;
	}
	return off % WORD || off / WORD >= ARGS_MAX ? -1 : (int)(off / WORD);
}

/* ---- parameters ----------------------------------------------------------------------------- */

static struct dwarf_arg arg_of(Dwarf_Die *die, struct arena *a)
{
	struct dwarf_arg arg = {.raw = -1};
	const char *name = dwarf_diename(die), *text = NULL;

	if (dwarf_type_of(die, &arg.type))
		text = dwarf_diename(&arg.type); /* as Go writes it: "[]main.Item" */
	else
		memset(&arg.type, 0, sizeof(arg.type));
	arg.name = name ? arena_strdup(a, name) : "";
	arg.is_spelled = text != NULL;
	arg.text = text ? arena_strdup(a, text)
			: dwarf_type_text(dwarf_tag(&arg.type) ? &arg.type : NULL, a);
	return arg;
}

/*
 * Notes that a value consists of n words from word first on. Clauses can use only texts, and single
 * words that are not members of a struct.
 */
static void arg_assign(struct dwarf_arg *arg, uint32_t first, uint32_t n)
{
	Dwarf_Die t;
	int tag = dwarf_type_resolve(&arg->type, &t) ? dwarf_tag(&t) : 0;

	arg->first = first;
	arg->nwords = n;
	arg->is_text = n == 2 && is_string(&arg->type);
	if (arg->is_text || (n == 1 && tag != DW_TAG_structure_type && tag != DW_TAG_array_type))
		arg->raw = (int)first;
}

/* Assigns registers to a value, as long as enough are left. die is NULL for a result. */
static void assign_registers(struct regs *used, struct dwarf_arg *arg, Dwarf_Die *die,
			     Dwarf_Addr entry)
{
	struct regs own = {0};
	bool fits = count_words(&arg->type, &own, 0) && used->nint + own.nint <= NINT &&
		    used->nfloat + own.nfloat <= NFLOAT;
	int at = -1;

	if (!fits) {
		/* the first word of the stack is the last one that a probe can read */
		if (die && !own.nfloat && stack_word(die, entry) == 0 && own.nint == 1)
			arg_assign(arg, NINT, 1);
		return;
	}
	if (die && !own.nfloat)
		at = first_register(die, entry, own.nint);
	if (own.nint && !own.nfloat)
		arg_assign(arg, at >= 0 ? (uint32_t)at : used->nint, own.nint);
	used->nint += own.nint;
	used->nfloat += own.nfloat;
}

static void assign_stack(struct dwarf_arg *arg, Dwarf_Die *die, Dwarf_Addr entry)
{
	int at = stack_word(die, entry);
	struct regs own = {0};

	if (at >= 0 && count_words(&arg->type, &own, 0) && !own.nfloat && own.nint)
		arg_assign(arg, (uint32_t)at, own.nint);
}

static bool is_result(Dwarf_Die *param)
{
	Dwarf_Attribute attr;
	bool on;

	return dwarf_attr_integrate(param, RESULT_MARK, &attr) && dwarf_formflag(&attr, &on) == 0 &&
	       on;
}

bool dwarf_go_args(Dwarf_Die *func, bool on_stack, struct arena *a, struct dwarf_arg **ret_args,
		   uint32_t *ret_n, struct dwarf_arg **ret_values, uint32_t *ret_nvalues)
{
	struct dwarf_arg *args = ARENA_NEW_N(a, struct dwarf_arg, ARGS_MAX);
	struct dwarf_arg *values = ARENA_NEW_N(a, struct dwarf_arg, ARGS_MAX);
	struct regs used = {0}, of_results = {0};
	uint32_t n = 0, nvalues = 0;
	Dwarf_Addr entry = 0;
	Dwarf_Die child;

	if (dwarf_entrypc(func, &entry) != 0)
		return false;
	if (dwarf_child(func, &child) == 0)
		do {
			if (dwarf_tag(&child) != DW_TAG_formal_parameter || n == ARGS_MAX ||
			    nvalues == ARGS_MAX)
				continue;
			if (is_result(&child)) {
				values[nvalues] = arg_of(&child, a);
				if (!on_stack)
					assign_registers(&of_results, &values[nvalues], NULL, 0);
				nvalues++;
				continue;
			}
			args[n] = arg_of(&child, a);
			if (on_stack)
				assign_stack(&args[n], &child, entry);
			else
				assign_registers(&used, &args[n], &child, entry);
			n++;
		} while (dwarf_siblingof(&child, &child) == 0);
	*ret_args = args;
	*ret_n = n;
	*ret_values = values;
	*ret_nvalues = nvalues;
	return true;
}
