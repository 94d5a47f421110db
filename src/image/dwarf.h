/* SPDX-License-Identifier: MIT */
/*
 * Debug information of one file: its functions, their parameters, source lines.
 *
 * Owns     the descriptor and memory of the file that has the information: the ELF file itself, or
 *          its separate debug file. DIEs are valid until dwarf_file_close().
 * Errors   none: of a file whose debug information is damaged or absent, the functions return what
 *          can be read.
 * Units    virtual addresses as in the file.
 * Facts    DWARF 5, read with elfutils' libdw; SysV AMD64 ABI, 3.2.3 for where parameters are.
 */
#pragma once

#include <elfutils/libdw.h>

#include "base/arena.h"

struct dwarf_file;
struct debug_search;
struct gate_file;

/* Returns NULL if there is no debug information. The caller keeps the file. */
struct dwarf_file *dwarf_file_open(struct gate_file *file, const struct debug_search *where);
void dwarf_file_close(struct dwarf_file *d); /* NULL is allowed */
/* Returns about how many bytes of memory d takes: libdw reads whole sections of the files. */
uint64_t dwarf_file_size(const struct dwarf_file *d);
/* The handle by which libdw knows the file. */
Dwarf *dwarf_file_handle(struct dwarf_file *d);

/* Finds the subprogram whose code contains addr; false if none is known. */
bool dwarf_file_function(struct dwarf_file *d, uint64_t addr, Dwarf_Die *ret_die);
/*
 * Finds the source line whose code contains addr; false if none is known. *ret_file lives as long
 * as d.
 */
bool dwarf_file_line(struct dwarf_file *d, uint64_t addr, const char **ret_file,
		     uint32_t *ret_line);

/* ---- functions without code (dwarf_inline.c) ------------------------------------------------- */

typedef bool dwarf_name_f(void *ctx, const char *name);

struct dwarf_inlined {
	const char *name;
	const char *caller; /* a function into which it was inlined; NULL: not found */
};

/*
 * Finds a function that was inlined everywhere and for whose name is_meant() returns true; false if
 * there is none. The texts are allocated in a. The search gives up after a third of a second.
 */
bool dwarf_file_inlined(struct dwarf_file *d, dwarf_name_f *is_meant, void *ctx, struct arena *a,
			struct dwarf_inlined *ret);
bool dwarf_find_inlined(Dwarf *dw, dwarf_name_f *is_meant, void *ctx, struct arena *a,
			struct dwarf_inlined *ret); /* dwarf_file_inlined() in terms of libdw */

/* ---- types by name (dwarf_types.c) ----------------------------------------------------------- */

enum dwarf_named { DWARF_STRUCT, DWARF_UNION, DWARF_ENUM, DWARF_TYPEDEF };

/*
 * Finds the definition of a type, first in the unit whose code contains addr; false if there is
 * none. The search gives up after a third of a second.
 */
bool dwarf_file_type(struct dwarf_file *d, uint64_t addr, enum dwarf_named kind, const char *name,
		     Dwarf_Die *ret_die);
/* dwarf_file_type() in terms of libdw. first: the unit in which to look first, or NULL. */
bool dwarf_find_type(Dwarf *dw, Dwarf_Die *first, enum dwarf_named kind, const char *name,
		     Dwarf_Die *ret);

/* ---- values (dwarf_value.c) ------------------------------------------------------------------ */

/* A register, or a word of memory, when the program is at an instruction. */
struct dwarf_value {
	bool is_memory;
	uint32_t word; /* index in struct pt_regs of the register, or of the base of the address */
	int64_t disp;  /* of memory: is added to the base */
	/* the register and the distance that give the frame's address (CFA), if they are known */
	bool has_cfa;
	uint32_t cfa_word;
	int64_t cfa_disp;
	uint32_t size; /* bytes */
	bool is_signed, is_float;
};

/*
 * Finds the type of a variable or parameter that has this value at the instruction at address pc:
 * a number or pointer of the value's size. False if none is known.
 */
bool dwarf_file_value(struct dwarf_file *d, uint64_t pc, const struct dwarf_value *value,
		      Dwarf_Die *ret_type);

/* ---- functions (dwarf_args.c, dwarf_go.c) ---------------------------------------------------- */

struct dwarf_arg {
	const char *name; /* "" if the parameter has none */
	const char *text; /* the type as C spells it */
	Dwarf_Die type;	  /* has no tag if the type is void, or if the reference to it is damaged */
	/*
	 * In which of the words that pass integers and pointers the argument is: 0..5 are
	 * registers, from 6 on words of the caller's stack. -1: it is passed in another way
	 * (floating point, or a structure by value).
	 */
	int raw;
	bool is_ref;	 /* the value's address is passed: a reference, or an object of C++ */
	bool is_spelled; /* text is how a language other than C writes the type */
	bool is_text;	 /* a string of Go or Rust: word raw is its address, raw + 1 its length */
	uint32_t nwords; /* number of words, if several: then raw is -1, first the first word */
	uint32_t first;
};

/*
 * Returns the parameters and the return value of a subprogram that dwarf_file_function() has found,
 * allocated in a; false if the subprogram has no code.
 */
bool dwarf_function_args(Dwarf_Die *func, struct arena *a, struct dwarf_arg **ret_args,
			 uint32_t *ret_n, struct dwarf_arg *ret_value);
/*
 * The same for a function of Go, which may have several results. on_stack: the calling convention
 * up to Go 1.16, which passes everything on the stack; raw of the results is then -1.
 */
bool dwarf_go_args(Dwarf_Die *func, bool on_stack, struct arena *a, struct dwarf_arg **ret_args,
		   uint32_t *ret_n, struct dwarf_arg **ret_values, uint32_t *ret_nvalues);
/* Returns how C spells a type, allocated in a. type NULL is void. */
const char *dwarf_type_text(Dwarf_Die *type, struct arena *a);
/*
 * Finds the type of a DIE (DW_AT_type), also through DW_AT_abstract_origin and DW_AT_specification;
 * false: void.
 */
bool dwarf_type_of(Dwarf_Die *die, Dwarf_Die *ret_type);
/*
 * Returns the offset in bytes of a member or base class; 0 if the debug information does not give
 * it.
 */
uint64_t dwarf_member_offset(Dwarf_Die *member);
/* Removes typedefs and qualifiers from a type; false: void. */
bool dwarf_type_resolve(Dwarf_Die *type, Dwarf_Die *ret_type);
