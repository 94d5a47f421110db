/* Names of other systems' kernels that Linux lacks (foreign.def). */
#pragma once

enum foreign_kind { FOREIGN_TYPE, FOREIGN_MEMBER, FOREIGN_SYMBOL };

/* What to use on Linux instead of the name; NULL: the name is not known from other systems. */
const char *foreign_hint(enum foreign_kind kind, const char *name);
