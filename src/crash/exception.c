/* SPDX-License-Identifier: MIT */
/* Finds the exception with which a process has died. */
#include "crash/exception.h"

#include <ctype.h>

#include "helper/helper.h"
#include "mdb/lang.h"

#define MESSAGE_MAX 4000
#define CLASS_MAX   200
#define SCAN_MAX    (64u << 10) /* bytes of the stack that are searched */
#define LINES_MAX   200		/* of the log */

static const struct value_style style = {.depth = 1,
					 .items = 20,
					 .text = MESSAGE_MAX,
					 .is_one_line = true};

void exception_deinit(struct exception *x)
{
	strbuf_deinit(&x->class);
	strbuf_deinit(&x->message);
}

/* ---- values ---------------------------------------------------------------------------------- */

/*
 * Where exceptions have their message: in Ruby in a variable that no program can name; in Perl,
 * where objects of any class are thrown, as Exception::Class and Moose have it, and as Error has.
 */
static const struct {
	const char *language, *member;
} messages[] = {
	{"node", "message"}, {"python", "0"},		{"ruby", ""},	   {"php", "message"},
	{"perl", "message"}, {"java", "detailMessage"}, {"perl", "-text"},
};

void language_of(const struct mdb *m, uint32_t part, char ret[LANGUAGE_MAX])
{
	const char *name = part < m->replay.nhelpers ? basename(m->replay.helpers[part]->path) : "";

	(void)snprintf(ret, LANGUAGE_MAX, "%.*s", (int)strcspn(name, "."), name);
}

static void language_set(struct exception *x, const char *language)
{
	(void)snprintf(x->language, sizeof(x->language), "%s", language);
}

/* Perl throws texts, and any other value; a text ends with a new line. */
static bool text_take(struct mdb *m, const struct lang *l, uint64_t word, struct exception *ret)
{
	struct strbuf *text = &ret->message;

	if (!lang_text_add(m, l, word, &style, text))
		return false;
	while (text->len && text->data[text->len - 1] == '\n')
		text->data[--text->len] = '\0';
	return text->len != 0;
}

static bool value_take(struct mdb *m, const struct lang *l, uint64_t word, struct exception *ret)
{
	struct value v;
	bool is_object = value_read(l->p, l->h, word, 1, &v) && v.has_items && *v.class;

	if (is_object)
		strbuf_add(&ret->class, v.class, strnlen(v.class, CLASS_MAX));
	value_free(&v);
	language_of(m, l->part, ret->language);
	if (!is_object)
		return strcmp(ret->language, "perl") == 0 && text_take(m, l, word, ret);
	for (uint32_t i = 0; i < ARRAY_LEN(messages) && !ret->message.len; i++)
		if (strcmp(messages[i].language, ret->language) == 0)
			(void)lang_member_text_add(m, l, word, messages[i].member, &style,
						   &ret->message);
	return true;
}

static bool state_find(struct mdb *m, const struct stack *s, struct exception *ret)
{
	for (uint32_t i = 0; i < s->frames.len; i++) {
		const struct frame *f = &s->frames.data[i];
		struct lang l;

		for (uint32_t k = 0; k < f->locals.len; k++) {
			if (f->locals.data[k].kind != LOCAL_EXCEPTION || !lang_at(m, f->part, &l) ||
			    !value_take(m, &l, f->locals.data[k].word, ret))
				continue;
			ret->source = EXCEPTION_STATE;
			ret->thrown = (enum thrown_state)f->locals.data[k].key;
			return true;
		}
	}
	return false;
}

/* ---- the stack of V8 ------------------------------------------------------------------------- */

/* Whether a word is an object of which the language says that it is an error. */
static bool word_is_error(const struct lang *l, uint64_t word)
{
	struct strbuf type = {0};
	bool is = (word & 3) == 1 && value_type_add(l->p, l->h, word, &type) &&
		  strstr(strbuf_text(&type), "Error");

	strbuf_deinit(&type);
	return is;
}

