/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: the subroutines of ustack helpers, which read tables and texts of a process,
 * and what is remembered of frames (rt/helper.h).
 */
/* This file uses the struct of arch/frame.h, and none of its steps. */
#pragma clang diagnostic ignored "-Wundefined-internal"
#include "rt/helper_memory.h"

/* Words of rt_hwork.t while a table is searched or decoded. */
enum { T_KIND, T_POS, T_LEN, T_FIRST, T_SECOND, T_PART, T_ACC, T_SHIFT, T_LINE, T_CHUNK };

#define CHUNK	  128			/* bytes of a text that are read at once */
#define TABLE_MAX 65536			/* bytes of a table at most */
#define NO_LINE	  0xffffffff80000000ull /* the code has no line */

/* ---- tables ------------------------------------------------------------------------------- */

INLINE u64 zigzag(u64 v)
{
	return v >> 1 ^ -(v & 1);
}

/* A byte of a VLQ; true if the value in h->t[T_ACC] is complete. */
INLINE u64 vlq_add(struct rt_hwork *h, u64 byte)
{
	u64 shift = h->t[T_SHIFT] & 63;

	h->t[T_ACC] |= (byte & 127) << shift;
	h->t[T_SHIFT] = shift + 7;
	return !(byte & 128);
}

INLINE u64 acc_take(struct rt_hwork *h)
{
	u64 v = h->t[T_ACC];

	h->t[T_ACC] = h->t[T_SHIFT] = 0;
	return v;
}

/*
 * uvlqpairs(): pairs of VLQs, the second of which is zig-zag. The first one has push[3] flags in
 * its low bits and is unsigned above them; without flags it is zig-zag, and a negative d stands for
 * -(d + 1).
 */
INLINE long pairs_byte(struct rt_hwork *h, u64 byte)
{
	u64 v, flags = h->push[3] & 63;
	s64 d;

	if (!vlq_add(h, byte))
		return 0;
	v = acc_take(h);
	d = zigzag(v);
	if (h->t[T_PART]) {
		h->t[T_PART] = 0;
		h->t[T_SECOND] += d;
		return 0;
	}
	h->t[T_FIRST] += flags ? v >> flags : d < 0 ? -(d + 1) : d;
	h->t[T_PART] = 1;
	return h->t[T_FIRST] > h->push[2];
}

/* uvlqindex(): VLQs; how many can be added up until the sum exceeds the key. */
INLINE long index_byte(struct rt_hwork *h, u64 byte)
{
	if (!vlq_add(h, byte))
		return 0;
	h->t[T_FIRST] += acc_take(h);
	if (h->t[T_FIRST] > h->push[2])
		return 1;
	h->t[T_SECOND]++;
	return 0;
}

/*
 * ulocations(): entries that begin with a byte with bit 7, which says in bits 0 to 2 how much code
 * it is about, less one, and in bits 3 to 6 how the line follows. Part 1: a signed number of 6-bit
 * groups follows; part 2: bytes that say nothing of the line; part 3: the code has no line.
 */
INLINE long location_byte(struct rt_hwork *h, u64 byte)
{
	u64 code = byte >> 3 & 15, shift = h->t[T_SHIFT] & 63, v;

	if (byte & 128) {
		if (h->push[2] < h->t[T_FIRST])
			return 1;
		h->t[T_FIRST] += (byte & 7) + 1;
		if (code >= 10 && code <= 12)
			h->t[T_SECOND] += code - 10;
		h->t[T_PART] = code == 15 ? 3 : code == 13 || code == 14 ? 1 : 2;
		h->t[T_ACC] = h->t[T_SHIFT] = 0;
		return 0;
	}
	if (h->t[T_PART] != 1)
		return 0;
	h->t[T_ACC] |= (byte & 63) << shift;
	h->t[T_SHIFT] = shift + 6;
	if (byte & 64)
		return 0;
	v = h->t[T_ACC];
	h->t[T_SECOND] += v & 1 ? -(v >> 1) : v >> 1;
	h->t[T_PART] = 2;
	return 0;
}

