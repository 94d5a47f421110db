/* SPDX-License-Identifier: MIT */
/* Finds out whether crashes are captured. */
#include "crash/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/str.h"
#include "crash/config.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "crash/gc.h"
#include "crash/server.h"
#include "kernel/btf.h"

/* Makes a problem of an error, which ends here. */
static void problem_add(struct crash_status *s, struct err *e)
{
	if (!e)
		return;
	if (err_get_hint(e))
		crash_note(&s->problems, "%s (%s)", err_text(e), err_get_hint(e));
	else
		crash_note(&s->problems, "%s", err_text(e));
	err_destroy(e);
}

/* Returns the first line of a file; NULL: there is no such file. */
static char *line_read(struct crash_status *s, const char *path)
{
	struct strbuf text = {0};
	struct err *e = crash_value_read(path, &text);
	char *line = e ? NULL : strndup(strbuf_text(&text), strcspn(strbuf_text(&text), "\n"));

	if (e && err_get_sys(e) == ENOENT)
		err_destroy(e);
	else
		problem_add(s, e);
	strbuf_deinit(&text);
	return line;
}

/*
 * Whether a struct of the kernel's has a member. A kernel without types of its own is taken for one
 * that has not.
 */
static bool kernel_has_member(const char *path, const char *name, const char *member)
{
	struct btf_file *f = NULL;
	uint32_t id = 0;
	struct err *e = btf_file_open_for(path, BTF_FIND_STRUCT, name, &f, &id);
	const struct btf_type *t = !e && id ? btf_file_type(f, id) : NULL;
	const struct btf_member *m = t ? (const struct btf_member *)(t + 1) : NULL;
	bool has = false;

	for (uint32_t i = 0; t && i < BTF_INFO_VLEN(t->info) && !has; i++)
		has = strcmp(btf_file_str(f, m[i].name_off), member) == 0;
	btf_file_close(f);
	err_destroy(e);
	return has;
}

/*
 * Kernels that list their ways know %F. Before, the process whose descriptor %F is has a place in
 * the parameters of a dump: Linux b5325b2a270f ("coredump: hand a pidfd to the usermode coredump
 * helper"), v6.16, which later releases of long-term kernels have got, too.
 */
static const char *way_find(struct crash_status *s, const struct crash_paths *p)
{
	CLEANUP(free) char *list = line_read(s, p->modes);

	return list || kernel_has_member(p->types, "coredump_params", "pid") ? "pidfd" : "pipe";
}

/* ---- sysctl.d -------------------------------------------------------------------------------- */

static bool sets_pattern(const char *path)
{
	struct strbuf text = {0};
	struct err *e = crash_value_read(path, &text);
	CLEANUP(free) char *copy = xstrdup(strbuf_text(&text));
	char *save = NULL;
	bool is_set = false;

	err_destroy(e); /* a file that cannot be read sets nothing */
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		line += strspn(line, " \t-");
		is_set |= strncmp(line, "kernel.core_pattern", 19) == 0 ||
			  strncmp(line, "kernel/core_pattern", 19) == 0;
	}
	strbuf_deinit(&text);
	return is_set;
}