/*
 * Between the innermost frame and the first one of JavaScript, V8 has the exception that it throws,
 * maybe several times, and no other one.
 */
static bool throw_find(struct mdb *m, const struct stack *s, struct exception *ret)
{
	uint64_t found = 0, from = 0, to = 0;
	bool is_throw = false;
	struct lang l = {0};

	for (uint32_t i = 0; i < s->frames.len && !to; i++) {
		const struct frame *f = &s->frames.data[i];
		struct strbuf name = {0};

		if (f->kind == REPLAY_LANGUAGE) {
			if (!lang_at(m, f->part, &l) || strcmp(l.label, "js") != 0)
				return false;
			to = f->fp;
			break;
		}
		from = from ? from : f->sp;
		frame_name_add(m, f, &name);
		is_throw |= strstr(strbuf_text(&name), "v8::internal::Isolate::Throw") != NULL;
		strbuf_deinit(&name);
	}
	if (!is_throw || !from || to <= from || to - from > SCAN_MAX)
		return false;
	for (uint64_t at = from; at < to; at += 8) {
		uint64_t word;

		if (!mdb_read(m, at, &word, sizeof(word)) || word == found ||
		    !word_is_error(&l, word))
			continue;
		if (found)
			return false; /* which of them is thrown is not known */
		found = word;
	}
	if (!found || !value_take(m, &l, found, ret))
		return false;
	ret->source = EXCEPTION_STACK;
	return true;
}

/* ---- the log --------------------------------------------------------------------------------- */

struct line {
	const char *text;
	size_t len;
};

/* The last lines, without empty ones. */
static uint32_t lines_take(const char *log, size_t len, struct line *ret, uint32_t max)
{
	uint32_t n = 0;
	size_t end = len;

	while (end && n < max) {
		size_t begin = end;

		while (begin && log[begin - 1] != '\n')
			begin--;
		if (begin < end)
			ret[n++] = (struct line){log + begin, end - begin};
		end = begin ? begin - 1 : 0;
	}
	for (uint32_t i = 0; i < n / 2; i++) {
		struct line other = ret[i];

		ret[i] = ret[n - 1 - i];
		ret[n - 1 - i] = other;
	}
	return n;
}

static bool line_begins(const struct line *l, const char *text)
{
	size_t n = strlen(text);

	return l->len >= n && memcmp(l->text, text, n) == 0;
}

/* Takes "Class: message"; false: it is none. */
static bool pair_take(const char *text, size_t len, const char *language, struct exception *ret)
{
	size_t n = 0;

	while (n < len && (isalnum((unsigned char)text[n]) || strchr("_.$\\", text[n])))
		n++;
	if (!n || n > CLASS_MAX || isdigit((unsigned char)text[0]) || (n < len && text[n] != ':'))
		return false;
	strbuf_add(&ret->class, text, n);
	n += n < len;
	while (n < len && text[n] == ' ')
		n++;
	strbuf_add(&ret->message, text + n, MIN(len - n, (size_t)MESSAGE_MAX));
	language_set(ret, language);
	ret->source = EXCEPTION_LOG;
	return true;
}

static bool rest_take(const struct line *l, const char *head, const char *language,
		      struct exception *ret)
{
	size_t n = strlen(head);

	return line_begins(l, head) && pair_take(l->text + n, l->len - n, language, ret);
}

/* The line behind the frames of a traceback. */
static bool python_take(const struct line *lines, uint32_t n, uint32_t i, struct exception *ret)
{
	if (!line_begins(&lines[i], "Traceback (most recent call last):"))
		return false;
	while (++i < n)
		if (lines[i].text[0] != ' ')
			return pair_take(lines[i].text, lines[i].len, "python", ret);
	return false;
}

