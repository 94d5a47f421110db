/* SPDX-License-Identifier: MIT */
/*
 * Subroutines of ustack helpers in the DIF interpreter: what rt/helper_subr.c computes during a
 * walk, and what is asked of the environment when a process is met.
 */
#include "dif/interp_impl.h"
#include "dif/remains_subrs.h"

#define TABLE_MAX 65536u
#define NO_LINE	  0xffffffff80000000ull

/* ---- about the process ----------------------------------------------------------------------- */

/* Asks the environment, which gets the strings. */
static uint64_t attach_call(struct dif_machine *m, uint32_t subr, const uint64_t *v)
{
	uint32_t texts = dif_subr_row(subr)->addresses;
	const char *text[DIF_SUBR_ARGS] = {0}, *result = NULL;
	enum dif_fault kind;
	uint64_t ret = 0;
	int n = 0;

	for (uint32_t i = 0; i < DIF_SUBR_ARGS; i++) {
		uint32_t len;

		if (!(texts >> i & 1) || !v[i])
			continue;
		if (!subr_text(m, v[i], n, &len))
			return 0;
		text[i] = m->text[n++];
	}
	if (!m->env.attach)
		return dif_fault(m, DIF_FAULT_ILLOP, 0);
	kind = m->env.attach(m->env.ctx, subr, v, text, &ret, &result);
	if (kind != DIF_FAULT_NONE)
		return dif_fault(m, kind, ret);
	return result ? subr_result(m, result, strlen(result)) : ret;
}

#define SUBR_ATTACH(id, name, ...)                                                                 \
	uint64_t subr_##name(struct dif_machine *m, const uint64_t *v)                             \
	{                                                                                          \
		return attach_call(m, DIF_SUBR_##id, v);                                           \
	}
#define SUBR_WALK(...)
#include "dif/helper_subrs.def"

#define SUBR_REMAINS(id, name, ...)                                                                \
	uint64_t subr_##name(struct dif_machine *m, const uint64_t *v)                             \
	{                                                                                          \
		return attach_call(m, REMAINS_SUBR_##id, v);                                       \
	}
#include "dif/remains_subrs.def"

/* ---- strings --------------------------------------------------------------------------------- */

uint64_t subr_ustr(struct dif_machine *m, const uint64_t *v)
{
	uint32_t n = (uint32_t)MIN(v[1], (uint64_t)m->strsize - 1);
	uint64_t addr = mem_alloc(m, m->strsize);

	if (!addr)
		return 0;
	if (n && !mem_load(m, SPACE_USER, v[0], mem_host(addr), n))
		return dif_fault(m, DIF_FAULT_BADADDR, v[0]);
	((char *)mem_host(addr))[n] = '\0';
	return addr;
}

static uint32_t char_encode(uint32_t c, char *to)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 63));
		return 2;
	}
	if (c < 0x10000) {
		to[0] = (char)(0xe0 | c >> 12);
		to[1] = (char)(0x80 | (c >> 6 & 63));
		to[2] = (char)(0x80 | (c & 63));
		return 3;
	}
	to[0] = (char)(0xf0 | (c >> 18 & 7));
	to[1] = (char)(0x80 | (c >> 12 & 63));
	to[2] = (char)(0x80 | (c >> 6 & 63));
	to[3] = (char)(0x80 | (c & 63));
	return 4;
}

/* Text whose characters have `width` bytes, as UTF-8; it ends where the next one might not fit. */
static uint64_t wide_text(struct dif_machine *m, const uint64_t *v, uint32_t width)
{
	uint64_t n = MIN(v[1], (uint64_t)m->strsize - 1), addr = mem_alloc(m, m->strsize);
	char *to = mem_host(addr);
	uint32_t len = 0, high = 0;

	if (!addr)
		return 0;
	for (uint64_t i = 0; i < n && len + 4 < m->strsize; i++) {
		uint32_t c = 0;

		if (!mem_load(m, SPACE_USER, v[0] + i * width, &c, width))
			return dif_fault(m, DIF_FAULT_BADADDR, v[0]);
		if (width == 2 && c >> 10 == 0xd800 >> 10) {
			high = c;
			continue;
		}
		if (width == 2 && c >> 10 == 0xdc00 >> 10 && high)
			c = 0x10000 + ((high & 0x3ff) << 10) + (c & 0x3ff);
		high = 0;
		len += char_encode(c ? c : '?', to + len);
	}
	to[len] = '\0';
	return addr;
}

