/* SPDX-License-Identifier: MIT */
/*
 * Debug information of the grammar: units, a tree of DIEs, the types and functions that they are,
 * their places.
 *
 * Each DIE has an abbreviation of its own, so that any DIE can have any attributes. References go
 * to whatever DIE the tape says, before or behind, also to the one that they stand in: cycles of
 * types come by themselves.
 */
#include <dwarf.h>

#include "base/vec.h"
#include "elf_make.h"

#define DEPTH_MAX 8
#define DIES_MAX  160
#define UNITS_MAX 3

struct fixup {
	uint32_t at; /* in .debug_info */
	uint8_t pick;
	bool is_type;
	bool is_near; /* DW_FORM_ref4: within the unit */
};

struct writer {
	struct tape *t;
	struct dwarf_sections *out;
	VEC(uint32_t) dies, types; /* offsets in .debug_info */
	VEC(struct fixup) fixups;
	uint32_t unit, first_die, first_type, ncodes;
	uint16_t version;
	uint32_t word; /* bytes of an address */
};

/* ---- attributes -------------------------------------------------------------------------------
 */

static void attr_name(struct writer *w, uint32_t attr, uint32_t form)
{
	bytes_put_uleb(&w->out->abbrev, attr);
	bytes_put_uleb(&w->out->abbrev, form);
}

static void attr_number(struct writer *w, uint32_t attr, uint64_t v)
{
	uint8_t how = tape_u8(w->t);

	if (how % 16 == 15)
		v = tape_number(w->t);
	switch (how / 16 % 4) {
	case 0:
		if (v < 0x100) {
			attr_name(w, attr, DW_FORM_data1);
			bytes_put(&w->out->info, v, 1);
			return;
		} /* fallthrough */
	case 1:
		attr_name(w, attr, DW_FORM_data4);
		bytes_put(&w->out->info, v, 4);
		return;
	case 2:
		attr_name(w, attr, DW_FORM_udata);
		bytes_put_uleb(&w->out->info, v);
		return;
	default:
		attr_name(w, attr, DW_FORM_sdata);
		bytes_put_sleb(&w->out->info, (int64_t)v);
		return;
	}
}

static void attr_address(struct writer *w, uint32_t attr, uint64_t v)
{
	attr_name(w, attr, DW_FORM_addr);
	bytes_put(&w->out->info, v, w->word);
}

/* An address of DWARF 5 may stand in .debug_addr; how chooses which one. */
static void attr_indexed_address(struct writer *w, uint32_t attr, uint8_t how)
{
	attr_name(w, attr, how & 1 ? DW_FORM_addrx1 : DW_FORM_addrx);
	if (how & 1)
		bytes_put(&w->out->info, how % (NINDEXED + 1), 1);
	else
		bytes_put_uleb(&w->out->info, how == 254 ? tape_number(w->t) : how % NINDEXED);
}

static void attr_offset(struct writer *w, uint32_t attr, uint64_t v)
{
	attr_name(w, attr, DW_FORM_sec_offset);
	bytes_put(&w->out->info, v, 4);
}

/* A string of DWARF 5: in .debug_line_str, or by its number in .debug_str_offsets. */
static void attr_indexed_text(struct writer *w, uint32_t attr, uint8_t how)
{
	switch (how / 16 % 4) {
	case 0:
		attr_name(w, attr, DW_FORM_line_strp);
		bytes_put(&w->out->info, tape_u8(w->t), 4);
		return;
	case 1:
		attr_name(w, attr, DW_FORM_strx1);
		bytes_put(&w->out->info, tape_u8(w->t) % (NINDEXED + 1), 1);
		return;
	case 2:
		attr_name(w, attr, DW_FORM_strx4);
		bytes_put(&w->out->info, tape_number(w->t), 4);
		return;
	default:
		attr_name(w, attr, DW_FORM_strx);
		bytes_put_uleb(&w->out->info, tape_u8(w->t) % NINDEXED);
		return;
	}
}

