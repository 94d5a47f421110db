/* SPDX-License-Identifier: MIT */
/*
 * Unwind rows of code that has no call frame information.
 *
 * Each library has such functions: those that the compiler's and the C library's start files bring
 * along (_init, _fini, frame_dummy and its neighbours). They are the first code of a library that
 * is executed, so that their pages are missing then, and samples meet them.
 *
 * The code is followed from its begin to its end: what each instruction pushes, and whether all
 * jumps arrive with the stack that they have left with.
 *
 * Errors   none: of code that cannot be followed to its end, there are no rows at all.
 * Units    bytes; row.off counts from the begin of the code.
 */
#pragma once

#include "image/ehframe.h"

#define NOCFI_SIZE_MAX 1024u /* of code */

typedef VEC(struct unwind_row) nocfi_rows;

/* Adds the rows of `size` bytes of code, with padding between functions; false, and none added. */
bool nocfi_rows_add(const uint8_t *code, uint32_t size, nocfi_rows *ret);
