/* SPDX-License-Identifier: MIT */
/*
 * memprof objects: what objects.c and the runtimes of languages know of each other.
 *
 *     objects.c        which runtime there is, names of classes, the run
 *     objects_NAME.c   one runtime: its functions, and the program in D
 *
 * The program counts in @objects, whose keys are file, line and class, by live() or, with -C, by
 * sum(). A class is a number, mostly its address; its name is told by class_name_note() before the
 * program runs, or by the keys of @names, which are the number and the name, when it runs. Adding a
 * runtime:
 *     1. objects_NAME.c with a struct runtime; its fixed part of D in d/objects_NAME.d;
 *     2. a row in the table of objects.c; meson.build; doc/memory.md and doc/memprof.8.
 */
#pragma once

#include "memprof.h"

#define RUNTIME_NFUNCTIONS_MAX 16

struct objects {
	struct memprof *m;
	char *module;			  /* the file that has the runtime's functions */
	bool has[RUNTIME_NFUNCTIONS_MAX]; /* which of these it has */
	struct strbuf d;		  /* the program */
	struct class *classes;		  /* by number */
	size_t nclasses, ndue;		  /* due: of whose names the debugger is to be asked */
	bool reads_names;		  /* the debugger knows those that no probe tells */
	uint64_t started;		  /* when the process has, in ticks: its id is used again */
	struct strbuf failure;		  /* why the last name that failed could not be read */
};

struct class
{
	uint64_t number;
	char *name;	  /* NULL: none is known */
	bool is_read;	  /* by the debugger, if at all: another class may get the address later */
	bool is_answered; /* it was read once, and may have had no name */
	bool is_due, is_in_rows;
	uint8_t nfailed; /* how often it could not be read since it is due */
};

struct runtime {
	const char *name;
	/*
	 * NULL ends them: functions of the runtime, at most RUNTIME_NFUNCTIONS_MAX. A process whose
	 * file has the first of them has the runtime.
	 */
	const char *const *functions;
	/* Makes the program, o->d. False: it cannot be made for this process, which was said. */
	bool (*program_make)(struct objects *o);
	/* Says at the end what rows do not show. May be NULL. */
	void (*end)(struct objects *o);
};

extern const struct runtime runtime_ruby, runtime_python, runtime_php, runtime_perl;

/* ---- objects_names.c */

/* Notes a class of a row, whose name may not be known. */
void class_note(struct objects *o, uint64_t class);
/*
 * Reads names of classes that were noted: of those that are new, or, for a report, of all that are
 * in its rows. What the process does not tell now is asked for again.
 */
void classes_ask(struct objects *o, bool is_report);
/* Says how many names could not be read, and why. */
void classes_missing_say(const struct objects *o);

/* ---- objects.c */

/* A process may make classes without end: those that come then are printed as their addresses. */
#define CLASSES_MAX 10000
/* NULL: it is not known. Valid until a class is added. */
struct class *class_find(const struct objects *o, uint64_t number);
/* Adds a class that is not known; the name is copied, and may be NULL. NULL: there are too many. */
struct class *class_add(struct objects *o, uint64_t number, const char *name);
/* Notes the name of a class that a probe or the runtime has told. The first one is kept. */
void class_name_note(struct objects *o, uint64_t number, const char *name);
