/* SPDX-License-Identifier: MIT */
/*
 * Access to the running kernel: its features, members of its structs, single links and perf events.
 *
 * Owns     nothing: descriptors that functions here return are the caller's to close.
 * Errors   what the kernel refused, why, and the remedy (missing capability, CONFIG, lockdown).
 */
#pragma once

#include <linux/bpf.h>

#include "base/err.h"
#include "kernel/sys.h"

struct rt_ukernel; /* rt/abi.h */

/* ---- features (feat.c): asked once, cached in the process; tests can force each absent ------- */

enum feature {
#define FEAT(name, what) FEAT_##name,
#include "kernel/features.def"
#undef FEAT
	FEAT_NFEATURES
};
bool feat_has(enum feature f);
const char *feat_what(enum feature f);
/* The BTF id of the kernel's function bpf_rdonly_cast(); 0 without FEAT_READ_CAST. */
uint32_t feat_read_cast(void);
/*
 * Explains the result e of an operation that needs f: when it is an error and the kernel lacks f,
 * the new error says so; else it is e.
 */
MUST_CHECK struct err *feat_explain(enum feature f, struct err *e);
void feat_force_absent(enum feature f, bool absent); /* also env FATHOM_NO_FEATURE=name,name */
/*
 * Checks, at the beginning of a session, that tracing is possible: privilege, BTF, bpf(2), ring
 * buffers.
 */
MUST_CHECK struct err *kernel_check(void);
/* True if this process has the capability (CAP_...), or raises it for the calls that need it. */
bool kernel_has_cap(unsigned int cap);
/* The mount point of tracefs, which is mounted first if need be. */
MUST_CHECK struct err *tracefs_path(const char **ret_path);

/*
 * Returns how many CPUs are online, and their numbers, which the caller frees; 0: the list cannot
 * be read.
 */
uint32_t cpus_online(uint32_t **ret_cpus);
/* Sets online[number] of those that are, of ncpus; of all when the list cannot be read. */
void cpus_mark_online(bool *online, uint32_t ncpus);
/*
 * Returns how many CPUs there may ever be; 0 with errno if the kernel does not say. libbpf's
 * function of this kind prints to stderr when it fails.
 */
uint32_t cpus_possible(void);

/* A CPU has come or gone. is_lost: the kernel had no room for some of its reports. */
struct cpu_event {
	bool is_lost;
	uint32_t cpu;
};

/* Returns a descriptor that is readable when a CPU has come or gone; -1: there is none. */
int cpus_listen(void);
bool cpus_next(int fd, struct cpu_event *ret); /* false: there is no other report */

/*
 * Asks the kernel for the address of a symbol of its own or, if there is none, of a module: 0,
 * ENOENT, or another errno value if it does not tell.
 */
int ksym_ask(const char *name, uint64_t *ret_addr);

/* ---- kernel types (kfield.c): reads /sys/kernel/btf/vmlinux only when called ----------------- */

/* Offsets in kernel structures for generated code; UINT32_MAX when not needed or unknown. */
struct kfields {
	uint32_t task_real_parent, task_tgid, task_pid;
	uint32_t task_thread_info_status; /* x86: TS_COMPAT */
	uint32_t task_comm;		  /* char[16] */
};

/* The byte offset of a member ("se.sum_exec_runtime") in a struct. Errors name what is missing. */
MUST_CHECK struct err *kfield_offset(const char *strct, const char *path, uint32_t *ret_off);
/* The members of struct task_struct whose offsets the generated code of a BPF program needs. */
struct kfields_needs {
	bool parent; /* the id of the parent process */
	bool compat; /* probes on system calls distinguish 32-bit tasks */
	bool comm;   /* execname */
};
MUST_CHECK struct err *kfields_fill(struct kfields *kf, const struct kfields_needs *needs);

/*
 * Fills in the kernel's offsets that a walk of user stacks reads; NULL: says whether it has them.
 */
MUST_CHECK struct err *kfields_walk(struct rt_ukernel *ret);

/* ---- links and events, one at a time (link.c) ------------------------------------------------ */

MUST_CHECK struct err *attach_raw_tracepoint(int prog_fd, const char *name, int *ret_fd);
/*
 * Opens a cpu-clock event on one CPU that runs the program, which sees the cookie, every period_ns.
 * Returns the descriptors of the event and of its link.
 */
