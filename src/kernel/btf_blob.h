/* SPDX-License-Identifier: MIT */
/*
 * Makes minimal BTF: just enough types to load functions and task storage.
 *
 * libbpf could make it, too; this is smaller, and its system call goes through sys_bpf(), where
 * tests can make it fail. Type ids count from 1 in the order of creation.
 *
 * Owns     its sections, until btf_blob_deinit(); a loaded descriptor is the caller's.
 * Errors   struct err *: the kernel refuses the types.
 * Facts    Linux include/uapi/linux/btf.h.
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

struct btf_blob {
	VEC(uint32_t) types; /* the type section */
	struct strbuf strs;  /* the string section */
	uint32_t ntypes;
};

void btf_blob_deinit(struct btf_blob *b);
uint32_t btf_blob_int(struct btf_blob *b, const char *name, uint32_t size, bool is_signed);
/* Adds a struct without members, for uses of which only the size matters. */
uint32_t btf_blob_struct(struct btf_blob *b, const char *name, uint32_t size);
uint32_t btf_blob_ptr(struct btf_blob *b, uint32_t type);
uint32_t btf_blob_proto(struct btf_blob *b, uint32_t ret, const uint32_t *args, uint32_t nargs);
uint32_t btf_blob_func(struct btf_blob *b, const char *name, uint32_t proto, bool is_global);
MUST_CHECK struct err *btf_blob_load(const struct btf_blob *b, int *ret_fd);
