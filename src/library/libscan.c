/* SPDX-License-Identifier: MIT */
/* Scans D library files for the names that they define and the files on which they depend. */
#include "library/libscan.h"

/* ---- tokens ----------------------------------------------------------------------------- */

enum lib_tok { LIBTOK_END, LIBTOK_WORD, LIBTOK_PUNCT };

struct scan {
	const char *p, *end;
	enum lib_tok tok;
	const char *text; /* of the current token */
	size_t len;
	libscan_fn *fn;
	void *ctx;
};

/*
 * Sessions that use the library read all of it, character by character, so a table is worth it.
 * CHAR_OPAQUE: a string, comment or control line may begin here.
 */
enum { CHAR_OTHER, CHAR_WORD, CHAR_SPACE, CHAR_OPAQUE };
static const uint8_t char_class[256] = {
	/* clang-format off */
	['0' ... '9'] = CHAR_WORD, ['A' ... 'Z'] = CHAR_WORD, ['a' ... 'z'] = CHAR_WORD,
	['_'] = CHAR_WORD, ['`'] = CHAR_WORD,
	[' '] = CHAR_SPACE, ['\t' ... '\r'] = CHAR_SPACE,
	['"'] = CHAR_OPAQUE, ['\''] = CHAR_OPAQUE, ['/'] = CHAR_OPAQUE, ['#'] = CHAR_OPAQUE,
	/* clang-format on */
};

static uint8_t class_at(const char *p)
{
	return char_class[(unsigned char)*p];
}

/* The end of the string, comment or control line at p; NULL when none begins there. */
static const char *opaque_end(const struct scan *s, const char *p)
{
	const char *stop;

	if (*p == '"' || *p == '\'') {
		for (stop = p + 1; stop < s->end && *stop != *p; stop++)
			stop += *stop == '\\' && stop + 1 < s->end;
		return stop < s->end ? stop + 1 : stop;
	}
	if (*p == '/' && p + 1 < s->end && p[1] == '*') {
		stop = memmem(p + 2, (size_t)(s->end - p - 2), "*/", 2);
		return stop ? stop + 2 : s->end;
	}
	if (*p == '#') {
		stop = memchr(p, '\n', (size_t)(s->end - p));
		return stop ? stop : s->end;
	}
	return NULL;
}

static void scan_next(struct scan *s)
{
	const char *p = s->p;

	while (p < s->end) {
		uint8_t class = class_at(p);
		const char *skip = class == CHAR_OPAQUE ? opaque_end(s, p) : NULL;

		if (!skip && class != CHAR_SPACE)
			break;
		p = skip ? skip : p + 1;
	}
	s->text = p;
	s->tok = p == s->end ? LIBTOK_END : class_at(p) == CHAR_WORD ? LIBTOK_WORD : LIBTOK_PUNCT;
	p += p < s->end;
	while (s->tok == LIBTOK_WORD && p < s->end && class_at(p) == CHAR_WORD)
		p++;
	s->p = p;
	s->len = (size_t)(p - s->text);
}

static bool scan_at_word(const struct scan *s, const char *word)
{
	return s->tok == LIBTOK_WORD && s->len == strlen(word) &&
	       memcmp(s->text, word, s->len) == 0;
}

static bool scan_at(const struct scan *s, char c)
{
	return s->tok == LIBTOK_PUNCT && *s->text == c;
}

static bool scan_at_tag(const struct scan *s)
{
	return scan_at_word(s, "struct") || scan_at_word(s, "union") || scan_at_word(s, "enum");
}

/* ---- declarations ----------------------------------------------------------------------- */

static int depth_change(const struct scan *s)
{
	if (scan_at(s, '{') || scan_at(s, '(') || scan_at(s, '['))
		return 1;
	return scan_at(s, '}') || scan_at(s, ')') || scan_at(s, ']') ? -1 : 0;
}

/*
 * The characters at which scan_skip_decl() has to stop: brackets, ';', which ends a declaration,
 * and what begins a string, a comment or a directive, in which brackets do not count. All others
 * are 0.
 */
enum { SKIP_OPEN = 1, SKIP_CLOSE, SKIP_END, SKIP_OPAQUE };
static const uint8_t skip_class[256] = {
	/* clang-format off */
	['{'] = SKIP_OPEN, ['('] = SKIP_OPEN, ['['] = SKIP_OPEN,
	['}'] = SKIP_CLOSE, [')'] = SKIP_CLOSE, [']'] = SKIP_CLOSE,
	[';'] = SKIP_END,
	['"'] = SKIP_OPAQUE, ['\''] = SKIP_OPAQUE, ['/'] = SKIP_OPAQUE, ['#'] = SKIP_OPAQUE,
	/* clang-format on */
};

