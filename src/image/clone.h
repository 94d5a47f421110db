/* SPDX-License-Identifier: MIT */
/*
 * Clones: symbols that a compiler has made of a function or variable of the program.
 *
 * An optimiser gives what it makes of "run" names of its own, which begin with that name:
 *
 *     run.lto_priv.0      the function itself: with -flto, one that other files cannot see is
 *                         renamed, so that those of several files can stand beside each other
 *     run.constprop.0     a copy of it for callers that pass certain values
 *     run.isra.0          the function itself, or a copy of it, with other parameters
 *     run.cold            a part of it, of code that is seldom executed
 *     run.part.0          a part of it, called by what is left
 *
 * Suffixes follow each other: run.lto_priv.0.isra.0.cold is the seldom executed part of a copy.
 *
 * Two source files may each have a function "run" of their own, and which of them somebody means
 * who says "run" is not known. Symbols are of two functions if the table of symbols names two source
 * files (with -flto it names none); if they are run.lto_priv.0 and run.lto_priv.1; if they have the
 * very same name; or if one is run and the other run.isra.0, because a compiler changes the
 * parameters only of a function all of whose callers it knows: nothing is left of what it was.
 *
 * Owns     nothing.
 * Facts    the suffixes: gcc/cgraphclones.cc, gcc/lto/lto-partition.cc, LLVM's IR linker.
 */
#pragma once

#include "base/base.h"
#include "image/object.h"

enum clone_kind {
	CLONE_ITSELF, /* what the program calls by this name */
	CLONE_COPY,   /* does what that does, for some of its callers */
	CLONE_PART,   /* holds a piece of the code of one of the others */
};

struct clone {
	struct object_symbol sym;
	uint32_t suffix; /* a number made of all suffixes; 0: the name has none */
	uint32_t owner;	 /* the same of those that tell functions of one name apart */
	uint32_t file; /* a number of the source file; 0: other files see it, or it is not known */
	enum clone_kind kind;
	bool is_global, is_func;
	bool is_changed; /* the parameters: no other function of the name is left */
};

/*
 * Returns how many bytes of the name are before its suffixes, and sets what these say.
 */
size_t clone_parse(const char *name, size_t len, struct clone *ret);

/*
 * Finds what a name stands for among the symbols that have it, in the order of the file: the one
 * that other files see, or else the only function or variable of the name, under whatever suffix.
 * ret->is_ambiguous: there are several. False: there is none.
 */
bool clone_choose(const struct clone *v, uint32_t n, struct object_symbol *ret);

/*
 * Finds the code of a function: itself first, then its copies and parts by their addresses. Sorts v
 * and leaves them at its beginning. Returns their number; UINT32_MAX: it is not known which of them
 * belong together.
 */
uint32_t clone_pieces(struct clone *v, uint32_t n);
