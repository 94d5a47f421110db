/*
 * Places: where the kernel or a program can be stopped for a moment.
 *
 * A probe hangs on one place or several (struct probe_point). The clauses of all probes on one
 * place form a unit: one program with one link. What each kind of place needs stands in one table
 * of the engine (bpf/places.c), and nothing else asks for a kind: who has to know something of a
 * place asks for its traits.
 *
 * To add a kind:
 * 1. its constant in the enum, with what its key and its arguments are;
 * 2. its row in place_table (bpf/places.c): traits, the type of program, how the key of the probe
 *    is found, how arguments are filled, how a program is attached;
 * 3. what only this kind has to say of a place, as a struct here and a pointer to it in struct
 *    probe_point;
 * 4. a provider whose points() names the kind, or declarations in D over one that does.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

enum place_kind {
	/* BEGIN, END: a raw tracepoint's program, run by BPF_PROG_TEST_RUN; key = ctx args[0] */
	PLACE_TEST_RUN,
	/* raw tracepoint sys_enter; key = number, + RT_SYS_COMPAT for 32-bit tasks */
	PLACE_SYS_ENTER,
	PLACE_SYS_EXIT, /* raw tracepoint sys_exit; arg0 = arg1 = result or -1, errno */
	PLACE_TIMER,	/* perf event with a cookie: key = cookie; arg0/arg1 = kernel/user PC */
	PLACE_SYS_ENTER_VIEW, /* as PLACE_SYS_ENTER; key, arguments: struct sys_view */
	PLACE_SYS_EXIT_VIEW,  /* as PLACE_SYS_EXIT; key: struct sys_view */
	PLACE_SYS_EXIT_RAW,   /* as PLACE_SYS_EXIT; arg0 = arg1 = result as the kernel has it */
	PLACE_UPROBE,	      /* instructions of files: struct place_code; key = its probe */
	PLACE_RAWTP,	      /* the raw tracepoint target; key 0; argN: its parameters */
	PLACE_NKINDS
};

/* Equal kinds and targets are one place. */
struct place {
	enum place_kind kind;
	const char *target; /* name of a tracepoint; NULL: all of the kind are one place */
	uint32_t nargs;	    /* PLACE_RAWTP: how many parameters the tracepoint has */
};

/* What others than the engine want to know of a kind. */
struct place_traits {
	const char *name; /* of the program, at most 15 characters */
	/* the raw tracepoint of the kind; NULL: the place says it, or it is none */
	const char *target;
	bool is_begin_end; /* fires whatever the state of the run is */
	bool is_timer;
	bool is_syscall;
	bool is_in_process;  /* in code of programs and libraries: struct place_code */
	bool is_preemptible; /* another task of the same CPU may come in between */
	/* may fire while a program of another place runs on the same CPU ... */
	bool interrupts;
	bool is_interruptible; /* ... and while a program of this kind does */
	/* kinds at one place, whose programs run one after the other; 0 = the only one there */
	char family;
	enum place_kind wider; /* a unit of this kind can hold points of the kind, too */
};
const struct place_traits *place_traits(enum place_kind kind);

/*
 * A file whose code is probed. Its owner keeps it, and the descriptor, as long as probes are
 * attached there.
 */
struct place_file {
	int fd;
	uint64_t dev, ino;
	const char *name, *path; /* base name and path, for messages */
	bool is_32bit;
};

/* An instruction at which a probe fires. */
struct place_site {
	const struct place_file *file;
	uint64_t off; /* in the file */
	uint32_t rel; /* from the start of the function */
	bool is_tail; /* of a return probe: a jump to another function */
};

/* Where a probe fires in the code of programs and libraries. */
struct place_code {
	pid_t pid;     /* the process that the probe is about; 0 = all that execute the file */
	pid_t at;      /* the process that executes the code: pid or a child of it */
	bool is_exact; /* the user named the function: the probe must not be left out silently */
	VEC(struct place_site) sites;
};

#define RT_SYS_MAX     1024 /* keys of native system calls are below this */
#define RT_SYS_COMPAT  RT_SYS_MAX
#define RT_SYS_VARIANT 2048 /* variant n of a call has n times this in its key */

/* Which variant a call is: the place, from 1, of the first mask that its flags meet, or 0. */
struct sys_split {
	uint8_t arg;  /* the argument that holds the flags ... */
	bool is_user; /* ... or points to 8 bytes with them */
	/*
	 * clone(): a new thread returns in variant 1. What its flags were read from may be gone
	 * then.
	 */
	bool is_clone;
	uint32_t masks[2];
};

enum sys_arg_kind { SYS_ARG_NONE, SYS_ARG_REG, SYS_ARG_CONST, SYS_ARG_USER };

/*
 * Nothing (0); the call's argument arg; value; or 8 bytes of user memory at argument arg + value.
 */
struct sys_arg {
	uint8_t kind, arg;
	uint16_t value;
};

/* A system call, or one variant of it, seen with other arguments. */
struct sys_view {
	const struct sys_split *split; /* NULL = the call has one variant, 0 */
	struct sys_arg args[6];
};

/* A timer. */
struct place_timer {
	const char *name; /* of the probe, for messages */
	uint64_t period_ns;
	bool is_single; /* on one CPU; else on all that there are */
};
