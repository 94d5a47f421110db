/* SPDX-License-Identifier: MIT */
/*
 * Decodes the most common forms of instructions by a table, ten times as fast as the library that
 * knows all of them.
 *
 * To attach to a program means to decode all of its code, which is what takes longest. Of that code
 * nine tenths and more are instructions of a few simple forms: prefixes, one or two bytes of
 * opcode, an operand, a number. Whatever is rare, or is an instruction with some operands only, is
 * left to the library. tests/unit/arch/form.c compares each row with it.
 *
 * To add a form: a row in the table of its opcode. One that holds for some values of the field
 * `reg` only has FORM_GROUP, and these values are listed in form_has_reg().
 *
 * Facts    Intel SDM vol. 2, 2.1 (the format of instructions) and appendix A (opcode maps).
 */
#pragma once

#include "base/base.h"

#define FORM_LEN_MAX 15 /* Intel SDM vol. 2, 2.3.11 */

/* With which of the prefixes that choose an operation a row holds. */
#define FORM_BARE 0x0001u
#define FORM_66	  0x0002u
#define FORM_F3	  0x0004u
#define FORM_F2	  0x0008u
/* The operands that stand behind the opcode. */
#define FORM_MODRM    0x0010u
#define FORM_IMM8     0x0020u /* a number of 1 byte, */
#define FORM_IMM      0x0040u /* of 4 bytes, with 66 of 2, */
#define FORM_IMM_REG  0x0080u /* of 4, with 66 of 2, with REX.W of 8 */
#define FORM_DISTANCE 0x0100u /* it is the distance to where control goes: no prefix before it */
#define FORM_GROUP    0x0200u /* only with some values of the field reg */
#define FORM_MEMORY   0x0400u /* only with an operand in memory */
#define FORM_NO_REX   0x0800u

#define FORM_INT (FORM_BARE | FORM_66)					/* operations on integers */
#define FORM_SSE (FORM_BARE | FORM_66 | FORM_F3 | FORM_F2 | FORM_MODRM) /* all four */
#define FORM_MM	 (FORM_BARE | FORM_66 | FORM_MODRM)

struct form {
	uint8_t len;
	bool is_0f; /* the opcode has two bytes, of which this is the first one */
	uint8_t opcode;
	uint8_t prefix; /* 0x66, 0xf2, 0xf3 or 0 */
	uint8_t rex;	/* or 0 */
	uint8_t modrm;	/* or 0 */
	uint8_t imm;	/* bytes of the number, which are the last ones */
	bool has_modrm;
	bool is_distance; /* the number is a distance from the instruction's end */
};

