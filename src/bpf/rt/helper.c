/*
 * Run-time library: the helper machine (bpf/rt/helper.h), which executes ustack helpers.
 *
 * Each iteration of one loop executes some instructions that need no calls, and one that does. The
 * kernel's verifier follows each of the latter once. Everything that an instruction changes is in
 * memory, of whose contents the verifier knows nothing.
 *
 * Nothing that a helper or a process contains can do harm: registers and variables are masked,
 * memory is read by functions that fail where there is none, the number of instructions is bounded,
 * and subroutines that read tables count as many instructions as they read words.
 *
 * A fault ends the clauses of one frame, which then has no name; it is counted.
 */
/* This file uses the struct of sym/frame.h, and none of its steps. */
#pragma clang diagnostic ignored "-Wundefined-internal"
#include "bpf/rt/walk.h"

static u64 (*const bpf_get_current_uid_gid)(void) = (void *)15;
static long (*const bpf_get_current_comm)(void *buf, u32 size) = (void *)16;

extern char map_hmemo, map_hprocs;
extern u64 val_hcode[];

#define FAULT_DIVZERO	       4
#define offsetof(type, member) __builtin_offsetof(type, member)

/* Subroutines of helpers only, and those of D that helpers may call: enum dif_subr of dif/dif.h. */
enum {
#define SUBR(id, name, code, ...)	  SUBR_##id = (code),
#define SUBR_FOREIGN(id, name, code, ...) SUBR_##id = (code),
#include "dif/subrs.def"
#define SUBR_HELPER(id, name, code, ...) SUBR_##id = (code),
#include "dif/helper_subrs.def"
};

/* The context of the loop: addresses that are map values to the verifier, or rt_mach. */
struct helper_env {
	char *scratch;
	struct rt_mach *m;
};

/* Words of rt_hwork.t while a table is searched or decoded. */
enum { T_KIND, T_POS, T_LEN, T_FIRST, T_SECOND, T_PART, T_ACC, T_SHIFT, T_LINE };

#define CHUNK	   128			 /* bytes of a table that are read at once */
#define TABLE_MAX  65536		 /* bytes of a table at most */
#define NO_LINE	   0xffffffff80000000ull /* the code has no line */
#define IS_USER(a) (!((a) >> 63))
_Static_assert(sizeof(struct rt_hwork) <= RT_HWORK_SIZE, "RT_HWORK_SIZE");

#define READ_USER(dst, size, addr) (bpf_probe_read_user(dst, size, addr) == 0)

/* ---- memory ------------------------------------------------------------------------------- */

/* Loads a word; an address of the process is read there, any other one in the kernel. */
INLINE u64 word_load(struct rt_mach *m, struct rt_hwork *h, u64 addr, u32 size)
{
	u64 v = 0;
	long bad;

	size = (size & 15) ? size & 15 : 8;
	if (size > 8)
		size = 8;
	if (IS_USER(addr)) {
		bad = bpf_probe_read_user(&v, size, addr);
	} else {
		rt_readable(m, addr, size);
		bad = m->fault.kind || bpf_probe_read_kernel(&v, size, addr);
	}
	if (bad)
		return fault(m, FAULT_BADADDR, addr);
	return v;
}

/*
 * Loads up to 8 bytes of the process from the line that they lie in, which is read if it was not
 * read before in this walk. False: they must be read otherwise.
 */
INLINE u64 line_load(struct rt_hwork *h, u64 addr, u32 size, u64 *ret)
{
	u64 slot = addr / RT_HELPER_LINE, tag = slot | 1ull << 63, at = addr % RT_HELPER_LINE;

	if (!IS_USER(addr) || at + size > RT_HELPER_LINE)
		return 0;
	slot &= RT_HELPER_LINES - 1;
	OPAQUE(slot);
	slot &= RT_HELPER_LINES - 1;
	if (h->tags[slot] != tag) {
		h->tags[slot] = 0;
		if (!READ_USER(h->lines + slot * RT_HELPER_LINE, RT_HELPER_LINE, addr - at))
			return 0;
		h->tags[slot] = tag;
	}
	/* clang makes a | of the sum if it knows the bits; Linux 6.1 forgets the bounds of that */
	slot *= RT_HELPER_LINE;
	OPAQUE(slot);
	at += slot;
	*ret = *(u64 *)(h->lines + at);
	return 1;
}

