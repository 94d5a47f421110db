/* SPDX-License-Identifier: MIT */
/*
 * The number of crashes by executable and signal, as a metric. fathom-crash keeps the numbers in a
 * file of its store, with lines in the text format of Prometheus:
 * fathom_crashes_total{exe="/srv/bin/x",signal="SIGSEGV"} 3
 *
 * The file is read for each scrape and each push; a line that is not of this form is left out.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/format.h"
#include "metrics.h"

/* Takes a quoted value off the text; NULL: there is none. */
static const char *value_take(const char *at, const char *name, struct strbuf *ret)
{
	size_t len = strlen(name);

	strbuf_clear(ret);
	if (strncmp(at, name, len) != 0 || at[len] != '=' || at[len + 1] != '"')
		return NULL;
	for (at += len + 2; *at && *at != '"' && *at != '\n'; at++) {
		if (*at == '\\' && (at[1] == '\\' || at[1] == '"'))
			at++;
		strbuf_addc(ret, *at);
	}
	return *at == '"' ? at + 1 : NULL;
}

static void line_show(const struct own_metric *m, const char *at, own_func *func, void *arg)
{
	static struct strbuf exe, signal;
	char *end;
	unsigned long long n;

	at = strncmp(at, CRASH_TALLY_NAME "{", strlen(CRASH_TALLY_NAME "{")) == 0
		     ? value_take(at + strlen(CRASH_TALLY_NAME "{"), "exe", &exe)
		     : NULL;
	at = at && *at == ',' ? value_take(at + 1, "signal", &signal) : NULL;
	if (!at || at[0] != '}' || at[1] != ' ')
		return;
	n = strtoull(at + 2, &end, 10);
	if (end != at + 2 && (*end == '\n' || !*end)) {
		char *exe_text = mem_check(strdup(strbuf_text(&exe)));
		const char *values[] = {exe_text, strbuf_text(&signal)};

		utf8_clean(exe_text);
		func(m, values, (double)n, arg);
		free(exe_text);
	}
}

/* Returns the text of the file, or NULL. */
static char *tally_read(const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	char *text = NULL;
	ssize_t n = 0;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size <= CRASH_TALLY_MAX)
		text = mem_check(malloc((size_t)st.st_size + 1));
	if (text)
		n = read(fd, text, (size_t)st.st_size); /* it is replaced, not written to */
	if (text)
		text[n > 0 ? n : 0] = '\0';
	if (fd >= 0)
		(void)close(fd);
	return text;
}

void crashes_visit(struct exporter *x, own_func *func, void *arg)
{
	struct own_metric m = {"fathom_crashes",
			       "Crashes of which fathom-crash has a report",
			       true,
			       {"exe", "signal"},
			       0};
	char *text = *x->config.crashes ? tally_read(x->config.crashes) : NULL;

	for (const char *at = text; at && *at; at = strchrnul(at, '\n'), at += *at == '\n')
		if (strncmp(at, CRASH_TALLY_SINCE, strlen(CRASH_TALLY_SINCE)) == 0)
			m.start_ns = strtoull(at + strlen(CRASH_TALLY_SINCE), NULL, 10);
	for (const char *at = text; at && *at; at = strchrnul(at, '\n'), at += *at == '\n')
		line_show(&m, at, func, arg);
	free(text);
}
