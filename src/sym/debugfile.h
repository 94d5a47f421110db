/*
 * Separate debug files: where the symbols and types of a stripped file may be.
 *
 * Facts    DIR/.build-id/ab/cdef.debug by build-id; by the name in .gnu_debuglink beside the file,
 *          in .debug beside it, and below DIR in the file's folder: gdb, "Separate Debug Files".
 *          DIR is /usr/lib/debug, or each of the option's, separated by colons.
 */
#pragma once

#include "base/base.h"

#define DEBUG_DIRS_DEFAULT "/usr/lib/debug"

struct elf_syms;

/* How files of programs are read: options debugdir and elfsize. */
struct file_opts {
	const char *debug_dirs; /* separated by colons */
	uint64_t limit;		/* bytes of a section, of a table that is made from one (sym/gate.h) */
};

struct debug_place {
	const char *path; /* of the file itself, as the process that maps it names it */
	int root;	  /* directory that is "/" there; -1 = ours */
	const char *dirs;
	uint64_t limit; /* of what is read of a file (sym/gate.h) */
	uint64_t dev, ino; /* of the file itself, which is no debug file of its own */
};

/* fd stays the caller's; true ends the search. */
typedef bool debug_file_f(void *ctx, int fd);

/*
 * Offers the files that may be s's debug file to use, until it takes one. Those that are found by
 * name alone have the checksum that s gives; those of another build-id are for use to refuse.
 */
bool debug_file_find(const struct elf_syms *s, const struct debug_place *place, debug_file_f *use,
		     void *ctx);
