/* What the disassembler, the assembler and the verifier share: operand syntax and quoting. */
#pragma once

#include "dif/dif.h"

/*
 * Operands of a form, as text in which these stand for fields; everything else is itself:
 *     1 2 d  register r1, r2, rd or rs	      V  variable id (bits 8-23)  A  in r1
 *     I  integer index	  S  string offset    F  subroutine		   T  tuple type
 *     L  branch target	  X  translator reference
 */
struct dif_syntax {
	const char *operands;
	void (*comment)(const struct difo *d, dif_insn insn, struct strbuf *out); /* NULL: none */
};

extern const struct dif_syntax dif_syntax[]; /* by enum dif_form */

/* C-like quotes; bytes that are not printable ASCII become \xHH, always two digits. */
void dif_quote(struct strbuf *out, const char *s, size_t len);
/* Whether rd is a destination. */
bool dif_form_writes(enum dif_form form);
