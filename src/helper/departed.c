/* SPDX-License-Identifier: MIT */
/* Learns from the files of processes that have ended (departed.h). */
#include "helper/departed.h"

#include <fnmatch.h>

#include "base/str.h"
#include "files/gate.h"
#include "helper/constants.h"
#include "helper/process.h"
#include "helper/programs.h"
#include "helper/ustack_impl.h"
#include "image/debugfile.h"
#include "rt/helper.h"
#include "sym/sym.h"
#include "target/target.h"

#define PATH_BYTES_MAX 4096u /* of the files of a process: longer paths are left out */
#define TRIED_MAX      64    /* programs that are remembered */
#define SHARE	       10    /* learning takes one part of so many of the time */
/*
 * A walk's request may be read before the news of what the process has mapped. It is complete when
 * the C library is mapped, or by then.
 */
#define NEWS_NS 100000000

struct departed {
	const struct ustacks *u;
	struct record {
		uint64_t pid; /* 0: the record is free */
		/* ns of CLOCK_MONOTONIC when a walk asked for its helpers; 0: none has */
		uint64_t wanted;
		struct target_ended_file files[TARGET_ENDED_FILES]; /* first the program's */
		uint32_t nfiles;
		uint64_t nbare; /* stacks without frames of the language */
		bool has_libc;
		/* its files were looked at, and forgotten; whether a helper is for one of them */
		bool is_done, is_named;
	} records[DEPARTED_MAX];
	uint32_t next; /* the record that is used next */
	uint32_t nwanted;
	uint64_t nlost; /* stacks without frames of the language, of no record any more */
	uint64_t tried[TRIED_MAX]; /* files_hash(); 0: none; the oldest is forgotten first */
	uint32_t next_tried;
	uint64_t rests; /* ns of CLOCK_MONOTONIC until which nothing is learned */
};

struct departed *departed_create(const struct ustacks *u)
{
	struct departed *d = xcalloc(1, sizeof(*d));

	d->u = u;
	return d;
}

static void record_free(struct departed *d, struct record *r)
{
	for (uint32_t i = 0; i < r->nfiles; i++)
		free((char *)r->files[i].path);
	d->nwanted -= r->wanted != 0;
	*r = (struct record){0};
}

void departed_destroy(struct departed *d)
{
	for (uint32_t i = 0; d && i < DEPARTED_MAX; i++)
		record_free(d, &d->records[i]);
	free(d);
}

/* Whether a helper is for one of the files: stacks have said that its frames are missing. */
static bool is_named(const struct ustacks *u, const struct record *r)
{
	if (r->is_done)
		return r->is_named;
	for (uint32_t i = 0; i < r->nfiles; i++)
		if (ustacks_has_name(u, r->files[i].path))
			return true;
	return false;
}

static struct record *record_find(struct departed *d, uint64_t pid)
{
	for (uint32_t i = 0; i < DEPARTED_MAX; i++)
		if (d->records[i].pid == pid)
			return &d->records[i];
	return NULL;
}

/* The stacks of a record that is given up are counted all the same. */
static void record_count(struct departed *d, const struct record *r)
{
	if (r->nbare && is_named(d->u, r))
		d->nlost += r->nbare;
}

/* Takes the oldest one, but none that is wanted unless all are. */
static struct record *record_new(struct departed *d, uint64_t pid)
{
	struct record *r;
	uint32_t n = 0;

	while (n < DEPARTED_MAX && d->records[(d->next + n) % DEPARTED_MAX].wanted)
		n++;
	r = &d->records[(d->next + n) % DEPARTED_MAX];
	d->next = (d->next + n + 1) % DEPARTED_MAX;
	if (r->wanted)
		record_count(d, r);
	record_free(d, r);
	r->pid = pid;
	return r;
}

void departed_execed(struct departed *d, uint64_t pid, uint64_t time)
{
	struct record *r = pid ? record_find(d, pid) : NULL, old;
	bool is_late, is_counted;

	if (!r && pid)
		r = record_new(d, pid);
	if (!r)
		return;
	old = *r;
	/*
	 * The news is late: a walk may have asked for the program that is executed. One like env
	 * or setpriv is before it, whose C library is mapped.
	 */
	is_late = old.wanted && (!old.has_libc || time < old.wanted);
	is_counted = !is_late || (old.has_libc && is_named(d->u, &old));
	if (is_counted)
		record_count(d, r);
	record_free(d, r);
	r->pid = pid;
	if (!is_late)
		return;
	r->wanted = old.wanted;
	r->nbare = is_counted ? 0 : old.nbare;
	d->nwanted++;
}

/* The C library of musl is its dynamic linker, too. */
static bool name_is_libc(const char *name)
{
	return process_is_libc(name) || fnmatch("ld-musl-*.so*", name, 0) == 0;
}

void departed_mapped(struct departed *d, uint64_t pid, const struct sym_map *m)
{
	struct record *r = pid && m->is_exec && m->ino ? record_find(d, pid) : NULL;

	if (!r || r->is_done || !m->path || m->path[0] != '/')
		return;
	for (uint32_t i = 0; i < r->nfiles; i++)
		if (r->files[i].dev == m->dev && r->files[i].ino == m->ino)
			return;
	/* what a program maps later is opened by what has begun */
	if (r->nfiles == TARGET_ENDED_FILES || strlen(m->path) >= PATH_BYTES_MAX)
		return;
	r->files[r->nfiles++] = (struct target_ended_file){.path = xstrdup(m->path),
							   .dev = m->dev,
							   .ino = m->ino,
							   .start = m->start,
							   .off = m->off};
	r->has_libc |= name_is_libc(basename(m->path));
}