static void attr_flag(struct writer *w, uint32_t attr)
{
	attr_name(w, attr, DW_FORM_flag_present);
}

static void attr_text(struct writer *w, uint32_t attr)
{
	uint8_t how = tape_u8(w->t);

	if (how % 16 == 15) {
		attr_name(w, attr, how & 16 ? DW_FORM_GNU_strp_alt : DW_FORM_strp);
		bytes_put(&w->out->info, tape_u8(w->t), 4);
		return;
	}
	if (how % 16 >= 13 && w->version == 5) {
		attr_indexed_text(w, attr, how);
		return;
	}
	attr_name(w, attr, DW_FORM_string);
	bytes_put_name(&w->out->info, tape_name(w->t));
}

static void attr_ref(struct writer *w, uint32_t attr, bool is_type)
{
	uint8_t how = tape_u8(w->t);

	if (how % 32 == 31) {
		attr_name(w, attr, DW_FORM_ref_sig8);
		bytes_put(&w->out->info, tape_u8(w->t) % 3, 8);
		return;
	}
	if (how % 32 == 30) {
		attr_name(w, attr, DW_FORM_GNU_ref_alt);
		bytes_put(&w->out->info, tape_u16(w->t) % 512, 4);
		return;
	}
	attr_name(w, attr, how % 4 == 3 ? DW_FORM_ref_addr : DW_FORM_ref4);
	vec_push(&w->fixups,
		 (struct fixup){(uint32_t)w->out->info.len, tape_u8(w->t), is_type, how % 4 != 3});
	bytes_put(&w->out->info, how % 32 == 29 ? tape_number(w->t) : 0, 4);
	if (how % 32 == 29)
		w->fixups.len--;
}

/* ---- places ------------------------------------------------------------------------------------
 */

static void op_put(struct writer *w, struct strbuf *out)
{
	uint8_t how = tape_u8(w->t), low = how / 16;

	switch (how % 16) {
	case 0:
	case 1:
		bytes_put(out, DW_OP_fbreg, 1);
		bytes_put_sleb(out, -8 * low);
		return;
	case 2:
	case 3: bytes_put(out, DW_OP_reg0 + low, 1); return;
	case 4:
		bytes_put(out, DW_OP_breg0 + low, 1);
		bytes_put_sleb(out, 0);
		return;
	case 5:
		bytes_put(out, DW_OP_breg7, 1);
		bytes_put_sleb(out, low * 8);
		return;
	case 6: bytes_put(out, low & 1 ? DW_OP_deref : DW_OP_and, 1); return;
	case 7: bytes_put(out, DW_OP_stack_value, 1); return;
	case 8:
		bytes_put(out, DW_OP_constu, 1);
		bytes_put_uleb(out, tape_number(w->t));
		return;
	case 9:
	case 10:
		bytes_put(out, DW_OP_piece, 1);
		bytes_put_uleb(out, low ? low : tape_number(w->t));
		return;
	case 11: bytes_put(out, DW_OP_call_frame_cfa, 1); return;
	case 12:
		bytes_put(out, DW_OP_plus_uconst, 1);
		bytes_put_uleb(out, tape_number(w->t));
		return;
	case 13:
		bytes_put(out, DW_OP_entry_value, 1);
		bytes_put(out, 0x5001, 2);
		return;
	case 14:
		if (low & 1 && w->version == 5) {
			bytes_put(out, DW_OP_addrx, 1);
			bytes_put_uleb(out, low);
			return;
		}
		bytes_put(out, DW_OP_addr, 1);
		bytes_put(out, CODE_ADDR, w->word);
		return;
	default: bytes_put(out, low, 1); return;
	}
}

