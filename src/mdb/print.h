/* SPDX-License-Identifier: MIT */
/*
 * Values in memory, by their types, as text: what the commands about types share.
 *
 * Owns     nothing.
 * Errors   none: what cannot be read is said in its place.
 */
#pragma once

#include "mdb/types.h"

struct print_opts {
	uint32_t depth;	   /* of nested structures that are shown */
	uint32_t elements; /* of an array; 0: all */
	bool has_addrs, has_types, is_hex;
};

/* Adds a value; lines behind the first one are indented. */
void value_text_add(struct mdb *m, const struct mdb_value *v, const struct print_opts *opts,
		    bool is_json, struct strbuf *out);
/* Adds the name of an enumerator, or of several flags: "A|B"; nothing if the value has none. */
void enum_name_add(const struct type_info *info, uint64_t word, struct strbuf *out);
/* Reads a text up to its NUL, or to max bytes; returns its length. */
size_t pointed_text(struct mdb *m, taddr addr, char *to, size_t max);
bool float_read(struct mdb *m, const struct mdb_value *v, long double *ret);
