/*
 * The shape of a value: what print() has to know of a type to show its bytes, without the type
 * table.
 *
 * Made by the front end (d/shape.c), read by the consumer (print/shape.c). One shape stands for all
 * values of a type; pointers are not followed, so shapes form a finite graph without cycles.
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
	SHAPE_FORWARD, /* only declared: nothing to show */
};

struct shape;

struct shape_member {
	const char *name; /* "" for an anonymous one */
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
