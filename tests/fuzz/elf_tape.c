/* SPDX-License-Identifier: MIT */
/* The tape of choices, and the bytes that it is made into. */
#include "elf_make.h"

/* ---- the tape -------------------------------------------------------------------------------- */

uint8_t tape_u8(struct tape *t)
{
	return t->p < t->end ? *t->p++ : 0;
}

uint32_t tape_u16(struct tape *t)
{
	uint32_t low = tape_u8(t);

	return low | (uint32_t)tape_u8(t) << 8;
}

uint64_t tape_number(struct tape *t)
{
	static const uint64_t boundaries[] = {
		0,
		1,
		7,
		0x7f,
		0x80,
		0xffff,
		0x7fffffff,
		0x80000000,
		0xffffffff,
		0x100000000,
		(uint64_t)6 << 30,
		(uint64_t)1 << 62,
		INT64_MAX,
		(uint64_t)1 << 63,
		UINT64_MAX - 7,
		UINT64_MAX,
	};
	uint8_t how = tape_u8(t);
	uint64_t v = 0;

	switch (how % 6) {
	case 0: return how / 6;
	case 1: return tape_u8(t);
	case 2: return CODE_ADDR + tape_u16(t) % (CODE_SIZE + 64);
	case 3: return boundaries[how / 6 % ARRAY_LEN(boundaries)];
	case 4: return tape_u16(t);
	default: break;
	}
	for (int i = 0; i < 8; i++)
		v = v << 8 | tape_u8(t);
	return v;
}

const char *tape_name(struct tape *t)
{
	static const char *const names[] = {
		"main",
		"r",
		"int",
		"",
		"char",
		"long unsigned int",
		"size_t",
		"_init",
		"__GI_memcpy",
		"malloc",
		".Lmark",
		"$x",
		"f.cold",
		"runtime.text",
		"runtime.etext",
		"main.work",
		"main.work.abi0",
		"memcpy@@GLIBC_2.14",
		"_ZN5shape4areaEv",
		"_ZNSt6vectorIiSaIiEE9push_backEOi",
		"_ZN4core3fmt5write17h0123456789abcdefE",
		"_RNvC5crate4work",
		"~shape",
		"shape",
		"&str",
		"&mut str",
		"data_ptr",
		"length",
		"__0",
		"Some",
		"()",
		"string",
		"[]uint8",
		"str",
		"len",
		"\033[2Jred",
		"bool",
		"u128",
		"$work",
		"__this",
		"self",
		"*main.item",
	};

	return names[tape_u8(t) % ARRAY_LEN(names)];
}

struct tape tape_cut(struct tape *t)
{
	size_t want = (size_t)tape_u8(t) * 4, len = MIN(want, (size_t)(t->end - t->p));
	struct tape cut = {t->p, t->p + len};

	t->p += len;
	return cut;
}

/* ---- bytes ------------------------------------------------------------------------------------
 */

void bytes_put(struct strbuf *b, uint64_t v, uint32_t size)
{
	strbuf_add(b, (const char *)&v, size); /* little-endian, like us */
}

void bytes_put_uleb(struct strbuf *b, uint64_t v)
{
	do {
		uint8_t low = v & 0x7f;

		v >>= 7;
		bytes_put(b, v ? low | 0x80u : low, 1);
	} while (v);
}

void bytes_put_sleb(struct strbuf *b, int64_t v)
{
	for (;;) {
		uint8_t low = (uint8_t)v & 0x7f;

		v >>= 7;
		if ((v == 0 && !(low & 0x40)) || (v == -1 && (low & 0x40))) {
			bytes_put(b, low, 1);
			return;
		}
		bytes_put(b, low | 0x80u, 1);
	}
}

void bytes_put_name(struct strbuf *b, const char *name)
{
	strbuf_add(b, name, strlen(name) + 1);
}

void bytes_patch(struct strbuf *b, size_t off, uint64_t v, uint32_t size)
{
	if (off <= b->len && size <= b->len - off)
		memcpy(b->data + off, &v, size);
}
