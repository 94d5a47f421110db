/* SPDX-License-Identifier: MIT */
/*
 * Run-time library: json().
 *
 * The text is read once, from left to right: the value that a step of the path names lies behind
 * everything that was read to find it, so no character is needed again later. The parser is a state
 * machine: the state says which part of the text is being read, the position how far the text was
 * read, and each step of the loop examines one character. dif/interp_subr.c describes json().
 */
#include "rt/rt.h"

enum state {
	VALUE,	    /* before the value that the steps so far name: is the path at its end? */
	STEP,	    /* at the first character of a step */
	INDEX,	    /* in a step that is the index of an array */
	KEY_BEGIN,  /* before '"' */
	KEY,	    /* in a key */
	KEY_ESCAPE, /* in a key, behind a backslash */
	COLON,
	MEMBER,	 /* before the value of a member */
	ELEMENT, /* before an element, or ']' */
	COMMA,	 /* behind a value that is not sought */
	SKIP,	 /* at the first character of a value that is to be skipped */
	LITERAL, /* in true, false or null */
	SIGN,	 /* in a number: behind '-' */
	ZERO,	 /* behind a 0 that begins a number */
	INT,
	POINT,
	FRACTION,
	EXP, /* behind 'e' */
	EXP_SIGN,
	EXP_INT,
	STRING,
	ESCAPE,
	BRACKETS,
	INNER_STRING,
	INNER_ESCAPE,
	BEHIND, /* behind the value sought: does what follows go with it? */
	FOUND,
	MISSING,
};

#define DEPTH_MAX 64 /* open brackets: the bits of json_work.kinds */

struct json_work {
	u64 top;	 /* offset of the text in scratch memory */
	u64 i;		 /* position in the text */
	u64 step, end;	 /* begin and end of the current step in the path */
	u64 key;	 /* position in the path up to which the key agrees with the step */
	u64 index;	 /* elements of the array that are still to be skipped */
	u64 depth;	 /* number of open brackets in a value that is skipped */
	u64 kinds;	 /* of these brackets, the innermost one in bit 0: 1 is a brace */
	u64 literal;	 /* the characters of true, false or null that are still to come */
	u64 begin, stop; /* begin and end of the value sought */
	u32 state, skip; /* skip: the state that follows when a value has been skipped */
	u32 is_object, is_equal, has_steps;
};

INLINE int is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The end of the text does not: it may have been cut in the middle of a number. */
INLINE int ends_word(char c)
{
	return is_space(c) || c == ',' || c == ']' || c == '}';
}

INLINE int is_digit(char c)
{
	return c >= '0' && c <= '9';
}

INLINE int ends_step(char c)
{
	return c == 0 || c == '.' || c == '[' || c == ']';
}

/* Skips separators of the path. At the path's end, the value at the position is the one sought. */
INLINE u32 step_next(struct json_work *w, char in_path)
{
	if (in_path && ends_step(in_path)) {
		w->step++;
		return VALUE;
	}
	if (in_path) {
		w->end = w->step;
		return STEP;
	}
	if (!w->has_steps)
		return MISSING;
	w->begin = w->i;
	w->skip = BEHIND;
	return SKIP;
}

/*
 * Enters the object or array in which the step, whose end is now known, names a member or an
 * element.
 */
INLINE u32 step_into(struct json_work *w, char c)
{
	w->has_steps = 1;
	w->key = w->step;
	w->is_object = c == '{';
	if (c == '{') {
		w->i++;
		return KEY_BEGIN;
	}
	w->index = 0;
	if (c != '[' || w->end - w->step > 9)
		return MISSING;
	w->i++;
	return INDEX;
}

INLINE u32 key_char(struct json_work *w, char c, char in_path)
{
	if (w->key < w->end && in_path == c)
		w->key++;
	else
		w->is_equal = 0;
	w->i++;
	return KEY;
}

#define CHARS3(a, b, c) ((u64)(a) | (u64)(b) << 8 | (u64)(c) << 16)

