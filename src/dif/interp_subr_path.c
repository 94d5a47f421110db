/* Path subroutines of the interpreter. Semantics: top of interp_subr.c. */
#include "dif/interp_impl.h"

static size_t trim_slashes(const char *s, size_t len)
{
	while (len && s[len - 1] == '/')
		len--;
	return len;
}

static size_t trim_component(const char *s, size_t len)
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
	end = trim_slashes(s, n);
	if (!end)
		return subr_result(m, "/", 1);
	start = trim_component(s, end);
	return subr_result(m, s + start, end - start);
}

uint64_t subr_dirname(struct dif_machine *m, const uint64_t *v)
{
	const char *s = m->text[0];
	size_t len;
	uint32_t n;

	if (!subr_text(m, v[0], 0, &n))
		return 0;
	len = trim_slashes(s, n);
	if (n && !len)
		return subr_result(m, "/", 1);
	len = trim_component(s, len);
	if (!len)
		return subr_result(m, ".", 1);
	len = trim_slashes(s, len);
	return len ? subr_result(m, s, len) : subr_result(m, "/", 1);
}

/* cleanpath() under way: out never grows past the text it is made from. */
struct clean {
	char *out;
	size_t len, floor; /* nothing before floor is removed any more */
	bool is_absolute;
};

static void clean_append(struct clean *c, const char *comp, size_t len, bool is_last)
{
	memcpy(c->out + c->len, comp, len);
	c->len += len;
	if (!is_last)
		c->out[c->len++] = '/';
}

static void clean_up(struct clean *c, bool is_last)
{
	if (c->len > c->floor) {
		c->len = MAX(c->floor, trim_component(c->out, c->len - 1));
	} else if (!c->is_absolute) {
		clean_append(c, "..", 2, is_last);
		c->floor = c->len;
	}
}

static void clean_component(struct clean *c, const char *comp, size_t len, bool is_last)
{
	if (len == 2 && memcmp(comp, "..", 2) == 0) {
		clean_up(c, is_last);
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
