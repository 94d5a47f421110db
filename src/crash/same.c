/* SPDX-License-Identifier: MIT */
/* Merges equal crashes. */
#include "crash/same.h"

#include <errno.h>
#include <inttypes.h>
#include <sys/file.h>
#include <time.h>

#include "crash/entries.h"
#include "crash/format.h"

#define SAME_MAX 4096u /* bytes of the file */

/* Whether an entry is the one that its equals are counted at. */
static bool is_first(const struct crash_store *s, const char *id)
{
	CLEANUP(fd) int dir = crash_entry_open(s, id);
	CLEANUP(fd) int same = dir >= 0 ? crash_file_open(dir, CRASH_FILE_SAME) : -1;

	return same >= 0;
}

/* The other entry with this signature at which equal ones are counted; NULL: there is none. */
static const struct crash_entry *first_find(const struct crash_store *s, const crash_entries *all,
					    const char *id, const char *signature, int64_t uid)
{
	const struct crash_entry *first = NULL;

	for (uint32_t i = 0; i < all->len; i++) {
		const struct crash_entry *c = &all->data[i];
		const char *other = pairs_find(&c->analysed, "signature");

		if (other && strcmp(other, signature) == 0 && strcmp(c->id, id) != 0 &&
		    pairs_int(&c->capture, CRASH_KEY_UID, -1) == uid &&
		    (!first || c->time_ns < first->time_ns) && is_first(s, c->id))
			first = c;
	}
	return first;
}

/*
 * The time of another entry that is newer than time_ns; 0: it is older, or gone. A time that has
 * not come yet is of a clock that was wrong.
 */
static int64_t newer_time(const crash_entries *all, const char *id, int64_t time_ns)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	for (uint32_t i = 0; i < all->len; i++)
		if (strcmp(all->data[i].id, id) == 0 && all->data[i].time_ns > time_ns &&
		    all->data[i].time_ns <= now.tv_sec * INT64_C(1000000000) + now.tv_nsec)
			return all->data[i].time_ns;
	return 0;
}

/*
 * Counts the entry id at the first one. Equal crashes are analysed beside each other and come here
 * in any order: the newest keeps its entry, and an older one that comes behind it loses its own.
 */
static struct err *count_add(const struct crash_store *s, const crash_entries *all,
			     const char *first, const char *id, int64_t time_ns,
			     uint64_t *ret_count, char ret_id[CRASH_ID_MAX + 1])
{
	CLEANUP(fd) int dir = crash_entry_open(s, first);
	struct strbuf before = {0}, after = {0};
	const char *last, *newest = id, *older;
	struct pairs same = {0};
	int64_t newer = 0;
	struct err *e;

	e = crash_file_read(dir, CRASH_FILE_SAME, SAME_MAX, &before);
	err_destroy(e); /* it is the second one */
	pairs_parse(strbuf_text(&before), before.len, &same);
	*ret_count = (uint64_t)MAX(pairs_int(&same, "count", 1), (int64_t)1) + 1;
	older = last = pairs_find(&same, "last_id");
	if (last)
		newer = newer_time(all, last, time_ns);
	if (newer) {
		newest = last;
		older = id;
	}
	pair_write_int(&after, "count", (int64_t)*ret_count);
	pair_write_int(&after, "last_time_ns", newer ? newer : time_ns);
	pair_write(&after, "last_id", newest);
	e = crash_file_write(dir, CRASH_FILE_SAME, strbuf_text(&after), after.len);
	if (!e && older && crash_id_is_good(older) && strcmp(older, first) != 0 &&
	    strcmp(older, newest) != 0)
		(void)crash_tree_remove(s->fd, older); /* gc tries again */
	if (!e)
		(void)snprintf(ret_id, CRASH_ID_MAX + 1, "%s", newest);
	pairs_deinit(&same);
	strbuf_deinit(&before);
	strbuf_deinit(&after);
	return e;
}

static struct err *first_make(const struct crash_store *s, const char *id)
{
	CLEANUP(fd) int dir = crash_entry_open(s, id);
	static const char text[] = "count=1\n";

	return dir < 0 ? err_sys(errno, "cannot open crash '%s'", id)
		       : crash_file_write(dir, CRASH_FILE_SAME, text, sizeof(text) - 1);
}

/*
 * Equal crashes may be analysed at the same time: the first one that comes here gets a file `same`,
 * at which the others count themselves, one after the other.
 */
struct err *crash_same_merge(const struct crash_store *s, const char *id, const char *signature,
			     int64_t uid, int64_t time_ns, uint64_t *ret_count,
			     char ret_id[CRASH_ID_MAX + 1])
{
	const struct crash_entry *first;
	crash_entries all = {0};
	struct err *e;

	(void)snprintf(ret_id, CRASH_ID_MAX + 1, "%s", id);
	if (flock(s->fd, LOCK_EX) != 0)
		return err_sys(errno, "cannot lock '%s'", s->path);
	e = crash_entries_read(s, &all);
	if (!e) {
		first = first_find(s, &all, id, signature, uid);
		*ret_count = 1;
		e = first ? count_add(s, &all, first->id, id, time_ns, ret_count, ret_id)
			  : first_make(s, id);
	}
	crash_entries_deinit(&all);
	(void)flock(s->fd, LOCK_UN);
	return e;
}