INLINE u32 skip_begin(struct json_work *w, char c)
{
	w->i++;
	switch (c) {
	case '{':
	case '[':
		w->depth = 1;
		w->kinds = c == '{';
		return BRACKETS;
	case '"': return STRING;
	case '-': return SIGN;
	case '0': return ZERO;
	case 't': w->literal = CHARS3('r', 'u', 'e'); return LITERAL;
	case 'f': w->literal = CHARS3('a', 'l', 's') | (u64)'e' << 24; return LITERAL;
	case 'n': w->literal = CHARS3('u', 'l', 'l'); return LITERAL;
	}
	return is_digit(c) ? INT : MISSING;
}

/* The state that follows one in a word, the character c of which is examined. */
INLINE u32 in_word(struct json_work *w, u32 state, char c)
{
	int can_end = state == LITERAL ? w->literal == 0
				       : state == ZERO || state == INT || state == FRACTION ||
						 state == EXP_INT;

	if (can_end && ends_word(c))
		return w->skip;
	w->i++;
	if (state == LITERAL) {
		if (c == 0 || (char)w->literal != c)
			return MISSING;
		w->literal >>= 8;
		return LITERAL;
	}
	if (is_digit(c)) {
		if (state == ZERO)
			return MISSING;
		if (state == SIGN)
			return c == '0' ? ZERO : INT;
		return state == POINT			   ? FRACTION
		       : state == EXP || state == EXP_SIGN ? EXP_INT
							   : state;
	}
	if (c == '.' && (state == ZERO || state == INT))
		return POINT;
	if ((c == 'e' || c == 'E') && (state == ZERO || state == INT || state == FRACTION))
		return EXP;
	return (c == '+' || c == '-') && state == EXP ? EXP_SIGN : MISSING;
}

INLINE u32 in_brackets(struct json_work *w, char c)
{
	if (c == 0)
		return MISSING;
	w->i++;
	if (c == '"')
		return INNER_STRING;
	if (c == '{' || c == '[') {
		w->kinds = w->kinds << 1 | (c == '{');
		return ++w->depth > DEPTH_MAX ? MISSING : BRACKETS;
	}
	if (c == '}' || c == ']') {
		if ((w->kinds & 1) != (c == '}'))
			return MISSING;
		w->kinds >>= 1;
		if (--w->depth == 0)
			return w->skip;
	}
	return BRACKETS;
}

/* A value is the one sought only if what follows it may stand there; see ends_word(), too. */
INLINE u32 behind_value(struct json_work *w, char c)
{
	if (!w->stop)
		w->stop = w->i;
	w->i++;
	if (is_space(c))
		return BEHIND;
	return c == 0 || c == ',' || c == (w->is_object ? '}' : ']') ? FOUND : MISSING;
}

/*
 * The transitions: examines c, the character at position i of the text, and the characters of the
 * path at the positions step, end and key, and returns the next state.
 */
