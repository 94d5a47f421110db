/* SPDX-License-Identifier: MIT */
/*
 * Fixture: calls functions of the run-time library in the kernel, one at a time.
 *
 * Owns     struct rt_fx owns a session's maps and one program per function that was called;
 *          rt_fx_destroy() releases them. Strings for the functions lie in the global variables.
 * Errors   print a message and end the process, because a test cannot go on.
 */
#pragma once

#include "bpf/engine.h"

struct rt_fx_opts {
	uint32_t strsize, scratch_size, gvars_size, this_size;
};

/* Stacks: two slots for so many frames; ranges of tracing code. */
#define RT_FX_FRAMES	   20
#define RT_FX_STACK_STRIDE 512
#define RT_FX_NTRACING	   3

struct rt_fx {
	struct layout layout;
	struct mach layout_mach; /* of the layout: where things are in fx->mach */
	struct agg_layout agg;	 /* layout.aggs: 4 elements */
	struct elem_map agg_map;
	struct key_field keys[2];
	struct kmaps *maps;
	struct rt_mach *mach; /* the entry of slot 0, as last read; call writes it back */
	char *mach_value, *scratch, *gvars; /* copies of the map values */
	uint32_t mach_size, scratch_size, gvars_size;
	struct {
		const char *name;
		int prog_fd;
		uint32_t nverified; /* instructions the verifier looked at */
	} progs[128];
	uint32_t nprogs;
};

struct rt_fx *rt_fx_create(const struct rt_fx_opts *opts);
void rt_fx_destroy(struct rt_fx *fx);
/* Program that calls the function with m->arg[0..] and puts the result into m->tmp[7]. */
int rt_fx_prog(struct rt_fx *fx, const char *func);
/* Clears faults and scratch as when a clause begins, writes mach and gvars, runs, reads back. */
uint64_t rt_fx_call(struct rt_fx *fx, const char *func, const uint64_t *args, uint32_t nargs);
/* As rt_fx_call, but scratch_top, tok_rest and fault stay as they are. */
uint64_t rt_fx_again(struct rt_fx *fx, const char *func, const uint64_t *args, uint32_t nargs);
/* Host copy of kernel memory at addr, which must lie in scratch, gvars or mach; NULL otherwise. */
char *rt_fx_at(struct rt_fx *fx, uint64_t addr);
uint64_t rt_fx_gvar(const struct rt_fx *fx, uint32_t off); /* kernel address */
