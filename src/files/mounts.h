/* SPDX-License-Identifier: MIT */
/*
 * The table of the file systems that answer by themselves, without a server that may stop.
 *
 * The functions here send no request to a file system: they read the types of file systems from
 * /proc/self/mountinfo. Calls that seem harmless are not: statfs() is a request to the server of a
 * FUSE file system, and so may be stat(), any lookup of a name below it, and close().
 *
 * A file system counts as harmless if it is mounted in our own mount namespace and its type is in a
 * list, or if it lies on a block device and is not fuseblk. Device numbers of others are given out
 * again after an unmount, so what is known of them holds while they are mounted where we see them.
 *
 * Owns     the table, which is read again when the kernel reports a change.
 * Errors   none: a file system of which nothing is known is not harmless.
 */
#pragma once

#include "base/vec.h"

struct mount {
	uint64_t id, dev;
	char *point; /* where it is mounted, as our own root directory shows it */
	bool is_harmless;
	bool is_network; /* its server is another machine, which root has named */
};

struct mounts {
	int fd; /* of mountinfo; -1 until the first question, or unreadable */
	VEC(struct mount) list;
	/* Device and mount of files of memfd_create(), which has no mount point; 0: unknown. */
	uint64_t memory_dev, memory_id;
	bool has_memory; /* the two members above were asked for */
};

void mounts_init(struct mounts *m);
void mounts_deinit(struct mounts *m);
/* True if the device is one of a harmless file system; dev is a number made by makedev(). */
bool mounts_is_dev_harmless(struct mounts *m, uint64_t dev);
/* Finds the number of a descriptor's mount without asking its file system; false if unknown. */
bool mounts_id_of_fd(int fd, uint64_t *ret);
/*
 * Returns the mount of an open descriptor, which may be one of O_PATH; NULL if it is not mounted in
 * our namespace. The result is valid until the next call.
 */
const struct mount *mounts_of_fd(struct mounts *m, int fd);
/*
 * True if an open descriptor, which may be one of O_PATH, belongs to a harmless file system. pid: a
 * process that uses the file; its mount may be in the namespace of that process only.
 */
bool mounts_is_fd_harmless(struct mounts *m, int fd, uint64_t pid);
/* True if the descriptor's file system is in a table of our own, and served over a network. */
bool mounts_is_fd_network(struct mounts *m, int fd);
/* Returns the mount that contains a path, if it has no symbolic links; NULL if none is known. */
const struct mount *mounts_of_path(struct mounts *m, const char *path);
