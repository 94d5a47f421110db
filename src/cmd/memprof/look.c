/* SPDX-License-Identifier: MIT */
/* Memory as it is: what ways that trace nothing have in common. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "mdb/mdb.h"
#include "mdb/survey.h"
#include "memprof.h"

/* The debugger's commands are not used: what they would write is nothing. */
static bool output_drop(void *ctx, const char *text, size_t len)
{
	(void)ctx;
	(void)text;
	(void)len;
	return true;
}

/* The hint of a message is a line of its own; other line feeds are part of foreign names. */
static void notice_print(void *ctx, const char *text)
{
	static const char between[] = "\nhint: ";
	const char *hint = strstr(text, between);
	struct strbuf b = {0};

	(void)ctx;
	text_escape(&b, text, hint ? (size_t)(hint - text) : strlen(text));
	if (hint) {
		strbuf_adds(&b, between);
		look_text_add(&b, hint + strlen(between));
	}
	say("%s", strbuf_text(&b));
	strbuf_deinit(&b);
}

void look_text_add(struct strbuf *b, const char *text)
{
	text_escape(b, text, strlen(text));
}

void look_fatal(struct memprof *m, struct err *e)
{
	struct strbuf text = {0}, hint = {0};

	look_text_add(&text, err_text(e));
	look_text_add(&hint, err_get_hint(e) ? err_get_hint(e) : "");
	say("%s", strbuf_text(&text));
	if (hint.len)
		fprintf(stderr, "hint: %s\n", hint.data);
	err_destroy(e);
	session_close(m);
	exit(E_ERROR);
}

bool look_is_there(pid_t pid)
{
	char path[32], line[512];
	const char *name_end = NULL;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	if (fgets(line, sizeof(line), f))
		name_end = strrchr(line, ')');
	(void)fclose(f);
	return name_end && !strchr("ZX", name_end[1] ? name_end[2] : 'X');
}

struct mdb *look_open_again(struct memprof *m)
{
	const struct mdb_opts opts = {.core = m->core,
				      .pid = m->pid,
				      .is_copy = !m->core,
				      .write = output_drop,
				      .error = notice_print};
	uint64_t bytes, stopped_ns;
	struct mdb *debugger;
	struct err *e = mdb_open(&opts, &debugger);
	char size[32];

	if (e && !m->core && !look_is_there(m->pid)) {
		err_destroy(e);
		return NULL;
	}
	if (e)
		look_fatal(m, e);
	if (m->is_verbose && mdb_copied(debugger, &bytes, &stopped_ns)) {
		size_text(size, sizeof(size), (int64_t)bytes);
		say("%s were copied, for which the process stood still for %.1f ms", size,
		    (double)stopped_ns / 1e6);
	}
	return debugger;
}

struct mdb *look_open(struct memprof *m)
{
	struct mdb *debugger;

	(void)signal(SIGUSR1, SIG_IGN); /* what it asks for is printed anyway */
	debugger = look_open_again(m);
	if (!debugger)
		say_fatal(m, "there is no process %d, or it has ended", (int)m->pid);
	return debugger;
}

void look_json_begin(const struct memprof *m, struct strbuf *b)
{
	strbuf_adds(b, "{\"time\": ");
	time_add(b);
	if (m->core) {
		strbuf_adds(b, ", \"core\": ");
		json_quote(b, m->core, strlen(m->core));
	} else {
		strbuf_addf(b, ", \"pid\": %d", (int)m->pid);
	}
}

void look_notes_say(const struct survey *s)
{
	for (uint32_t i = 0; i < s->notes.len; i++)
		notice_print(NULL, s->notes.data[i]);
}
