/* SPDX-License-Identifier: MIT */
/* Call frame information of the grammar: CIEs, FDEs, their programs. */
#include <dwarf.h>

#include "elf_make.h"

#define CIES_MAX 8

struct frames {
	struct tape *t;
	struct strbuf *out;
	uint64_t addr; /* of the section */
	bool is_debug;
	size_t cies[CIES_MAX];
	uint8_t pointers[CIES_MAX]; /* DW_EH_PE_* */
	bool has_data[CIES_MAX];
	uint32_t ncies;
};

/* An expression, mostly of the forms that rows can be made of. */
static void expr_put(struct frames *f, struct strbuf *out)
{
	static const struct {
		uint8_t len, ops[11];
	} known[] = {
		{3, {DW_OP_breg6, 0x78, DW_OP_deref}},
		{5, {DW_OP_breg7, 0x08, DW_OP_deref, DW_OP_plus_uconst, 8}},
		{4, {DW_OP_breg7, 0xa0, 0x01, DW_OP_deref}},
		{2, {DW_OP_breg6, 0}},
		{11,
		 {DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and, DW_OP_lit10, DW_OP_ge,
		  DW_OP_lit3, DW_OP_shl, DW_OP_plus}},
	};
	uint8_t how = tape_u8(f->t);
	uint32_t len = known[how % ARRAY_LEN(known)].len;

	if (how >= 192) {
		bytes_put_uleb(out, how % 8);
		for (uint32_t i = 0; i < how % 8; i++)
			bytes_put(out, tape_u8(f->t), 1);
		return;
	}
	bytes_put_uleb(out, len);
	strbuf_add(out, (const char *)known[how % ARRAY_LEN(known)].ops, len);
}

static void reg_put(struct frames *f, struct strbuf *out)
{
	static const uint8_t regs[] = {6, 7, 16, 3, 10};
	uint8_t how = tape_u8(f->t);

	bytes_put_uleb(out, how < 240 ? regs[how % ARRAY_LEN(regs)] : tape_number(f->t));
}

/* A number of a rule: mostly a small one. */
static uint64_t offset_of(struct frames *f)
{
	uint8_t how = tape_u8(f->t);

	return how < 224 ? how % 8u : tape_number(f->t);
}

static void insn_put(struct frames *f, struct strbuf *out)
{
	static const uint8_t with_reg[] = {DW_CFA_def_cfa_register, DW_CFA_undefined,
					   DW_CFA_same_value, DW_CFA_restore_extended};
	static const uint8_t with_both[] = {DW_CFA_def_cfa, DW_CFA_offset_extended, DW_CFA_register,
					    DW_CFA_val_offset, DW_CFA_GNU_negative_offset_extended};
	static const uint8_t with_signed[] = {DW_CFA_def_cfa_sf, DW_CFA_offset_extended_sf,
					      DW_CFA_val_offset_sf};
	static const uint8_t alone[] = {DW_CFA_remember_state, DW_CFA_restore_state, DW_CFA_nop};
	uint8_t how = tape_u8(f->t), pick = how / 16;

	switch (how % 16) {
	case 0: bytes_put(out, DW_CFA_advance_loc | (pick + 1u), 1); return;
	case 1:
		bytes_put(out, DW_CFA_advance_loc1 + pick % 2u, 1);
		bytes_put(out, tape_u8(f->t), 1 + pick % 2u);
		return;
	case 2:
		bytes_put(out, DW_CFA_advance_loc4, 1);
		bytes_put(out, tape_number(f->t), 4);
		return;
	case 3:
		bytes_put(out, with_reg[pick % ARRAY_LEN(with_reg)], 1);
		reg_put(f, out);
		return;
	case 4:
	case 5:
		bytes_put(out, with_both[pick % ARRAY_LEN(with_both)], 1);
		reg_put(f, out);
		bytes_put_uleb(out, offset_of(f));
		return;
	case 6:
		bytes_put(out, with_signed[pick % ARRAY_LEN(with_signed)], 1);
		reg_put(f, out);
		bytes_put_sleb(out, (int64_t)-offset_of(f));
		return;
	case 7:
		bytes_put(out, DW_CFA_def_cfa_offset, 1);
		bytes_put_uleb(out, offset_of(f) * 8);
		return;
	case 8:
		bytes_put(out, DW_CFA_def_cfa_offset_sf, 1);
		bytes_put_sleb(out, (int64_t)-offset_of(f));
		return;
	case 9:
		bytes_put(out, DW_CFA_def_cfa_expression, 1);
		expr_put(f, out);
		return;
	case 10:
		bytes_put(out, pick % 2 ? DW_CFA_expression : DW_CFA_val_expression, 1);
		reg_put(f, out);
		expr_put(f, out);
		return;
	case 11: bytes_put(out, alone[pick % ARRAY_LEN(alone)], 1); return;
	case 12:
		bytes_put(out, DW_CFA_offset | (pick % 2 ? 6u : 16u), 1);
		bytes_put_uleb(out, offset_of(f));
		return;
	case 13: bytes_put(out, DW_CFA_restore | (pick % 2 ? 6u : 16u), 1); return;
	case 14:
		bytes_put(out, DW_CFA_GNU_args_size, 1);
		bytes_put_uleb(out, offset_of(f));
		return;
	default: bytes_put(out, tape_u8(f->t), 1); return;
	}
}

