/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: file, line and function of the innermost frame of the language, from the text
 * that a ustack helper has given it. Two forms of texts say where they are:
 *
 *     @FILE:LINE (FUNCTION)          @FILE (FUNCTION)            @(FUNCTION)
 *     FUNCTION (FILE:LINE)           FUNCTION(FILE)*
 *     FUNCTION at FILE line LINE     FUNCTION at FILE            FUNCTION at FILE file position N
 *
 * The parentheses are those at the end of the text, with all others in pairs; " at " is the first
 * one. Any other text is the function's name as a whole. A text that was cut, because it has no
 * room, ends somewhere between its parentheses or before them: then there is no function.
 */
#include "rt/helper.h"
#include "rt/hash.h"

#define HELPER(scratch)	       ((struct rt_hwork *)((scratch) + cfg.helper_off))
#define BYTE(n)		       ((n) & (RT_HELPER_STRSIZE - 1))
#define offsetof(type, member) __builtin_offsetof(type, member)

struct lang_work {
	u64 at;		   /* bytes of the text that are left: it is read from its end */
	u64 open;	   /* 1 + where the parenthesis is opened that the text ends with */
	u64 nopen, is_odd; /* parentheses; the text does not end with one */
	u64 said;	   /* where " at " is, or 0 */
	u64 recent;	   /* the bytes that were read last, the last one lowest */
};

/* A part of the text: bytes [from, to). */
struct part {
	u64 from, to;
};

static long lang_step(u64 i, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct lang_work *w = WORK(p, struct lang_work);
	u64 at = w->at - 1;
	u8 c;

	if (!w->at)
		return 1;
	OPAQUE(at);
	c = HELPER(p)->text[BYTE(at)];
	w->at = at;
	w->recent = w->recent << 8 | c;
	if ((u32)w->recent == 0x20746120) /* " at " */
		w->said = at;
	if (w->open || w->is_odd)
		return 0;
	w->nopen += c == ')';
	if (!w->nopen)
		w->is_odd = 1;
	else if (c == '(' && --w->nopen == 0)
		w->open = at + 1;
	return 0;
}

INLINE u8 text_at(struct rt_hwork *h, u64 at)
{
	OPAQUE(at);
	return h->text[BYTE(at)];
}

/* Whether the n bytes before `at` are those of the word (n < 8) or of two words. */
INLINE u64 is_before(struct rt_hwork *h, u64 at, u32 n, u64 first, u64 second)
{
	u64 from = at - n, mask = n < 8 ? (1ull << 8 * (n & 7)) - 1 : ~0ull;
	u64 rest = n > 8 ? (1ull << 8 * (n - 8)) - 1 : 0;

	if (at < n)
		return 0;
	OPAQUE(from);
	from = BYTE(from);
	return !((*(u64 *)(h->text + from) ^ first) & mask) &&
	       !((*(u64 *)(h->text + from + 8) ^ second) & rest);
}

/* Takes the number off the end of the place, if it is one of a line; returns it, or 0. */
INLINE u64 line_take(struct rt_hwork *h, struct part *place, u64 is_worded)
{
	u64 line = 0, unit = 1, at = place->to;

#pragma clang loop unroll(disable)
	for (u32 i = 0; i < 10; i++) {
		u8 c = text_at(h, at - 1);

		if (at <= place->from || c < '0' || c > '9')
			break;
		line += unit * (c - '0');
		unit *= 10;
		at--;
	}
	if (at == place->to || at <= place->from)
		return 0;
	if (!is_worded && is_before(h, at, 1, ':', 0)) {
		place->to = at - 1;
		return line;
	}
	if (is_worded && is_before(h, at, 6, 0x20656e696c20, 0)) { /* " line " */
		place->to = at - 6;
		return line;
	}
	/* " file position " */
	if (is_worded && is_before(h, at, 15, 0x6f7020656c696620, 0x206e6f69746973))
		place->to = at - 15;
	return 0;
}

/* Finds the parts of the text of n bytes; returns the line. */
INLINE u64 parts_find(char *p, u64 n, struct part *func, struct part *file)
{
	struct rt_hwork *h = HELPER(p);
	struct lang_work *w = WORK(p, struct lang_work);
	u64 has_place_first = text_at(h, 0) == '@', end = n, open;
	u64 is_cut = n >= MIN(cfg.strsize, RT_HELPER_STRSIZE) - 1 && text_at(h, n - 1) != ')';

	if (!has_place_first && n > 1 && text_at(h, n - 1) == '*' && text_at(h, n - 2) == ')')
		end--;
	*w = (struct lang_work){.at = end, .nopen = is_cut};
	loop_run(RT_HELPER_STRSIZE, lang_step, p);
	open = w->open;
	*func = (struct part){has_place_first, n};
	*file = (struct part){0, 0};
	if (!has_place_first && w->said) {
		func->to = w->said;
		*file = (struct part){w->said + 4, n};
		return line_take(h, file, 1);
	}
	if (has_place_first && is_cut && !open) {
		*file = (struct part){1, n};
		func->from = n;
		return 0;
	}
	if (!open || (!has_place_first && open == 1))
		return 0;
	end += is_cut; /* as if the parenthesis were closed */
	if (has_place_first) {
		*func = (struct part){open, end - 1};
		*file = (struct part){1, open - 1};
		if (file->to > 1 && text_at(h, open - 2) == ' ')
			file->to--;
	} else {
		*file = (struct part){open, end - 1};
		func->to = open - 1;
		if (text_at(h, open - 2) == ' ')
			func->to--;
	}
	return line_take(h, file, 0);
}

/* Reads the text of the frame to the text of the helper machine; its length. */
INLINE s64 frame_read(struct rt_mach *m, struct rt_hwork *h)
{
	u64 key = m->lang & ~RT_USTACK_LANG;
	struct rt_keystr *ks = key ? bpf_map_lookup_elem(&map_strings, &key) : NULL;
	long n;

	h->text[0] = 0;
	if (!ks)
		return 0;
	n = bpf_probe_read_kernel_str(h->text, RT_HELPER_STRSIZE, (u64)ks->data);
	return n < 1 ? 0 : n - 1;
}

u64 rt_lang(struct rt_mach *m, u64 which)
{
	struct part func, file;
	u64 top, line, from, to;
	char *p;
	s64 n;

	p = m ? slot_of(m) : NULL;
	if (!p)
		return 0;
	n = frame_read(m, HELPER(p));
	line = parts_find(p, n, &func, &file);
	if (which == RT_LANG_LINE)
		return line;
	if (!scratch_top(m, &top))
		return 0;
	from = BYTE(which == RT_LANG_FILE ? file.from : func.from);
	to = which == RT_LANG_FILE ? file.to : func.to;
	OPAQUE(to);
	HELPER(p)->text[BYTE(to)] = 0;
	if (text_read(m, p + top,
		      m->scratch + cfg.helper_off + offsetof(struct rt_hwork, text) + from) < 0)
		return 0;
	return string_take(m, top) ? m->scratch + top : 0;
}