static void expr_put(struct writer *w, struct strbuf *out, uint32_t len_size)
{
	uint32_t n = 1 + tape_u8(w->t) % 4;
	struct strbuf ops = {0};

	for (uint32_t i = 0; i < n; i++)
		op_put(w, &ops);
	if (len_size)
		bytes_put(out, ops.len, len_size);
	else
		bytes_put_uleb(out, ops.len);
	strbuf_add(out, ops.data, ops.len);
	strbuf_deinit(&ops);
}

/* The part of the code that an entry of a list of DWARF 5 is about, said in one of several ways. */
static void list_range_put(struct writer *w, struct strbuf *to, bool is_place)
{
	uint8_t how = tape_u8(w->t);
	uint64_t at = CODE_ADDR + how * 4u;

	switch (how % 8) {
	case 0:
		bytes_put(to, is_place ? DW_LLE_startx_length : DW_RLE_startx_length, 1);
		bytes_put_uleb(to, how % (NINDEXED + 1));
		bytes_put_uleb(to, 16);
		return;
	case 1:
		bytes_put(to, is_place ? DW_LLE_startx_endx : DW_RLE_startx_endx, 1);
		bytes_put_uleb(to, how / 8 % NINDEXED);
		bytes_put_uleb(to, how == 249 ? tape_number(w->t) : how / 8u % NINDEXED + 1);
		return;
	case 2:
		bytes_put(to, is_place ? DW_LLE_base_address : DW_RLE_base_address, 1);
		bytes_put(to, CODE_ADDR, w->word);
		/* fallthrough */
	case 3:
		bytes_put(to, is_place ? DW_LLE_offset_pair : DW_RLE_offset_pair, 1);
		bytes_put_uleb(to, how);
		bytes_put_uleb(to, how == 251 ? tape_number(w->t) : (uint64_t)how + 32);
		return;
	case 4:
		bytes_put(to, is_place ? DW_LLE_base_addressx : DW_RLE_base_addressx, 1);
		bytes_put_uleb(to, how / 8 % NINDEXED);
		bytes_put(to, is_place ? DW_LLE_offset_pair : DW_RLE_offset_pair, 1);
		bytes_put_uleb(to, 0);
		bytes_put_uleb(to, how);
		return;
	case 5:
		bytes_put(to, is_place ? DW_LLE_start_end : DW_RLE_start_end, 1);
		bytes_put(to, at, w->word);
		bytes_put(to, at + 32, w->word);
		return;
	default:
		bytes_put(to, is_place ? DW_LLE_start_length : DW_RLE_start_length, 1);
		bytes_put(to, at, w->word);
		bytes_put_uleb(to, 16);
		return;
	}
}

/* A list of places, each for a part of the code. */
static void attr_list(struct writer *w, uint32_t attr)
{
	uint32_t n = 1 + tape_u8(w->t) % 3;
	struct strbuf *to = w->version == 5 ? &w->out->loclists : &w->out->loc;

	attr_name(w, attr, DW_FORM_sec_offset);
	bytes_put(&w->out->info, to->len, 4);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = w->version == 5 ? 0 : tape_u8(w->t) * 4u;

		if (w->version == 5) {
			list_range_put(w, to, true);
			expr_put(w, to, 0);
		} else {
			bytes_put(to, at, w->word);
			bytes_put(to, at + 16, w->word);
			expr_put(w, to, 2);
		}
	}
	bytes_put(to, 0, w->version == 5 ? 1 : w->word);
	if (w->version != 5)
		bytes_put(to, 0, w->word);
}

static void attr_place(struct writer *w, uint32_t attr)
{
	if (tape_u8(w->t) % 4 == 3) {
		attr_list(w, attr);
		return;
	}
	attr_name(w, attr, DW_FORM_exprloc);
	expr_put(w, &w->out->info, 0);
}

/* ---- DIEs ---------------------------------------------------------------------------------------
 */

