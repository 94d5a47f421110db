/* SPDX-License-Identifier: MIT */
/*
 * Places: where the kernel or a program can be stopped for a moment.
 *
 * A probe hangs on one place or several (struct probe_point). The clauses of all probes on one
 * place form a unit: one program with one link. What each kind of place needs stands in one table
 * of each engine (of the kernel: bpf/places.c), and no other file tests for a kind: code that has
 * to know a property of a place reads its traits (place.c).
 *
 * To add a kind:
 * 1. its constant in the enum, with a comment that says what its key and its arguments are;
 * 2. its row of traits in place.c, and in an engine that takes it how it is run: in the kernel's,
 *    place_table (bpf/places.c) has the type of program, how the key of the probe is found, how
 *    arguments are filled, how a program is attached;
 * 3. data that only this kind needs: a struct here, and a pointer to it in struct probe_point;
 * 4. a provider whose points() names the kind, or declarations in D over such a provider.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "files/file_id.h"
#include "usdt/operand.h"

enum place_kind {
	/* BEGIN, END: a raw tracepoint program that BPF_PROG_TEST_RUN runs; key = ctx args[0] */
	PLACE_TEST_RUN,
	/* raw tracepoint sys_enter; key = number, + RT_SYS_COMPAT for 32-bit tasks */
	PLACE_SYS_ENTER,
	PLACE_SYS_EXIT, /* raw tracepoint sys_exit; arg0 = arg1 = result or -1, errno */
	PLACE_TIMER,	/* perf event with a cookie: key = cookie; arg0/arg1 = kernel/user PC */
	PLACE_SYS_ENTER_VIEW, /* as PLACE_SYS_ENTER; key, arguments: struct sys_view */
	PLACE_SYS_EXIT_VIEW,  /* as PLACE_SYS_EXIT; key: struct sys_view */
	PLACE_SYS_EXIT_RAW,   /* as PLACE_SYS_EXIT; arg0 = arg1 = result as the kernel returns it */
	PLACE_UPROBE,	      /* instructions of files: struct place_code; key = its probe */
	PLACE_RAWTP,	      /* the raw tracepoint target; key 0; argN: its parameters */
	/* the event of tracefs that target names; key 0; argN: field N of its record */
	PLACE_EVENT,
	PLACE_COUNTER,	 /* as PLACE_TIMER, with a place_counter */
	PLACE_KFUNC,	 /* functions of the kernel: struct place_func; key = its probe */
	PLACE_KFUNC_FEW, /* the same, where they are few: a program for each entry or return */
	/*
	 * what is left of a process: a core file, or a copy; key: enum remains_key. arg9 is the
	 * address of a structure of dlib/remains.d that has what is known of it
	 */
	PLACE_REMAINS,
	PLACE_NKINDS
};

/* The target of functions of the kernel that are probed where they return: a place of their own. */
#define PLACE_RETURNS "returns"

/* Equal kinds and targets are one place. */
struct place {
	enum place_kind kind;
	/* Name of a tracepoint, or PLACE_RETURNS; NULL: the kind has one place only. */
	const char *target;
	uint32_t nargs; /* PLACE_RAWTP: number of the tracepoint's parameters */
};

/* Properties of a kind that all engines and the session go by. */
struct place_traits {
	const char *name; /* of units of the kind, at most 15 characters: programs bear it */
	/* the raw tracepoint of the kind; NULL: the place names it, or it is no raw tracepoint */
	const char *target;
	bool is_begin_end; /* fires in every state of the run */
	bool is_timer;
	bool is_syscall;
	bool is_remains;       /* it fires for what is left of a process: nothing runs there */
	bool is_in_process;    /* in code of programs and libraries: struct place_code */
	bool is_preemptible;   /* a program may be preempted by another task of its CPU */
	bool interrupts;       /* may fire while a program of another place runs on the same CPU */
	bool is_interruptible; /* such a kind may fire while a program of this kind runs */
	/*
	 * It may fire in what our own programs call, which may hold locks: it does not fire while
	 * a program of the session runs on the CPU.
	 */
	bool yields;
	/* kinds of one family are at one place: their programs run one after the other; 0 = none */
	char family;
	enum place_kind wider; /* a unit of the kind `wider` can hold points of this kind, too */
};
const struct place_traits *place_traits(enum place_kind kind);

struct gate_file;

/*
 * A file whose code is probed. Its owner keeps the struct and the open file as long as probes are
 * attached in the file.
 */
