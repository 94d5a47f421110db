/* SPDX-License-Identifier: MIT */
/*
 * The output of commands, as text or as JSON: a command adds rows, and rows have members.
 *
 * Text: a member is a column, and what emit_say() says is added as it is. JSON: a call of a command
 * is one document in a line, {"command": "threads", "rows": [{"tid": 4711, "name": "server"}]},
 * with "error", a text, where the command failed. Addresses are strings: "0x7f12a0". Of a command
 * that others follow in a pipe, only the values of its rows (emit_value()) are used.
 *
 * Owns     the text, until emit_deinit().
 * Errors   none: memory only.
 */
#pragma once

#include "base/str.h"
#include "base/vec.h"

struct out {
	struct strbuf text;
	bool is_json, is_piped;
	bool is_row;	     /* emit_row() was called, emit_end() not yet */
	uint32_t nrows;	     /* of the document */
	uint32_t nmembers;   /* of the row */
	bool is_list;	     /* a list is open in the row */
	uint32_t nlisted;    /* elements of the list */
	VEC(uint64_t) piped; /* the values of the rows */
};

void emit_deinit(struct out *o);
/* Begin and end a document; error NULL: the command has not failed. */
void emit_begin(struct out *o, const char *command);
void emit_finish(struct out *o, const char *error);

void emit_row(struct out *o);
void emit_end(struct out *o);
/* The value that the row hands on in a pipe. */
void emit_value(struct out *o, uint64_t value);

/*
 * Members. name: of JSON; width: columns of the text at least, negative: aligned to the left, 0: no
 * text. Foreign texts are escaped.
 */
void emit_addr(struct out *o, const char *name, uint64_t addr, int width);
void emit_int(struct out *o, const char *name, int64_t number, int width);
void emit_str(struct out *o, const char *name, const char *text, int width);
void emit_bytes(struct out *o, const char *name, const char *text, size_t len, int width);
void emit_bool(struct out *o, const char *name, bool is);
/* A value that is JSON already, for JSON only. */
void emit_json(struct out *o, const char *name, const char *json);
/* A list of numbers or texts, for JSON only. */
void emit_list(struct out *o, const char *name);
void emit_list_int(struct out *o, int64_t number);
void emit_list_str(struct out *o, const char *text, size_t len);
void emit_list_end(struct out *o);
/* Adds text of the debugger's own, which JSON does not have. */
PRINTF_LIKE(2, 3) void emit_say(struct out *o, const char *fmt, ...);