enum has {
	HAS_NAME = 1,
	HAS_TYPE = 2,
	HAS_SIZE = 4,
	HAS_OFFSET = 8, /* within what contains it */
	HAS_CODE = 16,
	HAS_PLACE = 32,
	HAS_ORIGIN = 64,
	HAS_COUNT = 128,
	HAS_FLAGS = 256,
	HAS_VALUE = 512,
	IS_TYPE = 1024,
};

struct kind {
	uint16_t tag;
	uint16_t has;
	uint8_t encoding;
};

static const struct kind kinds[] = {
	{DW_TAG_base_type, HAS_NAME | HAS_SIZE | IS_TYPE, DW_ATE_signed},
	{DW_TAG_base_type, HAS_NAME | HAS_SIZE | IS_TYPE, DW_ATE_float},
	{DW_TAG_base_type, HAS_NAME | HAS_SIZE | IS_TYPE, DW_ATE_complex_float},
	{DW_TAG_pointer_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_reference_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_typedef, HAS_NAME | HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_const_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_volatile_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_restrict_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_atomic_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_structure_type, HAS_NAME | HAS_SIZE | HAS_FLAGS | IS_TYPE, 0},
	{DW_TAG_structure_type, HAS_NAME | HAS_SIZE | IS_TYPE, 0},
	{DW_TAG_class_type, HAS_NAME | HAS_SIZE | HAS_FLAGS | IS_TYPE, 0},
	{DW_TAG_union_type, HAS_NAME | HAS_SIZE | IS_TYPE, 0},
	{DW_TAG_array_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_subrange_type, HAS_COUNT, 0},
	{DW_TAG_enumeration_type, HAS_NAME | HAS_SIZE | IS_TYPE, 0},
	{DW_TAG_enumerator, HAS_NAME | HAS_VALUE, 0},
	{DW_TAG_subroutine_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_ptr_to_member_type, HAS_TYPE | IS_TYPE, 0},
	{DW_TAG_member, HAS_NAME | HAS_TYPE | HAS_OFFSET, 0},
	{DW_TAG_member, HAS_NAME | HAS_TYPE | HAS_OFFSET | HAS_FLAGS, 0},
	{DW_TAG_inheritance, HAS_TYPE | HAS_OFFSET, 0},
	{DW_TAG_variant_part, HAS_ORIGIN, 0},
	{DW_TAG_variant, HAS_VALUE, 0},
	{DW_TAG_subprogram, HAS_NAME | HAS_TYPE | HAS_CODE | HAS_FLAGS, 0},
	{DW_TAG_subprogram, HAS_NAME | HAS_TYPE | HAS_CODE, 0},
	{DW_TAG_subprogram, HAS_CODE | HAS_ORIGIN, 0},
	{DW_TAG_formal_parameter, HAS_NAME | HAS_TYPE | HAS_PLACE, 0},
	{DW_TAG_formal_parameter, HAS_NAME | HAS_TYPE | HAS_PLACE | HAS_FLAGS, 0},
	{DW_TAG_formal_parameter, HAS_ORIGIN | HAS_PLACE, 0},
	{DW_TAG_unspecified_parameters, 0, 0},
	{DW_TAG_inlined_subroutine, HAS_ORIGIN | HAS_CODE, 0},
	{DW_TAG_lexical_block, HAS_CODE, 0},
	{DW_TAG_namespace, HAS_NAME, 0},
	{DW_TAG_variable, HAS_NAME | HAS_TYPE | HAS_PLACE, 0},
	{DW_TAG_template_type_parameter, HAS_NAME | HAS_TYPE, 0},
	{DW_TAG_imported_unit, HAS_ORIGIN, 0},
};

