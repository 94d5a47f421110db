/*
 * Children of processes that are probed: they inherit breakpoints, which cost them time and tell
 * nobody anything.
 *
 * The kernel leaves the breakpoints of a link that is filtered by process in the memory of
 * children, for ever. When a child goes on in its parent's program (a server's worker), they are
 * taken out of its memory (keeper_sweep()). A child that executes another program soon has lost
 * them anyway, so only one that was there at the last look counts. How often that is done depends
 * on how long it takes.
 *
 * Facts    Linux 6.18 kernel/events/uprobes.c: handler_chain(), uprobe_unregister_nosync().
 */
#pragma once

#include "proc/ident.h"

struct children;

struct children *children_create(const struct proc_id *parent);
void children_destroy(struct children *c); /* NULL is allowed */
/*
 * Looks at them; true: there are some that have the parent's breakpoints. That counts only if the
 * parent has not ended by then.
 */
bool children_look(struct children *c);
