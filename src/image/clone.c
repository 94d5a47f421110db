/* SPDX-License-Identifier: MIT */
/* Tells what compilers have made of functions and variables by the names of symbols. */
#include "image/clone.h"

#include "base/hash.h"

/* clang-format off */
static const struct suffix {
	const char *text;
	enum clone_kind kind;
	bool is_numbered; /* a number follows */
	bool is_owner;    /* the suffix tells functions of one name apart */
} suffixes[] = {
	{"lto_priv",   CLONE_ITSELF, true,  true},
	{"llvm",       CLONE_ITSELF, true,  true},
	{"__uniq",     CLONE_ITSELF, true,  true},
	{"localalias", CLONE_ITSELF, false, false},
	{"constprop",  CLONE_COPY,   true,  false},
	{"isra",       CLONE_COPY,   true,  false},
	{"part",       CLONE_PART,   true,  false},
	{"cold",       CLONE_PART,   false, false},
};
/* clang-format on */

static uint32_t text_hash(uint32_t h, const char *text, size_t len)
{
	h = fnv_32(h, text, len);
	return h ? h : 1;
}

/* Parses one suffix, from its dot on: how long it is; 0: it is none. */
static size_t suffix_parse(const char *text, size_t len, const struct suffix **ret)
{
	for (size_t i = 0; i < ARRAY_LEN(suffixes); i++) {
		const struct suffix *s = &suffixes[i];
		size_t n = 1 + strlen(s->text), digits = 0;

		if (len < n || memcmp(text + 1, s->text, n - 1) != 0)
			continue;
		while (n + 1 + digits < len && text[n] == '.' && text[n + 1 + digits] >= '0' &&
		       text[n + 1 + digits] <= '9')
			digits++;
		if (!digits && s->is_numbered)
			continue;
		n += digits ? digits + 1 : 0; /* some have a number now and then */
		if (n < len && text[n] != '.')
			continue;
		*ret = s;
		return n;
	}
	return 0;
}

/* Whether all of the text are suffixes. */
static bool suffixes_parse(const char *text, size_t len, struct clone *c)
{
	const struct suffix *s = NULL;
	uint32_t owner = 0;
	enum clone_kind kind = CLONE_ITSELF;
	bool is_changed = false;

	for (size_t at = 0, n; at < len; at += n) {
		n = suffix_parse(text + at, len - at, &s);
		if (!n)
			return false;
		is_changed |= kind == CLONE_ITSELF && strcmp(s->text, "isra") == 0;
		kind = MAX(kind, s->kind);
		if (s->is_owner)
			owner = text_hash(owner, text + at, n);
	}
	c->suffix = text_hash(0, text, len);
	c->owner = owner;
	c->kind = kind;
	c->is_changed = is_changed;
	return true;
}

size_t clone_parse(const char *name, size_t len, struct clone *ret)
{
	const char *dot = len ? memchr(name + 1, '.', len - 1) : NULL;

	ret->suffix = ret->owner = 0;
	ret->kind = CLONE_ITSELF;
	ret->is_changed = false;
	for (; dot; dot = memchr(dot + 1, '.', len - (size_t)(dot + 1 - name)))
		if (suffixes_parse(dot, len - (size_t)(dot - name), ret))
			return (size_t)(dot - name);
	return len;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool is_exported(const struct clone *c)
{
	return !c->suffix && c->is_global;
}

/* Whether two symbols of a name are of different functions or variables, or may be. */
static bool are_others(const struct clone *a, const struct clone *b)
{
	if (a->sym.addr == b->sym.addr)
		return false;
	return a->owner != b->owner || a->suffix == b->suffix ||
	       (a->file && b->file && a->file != b->file) ||
	       (a->kind == CLONE_ITSELF && (b->kind == CLONE_ITSELF || b->is_changed)) ||
	       (b->kind == CLONE_ITSELF && a->is_changed);
}

static bool list_has_others(const struct clone *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (are_others(&v[i], &v[j]))
				return true;
	return false;
}

bool clone_choose(const struct clone *v, uint32_t n, struct object_symbol *ret)
{
	const struct clone *best = NULL;
	bool is_ambiguous;

	for (uint32_t i = 0; i < n; i++) {
		if (is_exported(&v[i])) {
			*ret = v[i].sym;
			return true;
		}
		if (v[i].kind != CLONE_PART && (!best || v[i].kind < best->kind))
			best = &v[i];
	}
	if (!best)
		return false;
	is_ambiguous = list_has_others(v, n);
	for (uint32_t i = 0; i < n; i++) /* copies, of which none is the function itself */
		is_ambiguous |= v[i].kind == best->kind && v[i].sym.addr != best->sym.addr;
	*ret = is_ambiguous ? (struct object_symbol){.is_ambiguous = true} : best->sym;
	return true;
}

static int clone_compare(const void *a, const void *b)
{
	const struct clone *x = a, *y = b;
	bool is_first = x->kind == CLONE_ITSELF, is_second = y->kind == CLONE_ITSELF;

	if (is_first != is_second)
		return is_first ? -1 : 1;
	return x->sym.addr < y->sym.addr ? -1 : x->sym.addr > y->sym.addr;
}

uint32_t clone_pieces(struct clone *v, uint32_t n)
{
	uint32_t kept = 0, ret = 0;
	bool is_seen = false; /* by other files: then what has an owner is of others */

	for (uint32_t i = 0; i < n; i++)
		is_seen |= is_exported(&v[i]);
	for (uint32_t i = 0; i < n; i++)
		if (v[i].is_func && v[i].sym.size && (!is_seen || !v[i].owner))
			v[kept++] = v[i];
	qsort(v, kept, sizeof(*v), clone_compare);
	if (list_has_others(v, kept))
		return UINT32_MAX;
	for (uint32_t i = 0; i < kept; i++) /* the same code can have several symbols */
		if (!ret || v[ret - 1].sym.addr != v[i].sym.addr)
			v[ret++] = v[i];
	return ret;
}
