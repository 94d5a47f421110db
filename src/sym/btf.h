/*
 * One BTF file: the types with which the kernel, or a module, describes itself.
 *
 * The file is mapped if the kernel allows that, and is else read into memory. One pass over it
 * finds where each type begins, and checks that the type lies inside the file. The names of types
 * are hashed when one is looked up for the first time.
 *
 * A module's file continues that of the kernel, which is its base: the module's type ids and string
 * offsets begin where those of the kernel end, and every function here takes both kinds of ids.
 *
 * Owns     the mapping and its indexes; no pointer that a function returned survives
 *          btf_file_close().
 * Units    ids start at 1; id 0 is void. String offsets are those of struct btf_type.
 * Errors   struct err *. btf_file_open() refuses a damaged file; a reference out of range gives
 *          NULL or "".
 * Threads  one file belongs to one thread.
 * Facts    Linux include/uapi/linux/btf.h. The file is not trusted: every offset is checked.
 */
#pragma once

#include <linux/btf.h>

#include "base/err.h"

struct btf_file;

/*
 * base: NULL for the kernel's own file; for a module's the kernel's file, which must be closed
 * later.
 */
MUST_CHECK struct err *btf_file_open(const char *path, const struct btf_file *base,
				     struct btf_file **ret_file);
void btf_file_close(struct btf_file *f); /* NULL is allowed */

/* Returns one more than the largest type id of the file and its base. */
uint32_t btf_file_end(const struct btf_file *f);
/*
 * Returns a type, behind which its members or parameters follow in memory; NULL if no type has the
 * id.
 */
const struct btf_type *btf_file_type(const struct btf_file *f, uint32_t id);
const char *btf_file_str(const struct btf_file *f, uint32_t off);

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
