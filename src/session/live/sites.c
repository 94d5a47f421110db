/* SPDX-License-Identifier: MIT */
/*
 * Places in programs of languages, for keys that processes count under by themselves: which file
 * and line a code object and a position are.
 *
 * The runtime's helper says it, from the memory of the process. A place is asked for when a table
 * of the process is first seen to have it, and kept: the program may forget the code, and what is
 * at the address then is another code, or none. A place that is gone by then has the file "(gone)".
 *
 * Each time that tables are read, memory is read anew; what is known of files stays. Pages that
 * were read a moment ago may be older than a place, so a place that is not in them is asked for
 * once more. And a process that has executed another program has no place of the old one.
 */
#include "session/live/sites.h"

#include <inttypes.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "dif/prog.h"
#include "helper/helper.h"
#include "helper/process.h"
#include "helper/ustack.h"
#include "helper/values.h"
#include "session/live/live.h"
#include "target/ident.h"
#include "target/target.h"

#define FILE_MAX 4096u
/* A process may make places without end: those that come then have no name. */
#define SITES_MAX 1000000u
/* What was read of a process is used for so long. */
#define FRESH_NS 100000000ull
/* So often places are asked for once more, each time that tables are read: a process may go on. */
#define AGAIN_MAX 16u

struct site_key {
	uint64_t pid, code, at;
};

/* A process in which the helper has been attached. */
struct site_process {
	pid_t pid;
	struct target *target;
	struct process *process; /* NULL: it has to be opened again */
	struct helper *helper;
	uint64_t opened_at, opened_in; /* the latter is struct sites.nreadings */
	uint64_t again_in;	       /* nagain belongs to that reading */
	uint32_t nagain;
	bool has_began;		   /* the next two are known: */
	uint64_t start, arg_start; /* which program it executed at first */
	uint64_t ngone, ntold;
};

struct sites {
	struct live *live;
	struct arena *arena;
	struct ustacks *ustacks; /* NULL: not made yet */
	struct hashmap *known;	 /* struct site_key -> struct ndata_site */
	uint32_t nknown;
	uint64_t nreadings; /* of tables, the last of which may go on */
	VEC(struct site_process *) processes;
};

static const struct ndata_site none = {"", 0}, gone = {"(gone)", 0};

struct sites *sites_create(struct live *live)
{
	struct sites *s = xcalloc(1, sizeof(*s));

	s->live = live;
	s->arena = arena_create();
	s->known = hashmap_create();
	return s;
}

static void process_end(struct site_process *x)
{
	process_close(x->process);
	target_close(x->target);
	x->process = NULL;
	x->target = NULL;
}

void sites_destroy(struct sites *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->processes.len; i++) {
		process_end(s->processes.data[i]);
		free(s->processes.data[i]);
	}
	vec_deinit(&s->processes);
	ustacks_destroy(s->ustacks);
	hashmap_destroy(s->known);
	arena_destroy(s->arena);
	free(s);
}

static struct site_process *process_get(struct sites *s, pid_t pid)
{
	struct site_process *x;

	for (uint32_t i = 0; i < s->processes.len; i++)
		if (s->processes.data[i]->pid == pid)
			return s->processes.data[i];
	x = xcalloc(1, sizeof(*x));
	x->pid = pid;
	vec_push(&s->processes, x);
	return x;
}

/* The helper of the process that says where frames are; NULL: none does. */
static struct helper *helper_find(struct sites *s, struct site_process *x,
				  struct value_context *ret)
{
	struct helper *list[USTACK_HELPERS_MAX];
	uint32_t n = ustacks_of_target(s->ustacks, x->target, list);
	struct ustack_opts opts;

	live_helper_opts(s->live, &opts);
	for (uint32_t i = 0; i < n; i++) {
		CLEANUP(free) char *why = NULL;

		err_destroy(helper_compile_values(list[i], opts.compile));
		if (!list[i]->values || !value_has_clauses(list[i], HELPER_CONTEXT))
			continue;
		x->process = process_open(x->target, ustacks_files(s->ustacks));
		if (process_attach(x->process, list[i], &why) &&
		    value_context_read(x->process, list[i], ret))
			return list[i];
		process_close(x->process);
		x->process = NULL;
	}
	return NULL;
}

/* Whether the process executes the program in which the helper was attached first. */
static bool process_is_same(struct site_process *x)
{
	uint64_t start, arg_start;

	if (!proc_began(x->pid, &start, &arg_start))
		return false;
	if (!x->has_began) {
		x->has_began = true;
		x->start = start;
		x->arg_start = arg_start;
	}
	return start == x->start && arg_start == x->arg_start;
}

/* Opens a process; why not, or NULL. */
static const char *process_begin(struct sites *s, struct site_process *x, struct value_context *ret)
{
	struct ustack_opts opts;

	process_end(x);
	if (!process_is_same(x))
		return "read lines of a language of a process that has executed another program";
	live_helper_opts(s->live, &opts);
	if (!s->ustacks)
		err_destroy(ustacks_create(&opts, &s->ustacks));
	if (!s->ustacks)
		return "read lines of a language whose helper cannot be made";
	err_destroy(target_live_open(x->pid, s->live->names->file_opts.gate, &x->target));
	if (!x->target)
		return "read lines of a language of a process that cannot be read";
	x->helper = helper_find(s, x, ret);
	x->opened_at = now_ns();
	x->opened_in = s->nreadings;
	return x->helper ? NULL : "read lines of a runtime whose frames only the kernel reads";
}