/* ulnotab(), ulinetab(): pairs of an unsigned byte of code and a signed byte of lines. */
INLINE long delta_byte(struct rt_hwork *h, u64 byte, u64 is_range)
{
	if (!h->t[T_PART]) {
		h->t[T_PART] = 1;
		h->t[T_ACC] = byte;
		if (!is_range) {
			h->t[T_FIRST] += byte;
			return h->t[T_FIRST] > h->push[2];
		}
		return 0;
	}
	h->t[T_PART] = 0;
	if (!is_range || byte != 128)
		h->t[T_SECOND] += (u64)(s64)(signed char)byte;
	if (!is_range)
		return 0;
	h->t[T_LINE] = byte == 128; /* the code has no line */
	h->t[T_FIRST] += h->t[T_ACC];
	return h->push[2] < h->t[T_FIRST];
}

/*
 * upackedlines(): a byte has 5 bits of code and 3 bits of lines; 255 is followed by both as signed
 * numbers of 6-bit groups, whose bytes are larger by push[3]; 0 ends the table. The last line whose
 * code does not lie behind the key is in T_SECOND; T_ACC, T_SHIFT: a number that is being read.
 */
INLINE long packed_byte(struct rt_hwork *h, u64 byte)
{
	u64 part = h->t[T_PART], shift = h->t[T_SHIFT] & 63;

	if (!part) {
		if (byte == 0)
			return 1;
		if (byte == 255) {
			h->t[T_PART] = 1;
			h->t[T_ACC] = h->t[T_SHIFT] = 0;
			return 0;
		}
		h->t[T_FIRST] += byte >> 3;
		h->t[T_LINE] += byte & 7;
	} else {
		h->t[T_ACC] += (byte - h->push[3]) << shift;
		h->t[T_SHIFT] = shift + 6;
		if (byte >= 192 && shift < 24)
			return 0;
		if (part == 1) {
			h->t[T_FIRST] += zigzag(acc_take(h));
			h->t[T_PART] = 2;
			return 0;
		}
		h->t[T_LINE] += zigzag(acc_take(h));
		h->t[T_PART] = 0;
	}
	if (h->t[T_FIRST] > h->push[2])
		return 1;
	h->t[T_SECOND] = h->t[T_LINE];
	return 0;
}

INLINE long table_byte(struct rt_hwork *h, u64 byte)
{
	switch (h->t[T_KIND]) {
	case DIF_SUBR_UVLQPAIRS: return pairs_byte(h, byte);
	case DIF_SUBR_UVLQINDEX: return index_byte(h, byte);
	case DIF_SUBR_ULOCATIONS: return location_byte(h, byte);
	case DIF_SUBR_ULNOTAB: return delta_byte(h, byte, 0);
	case DIF_SUBR_ULINETAB: return delta_byte(h, byte, 1);
	case DIF_SUBR_UPACKEDLINES: return packed_byte(h, byte);
	default: return 1;
	}
}

/* Counts the newlines in 512 bytes, or in what is left; they are read over the lines there. */
#define PIECE 512

static long newlines_step(u64 i, void *ctx)
{
	struct rt_hwork *h = HELPER(((struct loop *)ctx)->p);
	u64 left = h->t[T_LEN] - h->t[T_POS], n = 0, at = h->push[0] + h->t[T_POS];
	u64 *words = (u64 *)h->lines, x;

	if (left > PIECE)
		left = PIECE;
	OPAQUE(left);
	left = (left - 1) & (PIECE - 1);
	if (left + 1 < PIECE) /* a read that fails zeroes what it was to fill */
		(void)READ_USER(h->lines, PIECE, 1ull << 63);
	OPAQUE(left);
	left &= PIECE - 1;
	if (!READ_USER(h->lines, left + 1, at)) {
		h->t[T_KIND] = 0;
		return 1;
	}
#pragma clang loop unroll(disable)
	for (u32 k = 0; k < PIECE / 8; k++) {
		x = words[k] ^ BYTES('\n');
		x = ((x & BYTES(127)) + BYTES(127)) | x; /* bit 7 of a byte that was none is set */
		n += ~x >> 7 & BYTES(1);
	}
	n = (n & 0x00ff00ff00ff00ffull) + (n >> 8 & 0x00ff00ff00ff00ffull);
	h->t[T_SECOND] += n * 0x0001000100010001ull >> 48;
	h->t[T_POS] += left + 1;
	return h->t[T_POS] >= h->t[T_LEN];
}

