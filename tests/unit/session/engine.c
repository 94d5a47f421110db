/* SPDX-License-Identifier: MIT */
/*
 * The interface between a session and an engine (probe/engine.h): the same scripts through the
 * public functions, once in the kernel and once in the interpreter of DIF, with the same output.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "engine_interp.h"
#include "session/session.h"
#include "tap.h"

static const struct engine *const interp_only[] = {&engine_interp, NULL};

struct outcome {
	char *text; /* output, then what the handler for errors got */
	size_t len;
	int status;
};

static int on_err(const dtrace_errdata_t *fault, void *arg)
{
	(void)fprintf(arg, "error: %s", fault->dteda_msg);
	return 0;
}

/* Passes the tracepoint sys_enter n times, with the number of getppid(). */
static void calls_make(dtrace_hdl_t *h, int n)
{
	const uint64_t args[10] = {0, SYS_getppid};

	for (int i = 0; i < n; i++)
		if (h->run.engine->engine == &engine_interp)
			interp_fire(h->run.engine, "sys_enter", args);
		else
			(void)syscall(SYS_getppid);
}

static dtrace_hdl_t *open_with(const struct engine *const *engines, FILE *fp)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);

	if (engines)
		h->run.engines = engines;
	(void)dtrace_setopt(h, "quiet", NULL);
	(void)dtrace_handle_err(h, on_err, fp);
	return h;
}

static bool go(dtrace_hdl_t *h, const char *script, FILE *fp)
{
	dtrace_prog_t *p = dtrace_program_strcompile(h, script, DTRACE_PROBESPEC_NAME, 0, 0, NULL);

	if (p && dtrace_program_exec(h, p, NULL) == 0 && dtrace_go(h) == 0)
		return true;
	(void)fprintf(fp, "%s\n", dtrace_errmsg(h, dtrace_errno(h)));
	return false;
}

/* The script with n calls of getppid() while it runs; engines: NULL = those of every session. */
static struct outcome run(const struct engine *const *engines, const char *script, int n)
{
	struct outcome o = {.status = -2};
	FILE *fp = open_memstream(&o.text, &o.len);
	dtrace_hdl_t *h = open_with(engines, fp);
	dtrace_workstatus_t status;

	if (go(h, script, fp)) {
		is_str(h->run.engine->engine->name, engines ? "interp" : "bpf", "the engine");
		calls_make(h, n);
		(void)dtrace_work(h, fp, NULL, NULL, NULL);
		(void)dtrace_stop(h);
		while ((status = dtrace_work(h, fp, NULL, NULL, NULL)) == DTRACE_WORKSTATUS_OKAY)
			;
		ok(status == DTRACE_WORKSTATUS_DONE, "it ends");
		(void)dtrace_aggregate_print(h, fp, NULL);
		o.status = dtrace_exit_status(h);
	}
	dtrace_close(h);
	(void)fclose(fp);
	return o;
}

#define TEXT_OF(x) #x
#define TEXT(x)	   TEXT_OF(x)
#define CALLS	   "pid == $pid && arg1 == " TEXT(SYS_getppid)
#define CALL	   "rawtp:::sys_enter / " CALLS " /"

