/* SPDX-License-Identifier: MIT */
/*
 * DIF, the D intermediate format: the instruction set, and the object (DIFO) that holds one
 * expression.
 *
 * DIF is a small register machine with 64-bit integer registers %r0 (always zero, not writable) to
 * %r254; objects meant for other systems use %r0-%r7 only. A tuple stack holds keys and arguments
 * of subroutines. cmp, scmp and tst set the flags N Z V C. Branches only go forward, so every
 * object ends. An instruction has 32 bits:
 *
 *     op << 24 | r1 << 16 | r2 << 8 | rd
 *     op << 24 | target                    branches: index of an instruction
 *     op << 24 | index << 8 | register     16-bit index: variable, integer, string, subroutine
 *     op << 24 | type << 16 | r2 << 8 | rs pushtr, pushtv
 *     op << 24 | id << 16 | r2 << 8 | rd   ldga, ldta: variable id
 *
 * Values   every register holds 64 bits. A by-reference value (string, struct, array) is an
 *          address. A shorter integer is sign- or zero-extended according to its D type.
 * Strings  are addresses of NUL-terminated bytes in kernel memory; D's string constants and scratch
 *          memory are kernel memory, too. 0 is the NULL string: it prints as "" and equals "" and
 *          itself.
 * Owns     a DIFO lives in the arena in which it was built.
 * Facts    d-language.md 13. Opcodes, variables and subroutines have the numbers of the
 *          original DTrace, so that DOF sections of existing binaries can be read.
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

typedef uint32_t dif_insn;

enum dif_op {
#define DIF_OP(name, text, code, form) DIF_OP_##name = (code),
#include "dif/opcodes.def"
#undef DIF_OP
};

/* Operands of an instruction: what the verifier checks and the disassembler prints. */
enum dif_form {
	DIF_FORM_NONE,	 /* nop */
	DIF_FORM_RRR,	 /* r1, r2, rd */
	DIF_FORM_RR,	 /* r1, rd */
	DIF_FORM_CMP,	 /* r1, r2 */
	DIF_FORM_TST,	 /* r1 */
	DIF_FORM_LABEL,	 /* target */
	DIF_FORM_LOAD,	 /* [r1], rd */
	DIF_FORM_STORE,	 /* r1, [rd] */
	DIF_FORM_RET,	 /* rd */
	DIF_FORM_SETX,	 /* integer index, rd */
	DIF_FORM_SETS,	 /* string table offset, rd */
	DIF_FORM_LDA,	 /* variable id (8 bits), r2 = index, rd */
	DIF_FORM_LDV,	 /* variable id, rd */
	DIF_FORM_STV,	 /* variable id, rs */
	DIF_FORM_CALL,	 /* subroutine, rd */
	DIF_FORM_PUSHTR, /* type, r2 = size, rs */
	DIF_FORM_PUSHTV, /* type, rs */
	DIF_FORM_COPYS,	 /* r1 = source, r2 = size, rd = destination address (read) */
	DIF_FORM_XLATE,	 /* translator reference, rd */
};

#define DIF_MAX_REGS   255
#define DIF_MAX_SIZE   (256u << 10) /* bytes of a DIFO: code and tables */
#define DIF_MAX_STATIC (16u << 10)  /* bytes of a struct or array variable, or of a struct key */
#define DIF_MAX_STRING (1u << 20)   /* the largest strsize */
#define DIF_MAX_INDEX  0x10000u	    /* entries of the integer table, bytes of the string table */
#define DIF_MAX_TUPLE  64	    /* the original machine has 8 */
#define DIF_MAX_ALLOCA (512u << 10) /* bytes of one alloca() or copyin() of a known size */
#define DIF_VAR_USER   0x0500
#define DIF_TUPLE_INT  0 /* pushtv/pushtr type: bytes */
#define DIF_TUPLE_STR  1 /* string */

#define DIF_INSN_OP(i)	  ((enum dif_op)((i) >> 24))
#define DIF_INSN_R1(i)	  (((i) >> 16) & 0xff)
#define DIF_INSN_R2(i)	  (((i) >> 8) & 0xff)
#define DIF_INSN_RD(i)	  ((i)&0xff)
#define DIF_INSN_RS(i)	  ((i)&0xff)
#define DIF_INSN_LABEL(i) ((i)&0xffffff)
#define DIF_INSN_INDEX(i) (((i) >> 8) & 0xffff) /* variable, integer, string, subroutine */
#define DIF_INSN_TTYPE(i) (((i) >> 16) & 0xff)

static inline dif_insn dif_rrr(enum dif_op op, uint32_t r1, uint32_t r2, uint32_t rd)
{
	return (dif_insn)op << 24 | r1 << 16 | r2 << 8 | rd;
}

static inline dif_insn dif_idx(enum dif_op op, uint32_t index, uint32_t r)
{
	return (dif_insn)op << 24 | index << 8 | r;
}

