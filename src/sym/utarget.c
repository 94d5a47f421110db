/* SPDX-License-Identifier: MIT */
/* Names over a target that is no process any more: what it had mapped becomes an address space. */
#include <sys/auxv.h>
#include <unistd.h>

#include "sym/uproc.h"
#include "target/maps.h"
#include "target/target.h"

/* Whether the target's vDSO is our own, whose symbols we know. */
static bool is_own_vdso(struct target *t, const struct proc_map *m)
{
	const char *own = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t size = m->end - m->start;
	CLEANUP(free) char *theirs = NULL;

	if (!own || strcmp(m->path, "[vdso]") != 0 || size > 2 * (size_t)sysconf(_SC_PAGESIZE))
		return false;
	theirs = xmalloc(size);
	return target_read(t, m->start, theirs, size) && memcmp(own, theirs, size) == 0;
}

/*
 * The file of a mapping. One that cannot be opened, or is another one by now, has a name, but an
 * inode that no file has: nothing else is known of it.
 */
static struct ufile *file_of(struct uprocs *u, struct target *t, const struct proc_map *m)
{
	struct ufile *file;
	struct image *i;

	if (is_own_vdso(t, m))
		return ufile_get(&u->files, 0, 0, m->path);
	if (!proc_map_has_file(m) || m->path[0] != '/')
		return NULL;
	i = target_image(t, u->files.opts.images, m);
	file = i ? ufile_get(&u->files, i->id.dev, i->id.ino, m->path)
		 : ufile_get(&u->files, 0, UINT64_MAX, m->path);
	if (file)
		ufile_give(file, i);
	else
		image_put(i);
	return file;
}

static struct uspace *space_of(struct uprocs *u, struct target *t)
{
	struct uspace *s = uspace_create(0, NULL);
	const struct proc_maps *maps = target_maps(t);
	const struct proc_map *last = NULL; /* neighbours are mostly of one file */
	umap_vec list = {0};
	struct ufile *file = NULL;

	for (uint32_t i = 0; i < maps->maps.len; i++) {
		const struct proc_map *m = &maps->maps.data[i];

		if (!last || !proc_map_has_file(m) || !proc_map_is_same_file(m, last))
			file = file_of(u, t, m);
		last = m;
		if (file || m->is_exec)
			vec_push(&list, (struct umap){m->start, m->end, m->off, file, m->is_exec});
	}
	uspace_update(s, &list);
	return s;
}

uint64_t uprocs_target(struct uprocs *u, struct target *t)
{
	struct uproc *p;

	if (target_proc(t))
		return (uint64_t)target_proc(t);
	p = uproc_add(u, -++u->ntargets, 0);
	p->is_target = true;
	p->space = space_of(u, t);
	return p->pid;
}
