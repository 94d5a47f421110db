/* SPDX-License-Identifier: MIT */
/*
 * Counts objects of a language and blocks of malloc, by type. With -i, the process is
 * copied again and again, and what is shown is how each type has grown since the copy before.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <time.h>

#include "base/hashmap.h"
#include "base/text.h"
#include "mdb/mdb.h"
#include "mdb/survey.h"
#include "memprof.h"

static volatile sig_atomic_t is_ending, print_due;

static void end_note(int sig)
{
	(void)sig;
	is_ending = 1;
}

static void print_note(int sig)
{
	(void)sig;
	print_due = 1;
}

/* A row: a type, and how it has grown; without a survey before, by all that there is. */
struct change {
	const struct survey_type *type; /* as it is; if it is gone, as it was */
	int64_t bytes, count;
	bool is_gone;
};

struct changes {
	struct change *rows;
	size_t n;
	int64_t bytes; /* of all */
};

/* ---- differences ----------------------------------------------------------------------------- */

static int change_compare(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->type->name, y->type->name);
}

static void type_key(struct strbuf *b, const struct survey_type *t)
{
	strbuf_clear(b);
	strbuf_addf(b, "%s %s", t->kind, t->name);
}

static void change_add(struct changes *c, struct change row)
{
	c->rows[c->n++] = row;
	c->bytes += row.bytes;
}

/* before: NULL, or the survey with which this one is compared. */
static void changes_make(const struct survey *s, const struct survey *before, struct changes *ret)
{
	size_t nmost = s->types.len + (before ? before->types.len : 0);
	struct hashmap *old = hashmap_create(), *now = hashmap_create();
	struct strbuf key = {0};

	*ret = (struct changes){.rows = mem_check(calloc(nmost + 1, sizeof(*ret->rows)))};
	for (size_t i = 0; before && i < before->types.len; i++) {
		type_key(&key, &before->types.data[i]);
		hashmap_sets(old, key.data, &before->types.data[i]);
	}
	for (size_t i = 0; i < s->types.len; i++) {
		const struct survey_type *t = &s->types.data[i], *was;

		type_key(&key, t);
		was = hashmap_finds(old, key.data);
		hashmap_sets(now, key.data, &s->types.data[i]);
		if (!before || !was || was->bytes != t->bytes || was->count != t->count)
			change_add(ret,
				   (struct change){.type = t,
						   .bytes = (int64_t)(t->bytes -
								      (was ? was->bytes : 0)),
						   .count = (int64_t)(t->count -
								      (was ? was->count : 0))});
	}
	for (size_t i = 0; before && i < before->types.len; i++) {
		const struct survey_type *t = &before->types.data[i];

		type_key(&key, t);
		if (!hashmap_finds(now, key.data))
			change_add(ret, (struct change){.type = t,
							.bytes = -(int64_t)t->bytes,
							.count = -(int64_t)t->count,
							.is_gone = true});
	}
	qsort(ret->rows, ret->n, sizeof(*ret->rows), change_compare);
	strbuf_deinit(&key);
	hashmap_destroy(old);
	hashmap_destroy(now);
}

/* ---- output ---------------------------------------------------------------------------------- */

static void json_print(const struct memprof *m, const struct change *c, bool is_difference)
{
	const struct survey_type *t = c->type;
	struct strbuf b = {0};

	look_json_begin(m, &b);
	strbuf_addf(&b, ", \"bytes\": %" PRIu64 ", \"count\": %" PRIu64, c->is_gone ? 0 : t->bytes,
		    c->is_gone ? 0 : t->count);
	if (is_difference)
		strbuf_addf(&b, ", \"grown\": %" PRId64 ", \"grown_count\": %" PRId64, c->bytes,
			    c->count);
	strbuf_addf(&b, ", \"kind\": \"%s\", \"type\": ", t->kind);
	json_quote(&b, t->name, strlen(t->name));
	strbuf_addf(&b, ", \"example\": \"0x%" PRIx64 "\"}\n", t->example);
	(void)fwrite(b.data, 1, b.len, stdout);
	strbuf_deinit(&b);
}

