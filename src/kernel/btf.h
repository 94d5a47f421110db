/* SPDX-License-Identifier: MIT */
/*
 * One BTF file: the types with which the kernel, or a module, describes itself.
 *
 * This is the only reader of BTF: of members of kernel structs for generated code
 * (kernel/kfield.c), of types for the compiler (d/types/import.c), of what tracepoints pass
 * (provider/rawtp.c).
 *
 * The file is mapped if the kernel allows that, and is else read into memory. One pass over it
 * finds where types begin, and checks that each lies inside the file. The names of types are hashed
 * when one is looked up for the first time.
 *
 * A module's file continues that of the kernel, which is its base: the module's type ids and string
 * offsets begin where those of the kernel end, and every function here takes both kinds of ids.
 *
 * Owns     the mapping and its indexes; no pointer that a function returned survives
 *          btf_file_close().
 * Units    ids start at 1; id 0 is void. String offsets are those of struct btf_type.
 * Errors   struct err *. btf_file_open() refuses a damaged file; a reference out of range gives
 *          NULL or "".
 * Threads  one file belongs to one thread. Its bytes may be those of another open file.
 * Facts    Linux include/uapi/linux/btf.h. The file is not trusted: every offset is checked.
 */
#pragma once

#include <linux/btf.h>

#include "base/arena.h"
#include "base/err.h"

#define BTF_DIR	   "/sys/kernel/btf"
#define BTF_KERNEL BTF_DIR "/vmlinux" /* the kernel's own file; modules have others beside it */

struct btf_file;

/*
 * base: NULL for the kernel's own file; for a module's the kernel's file, which must be closed
 * later.
 */
MUST_CHECK struct err *btf_file_open(const char *path, const struct btf_file *base,
				     struct btf_file **ret_file);
/*
 * Opens the kernel's own file to find one type, which has the name and one of the kinds
 * (BTF_FIND_*). The pass over the file finds the type, so no names are hashed, and ends there:
 * what is behind the type is read when btf_file_type() asks for it. The file belongs to one thread,
 * is no base of another one, and is not walked through (btf_walk_next(), btf_file_end()). *ret_id
 * is 0 if there is no such type.
 */
MUST_CHECK struct err *btf_file_open_for(const char *path, uint32_t kinds, const char *name,
					 struct btf_file **ret_file, uint32_t *ret_id);
void btf_file_close(struct btf_file *f); /* NULL is allowed */

/* Returns one more than the largest type id of the file and its base. */
uint32_t btf_file_end(const struct btf_file *f);
/* Returns the first type id of the file itself: lower ones are those of its base. */
uint32_t btf_file_first(const struct btf_file *f);
/*
 * Returns a type, behind which its members or parameters follow in memory; NULL if no type has the
 * id.
 */
const struct btf_type *btf_file_type(const struct btf_file *f, uint32_t id);
/* A walk through the types of a file itself that have some kinds. */
struct btf_walk {
	const struct btf_file *file;
	uint32_t kinds;		     /* a set of 1 << BTF_KIND_* */
	const struct btf_type *type; /* the last one; NULL: the walk begins */
	uint32_t id;		     /* of type */
};

/* Returns the next type; NULL: there are no more. */
const struct btf_type *btf_walk_next(struct btf_walk *w);
const char *btf_file_str(const struct btf_file *f, uint32_t off);

/* Returns all strings of this file, one behind the other, each with its NUL. */
const char *btf_file_strs(const struct btf_file *f, size_t *ret_size);

/* The kinds of types for btf_file_find(): a set of 1 << BTF_KIND_*. */
#define BTF_FIND_STRUCT	 (1u << BTF_KIND_STRUCT)
#define BTF_FIND_UNION	 (1u << BTF_KIND_UNION)
#define BTF_FIND_ENUM	 (1u << BTF_KIND_ENUM | 1u << BTF_KIND_ENUM64)
#define BTF_FIND_TYPEDEF (1u << BTF_KIND_TYPEDEF)

/*
 * Returns the first type of this file (not of its base) that has the name and one of the kinds; 0:
 * none.
 */
uint32_t btf_file_find(struct btf_file *f, uint32_t kinds, const char *name, size_t len);
/*
 * Returns the function or variable of that name; 0: none. Goes through all types: these names are
 * not hashed.
 */
uint32_t btf_file_find_symbol(const struct btf_file *f, const char *name, size_t len);
/*
 * Returns the enumeration of this file that has a constant of that name, with the constant's value;
 * 0: none.
 */
uint32_t btf_file_find_enumerator(const struct btf_file *f, const char *name, size_t len,
				  int64_t *ret_val);
/*
 * Returns a type as D text ("const struct file *"). A type without a name becomes void behind a
 * pointer, else a number. module: names of types that only this module's file has get it as their
 * scope ("struct nullb`nullb_device *"); NULL: the file is the kernel's own.
 */
const char *btf_type_text(struct arena *a, const struct btf_file *f, uint32_t id,
			  const char *module);
