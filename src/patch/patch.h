/* SPDX-License-Identifier: MIT */
/*
 * Windows: jumps written over the code of a process, to stubs in memory that we map into it.
 *
 * That memory is the region:
 *
 *     head         a header, and the table of windows: shared with us, and read by nobody but later
 *                  tracers, which do not depend on it.
 *     code part    what patch_code_write() puts there: private memory of the process, which may
 *                  read and execute it.
 *     data part    what stubs count and record: shared with us, a file apart from the head, so that
 *                  who has the head has no way to it. The process may read and write it.
 *                  Where there is no room near the code, it lies anywhere.
 *     relays       slots for uprobes (arch/stub.h, STUB_RELAY): a file in memory, which the process
 *                  maps privately, because a uprobe in a shared mapping never fires. It keeps no
 *                  descriptor of it. Where it may not make such a file, there are no relays.
 *     switch page  private memory of the process; its first byte is not 0 while stubs run their
 *                  bodies, and is 0 in a child of fork() (MADV_WIPEONFORK). So is the owner word,
 *                  which is behind it.
 *
 * A child of fork() shares what its parent shares with us, and may be under somebody's control who
 * is not to have the parent's privileges. So nothing that is executed is shared: the code is
 * written through the process's mem file, and a child that changes it has a copy.
 *
 * No path, descriptor, library, thread or signal handler gets into the process. All of its threads
 * are held by ptrace(2) while its code is changed, and go on if we die meanwhile.
 *
 * A system call that a stop interrupts is begun anew, but for those of which the kernel never does
 * so (epoll_wait(), semop() and others: signal(7)): they fail with EINTR, as after SIGCONT.
 *
 * Nothing in the region is trusted: the process can write to its data part, and can unmap all or
 * make it shorter. So we do not map the region ourselves: what is shared is read and written
 * through a descriptor. What was read last stays there when the process has ended, or executed a
 * program.
 *
 * A window is written only where memory has the bytes of the file, and taken back only where it has
 * our jump. The keeper takes all windows back when the tracer dies. If the keeper is killed, too,
 * they stay and work, and patch_leftovers() of a later tracer finds them.
 *
 * Owns     a struct patch owns the region's descriptor and what the keeper holds for it.
 * Errors   struct err *; a process into which no region can be brought is EDT_NOTSUP with reason
 *          and remedy. That a process has ended is no error but for patch_open().
 * Threads  the thread that opened it (ptrace).
 */
#pragma once

#include <stdatomic.h>
#include <sys/types.h>

#include "base/err.h"

#define PATCH_BATCH	  1000	      /* windows that are written during one stop */
#define PATCH_BOUNDS_MAX  8	      /* instructions of a window */
#define PATCH_GROUP_MAX	  PATCH_BATCH /* windows that are written all or none */
#define PATCH_REACH	  0x70000000  /* bytes between the code and the region */
#define PATCH_BUSY_NS	  5000000000ull
#define PATCH_MIRRORS_MAX 16 /* mappings of the region near other code */

struct gate;
struct keeper;
struct patch;

struct patch_opts {
	/* code that has the windows: the region gets to where a jump reaches all of it */
	taddr near_lo, near_hi;
	uint64_t code_size;    /* for patch_code_write(); rounded up to pages */
	uint64_t data_size;    /* the same for the data part; 0: there is none */
	uint32_t windows;      /* the most that are in place at the same time */
	uint32_t slots;	       /* of relays */
	struct gate *gate;     /* through which the program's file is looked at */
	struct keeper *keeper; /* NULL: when we are killed, the windows stay until they are found */
	/*
	 * A thread may wait where nothing stops it, as for a child of vfork(): each stop is tried
	 * again for so long, while the process runs. 0: PATCH_BUSY_NS.
	 */
	uint64_t busy_ns;
	const atomic_int *is_interrupted; /* not 0: no stop is tried again; NULL is allowed */
	/*
	 * Bytes of stack that the code of a window may need. A process with a thread that has less
	 * beside the frame of a signal on its alternate stack (sigaltstack(2)) is refused.
	 */
	uint32_t stack_size;
	uint64_t write_ns; /* how long is written during one stop; 0: so that it takes 4 ms */
	bool wants_owner;  /* patch_owner_addr() */
};

