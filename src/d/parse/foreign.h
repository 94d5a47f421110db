/* SPDX-License-Identifier: MIT */
/*
 * Names that scripts bring along and Linux or D lacks: those of the kernels of illumos, FreeBSD and
 * macOS, and those of bpftrace, SystemTap and C. The table is foreign.def, which says how a row is
 * added.
 *
 * Owns     the texts are constants.
 */
#pragma once

enum foreign_kind {
	FOREIGN_TYPE,
	FOREIGN_MEMBER,
	FOREIGN_SYMBOL,
	FOREIGN_VARIABLE,
	FOREIGN_FUNCTION,
};

/*
 * Returns the text of a hint that says what Linux has in place of a type, member or kernel variable
 * of illumos, FreeBSD or macOS, or what D has in place of a variable or function of bpftrace,
 * SystemTap or C; NULL if the table (foreign.def) does not have the name.
 */
const char *foreign_hint(enum foreign_kind kind, const char *name);
/*
 * Returns the members, separated by '>', that lead from a structure of Linux to what other systems
 * have as its member of that name; NULL if the table does not have the name.
 */
const char *foreign_path(const char *sou, const char *name);
/*
 * Returns the name of the inline of the D library that computes, from the address of a structure of
 * Linux, what other systems have as its member of that name; NULL if the table does not have it.
 */
const char *foreign_inline(const char *sou, const char *name);
