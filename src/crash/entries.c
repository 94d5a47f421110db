/* SPDX-License-Identifier: MIT */
/* Lists the captures of a store, reads one, and finds which one the user means. */
#include "crash/entries.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/format.h"
#include "crash/users.h"

#define ENTRIES_MAX 100000u
#define STAMP_LEN   15 /* of YYYYMMDDTHHMMSS */
#define RANDOM_LEN  6

static bool chars_match(const char *text, size_t len, const char *allowed)
{
	return strspn(text, allowed) >= len;
}

bool crash_id_is_good(const char *id)
{
	static const char digits[] = "0123456789";
	size_t len = strlen(id), pid;

	if (len > CRASH_ID_MAX || len < STAMP_LEN + 1 + 1 + 1 + RANDOM_LEN)
		return false;
	if (!chars_match(id, 8, digits) || id[8] != 'T' || !chars_match(id + 9, 6, digits) ||
	    id[STAMP_LEN] != '-')
		return false;
	pid = strspn(id + STAMP_LEN + 1, digits);
	id += STAMP_LEN + 1 + pid;
	return pid && pid <= 10 && *id == '-' && strlen(id + 1) == RANDOM_LEN &&
	       chars_match(id + 1, RANDOM_LEN, "0123456789abcdef");
}

int crash_entry_open(const struct crash_store *s, const char *id)
{
	if (!crash_id_is_good(id)) {
		errno = ENOENT;
		return -1;
	}
	return openat(s->fd, id, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

int crash_entry_file(const struct crash_store *s, const char *id, const char *name)
{
	CLEANUP(fd) int dir = -1;

	if (s->users)
		return crash_users_open(s->users, id, name);
	dir = crash_entry_open(s, id);
	return dir >= 0 ? crash_file_open(dir, name) : -1;
}

/* Reads a file of pairs; one that is missing or too long has none. */
static void pairs_read(int dir, const char *name, struct pairs *ret)
{
	struct strbuf text = {0};
	struct err *e = crash_file_read(dir, name, PAIRS_TEXT_MAX, &text);

	if (!e)
		pairs_parse(strbuf_text(&text), text.len, ret);
	err_destroy(e);
	strbuf_deinit(&text);
}

static bool file_stat(int dir, const char *name, struct stat *st)
{
	return fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st->st_mode);
}

void crash_entry_number(struct crash_entry *c)
{
	c->time_ns = pairs_int(&c->capture, CRASH_KEY_TIME, 0);
	c->pid = (pid_t)pairs_int(&c->capture, CRASH_KEY_PID, 0);
	c->tid = (pid_t)pairs_int(&c->capture, CRASH_KEY_TID, 0);
	c->signal = (int)pairs_int(&c->capture, CRASH_KEY_SIGNAL, 0);
}

/* Takes one entry of the list that the server gives. */
static struct err *entry_ask(const struct crash_store *s, const char *id, struct crash_entry *ret)
{
	crash_entries all = {0};
	struct err *e = crash_users_list(s->users, &all);
	bool is_there = false;

	for (uint32_t i = 0; i < all.len && !is_there; i++) {
		is_there = strcmp(all.data[i].id, id) == 0;
		if (is_there) {
			*ret = all.data[i];
			all.data[i] = (struct crash_entry){0};
		}
	}
	crash_entries_deinit(&all);
	return e || is_there ? e : err_sys(ENOENT, "cannot read crash '%s'", id);
}

struct err *crash_entry_read(const struct crash_store *s, const char *id, struct crash_entry *ret)
{
	CLEANUP(fd) int dir = s->users ? -1 : crash_entry_open(s, id);
	struct crash_entry c = {0};
	struct pairs same = {0};
	struct stat st;

	if (s->users)
		return entry_ask(s, id, ret);
	if (dir < 0)
		return err_sys(errno, "cannot read crash '%s'", id);
	memcpy(c.id, id, strlen(id) + 1);
	pairs_read(dir, CRASH_FILE_CAPTURE, &c.capture);
	pairs_read(dir, CRASH_FILE_ANALYSED, &c.analysed);
	pairs_read(dir, CRASH_FILE_SAME, &same);
	crash_entry_number(&c);
	c.count = (uint64_t)MAX(pairs_int(&same, "count", 1), (int64_t)1);
	pairs_deinit(&same);
	c.is_packed = file_stat(dir, CRASH_FILE_CORE_ZST, &st);
	if (c.is_packed || file_stat(dir, CRASH_FILE_CORE, &st))
		c.core_size = MAX((uint64_t)st.st_blocks * 512, (uint64_t)1);
	c.has_report = file_stat(dir, CRASH_FILE_REPORT, &st);
	*ret = c;
	return NULL;
}

void crash_entry_deinit(struct crash_entry *c)
{
	pairs_deinit(&c->capture);
	pairs_deinit(&c->analysed);
}

/* Adds the crashes that were counted only to the last entry before them. */
static void counts_add(const struct crash_store *s, crash_entries *all)
{
	int fd = openat(s->fd, CRASH_STORE_COUNTS, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *d;

	if (!dir && fd >= 0)
		(void)close(fd);
	while (dir && (d = readdir(dir))) {
		CLEANUP(fd) int file = crash_file_open(dirfd(dir), d->d_name);
		struct crash_count c;

		if (file < 0 || read(file, &c, sizeof(c)) != sizeof(c) ||
		    c.magic != CRASH_COUNT_MAGIC)
			continue;
		c.last_id[sizeof(c.last_id) - 1] = '\0';
		for (uint32_t i = 0; i < all->len; i++)
			if (strcmp(all->data[i].id, c.last_id) == 0)
				all->data[i].count += c.counted;
	}
	if (dir)
		(void)closedir(dir);
}

static int by_time(const void *a, const void *b)
{
	const struct crash_entry *c = a, *d = b;

	if (c->time_ns != d->time_ns)
		return c->time_ns < d->time_ns ? 1 : -1;
	return -strcmp(c->id, d->id);
}

struct err *crash_entries_read(const struct crash_store *s, crash_entries *ret)
{
	int fd = s->users ? -1 : openat(s->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd >= 0 ? fdopendir(fd) : NULL;
	crash_entries all = {0};
	struct dirent *d;

	if (s->users)
		return crash_users_list(s->users, ret);
	if (!dir) {
		if (fd >= 0)
			(void)close(fd);
		return err_sys(errno, "cannot read '%s'", s->path);
	}
	while (all.len < ENTRIES_MAX && (d = readdir(dir))) {
		struct crash_entry c;
		struct err *e;

		if (!crash_id_is_good(d->d_name))
			continue;
		e = crash_entry_read(s, d->d_name, &c);
		if (!e)
			vec_push(&all, c);
		err_destroy(e); /* it was removed meanwhile, or is no directory */
	}
	(void)closedir(dir);
	counts_add(s, &all);
	if (all.len)
		qsort(all.data, all.len, sizeof(*all.data), by_time);
	*ret = all;
	return NULL;
}

void crash_entries_deinit(crash_entries *all)
{
	for (uint32_t i = 0; i < all->len; i++)
		crash_entry_deinit(&all->data[i]);
	vec_deinit(all);
}

struct err *crash_entry_pick(const struct crash_store *s, const char *word, char *ret_id)
{
	size_t len = strlen(word), digits = strspn(word, "0123456789"), nfound = 0;
	const struct crash_entry *found = NULL;
	crash_entries all = {0};
	struct err *e = crash_entries_read(s, &all);

	if (e)
		return e;
	for (uint32_t i = 0; i < all.len && !found; i++)
		if (strcmp(word, "last") == 0 ||
		    (digits && digits == len && strtoll(word, NULL, 10) == all.data[i].pid))
			found = &all.data[i];
	for (uint32_t i = 0; i < all.len && !found && len; i++)
		nfound += strncmp(all.data[i].id, word, len) == 0;
	for (uint32_t i = 0; i < all.len && !found && nfound == 1; i++)
		if (strncmp(all.data[i].id, word, len) == 0)
			found = &all.data[i];
	if (found)
		memcpy(ret_id, found->id, sizeof(found->id));
	else if (nfound > 1)
		e = err_hint(err_new("%zu crashes have ids that begin with '%s'", nfound, word),
			     "write more of the id; 'fathom-crash list' has them");
	else
		e = err_hint(err_new("there is no crash '%s' in '%s'", word, s->path),
			     "'fathom-crash list' shows what there is");
	crash_entries_deinit(&all);
	return e;
}

const char *crash_entry_text(const struct crash_entry *c, const char *key)
{
	const char *text = pairs_find(&c->capture, key);

	return text ? text : "";
}

const char *crash_signal_name(int signal, char *buf, size_t size)
{
	const char *name = signal > 0 ? sigabbrev_np(signal) : NULL;

	if (name)
		(void)snprintf(buf, size, "SIG%s", name);
	else if (signal > 0)
		(void)snprintf(buf, size, "%d", signal);
	else
		(void)snprintf(buf, size, "-");
	return buf;
}
