/* SPDX-License-Identifier: MIT */
/*
 * Imports types of the running kernel into the type table, one by one, from BTF.
 *
 * Nothing is read before the first question. A struct to which only a pointer leads, or that is a
 * member of another struct, is known by its tag and size; its members are read when a program first
 * names one of them. So the use of task_struct imports its 250 members, not the 20,000 structs that
 * can be reached from it.
 *
 * Owns     the BTF files that it opened. The type table owns the types; the importer must live
 *          until the table is no longer used.
 * Errors   without BTF no type is found; type_importer.trouble says why.
 */
#pragma once

#include "d/types/types.h"
#include "kernel/btf.h"

struct btf_import;

/* dir: a folder with the file "vmlinux" and a file for each module; BTF_DIR except in tests. */
struct btf_import *btf_import_create(const char *dir);
void btf_import_destroy(struct btf_import *im); /* NULL is allowed */
const struct type_importer *btf_import_interface(struct btf_import *im);
/* Whether a BTF file has been read yet. */
bool btf_import_is_used(const struct btf_import *im);
