/* SPDX-License-Identifier: MIT */
/* Subcommands that look at captures: list, show, core, debug. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "files/gate.h"
#include "target/unpack.h"

#define REPORT_MAX    (64u << 20)
#define COPY_BYTES    (1u << 20)
#define EXE_COLUMNS   20
#define WHERE_COLUMNS 40
#define KEY_COLUMNS   15

/* ---- list ------------------------------------------------------------------------------------ */

/*
 * Adds a column for people. A text that is too long loses its begin, where paths are alike, or its
 * end.
 */
static void column_say(struct run *r, const char *text, int width, bool keeps_end)
{
	struct strbuf safe = {0};
	size_t first = 0, end;

	text_escape(&safe, text, strlen(text));
	end = safe.len;
	if (end > (size_t)width && keeps_end)
		first = end - (size_t)width;
	else if (end > (size_t)width)
		end = (size_t)width;
	/* not in the middle of a character */
	while (first && ((unsigned char)safe.data[first] & 0xc0) == 0x80)
		first++;
	while (end < safe.len && end && ((unsigned char)safe.data[end] & 0xc0) == 0x80)
		end--;
	emit_say(&r->out, "%-*.*s ", width, (int)(end - first), strbuf_text(&safe) + first);
	strbuf_deinit(&safe);
}

static void escaped_say(struct run *r, const char *text)
{
	struct strbuf safe = {0};

	text_escape(&safe, text, strlen(text));
	emit_say(&r->out, "%s", strbuf_text(&safe));
	strbuf_deinit(&safe);
}

static const char *state_of(const struct crash_entry *c)
{
	const char *state = pairs_find(&c->analysed, "state");

	return c->has_report ? "done" : state ? state : "not analysed";
}

static void entry_emit(struct run *r, const struct crash_entry *c)
{
	const char *where = pairs_find(&c->analysed, "where");
	const char *kept = crash_entry_text(c, CRASH_KEY_KEPT);
	struct strbuf time = {0}, size = {0};
	char name[32];

	time_add(&time, c->time_ns);
	emit_row(&r->out);
	emit_str(&r->out, "time", strbuf_text(&time), -19);
	emit_int(&r->out, "pid", c->pid, 7);
	emit_int(&r->out, "count", (int64_t)c->count, 6);
	emit_str(&r->out, "signal-name", crash_signal_name(c->signal, name, sizeof(name)), -7);
	column_say(r, crash_entry_text(c, CRASH_KEY_EXE), EXE_COLUMNS, true);
	where = where ? where : c->has_report ? "" : state_of(c);
	column_say(r, where, WHERE_COLUMNS, false);
	emit_str(&r->out, "where", where, 0);
	emit_str(&r->out, "id", c->id, 0);
	emit_int(&r->out, "time-ns", c->time_ns, 0);
	emit_int(&r->out, "tid", c->tid, 0);
	emit_int(&r->out, "signal", c->signal, 0);
	emit_str(&r->out, "exe", crash_entry_text(c, CRASH_KEY_EXE), 0);
	emit_str(&r->out, "name", crash_entry_text(c, CRASH_KEY_COMM), 0);
	emit_str(&r->out, "container", crash_entry_text(c, CRASH_KEY_CONTAINER), 0);
	emit_str(&r->out, "state", state_of(c), 0);
	emit_str(&r->out, "kept", c->core_size ? kept : "", 0);
	emit_int(&r->out, "core-bytes", (int64_t)c->core_size, 0);
	if (c->core_size) {
		strbuf_addf(&size, "%s ", kept);
		bytes_add(&size, c->core_size);
	}
	escaped_say(r, c->core_size ? strbuf_text(&size) : "-");
	emit_end(&r->out);
	strbuf_deinit(&time);
	strbuf_deinit(&size);
}

int list_run(struct run *r)
{
	struct crash_store s = {0};
	crash_entries all = {0};
	struct err *e = store_open(r, &s);
	bool is_asked = s.users;

	if (!e)
		e = crash_entries_read(&s, &all);
	crash_store_close(&s);
	if (e)
		return error_report(e);
	output_begin(r, "list");
	if (all.len)
		emit_say(&r->out, "%-19s %7s %6s %-7s %-*s %-*s %s\n", "TIME", "PID", "COUNT",
			 "SIGNAL", EXE_COLUMNS, "EXE", WHERE_COLUMNS, "WHERE", "CORE");
	else
		emit_say(&r->out, "there is no crash%s in '%s'\n", is_asked ? " of yours" : "",
			 r->paths.store);
	for (uint32_t i = 0; i < all.len; i++)
		entry_emit(r, &all.data[i]);
	crash_entries_deinit(&all);
	return output_end(r);
}

/* ---- show ------------------------------------------------------------------------------------ */

