/* SPDX-License-Identifier: MIT */
/*
 * Children of processes that are probed: they inherit breakpoints, which cost them time and fire
 * no probe.
 *
 * The kernel leaves the breakpoints of a link that is filtered by process in the memory of
 * children, for ever. When a child goes on in its parent's program (a server's worker), the
 * breakpoints are taken out of its memory (keeper_sweep()). A child that soon executes another
 * program loses them anyway, so a child counts only if the search before this one found it, too.
 * The longer a search takes, the less often it is made.
 *
 * Facts    Linux 6.18 kernel/events/uprobes.c: handler_chain(), uprobe_unregister_nosync().
 */
#pragma once

#include "target/ident.h"

struct children;

struct children *children_create(const struct proc_id *parent);
void children_destroy(struct children *c); /* NULL is allowed */
/*
 * Searches for children of the parent. Returns true if some of them have the parent's breakpoints;
 * the answer is worth something only if the parent has not ended by then.
 */
bool children_look(struct children *c);
