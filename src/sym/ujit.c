/* SPDX-License-Identifier: MIT */
/*
 * Processes with generated code, and the file /tmp/perf-PID.map, in which the compilers in these
 * processes list the names of that code.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>
#include <time.h>

#include "files/gate.h"
#include "sym/perfmap.h"
#include "sym/uproc.h"

#define BOUND_PAUSE_NS 1000000000

/* Returns the effective user id in our own user namespace; -1 if the process has ended. */
static uid_t user_of(uint64_t pid)
{
	char path[64], line[256];
	unsigned int real, effective;
	CLEANUP(file) FILE *f = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%" PRIu64 "/status", pid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "Uid: %u %u", &real, &effective) == 2)
			return effective;
	return (uid_t)-1;
}

/* Returns when the process began, in seconds since 1970; 0 if that is unknown. */
static int64_t wall_time(const struct uprocs *u, uint64_t born)
{
	return born ? time(NULL) - (int64_t)((uprocs_now(u) - born) / 1000000000) : 0;
}

static struct perfmap *perfmap_open(struct gate *g, const struct uspace *s, const struct ujit *j)
{
	CLEANUP(gate_file) struct gate_file *f = NULL;
	char path[64];
	const struct stat *st;

	(void)snprintf(path, sizeof(path), "/tmp/%s", j->object);
	f = gate_open_path(g, uspace_root(s), path);
	st = f ? gate_file_stat(f) : NULL;
	/*
	 * Anybody may write to /tmp: only a file of the process's own user, or of root, is trusted.
	 */
	if (!st || (st->st_uid != j->uid && st->st_uid != 0) ||
	    st->st_mtim.tv_sec + 1 < j->wall_start)
		return NULL;
	return perfmap_create(gate_file_take(&f));
}

void ujit_see(struct uprocs *u, struct uproc *p)
{
	uint64_t born;

	if (!p->space || !p->space->has_jit || p->jit)
		return;
	born = upid_born(u, p->pid);
	if (uproc_is_other(p, born))
		return; /* the id has a new owner: /proc says nothing of this process any more */
	p->jit = xcalloc(1, sizeof(*p->jit));
	if (!p->nspid)
		p->nspid = upid_innermost(p->pid);
	p->jit->wall_start = wall_time(u, born);
	p->jit->uid = user_of(p->pid);
	(void)snprintf(p->jit->object, sizeof(p->jit->object), "perf-%" PRIu64 ".map", p->nspid);
	if (!uproc_perfmap(u, p))
		vec_push(&u->makers, p->pid);
}

void ujit_destroy(struct ujit *j)
{
	if (j)
		perfmap_destroy(j->perfmap);
	free(j);
}

static int used_compare(const void *pa, const void *pb)
{
	const struct perfmap *const *a = pa, *const *b = pb;

	return perfmap_used(*a) < perfmap_used(*b) ? -1 : perfmap_used(*a) > perfmap_used(*b);
}

void ujits_bound(struct uprocs *u)
{
	VEC(struct perfmap *) maps = {0};
	uint64_t bytes = 0, now = now_ns();
	struct uproc *p;
	size_t pos = 0;

	if (!u->has_perfmaps || now < u->jits_at)
		return;
	u->jits_at = now + BOUND_PAUSE_NS;
	while ((p = hashmap_next(u->procs, &pos, NULL, NULL)))
		for (; p; p = p->before)
			if (p->jit && p->jit->perfmap && perfmap_size(p->jit->perfmap)) {
				vec_push(&maps, p->jit->perfmap);
				bytes += perfmap_size(p->jit->perfmap);
			}
	if (maps.len)
		qsort(maps.data, maps.len, sizeof(*maps.data), used_compare);
	for (uint32_t i = 0; i < maps.len && bytes > u->files.opts.images->max_bytes / 2; i++) {
		bytes -= perfmap_size(maps.data[i]);
		image_set_freed(u->files.opts.images, perfmap_size(maps.data[i]));
		perfmap_shed(maps.data[i]);
	}
	image_set_account(u->files.opts.images, &u->files.jit_bytes, bytes);
	vec_deinit(&maps);
}

void ujits_tick(struct uprocs *u)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->makers.len; i++) {
		uint64_t pid = u->makers.data[i];
		struct uproc *p = hashmap_find(u->procs, &pid, sizeof(pid));

		if (p && p->jit && !p->ended && !uproc_perfmap(u, p))
			u->makers.data[n++] = pid;
	}
	u->makers.len = n;
}

struct perfmap *uproc_perfmap(struct uprocs *u, struct uproc *p)
{
	struct ujit *j = p->jit;

	if (!j || j->perfmap || (j->tick == u->tick && !p->ended))
		return j ? j->perfmap : NULL;
	j->tick = u->tick;
	j->perfmap = perfmap_open(u->files.opts.gate, p->space, j);
	u->has_perfmaps |= j->perfmap != NULL;
	return j->perfmap;
}
