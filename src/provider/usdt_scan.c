/* Which processes have mapped files with notes about probes. */
#include "provider/usdt.h"

#include <dirent.h>

struct scan {
	struct probes *ps;
	struct usdt_state *st;
	pid_t pid;
};

static void use_add(struct usdt_state *st, pid_t pid, struct usdt_object *o)
{
	struct usdt_use use;

	memset(&use, 0, sizeof(use)); /* the padding is part of the key, too */
	use.pid = pid;
	use.object = o;
	if (hashmap_find(st->used, &use, sizeof(use)))
		return;
	hashmap_set(st->used, &use, sizeof(use), o);
	vec_push(&st->uses, use);
}

static void map_scan(void *ctx, const struct proc_map *m)
{
	const struct scan *s = ctx;
	struct usdt_object *o = usdt_object_find(s->ps, s->st, s->pid, m);

	if (o)
		use_add(s->st, s->pid, o);
}

struct err *usdt_scan_process(struct probes *ps, struct usdt_state *st, pid_t pid)
{
	return proc_code_each(pid, map_scan, &(struct scan){ps, st, pid});
}

void usdt_scan_all(struct probes *ps, struct usdt_state *st)
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	vec_clear(&st->uses);
	hashmap_destroy(st->used);
	st->used = hashmap_create();
	while (dir && (d = readdir(dir))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			err_destroy(usdt_scan_process(ps, st, pid));
	}
	if (dir)
		(void)closedir(dir); /* the directory was only read */
	st->scanned_at = now_ns();
	st->ncodes_scanned = usdt_code_count(ps, st);
}
