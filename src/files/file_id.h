/* SPDX-License-Identifier: MIT */
/*
 * The identity of a file, by which whoever remembers something of a file finds it again.
 *
 * A path is none: another file may have it by now. An inode alone is none either: its number is
 * given to another file when this one was deleted, and its contents may be replaced. So the
 * identity is the inode together with what changes when its contents do. The time at which the
 * inode itself was changed (ctime) does not belong to it: a program that runs on after an upgrade
 * has deleted its file still executes the same contents.
 *
 * Owns     nothing. A struct has no padding, so that it can be the key of a struct hashmap.
 */
#pragma once

#include "base/base.h"

struct gate_file;

struct file_id {
	uint64_t dev, ino; /* as fstat() has them */
	uint64_t size;
	int64_t mtime, mtime_ns; /* seconds, and the nanoseconds beyond */
};

/*
 * The inode of a mapping, as /proc/PID/maps and the kernel's events name it. File systems that are
 * layers or parts of others (overlayfs, subvolumes of btrfs) may show another device here than in
 * fstat().
 */
struct file_inode {
	uint64_t dev, ino;
};

/* Returns the identity that the file had when its status was read last (gate_file_refresh()). */
struct file_id file_id_of(const struct gate_file *f);
bool file_id_equal(const struct file_id *a, const struct file_id *b);
bool file_inode_equal(const struct file_inode *a, const struct file_inode *b);
