/* SPDX-License-Identifier: MIT */
/*
 * Parameters of functions of Rust.
 *
 * Rust guarantees no calling convention, but its compiler has one. A value that consists of one or
 * two scalars, even inside structs or an enum, is passed as these scalars. Each takes the next
 * register for integers or floating-point numbers, as separate parameters of C do. "&str" and
 * slices are such pairs, of an address and a length. Any other value of at most two words is passed
 * as words, and a larger one by its address (rustc_abi's BackendRepr; rustc_ty_utils'
 * fn_abi_adjust_for_abi).
 *
 * The optimizer may change the convention of functions that only their own crate calls. So if DWARF
 * gives a register as the location at the first instruction, this register is used. Code that is
 * not optimized follows the convention, and its DWARF gives only the stack addresses to which the
 * first instructions store the parameters.
 */
#include <dwarf.h>

#include "arch/arch.h"
#include "image/dwarf_impl.h"

#define MAX_DEPTH  32	 /* levels of types: damaged files may have cycles */
#define BUDGET	   10000 /* members examined for one parameter: cycles may branch */
#define ARGS_MAX   256
#define WORD	   8
#define DIRECT_MAX 16 /* bytes of a value that is returned in registers */

enum form {
	FORM_NOTHING, /* the value has no bytes */
	FORM_SCALARS, /* the value consists of one or two scalars */
	FORM_OTHER,
};

struct scalar {
	uint64_t off;
	bool is_float;
	uint32_t nwords; /* 2 for a 128-bit integer, else 1 */
};

struct shape {
	enum form form;
	struct scalar scalars[2];
	uint32_t n;
	uint32_t nseen; /* number of members that were examined, at most BUDGET */
};

/* ---- types ---------------------------------------------------------------------------------- */

static void shape_add(struct shape *s, Dwarf_Die *type, uint64_t off, int depth);

static void scalar_add(struct shape *s, uint64_t off, bool is_float, uint32_t nwords)
{
	if (s->form == FORM_OTHER || s->n == ARRAY_LEN(s->scalars)) {
		s->form = FORM_OTHER;
		return;
	}
	s->form = FORM_SCALARS;
	s->scalars[s->n++] = (struct scalar){off, is_float, nwords};
}

static void base_add(struct shape *s, Dwarf_Die *type, uint64_t off)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0, size = 0;

	(void)dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding);
	(void)dwarf_formudata(dwarf_attr_integrate(type, DW_AT_byte_size, &attr), &size);
	if (size)
		scalar_add(s, off, encoding == DW_ATE_float, size > WORD ? 2 : 1);
}

static uint64_t size_of(Dwarf_Die *type)
{
	Dwarf_Word size = 0;

	return dwarf_aggregate_size(type, &size) == 0 ? size : 0;
}

static void members_add(struct shape *s, Dwarf_Die *type, uint64_t off, int depth)
{
	Dwarf_Die m, of;

	if (dwarf_child(type, &m) != 0)
		return;
	do {
		if (dwarf_tag(&m) == DW_TAG_member && dwarf_type_of(&m, &of) && size_of(&of))
			shape_add(s, &of, off + dwarf_member_offset(&m), depth + 1);
	} while (s->form != FORM_OTHER && dwarf_siblingof(&m, &m) == 0);
}

/*
 * Adds an enum whose variants have values. If only one variant has values, and the tag is stored in
 * them, the enum is passed as these values (Option<&str>). Otherwise it is passed as two scalars,
 * the tag and a value, if each variant has at most one scalar (Option<u32>).
 */
static void variants_add(struct shape *s, Dwarf_Die *part, uint64_t off, int depth)
{
	struct shape values = {.nseen = s->nseen}, first = {0};
	Dwarf_Die tag, v, m, of;
	Dwarf_Attribute attr;
	uint64_t tag_off = 0;
	uint32_t nwith = 0;
	bool has_tag = dwarf_attr(part, DW_AT_discr, &attr) && dwarf_formref_die(&attr, &tag);

	if (has_tag)
		tag_off = off + dwarf_member_offset(&tag);
	if (dwarf_child(part, &v) != 0)
		return;
	do {
		if (dwarf_tag(&v) != DW_TAG_variant || dwarf_child(&v, &m) != 0 ||
		    dwarf_tag(&m) != DW_TAG_member || !dwarf_type_of(&m, &of))
			continue;
		values.form = FORM_NOTHING;
		values.n = 0;
		members_add(&values, &of, off + dwarf_member_offset(&m), depth + 1);
		if (values.form == FORM_NOTHING)
			continue;
		if (nwith++ && (values.n != 1 || first.n != 1 ||
				values.scalars[0].off != first.scalars[0].off ||
				values.scalars[0].is_float != first.scalars[0].is_float))
			values.form = FORM_OTHER;
		first = values;
	} while (values.form != FORM_OTHER && dwarf_siblingof(&v, &v) == 0);
	s->nseen = values.nseen;
	if (values.form == FORM_OTHER || first.form == FORM_OTHER) {
		s->form = FORM_OTHER;
		return;
	}
	for (uint32_t i = 0; i < first.n; i++)
		has_tag &= nwith > 1 || first.scalars[i].off != tag_off;
	if (has_tag)
		scalar_add(s, tag_off, false, 1);
	for (uint32_t i = 0; i < first.n; i++)
		scalar_add(s, first.scalars[i].off, first.scalars[i].is_float,
			   first.scalars[i].nwords);
}

