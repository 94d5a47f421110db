/* SPDX-License-Identifier: MIT */
/* Attaches ustack helpers to the processes that walks meet. */
#include "helper/ustack_impl.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "base/text.h"
#include "d/compile.h"
#include "rt/helper.h"
#include "privilege/privilege.h"
#include "unwind/tables.h"
#include "files/gate.h"
#include "target/ident.h"
#include "target/maps.h"
#include "target/target.h"
#include "image/debugfile.h"
#include "sym/sym.h"
#include "helper/begun.h"
#include "helper/carried.h"
#include "helper/constants.h"
#include "helper/departed.h"
#include "helper/hcode.h"
#include "helper/helper.h"
#include "helper/process.h"
#include "helper/programs.h"

#define FILES_MAX 32 /* helpers that are files */
#define HELPERS_MAX                                                                                \
	USTACK_HELPERS_MAX /* with those that programs carry; a set of helpers is a word of bits */
/* Words of MAP_HCODE that a helper which a program carries (helper/carried.h) may use. */
#define FOREIGN_WORDS 8192u
#define NOTICES_MAX   64	/* hostile processes could cause any number of them */
#define LINKED_NS     100000000 /* by then the dynamic linker has prepared a mapping */
/* Before a process is looked at again of which not all could be read: first, and at most. */
#define AGAIN_MIN_NS 100000000
#define AGAIN_MAX_NS 64000000000

/* ---- notices --------------------------------------------------------------------------------- */

static void tell_once(struct ustacks *u, const char *text)
{
	if (hashmap_finds(u->told, text) || hashmap_count(u->told) >= NOTICES_MAX)
		return;
	hashmap_sets(u->told, text, u);
	u->opts.notice(u->opts.ctx, text);
}

PRINTF_LIKE(2, 3) static void tellf(struct ustacks *u, const char *fmt, ...)
{
	struct strbuf text = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	tell_once(u, strbuf_text(&text));
	strbuf_deinit(&text);
}

/* ---- the helpers ----------------------------------------------------------------------------- */

static void helper_number(struct ustacks *u, struct helper *h)
{
	h->number = u->helpers.len;
	h->is_checked |= privileges_lack(u->opts.compile->privileges, LEVEL_KERNEL);
	vec_push(&u->helpers, h);
}

static struct err *helper_add(struct ustacks *u, const char *path)
{
	struct helper *h = NULL;
	struct err *e;

	if (u->helpers.len == FILES_MAX)
		return err_new("there are more than %d ustack helpers", FILES_MAX);
	e = helper_open(path, &h);
	if (e)
		return e;
	for (uint32_t i = 0; i < u->helpers.len; i++) {
		if (helper_is_same(u->helpers.data[i], h)) { /* it would add each frame twice */
			helper_close(h);
			return NULL;
		}
	}
	helper_number(u, h);
	return NULL;
}

/* Takes a helper that a program carries, if it can be translated; else closes it. */
static struct err *carried_add(void *ctx, struct helper *h)
{
	struct ustacks *u = ctx;
	struct hcode trial = {0};
	struct err *e = NULL;

	if (u->helpers.len == HELPERS_MAX)
		e = err_new("ustack helper '%s' is left out: there are %d others", h->path,
			    HELPERS_MAX);
	if (!e)
		e = hcode_make(&h, 1, 0, &trial);
	if (!e && trial.words.len > FOREIGN_WORDS)
		e = err_new("ustack helper '%s' is left out: it has more than %u words of code",
			    h->path, FOREIGN_WORDS);
	hcode_deinit(&trial);
	if (e) {
		helper_close(h);
		return e;
	}
	u->foreign |= 1ull << u->helpers.len;
	helper_number(u, h);
	return NULL;
}