INLINE u32 next_state(struct json_work *w, char c, char at_step, char at_end, char at_key)
{
	u32 state = w->state;

	switch (state) {
	case KEY_BEGIN:
	case COLON:
	case MEMBER:
	case ELEMENT:
	case COMMA:
		if (is_space(c)) {
			w->i++;
			return state;
		}
	}
	switch (state) {
	case VALUE: return step_next(w, at_step);
	case STEP:
		if (ends_step(at_end))
			return step_into(w, c);
		w->end++;
		return STEP;
	case INDEX:
		if (w->key >= w->end)
			return ELEMENT;
		if (at_key < '0' || at_key > '9')
			return MISSING;
		w->index = w->index * 10 + (at_key - '0');
		w->key++;
		return INDEX;
	case KEY_BEGIN:
		w->i++;
		w->key = w->step;
		w->is_equal = 1;
		return c == '"' ? KEY : MISSING;
	case KEY:
		if (c == 0)
			return MISSING;
		if (c == '"') {
			w->i++;
			return COLON;
		}
		key_char(w, c, at_key);
		return c == '\\' ? KEY_ESCAPE : KEY;
	case KEY_ESCAPE: return c ? key_char(w, c, at_key) : MISSING;
	case COLON: w->i++; return c == ':' ? MEMBER : MISSING;
	case MEMBER:
		w->skip = COMMA;
		if (!w->is_equal || w->key != w->end)
			return SKIP;
		w->step = w->end;
		return VALUE;
	case ELEMENT:
		w->skip = COMMA;
		if (w->index) {
			w->index--;
			return SKIP;
		}
		w->step = w->end;
		return VALUE;
	case COMMA: w->i++; return c != ',' ? MISSING : w->is_object ? KEY_BEGIN : ELEMENT;
	case SKIP: return skip_begin(w, c);
	case LITERAL:
	case SIGN:
	case ZERO:
	case INT:
	case POINT:
	case FRACTION:
	case EXP:
	case EXP_SIGN:
	case EXP_INT: return in_word(w, state, c);
	case BEHIND: return behind_value(w, c);
	case BRACKETS: return in_brackets(w, c);
	case STRING:
	case INNER_STRING:
		if (c == 0)
			return MISSING;
		w->i++;
		if (c == '\\')
			return state + 1;
		return c != '"' ? state : state == STRING ? w->skip : BRACKETS;
	case ESCAPE:
	case INNER_ESCAPE: w->i++; return c ? state - 1 : MISSING;
	}
	return MISSING;
}

/*
 * Reads one byte of a text; false if the position is outside. The accesses are volatile, so that
 * the position is used right after its check: a compiler that spills it in between makes Linux 6.1
 * forget the bounds.
 */
INLINE int text_at(const char *text, const u64 *pos, char *ret)
{
	u64 i = *(const volatile u64 *)pos;

	if (i >= cfg.strsize)
		return 0;
	*ret = *(const volatile char *)(text + i);
	return 1;
}

static long json_step(u64 it, void *ctx)
{
	char *p = ((struct loop *)ctx)->p, c, step, end, key;
	struct json_work *w = WORK(p, struct json_work);
	u64 top = w->top;

	if (w->state >= FOUND || top > cfg.scratch_size || !text_at(p + top, &w->i, &c) ||
	    !text_at(p + cfg.text_b, &w->step, &step) || !text_at(p + cfg.text_b, &w->end, &end) ||
	    !text_at(p + cfg.text_b, &w->key, &key))
		return 1;
	w->state = next_state(w, c, step, end, key);
	return 0;
}

INLINE char char_at(char *p, u64 top, u64 i)
{
	return top > cfg.scratch_size || i >= cfg.strsize ? 0 : p[top + i];
}

/*
 * A position is moved past each character of the text once, and past each of the path at most
 * twice; steps that move no position are fewer than those that move one. So four steps a character
 * are enough.
 */
u64 rt_sub_json(struct rt_mach *m, u64 s, u64 path)
{
	struct json_work *w;
	u64 top, begin, end;
	s64 n, k;
	char *p;

	if (!m)
		return 0;
	p = slot_of(m);
	if (!p || !scratch_top(m, &top))
		return 0;
	n = text_read(m, p + top, s);
	if (n < 0)
		return 0;
	k = text_read(m, p + cfg.text_b, path);
	if (k < 0)
		return 0;
	w = WORK(p, struct json_work);
	*w = (struct json_work){.top = top, .state = ELEMENT};
	loop_run(4 * (n + k) + 16, json_step, p);
	begin = w->begin;
	end = w->stop;
	if (w->state != FOUND || !string_take(m, top))
		return 0;
	if (char_at(p, top, begin) == '"') {
		begin++;
		end--;
	}
	OPAQUE(end);
	if (end >= cfg.strsize)
		return 0;
	p[top + end] = 0;
	return m->scratch + top + begin;
}