static const uint16_t form_rows[256] = {
	[0x00 ... 0x03] = FORM_INT | FORM_MODRM, /* add */
	[0x04] = FORM_INT | FORM_IMM8,
	[0x05] = FORM_INT | FORM_IMM,
	[0x08 ... 0x0b] = FORM_INT | FORM_MODRM, /* or */
	[0x0c] = FORM_INT | FORM_IMM8,
	[0x0d] = FORM_INT | FORM_IMM,
	[0x10 ... 0x13] = FORM_INT | FORM_MODRM, /* adc */
	[0x14] = FORM_INT | FORM_IMM8,
	[0x15] = FORM_INT | FORM_IMM,
	[0x18 ... 0x1b] = FORM_INT | FORM_MODRM, /* sbb */
	[0x1c] = FORM_INT | FORM_IMM8,
	[0x1d] = FORM_INT | FORM_IMM,
	[0x20 ... 0x23] = FORM_INT | FORM_MODRM, /* and */
	[0x24] = FORM_INT | FORM_IMM8,
	[0x25] = FORM_INT | FORM_IMM,
	[0x28 ... 0x2b] = FORM_INT | FORM_MODRM, /* sub */
	[0x2c] = FORM_INT | FORM_IMM8,
	[0x2d] = FORM_INT | FORM_IMM,
	[0x30 ... 0x33] = FORM_INT | FORM_MODRM, /* xor */
	[0x34] = FORM_INT | FORM_IMM8,
	[0x35] = FORM_INT | FORM_IMM,
	[0x38 ... 0x3b] = FORM_INT | FORM_MODRM, /* cmp */
	[0x3c] = FORM_INT | FORM_IMM8,
	[0x3d] = FORM_INT | FORM_IMM,
	[0x50 ... 0x5f] = FORM_INT,				 /* push, pop */
	[0x63] = FORM_INT | FORM_MODRM,				 /* movsxd */
	[0x68] = FORM_INT | FORM_IMM,				 /* push */
	[0x69] = FORM_INT | FORM_MODRM | FORM_IMM,		 /* imul */
	[0x6a] = FORM_INT | FORM_IMM8,				 /* push */
	[0x6b] = FORM_INT | FORM_MODRM | FORM_IMM8,		 /* imul */
	[0x70 ... 0x7f] = FORM_BARE | FORM_IMM8 | FORM_DISTANCE, /* jcc */
	[0x80] = FORM_INT | FORM_MODRM | FORM_IMM8,		 /* add to cmp */
	[0x81] = FORM_INT | FORM_MODRM | FORM_IMM,
	[0x83] = FORM_INT | FORM_MODRM | FORM_IMM8,
	[0x84 ... 0x8b] = FORM_INT | FORM_MODRM,      /* test, xchg, mov */
	[0x8d] = FORM_INT | FORM_MODRM | FORM_MEMORY, /* lea */
	[0x90] = FORM_INT | FORM_NO_REX,	      /* nop */
	[0x98 ... 0x99] = FORM_INT,		      /* cbw, cwd */
	[0xa8] = FORM_INT | FORM_IMM8,		      /* test */
	[0xa9] = FORM_INT | FORM_IMM,
	[0xb0 ... 0xb7] = FORM_INT | FORM_IMM8, /* mov */
	[0xb8 ... 0xbf] = FORM_INT | FORM_IMM_REG,
	[0xc0 ... 0xc1] = FORM_INT | FORM_MODRM | FORM_IMM8,	 /* rol to sar */
	[0xc3] = FORM_BARE,					 /* ret */
	[0xc6] = FORM_INT | FORM_MODRM | FORM_IMM8 | FORM_GROUP, /* mov */
	[0xc7] = FORM_INT | FORM_MODRM | FORM_IMM | FORM_GROUP,
	[0xc9] = FORM_BARE,					/* leave */
	[0xcc] = FORM_BARE,					/* int3 */
	[0xd0 ... 0xd3] = FORM_INT | FORM_MODRM,		/* rol to sar */
	[0xe8 ... 0xe9] = FORM_BARE | FORM_IMM | FORM_DISTANCE, /* call, jmp */
	[0xeb] = FORM_BARE | FORM_IMM8 | FORM_DISTANCE,
	[0xf6 ... 0xf7] = FORM_INT | FORM_MODRM,	      /* test, not, neg, mul, div */
	[0xfe ... 0xff] = FORM_INT | FORM_MODRM | FORM_GROUP, /* inc, dec, call, push */
};