/* T_CHUNK: the offset in h->lines of the byte at T_POS. */
static long table_step(u64 i, void *ctx)
{
	struct rt_hwork *h = HELPER(((struct loop *)ctx)->p);
	u64 pos = h->t[T_POS], addr = h->push[0] + pos, at = h->t[T_CHUNK];

	if (pos >= h->t[T_LEN])
		return 1;
	if ((!pos || addr % RT_HELPER_LINE == 0) && (!IS_USER(addr) || !line_find(h, addr, &at))) {
		h->t[T_KIND] = 0;
		return 1;
	}
	h->t[T_POS] = pos + 1;
	h->t[T_CHUNK] = at + 1;
	OPAQUE(at);
	if (at >= sizeof(h->lines))
		return 1;
	return table_byte(h, ((u8 *)h->lines)[at]) != 0;
}

NOINLINE u64 rt_helper_scan(struct rt_mach *m, u64 subr)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 len;

	if (!p)
		return 0;
	h = HELPER(p);
	len = h->push[1];
	if (len > TABLE_MAX)
		len = TABLE_MAX;
	h->t[T_KIND] = subr;
	h->t[T_LEN] = len;
	h->t[T_POS] = h->t[T_FIRST] = h->t[T_SECOND] = h->t[T_PART] = h->t[T_ACC] = 0;
	h->t[T_SHIFT] = h->t[T_LINE] = 0;
	if (subr == DIF_SUBR_UCOUNTNL && len) {
		lines_forget(h, PIECE / RT_HELPER_LINE);
		loop_run((len + PIECE - 1) / PIECE, newlines_step, p);
		h->fuel -= h->t[T_POS] / 32;
	} else {
		loop_run(len, table_step, p);
		h->fuel -= h->t[T_POS] / 4;
	}
	if (!h->t[T_KIND] && subr == DIF_SUBR_UCOUNTNL)
		return -1;
	if (!h->t[T_KIND])
		return fault(m, FAULT_BADADDR, h->push[0] + h->t[T_POS]);
	if (subr == DIF_SUBR_ULOCATIONS && (h->t[T_PART] == 3 || h->push[2] >= h->t[T_FIRST]))
		return NO_LINE;
	if (subr == DIF_SUBR_ULINETAB && h->t[T_LINE])
		return NO_LINE;
	return h->t[T_SECOND];
}

/* t[0], t[1]: the range that is left; t[2]: 1 after a fault. */
static long search_step(u64 i, void *ctx)
{
	struct rt_hwork *h = HELPER(((struct loop *)ctx)->p);
	u64 mid, v = 0, width = h->push[3];

	if (h->t[0] >= h->t[1])
		return 1;
	mid = (h->t[0] + h->t[1]) / 2;
	if (width != 1 && width != 2 && width != 4)
		width = 8;
	h->t[3] = h->push[0] + mid * h->push[2];
	OPAQUE(width);
	if (width > sizeof(v)) /* never: for the verifier of Linux 6.1 */
		return 1;
	if (!READ_USER(&v, width, h->t[3])) {
		h->t[2] = 1;
		return 1;
	}
	if (v <= h->push[4])
		h->t[0] = mid + 1;
	else
		h->t[1] = mid;
	return 0;
}

