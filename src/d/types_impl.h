/*
 * Inside of the type table, shared by the types*.c files only.
 *
 * Rows are allocated one by one and never move: a struct type_info * stays good while the table
 * grows.
 */
#pragma once

#include "base/hashmap.h"
#include "base/vec.h"
#include "d/types.h"

struct type_row {
	struct type_info info;
	uint32_t align;
	bool is_imported;
	enum d_layer layer; /* whose name or tag it is */
	/* a program's (types_import_begin()); NULL = t->importer's */
	const struct type_importer *from;
	bool has_string; /* size depends on strsize */
	uint32_t visit;	 /* the last walk of type_holds() that came by */
	/* STRUCT, UNION declared in D: the members as given, paddings included, to lay them out
	 * again */
	const struct type_member *def;
	uint32_t ndef;
};

/* One declaration, in order, so that a failed compile can be undone. */
struct type_undo {
	type_id id;
	/* the forward that it completed, as it was; NULL: there was none */
	const struct type_row *old;
};

struct types {
	struct arena *arena;
	VEC(struct type_row *) rows; /* [id] */
	/* typedefs, base types -> id; imported ones are the system's */
	struct hashmap *names[NLAYERS];
	struct hashmap *tags[NLAYERS]; /* kind, tag -> id */
	enum d_layer layer;
	struct hashmap *derived; /* pointers, arrays, qualified and function types -> id */
	VEC(type_id) strsized;	 /* types with has_string, each after those it is made of */
	VEC(struct type_undo) undo;
	uint32_t strsize;
	uint32_t visit; /* walks of type_holds() so far */
	const struct type_importer *importer;
	uint32_t importing;		  /* depth of calls into the importer */
	const struct type_importer *from; /* of the program whose types are made now; NULL: none */
};

struct type_row *type_row(const struct types *t, type_id id);
/* The row without typedefs and qualifiers. */
struct type_row *type_resolved_row(const struct types *t, type_id id);

/* types_layout.c: sets size, align and members of a struct or union from row->def. */
void type_layout_sou(struct types *t, struct type_row *row);
/* Alignment of a layout that was given, as far as it can be told from offsets and size. */
void type_layout_given(struct types *t, struct type_row *row);

static inline bool type_kind_is_qual(enum type_kind kind)
{
	return kind == TK_CONST || kind == TK_VOLATILE || kind == TK_RESTRICT ||
	       kind == TK_USERLAND;
}
