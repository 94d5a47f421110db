/* SPDX-License-Identifier: MIT */
/* Stability attributes and D versions: converts between text and value. */
#include "d/parse/attr.h"

static const char *const stability_names[] = {
	[STAB_INTERNAL] = "Internal", [STAB_PRIVATE] = "Private",   [STAB_OBSOLETE] = "Obsolete",
	[STAB_EXTERNAL] = "External", [STAB_UNSTABLE] = "Unstable", [STAB_EVOLVING] = "Evolving",
	[STAB_STABLE] = "Stable",     [STAB_STANDARD] = "Standard",
};

static const char *const depclass_names[] = {
	[DEP_UNKNOWN] = "Unknown", [DEP_CPU] = "CPU", [DEP_PLATFORM] = "Platform",
	[DEP_GROUP] = "Group",	   [DEP_ISA] = "ISA", [DEP_COMMON] = "Common",
};

static const char *const part_names[NPARTS] = {
	[PART_PROVIDER] = "provider", [PART_MODULE] = "module", [PART_FUNCTION] = "function",
	[PART_NAME] = "name",	      [PART_ARGS] = "args",
};

const struct attr attr_provider_default[NPARTS] = {
	ATTR_UNSTABLE, ATTR_UNSTABLE, ATTR_UNSTABLE, ATTR_UNSTABLE, ATTR_UNSTABLE,
};

const char *stability_name(uint8_t level)
{
	assert(level < ARRAY_LEN(stability_names));
	return stability_names[level];
}

const char *depclass_name(uint8_t class)
{
	assert(class < ARRAY_LEN(depclass_names));
	return depclass_names[class];
}

static bool word_find(const char *const *words, uint32_t n, const char *word, size_t len,
		      uint8_t *ret)
{
	for (uint32_t i = 0; i < n; i++) {
		if (strlen(words[i]) == len && memcmp(words[i], word, len) == 0) {
			*ret = (uint8_t)i;
			return true;
		}
	}
	return false;
}

bool attr_parse(const char *text, struct attr *ret)
{
	struct attr a = ATTR_MAX;
	uint8_t *const fields[] = {&a.name, &a.data, &a.class};
	const char *p = text;

	for (uint32_t i = 0; i < ARRAY_LEN(fields); i++) {
		size_t len = strcspn(p, "/");
		bool found =
			fields[i] == &a.class ? word_find(depclass_names, ARRAY_LEN(depclass_names),
							  p, len, fields[i])
					      : word_find(stability_names,
							  ARRAY_LEN(stability_names), p, len,
							  fields[i]);

		if (!found)
			return false;
		p += len;
		if (!*p) {
			*ret = a;
			return true;
		}
		p++;
	}
	return false; /* more than three components */
}

void attr_print(struct attr a, struct strbuf *out)
{
	strbuf_addf(out, "%s/%s/%s", stability_name(a.name), stability_name(a.data),
		    depclass_name(a.class));
}

struct attr attr_min(struct attr a, struct attr b)
{
	return (struct attr){MIN(a.name, b.name), MIN(a.data, b.data), MIN(a.class, b.class)};
}

bool attr_is_below(struct attr a, struct attr limit)
{
	return a.name < limit.name || a.data < limit.data || a.class < limit.class;
}

bool provider_part_parse(const char *word, enum provider_part *ret)
{
	uint8_t i;

	if (!word_find(part_names, NPARTS, word, strlen(word), &i))
		return false;
	*ret = (enum provider_part)i;
	return true;
}

/* Reads a decimal number of at most max and advances *p past it. */
static bool version_number(const char **p, uint32_t max, uint32_t *ret)
{
	uint32_t n = 0;

	if (**p < '0' || **p > '9')
		return false;
	for (; **p >= '0' && **p <= '9'; (*p)++) {
		n = n * 10 + (uint32_t)(**p - '0');
		if (n > max)
			return false;
	}
	*ret = n;
	return true;
}

bool version_parse(const char *text, uint32_t *ret)
{
	uint32_t major, minor, micro = 0;
	const char *p = text;

	if (!version_number(&p, 0xff, &major) || *p++ != '.' || !version_number(&p, 0xfff, &minor))
		return false;
	if (*p == '.') {
		p++;
		if (!version_number(&p, 0xfff, &micro))
			return false;
	}
	if (*p)
		return false;
	*ret = major << 24 | minor << 12 | micro;
	return true;
}