static void struct_add(struct shape *s, Dwarf_Die *type, uint64_t off, int depth)
{
	Dwarf_Die child;

	if (dwarf_child(type, &child) == 0)
		do {
			if (dwarf_tag(&child) != DW_TAG_variant_part)
				continue;
			variants_add(s, &child, off, depth);
			return;
		} while (dwarf_siblingof(&child, &child) == 0);
	members_add(s, type, off, depth);
}

static void shape_add(struct shape *s, Dwarf_Die *type, uint64_t off, int depth)
{
	Dwarf_Die t;

	if (depth > MAX_DEPTH || ++s->nseen > BUDGET || !dwarf_type_resolve(type, &t)) {
		s->form = FORM_OTHER;
		return;
	}
	switch (dwarf_tag(&t)) {
	case DW_TAG_base_type: base_add(s, &t, off); return;
	case DW_TAG_structure_type: struct_add(s, &t, off, depth); return;
	case DW_TAG_union_type:
	case DW_TAG_array_type: s->form = size_of(&t) ? FORM_OTHER : s->form; return;
	default: scalar_add(s, off, false, 1); return; /* pointers, enums without values */
	}
}

static struct shape shape_of(Dwarf_Die *type)
{
	struct shape s = {0};

	if (dwarf_tag(type))
		shape_add(&s, type, 0, 0);
	return s;
}

/* True for the type of a text, which consists of an address and a length. */
static bool is_str(Dwarf_Die *type)
{
	const char *name = dwarf_diename(type);

	return name && (strcmp(name, "&str") == 0 || strcmp(name, "&mut str") == 0);
}

/* ---- assignment ----------------------------------------------------------------------------- */

struct convention {
	uint32_t nint, nsse;
	uint64_t nstack; /* words */
};

/* Returns the index of the next scalar's word, or -1 if a probe cannot read it. */
static int assign_scalar(struct convention *v, const struct scalar *s)
{
	int at = -1;

	if (s->is_float && v->nsse < arch.nfloat_args) {
		v->nsse++;
		return -1;
	}
	if (!s->is_float && v->nint + s->nwords <= arch.nint_args) {
		at = (int)v->nint;
		v->nint += s->nwords;
	} else {
		at = v->nstack < ARGS_MAX && !s->is_float ? (int)(arch.nint_args + v->nstack) : -1;
		v->nstack += s->nwords;
	}
	return at;
}

/* Allocates the words of a value that does not consist of scalars, and is not passed by address. */
static void assign_words(struct convention *v, uint64_t size)
{
	const struct scalar word = {0, false, 1};

	for (uint64_t i = 0; i < (size + WORD - 1) / WORD; i++)
		(void)assign_scalar(v, &word);
}

/*
 * Returns the index of the register that DWARF names, at the function's entry, for word i of the
 * parameter, or for the address of the parameter; -1 if it names none.
 */
static int register_at(Dwarf_Die *param, Dwarf_Addr entry, uint32_t i)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(param, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, entry, &ops, &n, 1) != 1)
		return -1;
	if (!i && dwarf_register_of(ops, n) >= 0)
		return dwarf_register_of(ops, n);
	for (size_t k = 0; k < n; k++) {
		if (ops[k].atom == DW_OP_piece)
			continue;
		if (n == 1 && ops[k].atom >= DW_OP_breg0 && ops[k].atom <= DW_OP_breg31 &&
		    !ops[k].number)
			return dwarf_integer_register(ops[k].atom - DW_OP_breg0); /* its address */
		if (ops[k].atom < DW_OP_reg0 || ops[k].atom > DW_OP_reg31)
			return -1;
		if (!i--)
			return dwarf_integer_register(ops[k].atom - DW_OP_reg0);
	}
	return -1;
}

/*
 * Assigns words to a parameter by the convention. at[] receives the index of each word, -1 = not
 * readable.
 */
