/* SPDX-License-Identifier: MIT */
/*
 * Children of the process, with the option follow: their probes are uprobes.
 *
 * A child of fork() has the jumps in its memory, and a switch that is off. The watch holds it
 * before it executes anything; its jumps are taken out then, and only after that it gets uprobes:
 * one in the middle of a jump would be the death of it. A child of vfork() has the memory of its
 * parent, whose jumps fire there, until it executes another program.
 */
#include "inproc/impl.h"
#include "target/ident.h"

static bool is_free(const struct inproc *p, pid_t child)
{
	for (uint32_t i = 0; i < p->children.len; i++)
		if (p->children.data[i] == child)
			return true;
	return false;
}

struct err *inproc_free_child(struct inproc *p, pid_t child, bool *ret_may)
{
	struct err *e = NULL;

	*ret_may = true;
	/* a child may have the jumps although its parent has gone, as that of daemon(3) */
	if (!p->patch || is_free(p, child) || (child == p->opts.pid && !inproc_is_entered(p)))
		return NULL;
	*ret_may = child != p->opts.pid && proc_memory_compare(p->opts.pid, child) == MEMORY_OTHER;
	if (*ret_may)
		e = patch_child(p->patch, child, false);
	if (e)
		*ret_may = false;
	else if (*ret_may)
		vec_push(&p->children, child);
	return e;
}

void inproc_forget_child(struct inproc *p, pid_t child)
{
	for (uint32_t i = p->children.len; i-- > 0;)
		if (p->children.data[i] == child)
			p->children.data[i] = p->children.data[--p->children.len];
}