NOINLINE u64 rt_helper_search(struct rt_mach *m)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;

	if (!p)
		return 0;
	h = HELPER(p);
	h->t[0] = h->t[2] = 0;
	h->t[1] = h->push[1] & 0xffffffff;
	loop_run(33, search_step, p);
	h->fuel -= 32;
	return h->t[2] ? fault(m, FAULT_BADADDR, h->t[3]) : h->t[0] - 1;
}

/*
 * Reads n bytes of the process, at most RT_HELPER_STRSIZE, to an offset of the firing's scratch
 * value; some behind them may be written, too. 0: there is no such memory.
 */
NOINLINE u64 rt_helper_bytes(struct rt_mach *m, u64 to, u64 addr, u64 n)
{
	char *p = m ? slot_of(m) : NULL;
	u64 at;

	OPAQUE(to);
	OPAQUE(n);
	if (!p || to > cfg.scratch_stride - RT_HELPER_STRSIZE - 8 || n > RT_HELPER_STRSIZE)
		return 0;
	if (!IS_USER(addr) || addr % RT_HELPER_LINE + n > RT_HELPER_LINE ||
	    !line_find(HELPER(p), addr, &at))
		return READ_USER(p + to, n, addr);
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HELPER_STRSIZE; i += 8) {
		if (i >= n)
			break;
		*(u64 *)(p + to + i) = *(u64 *)(HELPER(p)->lines + at + i);
	}
	return 1;
}

/* True if n bytes in the scratch value are characters of ASCII, and none of them is NUL. */
NOINLINE u64 rt_helper_ascii(struct rt_mach *m, u64 at, u64 n)
{
	char *p = m ? slot_of(m) : NULL;
	u64 bad = 0, x = 0;

	OPAQUE(at);
	if (!p || at > cfg.scratch_stride - RT_HELPER_STRSIZE)
		return 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HELPER_STRSIZE; i += 8) {
		if (i >= n)
			break;
		bad |= x;
		x = *(u64 *)(p + at + i);
		x = (x | (x - BYTES(1))) & BYTES(0x80);
	}
	if (n & 7)
		x &= (1ull << 8 * (n & 7)) - 1;
	return !(bad | x);
}

/* Copies a string in words, at most RT_HELPER_STRSIZE - 1 bytes of it; returns 1 + its length. */
INLINE u64 words_copy(char *to, const char *from)
{
	u64 x;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HELPER_STRSIZE; i += 8) {
		x = *(const u64 *)(from + i);
		*(u64 *)(to + i) = x;
		x = zero_bytes(x);
		if (x)
			return 1 + i + zero_first(x);
	}
	to[RT_HELPER_STRSIZE - 1] = 0;
	return RT_HELPER_STRSIZE;
}

/*
 * Copies a string of the program or of scratch memory to an offset of the firing's scratch value;
 * some behind it are written, too. Returns 1 + its length; 0: it is elsewhere.
 */
NOINLINE u64 rt_helper_copy(struct rt_mach *m, u64 to, u64 from)
{
	char *p = m ? slot_of(m) : NULL;
	u64 at, word;

	OPAQUE(to);
	if (!p || to > cfg.scratch_stride - RT_HELPER_STRSIZE - 8)
		return 0;
	at = from - m->scratch;
	word = (from - HELPER(p)->code) / 8;
	OPAQUE(at);
	if (at <= cfg.scratch_stride - RT_HELPER_STRSIZE - 8)
		return words_copy(p + to, p + at);
	OPAQUE(word);
	if (word >= RT_HCODE - RT_HELPER_STRSIZE / 8 || (from & 7))
		return 0;
	return words_copy(p + to, (const char *)&val_hcode[word]);
}

/*
 * strjoin() of compiled helpers: their strings lie in scratch memory or in the program, and are
 * copied in words, where the kernel's function copies a byte at a time. Others are strjoin()'s.
 */