/* Shows the file `capture` of an entry that has no report. */
static int capture_show(struct run *r, const struct crash_entry *c)
{
	const char *why = pairs_find(&c->analysed, "why");

	output_begin(r, "show");
	emit_row(&r->out);
	emit_say(&r->out, "%s: there is no report", c->id);
	if (why) {
		emit_say(&r->out, ": ");
		escaped_say(r, why);
		emit_str(&r->out, "why", why, 0);
	}
	emit_str(&r->out, "state", state_of(c), 0);
	for (uint32_t i = 0; i < c->capture.list.len; i++) {
		const struct pair *p = &c->capture.list.data[i];

		emit_say(&r->out, "\n");
		column_say(r, p->key, KEY_COLUMNS, false);
		escaped_say(r, p->value);
		emit_str(&r->out, p->key, p->value, 0);
	}
	emit_end(&r->out);
	return output_end(r);
}

/* The report was written over a hostile process: what controls a terminal does not get there. */
static int report_show(const struct crash_store *s, const char *id, const char *name)
{
	CLEANUP(fd) int fd = crash_entry_file(s, id, name);
	struct strbuf text = {0};
	struct err *e = fd >= 0 ? crash_fd_read(fd, name, REPORT_MAX, &text)
				: err_sys(errno, "cannot read '%s' of crash '%s'", name, id);
	bool is_good;

	if (e)
		return error_report(e);
	if (text.len)
		text_clean_bytes(text.data, text.len, "\n\t", '?');
	is_good =
		fwrite(strbuf_text(&text), 1, text.len, stdout) == text.len && fflush(stdout) == 0;
	strbuf_deinit(&text);
	return is_good || errno == EPIPE ? E_SUCCESS
					 : error_report(err_sys(errno, "cannot write the output"));
}

int show_run(struct run *r)
{
	struct crash_store s = {0};
	struct crash_entry c = {0};
	char id[CRASH_ID_MAX + 1];
	struct err *e = entry_find(r, &s, id);
	int status;

	if (!e)
		e = crash_entry_read(&s, id, &c);
	if (!e) {
		status = c.has_report
				 ? report_show(&s, id,
					       r->is_json ? CRASH_FILE_REPORT : CRASH_FILE_TEXT)
				 : capture_show(r, &c);
	} else {
		status = error_report(e);
	}
	crash_entry_deinit(&c);
	crash_store_close(&s);
	return status;
}

/* ---- core ------------------------------------------------------------------------------------ */

static struct err *write_err(void)
{
	return err_sys(errno, "cannot write the core");
}

static struct err *bytes_put(int to, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(to, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return write_err();
		bytes += n;
		len -= (size_t)n;
	}
	return NULL;
}

/* Copies the bytes from one offset to another. */
static struct err *range_put(int from, int to, off_t at, off_t end, char *buf)
{
	struct err *e = NULL;

	while (at < end && !e) {
		ssize_t n = pread(from, buf, (size_t)MIN(end - at, (off_t)COPY_BYTES), at);

		if (n < 0)
			return err_sys(errno, "cannot read the core");
		if (n == 0)
			return err_new("the core became shorter while it was read");
		e = bytes_put(to, buf, (size_t)n);
		at += n;
	}
	return e;
}

/* Zeros, of which a file at its end needs none: it becomes sparse. */
static struct err *hole_put(int to, off_t len, bool is_sparse, char *buf)
{
	struct err *e = NULL;

	if (is_sparse)
		return lseek(to, len, SEEK_CUR) < 0 ? write_err() : NULL;
	memset(buf, 0, COPY_BYTES);
	while (len > 0 && !e) {
		size_t n = (size_t)MIN(len, (off_t)COPY_BYTES);

		e = bytes_put(to, buf, n);
		len -= (off_t)n;
	}
	return e;
}

static struct err *core_put(int from, int to)
{
	CLEANUP(free) char *buf = xmalloc(COPY_BYTES);
	struct stat st, out;
	struct err *e = NULL;
	bool is_sparse;

	if (fstat(from, &st) != 0 || fstat(to, &out) != 0)
		return write_err();
	is_sparse = S_ISREG(out.st_mode) && !(fcntl(to, F_GETFL) & O_APPEND) &&
		    lseek(to, 0, SEEK_CUR) == out.st_size;
	for (off_t at = 0; at < st.st_size && !e;) {
		off_t data = lseek(from, at, SEEK_DATA);
		off_t end = data < 0 ? st.st_size : lseek(from, data, SEEK_HOLE);

		if (data < 0)
			data = st.st_size;
		if (end < 0)
			end = st.st_size;
		if (data > at)
			e = hole_put(to, data - at, is_sparse, buf);
		if (!e)
			e = range_put(from, to, data, end, buf);
		at = end;
	}
	if (!e && is_sparse && ftruncate(to, out.st_size + st.st_size) != 0)
		e = write_err();
	return e;
}

