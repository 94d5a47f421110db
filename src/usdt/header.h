/*
 * The C header of a provider definition (dtrace -h): a macro for each probe, and one that tells
 * whether it is enabled.
 *
 * The header needs no other one. A probe is an inline function, so that arguments are checked and
 * converted; it leaves one no-operation instruction in the program, and a note in the object file
 * that says where it is and where its arguments are (the format that other tracers and debuggers
 * know: providers.md 20.6). The test is a load of the probe's counter, which the kernel counts up
 * while somebody traces the probe.
 *
 * C90 to C23, C++98 to C++20, gcc and clang; any optimisation, position-independent or not.
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
