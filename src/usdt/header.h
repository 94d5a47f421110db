/* SPDX-License-Identifier: MIT */
/*
 * The C header of a provider definition (dtrace -h): a macro for each probe, and a macro that tests
 * whether the probe is enabled.
 *
 * The header includes no other header. A probe is an inline function, so that the compiler checks
 * and converts the arguments. The function leaves one no-operation instruction in the program, and
 * a note in the object file that says where the instruction and the arguments are; the format of
 * the note is the one that other tracers and debuggers read (providers.md 20.6). The test loads the
 * probe's counter, which the kernel increments while somebody traces the probe.
 *
 * The header compiles as C90 to C23 and as C++98 to C++20, with gcc and clang, at any optimisation
 * level, position-independent or not.
 *
 * Errors   struct err *: a probe has more arguments than a probe of a program can have
 *          (USDT_ARGS_MAX).
 */
#pragma once

#include "base/str.h"
#include "usdt/usdt.h"

/*
 * guard: name of the output file, from which the include guard is made; source: what the first
 * comment says the header was made from. Errors: a probe with more than USDT_ARGS_MAX arguments.
 */
MUST_CHECK struct err *usdt_header(const struct usdt_provider *providers, uint32_t n,
				   const char *guard, const char *source, struct strbuf *out);