NOINLINE u64 rt_helper_join(struct rt_mach *m, u64 s, u64 t)
{
	char *p = m ? slot_of(m) : NULL;
	u64 top, n;

	if (!p || !scratch_top(m, &top))
		return 0;
	n = cfg.strsize == RT_HELPER_STRSIZE ? rt_helper_copy(m, top, s) : 0;
	if (!n || !rt_helper_copy(m, top + n - 1, t))
		return rt_sub_strjoin(m, s, t);
	if (!string_take(m, top))
		return 0;
	OPAQUE(top);
	if (top > cfg.scratch_size)
		return 0;
	p[top + RT_HELPER_STRSIZE - 1] = 0;
	return m->scratch + top;
}

/* ---- uhash(), uhashstr() ------------------------------------------------------------------- */

/* Words of rt_hwork.t: the next address, the bytes left, the sum, the state of the text. */
enum { H_AT, H_LEFT, H_SUM, H_TEXT };
enum { HASH_BYTES, HASH_TEXT, HASH_TEXT_ENDS, HASH_BAD }; /* values of H_TEXT */

#define HASH_MAX     1024u /* bytes of a table or of text in any encoding */
#define HASH_STR_MAX 256u  /* bytes up to a NUL: as many as a string has */

#define HASH_STEP 32u /* bytes that a step adds, if they lie in one line */

/* The first n bytes of a word, 1 <= n < 8; the others are zeros. */
INLINE u64 word_cut(u64 word, u64 n)
{
	return word & ((1ull << 8 * n) - 1);
}

/* Adds the word with this number to the sum of n bytes, if there are as many. */
INLINE u64 word_add(u64 sum, const u64 *words, u64 number, u64 n)
{
	u64 left = n - 8 * number;

	if (n <= 8 * number)
		return sum;
	return hash_word(sum, left < 8 ? word_cut(words[number], left) : words[number]);
}

/*
 * Adds up to HASH_STEP bytes, all of which lie in the line of the first. False: none; the next word
 * begins in this line and ends in the next one, or cannot be read.
 */
INLINE u64 line_add(struct rt_hwork *h, u64 addr, u64 left)
{
	u64 room = RT_HELPER_LINE - addr % RT_HELPER_LINE, n, at, sum;
	const u64 *words;

	n = left < HASH_STEP ? left : HASH_STEP;
	if (n > room)
		n = room & ~7ull;
	if (!n || !IS_USER(addr) || !line_find(h, addr, &at))
		return 0;
	words = (const u64 *)(h->lines + at);
	sum = word_add(h->t[H_SUM], words, 0, n);
	sum = word_add(sum, words, 1, n);
	sum = word_add(sum, words, 2, n);
	h->t[H_SUM] = word_add(sum, words, 3, n);
	h->t[H_AT] = addr + n;
	h->t[H_LEFT] = left - n;
	return 1;
}

/* Adds some of the bytes to the sum, of a text a word. The last word is filled with zeros. */
static long hash_step(u64 i, void *ctx)
{
	struct rt_hwork *h = HELPER(((struct loop *)ctx)->p);
	u64 left = h->t[H_LEFT], at = h->t[H_AT], x, n;
	u64 word[2] = {0, 0};

	if (!left)
		return 1;
	if (h->t[H_TEXT] == HASH_BYTES && line_add(h, at, left))
		return h->t[H_LEFT] == 0;
	n = left < 8 ? left : 8;
	if (!line_load(h, at, n, &word[0])) {
		if (h->t[H_TEXT] == HASH_TEXT) {
			n = bpf_probe_read_user_str(word, 9, at) < 1 ? 0 : n;
		} else {
			OPAQUE(n);
			n = ((n - 1) & 7) + 1;
			n = READ_USER(word, n, at) ? n : 0;
		}
		if (!n) {
			h->t[H_TEXT] = HASH_BAD;
			return 1;
		}
	}
	if (n < 8)
		word[0] = word_cut(word[0], n);
	x = h->t[H_TEXT] == HASH_TEXT ? zero_bytes(word[0]) : 0;
	if (x) {
		n = zero_first(x) & 7;
		word[0] = word_cut(word[0], n);
		h->t[H_TEXT] = HASH_TEXT_ENDS;
	}
	h->t[H_SUM] = hash_word(h->t[H_SUM], word[0]);
	h->t[H_AT] = at + n;
	h->t[H_LEFT] = left - n;
	return x != 0;
}