/* Files of sysctl.d are read in the order of their names, whatever their directory. */
static void later_files_find(struct crash_status *s, const char *root)
{
	static const char *const folders[] = {"/etc/sysctl.d", "/run/sysctl.d",
					      "/usr/local/lib/sysctl.d", "/usr/lib/sysctl.d"};

	for (uint32_t i = 0; i < ARRAY_LEN(folders); i++) {
		CLEANUP(free) char *folder = NULL;
		struct dirent *d;
		DIR *dir;

		if (asprintf(&folder, "%s%s", root, folders[i]) < 0)
			oom();
		dir = opendir(folder);
		while (dir && (d = readdir(dir))) {
			size_t len = strlen(d->d_name);
			CLEANUP(free) char *path = path_join(folder, d->d_name);

			if (len > 5 && strcmp(d->d_name + len - 5, ".conf") == 0 &&
			    strcmp(d->d_name, CRASH_SYSCTL_NAME) > 0 && sets_pattern(path))
				crash_note(&s->problems,
					   "'%s' sets core_pattern again when the machine boots",
					   path);
		}
		if (dir)
			(void)closedir(dir);
	}
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void record_look(struct crash_status *s, const struct crash_paths *p)
{
	CLEANUP(free) char *path = path_join(p->store, CRASH_STORE_INSTALL);
	struct strbuf text = {0};
	struct pairs pairs = {0};
	struct err *e = crash_file_read(AT_FDCWD, path, 4 * PAIRS_TEXT_MAX, &text);
	const char *before;

	if (e && err_get_sys(e) == ENOENT)
		err_destroy(e);
	else
		problem_add(s, e);
	pairs_parse(strbuf_text(&text), text.len, &pairs);
	before = pairs_find(&pairs, "core_pattern");
	if (before)
		s->before = strndup(before, strcspn(before, "\n"));
	pairs_deinit(&pairs);
	strbuf_deinit(&text);
}

static void pattern_look(struct crash_status *s, const struct crash_paths *p)
{
	struct strbuf ours = {0};
	CLEANUP(free) char *kept = line_read(s, p->sysctl);

	s->pattern = line_read(s, p->pattern);
	crash_pattern_make(p, s->socket, &ours);
	s->is_installed = s->pattern && strcmp(s->pattern, strbuf_text(&ours)) == 0;
	if (s->pattern && !s->is_installed && crash_pattern_is_ours(s->pattern))
		crash_note(&s->problems,
			   "core_pattern is that of another installation, and not '%s' "
			   "('fathom-crash install' sets it)",
			   strbuf_text(&ours));
	else if (s->pattern && !s->is_installed && s->before)
		crash_note(&s->problems,
			   "core_pattern was changed since the installation, to '%s' "
			   "('fathom-crash install' sets it again)",
			   s->pattern);
	if (s->before && !kept)
		crash_note(&s->problems, "'%s' is missing: the next boot sets another core_pattern",
			   p->sysctl);
	if (s->is_installed || s->before) {
		problem_add(s, crash_program_check(p->capturer));
		if (s->socket && !crash_server_listens(s->socket))
			crash_note(&s->problems,
				   "nobody listens at '%s': crashes are lost ('fathom-crash "
				   "install' starts a server)",
				   s->socket);
		later_files_find(s, p->root);
	}
	strbuf_deinit(&ours);
}

static void config_look(struct crash_status *s, const struct crash_paths *p)
{
	struct crash_config c = {0};
	struct err *e = crash_config_read(p->config, &c);

	problem_add(s, e);
	if (e)
		return;
	for (uint32_t i = 0; i < c.unknown.len; i++)
		crash_note(&s->problems, "'%s': there is no key '%s'", p->config,
			   c.unknown.data[i]);
	s->keep_core = xstrdup(c.keep_core);
	s->socket = c.socket ? xstrdup(c.socket) : NULL;
	if (c.socket)
		s->way = "socket";
	s->chain = c.chain ? xstrdup(c.chain) : NULL;
	if (c.chain) {
		CLEANUP(free) char *program = strndup(c.chain, strcspn(c.chain, " "));

		if (program && access(program, X_OK) != 0)
			crash_note(&s->problems,
				   "crashes are handed on to '%s', which is not there", program);
	}
	if (s->before && strcmp(c.store, p->store_name) != 0)
		crash_note(&s->problems, "'%s' names another store: '%s'", p->config, c.store);
	crash_config_deinit(&c);
}

static void store_look(struct crash_status *s, const struct crash_paths *p)
{
	struct crash_store store = {0};
	struct crash_budget b = {0};
	crash_entries all = {0};
	struct err *e = crash_store_open(p->store, &store);

	if (e && err_get_sys(e) == ENOENT && !s->is_installed) {
		err_destroy(e);
		return;
	}
	if (!e)
		e = crash_folder_check(p->store);
	if (!e)
		e = crash_entries_read(&store, &all);
	if (!e)
		e = crash_budget_read(&store, UINT64_MAX, &b);
	if (!e)
		e = crash_unfinished_count(&store, &s->unfinished);
	problem_add(s, e);
	s->captures = all.len;
	s->newest_ns = all.len ? all.data[0].time_ns : 0;
	for (uint32_t i = 0; i < all.len; i++)
		s->unanalysed += !all.data[i].has_report;
	s->store_bytes = b.used;
	s->budget_bytes = b.limit;
	s->free_bytes = b.disk_free;
	if (b.used > b.limit || b.disk_needed)
		crash_note(&s->problems,
			   "the store has more than its share of the disk ('fathom-crash gc' "
			   "removes the oldest cores)");
	crash_entries_deinit(&all);
	crash_store_close(&store);
}

void crash_status_read(const struct crash_paths *p, struct crash_status *ret)
{
	struct crash_status s = {0};

	s.way = way_find(&s, p);
	record_look(&s, p);
	config_look(&s, p);
	pattern_look(&s, p);
	store_look(&s, p);
	*ret = s;
}

void crash_status_deinit(struct crash_status *s)
{
	free(s->pattern);
	free(s->before);
	free(s->keep_core);
	free(s->socket);
	free(s->chain);
	crash_notes_deinit(&s->problems);
}
