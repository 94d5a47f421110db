/* SPDX-License-Identifier: MIT */
/*
 * The subcommand test: lets a child of its own crash, and shows what came of it.
 *
 * The capture is complete when its directory gets its final name, and analysed when there is a
 * report in it. Both are waited for by inotify(7).
 */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "crash/status.h"

#define CAPTURE_NS  10000000000ull /* to wait for */
#define ANALYSIS_NS 60000000000ull
#define LOOK_MS	    200 /* for what inotify does not say, such as a report of a later directory */

/* ---- the crash ------------------------------------------------------------------------------- */

/*
 * An address that is never mapped: the report has to name it. It is volatile, so that the compiler
 * makes no copy of the function for it.
 */
static volatile uintptr_t nowhere = 0x1234;

/* The function that the report has to show. */
static __attribute__((noinline)) void crash_on_purpose(volatile int *address)
{
	*address = 1;
}

static void child_run(void)
{
	struct rlimit limit = {0};

	/* A limit of one byte is the one that the kernel takes as "no dump". */
	if (getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur == 1) {
		limit.rlim_cur = 0;
		(void)setrlimit(RLIMIT_CORE, &limit);
	}
	(void)chdir("/"); /* where no core file stays, if the kernel writes one */
	(void)prctl(PR_SET_DUMPABLE, 1);
	(void)signal(SIGSEGV, SIG_DFL);
	crash_on_purpose((volatile int *)nowhere); /* NOLINT: it is meant to crash */
	_exit(0);
}

/* ---- what came of it ------------------------------------------------------------------------- */

struct trial {
	struct crash_store store;
	int watch; /* of inotify */
	pid_t pid;
	uint64_t died_ns, waited_ns;	   /* when; until the parent was told */
	uint64_t captured_ns, analysed_ns; /* after the parent was told */
	char id[CRASH_ID_MAX + 1];
};

/* Finds the entry of the child. */
static bool entry_look(struct trial *t)
{
	crash_entries all = {0};
	struct err *e = crash_entries_read(&t->store, &all);

	for (uint32_t i = 0; !e && i < all.len; i++)
		if (all.data[i].pid == t->pid && !*t->id)
			memcpy(t->id, all.data[i].id, sizeof(t->id));
	err_destroy(e);
	crash_entries_deinit(&all);
	return *t->id;
}

static bool report_look(struct trial *t)
{
	struct crash_entry c;
	struct err *e = crash_entry_read(&t->store, t->id, &c);
	bool is_there;

	if (e) {
		err_destroy(e);
		return false;
	}
	is_there = c.has_report;
	crash_entry_deinit(&c);
	return is_there;
}

/* Waits until something is there; false: it has not come in time. */
static bool event_await(struct trial *t, bool (*look)(struct trial *t), uint64_t patience_ns)
{
	uint64_t until = now_ns() + patience_ns;

	while (!look(t)) {
		struct pollfd p = {.fd = t->watch, .events = POLLIN};
		char events[4096];

		if (now_ns() > until)
			return false;
		if (poll(&p, 1, LOOK_MS) > 0)
			(void)!read(t->watch, events, sizeof(events));
	}
	return true;
}

static struct err *crash_make(struct trial *t)
{
	int status;

	(void)fflush(stdout);
	t->died_ns = now_ns();
	t->pid = fork();
	if (t->pid < 0)
		return err_sys(errno, "cannot make a process");
	if (t->pid == 0)
		child_run();
	while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
		;
	t->waited_ns = now_ns() - t->died_ns;
	if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGSEGV)
		return err_new("the child has not died of SIGSEGV");
	return NULL;
}

/* is_analysed: whether there was a report in time; false as well where no analyser is configured */
static void trial_emit(struct run *r, const struct trial *t, bool is_analysed)
{
	output_begin(r, "test");
	emit_row(&r->out);
	emit_say(&r->out, "process ");
	emit_int(&r->out, "pid", t->pid, 1);
	emit_say(&r->out, "has died of SIGSEGV; its parent was told after %.1f ms\n",
		 (double)t->waited_ns / 1e6);
	emit_int(&r->out, "waited-ns", (int64_t)t->waited_ns, 0);
	emit_say(&r->out, "captured as ");
	emit_str(&r->out, "id", t->id, 1);
	emit_int(&r->out, "captured-ns", (int64_t)t->captured_ns, 0);
	emit_bool(&r->out, "is-analysed", is_analysed);
	if (is_analysed)
		emit_say(&r->out, "\nanalysed after %.1f s", (double)t->analysed_ns / 1e9);
	emit_int(&r->out, "analysed-ns", is_analysed ? (int64_t)t->analysed_ns : -1, 0);
	emit_bool(&r->out, "is-kept", r->is_kept);
	emit_end(&r->out);
	(void)output_end(r);
}

/* Says what keeps crashes from being captured; true: nothing is known that does. */
static bool problems_say(struct run *r)
{
	struct crash_status s;
	bool is_installed;

	crash_status_read(&r->paths, &s);
	is_installed = s.pattern && crash_pattern_is_ours(s.pattern);
	for (uint32_t i = 0; i < s.problems.len; i++)
		say("%s", s.problems.data[i]);
	crash_status_deinit(&s);
	return is_installed;
}

static struct err *trial_run(struct run *r, struct trial *t)
{
	struct err *e = crash_store_open(r->paths.store, &t->store);
	uint64_t told;

	if (e)
		return e;
	if (!problems_say(r))
		return err_hint(err_new("nothing is captured: core_pattern is not ours"),
				"'fathom-crash install' sets it");
	t->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (t->watch < 0 || inotify_add_watch(t->watch, r->paths.store, IN_MOVED_TO) < 0)
		return err_sys(errno, "cannot watch '%s'", r->paths.store);
	e = crash_make(t);
	if (e)
		return e;
	told = now_ns();
	if (!event_await(t, entry_look, CAPTURE_NS))
		return err_hint(err_new("process %d has died of SIGSEGV, and nothing was captured",
					(int)t->pid),
				"the system's log, or that of the kernel (dmesg), may say why");
	t->captured_ns = now_ns() - told;
	return NULL;
}

static bool trial_analyse(struct run *r, struct trial *t)
{
	CLEANUP(free) char *folder = path_join(r->paths.store, t->id);
	uint64_t begin = now_ns();
	bool is_there;

	(void)inotify_add_watch(t->watch, folder, IN_MOVED_TO | IN_CREATE);
	is_there = event_await(t, report_look, ANALYSIS_NS);
	t->analysed_ns = now_ns() - begin;
	return is_there;
}

int test_run(struct run *r)
{
	struct trial t = {.watch = -1};
	struct err *e = trial_run(r, &t);
	int status = E_SUCCESS;

	if (!e) {
		bool is_analysed = r->has_analyser && trial_analyse(r, &t);

		trial_emit(r, &t, is_analysed);
		if (r->has_analyser && !is_analysed) {
			say("the capture was not analysed");
			status = E_ERROR;
		} else if (!r->is_json) {
			char *argv[] = {t.id, NULL};

			r->argv = argv;
			r->argc = 1;
			putchar('\n');
			status = show_run(r);
		}
		if (!r->is_kept)
			(void)crash_tree_remove(t.store.fd, t.id);
	}
	if (t.watch >= 0)
		(void)close(t.watch);
	crash_store_close(&t.store);
	return e ? error_report(e) : status;
}