/* Forgets the first n lines, whose memory something else uses. */
INLINE void lines_forget(struct rt_hwork *h, u32 n)
{
	for (u32 i = 0; i < n; i++)
		h->tags[i] = 0;
}

INLINE u64 sign_extend(u64 v, u32 c)
{
	u32 shift = 64 - 8 * (c & 15);

	shift &= 63;
	v <<= shift;
	return c & HELPER_SIGNED ? (u64)((s64)v >> shift) : v >> shift;
}

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
	case SUBR_UVLQPAIRS: return pairs_byte(h, byte);
	case SUBR_UVLQINDEX: return index_byte(h, byte);
	case SUBR_ULOCATIONS: return location_byte(h, byte);
	case SUBR_ULNOTAB: return delta_byte(h, byte, 0);
	case SUBR_ULINETAB: return delta_byte(h, byte, 1);
	case SUBR_UPACKEDLINES: return packed_byte(h, byte);
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

static long table_step(u64 i, void *ctx)
{
	struct rt_hwork *h = HELPER(((struct loop *)ctx)->p);
	u64 pos = h->t[T_POS], left = h->t[T_LEN] - pos;
	u8 *chunk = (u8 *)h->strings[RT_HELPER_STRINGS];

	if (pos >= h->t[T_LEN])
		return 1;
	if (pos % CHUNK == 0 && !READ_USER(chunk, CHUNK, h->push[0] + pos)) {
		left = left > CHUNK ? CHUNK : left;
		OPAQUE(left);
		left = (left - 1) & (CHUNK - 1);
		if (!READ_USER(chunk, left + 1, h->push[0] + pos)) {
			h->t[T_KIND] = 0;
			return 1;
		}
	}
	h->t[T_POS] = pos + 1;
	pos &= CHUNK - 1;
	OPAQUE(pos);
	pos &= CHUNK - 1;
	return table_byte(h, chunk[pos]) != 0;
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
	if (subr == SUBR_UCOUNTNL && len) {
		lines_forget(h, PIECE / RT_HELPER_LINE);
		loop_run((len + PIECE - 1) / PIECE, newlines_step, p);
		h->fuel -= h->t[T_POS] / 32;
	} else {
		loop_run(len, table_step, p);
		h->fuel -= h->t[T_POS] / 4;
	}
	if (!h->t[T_KIND] && subr == SUBR_UCOUNTNL)
		return -1;
	if (!h->t[T_KIND])
		return fault(m, FAULT_BADADDR, h->push[0] + h->t[T_POS]);
	if (subr == SUBR_ULOCATIONS && (h->t[T_PART] == 3 || h->push[2] >= h->t[T_FIRST]))
		return NO_LINE;
	if (subr == SUBR_ULINETAB && h->t[T_LINE])
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

/* uhash(): a hash of the bytes, in words of which the last is filled with zeros. */
NOINLINE u64 rt_helper_hash(struct rt_mach *m)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 len, sum, *words;

	if (!p)
		return 0;
	h = HELPER(p);
	words = (u64 *)h->strings[RT_HELPER_STRINGS];
	len = h->push[1];
	if (len > RT_HELPER_STRSIZE)
		len = RT_HELPER_STRSIZE;
	OPAQUE(len);
	if (!len || len > RT_HELPER_STRSIZE)
		return 0;
	if (len & 7) /* a read that fails zeroes what it was to fill */
		(void)READ_USER(words, RT_HELPER_STRSIZE, 1ull << 63);
	OPAQUE(len);
	if (len > RT_HELPER_STRSIZE)
		return 0;
	if (!READ_USER(words, len, h->push[0]))
		return fault(m, FAULT_BADADDR, h->push[0]);
	sum = len;
#pragma clang loop unroll(disable)
	for (u32 i = 0; i < RT_HELPER_STRSIZE / 8; i++) {
		if (8 * i >= len)
			break;
		sum = hash_word(sum, words[i]);
	}
	h->fuel -= 8;
	return sum;
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

NOINLINE u64 rt_helper_text(struct rt_mach *m, u64 addr, u64 len, u64 width)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 top, n;

	if (!p || !scratch_top(m, &top))
		return 0;
	h = HELPER(p);
	n = len < cfg.strsize - 1 ? len : cfg.strsize - 1;
	if (width == 0) { /* the bytes as they are */
		OPAQUE(n);
		if (n > cfg.strsize - 1)
			return 0;
		if (!READ_USER(p + top, n, addr))
			return fault(m, FAULT_BADADDR, addr);
		p[top + n] = 0;
	} else {
		h->t[0] = width;
		h->t[1] = h->t[2] = h->t[4] = h->t[7] = 0;
		h->t[3] = top;
		h->t[5] = addr;
		h->t[6] = n;
		loop_run(n, char_step, p);
		h->fuel -= n / 2;
		if (h->t[7])
			return fault(m, FAULT_BADADDR, addr);
		n = h->t[2];
		if (n > cfg.strsize - 1)
			return 0;
		p[top + n] = 0;
	}
	return string_take(m, top) ? m->scratch + top : 0;
}

