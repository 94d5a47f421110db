/* SPDX-License-Identifier: MIT */
/*
 * Unwind tables (image/ehframe.h) in the kernel, as walks read them and unwind/ fills them;
 * arch/rule.h says what a rule is.
 *
 * MAP_UFILES maps a file to its tree of rows; the key is what the kernel's inode says of the file.
 * MAP_UBLOCKS holds the blocks of all trees, which all processes share. The leaves of a tree (level
 * 0) are blocks of rows in the order of their file offsets. Block n of level k + 1 holds the first
 * offsets of the blocks n * RT_UBLOCK to n * RT_UBLOCK + RT_UBLOCK - 1 of level k. Unused entries
 * of a block have the offset UINT32_MAX.
 *
 * A walk that meets a file without an entry adds one with RT_UTREE_PENDING, and asks the consumer
 * for the tree with a struct rt_ureq in the ring buffer MAP_UREQ (stacks/requests.c takes it). A
 * request without a mapping asks for the ustack helper of a process (rt/helper.h).
 * Until the tree is there, walks through the file follow frame pointers and are marked as doubtful.
 */
#pragma once

#include "base/ints.h"

struct rt_ufile_key {
	u64 ino, size, mtime; /* mtime: seconds */
	u64 dev;	      /* as in the kernel: major << 20 | minor */
};
#define RT_UFILE_VDSO 1 /* the vDSO has this ino, and 0 in the other members of the key */
/* Bit of dev: the tree of the file's rows of UNWIND_SAVED, for helpers that want registers. */
#define RT_UFILE_SAVED (1ull << 63)

struct rt_ufile {
	u32 tree;
	u32 nlevels; /* 0: no rows, the code keeps frame pointers as far as anybody knows */
	u32 used;    /* epoch in which a walk looked it up */
};
#define RT_UTREE_PENDING 0xffffffffu /* nlevels */
#define RT_UTREE_LEVELS	 4

#define RT_UBLOCK 128u
struct rt_ublock {
	u32 off[RT_UBLOCK];
	u32 rule[RT_UBLOCK]; /* filled in leaves only */
};
#define RT_UBLOCK_KEY(tree, level, n) ((u64)(tree) << 32 | (u64)(level) << 28 | (n))

struct rt_ureq {
	struct rt_ufile_key key;
	u64 start, end; /* a mapping of the file; without: see rt/helper.h */
	u64 pid;
};
