/* SPDX-License-Identifier: MIT */
/*
 * Objects of programs whose headers come from another system's dtrace -h.
 *
 * There a probe is a call of a function that nobody defines, __dtrace_PROVIDER___PROBE(), and the
 * test whether somebody traces it is another one, __dtraceenabled_PROVIDER___PROBE(). dtrace -G
 * makes such objects ordinary ones:
 *
 *	before					after
 *	e8 00 00 00 00  call __dtrace_p___x	66 66 66 66 90  nop
 *			(a relocation)		a note: p, x, 8@%rdi -4@%esi, counter p_x_semaphore
 *
 * The arguments are where the calling convention has them. The object is replaced by a changed copy
 * in one step, so builds that run in parallel see one or the other; what was done to an object is
 * in the object, so it may go into archives and through -G again.
 *
 * Two kinds of functions remain, and the probe object defines them: tests, and probes whose address
 * is taken or which are the target of a conditional jump. The latter are functions with a probe of
 * their own.
 *
 * Owns     struct classic owns its memory.
 * Errors   struct err *: an object cannot be read or replaced, or calls a probe that no definition
 *          declares.
 */
#pragma once

#include "usdt/object.h"

/* The functions that the probe object has to define. */
enum { CLASSIC_PROBE = 1, CLASSIC_TEST = 2 };

struct classic {
	uint8_t *wants; /* for each probe of each provider, in their order: CLASSIC_* */
	bool has_any;
};

/* Changes the objects, which are of one kind; none is changed if one has unknown probes. */
MUST_CHECK struct err *classic_replace(char *const *paths, int n, struct object_kind kind,
				       const struct usdt_provider *providers, uint32_t nproviders,
				       struct classic *ret);
/* Adds the functions to the probe object that fd reads and writes. */
MUST_CHECK struct err *classic_define(int fd, const char *path,
				      const struct usdt_provider *providers, uint32_t nproviders,
				      const struct classic *c);
void classic_deinit(struct classic *c);
