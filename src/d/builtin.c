/* The tables of what D has built in. */
#include "d/check_impl.h"

#define STABLE	 ATTR_STABLE
#define EVOLVING ATTR_EVOLVING
#define NOCODE	 0 /* rows that are not on Linux */

#define REC	SUBR_RECORDS
#define DESTR	SUBR_DESTRUCTIVE
#define KEY	SUBR_KEY

#define FLAGS_OF(fx) (((fx) & FX_WRITES_USER ? SUBR_DESTRUCTIVE : 0) | ((fx) & FX_OURS ? SUBR_OURS : 0))

/*
 * Prototypes are read by proto_get(): types as in D, "@" any one argument, "..." any further ones,
 * "[type]" optional, "type|type" either of the two. The versions are those in which the D API gained the name.
 */
/* clang-format off */
const struct subr subrs[] = {
#define TEXT(...) #__VA_ARGS__
#define NONE ""
#define OPT(type, value) ", [" #type "]"
#define SUBR(id, name, code, result, args, optional, fx, reference, attr, since, what, ...) \
	{ #name, SUBR_FUNC, #result "(" TEXT args optional ")", FLAGS_OF(fx), code, NULL, ATTR_##attr, since, \
	  what, NULL },
#define SUBR_FOREIGN(id, name, code, result, args, attr, since, what, why) \
	{ #name, SUBR_FUNC, #result "(" TEXT args ")", 0, code, NULL, ATTR_##attr, since, what, why },
#include "dif/subrs.def"

	/* ---- data-recording actions (5.2) ------------------------------------------------------- */
	{ "clear", SUBR_ACTION, "void(@)", REC, ACT_CLEAR, act_check_clear, STABLE, "1.0",
	  "zero an aggregation's values", NULL },
	{ "denormalize", SUBR_ACTION, "void(@)", REC, ACT_DENORMALIZE, act_check_normalize, STABLE, "1.0",
	  "undo normalize()", NULL },
	{ "exit", SUBR_ACTION, "void(int)", REC, ACT_EXIT, act_check_proto, STABLE, "1.0",
	  "end tracing with a status", NULL },
	{ "freopen", SUBR_ACTION, "void(@, ...)", REC | DESTR, ACT_FREOPEN, act_check_freopen, STABLE, "1.1",
	  "send output to a file", NULL },
	{ "ftruncate", SUBR_ACTION, "void()", REC, ACT_FTRUNCATE, act_check_proto, STABLE, "1.0",
	  "empty the output file", NULL },
	{ "normalize", SUBR_ACTION, "void(@, uint64_t)", REC, ACT_NORMALIZE, act_check_normalize, STABLE,
	  "1.0", "divide an aggregation's values when printed", NULL },
	{ "pcap", SUBR_ACTION, "void(void *, int)", REC, ACT_PCAP, act_check_pcap, STABLE, "1.5",
	  "record a network packet", NULL },
	{ "print", SUBR_ACTION, "void(@)", REC, ACT_PRINT, act_check_print, STABLE, "1.9",
	  "value with its type's structure", NULL },
	{ "printa", SUBR_ACTION, "void(@, ...)", REC, ACT_PRINTA, act_check_printa, STABLE, "1.0",
	  "print aggregations", NULL },
	{ "printf", SUBR_ACTION, "void(@, ...)", REC, ACT_PRINTF, act_check_printf, STABLE, "1.0",
	  "formatted output", NULL },
	{ "printm", SUBR_ACTION, "void(size_t, uintptr_t *)", REC, ACT_TRACEMEM, act_check_printm, STABLE,
	  "1.7", "dump of memory described by memref()", NULL },
	{ "setopt", SUBR_ACTION, "void(const char *, [const char *])", REC, ACT_SETOPT, act_check_proto,
	  STABLE, "1.2", "set a dynamic option", NULL },
	{ "system", SUBR_ACTION, "void(@, ...)", REC | DESTR, ACT_SYSTEM, act_check_printf, STABLE, "1.0",
	  "run a shell command", NULL },
	{ "trace", SUBR_ACTION, "void(@)", REC, ACT_TRACE, act_check_trace, STABLE, "1.0",
	  "record a value", NULL },
	{ "tracemem", SUBR_ACTION, "void(@, size_t, [size_t])", REC, ACT_TRACEMEM, act_check_tracemem, STABLE,
	  "1.0", "dump of memory", NULL },
	{ "trunc", SUBR_ACTION, "void(@, [int64_t])", REC, ACT_TRUNC, act_check_trunc, STABLE, "1.0",
	  "keep the largest or smallest elements of an aggregation", NULL },

	/* ---- stacks and addresses: recording actions that may be keys --------------------------- */
	{ "func", SUBR_ACTION, "_symaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a kernel address", NULL },
	{ "jstack", SUBR_ACTION, "stack([uint32_t], [uint32_t])", REC | KEY, ACT_USTACK,
	  act_check_ustack, STABLE, "1.0", "user stack with a language's frames", NULL },
	{ "mod", SUBR_ACTION, "_symaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "module of a kernel address", NULL },
	{ "stack", SUBR_ACTION, "stack([uint32_t])", REC | KEY, ACT_STACK, act_check_stack, STABLE,
	  "1.0", "kernel stack", NULL },
	{ "sym", SUBR_ACTION, "_symaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a kernel address", NULL },
	{ "uaddr", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name and offset of a user address", NULL },
	{ "ufunc", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a user address", NULL },
	{ "umod", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "object of a user address", NULL },
	{ "ustack", SUBR_ACTION, "stack([uint32_t], [uint32_t])", REC | KEY, ACT_USTACK,
	  act_check_ustack, STABLE, "1.0", "user stack", NULL },
	{ "usym", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a user address", NULL },

	/* ---- actions at the probe (5.3), speculation (8.4) -------------------------------------- */
	{ "breakpoint", SUBR_ACTION, "void()", DESTR, NOCODE, act_check_proto, STABLE, "1.0",
	  "enter the kernel debugger",
	  "a BPF program cannot enter a debugger; stop() stops the process" },
	{ "chill", SUBR_ACTION, "void(int)", DESTR, ACT_CHILL, act_check_proto, STABLE, "1.0",
	  "spin for some nanoseconds", NULL },
	{ "commit", SUBR_ACTION, "void(int)", 0, ACT_COMMIT, act_check_proto, STABLE, "1.0",
	  "keep a speculation", NULL },
	{ "discard", SUBR_ACTION, "void(int)", 0, ACT_DISCARD, act_check_proto, STABLE, "1.0",
	  "throw a speculation away", NULL },
	{ "panic", SUBR_ACTION, "void()", DESTR, NOCODE, act_check_proto, STABLE, "1.0",
	  "stop the system",
	  "a BPF program cannot stop the system; stop() stops the process" },
	{ "raise", SUBR_ACTION, "void(int)", DESTR, ACT_RAISE, act_check_proto, STABLE, "1.0",
	  "send a signal to the current process", NULL },
	{ "speculate", SUBR_ACTION, "void(int)", 0, ACT_SPECULATE, act_check_proto, STABLE, "1.0",
	  "record into a speculation", NULL },
	{ "stop", SUBR_ACTION, "void()", DESTR, ACT_STOP, act_check_proto, STABLE, "1.0",
	  "stop the current process", NULL },

	/* ---- aggregating functions (5.5) -------------------------------------------------------- */
	{ "avg", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_AVG, NULL, STABLE, "1.0", "arithmetic mean", NULL },
	{ "count", SUBR_AGGFUNC, "void()", 0, AGGFUNC_COUNT, NULL, STABLE, "1.0", "number of calls", NULL },
	{ "llquantize", SUBR_AGGFUNC, "void(@, int32_t, int32_t, int32_t, int32_t, [@])", 0,
	  AGGFUNC_LLQUANTIZE, NULL, STABLE, "1.7", "histogram, linear within orders of magnitude", NULL },
	{ "lquantize", SUBR_AGGFUNC, "void(@, int32_t, int32_t, [int32_t], [@])", 0, AGGFUNC_LQUANTIZE, NULL,
	  STABLE, "1.0", "histogram of equal buckets", NULL },
	{ "max", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_MAX, NULL, STABLE, "1.0", "largest value", NULL },
	{ "min", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_MIN, NULL, STABLE, "1.0", "smallest value", NULL },
	{ "quantize", SUBR_AGGFUNC, "void(@, [@])", 0, AGGFUNC_QUANTIZE, NULL, STABLE, "1.0",
	  "histogram of powers of two", NULL },
	{ "stddev", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_STDDEV, NULL, STABLE, "1.6", "standard deviation", NULL },
	{ "sum", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_SUM, NULL, STABLE, "1.0", "sum of values", NULL },
};
const uint32_t nsubrs = ARRAY_LEN(subrs);

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
