/* SPDX-License-Identifier: MIT */
/*
 * A run of libdtrace: the process, the program, reports until the end.
 *
 * Reports are due at the end, after each interval of -i, and when SIGUSR1 comes. The library waits
 * for TICK at most, so that none of them is late by more than that. No timer interrupts it: it also
 * loads programs for libraries that come, which the kernel gives up when a signal comes.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/words.h"
#include "kernel/withheld.h"
#include "memprof.h"
#include "privilege/rights.h"
#include "session/in_process.h"

#define TICK "100ms"

static dtrace_hdl_t *volatile interrupted; /* NULL: the library is not to be called */
static volatile sig_atomic_t is_ending, print_due;

static void end_note(int sig)
{
	(void)sig;
	is_ending = 1;
	if (interrupted)
		dtrace_interrupt(interrupted);
}

static void print_note(int sig)
{
	(void)sig;
	print_due = 1;
}

static double clock_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void signals_catch(struct memprof *m)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction end = {.sa_handler = end_note}, old;

	interrupted = m->dtp;
	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++)
		if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			(void)sigaction(ends[i], &end, NULL);
}

void session_wait_begin(struct memprof *m)
{
	struct itimerval left = {.it_value.tv_sec = (time_t)m->duration_s};
	struct sigaction end = {.sa_handler = end_note};

	left.it_value.tv_usec = (suseconds_t)((m->duration_s - (double)left.it_value.tv_sec) * 1e6);
	signals_catch(m);
	(void)sigaction(SIGALRM, &end, NULL);
	if (m->duration_s > 0)
		(void)setitimer(ITIMER_REAL, &left, NULL);
}

void session_wait_end(void)
{
	const struct itimerval none = {0};

	(void)setitimer(ITIMER_REAL, &none, NULL);
}

bool session_wait_is_over(void)
{
	return is_ending;
}

/*
 * The kernel gives up loading a program when a signal comes, also for a library that the process
 * loads later. So what can wait comes only while nothing is done.
 */
static void signals_hold(int how)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)pthread_sigmask(how, &set, NULL);
}

/* ---- messages of the library ----------------------------------------------------------------- */

static int message_print(const char *msg)
{
	fflush(stdout);
	fprintf(stderr, "memprof: %s", msg);
	return DTRACE_HANDLE_OK;
}

static int drop_print(const dtrace_dropdata_t *drop, void *arg)
{
	(void)arg;
	return message_print(drop->dtdda_msg);
}

static int fault_print(const dtrace_errdata_t *fault, void *arg)
{
	(void)arg;
	return message_print(fault->dteda_msg);
}

static int notice_print(dtrace_hdl_t *dtp, const char *msg, void *arg)
{
	(void)dtp;
	(void)arg;
	return message_print(msg);
}

/* ---- the process ----------------------------------------------------------------------------- */

static void option_set(struct memprof *m, const char *name, const char *value)
{
	if (dtrace_setopt(m->dtp, name, value) != 0)
		library_fatal(m, "cannot set the option '%s'", name);
}

void session_prefer(struct memprof *m, const char *name, const char *value)
{
	size_t len = strlen(name);

	for (uint32_t i = 0; i < m->noptions; i++)
		if (strncmp(m->options[i], name, len) == 0 &&
		    (!m->options[i][len] || m->options[i][len] == '='))
			return;
	option_set(m, name, value);
}

static bool has_ending(const char *path, const char *ending)
{
	size_t len = strlen(path), n = strlen(ending);

	return len > n && strcasecmp(path + len - n, ending) == 0;
}

/* Whether the user has levels by which it may use the command, but not all of these. */
static bool levels_lack(uint32_t levels, struct rights *ret)
{
	struct err *e = rights_find(ret);
	bool lacks = !e && ret->origin == RIGHTS_FILE && privileges_lack(&ret->privileges, levels);

	err_destroy(e);
	return lacks;
}

