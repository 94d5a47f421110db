/* SPDX-License-Identifier: MIT */
/*
 * Programs over what is left of a process: an engine whose probes fire for each mapping, thread,
 * frame, chunk of malloc and object of a language that the debugger finds (mdb/mdb.h).
 *
 *     dtrace_core()     opens a core file, or copies a process, and makes the session one over it
 *     events.c          what fires, in which order, and what clauses see of it
 *     clause.c, aggs.c  run clauses in the interpreter of DIF: records, keys and values are those
 *                       of each engine (record/layout.h), so that all that shows them is the same
 *     stack.c           user stacks as records and keys have them
 *     lang.c            file, line and function of the innermost frame of a language
 *     spec.c            speculations, whose records the consumer keeps as those of each engine
 *     subr.c            properties of objects: lprop(), lnumber(), ltext()
 *     check.c           which clauses have no meaning where nothing runs
 *
 * The engine fires when it is asked to (engine.run): some of what is left at a time, so that the
 * session shows records meanwhile, and ^C ends it. There is one CPU.
 *
 * Owns     struct remains owns the target, until the handle is closed.
 * Errors   struct err *: there is no such target; a clause that cannot run. What cannot be read of
 *          the target is a fault of the clause, or missing.
 * Threads  that of the session.
 */
#pragma once

#include "probe/engine.h"

struct mdb;

struct remains {
	struct mdb *m;
	char *lack; /* why there are no objects of languages; NULL: nobody has asked */
};

extern const struct engine engine_remains;
