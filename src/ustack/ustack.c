/* Attaches ustack helpers to the processes that walks meet. */
#include "ustack/ustack.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>

#include "base/hashmap.h"
#include "base/str.h"
#include "bpf/engine.h"
#include "bpf/rt/helper.h"
#include "d/compile.h"
#include "d/source.h"
#include "ustack/hcode.h"
#include "ustack/helper.h"
#include "ustack/process.h"

#define HELPERS_MAX   32 /* a set of helpers is a word of bits */
#define NOTICES_MAX   64 /* hostile processes could cause any number of them */
#define PROCS_PER_PID 4	 /* address spaces of a process id that are known at once */

/* The program of several helpers. */
struct program {
	uint32_t set; /* bits: numbers of helpers */
	uint32_t base;
	struct hcode code; /* without its words */
};

/* The address spaces of a process id. */
struct known {
	uint64_t keys[PROCS_PER_PID];
	uint32_t nkeys;
};

struct ustacks {
	struct ustack_opts opts;
	const struct kmaps *maps;
	VEC(struct helper *) helpers;
	struct objects *objects;
	VEC(struct program *) programs;
	uint32_t top; /* words of MAP_HCODE that are used */
	struct hashmap
		*texts; /* strings that are values of variables -> their words in MAP_HCODE */
	struct hashmap *known; /* process id -> struct known */
	struct hashmap *told;  /* notices */
	uint32_t always;       /* the helpers of the program for all processes */
};

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

static struct err *helper_add(struct ustacks *u, const char *path)
{
	struct helper *h = NULL;
	struct err *e;

	if (u->helpers.len == HELPERS_MAX)
		return err_new("there are more than %d ustack helpers", HELPERS_MAX);
	e = helper_open(path, &h);
	if (!e)
		vec_push(&u->helpers, h);
	return e;
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

static void dir_add(struct ustacks *u, const char *dir)
{
	struct dirent **list = NULL;
	int n = scandir(dir, &list, is_helper_file, by_name);

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
}

static bool helper_ready(struct ustacks *u, struct helper *h)
{
	if (helper_compile(h, u->opts.compile, u->opts.prelude))
		return true;
	tell_once(u, err_text(h->err));
	return false;
}

/* ---- programs -------------------------------------------------------------------------------- */

static struct err *words_add(struct ustacks *u, const uint64_t *words, uint32_t n)
{
	if (n > RT_HCODE - u->top)
		return err_new("ustack helpers and their texts have more than %u words of code",
			       RT_HCODE);
	memcpy(u->maps->hcode + u->top, words, n * sizeof(*words));
	u->top += n;
	return NULL;
}

static struct err *program_make(struct ustacks *u, uint32_t set, struct program **ret)
{
	struct helper *list[HELPERS_MAX];
	struct program *p;
	uint32_t n = 0;
	struct err *e;

	for (uint32_t i = 0; i < u->programs.len; i++) {
		if (u->programs.data[i]->set == set) {
			*ret = u->programs.data[i];
			return NULL;
		}
	}
	for (uint32_t i = 0; i < u->helpers.len; i++)
		if (set >> i & 1)
			list[n++] = u->helpers.data[i];
	p = xcalloc(1, sizeof(*p));
	p->set = set;
	p->base = u->top;
	e = hcode_make(list, n, p->base, &p->code);
	if (!e)
		e = words_add(u, p->code.words.data, p->code.words.len);
	if (e) {
		hcode_deinit(&p->code);
		free(p);
		return e;
	}
	vec_push(&u->programs, p);
	*ret = p;
	return NULL;
}

/* The words of MAP_HCODE where the text is: HOP_TEXT makes an address of them. */
static struct err *text_place(struct ustacks *u, const char *text, uint64_t *ret)
{
	size_t n = strlen(text) + 1, nwords = (n + 7) / 8;
	uintptr_t at = (uintptr_t)hashmap_finds(u->texts, text);
	CLEANUP(free) uint64_t *words = xcalloc(nwords, sizeof(*words));
	struct err *e = NULL;

