/* SPDX-License-Identifier: MIT */
/*
 * Types of the target: from the debug information of its files, or declared by the user.
 *
 * A name is looked up among what ::typedef has declared, then among the types of D ("int",
 * "uint64_t"), then in the debug information of the program and of its libraries, in the order in
 * which they are mapped. A container before a backquote chooses a file or a source file:
 * "libx.so`struct node", "a.c`struct node". Where a name has several definitions that differ, the
 * first one counts, and a notice says so, once.
 *
 * Owns     a struct mdb_types its table, and the types in it.
 * Errors   struct err *: a text that is no type, or an unknown one.
 */
#pragma once

#include "d/types/types.h"
#include "mdb/impl.h"

/* The table of types; made when it is first asked for. */
struct types *mdb_types(struct mdb *m);
void mdb_types_end(struct mdb *m);

/*
 * Finds a type by a text: C's names of types, with pointers and dimensions, and names of C++ such
 * as "ns::Map<int>::Node *".
 */
MUST_CHECK struct err *mdb_type_find(struct mdb *m, const char *text, type_id *ret);
/* The same for words of a call from *at on, of which it takes those that belong to the type. */
MUST_CHECK struct err *mdb_type_words(struct mdb *m, const struct call *c, uint32_t *at,
				      type_id *ret);
/* Finds the type of the variable that begins at an address. */
MUST_CHECK struct err *mdb_type_at(struct mdb *m, taddr addr, type_id *ret);
/* Declares what a text in C says. */
MUST_CHECK struct err *mdb_type_declare(struct mdb *m, const char *text);
/* An error if the members of a structure, or the size of a type, are not known. */
MUST_CHECK struct err *mdb_type_check(struct mdb *m, type_id type);
/* Adds how C spells a type, escaped. */
void mdb_type_name_add(struct mdb *m, type_id type, struct strbuf *out);

/* A value in memory. */
struct mdb_value {
	type_id type;
	taddr addr;
	uint32_t bit_off, bit_size; /* bit_size 0: it is no bit-field */
};
/*
 * Goes to a member: "a.b[3].c" or "next->next", which reads the pointer. has_memory false: addr is
 * an offset, and a pointer that would be read is an error.
 */
MUST_CHECK struct err *mdb_value_member(struct mdb *m, const char *path, bool has_memory,
					struct mdb_value *v);
/* Reads an integer, pointer or enumerator, with its sign; false: unreadable, or it is none. */
bool mdb_value_word(struct mdb *m, const struct mdb_value *v, uint64_t *ret);
