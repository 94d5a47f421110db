/* SPDX-License-Identifier: MIT */
/*
 * The syntax of DIF as text: one description of each form of operands, which the disassembler
 * writes by, the assembler reads by, and the verifier checks registers and indexes by.
 */
#pragma once

#include "dif/dif.h"

/*
 * The operands of a form: a text in which these letters stand for fields, and every other character
 * for itself.
 *
 *     1 2 d  register r1, r2, rd or rs    V  variable id (bits 8-23)   A  variable id in r1
 *     I      integer index                S  string offset             F  subroutine
 *     L      branch target                T  tuple type                X  translator reference
 */
struct dif_syntax {
	const char *operands;
	/* adds what stands behind '!' in a listing; NULL: nothing does */
	void (*comment)(const struct difo *d, dif_insn insn, struct strbuf *out);
};

extern const struct dif_syntax dif_syntax[]; /* by enum dif_form */

/* Adds s in quotes as C has them; bytes that are not printable ASCII become \xHH. */
void dif_quote(struct strbuf *out, const char *s, size_t len);
/* Whether an instruction of this form writes rd. */
bool dif_form_writes(enum dif_form form);
