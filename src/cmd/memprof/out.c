/* SPDX-License-Identifier: MIT */
/* Rows as a table, or as objects of JSON. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/text.h"
#include "memprof.h"

void size_text(char *buf, size_t size, int64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB"};
	double v = (double)bytes;
	size_t u = 0;

	while ((v >= 999.95 || v <= -999.95) && u + 1 < sizeof(units) / sizeof(units[0])) {
		v /= 1000;
		u++;
	}
	(void)snprintf(buf, size, u ? "%.1f %s" : "%.0f %s", v, units[u]);
}

static bool is_shown(const struct report *r, const struct row *row)
{
	return !r->is_difference || row->grown || row->grown_count;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void time_add(struct strbuf *b)
{
	struct timespec now;
	struct tm tm;
	char text[32];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &tm);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &tm);
	strbuf_addf(b, "\"%s.%03ldZ\"", text, now.tv_nsec / 1000000);
}

void lines_add(struct strbuf *b, const char *text, bool wants_keys)
{
	const char *sep = "";

	for (const char *line = text; *line; line = strchr(line, '\n') + 1) {
		size_t len = strcspn(line, "\n") - 1;

		if ((line[0] == LINE_KEY) != wants_keys)
			continue;
		strbuf_adds(b, sep);
		sep = ", ";
		strbuf_adds(b, line[0] == LINE_LANGUAGE ? "{\"language\": " : "");
		json_quote(b, line + 1, len);
		strbuf_adds(b, line[0] == LINE_LANGUAGE ? "}" : "");
	}
}

/* Adds a row of memprof objects, whose keys are file, line and class. */
static void object_json_add(struct strbuf *b, const struct report *r, const struct row *row)
{
	const char *file = row->text + 1, *line = strchr(file, '\n') + 2;
	uint64_t addr = strtoull(strchr(line, '\n') + 2, NULL, 10);
	const char *name = r->tracing->class_name(addr, r->tracing->arg);

	strbuf_addf(b, ", \"count\": %lld", (long long)row->bytes);
	if (r->is_difference)
		strbuf_addf(b, ", \"grown\": %lld", (long long)row->grown);
	strbuf_adds(b, ", \"file\": ");
	json_quote(b, file, strcspn(file, "\n"));
	strbuf_addf(b, ", \"line\": %.*s, \"class\": ", (int)strcspn(line, "\n"), line);
	if (name)
		json_quote(b, name, strlen(name));
	else
		strbuf_adds(b, "null");
	strbuf_adds(b, "}\n");
}

static void place_json_add(struct strbuf *b, const struct report *r, const struct row *row)
{
	strbuf_addf(b, ", \"%s\": %lld", r->tracing->unit ? r->tracing->unit : "bytes",
		    (long long)row->bytes);
	if (r->tracing->count)
		strbuf_addf(b, ", \"count\": %lld", (long long)row->count);
	if (r->is_difference)
		strbuf_addf(b, ", \"grown\": %lld", (long long)row->grown);
	if (r->is_difference && r->tracing->count)
		strbuf_addf(b, ", \"grown_count\": %lld", (long long)row->grown_count);
	if (strchr(row->text, LINE_KEY) == row->text) {
		strbuf_adds(b, ", \"keys\": [");
		lines_add(b, row->text, true);
		strbuf_addc(b, ']');
	}
	strbuf_adds(b, ", \"stack\": [");
	lines_add(b, row->text, false);
	strbuf_adds(b, "]}\n");
}

