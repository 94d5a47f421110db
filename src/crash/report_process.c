/* SPDX-License-Identifier: MIT */
/* What /proc knew of the process, in a report: maps, files, limits, environment, log. */
#include <ctype.h>
#include <inttypes.h>

#include "crash/redact.h"
#include "crash/report.h"

#define TEXT_MAX  (4u << 20) /* bytes of a file of /proc */
#define MAPS_MAX  2000u
#define FILES_MAX 1000u
#define VARS_MAX  1000u
#define ARGS_MAX  1000u
#define VALUE_MAX 4096u
#define LOG_LINES 20u
#define LOG_LINE  1000u

/* Calls f for each part of a file between separators, at most max; returns how many there are. */
static uint32_t
parts_each(struct crash_report *r, enum crash_file which, char separator, uint32_t max,
	   void (*f)(struct crash_report *r, const char *part, size_t len, void *ctx), void *ctx)
{
	struct strbuf text = {0};
	const char *at, *end;
	uint32_t n = 0;

	(void)crash_input_text(r->in, which, TEXT_MAX, &text); /* all that is there */
	at = strbuf_text(&text);
	end = at + text.len;
	while (at < end) {
		const char *next = memchr(at, separator, (size_t)(end - at));
		size_t len = (size_t)((next ? next : end) - at);

		if (n++ < max)
			f(r, at, len, ctx);
		at += len + 1;
	}
	strbuf_deinit(&text);
	return n;
}

static void left_out_say(struct crash_report *r, const char *what, uint32_t n, uint32_t max)
{
	if (n > max)
		doc_say(&r->doc, "  (%u further %s are left out)\n", n - max, what);
}

/* ---- maps ------------------------------------------------------------------------------------ */

void crash_report_maps(struct crash_report *r)
{
	const struct proc_map *fault =
		r->has_signal && r->si.si_code > 0
			? proc_maps_find(&r->maps, (uint64_t)(uintptr_t)r->si.si_addr)
			: NULL;
	uint32_t n = r->maps.maps.len;

	if (!n)
		return;
	doc_open(&r->doc, "maps", '[');
	doc_say(&r->doc, "\nmaps\n");
	for (uint32_t i = 0; i < MIN(n, MAPS_MAX); i++) {
		const struct proc_map *map = &r->maps.maps.data[i];
		char rights[4] = {map->is_write ? 'w' : '-', map->is_exec ? 'x' : '-',
				  map->is_shared ? 's' : 'p', '\0'};

		doc_open(&r->doc, NULL, '{');
		doc_addr(&r->doc, "start", map->start);
		doc_addr(&r->doc, "end", map->end);
		doc_str(&r->doc, "rights", rights);
		doc_addr(&r->doc, "offset", map->off);
		doc_str(&r->doc, "path", map->path);
		doc_say(&r->doc, "%s %12" PRIx64 "-%-12" PRIx64 " %s %8" PRIx64 " ",
			map == fault ? "=>" : "  ", map->start, map->end, rights, map->off);
		doc_tells(&r->doc, map->path);
		doc_say(&r->doc, "\n");
		doc_close(&r->doc, '}');
	}
	doc_close(&r->doc, ']');
	left_out_say(r, "maps", n, MAPS_MAX);
}

/* ---- files and limits ------------------------------------------------------------------------ */

/* "N\tTARGET\tPOS\tFLAGS" */
static void file_add(struct crash_report *r, const char *line, size_t len, void *ctx)
{
	struct strbuf field[4] = {0};

	for (uint32_t i = 0; i < 4; i++) {
		const char *tab = memchr(line, '\t', len);
		size_t n = tab ? (size_t)(tab - line) : len;

		crash_field_add(&field[i], line, n);
		n += tab != NULL;
		line += n;
		len -= n;
	}
	doc_open(&r->doc, NULL, '{');
	doc_int(&r->doc, "fd", strtol(strbuf_text(&field[0]), NULL, 10));
	doc_bytes(&r->doc, "target", strbuf_text(&field[1]), field[1].len);
	doc_bytes(&r->doc, "position", strbuf_text(&field[2]), field[2].len);
	doc_bytes(&r->doc, "flags", strbuf_text(&field[3]), field[3].len);
	doc_close(&r->doc, '}');
	doc_say(&r->doc, "  ");
	doc_tell(&r->doc, strbuf_text(&field[0]), field[0].len);
	doc_say(&r->doc, " ");
	doc_tell(&r->doc, strbuf_text(&field[1]), field[1].len);
	doc_say(&r->doc, "\n");
	for (uint32_t i = 0; i < 4; i++)
		strbuf_deinit(&field[i]);
}

void crash_report_files(struct crash_report *r)
{
	uint32_t n;

	doc_open(&r->doc, "files", '[');
	doc_say(&r->doc, "\nopen files\n");
	n = parts_each(r, CRASH_IN_FD, '\n', FILES_MAX, file_add, NULL);
	doc_close(&r->doc, ']');
	left_out_say(r, "files", n, FILES_MAX);
}

