/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: subroutines that cut a string at separators, those for paths and strtok.
 */
#include "rt/rt.h"

/* ---- basename, dirname ------------------------------------------------------------------ */

/*
 * Both subroutines walk back from the end of the path: in phase 0 over trailing '/'s, in phase 1
 * over the last component, in phase 2 over the '/'s before the component. basename() stops when
 * phase 2 begins, dirname() when phase 3 does. i is the number of bytes that are left.
 */
struct back_work {
	u64 top, i, phase, stop_phase;
	u64 end; /* i when phase 1 began */
};

static long back_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct back_work *w = WORK(p, struct back_work);
	u64 i = w->i - 1, top = w->top, phase = w->phase;
	int is_slash;

	if (i >= cfg.strsize || top > cfg.scratch_size)
		return 1;
	is_slash = p[top + i] == '/';
	if (is_slash != (phase != 1)) {
		if (phase == 0)
			w->end = i + 1;
		w->phase = ++phase;
		if (phase == w->stop_phase)
			return 1;
	}
	/* The byte that ends a phase is the first one of the next phase's run. */
	w->i = i;
	return 0;
}

/*
 * Copies the path to a new string in scratch memory, and walks back in it until stop_phase begins.
 * Returns the length of the path, or -1 after a fault.
 */
INLINE s64 walk_back(struct rt_mach *m, char *p, u64 s, u64 stop_phase)
{
	struct back_work *w;
	u64 top;
	s64 n;

	if (!scratch_top(m, &top))
		return -1;
	n = text_read(m, p + top, s);
	if (n < 0 || !string_take(m, top))
		return -1;
	w = WORK(p, struct back_work);
	w->top = top;
	w->i = n;
	w->phase = 0;
	w->stop_phase = stop_phase;
	w->end = 0;
	loop_run(n, back_step, p);
	return n;
}

/*
 * Returns the address of the part [from, to) of the string at offset top, which is terminated
 * there.
 */
INLINE u64 string_cut(struct rt_mach *m, char *p, u64 top, u64 from, u64 to)
{
	OPAQUE(to);
	if (top > cfg.scratch_size || to > cfg.strsize)
		return 0;
	p[top + to] = 0;
	return m->scratch + top + from;
}

/* Makes the string at offset top one character, and returns its address. */
INLINE u64 string_char(struct rt_mach *m, char *p, u64 top, char c)
{
	if (top > cfg.scratch_size)
		return 0;
	*(u16 *)(p + top) = cfg.strsize > 1 ? (unsigned char)c : 0;
	return m->scratch + top;
}

u64 rt_sub_basename(struct rt_mach *m, u64 s)
{
	struct back_work *w;
	char *p;
	s64 n;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	n = walk_back(m, p, s, 2);
	if (n < 0)
		return 0;
	w = WORK(p, struct back_work);
	if (n == 0)
		return string_char(m, p, w->top, '.');
	if (w->phase == 0)
		return string_char(m, p, w->top, '/');
	return string_cut(m, p, w->top, w->i, w->end);
}

u64 rt_sub_dirname(struct rt_mach *m, u64 s)
{
	struct back_work *w;
	char *p;
	s64 n;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p)
		return 0;
	n = walk_back(m, p, s, 3);
	if (n < 0)
		return 0;
	w = WORK(p, struct back_work);
	if (n == 0 || w->phase == 1)
		return string_char(m, p, w->top, '.');
	if (w->i == 0)
		return string_char(m, p, w->top, '/');
	return string_cut(m, p, w->top, 0, w->i);
}

/* ---- cleanpath -------------------------------------------------------------------------- */

/*
 * Reads the text in text_a one byte a step. The bytes of a component are copied to the output at
 * once; only at the component's end the output's length decides whether the component belongs to
 * the output. While is_popping is set, each step removes one byte of the last component of the
 * output instead.
 */
struct clean_work {
	u64 top, n;
	u64 i, start;	/* in the text: position, start of the component */
	u64 out, floor; /* length of the output; length of its beginning that ".." cannot remove */
	u64 is_absolute, is_popping;
};

/*
 * Appends a character to the output of length o and returns the new length. An output that is full
 * is cut off.
 */
INLINE u64 clean_add(char *p, u64 top, u64 o, char c)
{
	if (o >= cfg.strsize || top > cfg.scratch_size)
		return o;
	p[top + o] = c;
	return o + 1;
}

/*
 * Decides at the end of a component of len bytes whether it stays, is dropped ("", "."), or removes
 * one ("..").
 */
INLINE void clean_component(char *p, struct clean_work *w, u64 len, int is_last)
{
	u64 top = w->top, o = w->out, start = w->start;
	u16 two;

	if (len == 0 || start > cfg.strsize)
		return;
	two = *(u16 *)(p + cfg.text_a + start);
	if (len == 1 && (two & 0xff) == '.' && !is_last) {
		if (o == 0) {
			o = clean_add(p, top, o, '.');
			o = clean_add(p, top, o, '/');
			w->out = w->floor = o;
		}
		return;
	}
	if (len == 2 && two == ('.' | '.' << 8)) {
		if (o > w->floor) {
			w->out = o - 1; /* removes the '/' that ends the output */
			w->is_popping = 1;
			return;
		}
		if (w->is_absolute)
			return;
		o = clean_add(p, top, o + 2, '/');
		w->out = w->floor = is_last ? o - 1 : o;
		return;
	}
	o += len;
	w->out = is_last ? o : clean_add(p, top, o, '/');
}

