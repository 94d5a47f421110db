/* Names of other systems' kernels that Linux lacks (foreign.def). */
#pragma once

enum foreign_kind { FOREIGN_TYPE, FOREIGN_MEMBER, FOREIGN_SYMBOL };

/*
 * Returns the text of a hint that says what Linux has in place of a type, member or kernel variable
 * of illumos, FreeBSD or macOS; NULL if the table (foreign.def) does not have the name.
 */
const char *foreign_hint(enum foreign_kind kind, const char *name);
