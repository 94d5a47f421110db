/* SPDX-License-Identifier: MIT */
/* Whole runs through the public interface, on this kernel: what the session adds to its rooms. */
#include <errno.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

#include "kernel/sys.h"
#include "dtrace.h"
#include "tap.h"

struct said { /* by a handler */
	uint32_t n;
	char first[512];
	uint64_t sum; /* of the leading numbers */
	int answer;
};

static int say(struct said *s, const char *msg)
{
	if (!s->n++)
		(void)snprintf(s->first, sizeof(s->first), "%s", msg);
	s->sum += strtoull(msg, NULL, 10);
	return s->answer;
}

static int on_notice(dtrace_hdl_t *h, const char *msg, void *arg)
{
	(void)h;
	return say(arg, msg);
}

static int on_err(const dtrace_errdata_t *fault, void *arg)
{
	return say(arg, fault->dteda_msg);
}

static int on_drop(const dtrace_dropdata_t *drop, void *arg)
{
	return say(arg, drop->dtdda_msg);
}

struct run {
	dtrace_hdl_t *h;
	struct said errs, drops, notices;
	char *text;
	size_t len;
	FILE *fp;
	dtrace_workstatus_t last;
};

static dtrace_hdl_t *open_or_null(void)
{
	int error;

	return dtrace_open(DTRACE_VERSION, 0, &error);
}

static void run_open(struct run *r)
{
	*r = (struct run){.h = open_or_null()};
	r->fp = open_memstream(&r->text, &r->len);
	(void)dtrace_setopt(r->h, "quiet", NULL);
}

static void run_close(struct run *r)
{
	dtrace_close(r->h);
	(void)fclose(r->fp);
	free(r->text);
}

static bool compile(struct run *r, const char *text)
{
	dtrace_prog_t *p = dtrace_program_strcompile(r->h, text, DTRACE_PROBESPEC_NAME, 0, 0, NULL);

	(void)dtrace_handle_err(r->h, on_err, &r->errs);
	(void)dtrace_handle_drop(r->h, on_drop, &r->drops);
	(void)dtrace_handle_notice(r->h, on_notice, &r->notices);
	if (p && dtrace_program_exec(r->h, p, NULL) == 0)
		return true;
	printf("# %s\n", dtrace_errmsg(r->h, dtrace_errno(r->h)));
	return false;
}

static bool go(struct run *r, const char *text)
{
	if (!compile(r, text))
		return false;
	if (dtrace_go(r->h) == 0)
		return true;
	printf("# %s\n", dtrace_errmsg(r->h, dtrace_errno(r->h)));
	return false;
}

static const char *work_to_end(struct run *r)
{
	do {
		dtrace_sleep(r->h);
		r->last = dtrace_work(r->h, r->fp, NULL, NULL, NULL);
	} while (r->last == DTRACE_WORKSTATUS_OKAY);
	(void)fflush(r->fp);
	return r->text;
}

static const char *stop_and_work(struct run *r)
{
	ok(dtrace_stop(r->h) == 0, "stops");
	return work_to_end(r);
}

static void test_exit_in_begin(void)
{
	struct run r;

	run_open(&r);
	ok(go(&r, "BEGIN { printf(\"begin \"); exit(4); } syscall:::entry { printf(\"no\"); } "
		  "END { printf(\"end\"); }"),
	   "goes");
	(void)syscall(SYS_getppid);
	is_str(work_to_end(&r), "begin end", "BEGIN with exit(): then only END");
	is_int(r.last, DTRACE_WORKSTATUS_DONE, "done");
	is_int(dtrace_exit_status(r.h), 4, "status of exit()");
	run_close(&r);
}

static void *call_getppid(void *arg)
{
	for (int i = 0; i < 500; i++)
		(void)syscall(SYS_getppid);
	return NULL;
}

