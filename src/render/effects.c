/* SPDX-License-Identifier: MIT */
/*
 * Actions that take effect when a record is consumed, and show nothing: exit(), setopt(), clear(),
 * system(), freopen() and others (d-language.md 5.2).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/text.h"
#include "kernel/withheld.h"
#include "render/impl.h"

extern char **environ;

/* ---- arguments ----------------------------------------------------------------------------- */

/* Formats the text of an action; it lives as long as the record. */
static struct err *act_text(struct printer *p, const struct act_layout *al, const struct fmt *fmt,
			    char **ret_text)
{
	struct strbuf text = {0};
	struct err *e = act_format(p, &text, al, fmt);

	if (!e)
		*ret_text = arena_strndup(p->scratch, strbuf_text(&text), text.len);
	strbuf_deinit(&text);
	return e;
}

/* A string field as a C string; it lives as long as the record. */
static struct err *act_string(struct printer *p, const struct act_layout *al, uint32_t i,
			      char **ret_text)
{
	struct datum d;
	struct err *e = act_datum(p, al, i, &d);

	if (e)
		return e;
	if (d.bytes)
		*ret_text = arena_strndup(p->scratch, d.bytes, d.size);
	else
		*ret_text = arena_printf(p->scratch, "%lld", (long long)d.ival);
	return NULL;
}

/*
 * A text that others may have written, for a message of one line; it lives as long as the record.
 */
static const char *text_shown(struct printer *p, const char *text)
{
	struct strbuf safe = {0};
	const char *copy;

	text_escape(&safe, text, strlen(text));
	copy = arena_strdup(p->scratch, strbuf_text(&safe));
	strbuf_deinit(&safe);
	return copy;
}

/* ---- the session --------------------------------------------------------------------------- */

struct err *act_exit(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		     const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (!e && p->hooks.exit)
		p->hooks.exit(p->hooks.ctx, (int)datum_int(&d));
	return e;
}

struct err *act_setopt(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		       const struct fmt *fmt)
{
	char *name, *value = NULL;
	struct err *e = act_string(p, al, 0, &name);

	if (!e && al->nfields > 1)
		e = act_string(p, al, 1, &value);
	if (e || !p->hooks.setopt)
		return e;
	if (!value)
		value = arena_strdup(p->scratch, "1");
	e = p->hooks.setopt(p->hooks.ctx, name, value);
	if (e && err_get_code(e) == EDT_DIRABORT)
		return e;
	if (e)
		printer_fault(p, err_wrap(e, "couldn't set option \"%s\" to \"%s\"",
					  text_shown(p, name), text_shown(p, value)));
	return NULL;
}

/* ---- aggregations -------------------------------------------------------------------------- */

struct err *act_clear(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		      const struct fmt *fmt)
{
	struct err *e = printer_snap(p);

	if (!e)
		e = aggs_clear(p->aggs, act->aggs[0]->id);
	if (!e && p->render->aggregation_cleared)
		p->render->aggregation_cleared(p, aggs_view(p->aggs, act->aggs[0]->id), true);
	return e;
}

struct err *act_trunc(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		      const struct fmt *fmt)
{
	struct datum d = {0};
	struct err *e = printer_snap(p);

	if (!e && al->nfields)
		e = act_datum(p, al, 0, &d);
	if (e)
		return e;
	e = aggs_trunc(p->aggs, act->aggs[0]->id, (int64_t)datum_int(&d), &p->opts->sort);
	if (!e && p->render->aggregation_cleared)
		p->render->aggregation_cleared(p, aggs_view(p->aggs, act->aggs[0]->id),
					       !datum_int(&d));
	return e;
}

struct err *act_normalize(struct printer *p, const struct prog_act *act,
			  const struct act_layout *al, const struct fmt *fmt)
{
	struct datum d;
	struct err *e = act_datum(p, al, 0, &d);

	if (e)
		return e;
	e = aggs_normalize(p->aggs, act->aggs[0]->id, datum_int(&d));
	if (e)
		printer_fault(p, e);
	return NULL;
}

struct err *act_denormalize(struct printer *p, const struct prog_act *act,
			    const struct act_layout *al, const struct fmt *fmt)
{
	aggs_denormalize(p->aggs, act->aggs[0]->id);
	return NULL;
}

/* ---- commands and files -------------------------------------------------------------------- */

/* the most bytes of a command's output that a renderer shows */
#define COMMAND_TEXT_MAX (16u << 20)