/* What kinds usually stand in another: a byte of the tape picks from these, or any. */
static uint32_t kind_pick(struct writer *w, int parent)
{
	static const uint8_t in_struct[] = {20, 20, 21, 22, 23, 25, 10, 36}, in_array[] = {15},
			     in_enum[] = {17}, in_function[] = {28, 28, 29, 30, 32, 33, 35, 31},
			     in_variant[] = {20, 24};
	uint8_t how = tape_u8(w->t);

	if (how < 208)
		switch (parent) {
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type: return in_struct[how % ARRAY_LEN(in_struct)];
		case DW_TAG_array_type: return in_array[0];
		case DW_TAG_enumeration_type: return in_enum[0];
		case DW_TAG_subprogram:
		case DW_TAG_subroutine_type:
		case DW_TAG_inlined_subroutine: return in_function[how % ARRAY_LEN(in_function)];
		case DW_TAG_variant_part:
		case DW_TAG_variant: return in_variant[how % ARRAY_LEN(in_variant)];
		default: break;
		}
	return how % ARRAY_LEN(kinds);
}

static void code_attrs(struct writer *w)
{
	uint8_t how = tape_u8(w->t);

	if (how % 8 == 7)
		return; /* a function without code: inlined everywhere */
	if (w->version == 5 && how & 32)
		attr_indexed_address(w, DW_AT_low_pc, how);
	else
		attr_address(w, DW_AT_low_pc, CODE_ADDR + (how & 63) * 16u);
	attr_number(w, DW_AT_high_pc, 16 + how / 64 * 16u);
}

static void flag_attrs(struct writer *w)
{
	uint8_t how = tape_u8(w->t);

	if (how & 1)
		attr_flag(w, DW_AT_external);
	if (how & 2)
		attr_flag(w, DW_AT_declaration);
	if (how & 4)
		attr_number(w, DW_AT_calling_convention, 4 + how / 64 % 2);
	if (how & 8)
		attr_flag(w, DW_AT_artificial);
	if (how & 16)
		attr_number(w, DW_AT_inline, how / 64);
	if (how & 32)
		attr_ref(w, DW_AT_signature, true);
	if (how & 64)
		attr_number(w, DW_AT_bit_size, tape_u8(w->t));
	if (how & 128)
		attr_number(w, how & 1 ? DW_AT_variable_parameter : DW_AT_data_bit_offset,
			    tape_u8(w->t));
}

static void offset_attr(struct writer *w)
{
	uint8_t how = tape_u8(w->t);

	if (how % 16 == 15) /* as DWARF 2 has it */
		attr_place(w, DW_AT_data_member_location);
	else
		attr_number(w, DW_AT_data_member_location, how % 16 * 4u);
}

static void attrs_put(struct writer *w, const struct kind *k)
{
	static const uint8_t sizes[] = {4, 8, 1, 2, 16, 24, 0, 32};

	if (k->has & HAS_NAME)
		attr_text(w, DW_AT_name);
	if (k->has & HAS_SIZE)
		attr_number(w, DW_AT_byte_size, sizes[tape_u8(w->t) % ARRAY_LEN(sizes)]);
	if (k->encoding)
		attr_number(w, DW_AT_encoding, k->encoding);
	if ((k->has & HAS_TYPE) && tape_u8(w->t) % 16 != 15)
		attr_ref(w, DW_AT_type, true);
	if (k->has & HAS_OFFSET)
		offset_attr(w);
	if (k->has & HAS_CODE)
		code_attrs(w);
	if ((k->has & HAS_PLACE) && tape_u8(w->t) % 4 != 3)
		attr_place(w, DW_AT_location);
	if (k->has & HAS_ORIGIN)
		attr_ref(w,
			 k->tag == DW_TAG_variant_part	  ? DW_AT_discr
			 : k->tag == DW_TAG_imported_unit ? DW_AT_import
			 : tape_u8(w->t) % 4 == 3	  ? DW_AT_specification
							  : DW_AT_abstract_origin,
			 false);
	if (k->has & HAS_COUNT)
		attr_number(w, tape_u8(w->t) % 2 ? DW_AT_count : DW_AT_upper_bound, tape_u8(w->t));
	if (k->has & HAS_VALUE)
		attr_number(w, k->tag == DW_TAG_enumerator ? DW_AT_const_value : DW_AT_discr_value,
			    tape_u8(w->t));
	if (k->has & HAS_FLAGS)
		flag_attrs(w);
}

