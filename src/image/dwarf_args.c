/* SPDX-License-Identifier: MIT */
/*
 * Parameters of functions: names, types, and where the calling convention puts them.
 *
 * Registers for integers and registers for floating-point numbers are counted separately. A value
 * of at most two words is passed in registers, one of the class of each word. Larger values, and
 * values for which not enough registers are left, are passed on the stack (SysV AMD64 ABI, 3.2.3).
 * A probe can read the registers for integers and the stack.
 *
 * The compiler must follow this convention only for functions that other units may call. For a
 * static function, the debug information gives the location of each parameter at the first
 * instruction, which is used instead.
 */
#include <dwarf.h>

#include "arch/arch.h"
#include "image/dwarf_impl.h"

#define MAX_DEPTH  32	 /* levels of types: damaged files may have cycles */
#define BUDGET	   10000 /* members examined for one parameter: cycles may branch */
#define ARGS_MAX   256
#define TEXT_DEPTH 16

/* ---- types ---------------------------------------------------------------------------------- */

/*
 * Replaces a declaration by the type itself, if the type is defined in a type unit, to which the
 * declaration refers.
 */
static void follow_signature(Dwarf_Die *type)
{
	Dwarf_Attribute attr;
	Dwarf_Die whole;

	if (dwarf_attr(type, DW_AT_signature, &attr) && dwarf_formref_die(&attr, &whole))
		*type = whole;
}

bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_attr_integrate(die, DW_AT_type, &attr) || !dwarf_formref_die(&attr, &type))
		return false;
	follow_signature(&type);
	*ret_type = type;
	return true;
}

static bool is_alias(int tag)
{
	return tag == DW_TAG_typedef || tag == DW_TAG_const_type || tag == DW_TAG_volatile_type ||
	       tag == DW_TAG_restrict_type || tag == DW_TAG_atomic_type ||
	       tag == DW_TAG_immutable_type;
}

bool dwarf_type_resolve(Dwarf_Die *type, Dwarf_Die *ret_type)
{
	Dwarf_Die at = *type, next;

	for (int i = 0; i < MAX_DEPTH && is_alias(dwarf_tag(&at)); i++) {
		if (!dwarf_type_of(&at, &next))
			return false;
		at = next;
	}
	*ret_type = at;
	return true;
}

/*
 * The offset is a number (DWARF 5, 5.7.6) or, in DWARF 2, an expression that adds a number to the
 * address of the struct.
 */
uint64_t dwarf_member_offset(Dwarf_Die *member)
{
	Dwarf_Attribute attr;
	Dwarf_Word v;
	Dwarf_Op *ops;
	size_t n;

	if (dwarf_attr(member, DW_AT_data_bit_offset, &attr) && dwarf_formudata(&attr, &v) == 0)
		return v / 8;
	if (!dwarf_attr(member, DW_AT_data_member_location, &attr))
		return 0;
	if (dwarf_formudata(&attr, &v) == 0)
		return v;
	if (dwarf_getlocation(&attr, &ops, &n) == 0 && n == 1 && ops[0].atom == DW_OP_plus_uconst)
		return ops[0].number;
	return 0;
}

/* ---- spelling ------------------------------------------------------------------------------- */

static const char *type_named_text(Dwarf_Die *type, const char *word, struct arena *a)
{
	const char *name = dwarf_diename(type);

	return arena_printf(a, "%s%s", word, name ? name : "(anonymous)");
}

static const char *type_derived_text(Dwarf_Die *type, const char *suffix, struct arena *a,
				     int depth);

