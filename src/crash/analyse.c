/* SPDX-License-Identifier: MIT */
/* Analyses a crash: opens, confines, renames. */
#include "crash/analyse.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "crash/confine.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "crash/into.h"
#include "crash/pack.h"
#include "crash/report.h"
#include "crash/same.h"
#include "crash/scripts.h"
#include "crash/send.h"
#include "files/gate.h"
#include "session/session.h"

#define REPORT_MAX (64u << 20)
#define RESULT_MAX 16384u

/* ---- without rights -------------------------------------------------------------------------- */

struct job {
	struct crash_input in;
	struct crash_scripts scripts;
	bool all_env;
	int json, text, result, packed; /* descriptors of what is written */
};

static bool all_write(int fd, const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(fd, text, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		text += n;
		len -= (size_t)n;
	}
	return true;
}

/*
 * Writes the values by which root finds equal crashes. Root checks each: the analyser may have been
 * taken over by the core file that it reads.
 */
static void result_add(struct strbuf *out, const struct crash_report *r)
{
	struct strbuf text = {0};

	pair_write(out, "signature", r->signature.hash);
	pair_write(out, "where", strbuf_text(&r->signature.where));
	signal_name_add(&text, r->si.si_signo);
	pair_write(out, "signal", strbuf_text(&text));
	if (r->exception.source != EXCEPTION_NONE)
		pair_write(out, "exception",
			   r->exception.class.len ? strbuf_text(&r->exception.class)
						  : r->exception.language);
	strbuf_deinit(&text);
}

/* With a session whose files can be asked for. */
static int report_run(void *ctx, int asks)
{
	struct job *j = ctx;
	struct crash_report_opts opts = {.all_env = j->all_env};
	struct strbuf result = {0};
	struct crash_report r;
	bool is_good;
	int error;

	crash_input_begin(&j->in);
	if (j->in.fds[CRASH_IN_CORE] >= 0)
		crash_scripts_run(&j->scripts, j->in.fds[CRASH_IN_CORE]);
	opts.sections = j->scripts.list.data;
	opts.h = dtrace_open(DTRACE_VERSION, DTRACE_O_NODEV, &error);
	if (!opts.h)
		return 1;
	gate_set_opener(opts.h->names.file_opts.gate, confined_open, &asks);
	crash_report_make(&j->in, &opts, &r);
	result_add(&result, &r);
	is_good = r.doc.json.len < REPORT_MAX && r.doc.text.len < REPORT_MAX &&
		  all_write(j->json, r.doc.json.data, r.doc.json.len) &&
		  all_write(j->text, strbuf_text(&r.doc.text), r.doc.text.len) &&
		  all_write(j->result, strbuf_text(&result), result.len);
	crash_report_end(&r);
	dtrace_close(opts.h);
	strbuf_deinit(&result);
	return is_good ? 0 : 2;
}

static int pack_run(void *ctx, int asks)
{
	struct job *j = ctx;
	struct err *e = core_pack(j->in.fds[CRASH_IN_CORE], j->packed);
	int status = e ? 1 : 0;

	(void)asks;
	err_destroy(e);
	return status;
}

/* ---- the entry ------------------------------------------------------------------------------- */

struct analysis {
	const struct analyse_opts *opts;
	struct crash_store store;
	int dir;
	struct pairs config, capture;
	struct job job;
	struct pairs result; /* of the process without rights */
	int64_t attempts;
	struct stat core;
	uint64_t packed_bytes;
	char *into; /* what came of it in the container; NULL: nothing was to be written */
};

static void pairs_take(int dir, const char *name, struct pairs *ret)
{
	struct strbuf text = {0};
	struct err *e = crash_file_read(dir, name, PAIRS_TEXT_MAX, &text);

	if (!e)
		pairs_parse(strbuf_text(&text), text.len, ret);
	err_destroy(e); /* without it, there are no pairs */
	strbuf_deinit(&text);
}

