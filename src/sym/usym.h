/*
 * Names in processes: what each has mapped, the functions of those files.
 *
 * A process is read from /proc when it is first asked for and again after a tick; mappings that
 * have gone stay known where nothing new lies over them. Files are known by device and inode,
 * shared by processes, opened when they are seen (they may be deleted or in another mount namespace
 * later) and read when the first address in them is asked for.
 *
 * Owns     processes, files, descriptors.
 */
#pragma once

#include "base/hashmap.h"
#include "sym/sym.h"

struct usyms {
	struct hashmap *procs; /* u64 pid -> struct uproc */
	struct hashmap *files; /* "dev inode path" -> struct ufile */
	uint64_t tick;
	uint32_t nfds; /* open */
};

void usyms_init(struct usyms *u);
void usyms_deinit(struct usyms *u);
void usyms_see(struct usyms *u, uint64_t pid);
bool usyms_find(struct usyms *u, uint64_t pid, taddr addr, struct sym_name *ret);
taddr usyms_start(struct usyms *u, uint64_t pid, taddr addr, bool of_object);