/* NULL: this machine's processor is one for which windows can be made; else a reason. */
const char *patch_lack(void);
/*
 * Brings a region into the process. Errors are the refusals: another kind of processor, a program
 * of 32 bits or of Go, a seccomp filter that cannot be suspended, strict seccomp, system calls that
 * are dispatched in user space, another tracer, no hole within reach, no memory, a thread with a
 * small stack for signals, a kernel that lets nobody write to code through mem files.
 */
MUST_CHECK struct err *patch_open(pid_t pid, const struct patch_opts *o, struct patch **ret);
/*
 * Takes all windows back, and unmaps the region. Stubs stay mapped where a thread may be in one, or
 * may return to one, or where a window had other bytes than ours. NULL is allowed.
 */
void patch_close(struct patch *p);
/*
 * The same, and says what could not be taken back, and stays without effect until the keeper, which
 * tries once more, or a later tracer takes it back.
 */
#define PATCH_LEFT_MAX 8
struct patch_left {
	uint32_t nwindows;  /* of the process */
	uint32_t nchildren; /* that have windows; the first PATCH_LEFT_MAX of them: */
	pid_t children[PATCH_LEFT_MAX];
	/* Why the region, or a mirror, is still mapped; NULL: none is. The caller destroys it. */
	struct err *kept;
};
void patch_leave(struct patch *p, struct patch_left *ret);
pid_t patch_pid(const struct patch *p);
/* The process has ended, or executes another program: its windows are gone with its memory. */
bool patch_is_gone(const struct patch *p);

/*
 * What the C library has in the blocks of threads, to which their thread pointers point: each
 * thread is held alone, while the others run.
 */
struct patch_blocks {
	bool has_tid;	 /* the thread's id, at one offset in all of them: */
	int32_t tid_off; /* bytes from the thread pointer */
	bool lacks_one;	 /* a thread has no block yet */
};
/* False: threads cannot be held. One that does not stop has no id that is known. */
bool patch_blocks_read(pid_t pid, struct patch_blocks *ret);

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where stubs may be placed, in the process, and how many bytes are there. */
taddr patch_code_addr(const struct patch *p);
uint64_t patch_code_size(const struct patch *p);
/*
 * Writes code, also while the process runs: where no window leads to yet. That the process has
 * ended is no error.
 */
MUST_CHECK struct err *patch_code_write(struct patch *p, uint64_t off, const void *from,
					size_t size);
taddr patch_data_addr(const struct patch *p);
uint64_t patch_data_size(const struct patch *p);
/* Reads data; what the process has cut off is zeros. Returns false then. */
bool patch_data_read(const struct patch *p, uint64_t off, void *to, size_t size);
MUST_CHECK struct err *patch_data_write(struct patch *p, uint64_t off, const void *from,
					size_t size);
/* For those who read by themselves, with pread(2) only: the file that is the data part. */
int patch_data_fd(const struct patch *p);
/* The address of the byte that is 0 in a child. It is 0 until patch_switch(). */
taddr patch_switch_addr(const struct patch *p);
MUST_CHECK struct err *patch_switch(struct patch *p, bool is_on);
/*
 * The distance from the thread pointer to the 32 bits with the number of the CPU on which the
 * thread runs (struct rseq), which fits into 32 bits; false: the process has none, or not at the
 * same distance in all of its threads.
 */
bool patch_rseq_offset(const struct patch *p, int64_t *ret);
/* Whether other processes have mapped the region, as children of fork() that nobody follows do. */
bool patch_has_children(struct patch *p);

/* ---- mirrors (mirror.c) ---------------------------------------------------------------------- */

/*
 * Finds a mirror that a jump reaches from all of lo..hi, or has the process map one: what is at an
 * address of the region is also at that address + *ret_shift; 0: the region itself is near. Errors
 * leave all as it was: no room, too many, a call that the process may not make.
 */
