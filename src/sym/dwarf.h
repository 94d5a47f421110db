/*
 * Debug information of one file: its functions, their parameters, source lines.
 *
 * Owns     the descriptor and memory of whatever file has the information: the file itself, or its
 *          separate debug file. DIEs live as long as that.
 * Errors   none: a file without debug information, or with a damaged one, gives what can be read.
 * Units    virtual addresses as in the file.
 * Facts    DWARF 5, read with elfutils' libdw; SysV AMD64 ABI, 3.2.3 for where parameters are.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/arena.h"

struct dwarf_file;
struct debug_place;

/* fd stays the caller's. NULL: there is no debug information. */
struct dwarf_file *dwarf_file_open(int fd, const struct debug_place *place);
void dwarf_file_close(struct dwarf_file *d); /* NULL is allowed */

/* The subprogram that addr is in; false when it is not known. */
bool dwarf_file_function(struct dwarf_file *d, uint64_t addr, Dwarf_Die *ret_die);
/* The source line whose code addr is in; *ret_file lives as long as d. */
bool dwarf_file_line(struct dwarf_file *d, uint64_t addr, const char **ret_file, uint32_t *ret_line);

/* ---- functions without code (dwarf_inline.c) --------------------------------------------------- */

typedef bool dwarf_name_f(void *ctx, const char *name);

struct dwarf_inlined {
	const char *name;
	const char *caller; /* a function that its code is in; NULL: not found */
};

/* A function that the compiler has put into its callers, and that is meant. Texts are in a. Takes a third of a second
 * at most; what is not found by then counts as not there. */
bool dwarf_file_inlined(struct dwarf_file *d, dwarf_name_f *is_meant, void *ctx, struct arena *a,
			struct dwarf_inlined *ret);
bool dwarf_find_inlined(Dwarf *dw, dwarf_name_f *is_meant, void *ctx, struct arena *a,
			struct dwarf_inlined *ret); /* its work */

/* ---- functions (dwarf_args.c, dwarf_go.c) ---------------------------------------------------- */

struct dwarf_arg {
	const char *name; /* "" = none */
	const char *text; /* its type as in C */
	Dwarf_Die type;	  /* has no tag when it is void, or what it refers to is damaged */
	/* Which of the registers and words that pass integers and pointers it is: 0..5, then words
	 * of the caller's stack from 6 on. -1: it is passed otherwise (floating point, by value).
	 */
	int raw;
	bool is_ref; /* what is passed is the address of a type: a reference, or C++'s own way */
	bool is_spelled; /* text is how another language writes the type */
	bool is_text;	 /* a string of Go or Rust: raw has the address of its bytes, raw + 1 their number */
	uint32_t nwords; /* of a value of several words: raw is -1, first has the first of them */
	uint32_t first;
};

/*
 * The parameters of a function that comes from dwarf_file_function(), and what it returns, in a.
 * false: it has no code.
 */
bool dwarf_function_args(Dwarf_Die *func, struct arena *a, struct dwarf_arg **ret_args,
			 uint32_t *ret_n, struct dwarf_arg *ret_value);
/* The same of a function of Go. on_stack: as until Go 1.16; the results then are -1. */
bool dwarf_go_args(Dwarf_Die *func, bool on_stack, struct arena *a, struct dwarf_arg **ret_args,
		   uint32_t *ret_n, struct dwarf_arg **ret_values, uint32_t *ret_nvalues);
/* C spelling of a type; NULL = void. */
const char *dwarf_type_text(Dwarf_Die *type, struct arena *a);
/* Attribute DW_AT_type, of the DIE or what it continues; false: void. */
bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type);
/* Where a member or base class lies, in bytes; 0 when that is not said. */
uint64_t dwarf_member_offset(Dwarf_Die *member);
/* Without typedefs and qualifiers; false: void. */
bool dwarf_type_resolve(Dwarf_Die *type, Dwarf_Die *ret_type);
