/* SPDX-License-Identifier: MIT */
/* Prints the type table as declarations in C, for the options ctypes and dtypes. */
#include "d/types/types_impl.h"

static void members_dump(const struct types *t, const struct type_info *info, uint32_t depth,
			 struct arena *a, struct strbuf *out);

static const char *sou_word(const struct type_info *info)
{
	return info->kind == TK_STRUCT ? "struct" : "union";
}

/* Whether a structure has no tag, so that it is printed within the one of which it is a member. */
static bool is_nested(const struct type_info *info)
{
	return (info->kind == TK_STRUCT || info->kind == TK_UNION) && !*info->name &&
	       info->is_complete;
}

static void indent_add(struct strbuf *out, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		strbuf_addc(out, '\t');
}

/* Prints a member with its offset. */
static void member_dump(const struct types *t, const struct type_member *m, uint32_t depth,
			struct arena *a, struct strbuf *out)
{
	const struct type_info *info = type_get(t, m->type);

	indent_add(out, depth);
	if (is_nested(info)) {
		strbuf_addf(out, "%s {\n", sou_word(info));
		members_dump(t, info, depth + 1, a, out);
		indent_add(out, depth);
		strbuf_addf(out, "}%s%s", *m->name ? " " : "", m->name);
	} else {
		strbuf_adds(out, type_declaration(t, m->type, m->name, a));
	}
	if (m->bit_size)
		strbuf_addf(out, " : %u; /* %u:%u */\n", m->bit_size, m->bit_off / 8,
			    m->bit_off % 8);
	else
		strbuf_addf(out, "; /* %u */\n", m->bit_off / 8);
}

static void members_dump(const struct types *t, const struct type_info *info, uint32_t depth,
			 struct arena *a, struct strbuf *out)
{
	for (uint32_t i = 0; i < info->nmembers; i++)
		member_dump(t, &info->members[i], depth, a, out);
}

static void enums_dump(const struct type_info *info, struct strbuf *out)
{
	for (uint32_t i = 0; i < info->nenums; i++)
		strbuf_addf(out, "\t%s = %lld,\n", info->enums[i].name,
			    (long long)info->enums[i].val);
}

static void type_dump(const struct types *t, const struct type_info *info, struct arena *a,
		      struct strbuf *out)
{
	bool is_sou = info->kind == TK_STRUCT || info->kind == TK_UNION;

	if (info->kind == TK_TYPEDEF) {
		strbuf_addf(out, "typedef %s; /* %u bytes */\n",
			    type_declaration(t, info->ref, info->name, a),
			    type_size(t, info->index));
		return;
	}
	if ((!is_sou && info->kind != TK_ENUM) || is_nested(info))
		return;
	strbuf_addf(out, "%s%s%s", is_sou ? sou_word(info) : "enum", *info->name ? " " : "",
		    info->name);
	if (!info->is_complete) {
		strbuf_adds(out, ";\n");
		return;
	}
	strbuf_adds(out, " {\n");
	if (is_sou)
		members_dump(t, info, 1, a, out);
	else
		enums_dump(info, out);
	strbuf_addf(out, "}; /* %u bytes */\n", info->size);
}

/*
 * Whether the members of a structure were imported, though D text may have mentioned its tag
 * before. A structure that D text defines has row->def.
 */
static bool is_foreign(const struct type_row *row)
{
	bool is_sou = row->info.kind == TK_STRUCT || row->info.kind == TK_UNION;

	return row->is_imported ||
	       (is_sou && row->info.is_complete && row->info.nmembers && !row->def);
}

void types_dump(const struct types *t, bool imported, struct strbuf *out)
{
	struct arena *a = arena_create();

	for (uint32_t i = TYPE_FIRST_FREE; i < t->rows.len; i++)
		if (is_foreign(t->rows.data[i]) == imported)
			type_dump(t, &t->rows.data[i]->info, a, out);
	arena_destroy(a);
}