/* "Max cpu time              unlimited            unlimited            seconds" */
static void limit_add(struct crash_report *r, const char *line, size_t len, void *ctx)
{
	char text[256], *name_end, *soft, *hard, *unit, *rest;

	if (len >= sizeof(text) || len < 5 || memcmp(line, "Max ", 4) != 0)
		return;
	memcpy(text, line, len);
	text[len] = '\0';
	name_end = strstr(text, "  ");
	if (!name_end)
		return;
	*name_end = '\0';
	soft = strtok_r(name_end + 1, " ", &rest);
	hard = soft ? strtok_r(NULL, " ", &rest) : NULL;
	unit = hard ? strtok_r(NULL, " ", &rest) : NULL;
	if (!hard)
		return;
	doc_open(&r->doc, NULL, '{');
	doc_str(&r->doc, "name", text + 4);
	doc_str(&r->doc, "soft", soft);
	doc_str(&r->doc, "hard", hard);
	doc_str(&r->doc, "unit", unit ? unit : "");
	doc_close(&r->doc, '}');
	doc_say(&r->doc, "  ");
	doc_tell(&r->doc, line, len);
	doc_say(&r->doc, "\n");
}

void crash_report_limits(struct crash_report *r)
{
	doc_open(&r->doc, "limits", '[');
	doc_say(&r->doc, "\nlimits\n");
	(void)parts_each(r, CRASH_IN_LIMITS, '\n', FILES_MAX, limit_add, NULL);
	doc_close(&r->doc, ']');
}

/* ---- arguments and environment --------------------------------------------------------------- */

static void arg_add(struct crash_report *r, const char *arg, size_t len, void *ctx)
{
	struct strbuf text = {0};

	redact_arg(&text, arg, MIN(len, (size_t)VALUE_MAX), ctx);
	doc_bytes(&r->doc, NULL, strbuf_text(&text), text.len);
	doc_say(&r->doc, " ");
	doc_tell(&r->doc, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
}

void crash_report_arguments(struct crash_report *r)
{
	bool mask_next = false;

	doc_open(&r->doc, "arguments", '[');
	doc_say(&r->doc, "command ");
	(void)parts_each(r, CRASH_IN_CMDLINE, '\0', ARGS_MAX, arg_add, &mask_next);
	doc_close(&r->doc, ']');
	doc_say(&r->doc, "\n");
}

struct environment {
	bool is_withheld; /* which of both are added */
	uint32_t shown, withheld;
};

static void variable_add(struct crash_report *r, const char *text, size_t len, void *ctx)
{
	struct environment *e = ctx;
	const char *equal = memchr(text, '=', len);
	size_t name = equal ? (size_t)(equal - text) : len;
	bool is_shown = equal && (r->opts->all_env || redact_is_harmless(text, name));

	if (!len || is_shown == e->is_withheld)
		return;
	e->shown += is_shown;
	e->withheld += !is_shown;
	if (is_shown) {
		size_t value = MIN(len - name - 1, (size_t)VALUE_MAX);

		doc_open(&r->doc, NULL, '{');
		doc_bytes(&r->doc, "name", text, name);
		doc_bytes(&r->doc, "value", equal + 1, value);
		doc_close(&r->doc, '}');
		doc_say(&r->doc, "  ");
		doc_tell(&r->doc, text, name + 1 + value);
		doc_say(&r->doc, "\n");
	} else {
		name = MIN(name, (size_t)256);
		doc_bytes(&r->doc, NULL, text, name);
		doc_say(&r->doc, "%s", e->withheld > 1 ? " " : "  withheld: ");
		doc_tell(&r->doc, text, name);
	}
}

void crash_report_environment(struct crash_report *r)
{
	struct environment e = {0};

	doc_open(&r->doc, "environment", '{');
	doc_say(&r->doc, "\nenvironment\n");
	doc_open(&r->doc, "shown", '[');
	(void)parts_each(r, CRASH_IN_ENVIRON, '\0', VARS_MAX, variable_add, &e);
	doc_close(&r->doc, ']');
	e.is_withheld = true;
	doc_open(&r->doc, "withheld", '[');
	(void)parts_each(r, CRASH_IN_ENVIRON, '\0', VARS_MAX, variable_add, &e);
	doc_close(&r->doc, ']');
	doc_close(&r->doc, '}');
	if (e.withheld)
		doc_say(&r->doc, "\n");
}

/* ---- the log --------------------------------------------------------------------------------- */

void crash_report_log(struct crash_report *r)
{
	const char *text = strbuf_text(&r->log);
	size_t begin = r->log.len;
	uint32_t n = 0;

	if (begin && text[begin - 1] == '\n')
		begin--;
	while (begin && n < LOG_LINES) {
		while (begin && text[begin - 1] != '\n')
			begin--;
		if (++n < LOG_LINES && begin)
			begin--;
	}
	doc_open(&r->doc, "log", '[');
	if (r->log.len)
		doc_say(&r->doc, "\nthe end of its log\n");
	while (begin < r->log.len) {
		const char *end = memchr(text + begin, '\n', r->log.len - begin);
		size_t len = (size_t)((end ? end : text + r->log.len) - (text + begin));
		size_t shown = MIN(len, (size_t)LOG_LINE);

		doc_bytes(&r->doc, NULL, text + begin, shown);
		doc_say(&r->doc, "  ");
		doc_tell(&r->doc, text + begin, shown);
		doc_say(&r->doc, "%s\n", shown < len ? "..." : "");
		begin += len + 1;
	}
	doc_close(&r->doc, ']');
}