/* uhash(), or (is_text) uhashstr(), whose last word is followed by the number of bytes. */
NOINLINE u64 rt_helper_hash(struct rt_mach *m, u64 is_text)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 len;

	if (!p)
		return 0;
	h = HELPER(p);
	len = is_text ? HASH_STR_MAX : h->push[1];
	if (len > HASH_MAX)
		len = HASH_MAX;
	h->t[H_AT] = h->push[0];
	h->t[H_LEFT] = len;
	h->t[H_SUM] = is_text ? 0 : len;
	h->t[H_TEXT] = is_text ? HASH_TEXT : HASH_BYTES;
	loop_run(HASH_MAX / 8, hash_step, p);
	len = h->t[H_AT] - h->push[0];
	h->fuel -= 8 + len / 32;
	if (h->t[H_TEXT] == HASH_BAD)
		return fault(m, FAULT_BADADDR, h->t[H_AT]);
	return is_text ? hash_word(h->t[H_SUM], len) : h->t[H_SUM];
}

/* ---- text --------------------------------------------------------------------------------- */

/*
 * Writes one character as UTF-8. t[0]: bytes of a character in the process; t[1]: number of the
 * character; t[2]: bytes written; t[3]: offset of the string in scratch memory; t[4]: the first
 * half of a character in two halves.
 */
INLINE long char_put(char *p, struct rt_hwork *h, u64 c)
{
	u64 n = h->t[2], at = h->t[3] + n;
	char *to;

	if (at > cfg.scratch_size || n + 4 >= cfg.strsize)
		return 1;
	to = p + at;
	if (c < 0x80) {
		to[0] = c;
		n += 1;
	} else if (c < 0x800) {
		to[0] = 0xc0 | c >> 6;
		to[1] = 0x80 | (c & 63);
		n += 2;
	} else if (c < 0x10000) {
		to[0] = 0xe0 | c >> 12;
		to[1] = 0x80 | (c >> 6 & 63);
		to[2] = 0x80 | (c & 63);
		n += 3;
	} else {
		to[0] = 0xf0 | (c >> 18 & 7);
		to[1] = 0x80 | (c >> 12 & 63);
		to[2] = 0x80 | (c >> 6 & 63);
		to[3] = 0x80 | (c & 63);
		n += 4;
	}
	h->t[2] = n;
	return 0;
}

static long char_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct rt_hwork *h = HELPER(p);
	u64 k = h->t[1] & (CHUNK / 4 - 1), width = h->t[0], c, high;
	char *chunk = h->strings[RT_HELPER_STRINGS];

	OPAQUE(k);
	k &= CHUNK / 4 - 1;
	if (k == 0 && !READ_USER(chunk, CHUNK, h->t[5] + h->t[1] * width)) {
		/* The text ends near the end of the memory. */
		u64 left = (h->t[6] - h->t[1]) * width;

		left = left > CHUNK ? CHUNK : left;
		OPAQUE(left);
		left = (left - 1) & (CHUNK - 1);
		if (!READ_USER(chunk, left + 1, h->t[5] + h->t[1] * width)) {
			h->t[7] = 1;
			return 1;
		}
	}
	h->t[1]++;
	c = width == 1 ? ((u8 *)chunk)[k] : width == 2 ? ((u16 *)chunk)[k] : ((u32 *)chunk)[k];
	high = h->t[4];
	h->t[4] = 0;
	if (width == 2 && c >> 10 == 0xd800 >> 10) {
		h->t[4] = c;
		return 0;
	}
	if (width == 2 && c >> 10 == 0xdc00 >> 10 && high)
		c = 0x10000 + ((high & 0x3ff) << 10) + (c & 0x3ff);
	if (c == 0)
		c = '?';
	return char_put(p, h, c);
}