	if (!at) {
		memcpy(words, text, n);
		at = u->top;
		e = words_add(u, words, (uint32_t)nwords);
	}
	if (!e)
		hashmap_sets(u->texts, text, (void *)at);
	*ret = at;
	return e;
}

static struct err *map_put(struct ustacks *u, uint64_t key, const struct rt_hproc *hp)
{
	union bpf_attr attr = {.map_fd = (uint32_t)u->maps->fd[MAP_HPROCS],
			       .key = (uint64_t)(uintptr_t)&key,
			       .value = (uint64_t)(uintptr_t)hp};

	if (sys_bpf(BPF_MAP_UPDATE_ELEM, &attr, sizeof(attr)))
		return err_sys(errno, "cannot attach a ustack helper");
	return NULL;
}

static void map_remove(struct ustacks *u, uint64_t key)
{
	union bpf_attr attr = {.map_fd = (uint32_t)u->maps->fd[MAP_HPROCS],
			       .key = (uint64_t)(uintptr_t)&key};

	(void)sys_bpf(BPF_MAP_DELETE_ELEM, &attr, sizeof(attr)); /* it may not exist */
}

/* ---- processes ------------------------------------------------------------------------------- */

static struct err *value_read(struct ustacks *u, struct process *proc, const struct prog_var *v,
			      uint64_t *ret)
{
	struct strbuf text = {0};
	struct err *e = NULL;

	(void)process_global(proc, v, ret, &text);
	if (v->type.kind == DIF_KIND_STRING)
		e = text_place(u, strbuf_text(&text), ret);
	strbuf_deinit(&text);
	return e;
}

/*
 * Attaches the helpers of the set one by one, because each has a machine of its own; those that
 * fail leave the set. Fills the values of their variables into hp, numbered for the whole set.
 */
static uint32_t set_attach(struct ustacks *u, struct process *proc, pid_t pid, uint32_t set)
{
	for (uint32_t i = 0; i < u->helpers.len; i++) {
		const struct helper *h = u->helpers.data[i];
		char *why = NULL;

		if (!(set >> i & 1) || process_attach(proc, h, &why))
			continue;
		set &= ~(1u << i);
		tellf(u, "ustack helper '%s': process %d has native frames only: %s", h->path,
		      (int)pid, why ? why : "its memory cannot be read");
		free(why);
	}
	return set;
}

static struct err *values_fill(struct ustacks *u, struct process *proc, const struct program *p,
			       struct rt_hproc *hp)
{
	const struct helper *last = NULL;
	struct err *e = NULL;
	char *why = NULL;

	for (uint32_t i = 0; i < p->code.globals.len && !e; i++) {
		const struct hcode_global *g = &p->code.globals.data[i];

		if (g->helper != last)
			(void)process_attach(proc, g->helper, &why); /* it has succeeded before */
		last = g->helper;
		e = value_read(u, proc, g->var, &hp->globals[g->slot]);
	}
	free(why);
	return e;
}

static uint32_t set_find(struct ustacks *u, const struct process *proc)
{
	uint32_t set = 0;

	for (uint32_t i = 0; i < u->helpers.len; i++)
		if (process_has(proc, u->helpers.data[i]) && helper_ready(u, u->helpers.data[i]))
			set |= 1u << i;
	return set;
}

static struct err *process_publish(struct ustacks *u, uint64_t key, pid_t pid, struct process *proc)
{
	struct rt_hproc *hp;
	struct program *p;
	uint32_t set = set_find(u, proc);
	struct err *e;

