/* SPDX-License-Identifier: MIT */
/*
 * Formats: how numbers and memory are printed by the verbs "/" and "=".
 *
 * A format is a text of letters, one for each value: "X" is an integer of four bytes, in
 * hexadecimal. A decimal number before a letter repeats it, and a text in double quotes is printed.
 *
 * Owns     nothing.
 * Errors   struct err *: a letter that is none; memory that cannot be read.
 * Units    sizes in bytes.
 * Facts    the letters are those of MDB: Oracle, "Modular Debugger Guide", "Formatting dcmds".
 */
#pragma once

#include "base/err.h"
#include "base/str.h"

/* How formats read the target. A function may be NULL: then nothing is read, named or decoded. */
struct format_env {
	void *ctx;
	bool (*read)(void *ctx, taddr addr, void *to, size_t size);
	/* Adds the symbol and offset of an address; false: it has none. */
	bool (*name)(void *ctx, taddr addr, struct strbuf *out);
	/* Adds an instruction; returns its length, 0: there is none. */
	uint32_t (*insn)(void *ctx, taddr addr, struct strbuf *out);
};

enum format_kind {
	FORMAT_INT,
	FORMAT_FLOAT,
	FORMAT_CHAR,
	FORMAT_SWAPPED, /* its bytes in the other order */
	FORMAT_POINTER, /* with the symbol */
	FORMAT_TIME,
	FORMAT_STRING,
	FORMAT_NAME,   /* the address itself, as a symbol */
	FORMAT_NUMBER, /* the address itself */
	FORMAT_INSN,
	FORMAT_MOVE, /* moves the address, and prints nothing */
	FORMAT_SPACE,
};

struct format {
	char letter;
	enum format_kind kind;
	uint8_t size; /* of what is read */
	/* of integers: base, sign; of strings and characters: escaped as in C */
	uint8_t base;
	bool is_signed;
	const char *what; /* for ::formats */
};

extern const struct format formats[];
extern const uint32_t nformats;

const struct format *format_find(char letter); /* NULL: there is none */

#define FORMAT_STRING_MAX 4096 /* bytes of a string that are printed */

/* Where a format is being printed. */
struct format_place {
	taddr addr;	 /* of the next value; of "=", the number */
	bool is_value;	 /* "=": the number itself is printed, no memory is read */
	uint64_t last;	 /* the last integer that was printed */
	uint32_t nvalue; /* how many values were printed */
};
/*
 * Prints a whole format once, and moves place->addr behind what was read. What was printed before
 * an error stays in out.
 */
MUST_CHECK struct err *format_print(const char *text, const struct format_env *env,
				    struct format_place *place, struct strbuf *out);