/* Writes n characters of the process as UTF-8 to the top of scratch memory; returns the length. */
INLINE s64 chars_read(struct rt_hwork *h, char *p, u64 top, u64 addr, u64 n, u64 width)
{
	h->t[0] = width;
	h->t[1] = h->t[2] = h->t[4] = h->t[7] = 0;
	h->t[3] = top;
	h->t[5] = addr;
	h->t[6] = n;
	loop_run(n, char_step, p);
	h->fuel -= n / 2;
	return h->t[7] ? -1 : (s64)h->t[2];
}

NOINLINE u64 rt_helper_text(struct rt_mach *m, u64 addr, u64 len, u64 width)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 top, n, is_whole = 0;

	if (!p || !scratch_top(m, &top))
		return 0;
	h = HELPER(p);
	n = MIN(len, (u64)cfg.strsize - 1);
	OPAQUE(n);
	if (n > cfg.strsize - 1)
		return 0;
	if (width <= 1 && n <= RT_HELPER_STRSIZE) {
		is_whole = rt_helper_bytes(m, top, addr, n) &&
			   (width == 0 || rt_helper_ascii(m, top, n));
	} else if (width == 0) {
		is_whole = READ_USER(p + top, n, addr);
	}
	if (!is_whole) {
		s64 got = width ? chars_read(h, p, top, addr, n, width) : -1;

		n = got;
		if (got < 0)
			return fault(m, FAULT_BADADDR, addr);
	} else if (width) {
		h->fuel -= n / 2;
	}
	OPAQUE(n);
	if (n > cfg.strsize - 1)
		return 0;
	p[top + n] = 0;
	return string_take(m, top) ? m->scratch + top : 0;
}

NOINLINE u64 rt_helper_add(struct rt_mach *m, u64 v, u64 is_string)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 len, done;
	long n;

	if (!p)
		return 0;
	h = HELPER(p);
	if (!is_string)
		v = rt_sub_lltostr(m, v, 10);
	len = h->text_len;
	if (m->fault.kind || len > RT_HELPER_STRSIZE - 1)
		return 0;
	done = rt_helper_copy(m, cfg.helper_off + offsetof(struct rt_hwork, text) + len, v);
	if (done) {
		h->text_len = len + done - 1;
		return 0;
	}
	n = IS_USER(v) ? bpf_probe_read_user_str(h->text + len, RT_HELPER_STRSIZE, v)
		       : bpf_probe_read_kernel_str(h->text + len, RT_HELPER_STRSIZE, v);
	if (n < 1)
		return fault(m, FAULT_BADADDR, v);
	h->text_len = len + n - 1;
	return 0;
}

/* The entry of MAP_HMEMO where the key may be. */
INLINE struct rt_hmemo *memo_at(u64 key)
{
	u32 slot = key & (RT_HMEMO - 1);

	return bpf_map_lookup_elem(&map_hmemo, &slot);
}

INLINE u64 words_hash(u64 sum, u64 word)
{
	return (sum ^ word) * PRIME_1;
}

NOINLINE u64 rt_helper_frame(struct rt_mach *m)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 word;

	if (!p)
		return 0;
	h = HELPER(p);
	h->text[RT_HELPER_STRSIZE - 1] = 0;
	h->text_len = MIN(h->text_len, RT_HELPER_STRSIZE - 1);
	word = rt_walk_text(m);
	h->text_len = 0;
	*(u64 *)&m->scratch_top = WALK(p)->top; /* frees the strings of which the text was made */
	word |= word ? RT_USTACK_LANG : 0;
	if (word && h->memo) {
		struct rt_hmemo *e = memo_at(h->memo);

		if (e) {
			e->words[0] = word;
			e->words[1] = 0;
			e->check = h->memo ^ words_hash(0, word);
		}
	}
	h->memo = 0;
	if (word)
		words_note(h, word);
	else
		h->known = 0;
	return word && rt_walk_add(m, word);
}