	if (set == u->always)
		return NULL; /* the program for all processes is there */
	set = set_attach(u, proc, pid, set);
	if (!set || set == u->always)
		return NULL;
	e = program_make(u, set, &p);
	if (e)
		return e;
	hp = xcalloc(1, sizeof(*hp));
	hp->entry = p->base;
	hp->frames = p->base + p->code.frames;
	e = values_fill(u, proc, p, hp);
	if (!e)
		e = map_put(u, key, hp);
	free(hp);
	return e;
}

static void key_note(struct ustacks *u, uint64_t key, uint64_t pid)
{
	struct known *k = hashmap_find(u->known, &pid, sizeof(pid));

	if (!k) {
		k = xcalloc(1, sizeof(*k));
		hashmap_set(u->known, &pid, sizeof(pid), k);
	}
	if (k->nkeys == PROCS_PER_PID) {
		map_remove(u, k->keys[0]);
		memmove(k->keys, k->keys + 1, (PROCS_PER_PID - 1) * sizeof(k->keys[0]));
		k->nkeys--;
	}
	k->keys[k->nkeys++] = key;
}

void ustacks_meet(struct ustacks *u, uint64_t key, pid_t pid)
{
	struct process *proc = NULL;
	struct err *e;

	if (!u || !u->maps)
		return;
	key_note(u, key, (uint64_t)pid);
	e = process_open(pid, u->objects, &proc);
	if (e) { /* it has ended, or we may not look at it */
		err_destroy(e);
		return;
	}
	e = process_publish(u, key, pid, proc);
	if (e)
		tell_once(u, err_text(e));
	err_destroy(e);
	process_close(proc);
}

void ustacks_forget(struct ustacks *u, uint64_t pid)
{
	struct known *k = u ? hashmap_find(u->known, &pid, sizeof(pid)) : NULL;

	if (!k)
		return;
	for (uint32_t i = 0; i < k->nkeys; i++)
		map_remove(u, k->keys[i]);
	hashmap_remove(u->known, &pid, sizeof(pid));
	free(k);
}

void ustacks_mapped(struct ustacks *u, uint64_t pid, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;

	if (!u || !slash || !hashmap_find(u->known, &pid, sizeof(pid)))
		return;
	for (uint32_t i = 0; i < u->helpers.len; i++) {
		if (u->helpers.data[i]->patterns && helper_matches(u->helpers.data[i], slash + 1)) {
			ustacks_forget(u, pid);
			return;
		}
	}
}

bool ustacks_fault(const struct ustacks *u, struct strbuf *out)
{
	uint64_t fault = u && u->maps && u->maps->control ? u->maps->control->helper_fault : 0;
	const struct hcode_place *at = NULL;
	struct source_loc loc;

	for (uint32_t i = 0; fault && i < u->programs.len; i++) {
		const struct program *p = u->programs.data[i];

		for (uint32_t k = 0; k < p->code.places.len; k++)
			if (fault > p->base + p->code.places.data[k].word)
				at = &p->code.places.data[k];
	}
	if (!at)
		return false;
	loc = source_locate(dsession_sources(at->helper->dsession), at->span);
	strbuf_addf(out, "the last error in ustack helpers is at %s:%u (value 0x%" PRIx64 ")",
		    loc.file, loc.line, u->maps->control->helper_addr);
	return true;
}

/* ---- beginning and end ----------------------------------------------------------------------- */

struct err *ustacks_create(const struct ustack_opts *opts, struct ustacks **ret)
{
	struct ustacks *u = xcalloc(1, sizeof(*u));
	struct hcode trial = {0};
	struct err *e = NULL;

	u->opts = *opts;
	u->top = 1;
	u->known = hashmap_create();
	u->texts = hashmap_create();
	u->told = hashmap_create();
	u->objects = objects_create(opts->files);
	if (opts->file && *opts->file) {
		e = helper_add(u, opts->file);
		if (!e && !helper_compile(u->helpers.data[0], opts->compile, opts->prelude)) {
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
		dir_add(u, opts->dirs[i]);
	if (e || !u->helpers.len) {
		ustacks_destroy(u);
		u = NULL;
	}
	*ret = u;
	return e;
}

struct err *ustacks_begin(struct ustacks *u, const struct kmaps *maps)
{
	struct program *p;
	struct rt_hproc *hp;
	struct err *e;

	if (!u)
		return NULL;
	u->maps = maps;
	if (!u->always)
		return NULL;
	e = program_make(u, u->always, &p);
	if (e)
		return e;
	hp = xcalloc(1, sizeof(*hp));
	hp->entry = p->base;
	hp->frames = p->base + p->code.frames;
	e = map_put(u, RT_HELPER_ALWAYS, hp);
	free(hp);
	return e;
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
	for (uint32_t i = 0; i < u->programs.len; i++) {
		hcode_deinit(&u->programs.data[i]->code);
		free(u->programs.data[i]);
	}
	vec_deinit(&u->programs);
	while ((k = hashmap_next(u->known, &pos, NULL, NULL)))
		free(k);
	hashmap_destroy(u->known);
	hashmap_destroy(u->texts);
	hashmap_destroy(u->told);
	objects_destroy(u->objects);
	free(u);
}