bool levels_has(uint32_t levels)
{
	struct rights rights;

	return !levels_lack(levels, &rights);
}

/* Whether the command has its rights from its file, so that the quotas of its user hold for it. */
static bool has_quotas(void)
{
	struct rights rights;

	err_destroy(rights_find(&rights)); /* the origin is known on errors, too */
	return rights.origin == RIGHTS_FILE;
}

static void options_set(struct memprof *m)
{
	struct rights rights;
	char value[32];

	option_set(m, "quiet", NULL);
	option_set(m, "switchrate", TICK);
	option_set(m, "stackmerge", "function");
	option_set(m, "jstackframes", "128");
	option_set(m, "jstackstrsize", "16k");
	if (m->is_inproc && !levels_lack(LEVEL_PROC_OWNER, &rights))
		option_set(m, "inproc", "auto");
	/*
	 * Each stack that has ever asked for memory takes room, which is allocated as it comes. Of
	 * a user's quota all of it is taken at once.
	 */
	option_set(m, "aggsize", has_quotas() ? "4m" : "64m");
	if (m->older_s > 0) {
		(void)snprintf(value, sizeof(value), "%.0fms", m->older_s * 1000);
		option_set(m, "livemin", value);
	}
	if (m->by) /* with livemin it has no effect */
		option_set(m, "liveorder", NULL);
	if (m->flame) {
		option_set(m, "oformat", "flame");
		if (has_ending(m->flame, ".html") || has_ending(m->flame, ".htm"))
			option_set(m, "picture", "html");
	}
	if (m->is_verbose)
		option_set(m, "inprocsum", NULL);
	for (uint32_t i = 0; i < m->noptions; i++) { /* the user's own win */
		char *name = mem_check(strdup(m->options[i])), *set = strchr(name, '=');

		if (set)
			*set++ = '\0';
		option_set(m, name, set);
		free(name);
	}
}

struct found {
	function_f *func;
	void *arg;
	pid_t pid; /* of the description's name, in which $target has become one */
};

static int desc_note(dtrace_hdl_t *dtp, const dtrace_probedesc_t *desc, void *arg)
{
	struct found *f = arg;

	(void)dtp;
	f->pid = (pid_t)strtol(desc->dtpd_name + strlen("P"), NULL, 10);
	return 0;
}

/* Says why the command cannot be started, by the name of its program if it has one. */
static __attribute__((noreturn)) void command_fail(struct memprof *m)
{
	struct words words;
	struct err *e = words_split(m->command, &words);
	struct strbuf name = {0};

	if (e)
		library_fatal(m, "-c");
	look_text_add(&name, words.list.data[0]);
	library_fatal(m, "cannot start '%s'", strbuf_text(&name));
}

/*
 * The library tells the id of a process that it has started by what $target becomes. No provider is
 * asked that reads what the process has mapped: it may execute another program before it is traced.
 */
static pid_t target_pid(struct memprof *m)
{
	struct found f = {0};
	dtrace_prog_t *prog =
		dtrace_program_strcompile(m->dtp, "dtrace:::P$target", DTRACE_PROBESPEC_NAME,
					  DTRACE_C_ZDEFS, 0, NULL);

	if (!prog || dtrace_desc_iter(m->dtp, prog, desc_note, &f) != 0)
		command_fail(m);
	return f.pid;
}

/* A thread of the kernel and a process that has ended and is not waited for have no memory. */
static void memory_check(struct memprof *m)
{
	unsigned long npages = 0;
	char path[32];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/statm", (int)m->pid);
	f = fopen(path, "re");
	if (f && (fscanf(f, "%lu", &npages) != 1 || !npages))
		say_fatal(m, "process %d has no memory: it has ended, or is a thread of the kernel",
			  (int)m->pid);
	if (f)
		(void)fclose(f);
}

bool module_is_plain(const char *module)
{
	return *module && !module[strspn(module, "abcdefghijklmnopqrstuvwxyz"
						 "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
						 "0123456789._+-")];
}

