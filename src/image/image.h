/* SPDX-License-Identifier: MIT */
/*
 * Images: the files that processes have mapped, and what was read of each, for all who ask.
 *
 * A program or library is opened once and read once for those who ask here, however many processes
 * map it: names of stacks (sym/ufile.h), symbols for runtimes' helpers (helper/process.h), helpers
 * that files carry (helper/carried.h), walks on the host (unwind/walk.h), unwind tables of the
 * kernel's walks (unwind/unwind.h), and probes of programs (provider/code/code.h). An image is
 * found by the identity of its file (files/file_id.h): while the file is open, by the inode of a
 * mapping, which costs one fstat(); else after it was opened. What an image knows is read when it
 * is first asked for; rows of unwind tables are read for the kernel and not kept here:
 *
 *     symbols by address       names of stacks              image/elfsym.h
 *     debug information        source lines                 image/dwarf.h
 *     symbols by name          runtimes' helpers            image/object.h
 *     functions, their code    probes of programs           image/funcs.h, image/text.h
 *     what others have noted   e.g. its probes, or that there is no helper in it
 *
 * References and pins. Who has a reference (image_open()) keeps the file open, and finds what was
 * read still there or reads it again: what is large is shed when too much memory is in use. Who
 * has a pin, too, holds pointers into what is found by name, which is then kept, or the open file,
 * as probes do, which it would not help to close. Functions and debug information are held for a
 * time by who has pointers into them (image_funcs_hold(), image_dwarf_hold()); held by nobody, they
 * are shed and read again as symbols are. An image without references is closed, and kept for the
 * next process that maps its file.
 *
 * One bound. All bytes that are kept here count together, names and notes that are kept elsewhere
 * included (image_set_account()). Beyond the bound, the images that were used least recently are
 * shed first, except the one that is being used: a file is read whatever its size, which the option
 * elfsize bounds. Of an image without references, only what was found by name is kept, which is
 * little. Open files are bounded, too: the one that was used least recently is closed.
 *
 * Owns     a set owns its images. An image with references outlives its set.
 * Errors   a file that cannot be read has no symbols; why it has no functions is a struct err.
 * Units    bytes of memory.
 * Threads  a set and its images belong to one thread.
 */
#pragma once

#include "base/hashmap.h"
#include "files/file_id.h"
#include "image/pause.h"
#include "image/text.h"

struct debug_search; /* image/debugfile.h */
struct dwarf_file;
struct elf_syms;
struct err;
struct funcs;
struct gate;
struct gate_file;
struct mapping;
struct object;

/* The default of image_set.max_bytes: the option namesize. */
#define IMAGES_MEMORY_DEFAULT ((uint64_t)256 << 20)

/* What rooms above note of an image: a pointer that is not NULL, and stays theirs. */
enum image_note {
	IMAGE_CARRIED, /* helper/carried.c */
	IMAGE_USDT,    /* provider/usdt_file.c */
	IMAGE_NNOTES,
};

/* Others read the members, and change none. */
struct image {
	struct image_set *set; /* NULL: it has been destroyed */
	struct file_id id;     /* all zero: the vDSO */
	uint64_t map_dev; /* the device that its mappings show (mapping_other_dev()); 0: id.dev */
	uint32_t refs, npins;
	uint64_t used;		  /* clock of the set at the last use */
	struct gate_file *opened; /* NULL: not open */
	bool is_closed;		  /* it was closed although there are references */
	bool is_syms_read;
	struct elf_syms *syms; /* maybe shed; NULL: none could be read */
	bool is_dwarf_read;
	struct dwarf_file *dwarf; /* NULL: no debug information */
	uint32_t ndwarf_users;	  /* calls of image_dwarf_hold() */
	struct object *object;	  /* NULL: not asked for, or shed */
	bool is_funcs_read;
	struct funcs *funcs;	   /* NULL: there are none, or they were shed */
	struct err *funcs_refused; /* why there are none */
	uint32_t nfuncs_users;	   /* calls of image_funcs_hold() */
	struct text text;	   /* code of the functions; its file is the open one */
	void *notes[IMAGE_NNOTES];
	uint64_t bytes; /* of tables; counted in the set */
};

