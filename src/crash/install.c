/* SPDX-License-Identifier: MIT */
/* Installs the capturer in the kernel's core_pattern, and restores what was there. */
#include "crash/install.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"
#include "base/text.h"
#include "crash/config.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "crash/server.h"
#include "kernel/btf.h"

#define CAPTURER_NAME "fathom-crash-capture"
#define VALUE_MAX     65536u
/* %F, the descriptor of the process, stands last: kernels that do not know it drop it. */
#define PATTERN_ARGS "pipe %P %I %s %t %d %c %u %g %F"

/* ---- paths and notes ------------------------------------------------------------------------- */

static char *path_of(const char *root, const char *path)
{
	char *full;

	if (asprintf(&full, "%s%s", root, path) < 0)
		oom();
	return full;
}

void crash_paths_make(const char *root, const char *config, const char *store, const char *capturer,
		      struct crash_paths *ret)
{
	root = root ? root : "";
	*ret = (struct crash_paths){
		.root = xstrdup(root),
		.pattern = path_of(root, "/proc/sys/kernel/core_pattern"),
		.modes = path_of(root, "/proc/sys/kernel/core_modes"),
		.types = path_of(root, BTF_KERNEL),
		.pipe_limit = path_of(root, "/proc/sys/kernel/core_pipe_limit"),
		.uses_pid = path_of(root, "/proc/sys/kernel/core_uses_pid"),
		.sysctl = path_of(root, "/etc/sysctl.d/" CRASH_SYSCTL_NAME),
		.config = config ? xstrdup(config) : path_of(root, CRASH_CONFIG),
		.store = store ? xstrdup(store) : path_of(root, CRASH_STORE),
		.capturer = xstrdup(capturer),
	};
	ret->config_name = ret->config + (config ? 0 : strlen(root));
	ret->store_name = ret->store + (store ? 0 : strlen(root));
}

void crash_paths_deinit(struct crash_paths *p)
{
	free(p->root);
	free(p->pattern);
	free(p->modes);
	free(p->types);
	free(p->pipe_limit);
	free(p->uses_pid);
	free(p->sysctl);
	free(p->config);
	free(p->store);
	free(p->capturer);
}

void crash_notes_deinit(crash_notes *notes)
{
	for (uint32_t i = 0; i < notes->len; i++)
		free(notes->data[i]);
	vec_deinit(notes);
}

void crash_note(crash_notes *notes, const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		oom();
	va_end(ap);
	vec_push(notes, text);
}

/* ---- values in /proc/sys --------------------------------------------------------------------- */

struct err *crash_value_read(const char *path, struct strbuf *ret)
{
	return crash_file_read(AT_FDCWD, path, VALUE_MAX, ret);
}

/* Writes a value in one piece, as sysctl(8) does. */
static struct err *value_write(const char *path, const char *text)
{
	CLEANUP(fd) int fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);

	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		return err_hint(err_sys(errno, "cannot write '%s'", path),
				errno == EINVAL ? "the kernel does not know what was written; "
						  "sockets need Linux 6.17"
						: "only root of the machine itself can, not that "
						  "of a container; 'fathom-crash watch' needs no "
						  "such right");
	return NULL;
}

void crash_pattern_make(const struct crash_paths *p, const char *socket, struct strbuf *out)
{
	if (socket) {
		strbuf_addf(out, "@@%s", socket);
		return;
	}
	strbuf_addf(out, "|%s", p->capturer);
	if (strcmp(p->config_name, CRASH_CONFIG) != 0)
		strbuf_addf(out, " config=%s", p->config_name);
	strbuf_addf(out, " %s", PATTERN_ARGS);
}

bool crash_pattern_is_ours(const char *pattern)
{
	size_t len = strcspn(pattern, " \n"), name = strlen(CAPTURER_NAME);
	const char *last = memrchr(pattern, '/', len);

	if (strncmp(pattern, "@@/", 3) == 0)
		return strncmp(last + 1, CAPTURER_NAME, name) == 0;
	return *pattern == '|' && len > name + 1 && pattern[len - name - 1] == '/' &&
	       strncmp(pattern + len - name, CAPTURER_NAME, name) == 0;
}

/* Sets core_pattern; the kernel cuts what is too long, so what it has is read again. */
static struct err *pattern_set(const char *path, const char *text)
{
	struct strbuf now = {0};
	struct err *e = value_write(path, text);

	if (!e)
		e = crash_value_read(path, &now);
	if (!e && strcmp(strbuf_text(&now), text) != 0)
		e = err_new("the kernel has not taken what was written to '%s'", path);
	strbuf_deinit(&now);
	return e;
}