MUST_CHECK struct err *patch_mirror(struct patch *p, taddr lo, taddr hi,
				    const atomic_int *is_interrupted, uint64_t *ret_shift);
/*
 * A switch of its own near a mirror, for windows that are written while others fire: it is off
 * until patch_gate_open(), and whenever that of patch_switch() is. *ret: its address. False: none
 * is left.
 */
bool patch_gate_take(struct patch *p, uint64_t shift, taddr *ret);
void patch_gate_open(struct patch *p, taddr gate, bool is_open);
void patch_gate_free(struct patch *p, taddr gate);

/* ---- the owner thread (owner.c) -------------------------------------------------------------- */

/*
 * The address of a word beside a switch of patch_switch_addr() or patch_gate_take(), which is 0, or
 * the thread pointer of one thread: the owner, which may change what belongs to it without a lock.
 * No other thread of the process runs with this thread pointer, unless the process gives it to a
 * second one by arch_prctl(), by clone() with CLONE_SETTLS, or by a child of vfork() that makes a
 * thread without. Of several threads it is the one that has used a CPU most in the first second;
 * it stays the owner until the region is left, or until it has no thread pointer for itself any
 * more. The word is 0 where the switch is off, and in children of fork().
 */
taddr patch_owner_addr(taddr switch_addr);
/*
 * Chooses the owner when it is time, and finds that there is none any more. A thread that makes
 * another one with its own thread pointer waits for the keeper only.
 */
void patch_owner_tend(struct patch *p);
bool patch_has_owner(const struct patch *p); /* now */

/* ---- relays (relay.c) ------------------------------------------------------------------------ */

/* Why there are none although some were asked for; NULL: there are, or none were. */
const char *patch_relays_lack(const struct patch *p);
/* The file with the slots, which stays ours, and the address in the process of its first byte. */
int patch_relays_fd(const struct patch *p);
taddr patch_relays_addr(const struct patch *p);
/*
 * Writes slots, from the first one on. A page in which a uprobe was placed is the process's own
 * from then on: slots come before uprobes.
 */
MUST_CHECK struct err *patch_relays_write(struct patch *p, const void *from, size_t size);

/* ---- windows --------------------------------------------------------------------------------- */

struct patch_bound {
	uint8_t off; /* of an instruction in the window, but for the first one */
	taddr to;    /* of the same instruction in the stub */
};

struct patch_window {
	/*
	 * The jump is written here. is_call: the last 5 bytes of a call or jump are here, of which
	 * the first one stays, and the others become the distance to the stub; or to a word in the
	 * code part with the stub's address, if that is what the instruction takes. Threads may
	 * stand at such an instruction, and return behind it: it has no pad and no bounds.
	 */
	taddr addr;
	taddr pad;	/* 5 unreachable bytes with the jump to which a short one leads; 0: none */
	taddr stub;	/* in the code part */
	uint8_t old[5]; /* what the file has at addr; 2 bytes if there is a pad */
	uint8_t old_pad[5]; /* what it has at pad */
	bool is_call;
	/*
	 * Windows of one patch_write() with the same number are in place all or none, whatever
	 * becomes of one of them; of more than PATCH_GROUP_MAX, none is. 0: it is alone.
	 */
	uint32_t group;
	uint8_t nbounds;
	struct patch_bound bounds[PATCH_BOUNDS_MAX]; /* those below the end of the jump */
};

enum patch_state {
	PATCH_OUT,     /* not tried yet, or taken back */
	PATCH_IN,      /* the jump is in place */
	PATCH_HELD,    /* each time, a signal handler was about to return into the window */
	PATCH_DIFFERS, /* memory has other bytes than the file: a breakpoint, another tracer */
	PATCH_REFUSED, /* the kernel does not let us write there, or nothing is mapped there */
	PATCH_BEYOND,  /* a jump does not reach the stub, or the table is full */
};