static const struct row {
	const char *what, *script;
	int ncalls;
	const char *text;
	int status;
} rows[] = {
	{"integers and strings",
	 "BEGIN { n = 3; trace(n * 14); printf(\" %s %d\\n\", probename, -n); exit(7); }", 0,
	 "42 BEGIN -3\n\n", 7},
	{"records of several CPUs in the order of their times",
	 CALL " { printf(\"%d \", ++n); } END { printf(\"end %s\", probefunc); }", 6,
	 "1 2 3 4 5 6 end \n", -1},
	{"aggregations: keys of integers, names and strings",
	 "string s; " CALL
	 " { n++; s = n < 4 ? \"early\" : \"late\"; @c[n & 1, probename] = count(); "
	 "@s[s] = sum(n); @a = avg(n); @lo = min(n); @hi = max(n); }",
	 6,
	 "\n                0  sys_enter                                                         3"
	 "\n                1  sys_enter                                                         3"
	 "\n  early                                                             6"
	 "\n  late                                                             15"
	 "\n                3\n                1\n                6\n",
	 -1},
	{"aggregations while probes fire: printa, clear, trunc",
	 CALL " { n++; @c[n & 3] = count(); @t[n] = sum(n); } "
	      "rawtp:::sys_enter / " CALLS
	      " && n == 4 / { trunc(@t, 1); printa(@t); clear(@c); printa(@c); }",
	 6,
	 "\n                6                6\n"
	 "\n                0                0\n                1                0"
	 "\n                2                0\n                3                0\n\n",
	 -1},
	{"flow control",
	 CALL " { if (++n > 2) { trace(n); } else { printf(\"few\"); } printf(\";\"); }", 4,
	 "few;few;3;4;\n", -1},
	{"a fault ends its clause", "BEGIN { trace(*(int *)8); } END { trace(1); }", 0,
	 "error: error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): invalid address (0x8) "
	 "in action #1 at DIF offset 4\nhint: the pointer is not set: test it in the predicate\n1\n",
	 -1},
	{"exit() stops the others",
	 CALL " { n++; printf(\"%d\", n); } "
	      "rawtp:::sys_enter / " CALLS " && n == 2 / { exit(n); }",
	 5, "12\n", 2},
};

static void test_same(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct outcome kernel = run(NULL, rows[i].script, rows[i].ncalls);
		struct outcome interp = run(interp_only, rows[i].script, rows[i].ncalls);

		is_str(interp.text, rows[i].text, rows[i].what);
		is_str(kernel.text, rows[i].text, "the same in the kernel");
		is_int(interp.status, rows[i].status, "exit status");
		is_int(kernel.status, rows[i].status, "exit status in the kernel");
		free(kernel.text);
		free(interp.text);
	}
}

static void test_refused(void)
{
	struct outcome o = run(interp_only, "BEGIN { trace(1); } tick-1s { trace(2); }", 0);

	is_str(o.text, "no engine has code for all of these probes\n", "a place that it has not");
	free(o.text);
	o = run(interp_only, "BEGIN { @ = quantize(1); }", 0);
	ok(strstr(o.text, "the interpreter has no code for action #1"),
	   "a clause that it cannot run: %s", o.text);
	free(o.text);
}

#define ENTRY(call) "syscall::" #call ":entry"

/* How many clauses the programs of a session have, whose script is a list of clauses. */
static void test_joined(void)
{
	static const struct {
		const char *what, *script;
		uint32_t nclauses;
	} scripts[] = {
		{"one list", ENTRY(getppid) "," ENTRY(getuid) "," ENTRY(getgid) " { trace(epid); }",
		 1},
		{"the same body twice in the text",
		 ENTRY(getppid) " { trace(1); } " ENTRY(getuid) " { trace(1); }", 2},
		{"a probe that is there twice",
		 ENTRY(getppid) "," ENTRY(getuid) "," ENTRY(getppid) " { trace(1); }", 2},
		{"a clause between",
		 "syscall::getppid:entry,syscall::getuid:entry { trace(1); }"
		 "syscall::getuid:entry,syscall::getppid:entry { trace(2); }",
		 2},
		{"probes that take turns",
		 "syscall::*[a-m]:entry, syscall::*[!a-m]:entry { trace(epid); }", 2},
		{"lists in two programs",
		 ENTRY(getppid) "," ENTRY(getuid) ",syscall::getuid:return { trace(1); }", 2},
	};
	int error;

	for (size_t i = 0; i < ARRAY_LEN(scripts); i++) {
		dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);
		uint32_t n = 0;

		ok(go(h, scripts[i].script, stdout), "%s: it runs", scripts[i].what);
		for (uint32_t k = 0; k < h->run.units.len; k++)
			n += h->run.units.data[k]->clauses.len;
		is_int(n, scripts[i].nclauses, scripts[i].what);
		dtrace_close(h);
	}
}

int main(void)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);

	if (!h) {
		printf("1..0 # SKIP %s\n", dtrace_open_errmsg());
		return 0;
	}
	dtrace_close(h);
	test_same();
	test_refused();
	test_joined();
	return tap_done();
}
