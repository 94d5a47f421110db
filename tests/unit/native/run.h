/* SPDX-License-Identifier: MIT */
/*
 * Fixture: code of a unit in this process, called as a stub calls it.
 *
 * Owns     struct nrun owns the mappings, the data part and the code; nrun_destroy() releases them.
 * Errors   print a message and end the process, because a test cannot go on.
 */
#pragma once

#include "native/data.h"
#include "native/native.h"

#define NRUN_CODE_SIZE (2u << 20)

struct nrun {
	const struct layout *layout;
	const struct unit *unit;
	struct native_target target;
	struct native_code code;
	struct blob_plan *plan;
	struct ndata *data;
	uint8_t *map, *data_map; /* code, then the data part */
	size_t map_size;
	int fd;
	uint8_t *stack; /* on which functions run */
	VEC(char *) records;
	uint32_t next;
	uint32_t stack_used; /* the most bytes that a call has used below the frame */
	/* no call has changed a vector register, or a general one that it says it keeps */
	bool has_saved_all;
};

struct nrun_opts {
	uint32_t shuffle, bufsize;
	bool stops_when_full;
	bool has_no_tid, has_no_rseq; /* as in a process that lacks them */
	bool checks_fs;
	bool has_samples;		  /* the data part has room for them */
	int32_t only_cpu;		  /* 1 + the CPU; 0: all */
	struct blob_frames frames;	  /* size 0: the process has none */
	const struct ndata_hooks *of_run; /* whose site() is used; NULL: there is none */
};

/* Where the kernel's rseq and the thread's id are from %fs:0; false: not found. */
bool nrun_rseq_find(int32_t *ret_off);
bool nrun_tid_find(int32_t *ret_off);

/* NULL, and *ret_err: the compiler has refused the unit; the caller's. */
struct nrun *nrun_create(const struct layout *l, const struct unit *u,
			 const struct native_site *sites, uint32_t nsites,
			 const struct nrun_opts *opts, struct err **ret_err);
void nrun_destroy(struct nrun *r);

/* Fires site i. The frame is copied to a stack of its own. */
void nrun_fire(struct nrun *r, uint32_t i, const struct native_frame *frame);
/* Fires with %fs at 0, as in a thread that has no thread block yet. */
void nrun_without_block(struct nrun *r, uint32_t i);
/* Fires n times, without any check; returns the nanoseconds that it took. */
uint64_t nrun_time(struct nrun *r, uint32_t i, const struct native_frame *frame, uint64_t n);
/* The next record in order of time, NULL when there is none; valid until the end. */
const struct rt_rec *nrun_record(struct nrun *r, uint32_t *ret_len);
/* The sum over CPUs of a word of an aggregation's value; key NULL: keyless. False: not there. */
bool nrun_agg(struct nrun *r, uint32_t agg_id, const void *key, uint32_t word, int64_t *ret);
struct rt_cpu nrun_drops(struct nrun *r);
