/* SPDX-License-Identifier: MIT */
/*
 * Providers of programs (USDT): the contents of a provider definition as plain data.
 *
 * The compiler makes this data from D text (dsession_usdt() of d/compile.h); the header for
 * programs (header.h) and the probe object (object.h) are made from it.
 *
 * Owns     nothing: all memory is the caller's arena.
 * Facts    providers.md 20; d-language.md 2.9.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

enum usdt_kind {
	USDT_INTEGER,
	USDT_FLOAT,
	USDT_TEXT, /* a pointer to characters */
	USDT_POINTER,
};

struct usdt_arg {
	const char *text;  /* the D type, in C spelling */
	const char *ctype; /* the type that C programs pass, which needs no header */
	enum usdt_kind kind;
	uint8_t size; /* bytes in a 64-bit program */
	bool is_signed;
	bool is_word; /* 4 bytes in a 32-bit program: long, and pointers */
};

struct usdt_probe {
	const char *name;  /* as in D, with '-' */
	const char *cname; /* as in C and in notes, with "__" */
	const struct usdt_arg *args;
	uint32_t nargs;
	/* translated types; map[i]: the native argument that xargs[i] is made of */
	const char *const *xargs;
	const uint32_t *map;
	uint32_t nxargs;
};

/* Each element of attrs[] is name << 24 | data << 16 | class << 8, as in DOF. */
struct usdt_provider {
	const char *name;
	uint32_t attrs[5]; /* provider, module, function, name, args */
	const struct usdt_probe *probes;
	uint32_t nprobes;
};

#define USDT_ARGS_MAX 12 /* native arguments: a note of the format stapsdt has at most these */
