/* SPDX-License-Identifier: MIT */
/*
 * Fixture: D text on the probes of two functions, as machine code in this process.
 *
 * Probes    f and g, entry and return: fixture_probes, with ids 100, 101, ...
 * Sites     one a probe, and behind them a jump of g to another function
 */
#pragma once

#include "../d/alone.h"
#include "run.h"

enum { SITE_F_ENTRY, SITE_F_RETURN, SITE_G_ENTRY, SITE_G_RETURN, SITE_G_TAIL, NSITES };
#define NPROBES	 4u
#define RET_OF_F 0x40u
#define RET_OF_G 0x123u
#define JMP_OF_G 0x200u

struct nx {
	struct arena *arena;
	struct dsession *session;
	struct prog *prog;
	struct strtab *strtab;
	struct layout_opts opts;
	struct layout *layout;
	struct unit unit;
	struct native_site sites[NSITES];
	struct nrun *run;
	struct err *refused;
};

/* Compiles; then options may be changed. */
struct nx *nx_create(const char *text);
/* Makes the layout and the unit. */
void nx_lay_out(struct nx *x);
/* Makes the code; run is NULL when it is refused. */
void nx_make(struct nx *x, const struct nrun_opts *opts);
/* All three, with options of their own. */
struct nx *nx_of(const char *text);
void nx_destroy(struct nx *x);
/* Fires a site with these arguments, at a return with that value. */
void nx_fire(struct nx *x, uint32_t site, uint64_t arg0, uint64_t arg1);
/* The number of a field of the next record, which must be one of the clause; 0: no record. */
int64_t nx_field(struct nx *x, uint32_t clause, uint32_t act, uint32_t field);
