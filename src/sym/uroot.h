/*
 * Root directories: what "/" is for the processes of a container.
 *
 * A root is found by mount namespace, device and inode, and is held open while an address space
 * refers to it. Machines that start thousands of containers a day have more of them than there are
 * descriptors to spare. So only the latest ones are open: a root that is closed stays what it is,
 * but no file can be opened by its path below it any more. Most files are opened when they are
 * mapped, and need that only once.
 *
 * Owns     descriptors; a root goes with its last reference.
 */
#pragma once

#include "base/hashmap.h"

struct uroot {
	int fd; /* UROOT_CLOSED: it had to make room */
	uint32_t refs;
	struct uroots *owner;
	uint64_t used; /* clock of the last process that was found to have it */
	uint32_t key_len;
	char key[96]; /* "namespace dev inode" */
};

/* What no descriptor is: to open a path below it fails. */
#define UROOT_CLOSED INT32_MAX

struct uroots {
	struct hashmap *open; /* key -> struct uroot */
	uint64_t clock;
	uint64_t nclosed; /* how many had to make room */
};

void uroots_init(struct uroots *u);
void uroots_deinit(struct uroots *u); /* all references are gone */
/*
 * Returns a reference to the root directory of a living process, NULL for our own; if /proc does
 * not say, to the root that is given (NULL is allowed).
 */
struct uroot *uroot_of(struct uroots *u, uint64_t pid, struct uroot *otherwise);
struct uroot *uroot_share(struct uroot *r); /* NULL is allowed */
void uroot_put(struct uroot *r);	    /* NULL is allowed */