void session_close(struct memprof *m)
{
	interrupted = NULL;
	dtrace_close(m->dtp);
	m->dtp = NULL;
}

void levels_need(struct memprof *m, uint32_t levels, const char *what)
{
	char needs[LEVELS_TEXT_MAX], text[1024];
	struct rights rights;

	if (!levels_lack(levels, &rights))
		return;
	(void)rights_text(&rights, text, sizeof(text));
	say("%s needs %s; %.*s", what, levels_text(levels, needs), (int)strcspn(text, "\n"), text);
	fputs("hint: ask root for it: fathom-privileges(5); memprof alive, holds and leaks need no "
	      "level\n",
	      stderr);
	session_close(m);
	exit(E_ERROR);
}

/* The levels that the way needs whatever the process is (fathom-privileges(5)). */
static void levels_check(struct memprof *m)
{
	char what[64];

	(void)snprintf(what, sizeof(what), "memprof%s%s%s", m->way->name[0] ? " " : "",
		       m->way->name,
		       m->way->is_look ? " -d"
		       : m->rate       ? " -r"
				       : "");
	levels_need(m, m->rate ? LEVEL_KERNEL : LEVEL_USER | LEVEL_PROC, what);
}

void session_open(struct memprof *m)
{
	struct sigaction print = {.sa_handler = print_note, .sa_flags = SA_RESTART};
	int error;

	(void)sigaction(SIGUSR1, &print, NULL); /* one that comes early must not end the command */
	m->dtp = dtrace_open(DTRACE_VERSION, DTRACE_O_LEVELS, &error);
	if (!m->dtp)
		say_fatal(m, "%s", dtrace_open_errmsg());
	levels_check(m);
	options_set(m);
	if (dtrace_handle_notice(m->dtp, notice_print, m) != 0)
		library_fatal(m, "cannot handle messages");
	if (m->command) {
		if (dtrace_proc_create(m->dtp, m->command) != 0)
			command_fail(m);
		m->pid = target_pid(m);
		signals_hold(SIG_BLOCK); /* the program has been started, and inherits nothing */
	} else {
		signals_hold(SIG_BLOCK);
		if (dtrace_proc_grab(m->dtp, m->pid) != 0)
			library_fatal(m, "cannot trace process %d", (int)m->pid);
		memory_check(m);
	}
}

static int probe_note(dtrace_hdl_t *dtp, const dtrace_probedesc_t *pd, void *arg)
{
	struct found *f = arg;

	(void)dtp;
	f->func(pd->dtpd_mod, pd->dtpd_func, f->arg);
	return 0;
}

static int desc_list(dtrace_hdl_t *dtp, const dtrace_probedesc_t *desc, void *arg)
{
	return dtrace_probe_iter(dtp, desc, probe_note, arg);
}

static bool functions_list(dtrace_hdl_t *dtp, const char *description, struct found *f)
{
	dtrace_prog_t *prog = dtrace_program_strcompile(dtp, description, DTRACE_PROBESPEC_NAME,
							DTRACE_C_ZDEFS, 0, NULL);

	return prog && dtrace_desc_iter(dtp, prog, desc_list, f) == 0;
}

void functions_find(struct memprof *m, const char *description, function_f *func, void *arg)
{
	struct found f = {.func = func, .arg = arg};

	if (!functions_list(m->dtp, description, &f))
		library_fatal(m, "cannot look for '%s'", description);
}

bool functions_find_later(const char *description, function_f *func, void *arg,
			  struct strbuf *ret_why)
{
	struct found f = {.func = func, .arg = arg};
	int error;
	dtrace_hdl_t *dtp = dtrace_open(DTRACE_VERSION, DTRACE_O_NODEV, &error);
	bool ret = dtp && functions_list(dtp, description, &f);