static void test_order(void)
{
	uint64_t last = 0, disorder = 0;
	uint32_t n = 0;
	pthread_t t[4];
	struct run r;
	const char *p;
	char *end;

	run_open(&r);
	ok(go(&r, "syscall::getppid:entry /pid == $pid/ { printf(\"%d\\n\", timestamp); }"),
	   "goes");
	for (int i = 0; i < 4; i++)
		(void)pthread_create(&t[i], NULL, call_getppid, NULL);
	for (int i = 0; i < 4; i++)
		(void)pthread_join(t[i], NULL);
	for (p = stop_and_work(&r); *p; p = end + 1, n++) {
		uint64_t v = strtoull(p, &end, 10);

		disorder += v < last;
		last = v;
	}
	is_int(n, 2000, "2000 records of four threads");
	is_int(disorder, 0, "in order of time");
	is_int(dtrace_exit_status(r.h), -1, "no exit(), no status");
	run_close(&r);
}

/* A signal may come between the last look at what it has set and the sleep. */
/* A form of probe descriptions that the enum does not have: an error, and the handle goes on. */
static void test_spec(void)
{
	static const int wrong[] = {-2, DTRACE_PROBESPEC_NAME + 1, 1 << 30};
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);

	for (size_t i = 0; h && i < ARRAY_LEN(wrong); i++) {
		ok(!dtrace_program_strcompile(h, "BEGIN", (dtrace_probespec_t)wrong[i], 0, 0, NULL),
		   "form %d of probe descriptions is refused", wrong[i]);
		is_int(dtrace_errno(h), EDT_BADPROBE, "with its code");
	}
	ok(h && dtrace_program_strcompile(h, "BEGIN", DTRACE_PROBESPEC_NONE, 0, 0, NULL),
	   "the handle goes on");
	dtrace_close(h);
}

static void test_interrupt(void)
{
	struct timespec before, after;
	struct run r;

	run_open(&r);
	(void)dtrace_setopt(r.h, "switchrate", "30s");
	ok(go(&r, "syscall::getppid:entry { @ = count(); }"), "goes");
	dtrace_interrupt(r.h);
	(void)clock_gettime(CLOCK_MONOTONIC, &before);
	(void)dtrace_work(r.h, r.fp, NULL, NULL, NULL);
	dtrace_sleep(r.h);
	(void)clock_gettime(CLOCK_MONOTONIC, &after);
	ok(after.tv_sec - before.tv_sec < 15, "an interrupt from before ends the sleep");
	(void)stop_and_work(&r);
	run_close(&r);
}

static void test_drops(bool tags)
{
	uint32_t kept = 0;
	struct run r;

	run_open(&r);
	(void)dtrace_setopt(r.h, "bufsize", "4k");
	(void)dtrace_setopt(r.h, "droptags", tags ? "on" : "off");
	ok(go(&r, "syscall::getppid:entry /pid == $pid/ { printf(\".\"); }"), "goes");
	for (int i = 0; i < 2000; i++)
		(void)syscall(SYS_getppid);
	kept = (uint32_t)strlen(stop_and_work(&r));
	ok(r.drops.n > 0, "%u kept, the others are told of", kept);
	if (tags)
		ok(strncmp(r.drops.first, "[DTRACEDROP_PRINCIPAL] ", 23) == 0, "with their tag");
	else
		is_int(kept + r.drops.sum, 2000, "kept and dropped are all there were");
	ok(strstr(r.drops.first, "drops on CPU ") != NULL, "in DTrace's words");
	run_close(&r);
}

static void test_drop_abort(void)
{
	struct run r;

	run_open(&r);
	(void)dtrace_setopt(r.h, "bufsize", "4k");
	r.drops.answer = 1;
	ok(go(&r, "syscall::getppid:entry /pid == $pid/ { printf(\".\"); }"), "goes");
	for (int i = 0; i < 2000; i++)
		(void)syscall(SYS_getppid);
	(void)stop_and_work(&r);
	is_int(r.last, DTRACE_WORKSTATUS_ERROR, "a handler may stop the run");
	is_int(dtrace_errno(r.h), EDT_DROPABORT, "because of drops");
	run_close(&r);
}

static void test_fault(void)
{
	struct run r;

	run_open(&r);
	ok(go(&r,
	      "BEGIN { printf(\"lost %d\", *(int *)8); } BEGIN { printf(\"goes on\"); exit(0); }"),
	   "goes");
	is_str(work_to_end(&r), "goes on", "a fault ends its clause alone");
	is_int(r.errs.n, 1, "told once");
	ok(strncmp(r.errs.first,
		   "error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): invalid address (0x8) in "
		   "action #",
		   78) == 0,
	   "in DTrace's words");
	printf("# %s", r.errs.first);
	run_close(&r);
}

