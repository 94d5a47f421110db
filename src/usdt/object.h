/*
 * Probe objects (dtrace -G): what a program is linked with when it has probes of its own.
 *
 * The object defines the counters of the probes, which the kernel counts up while somebody traces
 * them, and carries the providers' description as DOF. The probes' places are not in it: each
 * object of the program has notes that say where its own are.
 *
 * Facts    gABI chapter 4; providers.md 20.4.
 */
#pragma once

#include "usdt/usdt.h"

/* What kind of object a linker puts together with others. */
struct object_kind {
	uint16_t machine; /* EM_* */
	bool is_32bit;
};

/*
 * The kind of the objects, which must be of one; *ret is left as it is when there are none. Errors
 * name the file that is no object, is damaged, or is of another kind.
 */
MUST_CHECK struct err *object_kind_of(char *const *paths, int n, struct object_kind *ret);
/* Writes the probe object to fd, a regular file that is empty. */
MUST_CHECK struct err *object_write(const struct usdt_provider *providers, uint32_t n,
				    struct object_kind kind, int fd);