/* ---- what was there before ------------------------------------------------------------------- */

/* The file `install`. Texts are the bytes of files. */
struct record {
	struct strbuf before;	  /* core_pattern */
	struct strbuf pattern;	  /* what we have written */
	struct strbuf config;	  /* what we have written; of it the first install only ... */
	struct strbuf old_config; /* ... what was there before */
	struct strbuf sysctl;	  /* what we have written */
	bool has_old_config;
	VEC(char *) made; /* directories that we have made, outermost first */
};

static void record_deinit(struct record *r)
{
	strbuf_deinit(&r->before);
	strbuf_deinit(&r->pattern);
	strbuf_deinit(&r->config);
	strbuf_deinit(&r->old_config);
	strbuf_deinit(&r->sysctl);
	for (uint32_t i = 0; i < r->made.len; i++)
		free(r->made.data[i]);
	vec_deinit(&r->made);
}

static void text_take(struct strbuf *to, const struct pairs *p, const char *key)
{
	const char *text = pairs_find(p, key);

	if (text)
		strbuf_adds(to, text);
}

/* False: there is no such file, and nothing was installed. */
static struct err *record_read(const struct crash_paths *p, struct record *ret, bool *ret_is_there)
{
	CLEANUP(free) char *path = path_join(p->store, CRASH_STORE_INSTALL);
	struct strbuf text = {0};
	struct pairs pairs = {0};
	struct err *e = crash_file_read(AT_FDCWD, path, 4 * PAIRS_TEXT_MAX, &text);

	*ret_is_there = !e;
	if (e && err_get_sys(e) == ENOENT) {
		err_destroy(e);
		e = NULL;
	}
	pairs_parse(strbuf_text(&text), text.len, &pairs);
	text_take(&ret->before, &pairs, "core_pattern");
	text_take(&ret->pattern, &pairs, "pattern");
	text_take(&ret->config, &pairs, "config");
	text_take(&ret->old_config, &pairs, "old_config");
	text_take(&ret->sysctl, &pairs, "sysctl");
	ret->has_old_config = pairs_find(&pairs, "old_config");
	for (uint32_t i = 0; i < pairs.list.len; i++)
		if (strcmp(pairs.list.data[i].key, "made") == 0)
			vec_push(&ret->made, xstrdup(pairs.list.data[i].value));
	pairs_deinit(&pairs);
	strbuf_deinit(&text);
	return e;
}

static void value_note(struct strbuf *out, const char *key, const char *path)
{
	struct strbuf value = {0};
	struct err *e = crash_value_read(path, &value);

	if (!e)
		pair_write(out, key, strbuf_text(&value));
	err_destroy(e);
	strbuf_deinit(&value);
}

static struct err *record_write(const struct crash_paths *p, const struct record *r)
{
	struct crash_store s = {0};
	struct strbuf text = {0};
	struct err *e = crash_store_open(p->store, &s);

	pair_write_int(&text, "format", CRASH_FORMAT);
	pair_write(&text, "core_pattern", strbuf_text(&r->before));
	value_note(&text, "core_pipe_limit", p->pipe_limit);
	value_note(&text, "core_uses_pid", p->uses_pid);
	pair_write(&text, "pattern", strbuf_text(&r->pattern));
	pair_write(&text, "config_file", p->config);
	pair_write(&text, "config", strbuf_text(&r->config));
	if (r->has_old_config)
		pair_write(&text, "old_config", strbuf_text(&r->old_config));
	pair_write(&text, "sysctl_file", p->sysctl);
	pair_write(&text, "sysctl", strbuf_text(&r->sysctl));
	for (uint32_t i = 0; i < r->made.len; i++)
		pair_write(&text, "made", r->made.data[i]);
	if (!e)
		e = crash_file_write(s.fd, CRASH_STORE_INSTALL, strbuf_text(&text), text.len);
	crash_store_close(&s);
	strbuf_deinit(&text);
	return e;
}

/* ---- installing ------------------------------------------------------------------------------ */

/* Makes a directory and those above it, and remembers them. */
static struct err *folder_make(const char *path, mode_t mode, struct record *r)
{
	CLEANUP(free) char *part = xstrdup(path);

	for (char *slash = part + 1;; slash++) {
		slash = strchrnul(slash, '/');
		char was = *slash;

		*slash = '\0';
		if (mkdir(part, was ? 0755 : mode) == 0)
			vec_push(&r->made, xstrdup(part));
		else if (errno != EEXIST)
			return err_sys(errno, "cannot make the directory '%s'", part);
		if (!was)
			return NULL;
		*slash = was;
	}
}