static const char *text_of(Dwarf_Die *type, struct arena *a, int depth)
{
	if (!type || depth > TEXT_DEPTH)
		return "void";
	switch (dwarf_tag(type)) {
	case DW_TAG_structure_type:
	case DW_TAG_class_type: return type_named_text(type, "struct ", a);
	case DW_TAG_union_type: return type_named_text(type, "union ", a);
	case DW_TAG_enumeration_type: return type_named_text(type, "enum ", a);
	case DW_TAG_pointer_type: return type_derived_text(type, "*", a, depth);
	case DW_TAG_reference_type: return type_derived_text(type, "&", a, depth);
	case DW_TAG_rvalue_reference_type: return type_derived_text(type, "&&", a, depth);
	case DW_TAG_array_type: return type_derived_text(type, "[]", a, depth);
	case DW_TAG_const_type: return type_derived_text(type, "const", a, depth);
	case DW_TAG_volatile_type: return type_derived_text(type, "volatile", a, depth);
	case DW_TAG_restrict_type: return type_derived_text(type, "", a, depth);
	case DW_TAG_atomic_type: return type_derived_text(type, "", a, depth);
	case DW_TAG_subroutine_type: return type_derived_text(type, "()", a, depth);
	default: return type_named_text(type, "", a);
	}
}

static const char *type_derived_text(Dwarf_Die *type, const char *suffix, struct arena *a,
				     int depth)
{
	Dwarf_Die to;
	const char *text = dwarf_type_of(type, &to) ? text_of(&to, a, depth + 1) : "void";
	size_t len = strlen(text);

	if (!*suffix)
		return text;
	if (*suffix == 'c' || *suffix == 'v') /* before what it qualifies, but behind a pointer */
		return len && text[len - 1] == '*' ? arena_printf(a, "%s%s", text, suffix)
						   : arena_printf(a, "%s %s", suffix, text);
	if (len > 3 && strcmp(text + len - 3, " ()") == 0) /* a pointer to a function */
		return arena_printf(a, "%.*s (%s)()", (int)len - 3, text, suffix);
	return arena_printf(a, "%s%s%s", text, len && text[len - 1] == '*' ? "" : " ", suffix);
}

const char *dwarf_type_text(Dwarf_Die *type, struct arena *a)
{
	return text_of(type, a, 0);
}

/* ---- classes -------------------------------------------------------------------------------- */

enum class { CLASS_NONE, CLASS_SSE, CLASS_INTEGER, CLASS_MEMORY };

/* The classes of the first and second word of a type, which decide how it is passed. */
struct classes {
	enum class word[2];
	uint64_t size;
	uint32_t nseen; /* number of members that were examined, at most BUDGET */
};

static void type_classify(Dwarf_Die *type, uint64_t off, struct classes *c, int depth);

static void class_merge(struct classes *c, uint64_t off, enum class class)
{
	if (off >= 16)
		c->word[0] = CLASS_MEMORY;
	else if (class > c->word[off / 8])
		c->word[off / 8] = class;
}

static void classify_base(Dwarf_Die *type, uint64_t off, struct classes *c)
{
	Dwarf_Attribute attr;
	Dwarf_Word encoding = 0, size = 0;

	(void)dwarf_formudata(dwarf_attr_integrate(type, DW_AT_encoding, &attr), &encoding);
	(void)dwarf_formudata(dwarf_attr_integrate(type, DW_AT_byte_size, &attr), &size);
	if (encoding == DW_ATE_complex_float || encoding == DW_ATE_float) {
		/* long double is passed in memory; complex double takes two registers */
		bool is_wide = size == 16 && encoding == DW_ATE_float;

		class_merge(c, off, is_wide || size > 16 ? CLASS_MEMORY : CLASS_SSE);
		if (size == 16 && !is_wide)
			class_merge(c, off + 8, CLASS_SSE);
		return;
	}
	class_merge(c, off, CLASS_INTEGER);
	if (size > 8)
		class_merge(c, off + 8, CLASS_INTEGER);
}

