/* SPDX-License-Identifier: MIT */
/* Types of a BTF file as D text. */
#include "kernel/btf.h"

#define MAX_DEPTH 16

struct writer {
	struct arena *arena;
	const struct btf_file *file;
	const char *module;
	uint32_t own; /* ids below are the kernel's */
};

/* The name of a type, with the module as its scope if only the module has the type. */
static const char *scoped_name(const struct writer *w, uint32_t id, const char *name)
{
	return w->module && id >= w->own ? arena_printf(w->arena, "%s`%s", w->module, name) : name;
}

static const char *tagged_name(const struct writer *w, const char *keyword, uint32_t id,
			       const char *name, const char *none)
{
	return *name ? arena_printf(w->arena, "%s %s", keyword, scoped_name(w, id, name)) : none;
}

static const char *text_make(const struct writer *w, uint32_t id, bool is_pointee, uint32_t depth)
{
	const struct btf_type *t = id ? btf_file_type(w->file, id) : NULL;
	const char *none = is_pointee ? "void" : "uint64_t", *name, *inner;

	if (!t || depth == MAX_DEPTH)
		return none;
	name = btf_file_str(w->file, t->name_off);
	switch (BTF_INFO_KIND(t->info)) {
	case BTF_KIND_PTR:
		inner = text_make(w, t->type, true, depth + 1);
		return arena_printf(w->arena, "%s%s*", inner,
				    inner[strlen(inner) - 1] == '*' ? "" : " ");
	case BTF_KIND_CONST:
		inner = text_make(w, t->type, is_pointee, depth + 1);
		return is_pointee && !strchr(inner, '*') ? arena_printf(w->arena, "const %s", inner)
							 : inner;
	case BTF_KIND_VOLATILE:
	case BTF_KIND_RESTRICT:
	case BTF_KIND_TYPE_TAG: return text_make(w, t->type, is_pointee, depth + 1);
	case BTF_KIND_STRUCT: return tagged_name(w, "struct", id, name, none);
	case BTF_KIND_UNION: return tagged_name(w, "union", id, name, none);
	case BTF_KIND_FWD:
		return arena_printf(w->arena, "%s %s", BTF_INFO_KFLAG(t->info) ? "union" : "struct",
				    name);
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64: return tagged_name(w, "enum", id, name, none);
	case BTF_KIND_INT: return strcmp(name, "_Bool") == 0 ? "bool" : name;
	case BTF_KIND_TYPEDEF: return scoped_name(w, id, name);
	default: return none;
	}
}

const char *btf_type_text(struct arena *a, const struct btf_file *f, uint32_t id,
			  const char *module)
{
	struct writer w = {a, f, module, module ? btf_file_first(f) : 0};

	return text_make(&w, id, false, 0);
}