static void json_print(const struct memprof *m, const struct report *r)
{
	struct strbuf stamp = {0};

	time_add(&stamp);
	for (size_t i = 0, n = 0; i < r->rows->n && (!m->top || n < m->top); i++) {
		const struct row *row = &r->rows->rows[i];
		struct strbuf b = {0};

		if (!is_shown(r, row))
			continue;
		n++;
		strbuf_addf(&b, "{\"time\": %s, \"pid\": %d", stamp.data, (int)m->pid);
		if (r->tracing->is_objects)
			object_json_add(&b, r, row);
		else
			place_json_add(&b, r, row);
		(void)fwrite(b.data, 1, b.len, stdout);
		strbuf_deinit(&b);
	}
	strbuf_deinit(&stamp);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static void value_text(const struct report *r, char *buf, size_t size, int64_t value)
{
	if (r->tracing->unit)
		(void)snprintf(buf, size, "%lld", (long long)value);
	else
		size_text(buf, size, value);
}

static void row_print(const struct report *r, const struct row *row)
{
	char bytes[32];
	int indent = 12;
	bool is_first = true;

	value_text(r, bytes, sizeof(bytes), row->grown);
	printf("%10s", bytes);
	if (r->tracing->count) {
		printf(" %9lld", (long long)row->grown_count);
		indent += 10;
	}
	for (const char *line = row->text; *line; line = strchr(line, '\n') + 1) {
		printf("%*s%.*s\n", is_first ? 2 : indent + 2, "", (int)strcspn(line, "\n") - 1,
		       line + 1);
		is_first = false;
	}
}

/* "   1000 test.rb:10:String": the keys are file, line and class. */
static void object_print(const struct report *r, const struct row *row)
{
	const char *file = row->text + 1, *line = strchr(file, '\n') + 2;
	const char *class = strchr(line, '\n') + 2;
	uint64_t addr = strtoull(class, NULL, 10);
	const char *name = r->tracing->class_name(addr, r->tracing->arg);
	struct strbuf b = {0};

	if (name)
		text_escape(&b, name, strlen(name));
	else
		strbuf_addf(&b, "class 0x%llx", (unsigned long long)addr);
	if (*file == '\n') /* no method of Ruby was running */
		printf("%7lld (no line):%s\n", (long long)row->grown, b.data);
	else
		printf("%7lld %.*s:%.*s:%s\n", (long long)row->grown, (int)strcspn(file, "\n"),
		       file, (int)strcspn(line, "\n"), line, b.data);
	strbuf_deinit(&b);
}

/* There is no row. */
static void nothing_print(const struct tracing *t)
{
	say("%s", t->nothing);
	if (t->hint)
		fprintf(stderr, "hint: %s\n", t->hint);
}

static void objects_print(const struct memprof *m, const struct report *r)
{
	size_t nshown = 0, nmore = 0;
	int64_t rest = 0;

	for (size_t i = 0; i < r->rows->n; i++) {
		const struct row *row = &r->rows->rows[i];

		if (!is_shown(r, row))
			continue;
		if (m->top && nshown == m->top) {
			nmore++;
			rest += row->grown;
			continue;
		}
		object_print(r, row);
		nshown++;
	}
	if (nmore)
		printf("... %zu more row%s, %lld object%s\n", nmore, PLURAL(nmore), (long long)rest,
		       PLURAL(rest));
	if (!nshown && !r->is_difference)
		nothing_print(r->tracing);
	if (r->is_difference)
		putchar('\n');
}

static void table_print(const struct memprof *m, const struct report *r)
{
	size_t nshown = 0, nall = 0;
	int64_t total = 0, rest = 0;
	char text[32];

	for (size_t i = 0; i < r->rows->n; i++)
		if (is_shown(r, &r->rows->rows[i])) {
			nall++;
			total += r->rows->rows[i].grown;
		}
	if (!nall && !r->is_difference) {
		nothing_print(r->tracing);
		return;
	}
	printf("%10s", r->is_difference ? "GROWN" : r->tracing->unit ? "SAMPLES" : "BYTES");
	if (r->tracing->count)
		printf(" %9s", r->tracing->count);
	printf("  PLACE\n");
	for (size_t i = 0; i < r->rows->n; i++) {
		const struct row *row = &r->rows->rows[i];

		if (!is_shown(r, row))
			continue;
		if (m->top && nshown == m->top) {
			rest += row->grown;
			continue;
		}
		row_print(r, row);
		nshown++;
	}
	if (nall > nshown) {
		value_text(r, text, sizeof(text), rest);
		printf("... %zu more row%s, %s\n", nall - nshown, PLURAL(nall - nshown), text);
	}
	value_text(r, text, sizeof(text), total);
	printf("%10s  in %zu place%s, for %.1f s\n", text, nall, nall == 1 ? "" : "s", r->seconds);
	if (r->is_difference)
		putchar('\n');
}

void report_print(const struct memprof *m, const struct report *r)
{
	if (m->is_json)
		json_print(m, r);
	else if (r->tracing->is_objects)
		objects_print(m, r);
	else
		table_print(m, r);
	(void)fflush(stdout);
}