static struct err *parent_make(const char *path, struct record *r)
{
	CLEANUP(free) char *parent = xstrdup(path);
	char *slash = strrchr(parent, '/');

	if (!slash || slash == parent)
		return NULL;
	*slash = '\0';
	return folder_make(parent, 0755, r);
}

/* Writes a file that everybody may read, in one step. */
static struct err *file_write(const char *path, const struct strbuf *text)
{
	struct err *e = crash_file_write(AT_FDCWD, path, strbuf_text(text), text->len);

	if (!e && chmod(path, 0644) != 0)
		e = err_sys(errno, "cannot change the mode of '%s'", path);
	return e;
}

/* Decides what is to be restored later, and whether another program's crashes are taken over. */
static struct err *before_find(const struct crash_paths *p, const struct crash_wishes *w,
			       struct record *r, struct crash_config *c, crash_notes *notes)
{
	struct strbuf now = {0};
	struct err *e = crash_value_read(p->pattern, &now);
	CLEANUP(free) char *first = NULL;

	if (e)
		return e;
	first = strndup(strbuf_text(&now), strcspn(strbuf_text(&now), "\n"));
	if (!first)
		oom();
	if (crash_pattern_is_ours(first)) {
		if (!r->before.len) {
			strbuf_adds(&r->before, "core\n");
			crash_note(notes, "what was in core_pattern before is not known: "
					  "uninstall will write 'core'");
		}
	} else if (*first == '@') {
		e = err_new("crashes go to the socket '%s' already, and such a handler cannot be "
			    "chained",
			    first);
	} else if (*first == '|' && !w->is_chain) {
		e = err_hint(err_new("crashes go to '%s' already", first + 1),
			     "--chain hands each crash on to it");
	} else {
		strbuf_clear(&r->before);
		strbuf_add(&r->before, strbuf_text(&now), now.len);
		crash_config_set(&c->chain, *first == '|' ? first + 1 : NULL);
		if (*first && *first != '|')
			crash_note(notes,
				   "the kernel wrote cores to files of the name '%s'; it "
				   "does so no more",
				   first);
	}
	strbuf_deinit(&now);
	return e;
}

/* Reads the configuration, whose bytes the first installation remembers. */
static struct err *config_begin(const struct crash_paths *p, bool is_again, struct record *r,
				struct crash_config *ret)
{
	struct strbuf text = {0};
	struct err *e = crash_file_read(AT_FDCWD, p->config, PAIRS_TEXT_MAX, &text);

	if (!e && !is_again) {
		r->has_old_config = true;
		strbuf_add(&r->old_config, strbuf_text(&text), text.len);
	}
	if (e && err_get_sys(e) == ENOENT) {
		err_destroy(e);
		e = NULL;
	}
	strbuf_deinit(&text);
	return e ? e : crash_config_read(p->config, ret);
}

static void wishes_take(const struct crash_paths *p, const struct crash_wishes *w,
			struct crash_config *c)
{
	if (w->keep_core)
		crash_config_set(&c->keep_core, w->keep_core);
	if (w->mail)
		crash_config_set(&c->mail, *w->mail ? w->mail : NULL);
	if (w->post)
		crash_config_set(&c->post, *w->post ? w->post : NULL);
	if (w->env)
		crash_config_set(&c->env, w->env);
	if (w->into_container)
		crash_config_set(&c->into_container, *w->into_container ? w->into_container : NULL);
	if (w->socket)
		crash_config_set(&c->socket, *w->socket ? w->socket : NULL);
	if (w->analyser)
		crash_config_set(&c->analyser, w->analyser);
	crash_config_set(&c->store, p->store_name);
}

/* Makes the texts of all files. */
static struct err *record_fill(const struct crash_paths *p, const struct crash_config *c,
			       struct record *r)
{
	strbuf_clear(&r->pattern);
	crash_pattern_make(p, c->socket, &r->pattern);
	if (r->pattern.len > CRASH_PATTERN_MAX)
		return err_new("core_pattern '%s' would have %zu bytes, and the kernel takes %d",
			       strbuf_text(&r->pattern), r->pattern.len, CRASH_PATTERN_MAX);
	if (c->socket && !crash_pattern_is_ours(strbuf_text(&r->pattern)))
		return err_new("the name of the socket '%s' does not begin with '%s', by which it "
			       "is known as ours",
			       c->socket, CAPTURER_NAME);
	if (strpbrk(p->capturer, " %\n") || strpbrk(p->config_name, " %\n"))
		return err_new("a path in core_pattern has a blank or '%%': '%s', '%s'",
			       p->capturer, p->config_name);
	strbuf_clear(&r->sysctl);
	strbuf_addf(&r->sysctl,
		    "# Written by 'fathom-crash install'; 'fathom-crash uninstall' removes it.\n"
		    "kernel.core_pattern=%s\n",
		    strbuf_text(&r->pattern));
	strbuf_addc(&r->pattern, '\n');
	strbuf_clear(&r->config);
	crash_config_write(c, &r->config);
	return NULL;
}

