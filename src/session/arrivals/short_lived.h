/* SPDX-License-Identifier: MIT */
/*
 * Counts the processes that end before the probes of a file that they have mapped are placed.
 *
 * The probes of a file are placed when a process maps the file for the first time: the file is
 * read, and a unit loaded, while the process runs. A process that ends meanwhile, or executes
 * another program, is not traced, and the user is told how many of them there were. Processes that
 * map the file later are traced from their first instruction. A process that ends just after the
 * probes are placed is counted, too: it is not known what it has passed before.
 *
 *     missed_mapped()   a process has mapped a file that may be new
 *     missed_forked()   it has a child
 *     missed_gone()     it has ended, or executes another program
 *     missed_look()     what the files are is known, and the probes of some are placed
 *     missed_settle()   all events until then are reported: says what was missed
 *
 * Owns     the names of files.
 */
#pragma once

#include "base/base.h"

struct report;
struct missed;

/* What is known about a file after its probes were searched for. */
enum missed_file {
	MISSED_UNREAD, /* it could not be opened */
	MISSED_OTHER,  /* it has no probes that clauses mean */
	MISSED_PROBED,
};

struct missed *missed_create(void);
void missed_destroy(struct missed *m); /* NULL is allowed */
/* is_new: the file was not known; else it counts if its probes were not placed at that time. */
void missed_mapped(struct missed *m, uint64_t pid, uint64_t dev, uint64_t ino, uint64_t time,
		   bool is_new);
void missed_forked(struct missed *m, uint64_t pid, uint64_t parent);
/* is_end: it has ended; else it executes another program. */
void missed_gone(struct missed *m, uint64_t pid, uint64_t time, bool is_end);
/*
 * The new files were looked at, and their probes placed at that time; ask() returns what each is,
 * and the name of one with probes.
 */
void missed_look(struct missed *m, uint64_t placed_at,
		 enum missed_file (*ask)(void *ctx, uint64_t dev, uint64_t ino, const char **name),
		 void *ctx);
/* Forgets all, because tracing begins only now. */
void missed_clear(struct missed *m);
/* True if some file was mapped of which missed_settle() may have to say something. */
bool missed_is_open(const struct missed *m);
/*
 * All events before this time were reported. is_end: tracing ends, and the
 * processes whose files could not be opened are said, too.
 */
void missed_settle(struct missed *m, uint64_t drained_at, bool is_end, struct report *r);
