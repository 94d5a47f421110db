/* SPDX-License-Identifier: MIT */
/* Finds the code that processes have mapped. */
#include "target/search.h"

#include <dirent.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/hashmap.h"

#define THREADS_MAX 4
#define SHARE	    16 /* processes: for fewer, another thread costs more than it saves */

/* A process whose id is known. A thread fills in the rest. */
struct searched {
	pid_t pid;
	bool is_done;
	VEC(struct proc_map) maps;
};

struct search {
	VEC(struct searched) procs;
	uint32_t next; /* the first process that no thread has taken */
	pthread_mutex_t lock;
	pthread_cond_t has_more; /* a process is done */
};

struct searcher {
	struct search *search;
	pthread_t thread;
	struct hashmap *paths; /* path -> its copy, which all mappings of this path share */
	struct arena *arena;
	struct searched *proc; /* the one that is searched */
};

static void processes_list(struct search *s)
{
	DIR *dir = opendir("/proc");
	pid_t self = getpid();
	struct dirent *d;

	while (dir && (d = readdir(dir))) {
		pid_t pid = (pid_t)strtol(d->d_name, NULL, 10);

		if (pid > 0 && pid != self)
			vec_push(&s->procs, (struct searched){.pid = pid});
	}
	if (dir)
		(void)closedir(dir); /* the directory was only read */
}

/* ---- a thread ------------------------------------------------------------------------------- */

static void map_add(void *ctx, const struct proc_map *m)
{
	struct searcher *w = ctx;
	struct proc_map copy = *m;

	copy.path = hashmap_finds(w->paths, m->path);
	if (!copy.path) {
		copy.path = arena_strdup(w->arena, m->path);
		hashmap_sets(w->paths, m->path, (char *)(uintptr_t)copy.path);
	}
	vec_push(&w->proc->maps, copy);
}

static struct searched *process_take(struct search *s, struct searched *done)
{
	struct searched *p;

	(void)pthread_mutex_lock(&s->lock);
	if (done) {
		done->is_done = true;
		(void)pthread_cond_signal(&s->has_more);
	}
	p = s->next < s->procs.len ? &s->procs.data[s->next++] : NULL;
	(void)pthread_mutex_unlock(&s->lock);
	return p;
}

static void *searcher_run(void *ctx)
{
	struct searcher *w = ctx;

	while ((w->proc = process_take(w->search, w->proc)))
		err_destroy(proc_code_each(w->proc->pid, map_add, w));
	return NULL;
}

static void searcher_deinit(struct searcher *w)
{
	hashmap_destroy(w->paths);
	arena_destroy(w->arena);
}

/* Returns how many threads were started. Signals are for the threads of the caller. */
static uint32_t searchers_start(struct search *s, struct searcher *list, uint32_t max)
{
	sigset_t all, before;
	uint32_t n = 0;

	(void)sigfillset(&all);
	if (pthread_sigmask(SIG_SETMASK, &all, &before))
		return 0;
	for (bool is_on = true; n < max && is_on; n += is_on) {
		list[n] = (struct searcher){.search = s,
					    .paths = hashmap_create(),
					    .arena = arena_create()};
		is_on = pthread_create(&list[n].thread, NULL, searcher_run, &list[n]) == 0;
		if (!is_on)
			searcher_deinit(&list[n]);
	}
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return n;
}

/* ---- the caller ----------------------------------------------------------------------------- */

static void process_await(struct search *s, const struct searched *p)
{
	(void)pthread_mutex_lock(&s->lock);
	while (!p->is_done)
		(void)pthread_cond_wait(&s->has_more, &s->lock);
	(void)pthread_mutex_unlock(&s->lock);
}

static void threads_search(struct search *s, uint32_t max, proc_search_fn *func, void *ctx)
{
	struct searcher list[THREADS_MAX];
	uint32_t n = searchers_start(s, list, max);

	for (uint32_t i = 0; i < s->procs.len && n; i++) {
		struct searched *p = &s->procs.data[i];

		process_await(s, p);
		for (uint32_t k = 0; k < p->maps.len; k++)
			func(ctx, p->pid, &p->maps.data[k]);
		vec_deinit(&p->maps);
	}
	for (uint32_t i = 0; i < n; i++) {
		(void)pthread_join(list[i].thread, NULL);
		searcher_deinit(&list[i]);
	}
}

struct direct {
	proc_search_fn *func;
	void *ctx;
	pid_t pid;
};

static void direct_call(void *ctx, const struct proc_map *m)
{
	const struct direct *d = ctx;

	d->func(d->ctx, d->pid, m);
}

void proc_search(proc_search_fn *func, void *ctx)
{
	struct search s = {.lock = PTHREAD_MUTEX_INITIALIZER, .has_more = PTHREAD_COND_INITIALIZER};
	cpu_set_t cpus;
	uint32_t max = THREADS_MAX;

	processes_list(&s);
	if (sched_getaffinity(0, sizeof(cpus), &cpus) == 0)
		max = MIN(max, (uint32_t)CPU_COUNT(&cpus));
	max = MIN(max, s.procs.len / SHARE);
	if (max > 1)
		threads_search(&s, max, func, ctx);
	for (uint32_t i = s.next; i < s.procs.len; i++) /* those that no thread has taken */
		err_destroy(proc_code_each(s.procs.data[i].pid, direct_call,
					   &(struct direct){func, ctx, s.procs.data[i].pid}));
	vec_deinit(&s.procs);
}
