/* SPDX-License-Identifier: MIT */
/*
 * The instructions of a file that call functions: those of the file itself, and those of other
 * files, which are called by the linkage table.
 *
 *     calls_open()           reads which functions of others the file calls
 *     calls_want(), calls_import_want()
 *                            say which functions are meant, and give each a number
 *     calls_find()           looks for their calls in all of the code
 *
 * A call is an instruction that says itself which function it calls, or which word of the global
 * offset table has it. A jump out of a function to the begin of another one is a call, too: the
 * last one of a function. What leads to a function through a register or a variable is not found,
 * nor are conditional jumps, nor calls in code of which neither a symbol nor .eh_frame says where
 * its instructions begin.
 *
 * The bytes of the code are searched for calls that lead to one of the functions, and only the
 * functions in which there are some are decoded: calls of a few functions are found fast.
 *
 * Owns     what was read of the file; its names are valid until calls_close().
 * Errors   none: of a damaged file, less is found.
 * Units    off: offset in the file; addr: virtual address as in the file.
 * Facts    the linkage table: image/elfplt.h.
 */
#pragma once

#include "base/vec.h"

struct calls;
struct funcs;
struct gate_file;
struct text;

#define CALLS_MAX (1u << 22)

struct call {
	uint64_t off;	 /* of the instruction */
	uint32_t rel;	 /* bytes from the begin of its function */
	uint32_t number; /* of the called function */
	bool is_tail;	 /* it is a jump: the return address is that of its function */
};
typedef VEC(struct call) call_vec;

/*
 * f and t are those of the file; all three have to stay until calls_close(). limit: of one section
 * (files/gate.h), and with it of the code.
 */
struct calls *calls_open(struct gate_file *file, uint64_t limit, const struct funcs *f,
			 struct text *t);
void calls_close(struct calls *c); /* NULL is allowed */
/* The names of functions that other files have, each once. */
uint32_t calls_imports(const struct calls *c);
const char *calls_import(const struct calls *c, uint32_t i);
/* The function at addr of this file, which may be what chooses one (STT_GNU_IFUNC). */
void calls_want(struct calls *c, uint64_t addr, uint32_t number);
void calls_import_want(struct calls *c, uint32_t i, uint32_t number);
/*
 * Adds the calls of the functions that are wanted, by ascending offset; once. False: not all were
 * looked for, because they are more than CALLS_MAX, the code is larger than its limit, or the file
 * says of the same code again and again where its functions are.
 */
bool calls_find(struct calls *c, call_vec *ret);