NOINLINE u64 rt_helper_add(struct rt_mach *m, u64 v, u64 is_string)
{
	char *p = m ? slot_of(m) : NULL;
	struct rt_hwork *h;
	u64 len;
	long n;

	if (!p)
		return 0;
	h = HELPER(p);
	if (!is_string)
		v = rt_sub_lltostr(m, v, 10);
	len = h->text_len;
	if (m->fault.kind || len > RT_HELPER_STRSIZE - 1)
		return 0;
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
	h->text_len = 0;
	word = rt_walk_text(m, m->scratch + cfg.helper_off + offsetof(struct rt_hwork, text));
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
 * ucached(): adds the frame that was recorded under these numbers and returns 1; or returns 0, and
 * the next frame will be recorded under them. uknown(): the same with all that a native frame adds.
 */
NOINLINE u64 rt_helper_memo(struct rt_mach *m, u64 is_all)
{
	struct rt_hwork *h = helper_of(m);
	struct rt_hmemo *e;
	u64 key;

	if (!h)
		return 0;
	key = hash_word(hash_word(cfg.hash_seed, h->key), h->entry);
	key = hash_word(hash_word(key, h->push[0]), h->push[1]);
	key = hash_word(key, h->push[2]);
	if (is_all)
		key = hash_word(hash_word(key, h->push[3]), h->push[4]);
	key = hash_end(key, is_all ? 5 : 3) | 1;
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
	(void)rt_walk_again(m);
	return 1;
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

/* The register whose number is in the lowest byte. */
INLINE u64 *reg_of(struct rt_hwork *h, u64 n)
{
	n &= RT_HELPER_NREGS - 1;
	OPAQUE(n);
	n &= RT_HELPER_NREGS - 1;
	return &h->regs[n];
}

/* ---- instructions ------------------------------------------------------------------------- */

INLINE u64 divide(struct rt_mach *m, u32 op, u64 a, u64 b)
{
	if (!b)
		return fault(m, FAULT_DIVZERO, 0);
	switch (op) {
	case HOP_UDIV: return a / b;
	case HOP_UREM: return a % b;
	case HOP_SDIV: return rt_sdiv(m, a, b);
	default: return rt_srem(m, a, b);
	}
}

INLINE u64 compute(u32 op, u64 a, u64 b)
{
	switch (op) {
	case HOP_ADD: return a + b;
	case HOP_SUB: return a - b;
	case HOP_AND: return a & b;
	case HOP_OR: return a | b;
	case HOP_XOR: return a ^ b;
	case HOP_SHL: return a << (b & 63);
	case HOP_SHR: return a >> (b & 63);
	case HOP_SAR: return (s64)a >> (b & 63);
	default: return a * b;
	}
}

INLINE u64 jumps(u32 op, u64 a, u64 b)
{
	switch (op) {
	case HOP_JEQ: return a == b;
	case HOP_JNE: return a != b;
	case HOP_JLT: return a < b;
	case HOP_JLE: return a <= b;
	case HOP_JSLT: return (s64)a < (s64)b;
	case HOP_JSLE: return (s64)a <= (s64)b;
	default: return 1;
	}
}

/* Built-in variables; their numbers are those of enum dif_var_id in dif/dif.h. */
INLINE u64 builtin(struct rt_mach *m, struct rt_hwork *h, u32 id, u64 of)
{
	u64 ids = cfg.pidns.level ? rt_pid_tgid(m) : bpf_get_current_pid_tgid();

	switch (id) {
	case 0x100: return bpf_get_current_task();
	case 0x116: return ids >> 32;
	case 0x117: return ids & 0xffffffff;
	case 0x118:
		bpf_get_current_comm(h->strings[RT_HELPER_STRINGS], 16);
		return (u64)h->strings[RT_HELPER_STRINGS];
	case 0x11d: return rt_ppid(m);
	case 0x11e: return bpf_get_current_uid_gid() & 0xffffffff;
	case 0x11f: return bpf_get_current_uid_gid() >> 32;
	case 0x203: return of ? rt_execargs(m, of) : fault(m, FAULT_ILLOP, 0);
	default: return fault(m, FAULT_ILLOP, 0);
	}
}

/* Subroutines of helpers. */
INLINE u64 call_own(struct rt_mach *m, struct rt_hwork *h, u32 subr)
{
	const u64 *v = h->push;

	switch (subr) {
	case SUBR_USTR: return rt_helper_text(m, v[0], v[1], 0);
	case SUBR_ULATIN1: return rt_helper_text(m, v[0], v[1], 1);
	case SUBR_UTF16: return rt_helper_text(m, v[0], v[1], 2);
	case SUBR_UTF32: return rt_helper_text(m, v[0], v[1], 4);
	case SUBR_UBSEARCH: return rt_helper_search(m);
	case SUBR_UCACHED: return rt_helper_memo(m, 0);
	case SUBR_UKNOWN: return rt_helper_memo(m, 1);
	case SUBR_UHASH: return rt_helper_hash(m);
	case SUBR_UPOPCOUNT: {
		u64 x = v[0];

		x -= x >> 1 & 0x5555555555555555ull;
		x = (x & 0x3333333333333333ull) + (x >> 2 & 0x3333333333333333ull);
		return ((x + (x >> 4)) & 0x0f0f0f0f0f0f0f0full) * 0x0101010101010101ull >> 56;
	}
	default: return rt_helper_scan(m, subr);
	}
}

/*
 * The instructions for which a subroutine of D counts: it may read strings whole, some of them once
 * for each byte of another.
 */
INLINE u64 call_cost(u32 subr)
{
	switch (subr) {
	case SUBR_CLEANPATH:
	case SUBR_INDEX:
	case SUBR_JSON:
	case SUBR_RINDEX:
	case SUBR_STRSTR: return 2 * cfg.strsize;
	default: return 16 + cfg.strsize / 16;
	}
}

/* Subroutines of D. */
INLINE u64 call_other(struct rt_mach *m, struct rt_hwork *h, u32 subr)
{
	const u64 *v = h->push;

	h->fuel -= call_cost(subr);
	switch (subr) {
	case SUBR_ALLOCA: return rt_sub_alloca(m, v[0]);
	case SUBR_BASENAME: return rt_sub_basename(m, v[0]);
	case SUBR_BCOPY: return rt_sub_bcopy(m, v[0], v[1], v[2]);
	case SUBR_CLEANPATH: return rt_sub_cleanpath(m, v[0]);
	case SUBR_COPYIN: return rt_sub_copyin(m, v[0], v[1]);
	case SUBR_COPYINSTR: return rt_sub_copyinstr(m, v[0], v[1]);
	case SUBR_COPYINTO: return rt_sub_copyinto(m, v[0], v[1], v[2]);
	case SUBR_DIRNAME: return rt_sub_dirname(m, v[0]);
	case SUBR_INDEX: return rt_sub_index(m, v[0], v[1], v[2]);
	case SUBR_RINDEX: return rt_sub_rindex(m, v[0], v[1], v[2]);
	case SUBR_INET_NTOA: return rt_sub_inet_ntoa(m, v[0]);
	case SUBR_INET_NTOA6: return rt_sub_inet_ntoa6(m, v[0], v[1]);
	case SUBR_INET_NTOP: return rt_sub_inet_ntop(m, v[0], v[1]);
	case SUBR_JSON: return rt_sub_json(m, v[0], v[1]);
	case SUBR_LLTOSTR: return rt_sub_lltostr(m, v[0], v[1]);
	case SUBR_MEMREF: return rt_sub_memref(m, v[0], v[1]);
	case SUBR_MEMSTR: return rt_sub_memstr(m, v[0], v[1], v[2]);
	case SUBR_STRCHR: return rt_sub_strchr(m, v[0], v[1]);
	case SUBR_STRJOIN: return rt_sub_strjoin(m, v[0], v[1]);
	case SUBR_STRLEN: return rt_sub_strlen(m, v[0]);
	case SUBR_STRRCHR: return rt_sub_strrchr(m, v[0], v[1]);
	case SUBR_STRSTR: return rt_sub_strstr(m, v[0], v[1]);
	case SUBR_STRTOLL: return rt_sub_strtoll(m, v[0], v[1]);
	case SUBR_SUBSTR: return rt_sub_substr(m, v[0], v[1], v[2]);
	case SUBR_TOLOWER: return rt_sub_tolower(m, v[0]);
	case SUBR_TOUPPER: return rt_sub_toupper(m, v[0]);
	case SUBR_HTONL:
	case SUBR_NTOHL: return __builtin_bswap32(v[0]);
	case SUBR_HTONS:
	case SUBR_NTOHS: return __builtin_bswap16(v[0]);
	case SUBR_HTONLL:
	case SUBR_NTOHLL: return __builtin_bswap64(v[0]);
	default: return fault(m, FAULT_ILLOP, 0);
	}
}

/* Copies a string to the place of a clause-local variable. */
INLINE void local_put_string(struct rt_mach *m, struct rt_hwork *h, u32 slot, u64 from)
{
	u32 k = slot & (RT_HELPER_STRINGS - 1);
	char *to;

	OPAQUE(k);
	k &= RT_HELPER_STRINGS - 1;
	to = h->strings[k];
	h->regs[HREG_LOCALS + k] = 0;
	if (!from)
		return;
	if (bpf_probe_read_kernel_str(to, RT_HELPER_STRSIZE, from) < 0)
		fault(m, FAULT_BADADDR, from);
	else
		h->regs[HREG_LOCALS + k] = (u64)to;
}

INLINE u64 user_register(struct rt_mach *m, u32 word)
{
	struct unwind_work *w = work_of(m);

	if (!w || !w->f.is_first || word >= FRAME_NREGS)
		return fault(m, FAULT_ILLOP, word);
	return w->f.regs[word];
}

/* Names the frame, and goes to the next one; true if the walk is over. */
INLINE long frame_end(struct rt_mach *m, struct rt_hwork *h)
{
	u64 name = h->result;

	h->result = h->text_len = h->memo = 0;
	if (name)
		rt_walk_name(m, name);
	if (h->known)
		rt_helper_keep(m);
	return m->fault.kind ? 0 : !rt_walk_next(m);
}

/* Whether the address is that of a text of a helper, or in the scratch memory of this firing. */
INLINE u64 address_is_own(struct rt_mach *m, struct rt_hwork *h, u64 addr)
{
	return IS_USER(addr) || addr - h->code < 8 * RT_HCODE ||
	       addr - m->scratch < cfg.scratch_stride;
}

/* Instructions that are no computations, jumps, loads or variables: they are rarer. */
INLINE long execute_rare(struct rt_mach *m, struct rt_hwork *h, u32 op, u64 insn, u64 b, u64 *ret)
{
	u32 imm = insn >> 32, c = insn >> 24 & 255;
	u64 addr;

	switch (op) {
	case HOP_TEXT: *ret = h->code + 8 * (imm + b); return 0;
	case HOP_STORE: rt_store(m, *ret, b, c); return 0;
	case HOP_PUTS: local_put_string(m, h, imm, b); return 0;
	case HOP_UREG: *ret = user_register(m, imm); return 0;
	case HOP_VAR: *ret = builtin(m, h, imm, b); return 0;
	case HOP_SAVE: rt_helper_put(m, imm, b); return 0;
	case HOP_SCMP: *ret = rt_strcmp(m, b, *reg_of(h, c)); return 0;
	case HOP_LOOP: h->loops[c & (RT_HELPER_LOOPS - 1)] = imm; return 0;
	case HOP_RESULT: h->result = b; return 0;
	case HOP_ADDS: rt_helper_add(m, b, 1); return 0;
	case HOP_ADDN:
		rt_helper_add(m, insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : b, 0);
		return 0;
	case HOP_FRAME: rt_helper_frame(m); return 0;
	case HOP_UNWIND:
		h->next[0] = h->push[0];
		h->next[1] = h->push[1];
		h->next[2] = h->push[2];
		h->is_steered = 1;
		return 0;
	case HOP_FRAMES:
		h->on_fault = h->pc++;
		h->result = h->text_len = h->memo = h->known = 0;
		return !rt_walk_first(m);
	case HOP_STEP: return frame_end(m, h);
	case HOP_OWN:
		addr = insn & HOP_IMMEDIATE ? h->push[c & (RT_HELPER_PUSHES - 1)]
					    : b + (u64)((s64)insn >> 32);
		if (!address_is_own(m, h, addr))
			fault(m, FAULT_BADADDR, addr);
		return 0;
	default: return 1;
	}
}

/* The fault of the instruction ends the clauses of the frame. */
INLINE long fault_end(struct rt_mach *m, struct rt_hwork *h)
{
	u32 cpu = m->cpu;

	val_control.helper_fault = h->pc;
	val_control.helper_addr = m->fault.value;
	m->fault.kind = 0;
	if (cpu < cfg.ncpus)
		__sync_fetch_and_add(&val_control.cpu[cpu].helper_faults, 1);
	h->result = h->text_len = h->memo = h->known = 0;
	h->pc = h->on_fault;
	return 0;
}

/* The instructions of the walk are used up: from now on there are native frames only. */
INLINE long fuel_end(struct rt_mach *m, struct rt_hwork *h)
{
	if (!h->is_spent)
		fault_end(m, h);
	h->is_spent = 1;
	h->pc = h->on_fault;
	return 0;
}

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

/*
 * Executes instructions that neither call nor fail, as long as there are any, at most BATCH: calls
 * and returns cost more than what they do. Goes on behind the last one; returns false if the
 * next one is of another kind.
 */
#define BATCH 12

INLINE u64 batch_execute(struct rt_hwork *h)
{
	u64 insn, a, b, c, v;
	u32 pc = h->pc, op, n;

#pragma clang loop unroll(disable)
	for (n = 0; n < BATCH; n++) {
		insn = val_hcode[pc & (RT_HCODE - 1)];
		op = insn & 63;
		a = insn >> 8 & 255;
		b = *reg_of(h, insn >> 16);
		if (op <= HOP_MUL) {
			c = insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : *reg_of(h, insn >> 24);
			v = compute(op, b, c);
		} else if (op >= HOP_JEQ && op <= HOP_JMP) {
			c = insn & HOP_IMMEDIATE ? (u64)(s64)(signed char)a
						 : *reg_of(h, insn >> 24);
			pc += jumps(op, b, c) ? (u32)(insn >> 32) + 1 : 1;
			continue;
		} else if (op == HOP_LOAD) {
			if (!line_load(h, b + (u64)((s64)insn >> 32), insn >> 24 & 15, &v))
				break;
			v = sign_extend(v, insn >> 24 & 31);
		} else if (op == HOP_PUSH) {
			h->push[insn >> 24 & (RT_HELPER_PUSHES - 1)] =
				insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : b;
			pc++;
			continue;
		} else if (op == HOP_IMM) {
			v = (u64)((s64)insn >> 32);
		} else if (op == HOP_EXTEND) {
			v = sign_extend(b, insn >> 24 & 31);
		} else if (op == HOP_AGAIN) {
			u64 *left = &h->loops[insn >> 24 & (RT_HELPER_LOOPS - 1)];

			pc += *left ? (u32)(insn >> 32) + 1 : 1;
			*left -= *left != 0;
			continue;
		} else if (op == HOP_NONE) {
			h->result = 0;
			pc++;
			continue;
		} else {
			break;
		}
		*reg_of(h, a) = v;
		pc++;
	}
	h->pc = pc;
	h->fuel -= n;
	return n == BATCH;
}

/* Executes an instruction of any kind. */
INLINE long insn_execute(struct rt_mach *m, struct rt_hwork *h)
{
	u64 insn = val_hcode[h->pc & (RT_HCODE - 1)], b, a, v;
	u32 op = insn & 63;
	long done = 0;

	h->pc++;
	if (h->fuel-- < 0 && op != HOP_FRAMES && op != HOP_STEP)
		return fuel_end(m, h);
	a = insn >> 8 & 255;
	b = *reg_of(h, insn >> 16);
	if (op <= HOP_SREM) {
		v = divide(m, op, b,
			   insn & HOP_IMMEDIATE ? (u64)((s64)insn >> 32) : *reg_of(h, insn >> 24));
	} else if (op == HOP_LOAD) {
		v = word_load(m, h, b + (u64)((s64)insn >> 32), insn >> 24 & 15);
		v = sign_extend(v, insn >> 24 & 31);
	} else if (op == HOP_WIDE) {
		v = val_hcode[h->pc & (RT_HCODE - 1)];
		h->pc++;
	} else if (op == HOP_CALL) {
		u32 subr = insn >> 32;

		v = subr >= SUBR_USTR ? call_own(m, h, subr) : call_other(m, h, subr);
	} else {
		v = *reg_of(h, a);
		done = execute_rare(m, h, op, insn, b, &v);
		if (op >= HOP_LOOP)
			a = 0;
	}
	if (m->fault.kind)
		done = fault_end(m, h);
	else if (a)
		*reg_of(h, a) = v;
	return done != 0;
}

__attribute__((used)) static long rtcb_helper_step(u64 i, void *ctx)
{
	struct helper_env *env = ctx;
	struct rt_hwork *h = HELPER(env->scratch);

	if (h->fuel >= 0 && batch_execute(h))
		return 0;
	return insn_execute(env->m, h);
}

NOINLINE u64 rt_helper_run(struct rt_mach *m)
{
	struct helper_env env = {.m = m};

	if (!m)
		return 0;
	env.scratch = slot_of(m);
	if (env.scratch)
		bpf_loop(RT_HELPER_MOST, rtcb_helper_step, &env, 0);
	return 0;
}
