/* SPDX-License-Identifier: MIT */
/*
 * Spellings that the two printers of syntax trees share: ast_print.c (trees as lists) and
 * ast_print_d.c (trees as D). What they print can be parsed again.
 *
 * Errors   none: every tree can be spelled.
 */
#pragma once

#include "d/parse/op.h"

const char *storage_text(enum storage_class sc);  /* "" for SC_NONE */
const char *tag_text(const struct decl_specs *s); /* "struct" */
/* The words of enum spec_flag, each followed by a blank: "const unsigned long ". */
void flags_print(uint32_t flags, struct strbuf *out);
/* Add a string or character constant with its quotes and escapes. */
void str_print(const char *s, size_t len, struct strbuf *out);
void char_print(uint64_t val, struct strbuf *out);
/* Adds the suffix ("UL") with which the lexer gives the literal the same type again. */
void int_print(uint64_t val, type_id type, struct strbuf *out);
