/* SPDX-License-Identifier: MIT */
/*
 * Probe objects (dtrace -G): the object file that is linked into a program with USDT probes.
 *
 * The object defines the counters of the probes, which the kernel increments while somebody traces
 * them, and carries the description of the providers as DOF. It does not contain the addresses of
 * the probes: each object of the program has notes that say where its probes are.
 *
 * Errors   struct err *: a file is no object file (an archive, a program, bitcode), or cannot be
 *          written.
 * Facts    gABI chapter 4; providers.md 20.4.
 */
#pragma once

#include "usdt/dof.h"
#include "usdt/usdt.h"

/* A linker puts only objects of one kind together: one machine, one word size. */
struct object_kind {
	uint16_t machine; /* EM_* */
	bool is_32bit;
	bool is_big_endian;
	uint32_t flags; /* of the machine, in the ELF header: those of the first object */
};

bool object_is_bitcode(int fd);
/*
 * Finds the kind that all objects have in common; *ret is unchanged if none says its kind. The
 * error names the file that is no object, is damaged, or is of another kind than the others.
 */
MUST_CHECK struct err *object_kind_of(char *const *paths, int n, struct object_kind *ret);
/*
 * Writes the probe object to fd, a regular file that is empty. helpers: images of ustack helpers,
 * which follow that of the providers; there may be none.
 */
MUST_CHECK struct err *object_write(const struct usdt_provider *providers, uint32_t n,
				    const struct dof_image *helpers, struct object_kind kind,
				    int fd);