	if (!ret && ret_why)
		strbuf_addf(ret_why, "%s",
			    dtp ? dtrace_errmsg(dtp, dtrace_errno(dtp)) : dtrace_open_errmsg());
	dtrace_close(dtp);
	return ret;
}

/* ---- reports --------------------------------------------------------------------------------- */

struct run {
	struct memprof *m;
	const struct tracing *t;
	struct rows before; /* with -i: what the report before has shown */
	double started, reported;
	uint64_t hits; /* of the last second */
	double hits_at, watched_at, named_at;
	bool was_free; /* a second ago no event cost a way into the kernel */
	bool is_rate_told;
	bool is_over; /* the process was too fast */
	bool is_held; /* the program in D has stopped the process at its end: the report is made */
	bool is_done;
};

static int name_read(const dtrace_aggdata_t *row, void *arg)
{
	const struct tracing *t = arg;

	if (strcmp(row->dtada_desc->dtagd_name, t->names) == 0)
		t->name_note(row, t->arg);
	return DTRACE_AGGWALK_NEXT;
}

static int class_read(const dtrace_aggdata_t *row, void *arg)
{
	const struct tracing *t = arg;

	if (strcmp(row->dtada_desc->dtagd_name, t->agg) == 0)
		t->row_note(row, t->arg);
	return DTRACE_AGGWALK_NEXT;
}

/* Reads the names of classes: those that probes have told, and then others. */
static void names_read(const struct run *r, bool is_report)
{
	void *arg = (void *)r->t;

	if (r->t->names && dtrace_aggregate_walk(r->m->dtp, name_read, arg) != 0)
		library_fatal(r->m, "cannot read aggregations");
	if (!r->t->row_note)
		return;
	if (dtrace_aggregate_walk(r->m->dtp, class_read, arg) != 0)
		library_fatal(r->m, "cannot read aggregations");
	r->t->rows_end(r->t->arg, is_report);
}

static void report_make(struct run *r)
{
	struct rows now;
	double at = clock_s();
	struct report report = {.tracing = r->t,
				.rows = &now,
				.is_difference = r->m->interval_s > 0,
				.seconds = at - (r->m->interval_s > 0 ? r->reported : r->started)};

	rows_read(r->m, r->t->agg, &now);
	names_read(r, true);
	if (r->t->take) {
		r->t->take(&now, r->t->arg);
		return;
	}
	rows_compare(&now, &r->before);
	rows_sort(&now);
	report_print(r->m, &report);
	if (r->m->interval_s > 0) {
		rows_deinit(&r->before);
		r->before = now;
	} else {
		rows_deinit(&now);
	}
	r->reported = at;
}

struct hits {
	const char *agg;
	uint64_t n;
};

static int hits_read(const dtrace_aggdata_t *agg, void *arg)
{
	struct hits *want = arg;
	dtrace_aggvalue_t value;

	if (strcmp(agg->dtada_desc->dtagd_name, want->agg) != 0)
		return DTRACE_AGGWALK_NEXT;
	if (dtrace_aggvalue(agg, DTRACE_CPUALL, &value) == 0)
		want->n = (uint64_t)value.dtav_value;
	return DTRACE_AGGWALK_NEXT;
}

/* Whether the process follows its blocks by itself: no rate would slow it down. */
static bool is_free(const struct memprof *m)
{
	return m->by && !m->has_maxrate && session_is_all_inproc(m->dtp, NULL);
}

/* Whether those events cost nothing of which the process takes care by itself. */
static bool is_own_free(const struct run *r)
{
	return !r->t->own_hits || session_is_all_inproc(r->m->dtp, r->t->agg);
}

