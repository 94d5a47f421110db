/* SPDX-License-Identifier: MIT */
/* The numbers of the subroutines of remains_subrs.def, which are those of enum dif_subr, too. */
#pragma once

enum remains_subr {
#define SUBR_REMAINS(id, name, code, ...) REMAINS_SUBR_##id = (code),
#include "dif/remains_subrs.def"
};