static const uint16_t form_rows_0f[256] = {
	[0x0b] = FORM_BARE,					/* ud2 */
	[0x10 ... 0x11] = FORM_SSE,				/* movups */
	[0x14 ... 0x15] = FORM_MM,				/* unpcklps */
	[0x1f] = FORM_MM | FORM_GROUP,				/* nop */
	[0x28 ... 0x29] = FORM_MM,				/* movaps */
	[0x2a] = FORM_SSE,					/* cvtsi2ss */
	[0x2c ... 0x2d] = FORM_SSE,				/* cvttss2si */
	[0x2e ... 0x2f] = FORM_MM,				/* ucomiss */
	[0x40 ... 0x4f] = FORM_MM,				/* cmovcc */
	[0x51] = FORM_SSE,					/* sqrtps */
	[0x54 ... 0x57] = FORM_MM,				/* andps to xorps */
	[0x58 ... 0x5a] = FORM_SSE,				/* addps, mulps, cvtps2pd */
	[0x5c ... 0x5f] = FORM_SSE,				/* subps to maxps */
	[0x60 ... 0x6b] = FORM_MM,				/* punpcklbw to packssdw */
	[0x6c ... 0x6d] = FORM_66 | FORM_MODRM,			/* punpcklqdq */
	[0x6e] = FORM_MM,					/* movd */
	[0x6f] = FORM_MM | FORM_F3,				/* movdqa */
	[0x70] = FORM_SSE | FORM_IMM8,				/* pshufd */
	[0x74 ... 0x76] = FORM_MM,				/* pcmpeqb */
	[0x7e ... 0x7f] = FORM_MM | FORM_F3,			/* movd, movdqa */
	[0x80 ... 0x8f] = FORM_BARE | FORM_IMM | FORM_DISTANCE, /* jcc */
	[0x90 ... 0x9f] = FORM_MM,				/* setcc */
	[0xa3] = FORM_MM,					/* bt */
	[0xa4] = FORM_MM | FORM_IMM8,				/* shld */
	[0xa5] = FORM_MM,
	[0xab] = FORM_MM,	      /* bts */
	[0xac] = FORM_MM | FORM_IMM8, /* shrd */
	[0xad] = FORM_MM,
	[0xaf] = FORM_MM,			   /* imul */
	[0xb3] = FORM_MM,			   /* btr */
	[0xb6 ... 0xb7] = FORM_MM,		   /* movzx */
	[0xba] = FORM_MM | FORM_IMM8 | FORM_GROUP, /* bt to btc */
	[0xbc ... 0xbd] = FORM_MM | FORM_F3,	   /* bsf, tzcnt */
	[0xbe ... 0xbf] = FORM_MM,		   /* movsx */
	[0xc6] = FORM_MM | FORM_IMM8,		   /* shufps */
	[0xc8 ... 0xcf] = FORM_INT,		   /* bswap */
	[0xd1 ... 0xd5] = FORM_MM,		   /* psrlw to pmullw */
	[0xd6] = FORM_66 | FORM_MODRM,		   /* movq */
	[0xd8 ... 0xe5] = FORM_MM,		   /* psubusb to pmulhw */
	[0xe8 ... 0xef] = FORM_MM,		   /* psubsb to pxor */
	[0xf1 ... 0xf6] = FORM_MM,		   /* psllw to psadbw */
	[0xf8 ... 0xfe] = FORM_MM,		   /* psubb to paddd */
};

/* Whether an opcode that is a group has this operation. */
static inline bool form_has_reg(bool is_0f, uint8_t opcode, uint32_t reg)
{
	if (is_0f)
		return opcode == 0xba ? reg >= 4 : reg == 0; /* else nop */
	switch (opcode) {
	case 0xff: return reg <= 2 || reg == 6; /* jumps, and far calls, are not here */
	case 0xfe: return reg <= 1;
	default: return reg == 0; /* c6, c7 */
	}
}

/* The bytes of an operand: ModRM, SIB and the displacement. */
static inline uint32_t form_operand_size(const uint8_t *modrm, uint64_t left)
{
	uint32_t mod = *modrm >> 6, rm = *modrm & 7, size = 1;

	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (left < 2)
			return FORM_LEN_MAX + 1;
		size = 2;
		rm = modrm[1] & 7;
	}
	if (mod == 0)
		return size + (rm == 5 ? 4 : 0);
	return size + (mod == 1 ? 1 : 4);
}

