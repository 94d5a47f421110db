/* SPDX-License-Identifier: MIT */
/* Lines of the form key=value. */
#include "crash/pairs.h"

#include <errno.h>
#include <inttypes.h>

#include "base/text.h"

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'   ? c - '0'
	       : c >= 'a' && c <= 'f' ? c - 'a' + 10
	       : c >= 'A' && c <= 'F' ? c - 'A' + 10
				      : -1;
}

/* Returns a value without its escapes. */
static char *value_decode(const char *text, size_t len)
{
	char *to = xmalloc(len + 1);
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int high = -1, low = -1;

		if (text[i] == '\\' && len - i >= 4 && text[i + 1] == 'x') {
			high = hex_digit(text[i + 2]);
			low = hex_digit(text[i + 3]);
		}
		if (high >= 0 && low >= 0 && (high || low)) {
			to[n++] = (char)(high * 16 + low);
			i += 3;
		} else {
			to[n++] = text[i];
		}
	}
	to[n] = '\0';
	return to;
}

static void line_parse(const char *line, size_t len, struct pairs *ret)
{
	const char *equal;
	struct pair p;

	if (!len || *line == '#')
		return;
	equal = memchr(line, '=', len);
	if (!equal || equal == line || memchr(line, '\0', len) || ret->list.len >= PAIRS_MAX) {
		ret->nbad++;
		return;
	}
	p.key = value_decode(line, (size_t)(equal - line));
	p.value = value_decode(equal + 1, len - (size_t)(equal + 1 - line));
	vec_push(&ret->list, p);
}

void pairs_parse(const char *text, size_t len, struct pairs *ret)
{
	*ret = (struct pairs){0};
	while (len) {
		const char *end = memchr(text, '\n', len);
		size_t n = end ? (size_t)(end - text) : len;

		line_parse(text, n, ret);
		n += end != NULL;
		text += n;
		len -= n;
	}
}

void pairs_deinit(struct pairs *p)
{
	for (uint32_t i = 0; i < p->list.len; i++) {
		free(p->list.data[i].key);
		free(p->list.data[i].value);
	}
	vec_deinit(&p->list);
}

const char *pairs_find(const struct pairs *p, const char *key)
{
	for (uint32_t i = 0; i < p->list.len; i++)
		if (strcmp(p->list.data[i].key, key) == 0)
			return p->list.data[i].value;
	return NULL;
}

const char *pairs_text(const struct pairs *p, const char *key, const char *missing)
{
	const char *value = pairs_find(p, key);

	return value && *value ? value : missing;
}

int64_t pairs_int(const struct pairs *p, const char *key, int64_t missing)
{
	const char *text = pairs_find(p, key);
	long long n;
	char *end;

	if (!text || !*text)
		return missing;
	errno = 0;
	n = strtoll(text, &end, 10);
	return *end || errno ? missing : n;
}

void pair_write(struct strbuf *out, const char *key, const char *value)
{
	size_t len = strlen(value), n;

	strbuf_adds(out, key);
	strbuf_addc(out, '=');
	for (size_t i = 0; i < len; i += MAX(n, (size_t)1)) {
		uint32_t ch = 0;

		n = utf8_get(value + i, len - i, &ch);
		if (!n || ch < ' ' || ch == '\\' || (ch >= 0x7f && ch < 0xa0)) {
			for (size_t k = 0; k < MAX(n, (size_t)1); k++)
				strbuf_addf(out, "\\x%02x", (unsigned char)value[i + k]);
		} else {
			strbuf_add(out, value + i, n);
		}
	}
	strbuf_addc(out, '\n');
}

void pair_write_int(struct strbuf *out, const char *key, int64_t value)
{
	strbuf_addf(out, "%s=%" PRId64 "\n", key, value);
}
