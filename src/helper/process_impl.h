/* SPDX-License-Identifier: MIT */
/*
 * The inside of a process that helpers' clauses read (process.h), for process.c (files, symbols,
 * memory) and process_run.c (clauses).
 *
 * Owns     struct process owns its machine, pages, images (by a pin) and texts; the target, the
 *          mappings and the helpers are its caller's.
 * Errors   what cannot be read is a fault of the clause, never of the session.
 * Threads  one.
 */
#pragma once

#include "base/hashmap.h"
#include "base/str.h"
#include "target/maps.h"
#include "target/target.h"
#include "helper/helper.h"
#include "helper/process.h"

struct process {
	struct target *target;
	const struct file_opts *files;
	const struct proc_maps *maps; /* of the target */
	struct image **images;	      /* of the same mappings, pinned; NULL: not asked for yet */
	uint32_t nimages;
	struct helper *const *helpers; /* process_find_symbols() will be asked about */
	uint32_t nhelpers;
	const struct helper **expecting; /* of the same: whose names they expect */
	struct hashmap *pages;		 /* number of a page -> its bytes, or &unreadable */
	struct {
		uint64_t addr;
		uint32_t size; /* 0: none */
		uint8_t *bytes;
	} searched; /* what ubytes() has read last: clauses search it for several texts */
	const struct helper *helper;
	bool is_attached; /* its clauses have run, and none has declined the process */
	const struct proc_map
		*program; /* if the helper is for it; NULL: for files by their names */
	struct dif_machine *machine;
	char *declined;	     /* the text of udecline() */
	struct arena *arena; /* of objects that the machine has run */
	uint64_t deadline;   /* of worked_ns(), for the clauses that run: no memory is read later */
	const struct process_hooks *hooks; /* NULL: nobody wants to know */
	struct process *origin; /* whose files the target has moved; NULL: it has moved none */
	bool has_counted_modules, has_read_changing, has_read;
	bool is_fixed;			   /* process_set_fixed() */
	bool is_believed;		   /* it was fixed once */
	bool is_explored;		   /* its values are looked at, which may be of any size */
	struct hashmap *families;	   /* beginning of names -> struct symbol_family */
	const struct process_frame *frame; /* of a walk; NULL: clauses of attach run */
};

/* The mapping of the program if it has one of the symbols that the helper is for, or NULL. */
const struct proc_map *process_program(const struct process *p, const struct helper *h);
/*
 * Whether clauses run that say of what they read that it does not change, and does not depend on
 * the process (#pragma D helper fixed). Without an origin, nothing changes.
 */
void process_set_fixed(struct process *p, bool is_fixed);
/* Whether the clauses of a helper that a program carries have used up their time. */
bool process_is_late(const struct process *p);
/*
 * Callbacks of the machine, whose ctx is the process. The first reads memory; false: it cannot be
 * read. The second executes a subroutine of helpers (dif/helper_subrs.def); what it does not find
 * is 0. *ret_text is set for those that return a string, which lives as long as the process.
 */
bool process_read(void *ctx, uint64_t addr, void *buf, uint32_t size);
enum dif_fault process_subr(void *ctx, uint32_t subr, const uint64_t *v, const char *const *texts,
			    uint64_t *ret, const char **ret_text);