static void die_begin(struct writer *w, uint32_t tag, bool has_children)
{
	vec_push(&w->dies, (uint32_t)w->out->info.len);
	bytes_put_uleb(&w->out->info, ++w->ncodes);
	bytes_put_uleb(&w->out->abbrev, w->ncodes);
	bytes_put_uleb(&w->out->abbrev, tag);
	bytes_put(&w->out->abbrev, has_children, 1);
}

static void dies_put(struct writer *w, int parent, int depth)
{
	uint32_t n = depth ? tape_u8(w->t) % 6 : DIES_MAX;

	for (uint32_t i = 0; i < n && w->dies.len < DIES_MAX && w->t->p < w->t->end; i++) {
		const struct kind *k = &kinds[kind_pick(w, parent)];
		bool has_children = depth < DEPTH_MAX && tape_u8(w->t) % 4 != 3;

		if (k->has & IS_TYPE)
			vec_push(&w->types, (uint32_t)w->out->info.len);
		die_begin(w, k->tag, has_children);
		attrs_put(w, k);
		bytes_put(&w->out->abbrev, 0, 2);
		if (!has_children)
			continue;
		dies_put(w, k->tag, depth + 1);
		bytes_put(&w->out->info, 0, 1);
	}
}

/* ---- units --------------------------------------------------------------------------------------
 */

static void ranges_put(struct writer *w)
{
	struct strbuf *r = &w->out->ranges;
	uint32_t n = 1 + tape_u8(w->t) % 4;

	attr_name(w, DW_AT_ranges, DW_FORM_sec_offset);
	bytes_put(&w->out->info, r->len, 4);
	for (uint32_t i = 0; i < n; i++) {
		uint64_t at = tape_u8(w->t) * 4u;

		bytes_put(r, at, w->word);
		bytes_put(r, at + 1 + tape_number(w->t), w->word);
	}
	bytes_put(r, 0, w->word);
	bytes_put(r, 0, w->word);
}

/* The same of DWARF 5: a list by its offset, or by the number of the only offset in the head. */
static void rnglist_put(struct writer *w)
{
	struct strbuf *r = &w->out->rnglists;
	uint32_t n = 1 + tape_u8(w->t) % 4;

	if (n % 2) {
		attr_offset(w, DW_AT_ranges, r->len);
	} else {
		attr_name(w, DW_AT_ranges, DW_FORM_rnglistx);
		bytes_put_uleb(&w->out->info, tape_u8(w->t) % 32 == 31 ? tape_number(w->t) : 0);
	}
	for (uint32_t i = 0; i < n; i++)
		list_range_put(w, r, false);
	bytes_put(r, DW_RLE_end_of_list, 1);
}

/* Where the tables of DWARF 5 begin. */
static void bases_put(struct writer *w)
{
	uint8_t how = tape_u8(w->t);

	attr_offset(w, DW_AT_str_offsets_base, how % 32 == 31 ? tape_number(w->t) : TABLE_HEAD);
	attr_offset(w, DW_AT_addr_base, how % 32 == 30 ? tape_number(w->t) : TABLE_HEAD);
	attr_offset(w, DW_AT_rnglists_base, how % 32 == 29 ? tape_number(w->t) : LISTS_HEAD);
	attr_offset(w, DW_AT_loclists_base, how % 32 == 28 ? tape_number(w->t) : LISTS_HEAD);
}