/* Whether more events come than -x maxrate allows; looked at once a second. */
static bool is_too_fast(struct run *r)
{
	struct hits want = {.agg = r->t->hits}, own = {.agg = r->t->own_hits};
	double now = clock_s(), rate;

	if (!r->t->hits || now < r->hits_at + 1)
		return false;
	if (is_free(r->m)) {
		r->was_free = true;
		r->hits_at = now;
		return false;
	}
	if (dtrace_aggregate_snap(r->m->dtp) != 0 ||
	    dtrace_aggregate_walk(r->m->dtp, hits_read, &want) != 0 ||
	    (!is_own_free(r) && dtrace_aggregate_walk(r->m->dtp, hits_read, &own) != 0))
		library_fatal(r->m, "cannot read aggregations");
	want.n += own.n;
	rate = (double)(want.n - r->hits) / (now - r->hits_at);
	if (r->was_free) /* how many of them have come since is not known yet */
		rate = 0;
	else if (!r->is_rate_told && want.n > r->hits)
		say("%.0f events a second are traced", rate);
	r->hits = want.n;
	r->hits_at = now;
	r->is_rate_told |= rate > 0;
	r->was_free = false;
	if (rate <= (double)r->m->maxrate)
		return false;
	say("stopped: %.0f events a second are more than maxrate=%llu, and slow the program down",
	    rate, (unsigned long long)r->m->maxrate);
	fputs("hint: -x maxrate=N allows more; memprof without a word costs nearly nothing\n",
	      stderr);
	return true;
}

/*
 * Opens the file of the picture, which stays as it is. For users with levels it is none of /proc:
 * there the command could be made to change itself, for instance what its quotas are counted by.
 */
static FILE *picture_open(struct memprof *m)
{
	int fd = open(m->flame, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY, 0666);
	FILE *fp = fd < 0 ? NULL : fdopen(fd, "w");
	struct err *e;

	if (!fp)
		say_fatal(m, "cannot write '%s': %s", m->flame, strerror(errno));
	e = withheld_check(fd, m->flame);
	if (e)
		look_fatal(m, e);
	return fp;
}

/* Removes what the file has from before; a pipe or a device has nothing that could be removed. */
static void picture_empty(struct memprof *m, FILE *fp)
{
	struct stat st;

	if (fstat(fileno(fp), &st) != 0 || (S_ISREG(st.st_mode) && ftruncate(fileno(fp), 0) != 0))
		say_fatal(m, "cannot write '%s': %s", m->flame, strerror(errno));
}

static void picture_print(struct memprof *m)
{
	FILE *fp = picture_open(m);

	picture_empty(m, fp);
	if (dtrace_aggregate_print(m->dtp, fp, NULL) != 0 || dtrace_output_end(m->dtp, fp) != 0)
		library_fatal(m, "cannot write '%s'", m->flame);
	if (fclose(fp) != 0)
		say_fatal(m, "cannot write '%s': %s", m->flame, strerror(errno));
}

/* Whether the picture can be written is known before anything is traced; it stays as it is. */
static void picture_check(struct memprof *m)
{
	(void)fclose(picture_open(m));
}

/* Whether the program in D has stopped the process, which nobody else has let go on. */
static bool has_held(const struct run *r)
{
	struct hits held = {.agg = "held"};
	siginfo_t info = {0};

	if (!r->m->is_held ||
	    waitid(P_PID, (id_t)r->m->pid, &info, WSTOPPED | WNOHANG | WNOWAIT) != 0 ||
	    info.si_pid != r->m->pid)
		return false;
	if (dtrace_aggregate_snap(r->m->dtp) != 0 ||
	    dtrace_aggregate_walk(r->m->dtp, hits_read, &held) != 0)
		library_fatal(r->m, "cannot read aggregations");
	return held.n > 0;
}

static void reports_print(struct run *r)
{
	if (!print_due)
		return;
	print_due = 0;
	if (r->t->take)
		return;
	if (r->m->flame)
		say("SIGUSR1 prints nothing: the picture is made at the end");
	else
		report_make(r);
}

