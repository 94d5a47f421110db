/*
 * The symbols and sections of an ELF file that a process has mapped, by name.
 *
 * Owns     its table; nothing of the file stays open.
 * Errors   none: of a file that is damaged, what could be read is there.
 * Units    virtual addresses as in the file.
 */
#pragma once

#include "base/base.h"

struct gate_file;
struct object;

struct object_symbol {
	uint64_t addr, size; /* of a thread-local one: its offset in the module */
	bool is_tls;
};

struct object *object_read(struct gate_file *file, uint64_t limit);
/* Whether the file defines one of the symbols "a|b", or uses it: its names are searched only. */
bool object_names(struct gate_file *file, uint64_t limit, const char *symbols);
void object_destroy(struct object *o); /* NULL is allowed */
bool object_symbol(const struct object *o, const char *name, struct object_symbol *ret);
bool object_section(const struct object *o, const char *name, struct object_symbol *ret);
/* The address of the byte at a file offset; false if no segment holds it. */
bool object_addr(const struct object *o, uint64_t off, uint64_t *ret);
/* Size and alignment of the thread-local memory; false if it has none. */
bool object_tls(const struct object *o, uint64_t *ret_size, uint64_t *ret_align);
const char *object_build_id(const struct object *o); /* hexadecimal digits; "" = none */
