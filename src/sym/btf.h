/*
 * Types the kernel describes itself with: one BTF file, of the kernel or of a module.
 *
 * A file is mapped where the kernel allows that and read at once where it does not; one pass finds
 * where each type begins and checks that it lies inside. Names of types are hashed when first asked
 * for.
 *
 * A module's file continues its base: type ids and string offsets go on where those of the kernel
 * end, and every function here takes both kinds of ids.
 *
 * Owns     the mapping and its indexes; btf_file_close() ends every pointer handed out.
 * Units    ids start at 1; id 0 is void. String offsets are those of struct btf_type.
 * Errors   struct err *; a damaged file is refused when opened, a reference out of range gives NULL
 * or "". Threads  one file belongs to one thread. Facts    include/uapi/linux/btf.h. The file is
 * data, not trusted: every offset is checked.
 */
#pragma once

#include <linux/btf.h>

#include "base/err.h"

struct btf_file;

/* base: NULL, or the kernel's file when path is a module's; it must live longer. */
MUST_CHECK struct err *btf_file_open(const char *path, const struct btf_file *base,
				     struct btf_file **ret_file);
void btf_file_close(struct btf_file *f); /* NULL is allowed */

/* One more than the largest id. */
uint32_t btf_file_end(const struct btf_file *f);
/* With everything that follows it in the file (members, parameters, ...); NULL when there is none.
 */
const struct btf_type *btf_file_type(const struct btf_file *f, uint32_t id);
const char *btf_file_str(const struct btf_file *f, uint32_t off);

/* What btf_file_find() is to look for: a set of 1 << BTF_KIND_*. */
#define BTF_FIND_STRUCT	 (1u << BTF_KIND_STRUCT)
#define BTF_FIND_UNION	 (1u << BTF_KIND_UNION)
#define BTF_FIND_ENUM	 (1u << BTF_KIND_ENUM | 1u << BTF_KIND_ENUM64)
#define BTF_FIND_TYPEDEF (1u << BTF_KIND_TYPEDEF)

/* First type of this file (not of its base) with that name and one of the kinds; 0: none. */
uint32_t btf_file_find(struct btf_file *f, uint32_t kinds, const char *name, size_t len);
/* The same for functions and variables, which are too many to be hashed: takes a walk over all
 * types. */
uint32_t btf_file_find_symbol(const struct btf_file *f, const char *name, size_t len);
/* The enumeration of this file that has a constant of that name, and its value; 0: none. */
uint32_t btf_file_find_enumerator(const struct btf_file *f, const char *name, size_t len,
				  int64_t *ret_val);
