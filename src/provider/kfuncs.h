/* SPDX-License-Identifier: MIT */
/*
 * The kernel's functions that can be traced, and where they are.
 *
 * ftrace lists the functions at whose first instruction a tracer may stop. Addresses come from
 * kallsyms, which is read when a function is to be attached, because it has all symbols. Several
 * functions of one module may have the same name: they are one struct kfunc.
 *
 * Owns     the text of both files, and the list, until kfuncs_deinit().
 * Errors   kfuncs_read() says what the kernel lacks.
 */
#pragma once

#include <stdio.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "kernel/kernel.h"
#include "probe/place.h"

#define KFUNC_KERNEL KERNEL_MODULE /* the module of the kernel's own functions */

struct kfuncs;

struct kfunc {
	struct place_func place;
	struct kfuncs *all;
	/* of the probes at entry and at return, in this order; types: NULL = not asked for yet */
	uint32_t keys[2];
	uint32_t nsame; /* functions of that name, in all modules; 0: not counted */
	const char *const *types[2];
	uint32_t ntypes[2];
};

struct kfuncs {
	void *owner;	    /* the provider's */
	const char *only;   /* the module of all functions; NULL: of any */
	struct strbuf text; /* names and modules lie in it */
	VEC(struct kfunc) list;
	/*
	 * Where ftrace can stop, ascending; empty: the kernel does not say. A symbol of a traceable
	 * name that has none of these in its first bytes is another function.
	 */
	VEC(uint64_t) stops;
	struct hashmap *by_line; /* "NAME", or "NAME [MODULE]" -> its number + 1 */
	bool has_addrs;
	uint32_t nkeyed; /* functions that have probes */
};

/* Up to so many functions with probes: for each, others of the same name are looked for. */
#define KFUNC_FEW 64

/* ret->owner and ret->only are set before. */
MUST_CHECK struct err *kfuncs_read(struct kfuncs *ret);
/* The list from fs->text, which has one function a line, as the file of ftrace that was read. */
void kfuncs_parse(struct kfuncs *fs, bool has_addrs);
void kfuncs_deinit(struct kfuncs *fs);
/* Notes that the function has probes. */
void kfunc_mark(struct kfunc *f);
/* Fills in the addresses of all functions, if that was not done yet. */
void kfuncs_locate(struct kfuncs *fs);
/* The same from the lines of f, which are those of kallsyms; NULL: there are none. */
void kfuncs_locate_in(struct kfuncs *fs, FILE *f);
/*
 * Whether the function is known to be the only one of its name in the kernel and all modules, and
 * is none of ours. It is not known of each when more than KFUNC_FEW have probes.
 */
bool kfunc_is_single(const struct kfunc *f);
/*
 * Whether a probe's program itself runs through the function, or calls it. Only a description with
 * the function's own name means such a function.
 */
bool kfunc_is_ours(const char *name);