/* Starts a shell. to: the descriptor of its standard output; < 0: ours. */
static int spawn_shell(const char *command, int to, pid_t *ret_pid)
{
	static char shell[] = "sh", option[] = "-c";
	char *argv[] = {shell, option, (char *)(uintptr_t)command, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int sys;

	sigemptyset(&none);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	posix_spawn_file_actions_init(&actions);
	if (to >= 0)
		posix_spawn_file_actions_adddup2(&actions, to, STDOUT_FILENO);
	sys = posix_spawn(ret_pid, "/bin/sh", &actions, &attr, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	posix_spawnattr_destroy(&attr);
	return sys;
}

/*
 * Reads the memory file to which a command has written. It is not a pipe, which a process that the
 * command left running would keep open.
 */
static void memory_read(int fd, struct strbuf *text)
{
	ssize_t got = 1;

	while (got > 0 && text->len < COMMAND_TEXT_MAX) {
		got = pread(fd, strbuf_room(text, 65536), 65536, (off_t)text->len);
		if (got > 0)
			strbuf_wrote(text, (size_t)got);
	}
}

#define TEND_MS 10 /* how long a process waits for us while a command runs */

/* Waits for a command, and tends the session meanwhile: the command may wait for a process. */
static void shell_wait(const struct printer *p, pid_t pid, int *ret_status)
{
	CLEANUP(fd) int fd = p->hooks.tend ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	struct pollfd end = {.fd = fd, .events = POLLIN}; /* without one, its end is looked for */
	int flags = p->hooks.tend ? WNOHANG : 0;
	pid_t got;

	while ((got = waitpid(pid, ret_status, flags)) == 0 || (got < 0 && errno == EINTR))
		if (flags && poll(&end, 1, TEND_MS) == 0)
			p->hooks.tend(p->hooks.ctx);
}

static void shell_run(struct printer *p, const char *command, int to, int *ret_status)
{
	pid_t pid;
	int sys = spawn_shell(command, to, &pid);

	*ret_status = -1;
	if (sys) {
		printer_fault(p,
			      err_sys(sys, "couldn't run system() \"%s\"", text_shown(p, command)));
		return;
	}
	shell_wait(p, pid, ret_status);
}

/* Runs a command and passes its output to the renderer. */
static void shell_show(struct printer *p, const char *command)
{
	CLEANUP(fd) int fd = memfd_create("system()", MFD_CLOEXEC);
	struct strbuf text = {0};
	int status;

	if (fd < 0) {
		printer_fault(p, err_sys(errno, "couldn't run system() \"%s\"",
					 text_shown(p, command)));
		return;
	}
	shell_run(p, command, fd, &status);
	if (status >= 0) {
		memory_read(fd, &text);
		p->render->command(p, command, &text,
				   WIFEXITED(status) ? WEXITSTATUS(status)
						     : 128 + WTERMSIG(status));
	}
	strbuf_deinit(&text);
}

/*
 * Cuts a command to the size of strings, as D wants it. One with quoted words is not run then: what
 * is left of it could end in another word than the one that was meant.
 */
static bool command_cut(struct printer *p, const struct fmt *fmt, char *command)
{
	size_t max = p->layout->strsize ? p->layout->strsize - 1 : 0, len = strlen(command);

	if (len <= max)
		return true;
	if (fmt && fmt_quotes(fmt)) {
		printer_fault(p, err_new("a command of system() with %%q has %zu bytes, more than "
					 "strsize allows; it was not run",
					 len));
		return false;
	}
	command[max] = '\0';
	return true;
}

struct err *act_system(struct printer *p, const struct prog_act *act, const struct act_layout *al,
		       const struct fmt *fmt)
{
	struct err *e;
	char *command;
	int status;

	e = act_text(p, al, fmt, &command);
	if (!e)
		e = printer_flush(p, p->fp);
	if (e || !command_cut(p, fmt, command))
		return e;
	if (p->render->command)
		shell_show(p, command);
	else /* to the file of freopen(), if there is one */
		shell_run(p, command, printer_redirect(p) ? fileno(p->redirect) : -1, &status);
	return NULL;
}

static struct err *file_append(struct printer *p, const char *name, FILE **ret)
{
	CLEANUP(fd) int fd = open(name, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	struct err *e = NULL;

	if (fd >= 0)
		e = withheld_check(fd, text_shown(p, name));
	if (e)
		return err_wrap(e, "couldn't freopen()");
	*ret = fd < 0 ? NULL : fdopen(fd, "a");
	if (!*ret)
		return err_sys(errno, "couldn't freopen() \"%s\"", text_shown(p, name));
	(void)fd_take(&fd);
	return NULL;
}

struct err *act_freopen(struct printer *p, const struct prog_act *act, const struct act_layout *al,
			const struct fmt *fmt)
{
	FILE *file = NULL;
	struct err *e;
	char *name;

	e = act_text(p, al, fmt, &name);
	if (!e)
		e = printer_flush(p, p->fp);
	if (e)
		return e;
	if (*name) {
		e = file_append(p, name, &file);
		if (e) {
			printer_fault(p, e);
			return NULL;
		}
	}
	if (p->render->leave) {
		p->render->leave(p);
		e = printer_flush(p, p->fp);
	}
	if (p->redirect && fclose(p->redirect) != 0 && !e)
		e = err_sys(errno, "failed to write to freopen() file");
	p->redirect = file;
	p->asked.fp = NULL;
	p->is_capture = false;
	return e;
}

struct err *act_ftruncate(struct printer *p, const struct prog_act *act,
			  const struct act_layout *al, const struct fmt *fmt)
{
	FILE *fp = printer_fp(p, p->fp);
	struct err *e = printer_flush(p, p->fp);

	/* Terminals, pipes and handlers have no length: then it does nothing. */
	if (!e && fp && ftruncate(fileno(fp), 0) == 0) {
		rewind(fp);
		if (p->render->emptied)
			p->render->emptied(p);
	}
	return e;
}
