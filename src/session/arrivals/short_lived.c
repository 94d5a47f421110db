/* SPDX-License-Identifier: MIT */
/* Counts processes that end before the probes of a new file are placed. */
#include "session/arrivals/short_lived.h"

#include <inttypes.h>

#include "base/vec.h"
#include "session/report.h"

#define GUESTS_MAX 16384 /* processes that are remembered; more of them are not counted */
/*
 * A process that ends in this time after its probes were placed may have passed them before: it
 * counts.
 */
#define JUST_NS 1000000

struct missed_new {
	uint64_t dev, ino;
	uint64_t placed_at; /* ns; 0: it was not looked at */
	enum missed_file kind;
	char *name; /* of a file with probes */
	uint32_t ngone;
};

/* A process that has mapped a new file. */
struct guest {
	uint64_t pid;
	uint32_t file; /* index */
	bool is_child; /* it was forked by one that has mapped the file */
};

struct missed {
	VEC(struct missed_new) files;
	VEC(struct guest) guests;
	uint32_t nunread; /* processes that have ended, whose files could not be opened */
};

struct missed *missed_create(void)
{
	return xcalloc(1, sizeof(struct missed));
}

void missed_clear(struct missed *m)
{
	for (uint32_t i = 0; i < m->files.len; i++)
		free(m->files.data[i].name);
	vec_clear(&m->files);
	vec_clear(&m->guests);
}

void missed_destroy(struct missed *m)
{
	if (!m)
		return;
	missed_clear(m);
	vec_deinit(&m->files);
	vec_deinit(&m->guests);
	free(m);
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Returns the file, if its probes were not placed at that time. */
static struct missed_new *file_find(const struct missed *m, uint64_t dev, uint64_t ino,
				    uint64_t time)
{
	for (uint32_t i = 0; i < m->files.len; i++) {
		struct missed_new *f = &m->files.data[i];

		if (f->ino == ino && f->dev == dev && (!f->placed_at || time < f->placed_at))
			return f;
	}
	return NULL;
}

static void guest_add(struct missed *m, uint64_t pid, uint32_t file, bool is_child)
{
	for (uint32_t i = m->guests.len; i-- > 0;)
		if (m->guests.data[i].pid == pid && m->guests.data[i].file == file)
			return; /* it has mapped several parts of the file */
	if (m->guests.len < GUESTS_MAX)
		vec_push(&m->guests, (struct guest){pid, file, is_child});
}

void missed_mapped(struct missed *m, uint64_t pid, uint64_t dev, uint64_t ino, uint64_t time,
		   bool is_new)
{
	struct missed_new *f = file_find(m, dev, ino, time);

	if (!f && is_new) {
		vec_push(&m->files, (struct missed_new){.dev = dev, .ino = ino});
		f = vec_last(&m->files);
	}
	if (f)
		guest_add(m, pid, (uint32_t)(f - m->files.data), false);
}

void missed_forked(struct missed *m, uint64_t pid, uint64_t parent)
{
	for (uint32_t i = 0, n = m->guests.len; i < n; i++)
		if (m->guests.data[i].pid == parent)
			guest_add(m, pid, m->guests.data[i].file, true);
}

/* A child that executes another program at once has done nothing in the first one. */
void missed_gone(struct missed *m, uint64_t pid, uint64_t time, bool is_end)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < m->guests.len; i++) {
		struct guest g = m->guests.data[i];
		struct missed_new *f = &m->files.data[g.file];

		if (g.pid != pid)
			m->guests.data[n++] = g;
		else if ((is_end || !g.is_child) &&
			 (!f->placed_at || time < f->placed_at + JUST_NS))
			f->ngone++;
	}
	m->guests.len = n;
}

/* ---- what is missed -------------------------------------------------------------------------- */

void missed_look(struct missed *m, uint64_t placed_at,
		 enum missed_file (*ask)(void *ctx, uint64_t dev, uint64_t ino, const char **name),
		 void *ctx)
{
	for (uint32_t i = 0; i < m->files.len; i++) {
		struct missed_new *f = &m->files.data[i];
		const char *name = NULL;

		if (f->placed_at)
			continue;
		f->kind = ask(ctx, f->dev, f->ino, &name);
		f->name = name ? xstrdup(name) : NULL;
		f->placed_at = placed_at;
	}
}

bool missed_is_open(const struct missed *m)
{
	return m->files.len;
}

static void file_say(struct missed *m, const struct missed_new *f, struct report *r)
{
	if (f->kind == MISSED_UNREAD)
		m->nunread += f->ngone;
	if (f->kind == MISSED_PROBED && f->ngone)
		report_adjusted(r,
				"%" PRIu32 " process%s ended before the probes of '%s' were "
				"placed: no process had mapped this file before",
				f->ngone, f->ngone == 1 ? "" : "es", f->name);
}

/* Forgets a file: the guests of later files get the new index of their file. */
static void file_drop(struct missed *m, uint32_t index)
{
	uint32_t n = 0;

	free(m->files.data[index].name);
	for (uint32_t i = 0; i < m->guests.len; i++) {
		struct guest g = m->guests.data[i];

		if (g.file == index)
			continue;
		g.file -= g.file > index;
		m->guests.data[n++] = g;
	}
	m->guests.len = n;
	m->files.len--;
	memmove(&m->files.data[index], &m->files.data[index + 1],
		(m->files.len - index) * sizeof(*m->files.data));
}

static void unread_say(const struct missed *m, struct report *r)
{
	if (m->nunread)
		report_adjusted(r,
				"%" PRIu32
				" process%s ended before a file that %s had mapped could "
				"be opened: whether it has probes is not known",
				m->nunread, m->nunread == 1 ? "" : "es",
				m->nunread == 1 ? "it" : "each of them");
}

void missed_settle(struct missed *m, uint64_t drained_at, bool is_end, struct report *r)
{
	for (uint32_t i = m->files.len; i-- > 0;) {
		const struct missed_new *f = &m->files.data[i];

		if (!f->placed_at || f->placed_at + (is_end ? 0 : JUST_NS) > drained_at)
			continue;
		file_say(m, f, r);
		file_drop(m, i);
	}
	if (is_end)
		unread_say(m, r);
}
