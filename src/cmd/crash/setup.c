/* SPDX-License-Identifier: MIT */
/* Subcommands that change, look at or serve the installation. */
#include <inttypes.h>
#include <limits.h>
#include <unistd.h>

#include "cmd.h"
#include "crash/gc.h"
#include "crash/status.h"
#include "crash/users.h"

int install_run(struct run *r)
{
	crash_notes notes = {0};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	struct err *e;

	self[MAX(n, (ssize_t)0)] = '\0';
	if (!r->wishes.analyser)
		r->wishes.analyser = self;
	e = crash_install(&r->paths, &r->wishes, &notes);

	if (e) {
		crash_notes_deinit(&notes);
		return error_report(e);
	}
	notes_say(&notes);
	output_begin(r, "install");
	emit_row(&r->out);
	emit_say(&r->out, "crashes are captured into");
	emit_say(&r->out, " ");
	emit_str(&r->out, "store", r->paths.store, 1);
	emit_str(&r->out, "config", r->paths.config, 0);
	emit_str(&r->out, "sysctl", r->paths.sysctl, 0);
	emit_end(&r->out);
	emit_say(&r->out, "'fathom-crash test' tries it, 'fathom-crash uninstall' undoes it\n");
	return output_end(r);
}

int uninstall_run(struct run *r)
{
	crash_notes notes = {0};
	struct err *e = crash_uninstall(&r->paths, r->is_purge, &notes);

	if (e) {
		crash_notes_deinit(&notes);
		return error_report(e);
	}
	notes_say(&notes);
	output_begin(r, "uninstall");
	emit_say(&r->out, "crashes are captured no more\n");
	return output_end(r);
}

/* ---- status ---------------------------------------------------------------------------------- */

static void line_emit(struct run *r, const char *label, const char *name, const char *text)
{
	emit_say(&r->out, "%-14s", label);
	emit_str(&r->out, name, text ? text : "-", 1);
	emit_say(&r->out, "\n");
}

static void store_emit(struct run *r, const struct crash_status *s)
{
	struct strbuf text = {0};

	bytes_add(&text, s->store_bytes);
	strbuf_addf(&text, " of ");
	bytes_add(&text, s->budget_bytes);
	emit_say(&r->out, "%-14s", "store");
	emit_str(&r->out, "store", r->paths.store, 1);
	emit_say(&r->out, "(%s)\n", s->budget_bytes ? strbuf_text(&text) : "there is none");
	emit_int(&r->out, "store-bytes", (int64_t)s->store_bytes, 0);
	emit_int(&r->out, "budget-bytes", (int64_t)s->budget_bytes, 0);
	emit_int(&r->out, "free-bytes", (int64_t)s->free_bytes, 0);
	strbuf_clear(&text);
	time_add(&text, s->newest_ns);
	emit_say(&r->out, "%-14s", "crashes");
	emit_int(&r->out, "crashes", s->captures, 1);
	emit_int(&r->out, "not-analysed", s->unanalysed, 0);
	emit_int(&r->out, "unfinished", s->unfinished, 0);
	emit_int(&r->out, "newest-ns", s->newest_ns, 0);
	if (s->captures)
		emit_say(&r->out, "(the newest %s; %u not analysed)", strbuf_text(&text),
			 s->unanalysed);
	strbuf_deinit(&text);
}

int status_run(struct run *r)
{
	struct crash_status s;
	int status;

	crash_status_read(&r->paths, &s);
	output_begin(r, "status");
	emit_row(&r->out);
	emit_say(&r->out, "%-14s%s\n", "captured", s.is_installed ? "yes" : "no");
	emit_bool(&r->out, "is-installed", s.is_installed);
	line_emit(r, "core_pattern", "core-pattern", s.pattern);
	line_emit(r, "before", "before", s.before);
	line_emit(r, "way", "way", s.way);
	line_emit(r, "cores", "keep-core", s.keep_core);
	if (s.chain || r->is_json)
		line_emit(r, "handed on to", "chain", s.chain ? s.chain : "");
	store_emit(r, &s);
	emit_list(&r->out, "problems");
	for (uint32_t i = 0; i < s.problems.len; i++)
		emit_list_str(&r->out, s.problems.data[i], strlen(s.problems.data[i]));
	emit_list_end(&r->out);
	emit_end(&r->out);
	status = output_end(r);
	/* they are the user's business first of all, and JSON has them already */
	if (!r->is_json)
		for (uint32_t i = 0; i < s.problems.len; i++)
			say("%s", s.problems.data[i]);
	if (s.problems.len || !s.is_installed)
		status = E_ERROR;
	crash_status_deinit(&s);
	return status;
}

/* ---- serve ----------------------------------------------------------------------------------- */

/* Without a path, systemd has accepted a connection, which is the standard input. */
int serve_run(struct run *r)
{
	struct err *e = r->argc ? crash_users_listen(r->paths.store, r->argv[0])
				: crash_users_answer(r->paths.store, STDIN_FILENO);

	return e ? error_report(e) : E_SUCCESS;
}

/* ---- gc -------------------------------------------------------------------------------------- */

static void removed_emit(void *ctx, const char *id, const char *what, uint64_t bytes)
{
	struct run *r = ctx;
	struct strbuf size = {0};

	bytes_add(&size, bytes);
	emit_row(&r->out);
	emit_str(&r->out, "id", id, -34);
	emit_str(&r->out, "removed", what, -16);
	emit_int(&r->out, "bytes", (int64_t)bytes, 0);
	emit_say(&r->out, "%s", strbuf_text(&size));
	emit_end(&r->out);
	strbuf_deinit(&size);
}

int gc_run(struct run *r)
{
	const struct crash_gc how = {.limit = r->limit,
				     .is_dry = r->is_dry,
				     .removed = removed_emit,
				     .ctx = r};
	struct crash_store s = {0};
	struct err *e = crash_store_open(r->paths.store, &s);
	int status;

	output_begin(r, "gc");
	if (!e)
		e = crash_gc_run(&s, &how);
	crash_store_close(&s);
	status = output_end(r);
	return e ? error_report(e) : status;
}