static void unit_die_put(struct writer *w)
{
	static const uint16_t languages[] = {DW_LANG_C99, DW_LANG_C_plus_plus_14, DW_LANG_Rust,
					     DW_LANG_Go};
	uint8_t how = tape_u8(w->t);

	die_begin(w, how / 4 % 16 == 15 ? DW_TAG_partial_unit : DW_TAG_compile_unit, true);
	if (w->version == 5)
		bases_put(w); /* before what uses them */
	attr_name(w, DW_AT_language, DW_FORM_data2);
	bytes_put(&w->out->info, languages[how % ARRAY_LEN(languages)], 2);
	attr_text(w, DW_AT_name);
	attr_text(w, DW_AT_comp_dir);
	attr_address(w, DW_AT_low_pc, CODE_ADDR);
	if (how >= 224 && w->version < 5)
		ranges_put(w);
	else if (how >= 160 && w->version == 5)
		rnglist_put(w);
	else
		attr_number(w, DW_AT_high_pc, CODE_SIZE);
	attr_offset(w, DW_AT_stmt_list, 0);
	bytes_put(&w->out->abbrev, 0, 2);
}

/* Now that all DIEs are known, references get what they refer to. */
static void fixups_apply(struct writer *w, bool is_near)
{
	uint32_t first_die = is_near ? w->first_die : 0, first_type = is_near ? w->first_type : 0;

	for (uint32_t i = 0; i < w->fixups.len; i++) {
		const struct fixup *f = &w->fixups.data[i];
		uint32_t ntypes = w->types.len - first_type, ndies = w->dies.len - first_die, to;

		if (f->is_near != is_near || (is_near && f->at < w->unit))
			continue;
		if (f->is_type && ntypes)
			to = w->types.data[first_type + f->pick % ntypes];
		else
			to = w->dies.data[first_die + f->pick % ndies];
		bytes_patch(&w->out->info, f->at, is_near ? to - w->unit : to, 4);
	}
}

static void unit_put(struct writer *w)
{
	struct strbuf *info = &w->out->info;
	uint8_t how = tape_u8(w->t);
	bool is_type = how % 16 == 14;

	w->unit = (uint32_t)info->len;
	w->first_die = w->dies.len;
	w->first_type = w->types.len;
	w->ncodes = 0;
	w->version = how & 1 && !is_type ? 4 : 5;
	bytes_put(info, 0, 4);
	bytes_put(info, w->version, 2);
	if (w->version == 5)
		bytes_put(info, w->word << 8 | (is_type ? DW_UT_type : DW_UT_compile), 2);
	bytes_put(info, w->out->abbrev.len, 4);
	if (w->version == 4)
		bytes_put(info, w->word, 1);
	if (is_type) {
		bytes_put(info, how / 64 % 3, 8);
		bytes_put(info, tape_u8(w->t), 4);
	}
	unit_die_put(w);
	dies_put(w, DW_TAG_compile_unit, 0);
	bytes_put(info, 0, 1);
	bytes_put(&w->out->abbrev, 0, 1);
	bytes_patch(info, w->unit, how % 32 == 28 ? tape_number(w->t) : info->len - w->unit - 4, 4);
	fixups_apply(w, true);
}

/* ---- all of it ------------------------------------------------------------------------------
 */

void dwarf_make(struct tape *t, uint32_t word, struct dwarf_sections *out)
{
	struct tape lines = tape_cut(t);
	struct writer w = {.t = t, .out = out, .word = word};
	uint32_t n = 0;

	for (int i = 0; i < 8; i++)
		bytes_put_name(&out->str, tape_name(&lines));
	dwarf_tables_make(&lines, word, out);
	dwarf_lines_make(&lines, word, out);
	do {
		struct tape own = tape_cut(t);

		w.t = &own; /* each unit has a stretch, so that the units are not one large one */
		unit_put(&w);
	} while (++n < UNITS_MAX && t->p < t->end);
	fixups_apply(&w, false);
	bytes_patch(&out->loclists, 0, out->loclists.len - 4, 4);
	bytes_patch(&out->rnglists, 0, out->rnglists.len - 4, 4);
	vec_deinit(&w.dies);
	vec_deinit(&w.types);
	vec_deinit(&w.fixups);
}
