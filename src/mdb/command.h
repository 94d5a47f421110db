/* SPDX-License-Identifier: MIT */
/*
 * Commands of the debugger's language, parsed.
 *
 *     commands = command { ( ";" | newline ) command }
 *     command  = [ expr [ "," expr ] ] [ stage { "|" stage } ] [ "!" shell command ]
 *     stage    = "::" name words | "$" letter [ words ] | "/" format | "=" format | ">" name
 *     words    = words of a shell, quoted by '...' or "..."
 *
 * "//" at the begin of a word is a comment to the end of the line.
 *
 * Owns     a struct command its texts, until command_deinit().
 * Errors   struct err *: what is no command. The cursor stays where the error is.
 */
#pragma once

#include "base/vec.h"
#include "mdb/expr.h"

enum stage_kind {
	STAGE_DCMD,   /* ::name, $letter */
	STAGE_READ,   /* /format */
	STAGE_SHOW,   /* =format */
	STAGE_ASSIGN, /* >name */
};

struct stage {
	enum stage_kind kind;
	char *name; /* of a dcmd ("$C" with its dollar) or variable; the format */
	VEC(char *) args;
};

struct command {
	bool has_addr, has_count;
	uint64_t addr, count;
	VEC(struct stage) stages;
	char *shell; /* NULL: none */
};

/* Skips blanks, ends of commands and comments; false: the text ends. */
bool command_more(const char **at);
/*
 * Reads one command, and computes its address and count. On an error, *at is where the error is,
 * and what was read is not to be executed.
 */
MUST_CHECK struct err *command_read(const char **at, const struct expr_env *env,
				    struct command *ret);
void command_deinit(struct command *c);
/* Moves to the end of a command that could not be read. */
void command_skip(const char **at);