uint64_t subr_ulatin1(struct dif_machine *m, const uint64_t *v)
{
	return wide_text(m, v, 1);
}

uint64_t subr_utf16(struct dif_machine *m, const uint64_t *v)
{
	return wide_text(m, v, 2);
}

uint64_t subr_utf32(struct dif_machine *m, const uint64_t *v)
{
	return wide_text(m, v, 4);
}

/* ---- tables ---------------------------------------------------------------------------------- */

uint64_t subr_ubsearch(struct dif_machine *m, const uint64_t *v)
{
	uint64_t from = 0, to = v[1] & 0xffffffff;
	uint32_t width = v[3] == 1 || v[3] == 2 || v[3] == 4 ? (uint32_t)v[3] : 8;

	for (int i = 0; i < 33 && from < to; i++) {
		uint64_t mid = (from + to) / 2, word = 0;

		if (!mem_load(m, SPACE_USER, v[0] + mid * v[2], &word, width))
			return dif_fault(m, DIF_FAULT_BADADDR, v[0] + mid * v[2]);
		if (word <= v[4])
			from = mid + 1;
		else
			to = mid;
	}
	return from - 1;
}

/* The interpreter remembers no frames. */
uint64_t subr_ucached(struct dif_machine *m, const uint64_t *v)
{
	(void)m, (void)v;
	return 0;
}

uint64_t subr_uword(struct dif_machine *m, const uint64_t *v)
{
	uint64_t word = 0;

	return mem_load(m, SPACE_USER, v[0], &word, sizeof(word)) ? word : 0;
}

uint64_t subr_upopcount(struct dif_machine *m, const uint64_t *v)
{
	(void)m;
	return (uint64_t)__builtin_popcountll(v[0]);
}

/* The bytes of a table, read as far as they are asked for. */
struct table {
	struct dif_machine *m;
	uint64_t at, len, pos;
	bool is_bad;
};

static bool table_byte(struct table *t, uint8_t *ret)
{
	if (t->pos >= t->len || t->is_bad)
		return false;
	if (!mem_load(t->m, SPACE_USER, t->at + t->pos, ret, 1)) {
		t->is_bad = true;
		return false;
	}
	t->pos++;
	return true;
}

static bool table_vlq(struct table *t, uint32_t bits, uint64_t *ret)
{
	uint32_t shift = 0;
	uint8_t b;

	for (*ret = 0; table_byte(t, &b); shift += bits) {
		*ret |= (uint64_t)(b & ((1u << bits) - 1)) << (shift & 63);
		if (!(b >> bits & 1))
			return true;
	}
	return false;
}

