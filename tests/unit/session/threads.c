/* SPDX-License-Identifier: MIT */
/*
 * Several handles, each in a thread of its own, from open to close at the same time. The suite runs
 * this program as it is, and built with ThreadSanitizer (tests/e2e/cmd/threads.sh), which tells of
 * every unlocked access.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#include "dtrace.h"
#include "kernel/sys.h"
#include "tap.h"

#define THREADS 3
#define ROUNDS	2
#define CALLS	100

static const char program[] =
	"BEGIN { printf(\"begin \"); }\n"
	"syscall::getppid:entry /tid == $1/ { self->t = timestamp; @n = count(); @u[ustack(3), probefunc] = count(); }\n"
	"syscall::getppid:return /self->t && tid == $1/ { @q[execname] = quantize(vtimestamp); self->t = 0; }\n"
	"syscall::getppid:return /tid == $1 && progenyof($pid)/ { @p = count(); a[tid, cwd] = curthread->pid; }\n"
	"profile-97 { @s[stack(3)] = count(); }\n"
	"END { printa(\"n %@d\", @n); clear(@n); printf(\" port %P\", htons(22)); }\n";

struct worker {
	pthread_t thread;
	uint32_t good;
	char why[256];
};

static void fail(struct worker *w, const char *what, dtrace_hdl_t *h)
{
	(void)snprintf(w->why, sizeof(w->why), "%s: %s", what,
		       h ? dtrace_errmsg(h, dtrace_errno(h)) : dtrace_open_errmsg());
}

static bool is_ready(struct worker *w, dtrace_hdl_t *h)
{
	char name[] = "threads", tid[16];
	char *args[] = {name, tid, NULL};
	dtrace_prog_t *p;

	(void)snprintf(tid, sizeof(tid), "%ld", syscall(SYS_gettid));
	(void)dtrace_setopt(h, "quiet", NULL);
	(void)dtrace_setopt(h, "bufsize", "64k");
	p = dtrace_program_strcompile(h, program, DTRACE_PROBESPEC_NAME, 0, 2, args);
	if (p && dtrace_program_exec(h, p, NULL) == 0 && dtrace_go(h) == 0)
		return true;
	fail(w, "start", h);
	return false;
}

/* Values, too, are the handle's own. */
static int on_rec(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec, void *arg)
{
	uint32_t *nrecs = arg;

	*nrecs += rec && data->dtpda_edesc->dtepd_nrecs > 0;
	return DTRACE_CONSUME_THIS;
}

static int on_row(const dtrace_aggdata_t *row, void *arg)
{
	uint32_t *nrows = arg;
	dtrace_aggvalue_t v;
	char name[64];

	*nrows += dtrace_aggvalue(row, DTRACE_CPUALL, &v) == 0;
	for (uint32_t i = 0; i < row->dtada_nkeys; i++)
		if (row->dtada_keys[i].dtd_nframes)
			(void)dtrace_frame2str(row->dtada_handle, row->dtada_keys[i].dtd_frames,
					       name, sizeof(name));
	return DTRACE_AGGWALK_NEXT;
}

static bool run(struct worker *w, dtrace_hdl_t *h)
{
	uint32_t nrecs = 0, nrows = 0;
	char *text = NULL;
	size_t len = 0;
	FILE *fp = open_memstream(&text, &len);
	bool is_good;

	for (uint32_t i = 0; i < CALLS; i++)
		(void)syscall(SYS_getppid);
	is_good = dtrace_work(h, fp, NULL, on_rec, &nrecs) != DTRACE_WORKSTATUS_ERROR &&
		  dtrace_stop(h) == 0 &&
		  dtrace_work(h, fp, NULL, on_rec, &nrecs) == DTRACE_WORKSTATUS_DONE &&
		  dtrace_aggregate_snap(h) == 0 && dtrace_aggregate_walk(h, on_row, &nrows) == 0 &&
		  nrecs > 0 && nrows > 0 &&
		  dtrace_aggregate_print(h, fp, dtrace_aggregate_walk_keysorted) == 0;
	(void)fclose(fp);
	if (!is_good) {
		fail(w, "run", h);
	} else if (!strstr(text, "begin n 100 port ")) {
		(void)snprintf(w->why, sizeof(w->why), "'%.100s'", text);
		is_good = false;
	}
	free(text);
	return is_good;
}

static void *work(void *arg)
{
	struct worker *w = arg;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		int error;
		dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);

		if (!h)
			fail(w, "open", NULL);
		else
			w->good += is_ready(w, h) && run(w, h);
		dtrace_close(h);
	}
	return NULL;
}

/* ---- a thread that interrupts ----------------------------------------------------------------*/

static atomic_bool is_over;

static void *interrupt_all_the_time(void *h)
{
	while (!atomic_load(&is_over)) {
		dtrace_interrupt(h);
		(void)usleep(100);
	}
	return NULL;
}

/* What is interrupted, at any moment of its life, ends as it should. fails: dtrace_go() does. */
static void test_interrupt(const char *script, bool fails)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);
	pthread_t thread;
	dtrace_prog_t *p;
	bool is_good;

	atomic_store(&is_over, false);
	if (!h || pthread_create(&thread, NULL, interrupt_all_the_time, h) != 0) {
		ok(false, "cannot begin");
		return;
	}
	p = dtrace_program_strcompile(h, script, DTRACE_PROBESPEC_NAME, 0, 0, NULL);
	is_good = p && dtrace_program_exec(h, p, NULL) == 0;
	if (fails) {
		sys_fail_set(8); /* a call of dtrace_go() */
		ok(is_good && dtrace_go(h) != 0, "a start that fails while it is interrupted");
		sys_fail_set(0);
	} else {
		bool has_begun = is_good && dtrace_go(h) == 0;

		/* What is interrupted before BEGIN has run has no end to be worked off. */
		is_good = is_good && (has_begun || dtrace_errno(h) == EINTR);
		dtrace_sleep(h);
		ok(is_good && (!has_begun ||
			       (dtrace_stop(h) == 0 && dtrace_work(h, stdout, NULL, NULL, NULL) ==
							       DTRACE_WORKSTATUS_DONE)),
		   "a run that is interrupted");
	}
	atomic_store(&is_over, true);
	(void)pthread_join(thread, NULL);
	dtrace_close(h);
}

int main(void)
{
	struct worker workers[THREADS] = {0};

	for (uint32_t i = 0; i < THREADS; i++)
		if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
			ok(false, "cannot start a thread");
	for (uint32_t i = 0; i < THREADS; i++) {
		(void)pthread_join(workers[i].thread, NULL);
		is_int(workers[i].good, ROUNDS,
		       *workers[i].why ? workers[i].why : "each run of a thread is right");
	}
	test_interrupt("syscall::getppid:entry { @ = count(); }", false);
	test_interrupt("syscall::getppid:entry { @ = count(); }", true);
	return tap_done();
}
