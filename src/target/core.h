/* SPDX-License-Identifier: MIT */
/*
 * A core file of a 64-bit process: what it had mapped, its memory, and the registers of the thread
 * that the kernel, or gcore, has written first.
 *
 * Memory that is not in the core file, because a file has it, is read from that file, unless the
 * build id that the core file has of it is another one: such a file is stale, and is not opened.
 * Where the core file has no build id, it is not known whether the file is still the one of then.
 *
 * Owns     the descriptor and the maps.
 * Errors   struct err *: it cannot be read, is no core file, or is damaged. Nothing in it is
 *          trusted.
 * Facts    Linux fs/binfmt_elf.c (notes), include/uapi/linux/elfcore.h.
 */
#pragma once

#include "target/maps.h"
#include "unwind/walk.h"

struct core;

MUST_CHECK struct err *core_open(const char *path, struct gate *gate, struct core **ret);
void core_close(struct core *c); /* NULL is allowed */
bool core_read(struct core *c, taddr addr, void *dst, size_t size);
const struct proc_maps *core_maps(const struct core *c);

struct core_thread {
	uint64_t regs[WALK_NREGS], thread_pointer;
	pid_t pid, tid, ppid;
	uint32_t uid, gid;
	char name[17], args[81];
};
const struct core_thread *core_thread(const struct core *c);
