/* SPDX-License-Identifier: MIT */
/*
 * Root directories: what "/" is for the processes of a container.
 *
 * A root is identified by mount namespace, device and inode, and is open while an address space
 * refers to it. Machines that start thousands of containers a day have more roots than we may open
 * descriptors, so only the roots that were used last are open. No file can be opened by its path
 * below a root that was closed. Most files are opened when they are mapped, which needs the root
 * only once.
 *
 * Owns     descriptors; a root is freed with its last reference.
 */
#pragma once

#include "base/hashmap.h"

struct uroot {
	int fd; /* UROOT_CLOSED: it was closed because too many roots were open */
	uint32_t refs;
	struct uroots *owner;
	uint64_t used; /* clock of the last process that was found to have it */
	uint32_t key_len;
	char key[96]; /* "namespace dev inode" */
};

/* No descriptor has this number, so opening a path below it fails. */
#define UROOT_CLOSED INT32_MAX

struct uroots {
	struct hashmap *open; /* key -> struct uroot */
	uint64_t clock;
	uint64_t nclosed; /* how many roots were closed because too many were open */
};

void uroots_init(struct uroots *u);
void uroots_deinit(struct uroots *u); /* requires that no references are left */
/*
 * Returns a reference to the root directory of a living process, or NULL if that is our own. If
 * /proc does not show the root, returns a reference to otherwise (NULL is allowed).
 */
struct uroot *uroot_of(struct uroots *u, uint64_t pid, struct uroot *otherwise);
struct uroot *uroot_share(struct uroot *r); /* NULL is allowed */
void uroot_put(struct uroot *r);	    /* NULL is allowed */
