/* SPDX-License-Identifier: MIT */
/*
 * File, line and function of the innermost frame of a language, from the text that its helper has
 * given it. The forms of these texts are those of the guide, "What a text says"; rt/lang.c takes
 * them apart in the kernel.
 */
#include <ctype.h>

#include "remains/impl.h"

struct piece {
	const char *at;
	size_t len;
};

/* Where the parenthesis is opened with which the text ends; NULL: it does not end with one. */
static const char *open_find(const struct piece *text)
{
	size_t nopen = 0;

	for (size_t i = text->len; i--;) {
		nopen += text->at[i] == ')';
		if (!nopen)
			return NULL;
		if (text->at[i] == '(' && --nopen == 0)
			return text->at + i;
	}
	return NULL;
}

static bool ends_with(const struct piece *p, const char *word)
{
	size_t n = strlen(word);

	return p->len >= n && memcmp(p->at + p->len - n, word, n) == 0;
}

/* Takes the number of a line off the end of the place; returns it, or 0. */
static uint64_t line_take(struct piece *place, bool is_worded)
{
	uint64_t line = 0, unit = 1;
	struct piece rest = *place;

	while (rest.len && place->len - rest.len < 10 &&
	       isdigit((unsigned char)rest.at[rest.len - 1])) {
		line += unit * (uint64_t)(rest.at[--rest.len] - '0');
		unit *= 10;
	}
	if (!rest.len || rest.len == place->len)
		return 0;
	if (!is_worded && ends_with(&rest, ":"))
		place->len = rest.len - 1;
	else if (is_worded && ends_with(&rest, " line "))
		place->len = rest.len - strlen(" line ");
	else if (is_worded && ends_with(&rest, " file position "))
		place->len = rest.len - strlen(" file position "), line = 0;
	else
		line = 0;
	return line;
}

/* Takes the text apart; returns the line. */
static uint64_t text_split(const char *text, struct piece *func, struct piece *file)
{
	bool has_place_first = *text == '@';
	struct piece all = {text + has_place_first, strlen(text) - has_place_first}, closed = all;
	const char *said = strstr(text, " at "), *open;
	struct piece before, inside;

	*func = all;
	*file = (struct piece){text, 0};
	if (!has_place_first && said && said > text) {
		*func = (struct piece){text, (size_t)(said - text)};
		*file = (struct piece){said + 4, strlen(said + 4)};
		return line_take(file, true);
	}
	if (!has_place_first && ends_with(&closed, ")*"))
		closed.len--;
	open = open_find(&closed);
	if (!open || (!has_place_first && open == text))
		return 0;
	before = (struct piece){all.at, (size_t)(open - all.at)};
	if (ends_with(&before, " "))
		before.len--;
	inside = (struct piece){open + 1, (size_t)(closed.at + closed.len - open) - 2};
	*func = has_place_first ? inside : before;
	*file = has_place_first ? before : inside;
	return line_take(file, false);
}

/* The text of the innermost frame of a language, from the frame of the event on; "": none. */
static const char *text_find(const struct remains_run *r)
{
	const struct stack *s = r->event.stack;

	for (uint32_t i = r->event.frame; s && i < s->frames.len; i++)
		if (s->frames.data[i].text && !s->frames.data[i].is_stub)
			return s->frames.data[i].text;
	return "";
}

uint64_t lang_part(struct remains_run *r, uint32_t var)
{
	uint32_t i = var == DIF_VAR_LFILE ? EVENT_FILE : EVENT_FUNC;
	struct piece func, file, *wanted = var == DIF_VAR_LFILE ? &file : &func;
	uint64_t line = text_split(text_find(r), &func, &file);

	if (var == DIF_VAR_LLINE)
		return line;
	strbuf_clear(&r->texts[i]);
	strbuf_add(&r->texts[i], wanted->at, wanted->len);
	r->event.texts[i] = strbuf_text(&r->texts[i]);
	return EVENT_TEXT(i);
}