static void test_fault_flood(void)
{
	struct run r;

	run_open(&r);
	ok(go(&r, "syscall::getppid:entry /pid == $pid/ { trace(*(int *)8); }"), "goes");
	for (int i = 0; i < 2000; i++)
		(void)syscall(SYS_getppid);
	(void)stop_and_work(&r);
	ok(r.errs.n < 500, "a flood of faults is %u messages", r.errs.n);
	is_int(r.errs.sum, 1800, "the last one says how many are missing");
	run_close(&r);
}

static void test_refusals(void)
{
	struct run r;

	run_open(&r);
	ok(compile(&r, "BEGIN { system(\"true\"); }"), "compiles");
	is_int(dtrace_go(r.h), -1, "destructive actions need permission");
	is_int(dtrace_errno(r.h), EDT_DESTRUCTIVE, "which is the reason");
	run_close(&r);

	run_open(&r);
	(void)dtrace_setopt(r.h, "bufsize", "16");
	ok(compile(&r, "BEGIN { trace(1); }"), "compiles");
	is_int(dtrace_go(r.h), -1, "a record larger than the buffer");
	is_int(dtrace_errno(r.h), EDT_BUFTOOSMALL, "is the reason");
	run_close(&r);

	run_open(&r);
	ok(go(&r, "BEGIN"), "goes");
	is_int(dtrace_setopt(r.h, "bufsize", "1m"), -1, "run-time options are fixed now");
	is_int(dtrace_errno(r.h), EDT_ACTIVE, "because the session is active");
	is_int(dtrace_go(r.h), -1, "so is going");
	ok(!dtrace_program_strcompile(r.h, "END", DTRACE_PROBESPEC_NAME, 0, 0, NULL),
	   "and compiling");
	is_int(dtrace_setopt(r.h, "switchrate", "10hz"), 0, "dynamic options are not");
	run_close(&r);
}

/* Two handles at once, each with its own probes, variables and output. */
static void test_two(void)
{
	struct run a, b;

	run_open(&a);
	run_open(&b);
	ok(go(&a,
	      "int n; syscall::getppid:entry /pid == $pid/ { n++; } END { printf(\"%d\", n); }"),
	   "first");
	ok(go(&b, "int n; syscall::getuid:entry /pid == $pid/ { n++; } END { printf(\"%d\", n); }"),
	   "second");
	for (int i = 0; i < 5; i++)
		(void)syscall(SYS_getppid);
	for (int i = 0; i < 3; i++)
		(void)syscall(SYS_getuid);
	is_str(stop_and_work(&a), "5", "first counts its own");
	is_str(stop_and_work(&b), "3", "second, too");
	run_close(&a);
	run_close(&b);
}

/* Memory the kernel does not have: smaller buffers and a word about it, or a clean refusal. */
static void test_no_memory(void)
{
	uint32_t lowered = 0, refused = 0;

	for (unsigned int n = 1; n < 60; n++) {
		struct run r;

		run_open(&r);
		ok(compile(&r, "BEGIN { exit(0); } syscall::read:entry { @ = count(); }"),
		   "compiles");
		sys_fail_set(n);
		if (dtrace_go(r.h) == 0)
			(void)work_to_end(&r);
		else
			refused++;
		lowered += strstr(r.notices.first, "buffer size lowered to 2m\n") != NULL;
		if (sys_fail_pending())
			n = 60;
		sys_fail_set(0);
		run_close(&r);
	}
	ok(refused > 5, "%u kinds of failing calls are refused", refused);
	is_int(lowered, 1, "one lowers the buffer size");
}

int main(void)
{
	dtrace_hdl_t *h = open_or_null();

	if (!h) {
		printf("1..0 # SKIP %s\n", dtrace_open_errmsg());
		return 0;
	}
	dtrace_close(h);
	test_spec();
	test_interrupt();
	test_exit_in_begin();
	test_order();
	test_drops(false);
	test_drops(true);
	test_drop_abort();
	test_fault();
	test_fault_flood();
	test_refusals();
	test_two();
	test_no_memory();
	return tap_done();
}
