/* SPDX-License-Identifier: MIT */
/* Finds children that have inherited breakpoints of a probed process. */
#include "watch/children.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/vec.h"
#include "files/gate.h"

#define THREADS_MAX 64 /* so many threads of the parent are searched for children */

struct child {
	pid_t pid;
	uint64_t start; /* tells the child from a later process with its process id */
	bool is_clean;	/* the breakpoints were taken out of its memory */
};

struct children {
	pid_t parent;
	VEC(struct child) list;
};

struct children *children_create(const struct proc_id *parent)
{
	struct children *c = xcalloc(1, sizeof(*c));

	c->parent = parent->pid;
	return c;
}

void children_destroy(struct children *c)
{
	if (c)
		vec_deinit(&c->list);
	free(c);
}

static bool exe_of(pid_t pid, struct stat *ret)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	return gate_identity(path, ret);
}

static const struct child *child_find(const struct children *c, pid_t pid, uint64_t start)
{
	for (uint32_t i = 0; i < c->list.len; i++)
		if (c->list.data[i].pid == pid && c->list.data[i].start == start)
			return &c->list.data[i];
	return NULL;
}

/*
 * Adds the children of one thread that run the parent's program to ret. *ret_any becomes true if
 * the search before has seen one of them, and it still has breakpoints.
 */
static void read_thread(const struct children *c, const char *tid, const struct stat *exe,
			struct children *ret, bool *ret_any)
{
	char path[320];
	CLEANUP(file) FILE *f = NULL;
	int pid;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%s/children", (int)c->parent, tid);
	f = fopen(path, "re");
	while (f && fscanf(f, "%d", &pid) == 1) {
		const struct child *old;
		struct stat st;
		uint64_t start;

		if (!exe_of(pid, &st) || st.st_dev != exe->st_dev || st.st_ino != exe->st_ino ||
		    !proc_started(pid, &start))
			continue;
		old = child_find(c, pid, start);
		*ret_any |= old && !old->is_clean;
		vec_push(&ret->list, (struct child){pid, start, old && old->is_clean});
	}
}

bool children_look(struct children *c)
{
	struct children now = {.parent = c->parent};
	bool any = false;
	const struct dirent *de;
	struct stat exe;
	char path[64];
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)c->parent);
	d = exe_of(c->parent, &exe) ? opendir(path) : NULL;
	for (uint32_t n = 0; d && n < THREADS_MAX && (de = readdir(d));)
		if (de->d_name[0] != '.') {
			read_thread(c, de->d_name, &exe, &now, &any);
			n++;
		}
	if (d)
		(void)closedir(d);
	for (uint32_t i = 0; i < now.list.len && any; i++)
		now.list.data[i].is_clean = true; /* the caller sweeps all */
	vec_deinit(&c->list);
	c->list = now.list;
	return any;
}