/* A file of our name that we have not written stays as it is. */
static struct err *sysctl_check(const struct crash_paths *p, const struct record *r)
{
	struct strbuf there = {0};
	struct err *e = crash_value_read(p->sysctl, &there);

	if (e && err_get_sys(e) == ENOENT) {
		err_destroy(e);
		return NULL;
	}
	if (!e && strcmp(strbuf_text(&there), strbuf_text(&r->sysctl)) != 0)
		e = err_hint(err_new("'%s' is there, and was not written by us", p->sysctl),
			     "move it away");
	strbuf_deinit(&there);
	return e;
}

static struct err *all_write(const struct crash_paths *p, const struct crash_config *c,
			     const struct record *r, crash_notes *notes)
{
	struct err *e = record_write(p, r);

	if (!e)
		e = file_write(p->config, &r->config);
	if (!e)
		e = file_write(p->sysctl, &r->sysctl);
	if (!e && c->socket)
		e = crash_server_start(p, c->socket, notes);
	if (e)
		return e;
	e = pattern_set(p->pattern, strbuf_text(&r->pattern));
	if (e && c->socket)
		err_destroy(crash_server_stop(p, c->socket)); /* the first one is told */
	return e;
}

/* Ends the server of an installation whose socket is used no more; NULL: there was none. */
static struct err *server_leave(const struct crash_paths *p, const char *before, const char *now)
{
	return before && !(now && strcmp(before, now) == 0) ? crash_server_stop(p, before) : NULL;
}

/*
 * Kernels without sockets take "@@..." for the name of a file, and say nothing: crashes would be
 * lost. Those with sockets list them.
 */
static struct err *modes_check(const struct crash_paths *p)
{
	struct strbuf modes = {0};
	struct err *e = crash_value_read(p->modes, &modes);
	bool is_old = e ? err_get_sys(e) == ENOENT : !strstr(strbuf_text(&modes), "socket");

	strbuf_deinit(&modes);
	if (!is_old)
		return e;
	err_destroy(e);
	return err_hint(err_new("this kernel cannot hand over a crash by a socket"),
			"sockets need Linux 6.17; without --socket, the kernel starts the "
			"capturer");
}

static struct err *install_run(const struct crash_paths *p, const struct crash_wishes *w,
			       struct record *r, struct crash_config *c, crash_notes *notes)
{
	CLEANUP(free) char *socket_before = NULL;
	bool is_again;
	struct err *e = record_read(p, r, &is_again);

	if (!e)
		e = sysctl_check(p, r);
	if (!e)
		e = config_begin(p, is_again, r, c);
	if (e)
		return e;
	socket_before = c->socket ? xstrdup(c->socket) : NULL;
	wishes_take(p, w, c);
	if (c->socket)
		e = crash_socket_check(c->socket);
	if (!e && c->socket)
		e = modes_check(p);
	if (e)
		return e;
	e = before_find(p, w, r, c, notes);
	if (!e)
		e = record_fill(p, c, r);
	if (!e)
		e = folder_make(p->store, 0700, r);
	if (!e)
		e = crash_folder_check(p->store);
	if (!e)
		e = parent_make(p->config, r);
	if (!e)
		e = parent_make(p->sysctl, r);
	if (!e)
		e = all_write(p, c, r, notes);
	return e ? e : server_leave(p, socket_before, c->socket);
}

struct err *crash_install(const struct crash_paths *p, const struct crash_wishes *w,
			  crash_notes *notes)
{
	struct crash_config c = {0};
	struct record r = {0};
	struct err *e = crash_program_check(p->capturer);

	if (!e)
		e = install_run(p, w, &r, &c, notes);
	crash_config_deinit(&c);
	record_deinit(&r);
	return e ? err_wrap(e, "cannot install") : NULL;
}

/* ---- uninstalling ---------------------------------------------------------------------------- */

