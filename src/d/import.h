/*
 * Types of the running kernel for the type table: imports them from BTF one by one, when asked.
 *
 * Nothing is read before the first question. A struct that is only pointed to, or lies in another,
 * is known by tag and size; its members are read when a program first looks into it. So task_struct
 * costs its 250 members, not the 20,000 structs that can be reached from it.
 *
 * Owns     the BTF files it opened. The type table owns the types; the importer must outlive its
 *          use.
 * Errors   no BTF means no types; type_importer.trouble says why.
 */
#pragma once

#include "d/types.h"

#define BTF_DIR "/sys/kernel/btf"

struct btf_import;

/* dir: has the file "vmlinux" and one for each module; normally BTF_DIR. */
struct btf_import *btf_import_create(const char *dir);
void btf_import_destroy(struct btf_import *im); /* NULL is allowed */
const struct type_importer *btf_import_interface(struct btf_import *im);
/* Has any file been read? */
bool btf_import_is_used(const struct btf_import *im);