static bool frames_find(void *ctx, pid_t pid, struct inproc_frames *ret, const char **ret_why)
{
	struct sites *s = ctx;
	struct value_context c;
	const char *why = process_begin(s, process_get(s, pid), &c);

	if (why) {
		*ret_why = why;
		return false;
	}
	_Static_assert(VALUE_UNLOCKED_MAX <= INPROC_UNLOCKED_MAX, "none may be left out");
	*ret = (struct inproc_frames){
		.module = c.module,
		.variable = c.variable,
		.is_proven = c.is_proven,
		.frames = {.stack = (uint32_t)MIN(c.stack, UINT32_MAX),
			   .words = (uint32_t)MIN(c.words, UINT32_MAX),
			   .top = (uint32_t)MIN(c.top, UINT32_MAX),
			   .size = (uint32_t)MIN(c.size, UINT32_MAX),
			   .code = (uint32_t)MIN(c.code, UINT32_MAX),
			   .at = (uint32_t)MIN(c.at, UINT32_MAX),
			   .depth = (uint32_t)MIN(c.depth, 1000u)},
		.inside = c.inside,
	};
	for (uint32_t i = 0; i < MIN(c.nunlocked, INPROC_UNLOCKED_MAX); i++)
		ret->unlocked[ret->nunlocked++] =
			(struct inproc_extent){c.unlocked[i].addr, c.unlocked[i].size};
	return true;
}

/* Whether memory can be read now, anew if what is known of it is old. */
static bool process_is_fresh(struct sites *s, struct site_process *x)
{
	struct value_context c;

	if (!x->process || x->opened_in != s->nreadings || now_ns() - x->opened_at > FRESH_NS)
		(void)process_begin(s, x, &c);
	return x->process && x->helper;
}

/* The text of an item, as its bytes are; NULL: it cannot be read. */
static char *text_get(struct sites *s, struct process *p, const struct value_item *item)
{
	const struct value_piece *piece = item->said.pieces.len ? item->said.pieces.data : NULL;
	uint32_t size = MIN(FILE_MAX, s->live->match->layout->strsize);
	char *text;

	if (!piece || piece->is_word || piece->is_character)
		return NULL;
	size = (uint32_t)MIN(piece->n, (uint64_t)size - 1);
	text = arena_alloc(s->arena, size + 1);
	if (size && !process_memory(p, piece->at, text, size))
		return NULL;
	text[size] = '\0';
	return text;
}

/* Asks the helper; NULL: there is no such place any more. */
static const struct ndata_site *site_read(struct sites *s, struct site_process *x, uint64_t code,
					  uint64_t at)
{
	const struct value_item *file;
	struct ndata_site *site = NULL;
	struct value v;
	int64_t line;

	if (!process_is_fresh(s, x))
		return NULL;
	value_site_read(x->process, x->helper, code, at, &v);
	file = v.is_known ? value_item_find(&v, "file") : NULL;
	if (file && value_number_get(&v, "line", &line)) {
		char *text = text_get(s, x->process, file);

		if (text) {
			site = ARENA_NEW(s->arena, struct ndata_site);
			*site = (struct ndata_site){text, (uint64_t)line};
		}
	}
	value_free(&v);
	return site;
}

/* Forgets what was read of the process; false: it was done often enough. */
static bool process_renew(const struct sites *s, struct site_process *x)
{
	if (x->again_in != s->nreadings) {
		x->again_in = s->nreadings;
		x->nagain = 0;
	}
	if (x->nagain >= AGAIN_MAX)
		return false;
	x->nagain++;
	process_end(x);
	return true;
}

static const struct ndata_site *site_find(void *ctx, pid_t pid, uint64_t code, uint64_t at,
					  bool is_new)
{
	const struct site_key key = {(uint64_t)pid, code, at};
	struct sites *s = ctx;
	const struct ndata_site *site;
	struct site_process *x;

	if (!code && !at)
		return &none;
	site = hashmap_find(s->known, &key, sizeof(key));
	if (site || !is_new)
		return site;
	x = process_get(s, pid);
	if (s->nknown < SITES_MAX)
		site = site_read(s, x, code, at);
	if (!site && s->nknown < SITES_MAX && process_renew(s, x))
		site = site_read(s, x, code, at);
	if (!site) {
		site = &gone;
		x->ngone++;
	}
	/* the process can make up any number of places */
	if (s->nknown < 2 * SITES_MAX) {
		hashmap_set(s->known, &key, sizeof(key), (void *)(uintptr_t)site);
		s->nknown++;
	}
	return site;
}

struct inproc_sites sites_hooks(struct sites *s)
{
	return (struct inproc_sites){.find = frames_find, .site = site_find, .ctx = s};
}

void sites_begin(struct sites *s)
{
	if (s)
		s->nreadings++;
}

bool sites_has_processes(const struct sites *s)
{
	return s && s->processes.len;
}

void sites_tell(const struct sites *s)
{
	for (uint32_t i = 0; s && i < s->processes.len; i++) {
		struct site_process *x = s->processes.data[i];
		uint64_t n = x->ngone - x->ntold;

		x->ntold = x->ngone;
		if (n)
			report_adjusted(s->live->report,
					"%" PRIu64
					" place%s of code in process %d %s gone before %s "
					"read: the file of such rows is (gone)",
					n, PLURAL(n), (int)x->pid, WORD_FOR(n, "was", "were"),
					WORD_FOR(n, "it was", "they were"));
	}
}