static uint64_t zigzag_decode(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

static struct table table_of(struct dif_machine *m, const uint64_t *v)
{
	return (struct table){m, v[0], MIN(v[1], (uint64_t)TABLE_MAX), 0, false};
}

static uint64_t table_result(const struct table *t, uint64_t value)
{
	return t->is_bad ? dif_fault(t->m, DIF_FAULT_BADADDR, t->at + t->pos) : value;
}

uint64_t subr_uvlqpairs(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t first = 0, value = 0, raw;

	while (table_vlq(&t, 7, &raw)) {
		int64_t d = (int64_t)zigzag_decode(raw);

		if (v[3] & 63)
			first += raw >> (v[3] & 63);
		else
			first += (uint64_t)(d < 0 ? -(d + 1) : d);
		if (first > v[2] || !table_vlq(&t, 7, &raw))
			break;
		value += zigzag_decode(raw);
	}
	return table_result(&t, value);
}

uint64_t subr_uvlqindex(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t sum = 0, n = 0, raw;

	while (table_vlq(&t, 7, &raw)) {
		sum += raw;
		if (sum > v[2])
			break;
		n++;
	}
	return table_result(&t, n);
}

uint64_t subr_ulocations(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t end = 0, line = 0, raw = 0;
	bool has_line = false, reads_line = false;
	uint32_t shift = 0;
	uint8_t b;

	/* a byte with bit 7 begins an entry, whatever the entry before it has promised */
	while (table_byte(&t, &b)) {
		uint32_t code = b >> 3 & 15;

		if (b & 128) {
			if (v[2] < end)
				break;
			end += (b & 7) + 1u;
			has_line = code != 15;
			reads_line = code == 13 || code == 14;
			raw = shift = 0;
			if (code >= 10 && code <= 12)
				line += code - 10;
		} else if (reads_line) {
			raw |= (uint64_t)(b & 63) << shift;
			shift = (shift + 6) & 63;
			reads_line = b & 64;
			if (!reads_line)
				line += raw & 1 ? -(raw >> 1) : raw >> 1;
		}
	}
	return table_result(&t, v[2] < end && has_line ? line : NO_LINE);
}

uint64_t subr_ulnotab(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t first = 0, line = 0;
	uint8_t code, d;

	while (table_byte(&t, &code)) {
		first += code;
		if (first > v[2] || !table_byte(&t, &d))
			break;
		line += (uint64_t)(int64_t)(int8_t)d;
	}
	return table_result(&t, line);
}

uint64_t subr_ulinetab(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t first = 0, line = 0;
	bool has_line = true;
	uint8_t code, d;

	while (v[2] >= first && table_byte(&t, &code) && table_byte(&t, &d)) {
		has_line = d != 128;
		if (has_line)
			line += (uint64_t)(int64_t)(int8_t)d;
		first += code;
	}
	return table_result(&t, has_line ? line : NO_LINE);
}

/* A number of groups of six bits, the last of which is below 192, in at most five bytes. */
static bool table_packed(struct table *t, uint64_t less, uint64_t *ret)
{
	uint8_t b;

	*ret = 0;
	for (uint32_t shift = 0; table_byte(t, &b); shift += 6) {
		uint64_t digit = b - less;

		*ret += digit << shift;
		if (b < 192 || shift == 24)
			return true;
	}
	return false;
}

uint64_t subr_upackedlines(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t code = 0, line = 0, found = 0, raw;
	uint8_t b;

	while (table_byte(&t, &b) && b) {
		if (b == 255) {
			if (!table_packed(&t, v[3], &raw))
				break;
			code += zigzag_decode(raw);
			if (!table_packed(&t, v[3], &raw))
				break;
			line += zigzag_decode(raw);
		} else {
			code += b >> 3;
			line += b & 7;
		}
		if (code > v[2])
			break;
		found = line;
	}
	return table_result(&t, found);
}

static uint64_t hash_add(uint64_t sum, uint64_t word)
{
	sum = (sum ^ word * 0x9e3779b97f4a7c15) * 0xd6e8feb86659fd93;
	return sum ^ sum >> 29;
}

/* As in rt_helper_hash() of rt/helper_subr.c. */
uint64_t subr_uhash(struct dif_machine *m, const uint64_t *v)
{
	uint64_t len = MIN(v[1], (uint64_t)1024), sum = len;

	for (uint64_t i = 0; i < len; i += 8) {
		uint64_t w = 0;

		for (uint64_t k = i; k < len && k < i + 8; k++) {
			uint64_t b = 0;

			if (!mem_load(m, SPACE_USER, v[0] + k, &b, 1))
				return dif_fault(m, DIF_FAULT_BADADDR, v[0] + k);
			w |= (b & 255) << 8 * (k - i);
		}
		sum = hash_add(sum, w);
	}
	return sum;
}

/* The word that the NUL lies in counts, also if it has nothing else. */
uint64_t subr_uhashstr(struct dif_machine *m, const uint64_t *v)
{
	uint64_t sum = 0, w = 0, n = 0, b = 0;

	for (; n < 256; n++) {
		if (!mem_load(m, SPACE_USER, v[0] + n, &b, 1))
			return dif_fault(m, DIF_FAULT_BADADDR, v[0] + n);
		b &= 255;
		w |= b << 8 * (n % 8);
		if (!b || n % 8 == 7) {
			sum = hash_add(sum, w);
			w = 0;
		}
		if (!b)
			break;
	}
	return hash_add(sum, n);
}

uint64_t subr_ucountnl(struct dif_machine *m, const uint64_t *v)
{
	struct table t = table_of(m, v);
	uint64_t n = 0;
	uint8_t b;

	while (table_byte(&t, &b))
		n += b == '\n';
	return t.is_bad ? UINT64_MAX : n;
}
