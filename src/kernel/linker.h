/* SPDX-License-Identifier: MIT */
/*
 * Linking: makes one loadable program of code and the run-time functions that it calls.
 *
 * The run-time library is embedded as tables (struct rt_image, made by tools/embed.py when
 * building), so nothing is parsed at run time. A linked program holds the unit's code first, at its
 * own instruction numbers, then the run-time functions it reaches, in the order in which they are
 * reached.
 *
 * One function is made by the linker: rt_ring_output (rt/funcs.h).
 *
 * A function of the library whose name begins with prog_ is a whole program: it takes the context
 * of its place, and needs no unit. It is linked with the functions that it calls and with the maps
 * of its owner (link_program()).
 *
 * Owns     struct linked owns its memory and the BTF descriptor; linked_deinit() releases both.
 * Errors   struct err *: the kernel refuses the types of the program.
 * Facts    global functions need BTF, and then every function does: Linux kernel/bpf/verifier.c,
 *          check_btf_func(). Arguments of static functions are not checked against it.
 */
#pragma once

#include "base/err.h"
#include "kernel/code.h"
#include "kernel/kernel.h"

/* ---- the embedded library --------------------------------------------------------------- */

struct rt_image_reloc {
	uint32_t insn;
	enum reloc_kind kind; /* RELOC_FUNC: call or callback address, ref = function index */
	uint32_t ref, off;    /* RELOC_FUNC: ref = nfuncs is rt_ring_output */
};

struct rt_image_func {
	char name[24];
	uint32_t start, len;	 /* instructions */
	uint32_t reloc, nrelocs; /* its range in relocs */
	uint8_t nargs;		 /* after the machine; global functions */
	bool is_global;
};

struct rt_image {
	const struct bpf_insn *insns;
	const struct rt_image_reloc *relocs; /* by instruction */
	const struct rt_image_func *funcs;
	uint32_t nfuncs;
};
extern const struct rt_image rt_image;

/* ---- linking ---------------------------------------------------------------------------- */

struct linked {
	VEC(struct bpf_insn) insns;
	VEC(struct bpf_func_info) funcs; /* by insn_off; the unit's come first */
	VEC(uint32_t) rt_funcs;		 /* rt_image index of funcs[nunit + i] */
	uint32_t nunit;			 /* number of functions of the unit */
	int btf_fd;
};

/* Maps of one program: MAP_DISPATCH, MAP_HPROGS, MAP_KFUNCS; or -1. */
struct own_maps {
	int dispatch, helpers, kfuncs;
};

/* Descriptors of the maps that a program may use; -1 where there is none. */
struct link_maps {
	const int *fds;		      /* by class, of those with one map */
	const int *agg_fds, *arr_fds; /* by index of MAP_AGG, MAP_ARR */
	uint32_t naggs, narrs;
	const int *ring_fds; /* by CPU */
	uint32_t ncpus;
	int spare_fd; /* ring of CPUs that have none */
	struct own_maps own;
};

/* ret is overwritten; after an error it needs no deinit. */
MUST_CHECK struct err *link_code(const struct bpf_code *code, const struct link_maps *maps,
				 struct linked *ret);
/* Links a program of the library; fds: descriptors of its maps, by map class. */
MUST_CHECK struct err *link_program(const char *name, const int fds[MAP_NCLASSES],
				    struct linked *ret);
void linked_deinit(struct linked *l);
/* The name of the function in which an instruction lies. */
const char *linked_func_name(const struct linked *l, const struct bpf_code *code, uint32_t insn);
