/* SPDX-License-Identifier: MIT */
/*
 * The option table of -x and #pragma D option (d-language.md 8): one row an option.
 *
 * Errors   EDT_BADOPTNAME, EDT_BADOPTVAL, EDT_BADOPTCTX, EDT_ACTIVE through err_code(), with a hint
 *          ("did you mean").
 */
#pragma once

#include "base/err.h"
#include "base/str.h"
#include "base/vec.h"

#define OPT_UNSET ((int64_t)-2)

enum opt_id {
#define OPT(id, ...) OPT_##id,
#include "session/options.def"
	OPT_COUNT
};

enum opt_kind { OPTK_FLAG, OPTK_NUMBER, OPTK_SIZE, OPTK_RATE, OPTK_STRING, OPTK_ENUM };
enum opt_class { OPTC_COMPILE, OPTC_RUNTIME, OPTC_DYNAMIC };
#define OPTF_NOPRAGMA  0x1 /* the option is forbidden inside a program */
#define OPTF_NOT_LINUX 0x2 /* it has no meaning on Linux, and is refused with the reason */
/* Bits of option disasm: -S lists the DIF of clauses, and the BPF of programs at three stages. */
#define DISASM_DIF   1
#define DISASM_BPF   (2 | 4 | 8)
#define OPTF_IGNORED 0x4  /* it is accepted, and has no effect (documented) */
#define OPTF_WORDS   0x10 /* its value is a list of words, separated by blanks */
#define OPTF_LIST    0x8  /* its values accumulate in order: define, incdir, ... */

/* Values of option follow. */
enum follow_opt { FOLLOW_OPT_NONE, FOLLOW_OPT_FORK };
enum sched_opt { SCHED_OPT_INHERIT, SCHED_OPT_REALTIME };
/* Values of option bufpolicy. */
enum bufpolicy { BUFPOLICY_SWITCH, BUFPOLICY_FILL, BUFPOLICY_RING };

struct opt_desc {
	const char *name;
	enum opt_kind kind;
	enum opt_class class;
	const char *deflt; /* text form, "" = unset */
	uint32_t flags;
	const char *what;
};
extern const struct opt_desc opt_descs[OPT_COUNT];

struct options {
	int64_t val[OPT_COUNT]; /* number, size in bytes, rate in ns; OPT_UNSET */
	char *str[OPT_COUNT];	/* values of string options, owned */
	VEC(char *) cppargs;	/* -D -U -I -H and so on in order, ready for the preprocessor */
	VEC(char *) libdirs;
	VEC(char *) envs; /* changes to the environment of -c: +VAR=value, -VAR */
	bool is_active;
	/* What option privileges takes levels from; NULL: its text is checked only. */
	struct privileges *privileges;
	void (*changed)(void *ctx); /* options_on_change() */
	void *ctx;
};

void options_init(struct options *o);
/* func is called whenever options_set() has changed an option. */
void options_on_change(struct options *o, void (*func)(void *ctx), void *ctx);
void options_deinit(struct options *o);
/*
 * Sets an option. in_pragma: the caller is #pragma D option or setopt(). value NULL: the option
 * was given without a value, as a flag.
 */
MUST_CHECK struct err *options_set(struct options *o, const char *name, const char *value,
				   bool in_pragma);
/* Sets the options for which the environment has a variable DTRACE_OPT_NAME. */
MUST_CHECK struct err *options_from_env(struct options *o);
const char *opt_kind_name(enum opt_kind kind);
/* Returns the largest value of an option; INT64_MAX where there is no limit. */
int64_t opt_max(enum opt_id id);
/* Converts text to the value of an option that is a size or a number; 0 when it is refused. */
int64_t opt_size_of(enum opt_id id, const char *text);
/* Appends a size with a suffix where it divides: 64k, 4m, 1g, otherwise in bytes. */
void size_add(struct strbuf *out, uint64_t size);
const struct opt_desc *opt_find(const char *name, enum opt_id *ret_id);
/* Returns the value of a number or size, at most UINT32_MAX; 0 when it is unset. */
static inline uint32_t opt_u32(const struct options *o, enum opt_id id)
{
	return o->val[id] == OPT_UNSET ? 0 : (uint32_t)MIN(o->val[id], (int64_t)UINT32_MAX);
}
static inline bool opt_flag(const struct options *o, enum opt_id id)
{
	return o->val[id] != OPT_UNSET && o->val[id] != 0;
}
