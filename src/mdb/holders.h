/* SPDX-License-Identifier: MIT */
/*
 * Who holds objects of a type: chains of objects from roots, grouped.
 *
 * An object is held by the object that a search from all roots has met it in, which is held by
 * another one, and so on, up to a root: a variable of a frame, a global variable, a stack. Chains
 * through the same classes from the same root are one row. Objects of one class that hold one
 * another, as those of a list do, count as one step.
 *
 *     2691 of Session        root bus in frame 5 of thread 10440
 *                            handlers of Bus
 *                            [0] of list
 *                            __self__ of method
 *
 * Owns     everything in a struct holders, until holders_deinit().
 * Errors   struct err *: there is no such type or object, or the heap is not known.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"

struct mdb;

/* Texts are foreign; the caller escapes them. */
struct holders_chain {
	uint64_t count;	  /* objects of the type that are held like this */
	uint64_t example; /* the address of one of them, of which the texts are */
	char *root;
	VEC(char *) steps; /* from the root on: "handlers of Bus" */
};

struct holders {
	char *type;	  /* of the objects */
	const char *kind; /* as in survey.h */
	uint64_t nobjects;
	uint64_t nunheld;		  /* of these, that nothing holds which is known */
	VEC(struct holders_chain) chains; /* the most objects first */
};

/* what: a type, as survey_alive() has it, or the address of an object in hexadecimal. */
MUST_CHECK struct err *holders_find(struct mdb *m, const char *what, struct holders *ret);
void holders_deinit(struct holders *h);