/* Opens the core of an entry, unpacked if it is compressed. */
static struct err *core_open(const struct crash_store *s, const char *id, int *ret_fd)
{
	CLEANUP(fd) int fd = crash_entry_file(s, id, CRASH_FILE_CORE_ZST);
	CLEANUP(gate_file) struct gate_file *packed = NULL;
	CLEANUP(free) char *damage = NULL;
	struct err *e;

	if (fd < 0) {
		fd = crash_entry_file(s, id, CRASH_FILE_CORE);
		if (fd < 0)
			return err_hint(err_new("crash '%s' has no core", id),
					"--keep-core of 'fathom-crash install' says what is kept, "
					"and 'fathom-crash gc' removes the oldest");
		*ret_fd = fd_take(&fd);
		return NULL;
	}
	packed = gate_file_of(fd);
	if (!packed)
		return err_sys(errno, "cannot read the core of crash '%s'", id);
	e = core_unpack(packed, CRASH_FILE_CORE_ZST, ret_fd, &damage);
	if (!e && *ret_fd < 0)
		return err_new("the core of crash '%s' is not compressed with zstd", id);
	if (!e && damage)
		say("the core of crash '%s' is damaged: %s", id, damage);
	return e;
}

int core_run(struct run *r)
{
	CLEANUP(fd) int from = -1;
	CLEANUP(fd) int file = -1;
	struct crash_store s = {0};
	char id[CRASH_ID_MAX + 1];
	struct err *e;

	if (r->argc == 1 && isatty(STDOUT_FILENO))
		return error_report(err_hint(err_new("a core is nothing for a terminal"),
					     "fathom-crash core %s > FILE", r->argv[0]));
	e = entry_find(r, &s, id);
	if (!e)
		e = core_open(&s, id, &from);
	if (!e && r->argc == 2) {
		file = open(r->argv[1], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (file < 0)
			e = err_sys(errno, "cannot make '%s'", r->argv[1]);
	}
	if (!e)
		e = core_put(from, file >= 0 ? file : STDOUT_FILENO);
	if (e && file >= 0)
		(void)unlink(r->argv[1]);
	crash_store_close(&s);
	return e ? error_report(e) : E_SUCCESS;
}

/* ---- debug ----------------------------------------------------------------------------------- */

/* Executes the mdb that is installed, or was built, with this command. */
static struct err *debugger_exec(char **argv)
{
	static const char *const places[] = {"mdb", "../mdb/mdb"};
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	const char *folder;

	self[MAX(n, (ssize_t)0)] = '\0';
	folder = dirname(self);
	for (uint32_t i = 0; i < ARRAY_LEN(places); i++) {
		CLEANUP(free) char *path = path_join(folder, places[i]);

		(void)execv(path, argv);
	}
	return err_hint(err_sys(errno, "cannot execute mdb"),
			"it is installed beside fathom-crash");
}

/* Opens a core that a user is given, for the debugger, which has the same descriptor. */
static struct err *core_inherit(const struct crash_store *s, const struct crash_entry *c,
				char **ret_path)
{
	CLEANUP(fd)
	int fd = crash_entry_file(s, c->id, c->is_packed ? CRASH_FILE_CORE_ZST : CRASH_FILE_CORE);

	if (fd < 0 || fcntl(fd, F_SETFD, 0) != 0)
		return err_sys(errno, "cannot read the core of crash '%s'", c->id);
	if (asprintf(ret_path, "/dev/fd/%d", fd_take(&fd)) < 0)
		oom();
	return NULL;
}

int debug_run(struct run *r)
{
	CLEANUP(free) char **argv = xcalloc((size_t)r->argc + 3, sizeof(*argv));
	CLEANUP(free) char *folder = NULL;
	CLEANUP(free) char *core = NULL;
	struct crash_store s = {0};
	struct crash_entry c = {0};
	char id[CRASH_ID_MAX + 1];
	struct err *e = entry_find(r, &s, id);
	uint32_t n = 0;

	if (!e)
		e = crash_entry_read(&s, id, &c);
	if (!e && !c.core_size)
		e = err_hint(err_new("crash '%s' has no core", id),
			     "'fathom-crash show %s' has "
			     "the stacks",
			     id);
	if (!e && s.users) {
		e = core_inherit(&s, &c, &core);
	} else if (!e) {
		folder = path_join(r->paths.store, id);
		core = path_join(folder, c.is_packed ? CRASH_FILE_CORE_ZST : CRASH_FILE_CORE);
	}
	if (!e) {
		argv[n++] = (char *)"mdb";
		for (int i = 1; i < r->argc; i++)
			argv[n++] = r->argv[i];
		argv[n] = core;
		e = debugger_exec(argv);
	}
	crash_entry_deinit(&c);
	crash_store_close(&s);
	return error_report(e);
}
