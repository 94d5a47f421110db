/* SPDX-License-Identifier: MIT */
/*
 * The interface between a session and an engine (probe/engine.h): the same scripts through the
 * public functions, in the kernel, in the interpreter of DIF, and in both at once, with the same
 * output.
 */
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/engine.h"
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

/*
 * An interpreter for tracepoints alone: BEGIN and END are the kernel's, unless they share variables
 * with clauses at tracepoints.
 */
static struct engine engine_few;
static const struct engine *const interp_and_kernel[] = {&engine_interp, &engine_bpf, NULL};
static const struct engine *const few_and_kernel[] = {&engine_few, &engine_bpf, NULL};

static bool few_takes(const struct unit *u, const char **ret_why)
{
	*ret_why = "only tracepoints";
	return !u->is_begin_end && engine_interp.takes(u, ret_why);
}

static struct err *few_open(const struct engine_opts *opts, struct engine_run **ret)
{
	struct err *e = engine_interp.open(opts, ret);

	if (!e)
		(*ret)->engine = &engine_few;
	return e;
}

static void few_init(void)
{
	engine_few = engine_interp;
	engine_few.name = "few";
	engine_few.takes = few_takes;
	engine_few.open = few_open;
}

/*
 * Passes the tracepoint sys_enter n times, with the number of getppid(): in the interpreter, and
 * then in the kernel. A unit is in one of them.
 */
static void calls_make(dtrace_hdl_t *h, int n)
{
	const struct engines *es = &h->live.engines;
	const uint64_t args[10] = {0, SYS_getppid};

	for (int i = 0; i < n; i++)
		for (uint32_t k = es->n; k-- > 0;)
			if (es->runs[k]->engine == &engine_bpf)
				(void)syscall(SYS_getppid);
			else
				interp_fire(es->runs[k], "sys_enter", args);
}

static dtrace_hdl_t *open_with(const struct engine *const *engines, FILE *fp)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);

	if (engines)
		h->live.engine_choice = engines;
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

/* The names of the engines that have units, in the order in which they were opened. */
static void engines_name(const dtrace_hdl_t *h, char *out, size_t size)
{
	const struct engines *es = &h->live.engines;
	size_t len = 0;

	out[0] = '\0';
	for (uint32_t i = 0; i < es->n && len < size; i++)
		len += (size_t)snprintf(out + len, size - len, "%s%s", i ? " " : "",
					es->runs[i]->engine->name);
}

/*
 * The script with n calls of getppid() while it runs. engines: NULL = those of every session; used:
 * the ones that must have run it, NULL = any.
 */
static struct outcome run(const struct engine *const *engines, const char *used, const char *script,
			  int n)
{
	struct outcome o = {.status = -2};
	FILE *fp = open_memstream(&o.text, &o.len);
	dtrace_hdl_t *h = open_with(engines, fp);
	dtrace_workstatus_t status;
	char names[64];

	if (go(h, script, fp)) {
		engines_name(h, names, sizeof(names));
		if (used)
			is_str(names, used, "the engines");
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

static void is_outcome(struct outcome o, const struct row *row, const char *where)
{
	is_str(o.text, row->text, row->what);
	ok(o.status == row->status, "%s: exit status %d", where, o.status);
	free(o.text);
}

/* Each script in the kernel, in the interpreter, and divided between both. */
static void test_same(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *r = &rows[i];

		is_outcome(run(NULL, "bpf", r->script, r->ncalls), r, "kernel");
		is_outcome(run(interp_only, "interp", r->script, r->ncalls), r, "interpreter");
		is_outcome(run(interp_and_kernel, "interp", r->script, r->ncalls), r, "preferred");
		is_outcome(run(few_and_kernel, NULL, r->script, r->ncalls), r, "divided");
	}
}

#define ENTER "syscall::getppid:entry / pid == $pid /"

/* Clauses of one script in two engines at once. */
static const struct {
	const char *used;
	struct row row;
} beside[] = {
	{"bpf few",
	 {"BEGIN and END in the kernel, the rest in the interpreter",
	  "BEGIN { printf(\"begin \"); } " CALL " { printf(\"call \"); } "
	  "END { printf(\"end\"); }",
	  3, "begin call call call end\n", -1}},
	{"bpf few",
	 {"records by time", CALL " { printf(\"u \"); } " ENTER " { printf(\"k \"); }", 3,
	  "u k u k u k \n", -1}},
	{"bpf few",
	 {"aggregations are added up, whatever their keys",
	  CALL " { @t = count(); @n[3] = sum(2); @s[strjoin(\"a\", \"b\")] = max(7); "
	       "@p[probename] = count(); } " ENTER
	       " { @t = count(); @n[3] = sum(1); @s[strjoin(\"a\", \"b\")] = max(5); "
	       "@p[probename] = count(); }",
	  4,
	  "\n                8\n        3               12\n"
	  "  ab                                                                7\n"
	  "  entry                                                             4\n"
	  "  sys_enter                                                         4\n",
	  -1}},
	{"bpf few",
	 {"trunc() and clear() reach both",
	  CALL " { @t[1] = sum(1); @t[2] = sum(3); @k = count(); } " ENTER
	       " { @t[1] = sum(1); @t[3] = sum(1); @k = count(); } "
	       "END { trunc(@t, 1); printa(@t); clear(@k); printa(@k); }",
	  2, "\n        2                6\n\n                0\n\n", -1}},
	{"bpf few",
	 {"exit() in the interpreter ends the session",
	  CALL " { printf(\"u \"); } rawtp:::sys_enter / " CALLS
	       " && ++n == 2 / { exit(3); } " ENTER " { printf(\"k \"); }",
	  5, "u k u \n", 3}},
	{"bpf few",
	 {"exit() in the kernel ends the session",
	  CALL " { printf(\"u \"); } syscall::getppid:entry / pid == $pid && ++m == 2 / "
	       "{ printf(\"k \"); exit(4); }",
	  5, "u u k \n", 4}},
	{"bpf",
	 {"clauses with a common variable stay together",
	  CALL " { n++; } " ENTER " { printf(\"%d \", n); }", 3, "1 2 3 \n", -1}},
	{"bpf few",
	 {"an aggregation that the interpreter does not have",
	  CALL " { @q = quantize(1); } rawtp:::sys_exit / pid == $pid && "
	       "arg1 == -12345 / { trace(1); }",
	  0, "\n", -1}},
};

static void test_beside(void)
{
	for (size_t i = 0; i < ARRAY_LEN(beside); i++) {
		const struct row *r = &beside[i].row;

		is_outcome(run(few_and_kernel, beside[i].used, r->script, r->ncalls), r, "both");
	}
}

static void test_refused(void)
{
	struct outcome o = run(interp_only, NULL, "BEGIN { trace(1); } tick-1s { trace(2); }", 0);

	is_str(o.text,
	       "no engine has code for all of these probes (interp: the interpreter has no such "
	       "places)\n",
	       "a place that it has not");
	free(o.text);
	o = run(interp_only, NULL, "BEGIN { @ = quantize(1); }", 0);
	is_str(o.text,
	       "no engine has code for all of these probes (interp: the interpreter has no code "
	       "for one of the aggregations)\n",
	       "a clause that it cannot run");
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
		for (uint32_t k = 0; k < h->match.units.len; k++)
			n += h->match.units.data[k]->clauses.len;
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
	few_init();
	test_same();
	test_beside();
	test_refused();
	test_joined();
	return tap_done();
}