/* Removes a file that is still as we have written it, or writes what was there before. */
static struct err *file_restore(const char *path, const struct strbuf *ours,
				const struct strbuf *before, crash_notes *notes)
{
	struct strbuf now = {0};
	struct err *e = crash_file_read(AT_FDCWD, path, PAIRS_TEXT_MAX, &now);

	if (e && err_get_sys(e) == ENOENT) {
		err_destroy(e);
		e = NULL;
	} else if (!e && strcmp(strbuf_text(&now), strbuf_text(ours)) != 0 &&
		   !(before && strcmp(strbuf_text(&now), strbuf_text(before)) == 0)) {
		crash_note(notes, "'%s' was changed since, and stays as it is", path);
	} else if (!e && before) {
		e = file_write(path, before);
	} else if (!e && unlink(path) != 0) {
		e = err_sys(errno, "cannot remove '%s'", path);
	}
	strbuf_deinit(&now);
	return e;
}

static struct err *pattern_restore(const struct crash_paths *p, const struct record *r,
				   crash_notes *notes)
{
	struct strbuf now = {0};
	struct err *e = crash_value_read(p->pattern, &now);

	if (!e && crash_pattern_is_ours(strbuf_text(&now)))
		e = pattern_set(p->pattern, strbuf_text(&r->before));
	else if (!e && strcmp(strbuf_text(&now), strbuf_text(&r->before)) != 0)
		crash_note(notes, "core_pattern was changed since, and stays as it is: %.*s",
			   (int)strcspn(strbuf_text(&now), "\n"), strbuf_text(&now));
	strbuf_deinit(&now);
	return e;
}

/* Removes the captures, and what belongs to none. */
static struct err *store_purge(const struct crash_store *s)
{
	static const char *const folders[] = {CRASH_STORE_COUNTS, CRASH_STORE_QUEUE};
	crash_entries all = {0};
	struct err *e = crash_entries_read(s, &all);

	for (uint32_t i = 0; i < all.len && !e; i++)
		if (!crash_tree_remove(s->fd, all.data[i].id))
			e = err_sys(errno, "cannot remove crash '%s'", all.data[i].id);
	crash_entries_deinit(&all);
	for (uint32_t i = 0; i < ARRAY_LEN(folders); i++)
		(void)crash_tree_remove(s->fd, folders[i]); /* it need not be there */
	return e;
}

/* Directories that have other files by now stay. */
static struct err *store_leave(const struct crash_paths *p, bool is_purge, const struct record *r,
			       crash_notes *notes)
{
	static const char *const files[] = {CRASH_STORE_LOCK, CRASH_STORE_TALLY, CRASH_STORE_MAIL,
					    CRASH_STORE_LATER};
	struct crash_store s = {0};
	crash_entries all = {0};
	struct err *e = crash_store_open(p->store, &s);

	if (!e && is_purge)
		e = store_purge(&s);
	if (!e)
		e = crash_entries_read(&s, &all);
	if (e) {
		crash_store_close(&s);
		return e;
	}
	if (all.len)
		crash_note(notes, "%u crash%s in '%s'; --purge removes %s", all.len,
			   WORD_FOR(all.len, " stays", "es stay"), p->store,
			   WORD_FOR(all.len, "it", "them"));
	(void)unlinkat(s.fd, CRASH_STORE_INSTALL, 0);
	for (uint32_t i = 0; i < ARRAY_LEN(files) && !all.len; i++)
		(void)unlinkat(s.fd, files[i], 0); /* it need not be there */
	crash_entries_deinit(&all);
	crash_store_close(&s);
	for (uint32_t i = r->made.len; i--;)
		(void)rmdir(r->made.data[i]);
	return NULL;
}

struct err *crash_uninstall(const struct crash_paths *p, bool is_purge, crash_notes *notes)
{
	struct crash_config c = {0};
	struct record r = {0};
	bool is_there = false;
	struct err *e = record_read(p, &r, &is_there);

	if (!e && !is_there && is_purge)
		return store_leave(p, true, &r, notes);
	if (!e && !is_there)
		e = err_hint(err_new("nothing was installed: '%s' has no file '%s'", p->store,
				     CRASH_STORE_INSTALL),
			     "'fathom-crash status' says what is there");
	if (!e)
		e = crash_config_read(p->config, &c);
	if (!e)
		e = pattern_restore(p, &r, notes);
	if (!e)
		e = server_leave(p, c.socket, NULL);
	if (!e)
		e = file_restore(p->sysctl, &r.sysctl, NULL, notes);
	if (!e)
		e = file_restore(p->config, &r.config, r.has_old_config ? &r.old_config : NULL,
				 notes);
	if (!e)
		e = store_leave(p, is_purge, &r, notes);
	crash_config_deinit(&c);
	record_deinit(&r);
	return e ? err_wrap(e, "cannot uninstall") : NULL;
}