static inline dif_insn dif_branch(enum dif_op op, uint32_t label)
{
	return (dif_insn)op << 24 | label;
}

/* Built-in variables: DIF_VAR_ARG0 to DIF_VAR_ARG9 follow one another. */
enum dif_var_id {
#define BUILTIN(id, name, code, ...) DIF_VAR_##id = (code),
#include "dif/builtins.def"
};

#define DIF_NUREGS 28 /* uregs[]: regs.d in the D library has their names */

enum dif_subr {
#define SUBR(id, name, code, ...)	  DIF_SUBR_##id = (code),
#define SUBR_FOREIGN(id, name, code, ...) DIF_SUBR_##id = (code),
#include "dif/subrs.def"
#define SUBR_HELPER(id, name, code, ...) DIF_SUBR_##id = (code),
#include "dif/helper_subrs.def"
	/*
	 * A stack as a value: the argument is the constant of prog.h, PROG_STACK. No program can
	 * call it by name: the compiler makes the call of stack(), ustack() and their like.
	 */
	DIF_SUBR_STACKID = 140,
};

/* Properties of a subroutine: what a call does besides returning a value. */
enum subr_fx {
	FX_CALLS = 1 << 0,   /* the generated code calls a function */
	FX_FAULTS = 1 << 1,  /* it may fault */
	FX_SCRATCH = 1 << 2, /* it may allocate scratch memory, or keeps data there */
	FX_BLOCK = 1 << 3,   /* it returns a block of scratch memory, whose bounds are checked */
	FX_SIZED = 1 << 4,   /* its last argument is the size of the block */
	FX_TEXT = 1 << 5,    /* it reads its first argument as a string */
	FX_TEXTS = 1 << 6,   /* it reads its first two arguments as strings */
	FX_WRITES_USER = 1 << 7, /* it is destructive, and not every kernel allows it */
	/* no other DTrace has it, so that a program may define the name for something else */
	FX_OURS = 1 << 8,
	FX_ATTACH = 1 << 9,	 /* for ustack helpers, when a process is met: runs in the tracer */
	FX_READS_USER = 1 << 10, /* it reads memory of the process */
	FX_VALUE = FX_CALLS | FX_FAULTS,
	FX_MEMORY = FX_VALUE | FX_SCRATCH,
};

#define DIF_SUBR_ARGS 6 /* the most arguments of a subroutine */

struct dif_subr_row {
	const char *name;
	uint8_t nmin, nmax; /* number of arguments */
	uint64_t omitted;   /* value of an optional last argument that is not given */
	uint32_t fx;	    /* enum subr_fx */
	/*
	 * Bit n: argument n is an address of what it reads or writes, other than memory of the
	 * process (copyin() reads that). In a helper of somebody else it has to be checked.
	 */
	uint8_t addresses;
	bool in_walk; /* ustack helpers may call it during the walk of a stack */
};

/*
 * Fault kinds: DTRACEFLT_* of d-language.md 7.1, without the unknown fault, which DIF does not
 * have. The "DIF offset" of a fault is that of its instruction in bytes, 4 * its index.
 */
enum dif_fault {
#define FAULT(id, code, ...) DIF_FAULT_##id = (code),
#include "dif/faults.def"
};
struct strbuf;
/* Appends the text of a fault, with its value if the kind has one. Any kind is allowed. */
void dif_fault_text(uint32_t kind, uint64_t value, struct strbuf *out);

/* The kind of a DIFO's result, or of a variable. */
enum dif_kind { DIF_KIND_CTF = 0, DIF_KIND_STRING = 1 };
#define DIF_TF_BYREF  0x1
#define DIF_TF_BYUREF 0x2 /* address in user memory */
#define DIF_TF_STACK  0x4 /* a stack as a value (prog.h, PROG_STACK) */

struct dif_type {
	uint8_t kind;	/* enum dif_kind */
	uint8_t ckind;	/* enum type_kind of d/types/types.h; for listings only */
	uint8_t flags;	/* DIF_TF_* */
	bool is_signed; /* integers: how a shorter value is extended and printed */
	uint32_t size;	/* bytes; strings: strsize */
};

static inline bool dif_type_is_byref(const struct dif_type *t)
{
	return t->flags & (DIF_TF_BYREF | DIF_TF_BYUREF);
}

enum dif_scope { DIF_SCOPE_GLOBAL = 0, DIF_SCOPE_THREAD = 1, DIF_SCOPE_LOCAL = 2 };
enum dif_var_kind { DIF_VAR_ARRAY = 0, DIF_VAR_SCALAR = 1 };
#define DIF_VF_REF 0x1
#define DIF_VF_MOD 0x2

struct dif_var {
	const char *name;
	uint32_t id;
	uint8_t kind, scope, flags;
	struct dif_type type;
};

