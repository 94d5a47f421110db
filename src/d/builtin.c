/* The tables of what D has built in. */
#include "d/check_impl.h"

#define STABLE	 ATTR_STABLE
#define EVOLVING ATTR_EVOLVING
#define NOCODE	 0 /* rows that are SUBR_NOT_LINUX */

#define REC	SUBR_RECORDS
#define DESTR	SUBR_DESTRUCTIVE
#define KEY	SUBR_KEY
#define ALIEN	SUBR_NOT_LINUX

/*
 * Prototypes are read by proto_get(): types as in D, "@" any one argument, "..." any further ones,
 * "[type]" optional, "type|type" either of the two. The versions are those in which the D API gained the name.
 */
/* clang-format off */
const struct subr subrs[] = {
	/* ---- subroutines (d-language.md 5.4) ---------------------------------------------------- */
	{ "alloca", SUBR_FUNC, "void *(size_t)", 0, DIF_SUBR_ALLOCA, NULL, STABLE, "1.0",
	  "scratch memory for the rest of the clause" },
	{ "basename", SUBR_FUNC, "string(const char *)", 0, DIF_SUBR_BASENAME, NULL, STABLE, "1.0",
	  "last component of a path" },
	{ "bcopy", SUBR_FUNC, "void(void *, void *, size_t)", 0, DIF_SUBR_BCOPY, NULL, STABLE, "1.0",
	  "copy kernel memory to scratch memory" },
	{ "cleanpath", SUBR_FUNC, "string(const char *)", 0, DIF_SUBR_CLEANPATH, NULL, STABLE, "1.0",
	  "path without '//', '/./' and '/../'" },
	{ "copyin", SUBR_FUNC, "void *(uintptr_t, size_t)", 0, DIF_SUBR_COPYIN, NULL, STABLE, "1.0",
	  "copy user memory to scratch memory" },
	{ "copyinstr", SUBR_FUNC, "string(uintptr_t, [size_t])", 0, DIF_SUBR_COPYINSTR, NULL, STABLE, "1.0",
	  "string at a user address" },
	{ "copyinto", SUBR_FUNC, "void(uintptr_t, size_t, void *)", 0, DIF_SUBR_COPYINTO, NULL, STABLE, "1.0",
	  "copy user memory to given scratch memory" },
	{ "copyout", SUBR_FUNC, "void(void *, uintptr_t, size_t)", DESTR, DIF_SUBR_COPYOUT, NULL,
	  STABLE, "1.0", "write to user memory" },
	{ "copyoutstr", SUBR_FUNC, "void(char *, uintptr_t, size_t)", DESTR, DIF_SUBR_COPYOUTSTR,
	  NULL, STABLE, "1.0", "write a string to user memory" },
	{ "d_path", SUBR_FUNC, "string(struct path *)", 0, DIF_SUBR_D_PATH, NULL, STABLE, "1.0",
	  "text of a kernel path" },
	{ "ddi_pathname", SUBR_FUNC, "string(void *, int64_t)", ALIEN, DIF_SUBR_DDI_PATHNAME, NULL, EVOLVING,
	  "1.0", "device path of illumos" },
	{ "dirname", SUBR_FUNC, "string(const char *)", 0, DIF_SUBR_DIRNAME, NULL, STABLE, "1.0",
	  "path without its last component" },
	{ "getf", SUBR_FUNC, "struct file *(int)", 0, DIF_SUBR_GETF, NULL, STABLE, "1.10",
	  "file of a descriptor of the current process" },
	{ "getmajor", SUBR_FUNC, "uint32_t(uint64_t)", 0, DIF_SUBR_GETMAJOR, NULL, EVOLVING, "1.0",
	  "major number of a device" },
	{ "getminor", SUBR_FUNC, "uint32_t(uint64_t)", 0, DIF_SUBR_GETMINOR, NULL, EVOLVING, "1.0",
	  "minor number of a device" },
	{ "htonl", SUBR_FUNC, "uint32_t(uint32_t)", 0, DIF_SUBR_HTONL, NULL, EVOLVING, "1.3",
	  "32 bits to network order" },
	{ "htonll", SUBR_FUNC, "uint64_t(uint64_t)", 0, DIF_SUBR_HTONLL, NULL, EVOLVING, "1.3",
	  "64 bits to network order" },
	{ "htons", SUBR_FUNC, "uint16_t(uint16_t)", 0, DIF_SUBR_HTONS, NULL, EVOLVING, "1.3",
	  "16 bits to network order" },
	{ "index", SUBR_FUNC, "int(const char *, const char *, [int])", 0, DIF_SUBR_INDEX, NULL, STABLE, "1.1",
	  "position of the first occurrence of a string" },
	{ "inet_ntoa", SUBR_FUNC, "string(uint32_t *|struct in_addr *)", 0, DIF_SUBR_INET_NTOA, NULL, STABLE, "1.5",
	  "text of the IPv4 address at a pointer" },
	{ "inet_ntoa6", SUBR_FUNC, "string(struct in6_addr *, [int])", 0, DIF_SUBR_INET_NTOA6, NULL, STABLE, "1.5",
	  "text of the IPv6 address at a pointer" },
	{ "inet_ntop", SUBR_FUNC, "string(int, void *)", 0, DIF_SUBR_INET_NTOP, NULL, STABLE, "1.5",
	  "text of an address of a family" },
	{ "json", SUBR_FUNC, "string(const char *, const char *)", 0, DIF_SUBR_JSON, NULL, STABLE, "1.11",
	  "element of a JSON text" },
	{ "link_ntop", SUBR_FUNC, "string(int, void *)", 0, DIF_SUBR_LINK_NTOP, NULL, STABLE, "1.5",
	  "text of a link-layer address" },
	{ "lltostr", SUBR_FUNC, "string(int64_t, [int])", 0, DIF_SUBR_LLTOSTR, NULL, STABLE, "1.0",
	  "number as text, in base 2 to 36" },
	{ "memref", SUBR_FUNC, "uintptr_t *(void *, size_t)", 0, DIF_SUBR_MEMREF, NULL, STABLE, "1.7",
	  "address and length for printm()" },
	{ "memstr", SUBR_FUNC, "string(void *, char, size_t)", 0, DIF_SUBR_MEMSTR, NULL, STABLE, "1.7",
	  "memory with NULs replaced" },
	{ "msgdsize", SUBR_FUNC, "size_t(void *)", ALIEN, DIF_SUBR_MSGDSIZE, NULL, STABLE, "1.0",
	  "data bytes of a STREAMS message" },
	{ "msgsize", SUBR_FUNC, "size_t(void *)", ALIEN, DIF_SUBR_MSGSIZE, NULL, STABLE, "1.0",
	  "bytes of a STREAMS message" },
	{ "mutex_owned", SUBR_FUNC, "int(struct mutex *)", 0, DIF_SUBR_MUTEX_OWNED, NULL, EVOLVING, "1.0",
	  "whether a mutex is held" },
	{ "mutex_owner", SUBR_FUNC, "struct task_struct *(struct mutex *)", 0, DIF_SUBR_MUTEX_OWNER, NULL,
	  EVOLVING, "1.0", "thread that holds a mutex" },
	{ "mutex_type_adaptive", SUBR_FUNC, "int(struct mutex *)", 0, DIF_SUBR_MUTEX_TYPE_ADAPTIVE, NULL,
	  EVOLVING, "1.0", "whether a lock is an adaptive mutex" },
	{ "mutex_type_spin", SUBR_FUNC, "int(struct mutex *)", 0, DIF_SUBR_MUTEX_TYPE_SPIN, NULL, EVOLVING,
	  "1.0", "whether a lock is a spin lock" },
	{ "ntohl", SUBR_FUNC, "uint32_t(uint32_t)", 0, DIF_SUBR_NTOHL, NULL, EVOLVING, "1.3",
	  "32 bits from network order" },
	{ "ntohll", SUBR_FUNC, "uint64_t(uint64_t)", 0, DIF_SUBR_NTOHLL, NULL, EVOLVING, "1.3",
	  "64 bits from network order" },
	{ "ntohs", SUBR_FUNC, "uint16_t(uint16_t)", 0, DIF_SUBR_NTOHS, NULL, EVOLVING, "1.3",
	  "16 bits from network order" },
	{ "progenyof", SUBR_FUNC, "int(pid_t)", 0, DIF_SUBR_PROGENYOF, NULL, STABLE, "1.0",
	  "whether the process descends from another" },
	{ "rand", SUBR_FUNC, "int()", 0, DIF_SUBR_RAND, NULL, STABLE, "1.0",
	  "pseudo-random number" },
	{ "rindex", SUBR_FUNC, "int(const char *, const char *, [int])", 0, DIF_SUBR_RINDEX, NULL, STABLE,
	  "1.1", "position of the last occurrence of a string" },
	{ "rw_iswriter", SUBR_FUNC, "int(rwlock_t *)", 0, DIF_SUBR_RW_ISWRITER, NULL, EVOLVING, "1.0",
	  "whether a writer waits for or holds a lock" },
	{ "rw_read_held", SUBR_FUNC, "int(rwlock_t *)", 0, DIF_SUBR_RW_READ_HELD, NULL, EVOLVING, "1.0",
	  "whether a lock is held by readers" },
	{ "rw_write_held", SUBR_FUNC, "int(rwlock_t *)", 0, DIF_SUBR_RW_WRITE_HELD, NULL, EVOLVING, "1.0",
	  "whether a lock is held by a writer" },
	{ "speculation", SUBR_FUNC, "int()", 0, DIF_SUBR_SPECULATION, NULL, STABLE, "1.0",
	  "id of a free speculation buffer" },
	{ "strchr", SUBR_FUNC, "string(const char *, char)", 0, DIF_SUBR_STRCHR, NULL, STABLE, "1.1",
	  "rest of a string from a character on" },
	{ "strjoin", SUBR_FUNC, "string(const char *, const char *)", 0, DIF_SUBR_STRJOIN, NULL, STABLE, "1.0",
	  "two strings as one" },
	{ "strlen", SUBR_FUNC, "size_t(const char *)", 0, DIF_SUBR_STRLEN, NULL, STABLE, "1.0",
	  "length of a string" },
	{ "strrchr", SUBR_FUNC, "string(const char *, char)", 0, DIF_SUBR_STRRCHR, NULL, STABLE, "1.1",
	  "rest of a string from the last such character on" },
	{ "strstr", SUBR_FUNC, "string(const char *, const char *)", 0, DIF_SUBR_STRSTR, NULL, STABLE, "1.1",
	  "rest of a string from a text on" },
	{ "strtok", SUBR_FUNC, "string(const char *, const char *)", 0, DIF_SUBR_STRTOK, NULL, STABLE, "1.1",
	  "next piece of a string" },
	{ "strtoll", SUBR_FUNC, "int64_t(const char *, [int])", 0, DIF_SUBR_STRTOLL, NULL, STABLE, "1.11",
	  "number a text begins with" },
	{ "substr", SUBR_FUNC, "string(const char *, int, [int])", 0, DIF_SUBR_SUBSTR, NULL, STABLE, "1.1",
	  "part of a string" },
	{ "sx_exclusive_held", SUBR_FUNC, "int(void *)", ALIEN, DIF_SUBR_SX_EXCLUSIVE_HELD, NULL, EVOLVING,
	  "1.0", "lock state of FreeBSD" },
	{ "sx_isexclusive", SUBR_FUNC, "int(void *)", ALIEN, DIF_SUBR_SX_ISEXCLUSIVE, NULL, EVOLVING, "1.0",
	  "lock state of FreeBSD" },
	{ "sx_shared_held", SUBR_FUNC, "int(void *)", ALIEN, DIF_SUBR_SX_SHARED_HELD, NULL, EVOLVING, "1.0",
	  "lock state of FreeBSD" },
	{ "tolower", SUBR_FUNC, "string(const char *)", 0, DIF_SUBR_TOLOWER, NULL, STABLE, "1.8",
	  "string in lower case" },
	{ "toupper", SUBR_FUNC, "string(const char *)", 0, DIF_SUBR_TOUPPER, NULL, STABLE, "1.8",
	  "string in upper case" },

	/* ---- data-recording actions (5.2) ------------------------------------------------------- */
	{ "clear", SUBR_ACTION, "void(@)", REC, ACT_CLEAR, act_check_clear, STABLE, "1.0",
	  "zero an aggregation's values" },
	{ "denormalize", SUBR_ACTION, "void(@)", REC, ACT_DENORMALIZE, act_check_normalize, STABLE, "1.0",
	  "undo normalize()" },
	{ "exit", SUBR_ACTION, "void(int)", REC, ACT_EXIT, act_check_proto, STABLE, "1.0",
	  "end tracing with a status" },
	{ "freopen", SUBR_ACTION, "void(@, ...)", REC | DESTR, ACT_FREOPEN, act_check_freopen, STABLE, "1.1",
	  "send output to a file" },
	{ "ftruncate", SUBR_ACTION, "void()", REC, ACT_FTRUNCATE, act_check_proto, STABLE, "1.0",
	  "empty the output file" },
	{ "normalize", SUBR_ACTION, "void(@, uint64_t)", REC, ACT_NORMALIZE, act_check_normalize, STABLE,
	  "1.0", "divide an aggregation's values when printed" },
	{ "pcap", SUBR_ACTION, "void(void *, int)", REC, ACT_PCAP, act_check_pcap, STABLE, "1.5",
	  "record a network packet" },
	{ "print", SUBR_ACTION, "void(@)", REC, ACT_PRINT, act_check_print, STABLE, "1.9",
	  "value with its type's structure" },
	{ "printa", SUBR_ACTION, "void(@, ...)", REC, ACT_PRINTA, act_check_printa, STABLE, "1.0",
	  "print aggregations" },
	{ "printf", SUBR_ACTION, "void(@, ...)", REC, ACT_PRINTF, act_check_printf, STABLE, "1.0",
	  "formatted output" },
	{ "printm", SUBR_ACTION, "void(size_t, uintptr_t *)", REC, ACT_TRACEMEM, act_check_printm, STABLE,
	  "1.7", "dump of memory described by memref()" },
	{ "setopt", SUBR_ACTION, "void(const char *, [const char *])", REC, ACT_SETOPT, act_check_proto,
	  STABLE, "1.2", "set a dynamic option" },
	{ "system", SUBR_ACTION, "void(@, ...)", REC | DESTR, ACT_SYSTEM, act_check_printf, STABLE, "1.0",
	  "run a shell command" },
	{ "trace", SUBR_ACTION, "void(@)", REC, ACT_TRACE, act_check_trace, STABLE, "1.0",
	  "record a value" },
	{ "tracemem", SUBR_ACTION, "void(@, size_t, [size_t])", REC, ACT_TRACEMEM, act_check_tracemem, STABLE,
	  "1.0", "dump of memory" },
	{ "trunc", SUBR_ACTION, "void(@, [int64_t])", REC, ACT_TRUNC, act_check_trunc, STABLE, "1.0",
	  "keep the largest or smallest elements of an aggregation" },

	/* ---- stacks and addresses: recording actions that may be keys --------------------------- */
	{ "func", SUBR_ACTION, "_symaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a kernel address" },
	{ "jstack", SUBR_ACTION, "stack([uint32_t], [uint32_t])", REC | KEY, ACT_USTACK,
	  act_check_ustack, STABLE, "1.0", "user stack with a language's frames" },
	{ "mod", SUBR_ACTION, "_symaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "module of a kernel address" },
	{ "stack", SUBR_ACTION, "stack([uint32_t])", REC | KEY, ACT_STACK, act_check_stack, STABLE,
	  "1.0", "kernel stack" },
	{ "sym", SUBR_ACTION, "_symaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a kernel address" },
	{ "uaddr", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name and offset of a user address" },
	{ "ufunc", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a user address" },
	{ "umod", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "object of a user address" },
	{ "ustack", SUBR_ACTION, "stack([uint32_t], [uint32_t])", REC | KEY, ACT_USTACK,
	  act_check_ustack, STABLE, "1.0", "user stack" },
	{ "usym", SUBR_ACTION, "_usymaddr(uintptr_t)", REC | KEY, ACT_SYM, act_check_sym, STABLE,
	  "1.2", "name of a user address" },

	/* ---- actions at the probe (5.3), speculation (8.4) -------------------------------------- */
	{ "breakpoint", SUBR_ACTION, "void()", DESTR | ALIEN, NOCODE, act_check_proto, STABLE, "1.0",
	  "enter the kernel debugger" },
	{ "chill", SUBR_ACTION, "void(int)", DESTR, ACT_CHILL, act_check_proto, STABLE, "1.0",
	  "spin for some nanoseconds" },
	{ "commit", SUBR_ACTION, "void(int)", 0, ACT_COMMIT, act_check_proto, STABLE, "1.0",
	  "keep a speculation" },
	{ "discard", SUBR_ACTION, "void(int)", 0, ACT_DISCARD, act_check_proto, STABLE, "1.0",
	  "throw a speculation away" },
	{ "panic", SUBR_ACTION, "void()", DESTR | ALIEN, NOCODE, act_check_proto, STABLE, "1.0",
	  "stop the system" },
	{ "raise", SUBR_ACTION, "void(int)", DESTR, ACT_RAISE, act_check_proto, STABLE, "1.0",
	  "send a signal to the current process" },
	{ "speculate", SUBR_ACTION, "void(int)", 0, ACT_SPECULATE, act_check_proto, STABLE, "1.0",
	  "record into a speculation" },
	{ "stop", SUBR_ACTION, "void()", DESTR, ACT_STOP, act_check_proto, STABLE, "1.0",
	  "stop the current process" },

	/* ---- aggregating functions (5.5) -------------------------------------------------------- */
	{ "avg", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_AVG, NULL, STABLE, "1.0", "arithmetic mean" },
	{ "count", SUBR_AGGFUNC, "void()", 0, AGGFUNC_COUNT, NULL, STABLE, "1.0", "number of calls" },
	{ "llquantize", SUBR_AGGFUNC, "void(@, int32_t, int32_t, int32_t, int32_t, [@])", 0,
	  AGGFUNC_LLQUANTIZE, NULL, STABLE, "1.7", "histogram, linear within orders of magnitude" },
	{ "lquantize", SUBR_AGGFUNC, "void(@, int32_t, int32_t, [int32_t], [@])", 0, AGGFUNC_LQUANTIZE, NULL,
	  STABLE, "1.0", "histogram of equal buckets" },
	{ "max", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_MAX, NULL, STABLE, "1.0", "largest value" },
	{ "min", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_MIN, NULL, STABLE, "1.0", "smallest value" },
	{ "quantize", SUBR_AGGFUNC, "void(@, [@])", 0, AGGFUNC_QUANTIZE, NULL, STABLE, "1.0",
	  "histogram of powers of two" },
	{ "stddev", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_STDDEV, NULL, STABLE, "1.6", "standard deviation" },
	{ "sum", SUBR_AGGFUNC, "void(@)", 0, AGGFUNC_SUM, NULL, STABLE, "1.0", "sum of values" },
};
const uint32_t nsubrs = ARRAY_LEN(subrs);

#define ARG(n) { "arg" #n, DIF_VAR_ARG0 + (n), "int64_t", 0, STABLE, "1.0", "probe argument " #n }

const struct builtin_var builtin_vars[] = {
	ARG(0), ARG(1), ARG(2), ARG(3), ARG(4), ARG(5), ARG(6), ARG(7), ARG(8), ARG(9),
	{ "args", DIF_VAR_ARGS, "", 0, STABLE, "1.0", "typed arguments of the probe" },
	{ "caller", DIF_VAR_CALLER, "uintptr_t", 0, STABLE, "1.0", "kernel return address" },
	{ "cpu", DIF_VAR_CPU, "processorid_t", 0, STABLE, "1.0", "current CPU" },
	{ "curthread", DIF_VAR_CURTHREAD, "struct task_struct *", 0,
	  { STAB_STABLE, STAB_PRIVATE, DEP_COMMON }, "1.0", "current thread in the kernel" },
	{ "cwd", DIF_VAR_CWD, "string", 0, STABLE, "1.0", "current directory" },
	{ "epid", DIF_VAR_EPID, "uint_t", 0, STABLE, "1.0", "enabled probe id" },
	{ "errno", DIF_VAR_ERRNO, "int", 0, STABLE, "1.0", "error of the last system call" },
	{ "execargs", DIF_VAR_EXECARGS, "string", 0, STABLE, "1.13", "arguments given to exec" },
	{ "execname", DIF_VAR_EXECNAME, "string", 0, STABLE, "1.0", "name of the process" },
	{ "gid", DIF_VAR_GID, "gid_t", 0, STABLE, "1.0", "real group id" },
	{ "id", DIF_VAR_ID, "uint_t", 0, STABLE, "1.0", "probe id" },
	{ "ipl", DIF_VAR_IPL, "uint_t", 0, STABLE, "1.0", "interrupt priority level (always 0)" },
	{ "pid", DIF_VAR_PID, "pid_t", 0, STABLE, "1.0", "process id" },
	{ "ppid", DIF_VAR_PPID, "pid_t", 0, STABLE, "1.0", "parent process id" },
	{ "probefunc", DIF_VAR_PROBEFUNC, "string", 0, STABLE, "1.0", "function of the probe" },
	{ "probemod", DIF_VAR_PROBEMOD, "string", 0, STABLE, "1.0", "module of the probe" },
	{ "probename", DIF_VAR_PROBENAME, "string", 0, STABLE, "1.0", "name of the probe" },
	{ "probeprov", DIF_VAR_PROBEPROV, "string", 0, STABLE, "1.0", "provider of the probe" },
	{ "root", DIF_VAR_ROOT, "string", 0, STABLE, "1.0", "root directory" },
	{ "stackdepth", DIF_VAR_STACKDEPTH, "uint32_t", 0, STABLE, "1.0", "frames of the kernel stack" },
	{ "tid", DIF_VAR_TID, "id_t", 0, STABLE, "1.0", "thread id" },
	{ "timestamp", DIF_VAR_TIMESTAMP, "uint64_t", 0, STABLE, "1.0", "nanoseconds, monotonic" },
	{ "ucaller", DIF_VAR_UCALLER, "uint64_t", 0, STABLE, "1.2", "user return address" },
	{ "uid", DIF_VAR_UID, "uid_t", 0, STABLE, "1.0", "real user id" },
	{ "uregs", DIF_VAR_UREGS, "", 0, STABLE, "1.0", "user registers" },
	{ "ustackdepth", DIF_VAR_USTACKDEPTH, "uint32_t", 0, STABLE, "1.2", "frames of the user stack" },
	{ "vtimestamp", DIF_VAR_VTIMESTAMP, "uint64_t", 0, STABLE, "1.0", "nanoseconds the thread has run" },
	{ "walltimestamp", DIF_VAR_WALLTIMESTAMP, "int64_t", 0, STABLE, "1.0", "nanoseconds since 1970" },
};
const uint32_t nbuiltin_vars = ARRAY_LEN(builtin_vars);
/* clang-format on */

/* Why a row is SUBR_NOT_LINUX, and what to use instead. */
static const struct {
	const char *name, *why;
} reasons[] = {
	{"ddi_pathname", "device paths are of illumos; d_path() gives those of files"},
	{"msgdsize", "Linux has no STREAMS"},
	{"msgsize", "Linux has no STREAMS"},
	{"breakpoint", "a BPF program cannot enter a debugger; stop() stops the process"},
	{"panic", "a BPF program cannot stop the system; stop() stops the process"},
	{"sx_exclusive_held", "sx locks are of FreeBSD; rw_write_held() is for Linux's"},
	{"sx_isexclusive", "sx locks are of FreeBSD; rw_iswriter() is for Linux's"},
	{"sx_shared_held", "sx locks are of FreeBSD; rw_read_held() is for Linux's"},
};

const char *builtin_why(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(reasons); i++)
		if (strcmp(reasons[i].name, name) == 0)
			return reasons[i].why;
	return NULL;
}

const struct subr *subr_find(const char *name)
{
	for (uint32_t i = 0; i < nsubrs; i++)
		if (strcmp(subrs[i].name, name) == 0)
			return &subrs[i];
	return NULL;
}