struct place_file {
	struct gate_file *opened;
	struct file_inode inode;
	const char *name, *path; /* base name and path, for messages */
	bool is_32bit;
};

/* An instruction at which a probe fires. */
struct place_site {
	const struct place_file *file;
	uint64_t off; /* in the file */
	uint32_t rel; /* from the start of the function; with operands: their number */
	bool is_tail; /* of a probe at returns or calls: a jump to another function */
	/* off is where a function begins, and the probe fires when a call of it has come back */
	bool is_returned;
	/* The operands of a program's own probe; equal ones have one number (rel). */
	const struct usdt_operands *operands;
	/* where in the file a number is that counts who is at the probe; 0 = nowhere */
	uint64_t counter_off;
};

/* The instructions of programs and libraries at which a probe fires. */
struct place_code {
	pid_t pid;     /* the process that the description names; 0 = all that execute the file */
	pid_t at;      /* the process that executes the code: pid or a child of it */
	bool is_exact; /* the user named the function: a failure to attach must be reported */
	VEC(struct place_site) sites;
};

/* A function of the kernel: all that have its name and are in its module. */
struct place_func {
	const char *name, *mod;
	const uint64_t *addrs; /* ascending */
	uint32_t naddrs;
	/*
	 * The function's number in the type information of the kernel, or of its module; 0: not
	 * known, or another function has the same name.
	 */
	uint32_t btf_id;
	bool is_exact; /* the user named the function: a failure to attach must be reported */
};

/* What the probes of PLACE_REMAINS fire for. */
enum remains_key {
	REMAINS_MAPPING,
	REMAINS_THREAD,
	REMAINS_FRAME,	/* the innermost frame of each thread */
	REMAINS_CALLER, /* the frames above it */
	REMAINS_BUSY,	/* chunks of malloc */
	REMAINS_FREE,
	REMAINS_OBJECT, /* of the first language; the next one's is greater by one */
};

#define RT_SYS_MAX     1024 /* keys of native system calls are below this */
#define RT_SYS_COMPAT  RT_SYS_MAX
#define RT_SYS_VARIANT 2048 /* variant n of a call adds n times this to its key */

/*
 * How the flags of a system call select one of its variants: the number, from 1, of the first mask
 * of which a bit is set in the flags; 0 when there is none.
 */
struct sys_split {
	uint8_t arg;  /* number of the argument with the flags */
	bool is_user; /* the argument is the address of 8 bytes with the flags */
	/*
	 * For clone(): the return of a new thread is always variant 1, because the memory with the
	 * flags may be gone by then.
	 */
	bool is_clone;
	uint32_t masks[2];
};

enum sys_arg_kind { SYS_ARG_NONE, SYS_ARG_REG, SYS_ARG_CONST, SYS_ARG_USER };

/*
 * Where an argument of a view comes from: from nowhere, it is 0; from argument arg of the call; the
 * constant value; or from the 8 bytes of user memory at argument arg + value.
 */
struct sys_arg {
	uint8_t kind, arg;
	uint16_t value;
};

/* A system call, or one variant of it, with the arguments of another call (syscall_views.c). */
struct sys_view {
	const struct sys_split *split; /* NULL = the call has one variant, 0 */
	struct sys_arg args[6];
};

/* Where the value of an argument lies in the record of an event of tracefs. */
enum place_field_kind {
	PLACE_FIELD_NUMBER,  /* size bytes at off */
	PLACE_FIELD_ADDRESS, /* the address of what lies at off */
	/* the address of what lies as many bytes from the record's start as 2 bytes at off say */
	PLACE_FIELD_LOC,
	PLACE_FIELD_REL_LOC, /* the same, counted from behind the 4 bytes at off */
};
struct place_field {
	uint16_t off;
	uint8_t size, kind;
	bool is_signed;
};
#define PLACE_MAX_FIELDS 10
/* An event of tracefs. */
struct place_event {
	uint32_t id; /* the kernel's number; 0: tracefs has not said */
	uint32_t nfields;
	struct place_field fields[PLACE_MAX_FIELDS];
};

/* The event that a perf counter counts. */
struct place_counter {
	uint32_t type;	 /* PERF_TYPE_* */
	uint64_t config; /* which event of that type */
	uint64_t period; /* it fires once in so many */
	bool no_user, no_kernel;
};

/* A timer, or a counter. */
struct place_timer {
	const struct place_counter *counter; /* NULL: a timer */
	const char *name;		     /* of the probe, for messages */
	uint64_t period_ns;		     /* of a timer */
	bool is_single;			     /* fires on one CPU; false: on all CPUs */
};