struct image_set {
	struct hashmap *by_id;	  /* struct file_id -> struct image */
	struct hashmap *by_inode; /* struct file_inode of that -> the image that was opened last */
	uint32_t nopen, max_open;
	bool is_sparse;	     /* few addresses will be named: elf_syms_read_sparse() */
	uint32_t nunused;    /* images without references */
	uint64_t open_bytes; /* sizes of the files that are open */
	uint64_t clock;
	uint64_t bytes, max_bytes; /* memory for what is kept of files */
	uint64_t untrimmed;	   /* bytes that were freed and may not be the system's yet */
	/* for statistics: files that were opened, tables that were read, shed; files closed */
	uint64_t nopened, nread;
	uint32_t nshed, nclosed;
	/*
	 * Called while symbols by address are read. It may open other images, and read of them what
	 * is found by name.
	 */
	struct image_pause pause;
};

struct image_set *image_set_create(void);
void image_set_destroy(struct image_set *s); /* NULL is allowed */

/*
 * Return an image with a reference for the caller; the first of them NULL with errno, as
 * mapping_open() does. The file that the second one gets stays the caller's.
 */
struct image *image_open(struct image_set *s, struct gate *g, const struct mapping *m);
struct image *image_of(struct image_set *s, struct gate_file *file);
/* The vDSO, which the kernel maps into all 64-bit processes, and which has no file. */
struct image *image_of_vdso(struct image_set *s);
void image_put(struct image *i); /* NULL is allowed */
/* Closes the file before its time: what was not read yet can be read after image_open() only. */
void image_close(struct image *i);

/*
 * Reads the symbols into i->syms, or reads them again when they were shed. False: the file is not
 * open or does not answer, so that a later attempt may succeed; or it has other contents than
 * before. `where` says how separate debug files are found.
 */
bool image_syms_read(struct image *i, const struct debug_search *where);
/*
 * Returns the debug information, opened at the first call; NULL if there is none. It may be shed by
 * the next call here for another image, unless it is held.
 */
struct dwarf_file *image_dwarf(struct image *i, const struct debug_search *where);
/* Who keeps pointers into the debug information holds it until a call of the second. */
void image_dwarf_hold(struct image *i);
void image_dwarf_rest(struct image *i);

/*
 * Reads the functions into i->funcs, or reads them again when they were shed, and holds them until
 * a call of the second. False: *ret_why, the image's until its last reference is put, says why
 * there are none; NULL: the file is not open or does not answer, and a later attempt may succeed.
 */
bool image_funcs_hold(struct image *i, const struct debug_search *where,
		      const struct err **ret_why);
void image_funcs_rest(struct image *i);

/*
 * Keeps what is found by name in memory until image_unpin() was called as often; NULL is allowed
 * there.
 */
void image_pin(struct image *i);
void image_unpin(struct image *i);
/*
 * Returns the symbols by name of an image that is open and has a pin. limit: of one section
 * (files/gate.h).
 */
struct object *image_object(struct image *i, uint64_t limit);

/* Forgets what was noted of all images. */
void image_set_unnote(struct image_set *s, enum image_note note);

/* ---- memory (image_budget.c) ----------------------------------------------------------------- */

/* Counts what an image takes by now, and sheds others if that is too much. */
void image_charge(struct image *i);
void image_uncharge(struct image *i);
bool image_set_is_above(const struct image_set *s, uint64_t bytes);
/*
 * If too much is kept, sheds the images that were used least recently, except one (NULL: none).
 */
void image_set_shed(struct image_set *s, const struct image *keep);
/* Changes *counted, which is how many bytes a caller keeps that are in s->bytes, to bytes. */
void image_set_account(struct image_set *s, uint64_t *counted, uint64_t bytes);
/* Notes that so many bytes were freed: much of it is given back to the system. */
void image_set_freed(struct image_set *s, uint64_t bytes);
