/* SPDX-License-Identifier: MIT */
/* Posts of reports, and the counter of crashes. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/stat.h>

#include "base/text.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "crash/send.h"

#define CURL	  "/usr/bin/curl"
#define QUEUE_MAX 100u
#define SECONDS	  10

/* ---- posts ----------------------------------------------------------------------------------- */

static bool url_is_good(const char *url)
{
	for (const char *p = url; *p; p++)
		if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f)
			return false;
	return strncmp(url, "http://", 7) == 0 || strncmp(url, "https://", 8) == 0;
}

static struct err *file_post(const struct pairs *config, int fd)
{
	char program[256], url[2048], q[] = "-q", s[] = "-sS", f[] = "-f", time[] = "--max-time",
				      ten[] = "10", proto[] = "--proto", http[] = "=http,https",
				      h[] = "-H", type[] = "Content-Type: application/json",
				      data[] = "--data-binary", in[] = "@-", o[] = "-o",
				      null[] = "/dev/null", end[] = "--";
	char *argv[] = {program, q,    s,  f, time, ten, proto, http, h,
			type,	 data, in, o, null, end, url,	NULL};

	(void)snprintf(program, sizeof(program), "%s", pairs_text(config, "curl", CURL));
	(void)snprintf(url, sizeof(url), "%s", pairs_text(config, CRASH_CONF_POST, ""));
	if (!url_is_good(url))
		return err_hint(err_new("'%s' is no URL to post to", url),
				"the key post= has one that begins with https:// or http://");
	return send_run(&(struct send_program){.argv = argv,
					       .fd = fd,
					       .is_nobody = true,
					       .seconds = SECONDS + 2});
}

static int name_compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

typedef VEC(char *) names;

/* The reports in the queue, the oldest first. */
static void queue_list(int dir, names *ret)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *one;

	if (!d) {
		cleanup_fd(&fd);
		return;
	}
	while ((one = readdir(d)))
		if (one->d_name[0] != '.')
			vec_push(ret, xstrdup(one->d_name));
	(void)closedir(d);
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), name_compare);
}

static int queue_open(const struct crash_store *s)
{
	(void)mkdirat(s->fd, CRASH_STORE_QUEUE, 0700);
	return openat(s->fd, CRASH_STORE_QUEUE, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* Sends until one cannot be sent; those beyond the limit are dropped, the oldest first. */
static struct err *queue_send(const struct pairs *config, int dir)
{
	struct err *e = NULL;
	names list = {0};

	queue_list(dir, &list);
	for (uint32_t i = 0; i < list.len; i++) {
		bool is_dropped = list.len - i > QUEUE_MAX;
		CLEANUP(fd) int fd = is_dropped || e ? -1 : crash_file_open(dir, list.data[i]);

		if (fd >= 0)
			e = file_post(config, fd);
		if (is_dropped || (fd >= 0 && !e))
			(void)unlinkat(dir, list.data[i], 0);
		free(list.data[i]);
	}
	vec_deinit(&list);
	return e;
}

struct err *crash_post_waiting(const struct crash_store *s, const struct pairs *config)
{
	CLEANUP(fd) int dir = *pairs_text(config, CRASH_CONF_POST, "") ? queue_open(s) : -1;

	return dir < 0 ? NULL : queue_send(config, dir);
}

struct err *crash_post(const struct crash_store *s, const struct pairs *config, const char *id,
		       const char *json, size_t len)
{
	CLEANUP(fd) int dir = -1;
	struct err *e;

	if (!*pairs_text(config, CRASH_CONF_POST, ""))
		return NULL;
	dir = queue_open(s);
	if (dir < 0)
		return err_sys(errno, "cannot open the queue of posts");
	e = crash_file_write(dir, id, json, len);
	return e ? e : queue_send(config, dir);
}

/* ---- the counter ----------------------------------------------------------------------------- */

static void label_add(struct strbuf *out, const char *text)
{
	struct strbuf clean = {0};

	text_escape(&clean, text, strnlen(text, 512));
	for (size_t i = 0; i < clean.len; i++) {
		if (clean.data[i] == '\\' || clean.data[i] == '"')
			strbuf_addc(out, '\\');
		strbuf_addc(out, clean.data[i]);
	}
	strbuf_deinit(&clean);
}

/* Adds the lines of the file, one of them with one more; a series that is new is added. */
static void series_count(const struct strbuf *before, const char *series, struct strbuf *out)
{
	size_t len = strlen(series);
	bool is_found = false;

	for (const char *at = strbuf_text(before); *at;) {
		size_t n = strcspn(at, "\n");

		if (n > len && memcmp(at, series, len) == 0 && at[len] == ' ') {
			strbuf_addf(out, "%s %" PRIu64 "\n", series,
				    (uint64_t)strtoull(at + len, NULL, 10) + 1);
			is_found = true;
		} else if (strncmp(at, "fathom_crashes_total{", 21) == 0) {
			strbuf_add(out, at, n);
			strbuf_addc(out, '\n');
		}
		at += n + (at[n] == '\n');
	}
	if (!is_found)
		strbuf_addf(out, "%s 1\n", series);
}

/* Counts in a file of a directory, which is replaced in one step. */
static struct err *tally_write(int dir, const char *name, const struct crash_news *n, mode_t mode)
{
	struct strbuf before = {0}, after = {0}, series = {0};
	const char *since;
	struct err *e;

	err_destroy(crash_file_read(dir, name, CRASH_TALLY_MAX, &before)); /* it is new */
	strbuf_adds(&series, CRASH_TALLY_NAME "{exe=\"");
	label_add(&series, n->exe);
	strbuf_addf(&series, "\",signal=\"%s\"}", n->signal);
	since = strstr(strbuf_text(&before), "\n" CRASH_TALLY_SINCE);
	since = since ? since + strlen("\n" CRASH_TALLY_SINCE) : NULL;
	strbuf_addf(&after,
		    "# HELP " CRASH_TALLY_NAME " Crashes of which there is a report.\n"
		    "# TYPE " CRASH_TALLY_NAME " counter\n" CRASH_TALLY_SINCE "%llu\n",
		    since ? strtoull(since, NULL, 10) : (unsigned long long)n->time_ns);
	series_count(&before, strbuf_text(&series), &after);
	e = after.len > CRASH_TALLY_MAX ? NULL : crash_file_write(dir, name, after.data, after.len);
	if (!e && mode != 0600 && fchmodat(dir, name, mode, 0) != 0)
		e = err_sys(errno, "cannot change the mode of '%s'", name);
	strbuf_deinit(&before);
	strbuf_deinit(&after);
	strbuf_deinit(&series);
	return e;
}

struct err *crash_tally(const struct crash_store *s, const struct pairs *config,
			const struct crash_news *n)
{
	const char *path = pairs_text(config, "metrics", "");
	CLEANUP(free) char *folder = NULL;
	CLEANUP(fd) int dir = -1;
	struct err *e = tally_write(s->fd, CRASH_STORE_TALLY, n, 0600);

	if (!*path || e)
		return e;
	folder = xstrdup(path);
	if (*path != '/' || !*basename(path))
		return err_new("'%s' is no absolute path of a file for metrics", path);
	folder[strlen(path) - strlen(basename(path))] = '\0';
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? err_sys(errno, "cannot write metrics to '%s'", path)
		       : tally_write(dir, basename(path), n, 0644);
}