static void carried_notice(void *ctx, const char *msg)
{
	tell_once(ctx, msg);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_helper_file(const struct dirent *d)
{
	size_t n = strlen(d->d_name);

	return d->d_name[0] != '.' && n > 2 && strcmp(d->d_name + n - 2, ".d") == 0;
}

/* Adds the helpers of the folder; returns 0, or the errno of the failure to read it. */
static int dir_add(struct ustacks *u, const char *dir)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_helper_file, by_name);

	if (n < 0)
		return errno;
	for (int i = 0; i < n; i++) {
		struct strbuf path = {0};
		struct err *e;

		strbuf_addf(&path, "%s/%s", dir, list[i]->d_name);
		e = helper_add(u, strbuf_text(&path));
		if (e)
			tell_once(u, err_text(e));
		err_destroy(e);
		strbuf_deinit(&path);
		free(list[i]);
	}
	free(list);
	return 0;
}

/* Adds the helpers of the installation, which must be there. */
static void system_dir_add(struct ustacks *u, const char *dir)
{
	int err = dir_add(u, dir);

	if (err)
		tellf(u,
		      "stacks have no frames of Python, Node.js, Java and other languages: cannot "
		      "read the folder '%s' of ustack helpers: %s",
		      dir, strerror(err));
}

static bool helper_ready(struct ustacks *u, struct helper *h)
{
	if (helper_compile(h, u->opts.compile, u->opts.preludes))
		return true;
	tell_once(u, err_text(h->err));
	return false;
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct err *process_put(struct ustacks *u, uint64_t key, const struct rt_hproc *hp)
{
	return u->tables->ops->process_set(u->tables->ctx, key, hp);
}

/* How many stacks of the process have native frames only. */
static uint64_t bare_take(struct ustacks *u, uint64_t key)
{
	return u->tables->ops->process_bare(u->tables->ctx, key);
}

static void process_remove(struct ustacks *u, uint64_t key)
{
	(void)bare_take(u, key);
	u->tables->ops->process_forget(u->tables->ctx, key);
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct err *value_read(struct ustacks *u, struct process *proc, const struct hcode_global *g,
			      uint64_t *ret)
{
	const struct prog_var *v = g->var;
	struct strbuf text = {0};
	struct err *e = NULL;

	(void)process_global(proc, v, ret, &text);
	if (v->type.kind == DIF_KIND_STRING)
		e = programs_text(u->programs, strbuf_text(&text), g->helper->is_foreign, ret);
	strbuf_deinit(&text);
	return e;
}

static void decline_tell(struct ustacks *u, const struct process *proc, const struct meeting *m,
			 const struct helper *h, const char *why)
{
	if (m->is_early || m->is_again)
		return;
	if (m->is_late)
		tellf(u,
		      "ustack helper '%s': process %d has native frames only for now: its memory "
		      "or files cannot be read: %s",
		      h->path, (int)m->pid, gate_late_text(u->opts.files->gate));
	/* an empty text: another helper knows this version; a process that ends lacks everything */
	else if (process_is_there(proc) && !(why && !*why))
		tellf(u, "ustack helper '%s': process %d has native frames only: %s", h->path,
		      (int)m->pid, why ? why : "its memory cannot be read");
}

uint64_t ustacks_set_attach(struct ustacks *u, struct process *proc, struct meeting *m,
			    uint64_t set)
{
	const struct gate *gate = u->opts.files->gate;

	for (uint32_t i = 0; i < u->helpers.len; i++) {
		const struct helper *h = u->helpers.data[i];
		uint64_t nlates = gate_late_count(gate);
		char *why = NULL;

		if (!(set >> i & 1) || process_attach(proc, h, &why))
			continue;
		set &= ~(1ull << i);
		m->is_late |= gate_late_count(gate) != nlates;
		m->has_read |= process_has_read(proc) || process_has_counted_modules(proc);
		decline_tell(u, proc, m, h, why);
		free(why);
	}
	return set;
}

struct err *ustacks_values_fill(struct ustacks *u, struct process *proc, const struct program *p,
				struct rt_hproc *hp)
{
	const struct helper *last = NULL;
	struct err *e = NULL;
	char *why = NULL;

	for (uint32_t i = 0; i < p->code.globals.len && !e; i++) {
		const struct hcode_global *g = &p->code.globals.data[i];

		if (g->helper != last && g->helper != process_attached(proc))
			(void)process_attach(proc, g->helper, &why); /* it has succeeded before */
		last = g->helper;
		e = value_read(u, proc, g, &hp->globals[g->slot]);
	}
	free(why);
	return e;
}

/* Helpers that the files of a process carry. */
struct carried_set {
	struct ustacks *u;
	struct meeting *m; /* NULL: everything is said */
	uint64_t set;
};

static void carried_found(void *ctx, struct helper *h)
{
	((struct carried_set *)ctx)->set |= 1ull << h->number;
}

/* Programs that run beside what is traced are no matter of the user's. */
static void carried_refused(void *ctx, const char *msg)
{
	const struct carried_set *s = ctx;

	if (s->m && s->m->is_early)
		s->m->is_told_later = true;
	else
		tell_once(s->u, msg);
}

uint64_t ustacks_set_of_files(struct ustacks *u, const struct process *proc, struct target *t,
			      struct meeting *m)
{
	struct carried_set carried = {u, m, 0};
	uint64_t set = 0;

	for (uint32_t i = 0; i < u->helpers.len; i++)
		if (process_has_file(proc, u->helpers.data[i]) &&
		    helper_ready(u, u->helpers.data[i]))
			set |= 1ull << i;
	if (!u->opts.is_system_only)
		carried_each(u->carried, t,
			     &(struct carried_visitor){carried_found, carried_refused, &carried});
	return set | carried.set;
}

/* Adds the helpers for the symbols of the program that the process executes. */
static uint64_t set_of_symbols(struct ustacks *u, const struct process *proc, uint64_t set)
{
	process_find_symbols(proc, u->helpers.data, u->helpers.len);
	for (uint32_t i = 0; i < u->helpers.len; i++)
		if (!(set >> i & 1) && process_has_symbols(proc, u->helpers.data[i]) &&
		    helper_ready(u, u->helpers.data[i]))
			set |= 1ull << i;
	return set;
}

/* The error becomes a notice. */
static void error_tell(struct ustacks *u, struct err *e)
{
	tell_once(u, err_text(e));
	err_destroy(e);
}

static struct err *program_get(struct ustacks *u, uint64_t set, const struct program **ret)
{
	return programs_get(u->programs, u->helpers.data, u->helpers.len, set, ret);
}

struct err *ustacks_set_program(struct ustacks *u, uint64_t set, const struct program **ret)
{
	struct err *e = program_get(u, set, ret), *without;

	if (!e || !(set & (set - 1)))
		return e;
	if ((set & u->foreign) && (set & ~u->foreign)) {
		error_tell(u, e);
		return program_get(u, set & ~u->foreign, ret);
	}
	for (uint32_t i = 0; i < u->helpers.len; i++) {
		if (!(set >> i & 1))
			continue;
		without = program_get(u, set & ~(1ull << i), ret);
		if (!without) {
			tellf(u,
			      "ustack helper '%s' is left out in processes with so many others: %s",
			      u->helpers.data[i]->path, err_text(e));
			err_destroy(e);
			return NULL;
		}
		err_destroy(without);
	}
	return e;
}

uint32_t ustacks_of_target(struct ustacks *u, struct target *t, struct helper **list)
{
	struct process *proc = process_open(t, u->opts.files);
	uint64_t set = set_of_symbols(u, proc, ustacks_set_of_files(u, proc, t, NULL));
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->helpers.len; i++)
		if (set >> i & 1)
			list[n++] = u->helpers.data[i];
	process_close(proc);
	return n;
}

const struct file_opts *ustacks_files(const struct ustacks *u)
{
	return u->opts.files;
}

/* For the option debug: the helpers of the set are attached, or none is. */
static void set_debug(const struct ustacks *u, pid_t pid, uint64_t set)
{
	struct strbuf text = {0};
	const char *sep = " ";
	char *path;

	if (!u->opts.debug)
		return;
	strbuf_addf(&text, "ustack helpers of process %d:%s", (int)pid, set ? "" : " none");
	for (uint32_t i = 0; i < u->helpers.len; i++) {
		if (!(set >> i & 1))
			continue;
		path = text_clean(xstrdup(u->helpers.data[i]->path));
		strbuf_addf(&text, "%s'%s'", sep, path);
		sep = ", ";
		free(path);
	}
	u->opts.debug(u->opts.ctx, strbuf_text(&text));
	strbuf_deinit(&text);
}

static struct space *space_find(struct ustacks *u, uint64_t key, uint64_t pid)
{
	struct known *k = hashmap_find(u->known, &pid, sizeof(pid));

	for (uint32_t i = 0; k && i < k->nspaces; i++)
		if (k->spaces[i].key == key)
			return &k->spaces[i];
	return NULL;
}

/* Forgets the address spaces of a process that were met at a time or earlier. */
static void spaces_forget(struct ustacks *u, uint64_t pid, uint64_t time)
{
	struct known *k = hashmap_find(u->known, &pid, sizeof(pid));
	uint32_t n = 0;

	if (!k)
		return;
	for (uint32_t i = 0; i < k->nspaces; i++) {
		if (k->spaces[i].met <= time) {
			const uint64_t nbare = bare_take(u, k->spaces[i].key);

			if (k->spaces[i].is_attached) /* walks that had begun before */
				u->nbare += nbare;
			else
				departed_bare(u->departed, pid, nbare);
			process_remove(u, k->spaces[i].key);
		} else {
			k->spaces[n++] = k->spaces[i];
		}
	}
	k->nspaces = n;
	if (n)
		return;
	hashmap_remove(u->known, &pid, sizeof(pid));
	free(k);
}

static struct err *entry_put(struct ustacks *u, struct meeting *m, const struct rt_hproc *hp,
			     uint64_t set)
{
	struct err *e = process_put(u, m->key, hp);
	struct space *s = space_find(u, m->key, (uint64_t)m->pid);
	uint64_t nbare;

	m->is_published = !e;
	if (e)
		return e;
	set_debug(u, m->pid, set);
	if (s)
		s->is_attached = set;
	nbare = hp->frames ? bare_take(u, m->key) : 0;
	if (set)
		u->nbare += nbare;
	else
		departed_bare(u->departed, (uint64_t)m->pid, nbare);
	return NULL;
}

/* The helpers of a program, which are to be attached to another process. */
struct attaching {
	struct ustacks *u;
	const struct program *program;
};

static bool set_attach_again(void *ctx, struct process *proc, struct rt_hproc *ret)
{
	struct attaching *a = ctx;
	bool is_good = true;
	struct err *e;

	for (uint32_t i = 0; i < a->u->helpers.len && is_good; i++) {
		char *why = NULL;

		is_good = !(a->program->set >> i & 1) ||
			  process_attach(proc, a->u->helpers.data[i], &why);
		free(why);
	}
	e = is_good ? ustacks_values_fill(a->u, proc, a->program, ret) : NULL;
	is_good &= !e;
	err_destroy(e);
	return is_good;
}

bool ustacks_set_learn(struct ustacks *u, const struct meeting *m, struct process *proc,
		       uint64_t wanted, const struct program *p, const struct rt_hproc *hp)
{
	struct attaching again = {u, p};

	return !(wanted & u->foreign) &&
	       constants_learn(u->constants, &(struct attached){.target = m->target,
								.process = proc,
								.wanted = wanted,
								.set = p->set,
								.hp = hp,
								.again = set_attach_again,
								.ctx = &again});
}

static struct err *process_publish(struct ustacks *u, struct meeting *m, struct process *proc,
				   uint64_t set)
{
	CLEANUP(free) struct rt_hproc *hp = NULL;
	uint64_t wanted = set;
	bool is_known;
	const struct program *p;
	struct err *e;

	m->is_published = false;
	if (set != u->always && process_is_starting(proc)) {
		if (!m->has_entry)
			spaces_forget(u, (uint64_t)m->pid,
				      UINT64_MAX); /* the next walk asks again */
		return NULL;
	}
	if (set != u->always && process_is_loading(proc))
		return NULL;	      /* ustacks_mapped() hears of the C library */
	hp = xcalloc(1, sizeof(*hp)); /* what was published before is void */
	hp->is_new = m->is_new;
	is_known = set != u->always && constants_find(u->constants, m->target, &set, hp);
	if (set != u->always && !is_known)
		set = ustacks_set_attach(u, proc, m, set);
	if (m->is_early && !is_known && (!set || set != wanted))
		/*
		 * If all decline a process that runs, or that maps files for which they are not, no
		 * frames are missing: its walk asks.
		 */
		return wanted && !set && !m->is_late && !(m->is_new && m->has_read)
			       ? entry_put(u, m, hp, 0)
			       : NULL;
	hp->frames = set || !m->is_late; /* else stacks are counted until it is looked at again */
	if (!set || set == u->always)	 /* the program for all processes is there */
		return entry_put(u, m, hp, set);
	e = ustacks_set_program(u, set, &p);
	if (e)
		return e;
	program_fill(p, hp);
	programs_walked(u->programs, m->is_early ? 0 : hp->program);
	if (!is_known)
		e = ustacks_values_fill(u, proc, p, hp);
	hp->saves = !e && program_saves(p, hp);
	m->is_lasting = is_known || (!e && ustacks_set_learn(u, m, proc, wanted, p, hp));
	if (hp->saves && u->opts.saves)
		u->opts.saves(u->opts.ctx, m->pid);
	return e ? e : entry_put(u, m, hp, set);
}

static struct space *space_note(struct ustacks *u, uint64_t key, uint64_t pid)
{
	struct known *k = hashmap_find(u->known, &pid, sizeof(pid));

	if (!k) {
		k = xcalloc(1, sizeof(*k));
		hashmap_set(u->known, &pid, sizeof(pid), k);
	}
	if (k->nspaces == PROCS_PER_PID) {
		process_remove(u, k->spaces[0].key);
		memmove(k->spaces, k->spaces + 1, (PROCS_PER_PID - 1) * sizeof(k->spaces[0]));
		k->nspaces--;
	}
	k->spaces[k->nspaces] = (struct space){.key = key, .met = now_ns()};
	return &k->spaces[k->nspaces++];
}

/* The process will be looked at again, by ustacks_work(). */
static void space_put_off(struct ustacks *u, struct space *s)
{
	s->pause = s->pause ? MIN(2 * s->pause, AGAIN_MAX_NS) : AGAIN_MIN_NS;
	s->again = now_ns() + s->pause;
	u->again = MIN(u->again, s->again);
}

/* Looks at the mappings of a process, and publishes the helpers that apply. */
static bool target_meet(struct ustacks *u, struct space *s, struct target *t, bool is_early,
			bool is_new)
{
	pid_t pid = target_pid(t);
	struct meeting m = {.key = s->key,
			    .pid = pid,
			    .target = t,
			    .is_early = is_early,
			    .is_new = is_new || begun_since(pid, u->began),
			    .has_entry = s->has_changed,
			    .is_again = s->again != 0};
	struct process *proc = process_open(t, u->opts.files);
	const struct proc_map *program = process_program_file(proc);
	uint64_t set, all, nlates;
	struct err *e;

	s->dev = program ? program->dev : 0;
	s->ino = program ? program->ino : 0;
	/* The file of a program may be large, and stacks are waiting: its symbols come last. */
	set = ustacks_set_of_files(u, proc, t, &m);
	process_expect_symbols(proc, u->helpers.data, u->helpers.len);
	e = set == u->always ? NULL : process_publish(u, &m, proc, set);
	nlates = gate_late_count(u->opts.files->gate);
	all = e ? set : set_of_symbols(u, proc, set);
	m.is_late |= gate_late_count(u->opts.files->gate) != nlates;
	if (all != set || (!e && set == u->always))
		e = process_publish(u, &m, proc, all);
	if (e)
		error_tell(u, e);
	s = space_find(u, m.key, (uint64_t)pid); /* it may have been forgotten */
	if (s && m.is_late && !is_early)
		space_put_off(u, s);
	/* the first walk uses what was found, but the program may have changed it by then */
	if (s && m.is_published && is_early)
		s->has_changed = !m.is_lasting || m.is_told_later;
	process_close(proc);
	return m.is_published;
}

static void space_meet(struct ustacks *u, struct space *s, pid_t pid)
{
	struct target *t = NULL;
	struct err *e = target_live_open(pid, u->opts.files->gate, &t);

	if (!e) /* else it has ended, or we may not look at it */
		(void)target_meet(u, s, t, false, false);
	err_destroy(e);
	target_close(t);
}

void ustacks_add_process(struct ustacks *u, const struct rt_ureq *req)
{
	struct space *s = NULL;

	if (!u || !u->tables)
		return;
	programs_walked(u->programs, req->key.size);
	if (req->start) { /* the walk has copied what was published when the session began */
		s = space_find(u, req->start, req->pid);
		process_remove(u, req->start);
	}
	if (s)
		s->key = req->key.ino;
	if (s && !s->has_changed)
		return;
	if (!s)
		s = space_note(u, req->key.ino, req->pid);
	space_meet(u, s, (pid_t)req->pid);
	if (!ustacks_begun_key((pid_t)req->pid))
		departed_want(u->departed, req->pid, bare_take(u, req->key.ino));
}

bool ustacks_has_file(const struct ustacks *u, const struct proc_maps *maps)
{
	for (uint32_t i = 0; i < u->helpers.len; i++)
		if (u->helpers.data[i]->patterns && process_maps_have(maps, u->helpers.data[i]))
			return true;
	return false;
}

bool ustacks_has_name(const struct ustacks *u, const char *path)
{
	const char *slash = strrchr(path, '/');

	for (uint32_t i = 0; u && slash && i < u->helpers.len; i++)
		if (u->helpers.data[i]->patterns && helper_matches(u->helpers.data[i], slash + 1))
			return true;
	return false;
}

bool ustacks_has_met(const struct ustacks *u, pid_t pid)
{
	uint64_t id = (uint64_t)pid;

	return u && hashmap_find(u->known, &id, sizeof(id));
}

bool ustacks_attach(struct ustacks *u, uint64_t key, struct target *t, bool is_new)
{
	uint64_t id = (uint64_t)target_pid(t);
	struct space *s;

	if (!u || !u->tables || !key || ustacks_has_met(u, (pid_t)id))
		return false;
	s = space_note(u, key, id);
	if (target_meet(u, s, t, true, is_new))
		return true;
	spaces_forget(u, id, UINT64_MAX);
	return false;
}

bool ustacks_attach_linked(struct ustacks *u, uint64_t key, struct target *t)
{
	bool is_attached = ustacks_attach(u, key, t, true);
	struct space *s = is_attached ? space_find(u, key, (uint64_t)target_pid(t)) : NULL;

	if (s)
		s->is_linked = true;
	return is_attached;
}

void ustacks_gone(struct ustacks *u, uint64_t pid, uint64_t time)
{
	if (u)
		spaces_forget(u, pid, time);
}

void ustacks_execed(struct ustacks *u, uint64_t pid, uint64_t time)
{
	ustacks_gone(u, pid, time); /* its stacks are those of the program before */
	if (u)
		departed_execed(u->departed, pid, time);
}

/* Does a helper depend on whether a process has mapped the file? */
static bool file_matters(const struct ustacks *u, uint64_t pid, const struct sym_map *m)
{
	const char *slash = m->path ? strrchr(m->path, '/') : NULL;
	struct proc_map at = {.start = m->start,
			      .end = m->start + m->len,
			      .off = m->off,
			      .dev = m->dev,
			      .ino = m->ino,
			      .path = m->path};

	if (!slash)
		return false;
	if (process_is_libc(slash + 1))
		return true;
	if (ustacks_has_name(u, m->path))
		return true;
	return m->is_exec && carried_has(u->carried, (pid_t)pid, &at);
}

/*
 * News of a mapping may come late, when the process was met long ago, with the mapping, but before
 * the dynamic linker had prepared it. Such a process is looked at again here, so that what was
 * published serves until then; else the next walk asks.
 */
static void space_meet_again(struct ustacks *u, uint64_t pid, uint64_t time)
{
	struct known *k = hashmap_find(u->known, &pid, sizeof(pid));
	struct space *s = k->nspaces == 1 ? &k->spaces[0] : NULL;

	if (!s || s->met <= time || s->met > time + LINKED_NS || now_ns() <= time + LINKED_NS) {
		spaces_forget(u, pid, time + LINKED_NS);
		return;
	}
	s->met = now_ns();
	s->has_changed = true;
	space_meet(u, s, (pid_t)pid);
}

/*
 * Whether a mapping says nothing new: the process was met when all that it had mapped by then was
 * relocated; or it is the program, which was there before the process was met, and of which a
 * process maps pieces for itself when it runs: V8 does.
 */
static bool is_old_news(const struct known *k, const struct sym_map *m, uint64_t time)
{
	for (uint32_t i = 0; i < k->nspaces; i++) {
		const struct space *s = &k->spaces[i];

		if (!(s->is_linked && s->met > time) && (s->ino != m->ino || s->dev != m->dev))
			return false;
	}
	return true;
}

void ustacks_mapped(struct ustacks *u, uint64_t pid, const struct sym_map *m, uint64_t time)
{
	const struct known *k = u ? hashmap_find(u->known, &pid, sizeof(pid)) : NULL;

	if (u)
		departed_mapped(u->departed, pid, m);
	if (k && !is_old_news(k, m, time) && file_matters(u, pid, m))
		space_meet_again(u, pid, time);
}

/* Tells who debugs how the compilation of a program has ended. */
static void compiled_tell(struct ustacks *u, struct err *e)
{
	if (u->opts.debug)
		u->opts.debug(u->opts.ctx, e ? err_text(e) : "ustack helpers were compiled");
	err_destroy(e);
}

/* An address space of a process, which is forgotten when the process ends. */
struct due {
	uint64_t pid, key;
};

/* Looks again at a process of which not all could be read. */
static void due_meet(struct ustacks *u, const struct due *due)
{
	struct space *s = space_find(u, due->key, due->pid);
	uint64_t before = s->again;

	space_meet(u, s, (pid_t)due->pid);
	s = space_find(u, due->key, due->pid);
	if (s && s->again == before)
		s->again = s->pause = 0;
}

/* The same of all whose time has come. */
static void dues_meet(struct ustacks *u)
{
	uint64_t now = now_ns();
	const struct known *k;
	VEC(struct due) dues = {0};
	const void *id;
	size_t pos = 0, len;

	if (now < u->again)
		return;
	u->again = UINT64_MAX;
	while ((k = hashmap_next(u->known, &pos, &id, &len)) != NULL) {
		for (uint32_t i = 0; i < k->nspaces; i++) {
			const struct space *s = &k->spaces[i];
			struct due due = {.key = s->key};

			memcpy(&due.pid, id, sizeof(due.pid));
			if (s->again && s->again <= now)
				vec_push(&dues, due);
			else if (s->again)
				u->again = MIN(u->again, s->again);
		}
	}
	for (uint32_t i = 0; i < dues.len; i++)
		due_meet(u, &dues.data[i]);
	vec_deinit(&dues);
}

void ustacks_work(struct ustacks *u)
{
	struct err *e = NULL;

	if (!u)
		return;
	dues_meet(u);
	u->nbare += departed_learn(u->departed, u, false);
	while (programs_work(u->programs, &e))
		compiled_tell(u, e);
}

uint64_t ustacks_bare(struct ustacks *u)
{
	uint64_t n;

	if (!u)
		return 0;
	n = u->nbare + departed_learn(u->departed, u, true);
	u->nbare = 0;
	return n;
}

/* Copies the note and frees it for the next one; false: there is none. */
static bool note_take(struct rt_helper_note *note, struct rt_helper_note *ret)
{
	if (__atomic_load_n(&note->word, __ATOMIC_ACQUIRE) < RT_NOTE_WORD)
		return false;
	*ret = *note;
	__atomic_store_n(&note->word, RT_NOTE_FREE, __ATOMIC_RELEASE);
	return true;
}

bool ustacks_note(const struct ustacks *u, enum rt_note which, struct strbuf *out)
{
	const struct hcode_line *at;
	struct rt_helper_note note;

	if (!u || !u->tables || !u->tables->control ||
	    !note_take(&u->tables->control->notes[which], &note))
		return false;
	at = programs_line(u->programs, note.word - RT_NOTE_WORD);
	if (!at)
		return false;
	helper_location(at->helper, at->span, out);
	strbuf_addf(out, " in process %" PRIu32 " '%.*s'", note.pid,
		    (int)strnlen(note.comm, sizeof(note.comm)), note.comm);
	if (which == RT_NOTE_FAULT) {
		strbuf_adds(out, ": ");
		dif_fault_text(note.kind, note.value, out);
	}
	return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct err *ustacks_create(const struct ustack_opts *opts, struct ustacks **ret)
{
	struct ustacks *u = xcalloc(1, sizeof(*u));
	struct hcode trial = {0};
	struct err *e = NULL;

	u->opts = *opts;
	u->again = UINT64_MAX;
	u->began = begun_clock();
	u->known = hashmap_create();
	u->programs = programs_create();
	u->told = hashmap_create();
	u->carried =
		carried_create(&(struct carried_opts){opts->files, u, carried_add, carried_notice});
	u->constants = constants_create(opts->files);
	u->departed = departed_create(u);
	if (opts->file && *opts->file) {
		e = helper_add(u, opts->file);
		if (!e)
			u->helpers.data[0]->is_named = true;
		if (!e && !helper_compile(u->helpers.data[0], opts->compile, opts->preludes)) {
			e = u->helpers.data[0]->err;
			u->helpers.data[0]->err = NULL;
		}
		if (!e) /* what is wrong with it is to be known now */
			e = hcode_make(u->helpers.data, 1, 0, &trial);
		hcode_deinit(&trial);
		if (!e && !u->helpers.data[0]->patterns && !u->helpers.data[0]->has_attach)
			u->always = 1;
	}
	for (uint32_t i = 0; i < opts->ndirs && !e; i++)
		(void)dir_add(u, opts->dirs[i]); /* a folder of libraries may have no helpers */
	if (!e)
		system_dir_add(u, opts->system_dir);
	if (e) {
		ustacks_destroy(u);
		u = NULL;
	}
	*ret = u;
	return e;
}

/* Makes stacks of processes that map a file of such a name say so before the helper is attached. */
static void names_add(const struct ustacks *u)
{
	for (uint32_t i = 0; i < u->helpers.len && u->tables->control; i++)
		helper_add_names(u->helpers.data[i], u->tables->control);
}

struct err *ustacks_begin(struct ustacks *u, const struct stack_tables *tables)
{
	const struct program *p;
	CLEANUP(free) struct rt_hproc *hp = NULL;
	struct err *e;

	if (!u)
		return NULL;
	u->tables = tables;
	names_add(u);
	programs_begin(u->programs, tables);
	constants_begin(u->constants, tables);
	if (!u->always)
		return NULL;
	e = program_get(u, u->always, &p);
	if (e)
		return e;
	hp = xcalloc(1, sizeof(*hp));
	program_fill(p, hp);
	programs_walked(u->programs, hp->program);
	hp->saves = program_saves(p, hp);
	return process_put(u, RT_HELPER_ALWAYS, hp);
}

void ustacks_destroy(struct ustacks *u)
{
	struct known *k;
	size_t pos = 0;

	if (!u)
		return;
	for (uint32_t i = 0; i < u->helpers.len; i++)
		helper_close(u->helpers.data[i]);
	vec_deinit(&u->helpers);
	while ((k = hashmap_next(u->known, &pos, NULL, NULL)))
		free(k);
	hashmap_destroy(u->known);
	programs_destroy(u->programs);
	hashmap_destroy(u->told);
	carried_destroy(u->carried);
	constants_destroy(u->constants);
	departed_destroy(u->departed);
	free(u);
}
