/* SPDX-License-Identifier: MIT */
/*
 * The inside of a target (target.h): the functions that each kind has, and what all kinds begin
 * with.
 *
 *     live.c    a process that runs, and one whose threads are held
 *     core.c    a core file
 *     copy.c    makes the core file of a process
 *     ended.c   the files of a process that has ended
 *     moved.c   the files of another target, mapped elsewhere
 *     target.c  what is the same for all of them; fillers
 *
 * Owns     the kind frees in close() what it has added; target.c frees maps and the struct.
 * Errors   as target.h says: false or NULL where the kind does not have it.
 */
#pragma once

#include "arch/arch.h"
#include "target/maps.h"
#include "target/target.h"

/*
 * A kind of target. To add one:
 *
 * 1. NAME.c in this room: a struct that begins with struct target, and a const struct target_ops.
 *    What the kind does not have is a filler of target.c (target_..._none), never NULL.
 * 2. The function that opens it, in target.h. It fills ops, gate, pid and maps.
 * 3. Its row in tests/unit/target/target.c, which asks each kind the same.
 */
struct target_ops {
	void (*close)(struct target *t); /* what the kind owns; target.c frees the rest */
	pid_t (*proc)(const struct target *t);
	bool (*who)(struct target *t, pid_t tid, struct target_who *ret);
	/* Reads the auxiliary vector; the number of bytes, 0: it cannot be read. */
	size_t (*auxv)(struct target *t, void *to, size_t size);
	bool (*signal)(struct target *t, siginfo_t *ret);
	struct err *(*maps_now)(struct target *t, struct proc_maps *ret);
	bool (*read)(struct target *t, taddr addr, void *dst, size_t size);
	taddr (*touched)(struct target *t, taddr addr, taddr end);
	/* Says what mapping_open() is to open for a mapping; false with errno: nothing. */
	bool (*mapping)(const struct target *t, const struct proc_map *m, struct mapping *ret);
	const struct proc_map *(*program)(struct target *t);
	void (*threads)(struct target *t, target_tids *ret);
	struct err *(*regs)(struct target *t, pid_t tid, struct arch_regs *ret);
	/* Reads at most size bytes of the thread's registers of a type; 0: there are none. */
	size_t (*note)(struct target *t, pid_t tid, uint32_t type, void *to, size_t size);
};

struct target {
	const struct target_ops *ops;
	struct gate *gate;
	pid_t pid;
	bool has_ended; /* nothing is left of it but its files */
	struct proc_maps maps;
};

/* Opens a core file by its descriptor, which it closes in each case; name: for messages. */
MUST_CHECK struct err *target_core_of(int fd, const char *name, struct gate *g,
				      struct target **ret);

/* Fillers: the functions of a kind that does not have it. */
pid_t target_proc_none(const struct target *t);
bool target_who_none(struct target *t, pid_t tid, struct target_who *ret);
size_t target_auxv_none(struct target *t, void *to, size_t size);
bool target_signal_none(struct target *t, siginfo_t *ret);
struct err *target_maps_same(struct target *t, struct proc_maps *ret); /* they do not change */
void target_threads_none(struct target *t, target_tids *ret);
taddr target_touched_all(struct target *t, taddr addr, taddr end); /* it is not known */
size_t target_note_none(struct target *t, pid_t tid, uint32_t type, void *to, size_t size);
struct err *target_regs_none(struct target *t, pid_t tid, struct arch_regs *ret);