static void assign_by_convention(struct convention *v, struct dwarf_arg *arg, bool is_at_address,
				 int at[2])
{
	static const struct scalar pointer = {0, false, 1};
	struct shape s = shape_of(&arg->type);
	uint64_t size = s.form == FORM_OTHER ? size_of(&arg->type) : 0;

	at[0] = at[1] = -1;
	if (s.form == FORM_OTHER && (size > DIRECT_MAX || is_at_address)) {
		arg->is_ref = true;
		at[0] = assign_scalar(v, &pointer);
		arg->nwords = 1;
		return;
	}
	if (s.form == FORM_OTHER)
		assign_words(v, size);
	for (uint32_t i = 0; s.form == FORM_SCALARS && i < s.n; i++) {
		at[i] = assign_scalar(v, &s.scalars[i]);
		arg->nwords += s.scalars[i].nwords;
	}
	if (s.form == FORM_SCALARS && (at[0] < 0 || (s.n == 2 && at[1] != at[0] + 1)))
		arg->nwords = 0;
}

/*
 * Assigns words to a parameter. is_stored says that the function stores its parameters on the
 * stack, and thus follows the convention.
 */
static void assign_arg(struct convention *v, struct dwarf_arg *arg, Dwarf_Die *die,
		       Dwarf_Addr entry, bool is_stored)
{
	bool is_at_address = dwarf_is_at_address(die, entry), is_struct;
	int at[2], first = register_at(die, entry, 0);
	Dwarf_Die t;

	if (!dwarf_tag(&arg->type))
		return;
	assign_by_convention(v, arg, is_at_address, at);
	if (!arg->nwords)
		return;
	if (first >= 0 && (arg->nwords == 1 || register_at(die, entry, 1) == first + 1))
		at[0] = first;
	else if (!is_stored)
		at[0] = -1;
	if (at[0] < 0) {
		arg->nwords = 0;
		return;
	}
	arg->first = (uint32_t)at[0];
	is_struct = dwarf_type_resolve(&arg->type, &t) && dwarf_tag(&t) == DW_TAG_structure_type;
	arg->is_text = arg->nwords == 2 && is_str(&arg->type);
	if (arg->is_text || arg->is_ref || (arg->nwords == 1 && !is_struct))
		arg->raw = at[0];
}

/* ---- parameters ----------------------------------------------------------------------------- */

static struct dwarf_arg arg_of(Dwarf_Die *die, struct arena *a)
{
	struct dwarf_arg arg = dwarf_arg_of(die, a);
	const char *name = dwarf_tag(&arg.type) ? dwarf_diename(&arg.type) : NULL;

	if (name)
		arg.text = arena_strdup(a, name); /* as Rust writes it: "&[u32]" */
	arg.is_spelled = name != NULL;
	return arg;
}

/*
 * True if the location of one of the parameters, at the function's entry, is the memory to which
 * unoptimized code will store it.
 */
static bool stores_parameters(Dwarf_Die *func, Dwarf_Addr entry)
{
	Dwarf_Die child;

	if (dwarf_child(func, &child) == 0)
		do {
			if (dwarf_tag(&child) == DW_TAG_formal_parameter &&
			    dwarf_is_in_memory(&child, entry))
				return true;
		} while (dwarf_siblingof(&child, &child) == 0);
	return false;
}

/*
 * Returns the return value. A probe can read it only if it is one scalar. A value that does not fit
 * into two registers is returned in memory, whose address the caller passes as first argument.
 */
static struct dwarf_arg value_of(Dwarf_Die *func, struct arena *a, bool *ret_in_memory)
{
	struct dwarf_arg value = arg_of(func, a);
	struct shape s = shape_of(&value.type);
	Dwarf_Die t;

	value.name = "";
	if (s.form == FORM_SCALARS && s.n == 1 && !s.scalars[0].is_float &&
	    s.scalars[0].nwords == 1 && dwarf_type_resolve(&value.type, &t) &&
	    dwarf_tag(&t) != DW_TAG_structure_type)
		value.raw = 0;
	if (strcmp(value.text, "()") == 0)
		value.text = "void";
	*ret_in_memory = s.form == FORM_OTHER && size_of(&value.type) > DIRECT_MAX;
	return value;
}

bool dwarf_rust_args(Dwarf_Die *func, struct arena *a, struct dwarf_arg **ret_args, uint32_t *ret_n,
		     struct dwarf_arg *ret_value)
{
	struct dwarf_arg *args = ARENA_NEW_N(a, struct dwarf_arg, ARGS_MAX);
	struct convention v = {0};
	Dwarf_Addr entry = 0;
	bool in_memory, is_stored;
	Dwarf_Die child;
	uint32_t n = 0;

	if (dwarf_entrypc(func, &entry) != 0)
		return false;
	*ret_value = value_of(func, a, &in_memory);
	v.nint = in_memory;
	is_stored = stores_parameters(func, entry);
	if (dwarf_child(func, &child) == 0)
		do {
			if (dwarf_tag(&child) != DW_TAG_formal_parameter || n == ARGS_MAX)
				continue;
			args[n] = arg_of(&child, a);
			assign_arg(&v, &args[n++], &child, entry, is_stored);
		} while (dwarf_siblingof(&child, &child) == 0);
	*ret_args = args;
	*ret_n = n;
	return true;
}