static inline uint8_t form_imm_size(const struct form *f, uint32_t row)
{
	if (row & FORM_IMM8)
		return 1;
	if (row & FORM_IMM_REG)
		return f->rex & 8 ? 8 : f->prefix ? 2 : 4;
	if (row & FORM_IMM)
		return f->prefix ? 2 : 4;
	/* of f6 and f7, only test has one */
	if (!f->is_0f && (f->opcode & 0xfe) == 0xf6 && !(f->modrm & 0x30))
		return f->opcode == 0xf6 ? 1 : f->prefix ? 2 : 4;
	return 0;
}

/* Reads the prefixes; returns how many bytes they have; size: something unusual is among them. */
static inline uint32_t form_prefixes_read(const uint8_t *code, uint32_t size, struct form *f,
					  bool *ret_has_segment)
{
	uint32_t at = 0;

	for (; at < size; at++)
		switch (code[at]) {
		case 0x66:
			if (f->prefix && f->prefix != 0x66)
				return size; /* with f2 or f3: it depends */
			f->prefix = 0x66;
			break;
		case 0xf2:
		case 0xf3:
			if (f->prefix)
				return size;
			f->prefix = code[at];
			break;
		case 0x2e: /* segments */
		case 0x64:
		case 0x65: *ret_has_segment = true; break;
		case 0x40 ... 0x4f: f->rex = code[at++]; return at;
		default: return at;
		}
	return size;
}

/*
 * Decodes the first instruction of size bytes of 64-bit code. False: it may be one of another form,
 * or none.
 */
static inline bool form_read(const uint8_t *code, uint64_t size, struct form *ret)
{
	uint32_t most = (uint32_t)MIN(size, (uint64_t)FORM_LEN_MAX), row, holds, at;
	struct form f = {0};
	bool has_segment = false;

	at = form_prefixes_read(code, most, &f, &has_segment);
	if (at >= most)
		return false;
	f.is_0f = code[at] == 0x0f;
	if (f.is_0f && ++at >= most)
		return false;
	f.opcode = code[at++];
	row = f.is_0f ? form_rows_0f[f.opcode] : form_rows[f.opcode];
	holds = f.prefix == 0	   ? FORM_BARE
		: f.prefix == 0x66 ? FORM_66
		: f.prefix == 0xf3 ? FORM_F3
				   : FORM_F2;
	if (!(row & holds) || ((row & (FORM_DISTANCE | FORM_NO_REX)) && f.rex) ||
	    ((row & FORM_DISTANCE) && has_segment) || (!f.is_0f && f.prefix && (f.rex & 8)))
		return false;
	if (row & FORM_MODRM) {
		if (at >= most)
			return false;
		f.has_modrm = true;
		f.modrm = code[at];
		if (((row & FORM_GROUP) && !form_has_reg(f.is_0f, f.opcode, f.modrm >> 3 & 7)) ||
		    ((row & FORM_MEMORY) && f.modrm >= 0xc0))
			return false;
		at += form_operand_size(code + at, most - at);
	}
	f.imm = form_imm_size(&f, row);
	f.is_distance = row & FORM_DISTANCE;
	at += f.imm;
	if (at > most)
		return false;
	f.len = (uint8_t)at;
	*ret = f;
	return true;
}

/* The distance at the end of an instruction that has one. */
static inline int64_t form_distance(const struct form *f, const uint8_t *code)
{
	int32_t distance;

	if (f->imm == 1)
		return (int8_t)code[f->len - 1];
	memcpy(&distance, code + f->len - sizeof(distance), sizeof(distance));
	return distance;
}

/* Whether the operand is in memory, at a distance from the instruction's end; *ret: the distance.
 */
static inline bool form_has_rip(const struct form *f, const uint8_t *code, int64_t *ret)
{
	int32_t distance;

	if (!f->has_modrm || (f->modrm & 0xc7) != 5)
		return false;
	memcpy(&distance, code + f->len - f->imm - sizeof(distance), sizeof(distance));
	*ret = distance;
	return true;
}
