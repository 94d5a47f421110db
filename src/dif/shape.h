/* SPDX-License-Identifier: MIT */
/*
 * The shape of a value: what print() has to know of a type to show a value of it.
 *
 * The front end makes shapes (d/check/shape.c), so that the consumer (render/shape.c) needs no type
 * table. All values of a type share one shape. Pointers are not followed, so the graph of shapes
 * has no cycles.
 *
 * Owns     nothing; lives in the arena of the compile.
 * Units    size in bytes, bit_off and bit_size in bits.
 */
#pragma once

#include "base/base.h"

enum shape_kind {
	SHAPE_INT,
	SHAPE_CHAR,
	SHAPE_ENUM,
	SHAPE_FLOAT,
	SHAPE_POINTER,
	SHAPE_FUNC, /* pointer to a function */
	SHAPE_STRING,
	SHAPE_ARRAY,
	SHAPE_SOU,     /* struct or union */
	SHAPE_FORWARD, /* declared but not defined: there is nothing to show */
};

struct shape;

struct shape_member {
	const char *name; /* "" for an anonymous member */
	const struct shape *shape;
	uint32_t bit_off;
	uint32_t bit_size; /* 0 = not a bit-field */
};

struct shape_enum {
	const char *name;
	int64_t val;
};

struct shape {
	enum shape_kind kind;
	const char *type; /* C spelling */
	uint32_t size;
	bool is_signed, is_user; /* SHAPE_POINTER, SHAPE_FUNC: of a process */
	bool is_union;
	const struct shape *elem; /* SHAPE_ARRAY */
	uint32_t nelems;
	const struct shape_member *members; /* SHAPE_SOU */
	uint32_t nmembers;
	const struct shape_enum *enums; /* SHAPE_ENUM */
	uint32_t nenums;
};
