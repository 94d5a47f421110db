/* SPDX-License-Identifier: MIT */
/* The table of common instructions says what the library says that knows all of them. */
#include "arch/x86_64/form.h"

#include <Zydis/Zydis.h>

#include "tap.h"

static ZydisDecoder decoder;

static bool library_read(const uint8_t *code, uint64_t size, ZydisDecodedInstruction *ret)
{
	return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, code, size, ret));
}

/* Whether the library finds the same in all that is read from a form. */
static bool is_same(const struct form *f, const uint8_t *code, const ZydisDecodedInstruction *in)
{
	bool is_0f = in->opcode_map == ZYDIS_OPCODE_MAP_0F;
	int64_t distance;

	if (in->encoding != ZYDIS_INSTRUCTION_ENCODING_LEGACY || in->length != f->len ||
	    (!is_0f && in->opcode_map != ZYDIS_OPCODE_MAP_DEFAULT) || f->is_0f != is_0f ||
	    in->opcode != f->opcode || in->raw.imm[1].size || in->raw.imm[0].size != f->imm * 8u ||
	    (in->raw.imm[0].is_relative != ZYAN_FALSE) != f->is_distance ||
	    ((in->attributes & ZYDIS_ATTRIB_HAS_MODRM) != 0) != f->has_modrm ||
	    in->raw.rex.R != (f->rex >> 2 & 1) || in->raw.rex.B != (f->rex & 1))
		return false;
	if (f->is_distance && form_distance(f, code) != in->raw.imm[0].value.s)
		return false;
	if (!f->has_modrm)
		return true;
	if (f->modrm != (in->raw.modrm.mod << 6 | in->raw.modrm.reg << 3 | in->raw.modrm.rm))
		return false;
	return form_has_rip(f, code, &distance) ==
		       (in->raw.modrm.mod == 0 && in->raw.modrm.rm == 5) &&
	       (in->raw.modrm.mod || in->raw.modrm.rm != 5 || distance == in->raw.disp.value);
}

struct count {
	uint32_t nread, nwrong;
	uint8_t wrong[FORM_LEN_MAX]; /* the first one */
};

static void code_compare(const uint8_t *code, uint64_t size, struct count *c)
{
	ZydisDecodedInstruction in;
	struct form f;

	if (!form_read(code, size, &f))
		return;
	c->nread++;
	if (library_read(code, size, &in) && is_same(&f, code, &in))
		return;
	if (!c->nwrong++)
		memcpy(c->wrong, code, MIN(size, sizeof(c->wrong)));
}

static void count_tell(const struct count *c, const char *what)
{
	ok(c->nread > 0 && !c->nwrong, "%s: %u forms", what, c->nread);
	if (!c->nwrong)
		return;
	printf("# %u differ:", c->nwrong);
	for (uint32_t i = 0; i < sizeof(c->wrong); i++)
		printf(" %02x", c->wrong[i]);
	printf("\n");
}

/* All opcodes, with all operands, behind these prefixes. */
static void opcodes_compare(const uint8_t *prefixes, uint32_t n, struct count *c)
{
	static const uint8_t sibs[] = {0x24, 0x25, 0x05, 0xed};
	uint8_t code[FORM_LEN_MAX + 1];

	for (uint32_t i = 0; i < sizeof(code); i++)
		code[i] = (uint8_t)(0x81 + 13 * i);
	memcpy(code, prefixes, n);
	for (uint32_t op = 0; op < 512; op++)
		for (uint32_t operand = 0; operand < 256; operand++)
			for (uint32_t k = 0; k < ARRAY_LEN(sibs); k++) {
				uint32_t at = n;

				if (op >= 256)
					code[at++] = 0x0f;
				code[at++] = (uint8_t)op;
				code[at++] = (uint8_t)operand;
				code[at] = sibs[k];
				if (k && ((operand & 7) != 4 || operand >= 0xc0))
					break; /* it has no such byte */
				code_compare(code, sizeof(code), c);
			}
}