struct difo {
	dif_insn *code;
	uint32_t code_len;
	uint64_t *ints;
	uint32_t ints_len;
	char *strs; /* NUL-terminated strings; offset 0 is "" */
	uint32_t strs_size;
	struct dif_var *vars;
	uint32_t vars_len;
	struct dif_type ret;
	uint32_t *spans; /* source offset of each instruction (d/text/source.h), or NULL */
	/*
	 * Instructions before this one are the guard of a probe that the system's library
	 * declares. It reads only what the kernel has given to the probe: what cannot be read
	 * need not be told from 0, which takes half of the code of a read.
	 */
	uint32_t trusted_len;
	/*
	 * By instruction: whether it is the system library's text about the current task, which
	 * reads the kernel in a session that may not. NULL: no instruction is. Such an instruction
	 * reads as one of a guard does, and what it reads of strings needs not be D's own.
	 */
	bool *trusts;
};

/* Whether the instruction is the library's, in one of the two ways. */
static inline bool difo_trusts(const struct difo *d, uint32_t i)
{
	return i < d->trusted_len || (d->trusts && d->trusts[i]);
}

/* ---- building -------------------------------------------------------------------------------- */

struct dif_builder;

struct dif_builder *dif_builder_create(struct arena *a);
uint32_t dif_emit(struct dif_builder *b, dif_insn insn); /* returns its index */
/* Sets the span of the instructions that follow. */
void dif_set_span(struct dif_builder *b, uint32_t source_off);
uint32_t dif_int(struct dif_builder *b, uint64_t value); /* index in the integer table, shared */
uint32_t dif_str(struct dif_builder *b, const char *s);	 /* offset in the string table, shared */
/* Makes all instructions so far trusted ones. */
void dif_trust(struct dif_builder *b);
/* Says whether the instructions that follow are trusted; returns what was said before. */
bool dif_set_trust(struct dif_builder *b, bool is_trusted);
/* Notes a use of a variable; uses of one variable are merged into one entry. */
void dif_note_var(struct dif_builder *b, const struct dif_var *var);
uint32_t dif_label_create(struct dif_builder *b);
void dif_label_here(struct dif_builder *b, uint32_t label);
void dif_emit_branch(struct dif_builder *b, enum dif_op op, uint32_t label);
/* Resolves labels and moves everything into the arena. Frees the builder. */
struct difo *dif_builder_finish(struct dif_builder *b, struct dif_type ret);

/* Whether the object calculates something, and then returns 0 on all ways. */
bool difo_is_zero(const struct difo *d);

/* ---- tables, text, verification -------------------------------------------------------------- */

const char *dif_op_name(enum dif_op op); /* NULL when op is not an instruction */
enum dif_form dif_op_form(enum dif_op op);
const struct dif_subr_row *dif_subr_row(uint32_t subr); /* NULL when unknown */
const char *dif_subr_name(uint32_t subr);		/* NULL when unknown */
const char *dif_builtin_name(uint32_t var_id);		/* NULL when not a built-in */
uint32_t dif_subr_by_name(const char *name);		/* UINT32_MAX when unknown */
uint32_t dif_builtin_by_name(const char *name);		/* UINT32_MAX when unknown */
/* Whether the helper machine computes it for a ustack helper during a walk. */
bool dif_builtin_in_walk(uint32_t var_id);
bool dif_op_is_cond(enum dif_op op);  /* a branch that depends on the flags */
uint8_t dif_op_scope(enum dif_op op); /* enum dif_scope of the variables that op accesses */
/* Table entry of a variable, NULL when there is none. */
const struct dif_var *difo_find_var(const struct difo *d, uint8_t scope, uint32_t id);

/*
 * The registers that an instruction reads (up to 3, without %r0, which is a constant) and writes.
 * Tuple stack and flags are not included.
 */
struct dif_uses {
	uint8_t reads[3];
	uint8_t nreads;
	uint8_t writes; /* 0: none, because %r0 is not writable */
};
struct dif_uses dif_insn_uses(dif_insn insn);

/* Text of a type in listings: "D type (integer) (size 4)". */
void dif_type_print(const struct dif_type *t, struct strbuf *out);
/* One instruction as listings show it, with its comment; d has the tables, and may be NULL. */
void dif_insn_print(const struct difo *d, dif_insn insn, struct strbuf *out);
/* The listing of -S (d-language.md 9.8); difo_print_rows() omits the line with the address. */
void difo_print_rows(const struct difo *d, struct strbuf *out);
void difo_print(const struct difo *d, struct strbuf *out);
/*
 * Parses a listing; the grammar stands at the top of asm.c. Errors name the line.
 */
MUST_CHECK struct err *difo_parse(struct arena *a, const char *text, struct difo **ret_difo);
/* Prints an object in the form that difo_parse() reads. */
void difo_print_asm(const struct difo *d, struct strbuf *out);

/* Checks d-language.md 13.3. max_regs: 8 for objects of other systems, DIF_MAX_REGS for our own. */
MUST_CHECK struct err *difo_verify(const struct difo *d, uint32_t max_regs);
