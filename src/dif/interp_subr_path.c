/* SPDX-License-Identifier: MIT */
/* Path subroutines of the interpreter. Semantics: top of interp_subr.c. */
#include "dif/interp_impl.h"

static size_t slashes_trim(const char *s, size_t len)
{
	while (len && s[len - 1] == '/')
		len--;
	return len;
}

static size_t component_trim(const char *s, size_t len)
{
	while (len && s[len - 1] != '/')
		len--;
	return len;
}

uint64_t subr_basename(struct dif_machine *m, const uint64_t *v)
{
	const char *s = m->text[0];
	size_t end, start;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	if (!n)
		return subr_result(m, ".", 1);
	end = slashes_trim(s, n);
	if (!end)
		return subr_result(m, "/", 1);
	start = component_trim(s, end);
	return subr_result(m, s + start, end - start);
}

uint64_t subr_dirname(struct dif_machine *m, const uint64_t *v)
{
	const char *s = m->text[0];
	size_t len;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	len = slashes_trim(s, n);
	if (n && !len)
		return subr_result(m, "/", 1);
	len = component_trim(s, len);
	if (!len)
		return subr_result(m, ".", 1);
	len = slashes_trim(s, len);
	return len ? subr_result(m, s, len) : subr_result(m, "/", 1);
}

/* The state of cleanpath(): out never grows past the text of which it is made. */
struct clean {
	char *out;
	size_t len, floor; /* nothing before floor is removed */
	bool is_absolute;
};

static void clean_append(struct clean *c, const char *comp, size_t len, bool is_last)
{
	memcpy(c->out + c->len, comp, len);
	c->len += len;
	if (!is_last)
		c->out[c->len++] = '/';
}

static void clean_parent(struct clean *c, bool is_last)
{
	if (c->len > c->floor) {
		c->len = MAX(c->floor, component_trim(c->out, c->len - 1));
	} else if (!c->is_absolute) {
		clean_append(c, "..", 2, is_last);
		c->floor = c->len;
	}
}

static void clean_component(struct clean *c, const char *comp, size_t len, bool is_last)
{
	if (len == 2 && memcmp(comp, "..", 2) == 0) {
		clean_parent(c, is_last);
	} else if (len == 1 && comp[0] == '.' && !is_last) {
		if (c->len)
			return;
		clean_append(c, ".", 1, false);
		c->floor = c->len;
	} else {
		clean_append(c, comp, len, is_last);
	}
}

uint64_t subr_cleanpath(struct dif_machine *m, const uint64_t *v)
{
	const char *s = m->text[0];
	struct clean c = {.out = m->text[1]};
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	if (s[0] == '/') {
		c.out[0] = '/';
		c.len = c.floor = 1;
		c.is_absolute = true;
	}
	while (*s) {
		size_t len = strcspn(s, "/");

		if (len)
			clean_component(&c, s, len, s[len] == '\0');
		s += len;
		s += strspn(s, "/");
	}
	if (n && !c.len)
		return subr_result(m, ".", 1);
	return subr_result(m, c.out, c.len);
}