void departed_bare(struct departed *d, uint64_t pid, uint64_t n)
{
	struct record *r = n ? record_find(d, pid) : NULL;

	if (r && r->is_done)
		d->nlost += r->is_named ? n : 0;
	else if (r)
		r->nbare += n;
}

void departed_want(struct departed *d, uint64_t pid, uint64_t nbare)
{
	struct record *r = pid ? record_find(d, pid) : NULL;

	if (!r && pid)
		r = record_new(d, pid);
	if (!r)
		return;
	if (r->is_done) {
		d->nlost += r->is_named ? nbare : 0;
		return;
	}
	r->nbare += nbare;
	if (r->wanted)
		return;
	r->wanted = now_ns();
	d->nwanted++;
}

/* For the option debug. */
static void learned_debug(const struct ustacks *u, pid_t pid, bool is_learned)
{
	struct strbuf text = {0};

	if (!u->opts.debug)
		return;
	strbuf_addf(&text, "process %d has ended before its ustack helpers were attached: %s",
		    (int)pid,
		    is_learned ? "its files fix what they need" : "its files do not fix all");
	u->opts.debug(u->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

/*
 * Attaches the helpers to what is left of the process, and learns what its files fix. False: files
 * could not be read in time, so that it may be otherwise with the next process.
 */
static bool process_learn(struct ustacks *u, struct target *t, pid_t pid)
{
	const uint64_t nlates = gate_late_count(u->opts.files->gate);
	struct process *proc = process_open(t, u->opts.files);
	struct meeting m = {.pid = pid, .target = t, .is_early = true};
	uint64_t wanted = ustacks_set_of_files(u, proc, t, &m), set = wanted;
	CLEANUP(free) struct rt_hproc *hp = xcalloc(1, sizeof(*hp));
	const struct program *p = NULL;
	struct err *e = NULL;

	if (wanted && wanted != u->always && !(wanted & u->foreign) &&
	    !constants_find(u->constants, t, &set, hp) &&
	    ustacks_set_attach(u, proc, &m, wanted) == wanted) {
		e = ustacks_set_program(u, wanted, &p);
		if (!e) {
			program_fill(p, hp);
			e = ustacks_values_fill(u, proc, p, hp);
		}
		if (!e) {
			hp->saves = program_saves(p, hp);
			learned_debug(u, pid, ustacks_set_learn(u, &m, proc, wanted, p, hp));
		}
	}
	err_destroy(e); /* whoever runs on is told */
	process_close(proc);
	return gate_late_count(u->opts.files->gate) == nlates;
}

/* The program and the files that helpers are for: the same program may load another runtime. */
static uint64_t files_hash(const struct ustacks *u, const struct record *r)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < r->nfiles; i++) {
		const uint64_t key[] = {hash, r->files[i].dev, r->files[i].ino};

		if (!i || ustacks_has_name(u, r->files[i].path))
			hash = hash_bytes(key, sizeof(key));
	}
	return hash;
}

static bool is_tried(const struct departed *d, uint64_t hash)
{
	for (uint32_t i = 0; i < TRIED_MAX; i++)
		if (d->tried[i] == hash)
			return true;
	return false;
}

/*
 * Without the C library, clauses would find out that it is not there. Files that could not be
 * opened or read may be so the next time: only what was seen is remembered. However many programs
 * come, most of the time is left for other work.
 */
static void record_learn(struct departed *d, struct ustacks *u, const struct record *r)
{
	const uint64_t hash = files_hash(u, r), since = worked_ns();
	struct target *t;

	if ((!r->has_libc && r->nfiles > 1) || is_tried(d, hash))
		return;
	t = target_ended((pid_t)r->pid, u->opts.files, r->files, r->nfiles);
	if (t && process_learn(u, t, (pid_t)r->pid)) {
		d->tried[d->next_tried] = hash;
		d->next_tried = (d->next_tried + 1) % TRIED_MAX;
	}
	target_close(t);
	d->rests = now_ns() + (SHARE - 1) * (worked_ns() - since);
}

uint64_t departed_learn(struct departed *d, struct ustacks *u, bool is_last)
{
	uint64_t nbare;

	for (uint32_t i = 0; i < DEPARTED_MAX && d->nwanted && u->tables; i++) {
		struct record *r = &d->records[i];
		struct record taken = *r;

		if (!is_last && now_ns() < d->rests)
			break;
		if (!r->wanted || (!r->has_libc && !is_last && now_ns() < r->wanted + NEWS_NS))
			continue;
		/* news may come while files are read, and stacks later */
		*r = (struct record){.pid = taken.pid, .is_done = true};
		r->is_named = is_named(u, &taken);
		if (r->is_named) {
			d->nlost += taken.nbare;
			if (!is_last)
				record_learn(d, u, &taken);
		}
		record_free(d, &taken);
	}
	nbare = d->nlost;
	d->nlost = 0;
	return nbare;
}