static void classify_members(Dwarf_Die *type, uint64_t off, struct classes *c, int depth)
{
	Dwarf_Die m, of;

	if (dwarf_child(type, &m) != 0)
		return;
	do {
		int tag = dwarf_tag(&m);

		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) ||
		    dwarf_hasattr(&m, DW_AT_external))
			continue;
		if (dwarf_type_of(&m, &of))
			type_classify(&of, off + dwarf_member_offset(&m), c, depth + 1);
	} while (c->nseen < BUDGET && dwarf_siblingof(&m, &m) == 0);
}

static void classify_array(Dwarf_Die *type, uint64_t off, struct classes *c, int depth)
{
	Dwarf_Die elem;
	Dwarf_Word size = 0, elem_size = 0;

	if (!dwarf_type_of(type, &elem) || dwarf_aggregate_size(type, &size) != 0 ||
	    dwarf_aggregate_size(&elem, &elem_size) != 0 || !elem_size)
		return;
	for (uint64_t i = 0; i < MIN(size, (Dwarf_Word)16); i += elem_size)
		type_classify(&elem, off + i, c, depth + 1);
}

static void type_classify(Dwarf_Die *type, uint64_t off, struct classes *c, int depth)
{
	Dwarf_Die t;

	if (depth > MAX_DEPTH || ++c->nseen > BUDGET || !dwarf_type_resolve(type, &t))
		return;
	switch (dwarf_tag(&t)) {
	case DW_TAG_base_type: classify_base(&t, off, c); return;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type: classify_members(&t, off, c, depth); return;
	case DW_TAG_array_type: classify_array(&t, off, c, depth); return;
	case DW_TAG_ptr_to_member_type: class_merge(c, off + 8, CLASS_INTEGER); break;
	default: break;
	}
	class_merge(c, off, CLASS_INTEGER);
}

static bool is_aggregate(int tag)
{
	return tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
	       tag == DW_TAG_union_type || tag == DW_TAG_array_type;
}

static bool has_destructor(Dwarf_Die *t, int depth, uint32_t *budget)
{
	Dwarf_Die m, of, r;

	if (depth > MAX_DEPTH || dwarf_child(t, &m) != 0)
		return false;
	do {
		int tag = dwarf_tag(&m);
		const char *name = tag == DW_TAG_subprogram ? dwarf_diename(&m) : NULL;

		if (name && name[0] == '~' && !dwarf_hasattr(&m, DW_AT_defaulted))
			return true;
		if ((tag == DW_TAG_inheritance || tag == DW_TAG_member) && dwarf_type_of(&m, &of) &&
		    dwarf_type_resolve(&of, &r) && is_aggregate(dwarf_tag(&r)) &&
		    has_destructor(&r, depth + 1, budget))
			return true;
	} while (*budget && --*budget && dwarf_siblingof(&m, &m) == 0);
	return false;
}

/*
 * True for objects of C++ that cannot be copied as bytes, and are therefore passed and returned by
 * their address. gcc 12 does not write the attribute that says so; without it, a class with a
 * destructor is taken for one of these.
 */
static bool is_by_address(Dwarf_Die *t)
{
	uint32_t budget = BUDGET;
	Dwarf_Attribute attr;
	Dwarf_Word convention = 0;

	if (dwarf_attr(t, DW_AT_calling_convention, &attr) &&
	    dwarf_formudata(&attr, &convention) == 0)
		return convention == DW_CC_pass_by_reference;
	return has_destructor(t, 0, &budget);
}

/* An object is passed by its address if its location is what a register or stack word points to. */
bool dwarf_is_at_address(Dwarf_Die *param, Dwarf_Addr entry)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!param || !dwarf_attr_integrate(param, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, entry, &ops, &n, 1) != 1)
		return false;
	if (n == 2)
		return ops[0].atom == DW_OP_fbreg && ops[1].atom == DW_OP_deref;
	return n == 1 && ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31 &&
	       ops[0].number == 0 && ops[0].atom != DW_OP_breg6 && ops[0].atom != DW_OP_breg7;
}

static struct classes classes_of(Dwarf_Die *t)
{
	struct classes c = {0};