static long clean_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct clean_work *w = WORK(p, struct clean_work);
	u64 i = w->i, o = w->out, top = w->top;
	char c;

	if (w->is_popping) {
		u64 last = o - 1;

		OPAQUE(last); /* the verifier needs last's own bounds */
		if (o <= w->floor || last >= cfg.strsize || top > cfg.scratch_size ||
		    p[top + last] == '/')
			w->is_popping = 0;
		else
			w->out = last;
		return 0;
	}
	if (i > w->n || i > cfg.strsize)
		return 1;
	c = i < w->n ? p[cfg.text_a + i] : 0;
	w->i = i + 1;
	if (c == 0 || c == '/') {
		clean_component(p, w, i - w->start, c == 0);
		w->start = i + 1;
	} else {
		clean_add(p, top, o + i - w->start, c);
	}
	return 0;
}

u64 rt_sub_cleanpath(struct rt_mach *m, u64 s)
{
	struct clean_work *w;
	u64 top, o;
	s64 n;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	n = text_read(m, p + cfg.text_a, s);
	if (n < 0 || !string_take(m, top))
		return 0;
	w = WORK(p, struct clean_work);
	w->top = top;
	w->n = n;
	w->i = w->start = w->out = w->floor = w->is_absolute = w->is_popping = 0;
	if (n > 0 && p[cfg.text_a] == '/') {
		p[top] = '/';
		w->is_absolute = w->out = w->floor = 1;
	}
	/* A step reads one byte, removes one, or ends a removal: three a byte are enough. */
	loop_run(3 * (n + 2), clean_step, p);
	o = w->out;
	if (o == 0 && n > 0)
		return string_char(m, p, top, '.');
	if (o > cfg.strsize - 1)
		o = cfg.strsize - 1;
	return string_cut(m, p, top, 0, o);
}

/* ---- strtok ----------------------------------------------------------------------------- */

struct tok_work {
	u64 set[4]; /* bit c: c is a delimiter */
	u64 i, n;
	u64 start, is_inside;
};

static long tok_set_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct tok_work *w = WORK(p, struct tok_work);
	u64 i = w->i;
	unsigned char c;

	if (i > cfg.strsize)
		return 1;
	c = p[cfg.text_b + i];
	w->set[c >> 6] |= 1ull << (c & 63);
	w->i = i + 1;
	return 0;
}

static long tok_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p;
	struct tok_work *w = WORK(p, struct tok_work);
	u64 i = w->i, is_delim;
	unsigned char c;

	if (i > cfg.strsize)
		return 1;
	c = p[cfg.text_a + i];
	is_delim = w->set[c >> 6] >> (c & 63) & 1;
	if (w->is_inside && is_delim)
		return 1;
	if (!w->is_inside && !is_delim) {
		w->is_inside = 1;
		w->start = i;
	}
	w->i = i + 1;
	return 0;
}

/*
 * Scratch memory ends with its clause, but strtok() continues in the next clause of the firing: the
 * rest of its text is copied to the area at cfg.tok_off, where it outlives the clause.
 */
u64 rt_tok_keep(struct rt_mach *m)
{
	u64 off, n;
	char *p;

	if (!m)
		return 0;
	off = m->tok_rest - m->scratch;
	n = m->scratch_top - off;
	if (off >= m->scratch_top)
		return 0;
	p = slot_of(m);
	OPAQUE(n);
	if (!p || n > cfg.scratch_size)
		return 0;
	bpf_probe_read_kernel(p + cfg.tok_off, n, m->tok_rest);
	p[cfg.tok_off + n] = 0;
	m->tok_rest = m->scratch + cfg.tok_off;
	return 0;
}

u64 rt_sub_strtok(struct rt_mach *m, u64 s, u64 delims)
{
	struct tok_work *w;
	u64 rest, top, start, len;
	s64 n, k;
	char *p;

	if (!m)
		return 0;
	rest = s ? s : m->tok_rest;
	p = slot_of(m);
	if (!p || (!s && rest == RT_TOK_DONE))
		return 0;
	if (rest == 0)
		return fault(m, FAULT_BADADDR, 0);
	m->tok_rest = RT_TOK_DONE;
	n = text_read(m, p + cfg.text_a, rest);
	if (n < 0)
		return 0;
	k = text_read(m, p + cfg.text_b, delims);
	if (k < 0)
		return 0;
	w = WORK(p, struct tok_work);
	w->set[0] = w->set[1] = w->set[2] = w->set[3] = 0;
	w->i = 0;
	loop_run(k, tok_set_step, p);
	w->i = w->is_inside = w->start = 0;
	loop_run(n, tok_step, p);
	if (!w->is_inside || !scratch_top(m, &top))
		return 0;
	start = w->start;
	len = w->i - start;
	if (start + len < (u64)n)
		m->tok_rest = rest + start + len + 1;
	if (start > cfg.strsize || len > cfg.strsize)
		return 0;
	bpf_probe_read_kernel(p + top, len, (u64)(p + cfg.text_a + start));
	if (!string_take(m, top))
		return 0;
	p[top + len] = 0;
	return m->scratch + top;
}