/*
 * Skips the rest of a declaration with its ';'; false when the text ends before. Most of the
 * library is bodies that are skipped here, so they are not divided into tokens.
 */
static bool scan_skip_decl(struct scan *s)
{
	const char *p = s->text, *stop;
	int depth = 0;

	for (; p < s->end; p++) {
		uint8_t class = skip_class[(unsigned char)*p];

		if (!class)
			continue;
		depth += (class == SKIP_OPEN) - (class == SKIP_CLOSE);
		stop = class == SKIP_OPAQUE ? opaque_end(s, p) : NULL;
		if (stop)
			p = stop - 1;
		if (class == SKIP_END && !depth)
			break;
	}
	s->p = p < s->end ? p + 1 : s->end;
	scan_next(s);
	return p < s->end;
}

/* "inline" type NAME ["[" params "]"] "=" ... ";" */
static bool scan_inline(struct scan *s)
{
	const char *name = NULL;
	size_t len = 0;

	for (; s->tok != LIBTOK_END && !scan_at(s, '=') && !scan_at(s, '[') && !scan_at(s, ';');
	     scan_next(s))
		if (s->tok == LIBTOK_WORD) {
			name = s->text;
			len = s->len;
		}
	if (name)
		s->fn(s->ctx, name, len);
	return name && scan_skip_decl(s);
}

/* Behind "enum": constants stand behind the '{' and behind commas. */
static void scan_enumerators(struct scan *s)
{
	bool is_name = true;

	for (scan_next(s); s->tok != LIBTOK_END && !scan_at(s, '}'); scan_next(s)) {
		if (is_name && s->tok == LIBTOK_WORD)
			s->fn(s->ctx, s->text, s->len);
		is_name = scan_at(s, ',');
	}
}

static bool is_before_brace(const struct scan *s)
{
	struct scan ahead = *s;

	scan_next(&ahead);
	return scan_at(&ahead, '{');
}

/* At "struct", "union" or "enum": finds the tag and names in the body; stops at the last token. */
static void scan_tag(struct scan *s)
{
	bool is_enum = scan_at_word(s, "enum");
	int depth = 0;

	scan_next(s);
	if (s->tok == LIBTOK_WORD) {
		if (!is_before_brace(s))
			return; /* a use of the tag, not its definition */
		s->fn(s->ctx, s->text, s->len);
		scan_next(s);
	}
	if (is_enum && scan_at(s, '{')) {
		scan_enumerators(s);
		return;
	}
	for (; s->tok != LIBTOK_END; scan_next(s)) {
		if (scan_at_tag(s)) {
			scan_tag(s);
			continue; /* scan_enumerators() has read its closing brace */
		}
		depth += depth_change(s);
		if (!depth)
			return;
	}
}

/* Variables, typedefs, bodies of types. A name stands before ; , [ or behind (* */
static bool scan_vars(struct scan *s)
{
	const char *name = NULL;
	size_t len = 0;
	int depth = 0;
	bool behind_star = false;

	for (; s->tok != LIBTOK_END; scan_next(s)) {
		if (scan_at_tag(s)) {
			scan_tag(s);
			name = NULL;
			continue;
		}
		if (s->tok == LIBTOK_WORD && (depth == 0 || (depth == 1 && behind_star))) {
			name = s->text;
			len = s->len;
			if (depth == 1)
				s->fn(s->ctx, name, len);
		} else if (name && depth == 0 &&
			   (scan_at(s, ';') || scan_at(s, ',') || scan_at(s, '['))) {
			s->fn(s->ctx, name, len);
			name = NULL;
		}
		behind_star = scan_at(s, '*');
		depth += depth_change(s);
		if (!depth && scan_at(s, ';')) {
			scan_next(s);
			return true;
		}
	}
	return false;
}

/* "translator" OUT "<" IN NAME ">" ... -- a program that mentions OUT may need the translator */
static bool scan_translator(struct scan *s)
{
	const char *name = NULL;
	size_t len = 0;

	for (scan_next(s); s->tok != LIBTOK_END && !scan_at(s, '<'); scan_next(s))
		if (s->tok == LIBTOK_WORD) {
			name = s->text;
			len = s->len;
		}
	if (name)
		s->fn(s->ctx, name, len);
	return name && scan_skip_decl(s);
}

