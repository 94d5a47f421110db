/* SPDX-License-Identifier: MIT */
/*
 * The type table's own declarations, shared by the types*.c files only.
 *
 * Rows are allocated one by one and never move: a struct type_info * stays valid while the table
 * grows.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "d/types/types.h"

struct type_row {
	struct type_info info;
	uint32_t align;
	bool is_imported;
	enum d_layer layer; /* in which the name or tag is declared */
	/* the importer of a traced program's type (types_import_begin()); NULL: t->importer */
	const struct type_importer *from;
	bool has_string; /* its size depends on strsize */
	uint32_t visit;	 /* number of the last search by type_holds() that saw this row */
	/*
	 * STRUCT, UNION declared in D: the members as written, with paddings, for laying them out
	 * again.
	 */
	const struct type_member *def;
	uint32_t ndef;
};

/* One declaration since the session began: types_rollback() takes declarations back in reverse. */
struct type_undo {
	type_id id;
	const struct type_row *old; /* copy of the forward that it completed; NULL: it was new */
};

struct types {
	struct arena *arena;
	VEC(struct type_row *) rows; /* [id] */
	/* typedefs, base types -> id; imported types are in LAYER_SYSTEM */
	struct hashmap *names[NLAYERS];
	struct hashmap *tags[NLAYERS]; /* kind, tag -> id */
	enum d_layer layer;
	struct hashmap *derived; /* pointers, arrays, qualified and function types -> id */
	VEC(type_id) strsized;	 /* types with has_string; a type stands behind its parts */
	VEC(struct type_undo) undo;
	uint32_t strsize;
	uint32_t visit; /* number of searches by type_holds() so far */
	const struct type_importer *importer;
	uint32_t importing;		  /* depth of calls into the importer */
	const struct type_importer *from; /* between types_import_begin() and _end(); else NULL */
};

struct type_row *type_row(const struct types *t, type_id id);
/* The row without typedefs and qualifiers. */
struct type_row *type_resolved_row(const struct types *t, type_id id);

/* types_layout.c: sets size, alignment and members of a struct or union from row->def. */
void type_layout_sou(struct types *t, struct type_row *row);
/* Sets the alignment for a given layout, as far as it follows from offsets and size. */
void type_layout_given(struct types *t, struct type_row *row);

static inline bool type_kind_is_qual(enum type_kind kind)
{
	return kind == TK_CONST || kind == TK_VOLATILE || kind == TK_RESTRICT ||
	       kind == TK_USERLAND;
}
