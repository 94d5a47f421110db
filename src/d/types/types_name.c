/* SPDX-License-Identifier: MIT */
/* Spells types as text, in C. */
#include "d/types/types_impl.h"

/*
 * A declarator is written from the inside out: around the text so far, a pointer goes to the left,
 * a dimension or a list of parameters to the right, with parentheses where '*' would bind wrongly.
 */
struct declarator {
	char *text;	  /* grows outwards */
	bool was_pointer; /* the derivation added last is a pointer */
};

struct qual_word {
	enum type_kind kind;
	const char *word;
};

static const struct qual_word qual_words[] = {
	{TK_CONST, "const"},
	{TK_VOLATILE, "volatile"},
	{TK_RESTRICT, "restrict"},
	{TK_USERLAND, "userland"},
};

/* The words of a set of qualifiers: "const volatile ". */
static const char *quals_text(struct arena *a, uint32_t has)
{
	const char *text = "";

	for (size_t i = 0; i < ARRAY_LEN(qual_words); i++)
		if (has & 1u << qual_words[i].kind)
			text = arena_printf(a, "%s%s ", text, qual_words[i].word);
	return text;
}

/* Removes the qualifiers from *id and returns them as a set. */
static uint32_t quals_strip(const struct types *t, type_id *id)
{
	uint32_t has = 0;

	while (type_kind_is_qual(type_get(t, *id)->kind)) {
		has |= 1u << type_get(t, *id)->kind;
		*id = type_get(t, *id)->ref;
	}
	return has;
}

static const char *base_text(const struct type_info *info, struct arena *a)
{
	const char *word = info->kind == TK_STRUCT  ? "struct"
			   : info->kind == TK_UNION ? "union"
			   : info->kind == TK_ENUM  ? "enum"
						    : NULL;

	if (!word)
		return info->name;
	return arena_printf(a, "%s %s", word, *info->name ? info->name : "(anon)");
}

static const char *params_text(const struct types *t, const struct type_info *fn, struct arena *a)
{
	const char *text = "";

	for (uint32_t i = 0; i < fn->nelems; i++)
		text = arena_printf(a, "%s%s%s", text, i ? ", " : "",
				    type_name(t, fn->params[i], a));
	if (fn->varargs)
		text = arena_printf(a, "%s%s...", text, fn->nelems ? ", " : "");
	return *text ? text : "void";
}

static void declarator_suffix(struct declarator *d, struct arena *a, const char *suffix)
{
	d->text = d->was_pointer ? arena_printf(a, "(%s)%s", d->text, suffix)
				 : arena_printf(a, "%s%s", d->text, suffix);
	d->was_pointer = false;
}

/* Adds '*' with its qualifiers, but 'userland', which is spelled once, at the base type. */
static void declarator_pointer(struct declarator *d, struct arena *a, uint32_t quals)
{
	const char *words = quals_text(a, quals & ~(1u << TK_USERLAND));

	/* "const " before more text, "const" at the end */
	if (*words && !*d->text)
		words = arena_strndup(a, words, strlen(words) - 1);
	d->text = arena_printf(a, "*%s%s", words, d->text);
	d->was_pointer = true;
}

const char *type_declaration(const struct types *t, type_id id, const char *name, struct arena *a)
{
	struct declarator d = {.text = arena_strdup(a, name)};

	for (;;) {
		uint32_t quals = quals_strip(t, &id);
		const struct type_info *info = type_get(t, id);

		if (info->kind == TK_PTR) {
			declarator_pointer(&d, a, quals);
		} else if (info->kind == TK_ARRAY) {
			declarator_suffix(&d, a, arena_printf(a, "[%u]", info->nelems));
		} else if (info->kind == TK_FUNC) {
			declarator_suffix(&d, a, arena_printf(a, "(%s)", params_text(t, info, a)));
		} else {
			return arena_printf(a, "%s%s%s%s", quals_text(a, quals), base_text(info, a),
					    *d.text ? " " : "", d.text);
		}
		id = info->ref;
	}
}

const char *type_name(const struct types *t, type_id id, struct arena *a)
{
	return type_declaration(t, id, "", a);
}
