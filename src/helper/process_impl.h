/* SPDX-License-Identifier: MIT */
/* What the files process*.c share. */
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
	struct hashmap *pages; /* number of a page -> its bytes, or &unreadable */
	const struct helper *helper;
	const struct proc_map
		*program; /* if the helper is for it; NULL: for files by their names */
	struct dif_machine *machine;
	char *declined;	     /* the text of udecline() */
	struct arena *arena; /* of objects that the machine has run */
	uint64_t deadline;   /* of worked_ns(), for the clauses that run: no memory is read later */
	const struct process_hooks *hooks; /* NULL: nobody wants to know */
	const struct process_frame *frame; /* of a walk; NULL: clauses of attach run */
};

/* The mapping of the program if it has one of the symbols that the helper is for, or NULL. */
const struct proc_map *process_program(const struct process *p, const struct helper *h);
bool process_is_late(const struct process *p);
/* Reads memory; callbacks of the machine, whose ctx is the process. */
bool process_read(void *ctx, uint64_t addr, void *buf, uint32_t size);
enum dif_fault process_subr(void *ctx, uint32_t subr, const uint64_t *v, const char *const *texts,
			    uint64_t *ret, const char **ret_text);