	type_classify(t, 0, &c, 0);
	if (dwarf_aggregate_size(t, &c.size) != 0)
		c.size = 8;
	if (c.size > 16 || c.word[1] == CLASS_MEMORY)
		c.word[0] = CLASS_MEMORY;
	return c;
}

/* ---- parameters ----------------------------------------------------------------------------- */

/* The registers and stack words that the preceding parameters occupy. */
struct convention {
	uint32_t nint, nsse;
	uint64_t nstack; /* words */
};

/*
 * Allocates registers or stack words for the next parameter, of classes c. Returns the index of its
 * word (struct dwarf_arg, raw), or -1 if a probe cannot read it.
 */
static int assign_next(struct convention *v, const struct classes *c, bool is_scalar)
{
	uint32_t nint = (c->word[0] == CLASS_INTEGER) + (c->word[1] == CLASS_INTEGER);
	uint32_t nsse = (c->word[0] == CLASS_SSE) + (c->word[1] == CLASS_SSE);
	int at = -1;

	if (c->word[0] != CLASS_MEMORY && v->nint + nint <= arch.nint_args &&
	    v->nsse + nsse <= arch.nfloat_args) {
		if (is_scalar && nint == 1)
			at = (int)v->nint;
		v->nint += nint;
		v->nsse += nsse;
		return at;
	}
	if (is_scalar && nint == 1 && v->nstack < ARGS_MAX)
		at = (int)(arch.nint_args + v->nstack);
	v->nstack += MAX((c->size + 7) / 8, 1u);
	return at;
}

/* die is the DIE of the parameter, whose function begins at entry; NULL for a return value. */
static void assign_arg(struct convention *v, struct dwarf_arg *arg, Dwarf_Die *die,
		       Dwarf_Addr entry)
{
	static const struct classes pointer = {{CLASS_INTEGER, CLASS_NONE}, 8, 0};
	struct classes c;
	Dwarf_Die t;
	int tag;

	arg->raw = -1;
	if (!dwarf_tag(&arg->type) || !dwarf_type_resolve(&arg->type, &t))
		return;
	tag = dwarf_tag(&t);
	if (is_aggregate(tag) && (is_by_address(&t) || dwarf_is_at_address(die, entry))) {
		arg->is_ref = true;
		arg->raw = assign_next(v, &pointer, true);
		return;
	}
	c = classes_of(&t);
	arg->raw = assign_next(v, &c, !is_aggregate(tag));
	if (tag == DW_TAG_reference_type || tag == DW_TAG_rvalue_reference_type)
		arg->is_ref = dwarf_type_of(&t, &arg->type);
}

/* True if the result is returned in memory, whose address the caller passes as first argument. */
static bool is_returned_in_memory(const struct dwarf_arg *value)
{
	Dwarf_Die type = value->type, t;

	if (!dwarf_tag(&type) || !dwarf_type_resolve(&type, &t) || !is_aggregate(dwarf_tag(&t)))
		return false;
	return is_by_address(&t) || classes_of(&t).word[0] == CLASS_MEMORY;
}

struct dwarf_arg dwarf_arg_of(Dwarf_Die *die, struct arena *a)
{
	struct dwarf_arg arg = {.raw = -1};
	bool has_type = dwarf_type_of(die, &arg.type);
	const char *name = dwarf_diename(die);

	if (!has_type)
		memset(&arg.type, 0, sizeof(arg.type));
	arg.name = name ? arena_strdup(a, name) : "";
	arg.text = dwarf_type_text(has_type ? &arg.type : NULL, a);
	return arg;
}

static void value_of(Dwarf_Die *func, struct arena *a, struct dwarf_arg *ret)
{
	struct convention v = {0};

	*ret = dwarf_arg_of(func, a);
	ret->name = "";
	if (dwarf_tag(&ret->type))
		assign_arg(&v, ret, NULL, 0);
	if (is_returned_in_memory(ret))
		ret->raw = -1;
}

