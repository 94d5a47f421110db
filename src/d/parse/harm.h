/* SPDX-License-Identifier: MIT */
/*
 * The table of probes that are known to end or to spoil the programs that have them.
 *
 * A program executes some of its code only while one of its probes is enabled: to find out the
 * arguments. When that code is wrong, the program ends because it is traced, whoever traces it. The
 * rows are lines of the D library (dlib/harmful.d), where maintainers of runtimes can add theirs:
 *
 *     #pragma D harmful PROVIDER:PROBE FACT=PATTERN... "REASON"
 *
 * A condition FACT=PATTERN is about the file that has the probe; all conditions of a row must hold.
 * The facts are:
 *
 *     file        the last component of its path
 *     build-id    in hexadecimal digits
 *     others      the text in the file's variable of this name: ruby_version=3.1.*
 *
 * Owns     nothing: whoever adds a row to a table copies it (env_add_harm()).
 */
#pragma once

#include <stdint.h>

#define HARM_MAX_CONDITIONS 8

struct harm_condition {
	const char *fact, *pattern;
};

struct harm {
	const char *prov, *name; /* patterns; the name has hyphens, as descriptions have */
	struct harm_condition conditions[HARM_MAX_CONDITIONS];
	uint32_t nconditions;
	const char *reason;
};
