/* SPDX-License-Identifier: MIT */
/* Numbers and dates as languages write them: what udouble() and udate() say (dif/acts.def). */
#pragma once

#include "base/base.h"

struct strbuf;

/* Adds the double of these bits; how: the second argument of udouble(), or 0. */
void number_double_add(struct strbuf *out, uint64_t bits, uint64_t how);
/* Adds the date of so many milliseconds since 1970: the bits of a double, or an integer. */
void number_date_add(struct strbuf *out, uint64_t bits, bool is_integer);
