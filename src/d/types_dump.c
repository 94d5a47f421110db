/* The type table as declarations in C: options ctypes and dtypes. */
#include "d/types_impl.h"

static void dump_members(const struct types *t, const struct type_info *info, uint32_t depth,
			 struct arena *a, struct strbuf *out);

static const char *sou_word(const struct type_info *info)
{
	return info->kind == TK_STRUCT ? "struct" : "union";
}

/* What has no tag is written where it stands: its members, then the member's name. */
static bool is_nested(const struct type_info *info)
{
	return (info->kind == TK_STRUCT || info->kind == TK_UNION) && !*info->name &&
	       info->is_complete;
}

static void indent(struct strbuf *out, uint32_t depth)
{
	for (uint32_t i = 0; i < depth; i++)
		strbuf_addc(out, '\t');
}

/* A member with its place in the structure it is a member of. */
static void dump_member(const struct types *t, const struct type_member *m, uint32_t depth,
			struct arena *a, struct strbuf *out)
{
	const struct type_info *info = type_get(t, m->type);

	indent(out, depth);
	if (is_nested(info)) {
		strbuf_addf(out, "%s {\n", sou_word(info));
		dump_members(t, info, depth + 1, a, out);
		indent(out, depth);
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

static void dump_members(const struct types *t, const struct type_info *info, uint32_t depth,
			 struct arena *a, struct strbuf *out)
{
	for (uint32_t i = 0; i < info->nmembers; i++)
		dump_member(t, &info->members[i], depth, a, out);
}

static void dump_enums(const struct type_info *info, struct strbuf *out)
{
	for (uint32_t i = 0; i < info->nenums; i++)
		strbuf_addf(out, "\t%s = %lld,\n", info->enums[i].name,
			    (long long)info->enums[i].val);
}

static void dump_type(const struct types *t, const struct type_info *info, struct arena *a,
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
		dump_members(t, info, 1, a, out);
	else
		dump_enums(info, out);
	strbuf_addf(out, "}; /* %u bytes */\n", info->size);
}

/*
 * D text may have mentioned a structure before its members were imported; what it defines has def.
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
			dump_type(t, &t->rows.data[i]->info, a, out);
	arena_destroy(a);
}
