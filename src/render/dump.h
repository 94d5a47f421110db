/* SPDX-License-Identifier: MIT */
/*
 * The stacks of all threads of a process (helper/dump.h), as text or as an object of JSON.
 *
 * Owns     nothing.
 * Errors   none.
 */
#pragma once

struct dump;
struct print_opts;
struct strbuf;
struct syms;

struct dump_form {
	struct syms *syms; /* to which the dump has made its target known */
	const struct print_opts *opts;
};

/* With option stackmerge, threads whose stacks have the same functions are shown together. */
void dump_text(const struct dump *d, const struct dump_form *how, struct strbuf *out);
/* One line. */
void dump_json(const struct dump *d, const struct dump_form *how, struct strbuf *out);
