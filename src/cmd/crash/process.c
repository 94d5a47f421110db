/* SPDX-License-Identifier: MIT */
/* Subcommands that capture processes without core_pattern: watch, capture. */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/words.h"
#include "cmd.h"
#include "crash/entries.h"
#include "crash/watch.h"

extern char **environ;

static volatile sig_atomic_t is_interrupted;

static void on_signal(int sig)
{
	is_interrupted = 1;
}

/*
 * Starts the analyser for an entry. It reads what comes from the process that was captured, and
 * takes long, so that it is another process.
 */
static void analyser_start(struct run *r, const char *id)
{
	char *argv[] =
		{(char *)"fathom-crash", (char *)"--store", r->paths.store, (char *)"--config",
		 r->paths.config,	 (char *)"analyse", (char *)id,	    NULL};
	pid_t pid;

	if (!r->has_analyser)
		return;
	errno = posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ);
	if (errno)
		(void)error_report(err_sys(errno, "cannot start the analyser"));
}

/* Waits for the analysers that were started; false: one has failed, and has said why. */
static bool analysers_await(void)
{
	bool is_good = true;
	int status;
	pid_t pid;

	while ((pid = wait(&status)) > 0 || errno == EINTR)
		is_good = is_good && (pid < 0 || status == 0);
	return is_good;
}

/* ---- watch ----------------------------------------------------------------------------------- */

static void captured_emit(void *ctx, pid_t pid, int signal, const char *id, uint64_t held_ns)
{
	struct run *r = ctx;
	char name[32];

	output_begin(r, "watch");
	emit_row(&r->out);
	emit_int(&r->out, "pid", pid, 1);
	emit_say(&r->out, "dies of ");
	emit_str(&r->out, "signal-name", crash_signal_name(signal, name, sizeof(name)), 1);
	emit_int(&r->out, "signal", signal, 0);
	emit_int(&r->out, "held-ns", (int64_t)held_ns, 0);
	emit_say(&r->out, "captured as ");
	emit_str(&r->out, "id", id, 1);
	emit_say(&r->out, "(it stood still for %.1f ms)", (double)held_ns / 1e6);
	(void)output_end(r);
	analyser_start(r, id);
}

static void ended_emit(void *ctx, pid_t pid, int status)
{
	struct run *r = ctx;
	int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	char name[32];

	output_begin(r, "watch");
	emit_row(&r->out);
	emit_int(&r->out, "pid", pid, 1);
	if (signal) {
		emit_say(&r->out, "was ended by ");
		emit_str(&r->out, "signal-name", crash_signal_name(signal, name, sizeof(name)), 1);
		emit_int(&r->out, "signal", signal, 0);
		emit_say(&r->out, "%s", signal == SIGKILL ? "which nothing can capture" : "");
	} else {
		emit_say(&r->out, "has ended with status ");
		emit_int(&r->out, "status", WEXITSTATUS(status), 1);
	}
	(void)output_end(r);
}

static void failed_say(void *ctx, struct err *e)
{
	(void)error_report(e);
}

/* A command of words and quotes; no shell is between us and the program. */
static struct err *command_watch(const struct crash_watch_opts *o, const char *text,
				 int *ret_status)
{
	struct words w;
	struct err *e = words_split(text, &w);

	if (e)
		return e;
	e = w.list.len && w.list.data[0] ? crash_watch_command(o, w.list.data, ret_status)
					 : err_new("the command is empty");
	words_deinit(&w);
	return e;
}

int watch_run(struct run *r)
{
	struct crash_store s = {0};
	struct crash_watch_opts o = {.store = &s,
				     .is_following = r->is_following,
				     .ctx = r,
				     .captured = captured_emit,
				     .ended = ended_emit,
				     .failed = failed_say,
				     .is_interrupted = &is_interrupted};
	struct sigaction sa = {.sa_handler = on_signal};
	struct err *e;
	int status = 0;

	if (r->argc || !r->command == !r->pid) {
		say("watch needs -p PID or -c COMMAND");
		return E_USAGE;
	}
	e = crash_store_open(r->paths.store, &s);
	if (e)
		return error_report(err_hint(e, "--store names a directory of yours"));
	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	e = r->pid ? crash_watch_pid(&o, r->pid) : command_watch(&o, r->command, &status);
	crash_store_close(&s);
	if (!analysers_await() && !e)
		return E_ERROR;
	return e ? error_report(e) : E_SUCCESS;
}

/* ---- capture --------------------------------------------------------------------------------- */

int capture_run(struct run *r)
{
	char *end, id[CRASH_ID_MAX + 1];
	long pid = strtol(r->argv[0], &end, 10);
	struct crash_store s = {0};
	uint64_t held_ns = 0;
	struct err *e;
	int status;

	if (*end || pid <= 0 || pid > INT_MAX) {
		say("'%s' is no process id", r->argv[0]);
		return E_USAGE;
	}
	e = crash_store_open(r->paths.store, &s);
	if (!e)
		e = crash_take_pid(&s, (pid_t)pid, id, &held_ns);
	crash_store_close(&s);
	if (e)
		return error_report(e);
	output_begin(r, "capture");
	emit_row(&r->out);
	emit_int(&r->out, "pid", pid, 1);
	emit_int(&r->out, "held-ns", (int64_t)held_ns, 0);
	emit_say(&r->out, "captured as ");
	emit_str(&r->out, "id", id, 1);
	emit_say(&r->out, "(it stood still for %.1f ms)", (double)held_ns / 1e6);
	status = output_end(r);
	analyser_start(r, id);
	return analysers_await() ? status : E_ERROR;
}
