/* SPDX-License-Identifier: MIT */
/*
 * memprof objects: what objects.c and the runtimes of languages know of each other.
 *
 *     objects.c        which runtime there is, names of classes, the run
 *     objects_NAME.c   one runtime: its functions, and the program in D
 *
 * The program counts in @objects, whose keys are file, line and class, by live() or, with -C, by
 * sum(). A class is a number, mostly its address; its name is told by class_add() before the
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
	struct class *classes;
	size_t nclasses;
	/* Classes without a name for which the debugger was asked, and how many of them. */
	uint64_t *asked;
	size_t nasked, nanswered;
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
	/* Classes are objects, whose names the debugger knows. */
	bool has_class_objects;
	/* Says at the end what rows do not show. May be NULL. */
	void (*end)(struct objects *o);
};

extern const struct runtime runtime_ruby, runtime_python, runtime_php, runtime_perl;

/* ---- objects_names.c */

/* Notes a class of a row, whose name may not be known, and asks for the names of those. */
void class_note(struct objects *o, uint64_t class);
void classes_ask(struct objects *o);

/* ---- objects.c */

#define CLASSES_MAX 10000 /* whose names are kept */
bool class_is_known(const struct objects *o, uint64_t class);
/* Notes the name of a class. The first name that a class gets is kept. */
void class_add(struct objects *o, uint64_t class, const char *name);