static bool is_external(Dwarf_Die *func)
{
	Dwarf_Attribute attr;
	bool on;

	return dwarf_attr_integrate(func, DW_AT_external, &attr) &&
	       dwarf_formflag(&attr, &on) == 0 && on;
}

int dwarf_integer_register(uint64_t number)
{
	return number < arch.narg_index ? arch.arg_index[number] : -1;
}

static bool is_mask(uint8_t atom)
{
	return (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) || atom == DW_OP_constu ||
	       atom == DW_OP_const1u || atom == DW_OP_const2u || atom == DW_OP_const4u ||
	       atom == DW_OP_and || atom == DW_OP_convert || atom == DW_OP_GNU_convert;
}

int dwarf_register_of(const Dwarf_Op *ops, size_t n)
{
	if (n == 1 && ops[0].atom >= DW_OP_reg0 && ops[0].atom <= DW_OP_reg31)
		return dwarf_integer_register(ops[0].atom - DW_OP_reg0);
	/* LLVM describes the low bits of a register so: breg8 0, constu 1, and, stack_value. */
	if (n < 2 || ops[0].atom < DW_OP_breg0 || ops[0].atom > DW_OP_breg31 || ops[0].number ||
	    ops[n - 1].atom != DW_OP_stack_value)
		return -1;
	for (size_t i = 1; i + 1 < n; i++)
		if (!is_mask(ops[i].atom))
			return -1;
	return dwarf_integer_register(ops[0].atom - DW_OP_breg0);
}

bool dwarf_is_in_memory(Dwarf_Die *param, Dwarf_Addr entry)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	return dwarf_attr_integrate(param, DW_AT_location, &attr) &&
	       dwarf_getlocation_addr(&attr, entry, &ops, &n, 1) == 1 && n > 0 &&
	       ops[0].atom == DW_OP_fbreg;
}

/*
 * Returns where a parameter of a static function is at entry; abi is where the ABI would have it.
 */
static int location_at_entry(Dwarf_Die *param, Dwarf_Addr entry, int abi)
{
	Dwarf_Attribute attr;
	Dwarf_Op *ops;
	size_t n;

	if (!dwarf_attr_integrate(param, DW_AT_location, &attr) ||
	    dwarf_getlocation_addr(&attr, entry, &ops, &n, 1) != 1 || !n)
		return -1;
	/* A parameter in memory is on the stack, or unoptimized code will store it there. */
	return n == 1 && ops[0].atom == DW_OP_fbreg ? abi : dwarf_register_of(ops, n);
}

bool dwarf_function_args(Dwarf_Die *func, struct arena *a, struct dwarf_arg **ret_args,
			 uint32_t *ret_n, struct dwarf_arg *ret_value)
{
	struct dwarf_arg *args = ARENA_NEW_N(a, struct dwarf_arg, ARGS_MAX);
	struct convention v = {0};
	Dwarf_Die child, unit;
	bool is_bound = is_external(func);
	Dwarf_Addr entry = 0;
	uint32_t n = 0;

	if (dwarf_srclang(dwarf_diecu(func, &unit, NULL, NULL)) == DW_LANG_Rust)
		return dwarf_rust_args(func, a, ret_args, ret_n, ret_value);
	if (dwarf_entrypc(func, &entry) != 0)
		return false;
	value_of(func, a, ret_value);
	v.nint = is_returned_in_memory(ret_value);
	if (dwarf_child(func, &child) == 0)
		do {
			if (dwarf_tag(&child) != DW_TAG_formal_parameter || n == ARGS_MAX)
				continue;
			args[n] = dwarf_arg_of(&child, a);
			assign_arg(&v, &args[n], &child, entry);
			if (!is_bound && args[n].raw >= 0)
				args[n].raw = location_at_entry(&child, entry, args[n].raw);
			n++;
		} while (dwarf_siblingof(&child, &child) == 0);
	*ret_args = args;
	*ret_n = n;
	return true;
}
