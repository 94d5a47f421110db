/* SPDX-License-Identifier: MIT */
/* The tables of names that D has built in. */
#include "d/check/check_impl.h"

#define STABLE	 ATTR_STABLE
#define EVOLVING ATTR_EVOLVING

#define FLAGS_OF(fx) (((fx)&FX_WRITES_USER ? SUBR_DESTRUCTIVE : 0) | ((fx)&FX_OURS ? SUBR_OURS : 0))

/*
 * proto_get() parses prototypes: types as in D, "@" for one argument of any type, "..." for any
 * further arguments, "[type]" for an optional one, "type|type" for either of two. A version is that
 * of the D language in which the name first appeared.
 */
/* clang-format off */
const struct subr subrs[] = {
#define TEXT(...) #__VA_ARGS__
#define NONE ""
#define OPT(type, value) ", [" #type "]"
#define SUBR(id, name, code, result, args, optional, fx, reference, attr, since, what, ...) \
	{ #name, SUBR_FUNC, #result "(" TEXT args optional ")", FLAGS_OF(fx), code, NULL, DATUM_INT, ATTR_##attr, \
	  since, what, NULL },
#define SUBR_FOREIGN(id, name, code, result, args, attr, since, what, why) \
	{ #name, SUBR_FUNC, #result "(" TEXT args ")", 0, code, NULL, DATUM_INT, ATTR_##attr, since, what, why },
#include "dif/subrs.def"

#define ACT_RECORD(id, name, proto, flags, holds, check, datum, shown_by, attr, since, what) \
	{ #name, SUBR_ACTION, proto, (flags) | SUBR_RECORDS, ACT_##id, act_check_##check, DATUM_##datum, \
	  ATTR_##attr, since, what, NULL },
#define ACT_ALIAS ACT_RECORD
#define ACT_PROBE(id, name, proto, flags, check, attr, since, what) \
	{ #name, SUBR_ACTION, proto, flags, ACT_##id, act_check_##check, DATUM_INT, ATTR_##attr, since, what, NULL },
#define ACT_FOREIGN(name, proto, flags, since, what, why) \
	{ #name, SUBR_ACTION, proto, flags, ACT_EXPR, act_check_proto, DATUM_INT, ATTR_STABLE, since, what, why },
#include "dif/acts.def"

#define AGGFUNC(id, name, proto, words, update, bucket, params, increment, since, what) \
	{ #name, SUBR_AGGFUNC, proto, 0, AGGFUNC_##id, NULL, DATUM_INT, ATTR_STABLE, since, what, NULL },
#include "dif/aggfuncs.def"
};
const uint32_t nsubrs = ARRAY_LEN(subrs);

/* clang-format off */
const struct subr helper_subrs[] = {
#define NONE ""
#define OPT(type, value) ", [" #type "]"
#define SUBR_HELPER(id, name, code, result, args, optional, fx, reference, what) \
	{ #name, SUBR_FUNC, #result "(" TEXT args optional ")", 0, code, NULL, DATUM_INT, ATTR_EVOLVING, "1.0", what, NULL },
#include "dif/helper_subrs.def"
	{ "uframe", SUBR_ACTION, "void(@, ...)", 0, ACT_UFRAME, act_check_proto, DATUM_INT, ATTR_EVOLVING, "1.0",
	  "adds a frame of the language, whose text is made of the arguments", NULL },
	{ "unwind", SUBR_ACTION, "void(uint64_t, uint64_t, uint64_t)", 0, ACT_UNWIND, act_check_proto, DATUM_INT,
	  ATTR_EVOLVING, "1.0", "chooses the next frame: pc, sp, fp", NULL },
};
/* clang-format on */
const uint32_t nhelper_subrs = ARRAY_LEN(helper_subrs);

/* clang-format off */

#define ARG(n) { "arg" #n, DIF_VAR_ARG0 + (n), "int64_t", STABLE, "1.0", "probe argument " #n }

const struct builtin_var builtin_vars[] = {
	ARG(0), ARG(1), ARG(2), ARG(3), ARG(4), ARG(5), ARG(6), ARG(7), ARG(8), ARG(9),
	{ "args", DIF_VAR_ARGS, "", STABLE, "1.0", "typed arguments of the probe" },
	{ "caller", DIF_VAR_CALLER, "uintptr_t", STABLE, "1.0", "kernel return address" },
	{ "cpu", DIF_VAR_CPU, "processorid_t", STABLE, "1.0", "current CPU" },
	{ "curthread", DIF_VAR_CURTHREAD, "struct task_struct *", 
	  { STAB_STABLE, STAB_PRIVATE, DEP_COMMON }, "1.0", "current thread in the kernel" },
	{ "cwd", DIF_VAR_CWD, "string", STABLE, "1.0", "current directory" },
	{ "epid", DIF_VAR_EPID, "uint_t", STABLE, "1.0", "enabled probe id" },
	{ "errno", DIF_VAR_ERRNO, "int", STABLE, "1.0", "error of the last system call" },
	{ "execargs", DIF_VAR_EXECARGS, "string", STABLE, "1.13", "arguments given to exec" },
	{ "execname", DIF_VAR_EXECNAME, "string", STABLE, "1.0", "name of the process" },
	{ "gid", DIF_VAR_GID, "gid_t", STABLE, "1.0", "real group id" },
	{ "id", DIF_VAR_ID, "uint_t", STABLE, "1.0", "probe id" },
	{ "ipl", DIF_VAR_IPL, "uint_t", STABLE, "1.0", "interrupt priority level (always 0)" },
	{ "pid", DIF_VAR_PID, "pid_t", STABLE, "1.0", "process id" },
	{ "ppid", DIF_VAR_PPID, "pid_t", STABLE, "1.0", "parent process id" },
	{ "probefunc", DIF_VAR_PROBEFUNC, "string", STABLE, "1.0", "function of the probe" },
	{ "probemod", DIF_VAR_PROBEMOD, "string", STABLE, "1.0", "module of the probe" },
	{ "probename", DIF_VAR_PROBENAME, "string", STABLE, "1.0", "name of the probe" },
	{ "probeprov", DIF_VAR_PROBEPROV, "string", STABLE, "1.0", "provider of the probe" },
	{ "root", DIF_VAR_ROOT, "string", STABLE, "1.0", "root directory" },
	{ "stackdepth", DIF_VAR_STACKDEPTH, "uint32_t", STABLE, "1.0", "frames of the kernel stack" },
	{ "tid", DIF_VAR_TID, "id_t", STABLE, "1.0", "thread id" },
	{ "timestamp", DIF_VAR_TIMESTAMP, "uint64_t", STABLE, "1.0", "nanoseconds, monotonic" },
	{ "ucaller", DIF_VAR_UCALLER, "uint64_t", STABLE, "1.2", "user return address" },
	{ "uid", DIF_VAR_UID, "uid_t", STABLE, "1.0", "real user id" },
	{ "uregs", DIF_VAR_UREGS, "", STABLE, "1.0", "user registers" },
	{ "ustackdepth", DIF_VAR_USTACKDEPTH, "uint32_t", STABLE, "1.2", "frames of the user stack" },
	{ "vtimestamp", DIF_VAR_VTIMESTAMP, "uint64_t", STABLE, "1.0", "nanoseconds the thread has run" },
	{ "walltimestamp", DIF_VAR_WALLTIMESTAMP, "int64_t", STABLE, "1.0", "nanoseconds since 1970" },
};
const uint32_t nbuiltin_vars = ARRAY_LEN(builtin_vars);
/* clang-format on */

const struct subr *subr_find(const char *name)
{
	for (uint32_t i = 0; i < nsubrs; i++)
		if (strcmp(subrs[i].name, name) == 0)
			return &subrs[i];
	return NULL;
}