bool crash_analyse_is_due(const struct pairs *analysed)
{
	const char *state = pairs_find(analysed, "state");

	return (!state || strcmp(state, "done") != 0) &&
	       pairs_int(analysed, "attempts", 0) < ANALYSE_ATTEMPTS;
}

static struct err *state_write(struct analysis *a, const char *state, const char *why)
{
	struct strbuf text = {0};
	struct err *e;

	pair_write_int(&text, "attempts", a->attempts);
	pair_write(&text, "state", state);
	if (why)
		pair_write(&text, "why", why);
	for (uint32_t i = 0; i < a->result.list.len; i++)
		pair_write(&text, a->result.list.data[i].key, a->result.list.data[i].value);
	if (a->into)
		pair_write(&text, "into_container", a->into);
	if (a->packed_bytes) {
		pair_write_int(&text, "core_bytes", (int64_t)a->core.st_size);
		pair_write_int(&text, "packed_bytes", (int64_t)a->packed_bytes);
	}
	e = crash_file_write(a->dir, CRASH_FILE_ANALYSED, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
	return e;
}

/* Opens a file that the process without rights writes, under the name that it has meanwhile. */
static int new_open(struct analysis *a, const char *name)
{
	(void)unlinkat(a->dir, name, 0);
	return openat(a->dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/* max: bytes that it may have; whoever has written it may have been taken over. */
static struct err *new_finish(struct analysis *a, int fd, const char *from, const char *to,
			      uint64_t max)
{
	struct stat st;

	if (fstat(fd, &st) != 0 || (uint64_t)st.st_size > max)
		return err_new("'%s' is too large", to);
	if (fsync(fd) != 0 || renameat(a->dir, from, a->dir, to) != 0)
		return err_sys(errno, "cannot write '%s'", to);
	return NULL;
}

#define NEW_JSON "." CRASH_FILE_REPORT
#define NEW_TEXT "." CRASH_FILE_TEXT
#define NEW_CORE "." CRASH_FILE_CORE_ZST

/* Keeps of the result what is as it has to be. */
static struct err *result_take(struct analysis *a)
{
	static const char *const keys[] = {"signature", "where", "signal", "exception"};
	struct strbuf text = {0}, kept = {0};
	struct pairs all = {0};
	const char *signature;
	ssize_t n;

	n = pread(a->job.result, strbuf_room(&text, RESULT_MAX), RESULT_MAX, 0);
	strbuf_wrote(&text, (size_t)MAX(n, (ssize_t)0));
	pairs_parse(strbuf_text(&text), text.len, &all);
	for (uint32_t i = 0; i < ARRAY_LEN(keys); i++) {
		const char *value = pairs_find(&all, keys[i]);

		if (value && strlen(value) < RESULT_MAX / 8)
			pair_write(&kept, keys[i], value);
	}
	pairs_deinit(&all);
	pairs_parse(strbuf_text(&kept), kept.len, &a->result);
	strbuf_deinit(&text);
	strbuf_deinit(&kept);
	signature = pairs_text(&a->result, "signature", "");
	return strlen(signature) == SIGNATURE_HASH &&
			       strspn(signature, "0123456789abcdef") == SIGNATURE_HASH
		       ? NULL
		       : err_new("the report has no signature");
}

static struct confined confined_of(struct analysis *a)
{
	bool may_open = pairs_int(&a->capture, CRASH_KEY_DUMPABLE, -1) == 1;
	int64_t uid = pairs_int(&a->capture, CRASH_KEY_EUID, -1),
		gid = pairs_int(&a->capture, CRASH_KEY_EGID, -1);
	bool is_known = uid >= 0 && uid < UINT32_MAX && gid >= 0 && gid < UINT32_MAX;

	return (struct confined){.fs_uid = may_open && is_known ? (uint32_t)uid : UINT32_MAX,
				 .fs_gid = may_open && is_known ? (uint32_t)gid : UINT32_MAX,
				 .ctx = &a->job};
}

static struct err *report_write(struct analysis *a)
{
	struct confined c = confined_of(a);
	struct err *e;

	a->job.json = new_open(a, NEW_JSON);
	a->job.text = new_open(a, NEW_TEXT);
	a->job.result = memfd_create("result of an analysis", MFD_CLOEXEC);
	if (a->job.json < 0 || a->job.text < 0 || a->job.result < 0)
		return err_sys(errno, "cannot write a report");
	c.run = report_run;
	e = confined_run(&c);
	if (!e)
		e = result_take(a);
	if (!e)
		e = new_finish(a, a->job.text, NEW_TEXT, CRASH_FILE_TEXT, REPORT_MAX);
	if (!e)
		e = new_finish(a, a->job.json, NEW_JSON, CRASH_FILE_REPORT, REPORT_MAX);
	if (e) {
		(void)unlinkat(a->dir, NEW_JSON, 0);
		(void)unlinkat(a->dir, NEW_TEXT, 0);
	}
	return e;
}

/* A core that cannot be packed stays as it is. */
static struct err *core_write(struct analysis *a)
{
	struct confined c = confined_of(a);
	const char *keep = pairs_find(&a->capture, CRASH_KEY_KEEP);
	struct stat packed;
	struct err *e;

	if (a->job.in.fds[CRASH_IN_CORE] < 0)
		return NULL;
	if (keep && strcmp(keep, "no") == 0) {
		(void)unlinkat(a->dir, CRASH_FILE_CORE, 0);
		return NULL;
	}
	a->job.packed = new_open(a, NEW_CORE);
	if (a->job.packed < 0)
		return err_sys(errno, "cannot pack the core");
	c.run = pack_run;
	e = confined_run(&c);
	if (!e && fstat(a->job.packed, &packed) == 0)
		a->packed_bytes = (uint64_t)packed.st_size;
	if (!e)
		e = new_finish(a, a->job.packed, NEW_CORE, CRASH_FILE_CORE_ZST,
			       (uint64_t)a->core.st_size + (uint64_t)a->core.st_size / 64 + 65536);
	if (!e)
		(void)unlinkat(a->dir, CRASH_FILE_CORE, 0);
	else
		(void)unlinkat(a->dir, NEW_CORE, 0);
	return e;
}

/* ---- telling --------------------------------------------------------------------------------- */

static struct err *first_of(struct err *e, struct err *other)
{
	if (!e)
		return other;
	err_destroy(other);
	return e;
}

static void fd_read(int fd, size_t max, struct strbuf *ret)
{
	ssize_t n = 1;

	while (n > 0 && ret->len < max) {
		n = pread(fd, strbuf_room(ret, 65536), 65536, (off_t)ret->len);
		if (n > 0)
			strbuf_wrote(ret, (size_t)n);
	}
}

/* id: the entry that is left for this crash and its equals. */
static struct err *news_tell(struct analysis *a, const char *id, uint64_t count)
{
	const char *exe = pairs_find(&a->capture, CRASH_KEY_EXE);
	struct strbuf text = {0}, json = {0};
	struct utsname host = {0};
	struct crash_news n = {
		.id = id,
		.exe = exe ? exe : "",
		.name = exe && *exe ? basename(exe) : "a program",
		.signal = pairs_text(&a->result, "signal", "a signal"),
		.where = pairs_text(&a->result, "where", ""),
		.time_ns = pairs_int(&a->capture, CRASH_KEY_TIME, 0),
		.count = count,
		.is_alive = pairs_int(&a->capture, CRASH_KEY_SIGNAL, -1) == 0,
	};
	struct err *e = NULL;

	(void)uname(&host);
	n.host = host.nodename;
	fd_read(a->job.text, REPORT_MAX, &text);
	fd_read(a->job.json, REPORT_MAX, &json);
	n.text = strbuf_text(&text);
	n.len = text.len;
	/* the name and signal were checked by nobody */
	if (strspn(n.signal, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789abcdefghijklmnopqrstuvwxyz +-") !=
	    strlen(n.signal))
		n.signal = "a signal";
	if (!n.is_alive)
		e = crash_tally(&a->store, &a->config, &n);
	e = first_of(e, crash_mail(&a->store, &a->config, &n));
	e = first_of(e,
		     crash_post(&a->store, &a->config, a->opts->id, strbuf_text(&json), json.len));
	strbuf_deinit(&text);
	strbuf_deinit(&json);
	return e;
}

/* Changes of the store by several analysers follow one another. */
static struct err *store_lock(const struct crash_store *s, int *ret_fd)
{
	int fd = openat(s->fd, CRASH_STORE_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX) != 0) {
		struct err *e = err_sys(errno, "cannot lock the store");

		cleanup_fd(&fd);
		return e;
	}
	*ret_fd = fd;
	return NULL;
}

static struct err *merge_and_tell(struct analysis *a)
{
	CLEANUP(fd) int lock = -1;
	char id[CRASH_ID_MAX + 1];
	uint64_t count = 1;
	struct err *e = store_lock(&a->store, &lock);

	if (e)
		return e;
	e = crash_same_merge(&a->store, a->opts->id, pairs_text(&a->result, "signature", ""),
			     pairs_int(&a->capture, CRASH_KEY_UID, -1),
			     pairs_int(&a->capture, CRASH_KEY_TIME, 0), &count, id);
	return first_of(e, news_tell(a, id, count));
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void config_read(const char *path, struct pairs *ret)
{
	struct strbuf text = {0};
	struct err *e =
		crash_file_read(AT_FDCWD, path ? path : CRASH_CONFIG, PAIRS_TEXT_MAX, &text);

	if (!e)
		pairs_parse(strbuf_text(&text), text.len, ret);
	err_destroy(e); /* nothing is configured */
	strbuf_deinit(&text);
}

/* Writes the core into the container, before its files are gone. */
static void core_give(struct analysis *a)
{
	struct crash_into in = {.root = a->opts->container,
				.folder = pairs_find(&a->config, CRASH_CONF_INTO),
				.core = a->job.in.fds[CRASH_IN_CORE],
				.capture = &a->capture};
	struct err *e;

	if (!in.root || !in.folder)
		return;
	e = crash_into_container(&in, &a->into);
	if (e)
		a->into = xstrdup(err_text(e));
	err_destroy(e); /* the report is made all the same */
}

/* The entry's directory: that which the capturer has handed over, or it is opened. */
static struct err *entry_open(struct analysis *a)
{
	int entry = a->opts->entry;
	struct stat st, of_entry;

	a->dir = crash_entry_open(&a->store, a->opts->id);
	if (a->dir < 0)
		return err_sys(errno, "there is no crash '%s'", a->opts->id);
	if (!entry)
		return NULL;
	if (fstat(a->dir, &st) != 0 || fstat(entry, &of_entry) != 0 ||
	    st.st_dev != of_entry.st_dev || st.st_ino != of_entry.st_ino ||
	    fcntl(entry, F_SETFD, FD_CLOEXEC) != 0)
		return err_new("descriptor %d is not the directory of crash '%s'", entry,
			       a->opts->id);
	(void)close(a->dir);
	a->dir = entry;
	return NULL;
}

static struct err *analysis_begin(struct analysis *a)
{
	struct pairs before = {0};
	const char *env, *scripts;
	struct err *e = crash_store_open(a->opts->store, &a->store);

	if (e)
		return e;
	e = entry_open(a);
	if (e)
		return e;
	/* an inherited one is locked already, by the same open file */
	if (flock(a->dir, LOCK_EX | LOCK_NB) != 0)
		return err_code(err_new("crash '%s' is being analysed", a->opts->id), EBUSY);
	pairs_take(a->dir, CRASH_FILE_ANALYSED, &before);
	a->attempts = pairs_int(&before, "attempts", 0) + 1;
	if (!crash_analyse_is_due(&before))
		e = err_new("crash '%s' was analysed already", a->opts->id);
	pairs_deinit(&before);
	if (e)
		return e;
	config_read(a->opts->config, &a->config);
	pairs_take(a->dir, CRASH_FILE_CAPTURE, &a->capture);
	crash_input_open(a->dir, &a->job.in);
	if (a->job.in.fds[CRASH_IN_CORE] >= 0)
		(void)fstat(a->job.in.fds[CRASH_IN_CORE], &a->core);
	env = pairs_find(&a->config, CRASH_CONF_ENV);
	a->job.all_env = env && strcmp(env, "all") == 0;
	core_give(a);
	scripts = pairs_find(&a->config, "scripts");
	crash_scripts_read(scripts ? scripts : CRASH_SCRIPTS, &a->job.scripts);
	return state_write(a, "running", NULL);
}

static void analysis_end(struct analysis *a)
{
	crash_input_close(&a->job.in);
	crash_scripts_free(&a->job.scripts);
	cleanup_fd(&a->job.json);
	cleanup_fd(&a->job.text);
	cleanup_fd(&a->job.result);
	cleanup_fd(&a->job.packed);
	pairs_deinit(&a->config);
	pairs_deinit(&a->capture);
	pairs_deinit(&a->result);
	free(a->into);
	if (a->dir >= 0)
		(void)flock(a->dir, LOCK_UN); /* a process of the capturer may have it open */
	cleanup_fd(&a->dir);
	crash_store_close(&a->store);
}

struct err *crash_analyse(const struct analyse_opts *opts)
{
	struct analysis a = {.opts = opts, .dir = -1};
	struct err *e, *of_core = NULL;

	a.job.json = a.job.text = a.job.result = a.job.packed = -1;
	for (uint32_t i = 0; i < CRASH_IN_FILES; i++)
		a.job.in.fds[i] = -1;
	e = analysis_begin(&a);
	if (e) {
		bool is_busy = err_get_code(e) == EBUSY;

		analysis_end(&a);
		if (!is_busy || !opts->skips_busy)
			return e;
		err_destroy(e);
		return NULL;
	}
	e = report_write(&a);
	if (e) {
		bool is_late = err_get_sys(e) == ETIMEDOUT;
		struct err *of_state = state_write(&a, is_late ? "timeout" : "failed", err_text(e));

		err_destroy(of_state); /* the first one is told */
		analysis_end(&a);
		return err_wrap(e, "cannot analyse crash '%s'", opts->id);
	}
	of_core = core_write(&a);
	e = state_write(&a, "done", of_core ? err_text(of_core) : NULL);
	err_destroy(of_core); /* the core is there, unpacked */
	e = first_of(e, merge_and_tell(&a));
	analysis_end(&a);
	return e;
}

static struct err *waiting_send(const struct crash_store *s, const char *config)
{
	CLEANUP(fd) int lock = -1;
	struct pairs p = {0};
	struct err *e = store_lock(s, &lock);

	if (!e) {
		config_read(config, &p);
		e = crash_mail_waiting(s, &p);
		e = first_of(e, crash_post_waiting(s, &p));
	}
	pairs_deinit(&p);
	return e;
}

struct err *crash_analyse_waiting(const char *store, const char *config)
{
	struct crash_store s = {0};
	crash_entries all = {0};
	struct err *e = crash_store_open(store, &s);

	if (!e)
		e = crash_entries_read(&s, &all);
	for (uint32_t i = all.len; i-- > 0;) {
		const struct analyse_opts opts = {.store = store,
						  .id = all.data[i].id,
						  .config = config,
						  .skips_busy = true};

		if (crash_analyse_is_due(&all.data[i].analysed))
			e = first_of(e, crash_analyse(&opts));
	}
	if (s.path)
		e = first_of(e, waiting_send(&s, config));
	crash_entries_deinit(&all);
	crash_store_close(&s);
	return e;
}