/* How long each stop is tried from now on: patch_opts.busy_ns. */
void patch_set_busy(struct patch *p, uint64_t busy_ns);
/*
 * Writes the windows, in batches. What becomes of each is in states[n]. An error if the threads
 * cannot be held: then some may be in place, as states[] says. It ends early without an error when
 * *is_interrupted is not 0 (NULL is allowed). What an earlier call has left in place is PATCH_IN.
 */
MUST_CHECK struct err *patch_write(struct patch *p, const struct patch_window *w, uint32_t n,
				   const atomic_int *is_interrupted, enum patch_state *states);
/*
 * Takes back the windows at these addresses, as they were given to patch_write(): out of the
 * process, and then out of its children that have them (children.c).
 */
MUST_CHECK struct err *patch_take_back(struct patch *p, const taddr *addrs, uint32_t n);
MUST_CHECK struct err *patch_take_back_all(struct patch *p);
uint32_t patch_count(const struct patch *p); /* windows in place */
uint32_t patch_room(const struct patch *p);  /* how many more can be */
/* Whether the jump of a window is in memory now. */
bool patch_stands(const struct patch *p, const struct patch_window *w);
/*
 * The process has unmapped what is at these addresses, or may have: forgets those windows of which
 * nothing is in memory any more, without stopping the process.
 */
void patch_forget(struct patch *p, const struct patch_window *w, uint32_t n);
/* How often the process stood still, all of its threads, and for how long. */
struct patch_stops {
	uint32_t n;
	uint64_t total_ns, longest_ns;
};
const struct patch_stops *patch_stops(const struct patch *p);

/* ---- other processes ------------------------------------------------------------------------- */

/*
 * A child of fork() has the windows and shares the data. is_on: sets its switch, so that its probes
 * fire; else the windows are taken out of it, and only of it.
 */
MUST_CHECK struct err *patch_child(struct patch *p, pid_t child, bool is_on);
/*
 * Looks for regions of tracers that have died, and takes their windows back: only those that are
 * jumps into that region now, and by the bytes that the file has. *ret_n: how many. Waits up to
 * sixteen seconds for tracers and keepers that are about to end. Stops early, without an error,
 * when *is_interrupted is not 0 (NULL is allowed).
 */
MUST_CHECK struct err *patch_leftovers(pid_t pid, struct gate *g, const atomic_int *is_interrupted,
				       uint32_t *ret_n);

/* ---- children whose probes fire (follow.c) --------------------------------------------------- */

struct patch_child;
struct patch_child_opts {
	bool all; /* each window is looked at */
	/* The block of its thread has the thread's id at this distance, or it is refused. */
	bool has_tid;
	int32_t tid_off;
};
/*
 * Gives a child of fork(), which has executed nothing yet, a data part of its own, of zeros, at
 * the address of its parent's. Its switch stays off. all: each window is looked at, because some
 * were written since the child may have been born; else some of them. Errors leave it without
 * effect, and with its windows: those of patch_open(), and that it has other windows than its
 * parent, or another program. patch_switch() switches such children, too. The keeper takes their
 * windows back with those of their parent. The result is freed by patch_child_close(), or by
 * patch_leave().
 */
MUST_CHECK struct err *patch_child_open(struct patch *p, pid_t pid,
					const struct patch_child_opts *o, struct patch_child **ret);
/* Whether the process has the code part of p: it is the process of p, or a child of fork(). */
bool patch_is_in(const struct patch *p, pid_t pid);
/* The same of a child that was opened, whatever it executes now. */
bool patch_child_is_there(const struct patch_child *c);
/* Forgets it, whatever is in it. NULL is allowed. */
void patch_child_close(struct patch_child *c);
/* The file that is its data part, for pread(2) and pwrite(2): the caller's from now on. */
int patch_child_take_data(struct patch_child *c);
/* Writes to its code, at an address that is in the code part of both. */
MUST_CHECK struct err *patch_child_write(const struct patch_child *c, taddr addr, const void *from,
					 size_t size);
MUST_CHECK struct err *patch_child_switch(const struct patch_child *c, bool is_on);
/* Whether all windows of its parent are in its memory now. */
bool patch_child_stands(const struct patch_child *c);