/* "FILE:LINE:in `method': message (Class)" */
static bool ruby_take(const struct line *l, struct exception *ret)
{
	const char *begin = memmem(l->text, l->len, "': ", 3), *open;
	size_t n;

	if (!begin || l->len < 4 || l->text[l->len - 1] != ')' ||
	    !memmem(l->text, (size_t)(begin - l->text), ":in ", 4))
		return false;
	open = memrchr(l->text, '(', l->len);
	if (!open || open < begin + 4)
		return false;
	n = (size_t)(l->text + l->len - 1 - open - 1);
	if (!n || n > CLASS_MAX || !isupper((unsigned char)open[1]))
		return false;
	strbuf_add(&ret->class, open + 1, n);
	strbuf_add(&ret->message, begin + 3,
		   MIN((size_t)(open - 1 - begin - 3), (size_t)MESSAGE_MAX));
	language_set(ret, "ruby");
	ret->source = EXCEPTION_LOG;
	return true;
}

/* "Exception in thread "main" Class: message" */
static bool java_take(const struct line *l, struct exception *ret)
{
	static const char head[] = "Exception in thread \"";
	const char *end;

	if (!line_begins(l, head))
		return false;
	end = memmem(l->text + sizeof(head) - 1, l->len - sizeof(head) + 1, "\" ", 2);
	return end && pair_take(end + 2, (size_t)(l->text + l->len - end - 2), "java", ret);
}

/* "message at FILE line N." */
static bool perl_take(const struct line *l, struct exception *ret)
{
	const char *at = NULL;
	size_t n = l->len;

	if (n < 2 || l->text[n - 1] != '.' || !isdigit((unsigned char)l->text[n - 2]))
		return false;
	for (n -= 1; n && isdigit((unsigned char)l->text[n - 1]);)
		n--;
	if (n < 6 || memcmp(l->text + n - 6, " line ", 6) != 0)
		return false;
	for (size_t i = 0; i + 4 <= n - 6; i++)
		at = memcmp(l->text + i, " at ", 4) == 0 ? l->text + i : at;
	if (!at || at == l->text)
		return false;
	strbuf_add(&ret->message, l->text, MIN((size_t)(at - l->text), (size_t)MESSAGE_MAX));
	language_set(ret, "perl");
	ret->source = EXCEPTION_LOG;
	return true;
}

/* The language of the innermost frame of one. */
static void stack_language(const struct mdb *m, const struct stack *s, char ret[LANGUAGE_MAX])
{
	ret[0] = '\0';
	for (uint32_t i = 0; i < s->frames.len && !*ret; i++)
		if (s->frames.data[i].kind == REPLAY_LANGUAGE)
			language_of(m, s->frames.data[i].part, ret);
}

/* What a language writes is looked for only where its frames are. */
static bool log_find(const char *language, const char *log, size_t len, struct exception *ret)
{
	struct line *lines = xcalloc(LINES_MAX, sizeof(*lines));
	uint32_t n = lines_take(log, len, lines, LINES_MAX);
	bool is_found = false;

	for (uint32_t i = n; i-- && !is_found;) {
		const struct line *l = &lines[i];

		is_found =
			(strcmp(language, "node") == 0 && rest_take(l, "Uncaught ", "node", ret)) ||
			(strcmp(language, "python") == 0 && python_take(lines, n, i, ret)) ||
			(strcmp(language, "ruby") == 0 && ruby_take(l, ret)) ||
			(strcmp(language, "java") == 0 && java_take(l, ret)) ||
			(strcmp(language, "perl") == 0 && perl_take(l, ret)) ||
			(strcmp(language, "php") == 0 &&
			 (rest_take(l, "PHP Fatal error:  Uncaught ", "php", ret) ||
			  rest_take(l, "Fatal error: Uncaught ", "php", ret)));
	}
	free(lines);
	return is_found;
}

void exception_thread_find(struct mdb *m, const struct stack *stack, struct exception *ret)
{
	*ret = (struct exception){0};
	(void)state_find(m, stack, ret);
}

void exception_find(struct mdb *m, const struct stack *stack, const char *log, size_t len,
		    struct exception *ret)
{
	char language[LANGUAGE_MAX];

	*ret = (struct exception){0};
	if (!m || !stack || state_find(m, stack, ret) || throw_find(m, stack, ret))
		return;
	stack_language(m, stack, language);
	(void)log_find(language, log, len, ret);
}