/* "probe" NAME -- found as LIBSCAN_PROBE NAME, with '-' for "__" */
static void scan_probe_name(struct scan *s)
{
	char key[sizeof(LIBSCAN_PROBE) + LIBSCAN_MAX_PROVIDER] = LIBSCAN_PROBE;
	size_t len = sizeof(LIBSCAN_PROBE) - 1;

	for (size_t i = 0; i < s->len && len < sizeof(key); i++) {
		bool is_dash = s->text[i] == '_' && i + 1 < s->len && s->text[i + 1] == '_';

		key[len++] = is_dash ? '-' : s->text[i];
		i += is_dash;
	}
	s->fn(s->ctx, key, len);
}

/* Finds the probes in the rest of a provider. */
static bool scan_probes(struct scan *s)
{
	for (int depth = 0; s->tok != LIBTOK_END;) {
		if (depth == 1 && scan_at_word(s, "probe")) {
			scan_next(s);
			if (s->tok == LIBTOK_WORD)
				scan_probe_name(s);
			if (!scan_skip_decl(s))
				return false;
			continue;
		}
		depth += depth_change(s);
		if (!depth && scan_at(s, ';')) {
			scan_next(s);
			return true;
		}
		scan_next(s);
	}
	return false;
}

/* "provider" NAME ... -- found as LIBSCAN_PROVIDER NAME, which is unlike every other name */
static bool scan_provider(struct scan *s)
{
	char key[sizeof(LIBSCAN_PROVIDER) + LIBSCAN_MAX_PROVIDER];

	scan_next(s);
	if (s->tok != LIBTOK_WORD || s->len > LIBSCAN_MAX_PROVIDER)
		return false;
	memcpy(key, LIBSCAN_PROVIDER, sizeof(LIBSCAN_PROVIDER) - 1);
	memcpy(key + sizeof(LIBSCAN_PROVIDER) - 1, s->text, s->len);
	s->fn(s->ctx, key, sizeof(LIBSCAN_PROVIDER) - 1 + s->len);
	return scan_probes(s);
}

bool libscan_names(const char *text, size_t size, libscan_fn *fn, void *ctx)
{
	struct scan s = {.p = text, .end = text + size, .fn = fn, .ctx = ctx};
	bool good = true;

	scan_next(&s);
	while (good && s.tok != LIBTOK_END) {
		if (scan_at_word(&s, "inline"))
			good = scan_inline(&s);
		else if (scan_at_word(&s, "translator"))
			good = scan_translator(&s);
		else if (scan_at_word(&s, "provider"))
			good = scan_provider(&s);
		else if (s.tok == LIBTOK_WORD)
			good = scan_vars(&s);
		else
			good = false;
	}
	return good;
}

/* ---- dependencies ----------------------------------------------------------------------- */

/* Reads the next word of *p up to a blank; false at the end of the line. */
static bool word_next(const char **p, const char *end, const char **ret_word, size_t *ret_len)
{
	while (*p < end && strchr(" \t", **p))
		++*p;
	*ret_word = *p;
	while (*p < end && !strchr(" \t\r", **p))
		++*p;
	*ret_len = (size_t)(*p - *ret_word);
	return *ret_len > 0;
}

/* Calls fn for the word behind each line's first n words, if these are the wanted ones. */
static void pragmas_find(const char *text, size_t size, const char *const *want, size_t n,
			 libscan_fn *fn, void *ctx)
{
	const char *line = text, *end = text + size, *at;

	while (line < end && (at = memmem(line, (size_t)(end - line), want[2], strlen(want[2])))) {
		const char *before = memrchr(line, '\n', (size_t)(at - line));
		const char *eol = memchr(at, '\n', (size_t)(end - at));
		const char *p = before ? before + 1 : line, *word;
		size_t len, i = 0;

		eol = eol ? eol : end;
		while (p < eol && class_at(p) == CHAR_SPACE)
			p++;
		while ((i || (p < eol && *p == '#')) && i < n && word_next(&p, eol, &word, &len) &&
		       len == strlen(want[i]) && memcmp(word, want[i], len) == 0)
			i++;
		if (i == n && word_next(&p, eol, &word, &len))
			fn(ctx, word, len);
		line = eol + 1;
	}
}

void libscan_deps(const char *text, size_t size, const char *on, libscan_fn *fn, void *ctx)
{
	const char *const want[] = {"#pragma", "D", "depends_on", on};

	pragmas_find(text, size, want, ARRAY_LEN(want), fn, ctx);
}

static void harm_note(void *ctx, const char *word, size_t len)
{
	(void)word, (void)len;
	*(bool *)ctx = true;
}

bool libscan_has_harms(const char *text, size_t size)
{
	static const char *const want[] = {"#pragma", "D", "harmful"};
	bool has = false;

	pragmas_find(text, size, want, ARRAY_LEN(want), harm_note, &has);
	return has;
}
