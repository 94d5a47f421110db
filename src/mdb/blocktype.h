/* SPDX-License-Identifier: MIT */
/*
 * Finds the type of a block of malloc by its first word.
 *
 * An object of C++ with virtual functions begins with the address of its class's table of these.
 * Before the table stands the address of the class's std::type_info, whose second word leads to the
 * name of the class: part of the program, which stripping leaves. Programs that are built without
 * (-fno-rtti) have the name in the symbol of the table only.
 *
 * Owns     the texts, until blocktypes_destroy().
 * Errors   none: a block of which nothing is known has its size.
 * Facts    Itanium C++ ABI, 2.5.2 (virtual tables) and 2.9.5 (layout of type_info).
 */
#pragma once

#include "mdb/reach.h"

struct blocktype {
	char *name;	 /* "shop::Order"; "136 bytes"; "136 bytes -> server`shape_ops" */
	bool is_class;	 /* the name is that of a class */
	uint32_t number; /* in the order in which they were met, from 0 on */
};

struct blocktypes;

struct blocktypes *blocktypes_create(struct reach *r);
void blocktypes_destroy(struct blocktypes *b); /* NULL is allowed */
/* The type of a chunk, which stays as long as b. */
const struct blocktype *blocktype_get(struct blocktypes *b, const struct chunk *c);
