/* SPDX-License-Identifier: MIT */
/*
 * Names of numbers that system calls use: errors, signals, flags.
 *
 * strerrno(), strerror(), strsignal() and strflags() use them: the interpreter reads these tables,
 * code in the kernel reads copies in the session's string table.
 *
 * To add a kind of flags: 1. rows in flags.def; 2. the guide (doc/guide/actions.md).
 */
#pragma once

#include "base/base.h"

/*
 * Names by number: n texts of stride bytes each, padded with NULs. A number without a name has its
 * digits in place of one.
 */
struct name_list {
	const char *text;
	uint32_t stride, n;
};

enum name_list_id { NAMES_ERRNO, NAMES_ERROR, NAMES_SIGNAL, NNAMES };
extern const struct name_list name_lists[NNAMES];

/* A flag, or a value of several bits: it is set in `flags` if (flags & mask) == value. */
struct flag_name {
	uint32_t mask, value;
	char name[24];
};

extern const struct flag_name flag_names[];
extern const uint32_t nflag_names;

/*
 * The flags of one argument of a system call are a kind: n rows of flag_names[] from `first` on,
 * tried in this order. A DIF register holds first and n as one number.
 */
#define FLAG_ROWS(first, n)   ((uint64_t)(first) << 16 | (n))
#define FLAG_ROWS_FIRST(rows) ((rows) >> 16)
#define FLAG_ROWS_N(rows)     ((rows)&0xffff)

uint64_t flag_rows_find(const char *kind); /* n is 0 when there is no such kind */
const char *flag_kind_name(uint32_t i);	   /* NULL behind the last one */