static void program_put(struct frames *f, struct strbuf *out)
{
	uint32_t n = tape_u8(f->t) % 16;

	for (uint32_t i = 0; i < n; i++)
		insn_put(f, out);
}

/* Length and body; now and then a length that is another one. */
static void entry_put(struct frames *f, struct strbuf *body)
{
	uint8_t how = tape_u8(f->t);

	if (how % 32 == 30)
		bytes_put(f->out, UINT32_MAX, 4);
	bytes_put(f->out, how % 32 == 31 ? tape_number(f->t) : body->len, how % 32 == 30 ? 8 : 4);
	strbuf_add(f->out, strbuf_text(body), body->len);
	strbuf_deinit(body);
}

static void cie_put(struct frames *f)
{
	static const char *const augmentations[] =
		{"zR", "", "zPLR", "zRS", "zRB", "eh", "zzzzzzzzzzzzzzzzzzzz"};
	static const uint8_t forms[] = {DW_EH_PE_pcrel | DW_EH_PE_sdata4,
					DW_EH_PE_absptr,
					DW_EH_PE_udata4,
					DW_EH_PE_udata2,
					DW_EH_PE_sdata2,
					DW_EH_PE_uleb128,
					DW_EH_PE_sleb128,
					0x0f};
	uint8_t how = tape_u8(f->t);
	const char *aug = augmentations[f->is_debug	? (how % 8 ? 1 : 0)
					: how % 32 < 24 ? 0
							: how % ARRAY_LEN(augmentations)];
	uint8_t form = !*aug ? DW_EH_PE_absptr : how < 160 ? forms[0] : forms[how % 8];
	uint8_t version = f->is_debug && how & 1 ? 4
			  : how % 64 == 63	 ? tape_u8(f->t)
			  : how & 2		 ? 3
						 : 1;
	struct strbuf body = {0};

	bytes_put(&body, f->is_debug ? UINT32_MAX : 0, 4);
	bytes_put(&body, version, 1);
	bytes_put_name(&body, aug);
	if (version == 4)
		bytes_put(&body, 8, 2); /* of an address, of a segment's number */
	bytes_put_uleb(&body, how % 16 == 15 ? tape_number(f->t) : 1);
	bytes_put_sleb(&body, how % 16 == 14 ? (int64_t)tape_number(f->t) : -8);
	bytes_put(&body, 16, 1); /* the return address */
	if (*aug == 'z') {
		bytes_put_uleb(&body, strlen(aug) - 1);
		for (const char *p = aug + 1; *p && *p != 'z'; p++) {
			if (*p == 'P') {
				bytes_put(&body, DW_EH_PE_udata4, 1);
				bytes_put(&body, 0, 4);
			} else if (*p != 'S') {
				bytes_put(&body, *p == 'R' ? form : 0, 1);
			}
		}
	}
	if (how % 4) { /* as at the first instruction of a function */
		bytes_put(&body, DW_CFA_def_cfa, 1);
		bytes_put(&body, 0x0807, 2);
		bytes_put(&body, DW_CFA_offset | 16u, 1);
		bytes_put(&body, 1, 1);
	}
	program_put(f, &body);
	f->pointers[f->ncies % CIES_MAX] = form;
	f->has_data[f->ncies % CIES_MAX] = *aug == 'z';
	f->cies[f->ncies++ % CIES_MAX] = f->out->len;
	entry_put(f, &body);
}

static void pointer_put(struct strbuf *body, uint8_t form, uint64_t v)
{
	switch (form & 0x0f) {
	case DW_EH_PE_udata2:
	case DW_EH_PE_sdata2: bytes_put(body, v, 2); return;
	case DW_EH_PE_udata4: bytes_put(body, v, 4); return;
	case DW_EH_PE_sdata4: bytes_put(body, v, 4); return;
	case DW_EH_PE_uleb128: bytes_put_uleb(body, v); return;
	case DW_EH_PE_sleb128: bytes_put_sleb(body, (int64_t)v); return;
	default: bytes_put(body, v, 8); return;
	}
}

static void fde_put(struct frames *f)
{
	uint8_t how = tape_u8(f->t);
	uint32_t which = how % MIN(MAX(f->ncies, 1u), (uint32_t)CIES_MAX);
	uint64_t at = f->out->len + 4, pc = CODE_ADDR + tape_u8(f->t) * 4u;
	uint64_t size = how % 16 == 15 ? tape_number(f->t) : 1u + tape_u8(f->t) % 64u;
	uint8_t form = f->pointers[which];
	struct strbuf body = {0};

	if (how % 32 == 31)
		bytes_put(&body, tape_number(f->t), 4);
	else
		bytes_put(&body, f->is_debug ? f->cies[which] : at - f->cies[which], 4);
	pointer_put(&body, form, (form & 0x70) == DW_EH_PE_pcrel ? pc - (f->addr + at + 4) : pc);
	pointer_put(&body, form, size);
	if (f->has_data[which])
		bytes_put_uleb(&body, 0);
	program_put(f, &body);
	entry_put(f, &body);
}

void frames_make(struct tape *t, uint64_t addr, bool is_debug, struct strbuf *out)
{
	struct frames f = {.t = t, .out = out, .addr = addr, .is_debug = is_debug};

	cie_put(&f);
	while (t->p < t->end)
		if (tape_u8(t) % 8 == 7)
			cie_put(&f);
		else
			fde_put(&f);
	if (!is_debug)
		bytes_put(out, 0, 4);
}
