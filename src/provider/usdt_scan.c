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
	const uint64_t key[2] = {(uint64_t)pid, (uintptr_t)o};

	if (hashmap_find(st->used, key, sizeof(key)))
		return;
	hashmap_set(st->used, key, sizeof(key), o);
	vec_push(&st->uses, (struct usdt_use){.pid = pid, .batch = st->pids.batch, .object = o});
}

static void use_scan(void *ctx, const struct proc_map *m)
{
	const struct scan *s = ctx;
	struct usdt_object *o = usdt_object_find(s->ps, s->st, s->pid, 0, m);

	if (o)
		use_add(s->st, s->pid, o);
}

static void file_scan(void *ctx, const struct proc_map *m)
{
	const struct scan *s = ctx;

	(void)usdt_object_find(s->ps, s->st, s->pid, 0, m);
}

static void mapping_survey(void *ctx, const struct proc_map *m)
{
	const struct scan *s = ctx;
	struct usdt_object *o;

	(void)usdt_file_is_known(s->ps, s->st, m->dev, m->ino, m->path, &o);
	if (o)
		o->survey = s->st->nsurveys;
}

struct err *usdt_scan_process(struct probes *ps, struct usdt_state *st, pid_t pid)
{
	return proc_code_each(pid, use_scan, &(struct scan){ps, st, pid});
}

/* Calls func for the code of all processes. */
static void processes_scan(struct probes *ps, struct usdt_state *st,
			   void (*func)(void *ctx, const struct proc_map *m))
{
	DIR *dir = opendir("/proc");
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && pid != getpid())
			err_destroy(proc_code_each(pid, func, &(struct scan){ps, st, pid}));
	}
	if (dir)
		(void)closedir(dir); /* the directory was only read */
}

void usdt_scan_all(struct probes *ps, struct usdt_state *st)
{
	probes_will_scan(ps);
	vec_clear(&st->uses);
	hashmap_destroy(st->used);
	st->used = hashmap_create();
	processes_scan(ps, st, use_scan);
	st->scanned_at = now_ns();
	st->ncodes_scanned = usdt_code_count(ps, st);
}

void usdt_scan_files(struct probes *ps, struct usdt_state *st)
{
	processes_scan(ps, st, file_scan);
}

void usdt_survey(struct probes *ps, struct usdt_state *st)
{
	st->nsurveys++;
	processes_scan(ps, st, mapping_survey);
}
