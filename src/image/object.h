/* SPDX-License-Identifier: MIT */
/*
 * The symbols and sections of an ELF file that a process has mapped, by name.
 *
 * A process waits for its helper while its files are searched, so no more of them is read than the
 * helper asks for: what the dynamic linker knows is found by its hashes; the other symbols, of
 * which a large program has 100,000, are read when a name is not among those.
 *
 * Owns     its table, and the file until object_rest(). What was looked up before is found without
 *          the file.
 * Errors   none: of a file that is damaged, what could be read is there. What is not found in a
 *          file that is stuck (files/gate.h) is searched for again when it is asked for again.
 * Units    virtual addresses as in the file.
 */
#pragma once

#include "base/base.h"

struct gate_file;
struct image_segments; /* image/segments.h */
struct object;

#define OBJECT_EXPECTED 200  /* names of object_expect() that are considered */
#define OBJECT_KEPT	4096 /* symbols that were looked up and are found without the file */

struct object_symbol {
	uint64_t addr, size; /* of a thread-local one: its offset in the module */
	bool is_tls;
	bool is_ambiguous; /* the file has several of this name: the others are 0 */
};

/* The code of a function: itself, and the copies and parts that the compiler has made of it. */
struct object_pieces {
	const struct object_symbol *list;
	uint32_t n;
	bool is_ambiguous; /* the file has several functions of this name: n is 0 */
};

struct object *object_read(struct gate_file *file, uint64_t limit);
/* Gives the file, which stays the caller's, to an object that rests. */
void object_wake(struct object *o, struct gate_file *file);
/* Closes the file, and frees what was read of it for symbols that others may look up. */
void object_rest(struct object *o);
/* Whether the file defines one of the symbols "a|b". */
bool object_has(struct object *o, const char *symbols);
/* Searches the file for what object_has() is going to be asked: once for all that is new. */
void object_have(struct object *o, const char *const *symbols, uint32_t n);
void object_destroy(struct object *o); /* NULL is allowed */
/* Returns the bytes of memory that it takes. */
uint64_t object_size(const struct object *o);
/* Finds a symbol of this name, or the only one that a compiler has made of it (image/clone.h). */
bool object_symbol(struct object *o, const char *name, struct object_symbol *ret);
/*
 * Says which names "a|b" object_symbol() and object_have() are probably going to be asked for, in
 * place of those said before: if one of them needs a search, the search is for all that need one.
 */
void object_expect(struct object *o, const char *const *names, uint32_t n);
/* Calls f for each symbol whose name begins with a prefix, with its address in the file. */
void object_each_symbol(struct object *o, const char *prefix,
			void (*f)(void *ctx, const char *name, size_t len, uint64_t addr),
			void *ctx);
/* Never NULL; stays the object's. */
const struct object_pieces *object_pieces(struct object *o, const char *name);
bool object_section(const struct object *o, const char *name, struct object_symbol *ret);
/* The address at which a mapping of the file from an offset on begins (segments_page_addr()). */
bool object_addr(const struct object *o, uint64_t off, uint64_t *ret);
/* By how much a process has its addresses further on (segments_bias()). */
bool object_bias(const struct object *o, taddr start, uint64_t off, bool is_exec,
		 uint64_t *ret_bias);
/* Size and alignment of the thread-local memory; false if it has none. */
bool object_tls(const struct object *o, uint64_t *ret_size, uint64_t *ret_align);
/* Data that the dynamic linker protects when it has relocated it (PT_GNU_RELRO). */
struct object_relro {
	uint64_t addr, size; /* in bytes */
	uint64_t off;	     /* in the file */
};
/*
 * Whether the dynamic linker has relocated the file, as far as that can be seen: *ret is data that
 * it protects then; of size 0 if the file lies where its addresses say, and has nothing to
 * relocate. False: it cannot be seen.
 */
bool object_relocated(const struct object *o, struct object_relro *ret);
/* A word that the dynamic linker may have written: addresses as in the file. */
struct object_word {
	uint64_t addr, value;
};
/*
 * Whether the dynamic linker writes each of these values, as the relocations of the file say, if it
 * takes symbols that the file defines from the file. words is put in order of addresses.
 */
bool object_relocates(struct object *o, struct object_word *words, uint32_t n);
/* Bytes of the data of a file, which a process has `bias` bytes further on. */
struct object_bytes {
	uint64_t addr, size, bias; /* addr as in the file */
	uint8_t *bytes;		   /* the caller's */
	uint64_t *left; /* how many relocations may be looked at; what was is taken off */
};
/*
 * Does what the dynamic linker does to these bytes, which are those of the file. False: some of
 * them depend on other files as well, cannot be known, or lie in a file with more relocations than
 * may be looked at.
 */
bool object_relocate(struct object *o, const struct object_bytes *b);
/* The segments of the file, which stay the object's. */
const struct image_segments *object_segments(const struct object *o);
const char *object_build_id(const struct object *o); /* hexadecimal digits; "" = none */