static void row_print(const struct change *c)
{
	struct strbuf name = {0};
	char bytes[32];

	size_text(bytes, sizeof(bytes), c->bytes);
	look_text_add(&name, c->type->name);
	printf("%10s %9" PRId64 " %14" PRIx64 "  %-6s  %s\n", bytes, c->count, c->type->example,
	       c->type->kind, strbuf_text(&name));
	strbuf_deinit(&name);
}

static void sums_print(const struct survey *s)
{
	char text[32];

	if (s->language) {
		size_text(text, sizeof(text), (int64_t)s->nobject_bytes);
		printf("%10s  in %" PRIu64 " object%s of %s\n", text, s->nobjects,
		       PLURAL(s->nobjects), s->language);
	}
	if (s->nblocks || !s->language) {
		size_text(text, sizeof(text), (int64_t)s->nbytes);
		printf("%10s  in %" PRIu64 " block%s of malloc\n", text, s->nblocks,
		       PLURAL(s->nblocks));
	}
}

static void changes_print(const struct memprof *m, const struct survey *s, const struct changes *c,
			  bool is_difference)
{
	size_t nshown = m->top && m->top < c->n ? m->top : c->n;
	int64_t rest = 0;
	char text[32];

	for (size_t i = 0; m->is_json && i < nshown; i++)
		json_print(m, &c->rows[i], is_difference);
	if (m->is_json)
		return;
	if (nshown)
		printf("%10s %9s %14s  %-6s  %s\n", is_difference ? "GROWN" : "BYTES", "COUNT",
		       "EXAMPLE", "KIND", "TYPE");
	for (size_t i = 0; i < c->n; i++)
		if (i < nshown)
			row_print(&c->rows[i]);
		else
			rest += c->rows[i].bytes;
	if (nshown < c->n) {
		size_text(text, sizeof(text), rest);
		printf("... %zu more row%s, %s\n", c->n - nshown, PLURAL(c->n - nshown), text);
	}
	if (is_difference) {
		size_text(text, sizeof(text), c->bytes);
		printf("%10s  more than before\n\n", text);
	} else {
		sums_print(s);
	}
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* Shows what there is, or the difference, and closes the debugger. */
static void survey_show(struct memprof *m, struct mdb *debugger, const struct survey *before,
			struct survey *ret)
{
	struct err *e = survey_alive(debugger, m->is_mixed, ret);
	struct changes c;

	if (e)
		look_fatal(m, e);
	changes_make(ret, before, &c);
	changes_print(m, ret, &c, before);
	if (!before)
		look_notes_say(ret);
	(void)fflush(stdout);
	free(c.rows);
	mdb_close(debugger);
}

static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

/* A signal that ends the command does so after a last difference; a second one at once. */
static void signals_catch(void)
{
	struct sigaction end = {.sa_handler = end_note,
				.sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
	struct sigaction print = {.sa_handler = print_note, .sa_flags = SA_RESTART}, old;

	(void)sigaction(SIGUSR1, &print, NULL);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(ends[i], &end, NULL);
}

static double clock_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

/*
 * Waits for so long, or until a signal comes. Signals that come between the question and the wait
 * are held until the wait. Returns how long it has waited.
 */
static double interval_wait(double seconds)
{
	struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
	double began = clock_s();
	sigset_t held, old;

	(void)sigemptyset(&held);
	(void)sigaddset(&held, SIGUSR1);
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		(void)sigaddset(&held, ends[i]);
	(void)pthread_sigmask(SIG_BLOCK, &held, &old);
	if (!is_ending && !print_due && pselect(0, NULL, NULL, NULL, &t, &old) == 0) {
		(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
		return seconds;
	}
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	print_due = 0;
	return clock_s() - began;
}

static void differences_show(struct memprof *m, struct survey *before)
{
	double left = m->duration_s;

	signals_catch();
	while (!is_ending && (!(m->duration_s > 0) || left > 0)) {
		struct mdb *debugger;
		struct survey now;

		left -= interval_wait(m->interval_s);
		debugger = look_open_again(m);
		if (!debugger) {
			say("the process has ended");
			break;
		}
		survey_show(m, debugger, before, &now);
		survey_deinit(before);
		*before = now;
	}
}

int alive_run(struct memprof *m)
{
	struct survey s;

	survey_show(m, look_open(m), NULL, &s);
	if (m->interval_s > 0)
		differences_show(m, &s);
	survey_deinit(&s);
	return E_SUCCESS;
}
