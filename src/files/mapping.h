/* SPDX-License-Identifier: MIT */
/*
 * Opens the very file that a process has mapped: the one way to do it, with one check.
 *
 * The file is tried in this order, until one is found that is the mapped one:
 *
 *     1. the mapping itself (/proc/PID/map_files), even if the file was renamed or deleted. The
 *        kernel demands CAP_CHECKPOINT_RESTORE or CAP_SYS_ADMIN;
 *     2. the path, below the root directory of the process;
 *     3. the path below our own root directory, if that of the process cannot be used: the process
 *        has ended, or is not ours;
 *     4. the same with the parent of a process that has ended, which often sees the same files.
 *
 * A file that is found at the mapping's address or path may be another one: the process may have
 * mapped something else there meanwhile, or somebody replaced the file. It is taken for the mapped
 * file if its inode has the number that the mapping shows. The device is compared only where
 * another process's root directory is used than the mapping's own. Since overlayfs and btrfs show
 * one device in /proc/PID/maps and another one in fstat(), a file of another device is mapped here
 * for a moment then, and compared by what that mapping shows. A file that was deleted may have
 * left its inode's number to another one; who remembers a mapping for long says since when, and a
 * file that has changed after that is refused.
 *
 * As all that opens files of others, this goes through the gate (files/gate.h): a file is found
 * before it is opened, and who opens it is decided by what was found.
 *
 * Errors   NULL with errno, that of steps 1 and 2; ESTALE: the path leads to another file now;
 *          ETIMEDOUT: the file system does not answer, and nothing further is tried.
 */
#pragma once

#include "base/base.h"
#include "files/file_id.h"

struct gate;
struct gate_file;

struct mapping {
	uint64_t pid;
	taddr start, end;	 /* end 0: not known, so that only the path is tried */
	struct file_inode inode; /* as /proc/PID/maps or an event gives it; 0 = unknown */
	const char *path;	 /* in the process; NULL, or without a slash at first: none */
	uint64_t parent;	 /* process for step 4; 0: none */
	int64_t since; /* seconds since 1970, of CLOCK_REALTIME: when it was seen first; 0: now */
	bool has_root; /* root is that of the process, which may have ended */
	int root;      /* a directory, or -1: our own root */
	/*
	 * With has_root: it may be another directory than the process has had, so that the device
	 * is compared, too.
	 */
	bool needs_dev;
};

struct gate_file *mapping_open(struct gate *g, const struct mapping *m);
/*
 * Returns the device that the mapping shows for its file, which mapping_open() has opened, if it is
 * another one than that of fstat(): walks in the kernel know the file by it. 0: it is the same, or
 * the file is neither root's nor our own: whoever owns it may have put it in the place of the one
 * that the mapping shows, at the path, or at the address after the mapping was read.
 */
uint64_t mapping_other_dev(const struct mapping *m, const struct gate_file *f);
/*
 * Opens the root directory of a process (O_PATH); -1 with errno: the process has ended, or there is
 * no right to.
 */
int process_root_open(uint64_t pid);
