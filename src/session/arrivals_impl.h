/* SPDX-License-Identifier: MIT */
/* What the files of later.h share. */
#pragma once

#include "provider/arrivals.h"
#include "session/arrivals.h"
#include "session/short_lived.h"
#include "watch/watch.h"

#define UNUSED_MAX 64 /* batches without any mapped file that stay probed */

/* The probes that were added together, after an event of a process. */
struct later_batch {
	const struct provider_arrivals *from;
	uint32_t number;	   /* the provider's number */
	struct session_unit *unit; /* NULL: no clause matches */
	char mod[64];		   /* the module of the kernel that has brought them; "": none */
	uint64_t retired_at;	   /* ns; 0: it is attached */
};

struct later {
	VEC(const struct proc_id *) ids; /* processes that clauses name; the provider owns them */
	bool wants_libraries, wants_patterns, wants_children;
	bool wants_all;	       /* some clause means all processes */
	int modules_fd;	       /* reports of modules that come and go; 0: no clause means them */
	bool has_arrived;      /* processes have mapped code of unknown files */
	uint64_t waits_since;  /* ns; the process of -c has mapped some; 0: it has not */
	bool has_lost;	       /* the kernel has lost records of what processes map */
	bool says_lost;	       /* the user was told so */
	uint64_t placed_at;    /* ns; when the last batch was attached */
	struct missed *missed; /* if wants_all */
	uint32_t ngroups;      /* groups of attachments; the last one's number */
	uint32_t survey_at;    /* so many batches may be there before unused ones are searched */
	bool has_changed;      /* the process of this event has mapped or unmapped code */
	bool is_other;	       /* the process is another task, its links are dead */
	bool is_full;	       /* the string table has no room for further names */
	bool has_gone;	       /* some file may be in no process any more */
	struct late_numbers numbers; /* numbers for the next unit */
	VEC(struct later_batch) batches;
};

/* later_batch.c */
/* Adds the probes of a provider's new batch; p: the process that has its code, or NULL. */
MUST_CHECK struct err *later_batch_add(struct run *run, const struct provider_arrivals *from,
				       uint32_t batch, const struct watch_proc *p);
/*
 * Makes the probes of the provider's new batch that clauses mean, and places none: when tracing
 * stops, the provider knows by them which files were meant.
 */
void later_batch_match(struct run *run, const struct provider_arrivals *from);
/* Detaches the unit of a batch. The unit is freed later: records of its probes may be unread. */
MUST_CHECK struct err *later_batch_retire(struct run *run, struct later_batch *b);
/*
 * Lets providers find out which files are mapped, when there are many batches, and twice as many as
 * the last time.
 */
void later_batches_survey(struct run *run);
/* Removes batches of files that no process maps any more, if these are too many. */
void later_batches_retire(struct run *run);
/* Drops the probes of a process whose links are dead (watch/procs.c). */
void later_drop_probes(struct run *run, const struct watch_proc *p);
/* Adds the probes of code that is new in a process. */
void later_proc_look(struct run *run, const struct watch_proc *p);

/* later_all.c: adds what processes have mapped since the clauses were matched */
void later_all_start(struct run *run);

/* later_modules.c */
/* Whether the clause may get probes of modules that come. */
bool later_clause_wants_modules(const struct run *run, const struct provider_arrivals *from,
				const struct session_clause *sc);
/* Has the waiter wake up for reports of modules. */
void later_modules_start(struct run *run);
/* Reads the reports that there are. */
void later_modules_look(struct run *run);