MUST_CHECK struct err *attach_cpu_clock(int prog_fd, int cpu, uint64_t period_ns, uint64_t cookie,
					int *ret_event_fd, int *ret_link_fd);
/*
 * The same for a perf event of any type, which counts on one CPU and runs the program every period
 * events. Events of the processor share its counters by turns.
 */
MUST_CHECK struct err *attach_counter(int prog_fd, int cpu, uint32_t type, uint64_t config,
				      uint64_t period, bool no_user, bool no_kernel,
				      uint64_t cookie, int *ret_event_fd, int *ret_link_fd);
/* Whether the kernel can count such events: 0, or errno. */
int counter_try(uint32_t type, uint64_t config, bool no_user, bool no_kernel);

/* What lets a user open events, for whom the kernel has refused one. */
const char *events_need(void);
/* Opens the event of tracefs with this number; name is for messages. */
MUST_CHECK struct err *attach_trace_event(int prog_fd, uint32_t id, const char *name,
					  int *ret_event_fd, int *ret_link_fd);
/* ---- functions of the kernel ----------------------------------------------------------------- */

#define ATTACH_KPROBE_MULTI BPF_TRACE_KPROBE_MULTI
#define KPROBE_PMU	    "/sys/bus/event_source/devices/kprobe"
/*
 * One link to n functions, at their entries or at their returns, where the program sees the cookie
 * of the function. 0, or errno: then it is attached to none.
 */
int attach_kprobe_multi(int prog_fd, const uint64_t *addrs, const uint64_t *cookies, uint32_t n,
			bool is_return, int *ret_fd);
/* An event at one function, and its link; 0, or errno. */
int attach_kprobe(int prog_fd, uint64_t addr, uint64_t cookie, bool is_return, int *ret_event_fd,
		  int *ret_link_fd);

#define KERNEL_MODULE "vmlinux" /* stands for the kernel itself where modules are named */
/*
 * The type information of a module, as a descriptor for BPF_PROG_LOAD; of the kernel itself it is
 * 0, which is not to be closed. -1 and errno.
 */
int btf_object_open(const char *mod);
/* Links a program to the function it was loaded for, at its entry or its return; -1 and errno. */
int attach_function(int prog_fd, bool is_return, uint64_t cookie);

/* ---- modules that come and go (modules.c) ---------------------------------------------------- */

enum module_event_kind {
	MODULE_COME, /* its functions are there; it has not begun */
	MODULE_GONE,
	MODULE_LOST, /* some reports were lost */
};
struct module_event {
	enum module_event_kind kind;
	char name[64];
};
/* A descriptor that is readable when there are reports; -1: the kernel refuses. */
int modules_listen(void);
/* Reads the next report; false: there is none. */
bool modules_next(int fd, struct module_event *ret);

/*
 * How often the kernel has not run a program, because one of the kind was running on the CPU, since
 * it was loaded; 0 if the kernel does not count that for its type.
 */
uint64_t prog_missed(int prog_fd);
/* How often probes of a link to functions were not seen for other reasons (Linux 6.7). */
uint64_t link_missed(int link_fd);

/* ---- uprobes, programs ----------------------------------------------------------------------- */

/*
 * BPF_LINK_CREATE for uprobes (keeper.h), which the headers of older systems lack: Linux
 * 89ae89f53d20, v6.6.
 */
#define ATTACH_UPROBE_MULTI 48 /* enum bpf_attach_type */
struct uprobe_multi_attr {
	uint32_t prog_fd, target_fd, attach_type, flags;
	uint64_t path, offsets, ref_ctr_offsets, cookies;
	uint32_t cnt, multi_flags, pid, pad;
};
/* For feature checks: tries such a link with an array that cannot be read; -1 and errno. */
int uprobe_multi_try(int prog_fd, const char *path, pid_t pid);
/*
 * Loads a program of a few instructions (kernel/insn.h); name: at most 15 characters. -1 and errno.
 */
int insns_load(enum bpf_prog_type type, uint32_t attach_type, const struct bpf_insn *insns,
	       uint32_t ninsns, const char *name);
/* Runs a program of raw tracepoint type once, on this thread, with args[0] = arg; 0 or errno. */
int prog_ask(int prog_fd, uint64_t arg, uint32_t *ret_value);
/* The same for a program of BEGIN and END, with args[0] = key. */
MUST_CHECK struct err *prog_test_run(int prog_fd, uint64_t key);