static void events_consume(struct run *r)
{
	struct memprof *m = r->m;
	bool ends;

	if (!is_ending && !print_due) {
		dtrace_sleep(m->dtp);
		signals_hold(SIG_UNBLOCK); /* one that has come is caught now */
		signals_hold(SIG_BLOCK);
	}
	if (m->duration_s > 0 && clock_s() >= r->started + m->duration_s)
		is_ending = 1;
	if (!is_ending && is_too_fast(r))
		is_ending = r->is_over = true;
	if (r->t->watch && (is_ending || clock_s() >= r->watched_at + 1)) {
		r->t->watch(r->t->arg);
		r->watched_at = clock_s();
	}
	if (r->t->row_note && clock_s() >= r->named_at + 1) {
		if (dtrace_aggregate_snap(m->dtp) != 0)
			library_fatal(m, "cannot read aggregations");
		names_read(r, false);
		r->named_at = clock_s();
	}
	if (!r->is_held && has_held(r)) {
		r->is_held = true; /* its memory will not be there any more */
		report_make(r);
	}
	/* A signal may come behind this: the next time it is stopped, and END fires. */
	ends = is_ending || r->is_held;
	if (ends && r->t->end_begin)
		r->t->end_begin(r->t->arg);
	if (ends && dtrace_stop(m->dtp) != 0)
		library_fatal(m, "cannot stop tracing");
	switch (dtrace_work(m->dtp, stdout, NULL, NULL, NULL)) {
	case DTRACE_WORKSTATUS_DONE: ends = true; break;
	case DTRACE_WORKSTATUS_OKAY: break;
	case DTRACE_WORKSTATUS_ERROR: library_fatal(m, "cannot continue tracing");
	}
	r->is_done = ends;
	if (ends)
		return;
	if (m->interval_s > 0 && clock_s() >= r->reported + m->interval_s)
		print_due = 1;
	reports_print(r);
}

/*
 * Lets a process go on that the program in D has stopped, and waits for its end: the library ends
 * one of -c that is still there.
 */
static void held_release(const struct memprof *m)
{
	siginfo_t info;

	signals_hold(SIG_UNBLOCK);
	(void)kill(m->pid, SIGCONT);
	while (waitid(P_PID, (id_t)m->pid, &info, WEXITED | WNOWAIT) != 0 && errno == EINTR &&
	       !is_ending)
		continue;
	signals_hold(SIG_BLOCK);
}

int session_run(struct memprof *m, const struct tracing *t)
{
	struct run r = {.m = m, .t = t};
	dtrace_prog_t *prog;

	if (m->shows_d) {
		fputs(t->d, stdout);
		return E_SUCCESS;
	}
	prog = dtrace_program_strcompile(m->dtp, t->d, DTRACE_PROBESPEC_NAME,
					 t->may_come ? DTRACE_C_ZDEFS : 0, 0, NULL);
	if (!prog || dtrace_program_exec(m->dtp, prog, NULL) != 0)
		library_fatal(m, "cannot compile the program of 'memprof%s%s'",
			      m->way->name[0] ? " " : "", m->way->name);
	if (m->flame)
		picture_check(m);
	if (dtrace_handle_drop(m->dtp, drop_print, m) != 0 ||
	    dtrace_handle_err(m->dtp, fault_print, m) != 0)
		library_fatal(m, "cannot handle messages");
	signals_catch(m);
	if (dtrace_go(m->dtp) != 0)
		library_fatal(m, "cannot trace");
	if (dtrace_proc_continue(m->dtp) != 0)
		library_fatal(m, "cannot let the process run");
	r.started = r.reported = r.hits_at = r.watched_at = clock_s();
	r.named_at = r.started - 1; /* a process that ends soon has its names read, too */
	while (!r.is_done)
		events_consume(&r);
	if (m->flame)
		picture_print(m);
	else if (!r.is_held)
		report_make(&r);
	if (r.is_held)
		held_release(m);
	rows_deinit(&r.before);
	interrupted = NULL;
	return r.is_over ? E_ERROR : E_SUCCESS;
}
