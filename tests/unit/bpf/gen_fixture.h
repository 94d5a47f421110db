/* SPDX-License-Identifier: MIT */
/*
 * Fixture: clauses made by hand, loaded into the kernel and run with BPF_PROG_TEST_RUN.
 *
 * Owns     struct gx owns the session's maps, programs and memory; gx_destroy() releases them.
 * Errors   print a message and end the process, because a test cannot go on. gx_skip() comes first:
 *          it ends the test when the kernel or the user lacks what the test needs.
 */
#pragma once

#include "bpf/engine.h"
#include "dif/asm.h"

struct gx {
	struct arena *arena;
	struct strtab *strtab;
	struct layout_opts opts;
	uint32_t shuffle;
	VEC(struct prog_clause *) clauses;
	VEC(struct prog_var *) vars;
	VEC(struct prog_agg *) aggs;
	struct layout *layout;
	struct mach *mach;
	struct kmaps *maps;
	struct gen_env env;
	struct kfields kfields;
	VEC(struct loaded) loaded;
	struct ring_buffer *ring;
	VEC(char *) records; /* what was read and not yet taken; each begins with a u32 length */
	uint32_t next;
};

extern const struct dif_type gx_s64, gx_s32, gx_u16, gx_s8, gx_u64, gx_string;

void gx_skip(void); /* prints the plan and ends with success unless programs can be loaded */
struct gx *gx_create(void);
void gx_destroy(struct gx *x);

struct prog_clause *gx_clause(struct gx *x, uint32_t max_acts);
/* Adds an action with one argument or none (NULL). */
struct prog_act *gx_act(struct gx *x, struct prog_clause *c, enum act_kind kind, struct difo *arg,
			enum datum_kind datum);
struct prog_var *gx_var(struct gx *x, const char *name, enum dif_scope scope, struct dif_type type);
struct prog_var *gx_array(struct gx *x, const char *name, enum dif_scope scope,
			  struct dif_type type, uint32_t nkeys, const struct dif_type *keys);
struct prog_agg *gx_agg(struct gx *x, enum aggfunc func, uint32_t nkeys);
/* Notes a variable in a DIFO that uses it. */
void gx_note(struct dif_builder *b, const struct prog_var *v);
struct difo *gx_difo(struct gx *x, const char *asm_text);

/* Layout and maps; after all clauses, variables and aggregations. */
void gx_finish(struct gx *x);
/* One unit of the given clauses, each enabled on every probe; error: ERROR clauses. */
struct unit gx_unit(struct gx *x, enum place_kind kind, uint32_t from, uint32_t to);
struct unit_probe *gx_probe(struct gx *x, struct unit *u, uint32_t key);
struct bpf_code gx_code(struct gx *x, const struct unit *u);
int gx_load(struct gx *x, const struct unit *u); /* descriptor of the program */
void gx_run(struct gx *x, int prog_fd, uint64_t key);

/* The next record in order of time, NULL when there is none. */
const struct rt_rec *gx_record(struct gx *x, uint32_t *ret_len);
/* Sum, over CPUs, of word k of an aggregation's value; min and max as they are stored if only one
 * CPU ran. */
bool gx_agg_value(struct gx *x, const struct prog_agg *agg, const void *key, uint32_t word,
		  int64_t *ret_sum);