/* Copies the words of the entry to h->again; false if they are not what the key stands for. */
INLINE u64 memo_read(struct rt_hwork *h, const struct rt_hmemo *e, u64 key)
{
	u64 sum = 0, word = 0;

#pragma unroll
	for (u32 i = 0; i < RT_HMEMO_WORDS; i++) {
		word = e->words[i];
		h->again[i] = word;
		if (!word)
			return (e->check ^ sum) == key;
		sum = words_hash(sum, word);
	}
	h->again[RT_HMEMO_WORDS] = 0;
	return (e->check ^ sum) == key;
}

/*
 * ucached(): adds the frame that was recorded under its numbers and returns 1; or returns 0, and
 * the next frame will be recorded under them. uknown(): the same with all that a native frame adds.
 */
NOINLINE u64 rt_helper_memo(struct rt_mach *m, u64 is_all)
{
	struct rt_hwork *h = helper_of(m);
	struct rt_hmemo *e;
	u64 key;

	if (!h)
		return 0;
	key = h->entry | (u64)((struct rt_hproc *)&h->regs[HREG_PROC])->is_said << 32;
	key = hash_word(hash_word(cfg.hash_seed, h->key), key);
	key = hash_word(hash_word(key, h->push[0]), h->push[1]);
	key = hash_word(hash_word(key, h->push[2]), h->push[3]);
	if (is_all)
		key = hash_word(key, h->push[4]);
	key = hash_end(key, is_all ? 5 : 4) | 1;
	e = memo_at(key);
	if (!e)
		return 0;
	if (is_all) {
		h->known = key;
		h->nwords = 0;
	} else {
		h->memo = key;
	}
	if (!memo_read(h, e, key))
		return 0;
	if (is_all)
		h->known = 0;
	else
		h->memo = 0;
	if (!is_all)
		words_note(h, h->again[0]);
	return rt_walk_again(m);
}

/* Remembers what the native frame has added, under the key of uknown(). */
NOINLINE u64 rt_helper_keep(struct rt_mach *m)
{
	struct rt_hwork *h = helper_of(m);
	struct rt_hmemo *e;
	u64 sum = 0;

	if (!h)
		return 0;
	e = memo_at(h->known);
	if (!e)
		return 0;
	e->check = 0;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HMEMO_WORDS; i++) {
		u64 word = i < h->nwords ? h->words[i] : 0;

		e->words[i] = word;
		if (word)
			sum = words_hash(sum, word);
	}
	e->check = h->known ^ sum;
	h->known = 0;
	return 1;
}

/* ---- variables ---------------------------------------------------------------------------- */

NOINLINE u64 rt_helper_put(struct rt_mach *m, u64 k, u64 v)
{
	struct rt_hwork *h = helper_of(m);
	struct rt_hproc *p;

	OPAQUE(k);
	if (!h || k >= RT_HELPER_GLOBALS)
		return 0;
	p = bpf_map_lookup_elem(&map_hprocs, &h->key);
	if (p)
		p->globals[k] = v;
	return 0;
}

/* ---- uword() ------------------------------------------------------------------------------ */

NOINLINE u64 rt_helper_word(struct rt_mach *m, u64 addr)
{
	struct rt_hwork *h = helper_of(m);
	u64 v = 0;

	if (!h || !IS_USER(addr))
		return 0;
	if (!line_load(h, addr, sizeof(v), &v) && !READ_USER(&v, sizeof(v), addr))
		v = 0;
	return v;
}

/* ---- upopcount() --------------------------------------------------------------------------- */

NOINLINE u64 rt_helper_popcount(struct rt_mach *m, u64 x)
{
	x -= x >> 1 & 0x5555555555555555ull;
	x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
	return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
}