static void test_opcodes(void)
{
	static const struct {
		const char *text;
		bool is_common; /* else all is left to the library */
		uint8_t n, bytes[6];
	} prefixes[] = {
		{"none", true, 0, {0}},
		{"66", true, 1, {0x66}},
		{"f2", true, 1, {0xf2}},
		{"f3", true, 1, {0xf3}},
		{"2e", true, 1, {0x2e}},
		{"64", true, 1, {0x64}},
		{"65", true, 1, {0x65}},
		{"66 66", true, 2, {0x66, 0x66}},
		{"66 2e", true, 2, {0x66, 0x2e}},
		{"64 66", true, 2, {0x64, 0x66}},
		{"64 f3", true, 2, {0x64, 0xf3}},
		{"2e f2", true, 2, {0x2e, 0xf2}},
		{"66 66 66 66 2e 66", true, 6, {0x66, 0x66, 0x66, 0x66, 0x2e, 0x66}},
		{"67", false, 1, {0x67}},
		{"f0", false, 1, {0xf0}},
		{"36", false, 1, {0x36}},
		{"3e", false, 1, {0x3e}},
		{"66 f2", false, 2, {0x66, 0xf2}},
		{"f3 66", false, 2, {0xf3, 0x66}},
		{"f2 f3", false, 2, {0xf2, 0xf3}},
		{"48 66", false, 2, {0x48, 0x66}},
		{"48 48", false, 2, {0x48, 0x48}},
	};
	static const uint8_t rexes[] = {0, 0x41, 0x44, 0x48, 0x4f};

	for (uint32_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct count c = {0};

		for (uint32_t k = 0; k < ARRAY_LEN(rexes); k++) {
			uint8_t bytes[8];
			uint32_t n = prefixes[i].n;

			memcpy(bytes, prefixes[i].bytes, n);
			if (rexes[k])
				bytes[n++] = rexes[k];
			opcodes_compare(bytes, n, &c);
		}
		if (prefixes[i].is_common)
			count_tell(&c, prefixes[i].text);
		else
			ok(!c.nread, "%s: no form", prefixes[i].text);
	}
}

/* A byte less than the instruction has is none: nothing behind the end is read. */
static void test_ends(void)
{
	static const uint8_t insns[][FORM_LEN_MAX] = {
		{0xc3},
		{0x0f, 0x0b},
		{0x0f, 0x84, 1, 2, 3, 4},
		{0x48, 0x8b, 0x05, 1, 2, 3, 4},
		{0x48, 0x8b, 0x04, 0x25, 1, 2, 3, 4},
		{0x8b, 0x44, 0x24, 8},
		{0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8},
		{0x66, 0x81, 0xbc, 0x24, 1, 2, 3, 4, 5, 6},
		{0xf7, 0x05, 1, 2, 3, 4, 5, 6, 7, 8},
		{0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0},
		{0xe8, 1, 2, 3, 4},
	};

	for (uint32_t i = 0; i < ARRAY_LEN(insns); i++) {
		ZydisDecodedInstruction in = {0};
		struct form f;
		bool is_whole = library_read(insns[i], sizeof(insns[i]), &in) &&
				form_read(insns[i], in.length, &f) && f.len == in.length;
		bool is_cut = true;

		ok(is_whole, "all of %u bytes", in.length);
		for (uint32_t size = 0; size < in.length; size++) {
			CLEANUP(free) uint8_t *cut = xmalloc(size + !size);

			memcpy(cut, insns[i], size); /* sanitizers see what is read behind it */
			is_cut &= !form_read(cut, size, &f);
		}
		ok(is_cut, "no form in less");
	}
}

/* Whether most instructions of this program have common forms: else nothing is gained. */
static void test_share(void)
{
	extern const uint8_t etext[];
	uint32_t nread = 0, n = 0;
	struct count c = {0};

	/* from any begin, the instructions are those of the compiler after a few */
	for (const uint8_t *at = (const uint8_t *)&test_ends; at + 64 < etext;) {
		ZydisDecodedInstruction in;
		struct form f;

		if (!library_read(at, FORM_LEN_MAX, &in)) {
			at++;
			continue;
		}
		n++;
		nread += form_read(at, FORM_LEN_MAX, &f);
		code_compare(at, FORM_LEN_MAX, &c);
		at += in.length;
	}
	ok(n > 100 && nread > n - n / 10, "%u of %u instructions have common forms", nread, n);
	count_tell(&c, "code of a compiler");
}

/* Bytes of any kind: also what is no instruction. */
static void test_random(void)
{
	uint64_t x = 88172645463325252ull;
	struct count c = {0};
	uint8_t code[16];

	for (uint32_t i = 0; i < 500000; i++) {
		for (uint32_t k = 0; k < 2; k++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			memcpy(code + 8ul * k, &x, 8);
		}
		code_compare(code, 1 + x % FORM_LEN_MAX, &c);
	}
	count_tell(&c, "bytes of any kind");
}

int main(void)
{
	(void)ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	test_opcodes();
	test_ends();
	test_share();
	test_random();
	return tap_done();
}
