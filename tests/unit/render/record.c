/* SPDX-License-Identifier: MIT */
/* Records as lines: columns, header, flow indent, if/else, actions that act, bad records. */
#include "dtrace.h"
#include "render/fix.h"
#include "tap.h"

static struct fix f;

/* ---- columns --------------------------------------------------------------------------------- */

static void test_columns(void)
{
	struct probe *pr = probes_add(f.probes, &fix_syscall, "vmlinux",
				      "a_function_name_longer_than_the_column", "entry", 0);

	f.opts.quiet = false;
	fix_act(&f, ACT_TRACE, NULL);
	fix_int(&f, 4, true, 10);
	fix_act(&f, ACT_TRACE, NULL);
	fix_str(&f, REC_STR, "abc");
	fix_act(&f, ACT_EXIT, NULL);
	fix_int(&f, 4, true, 3);
	is_str(fix_fire(&f),
	       "CPU     ID                    FUNCTION:NAME\n"
	       "  0      1                           :BEGIN        10  abc                              \n",
	       "B.1");
	is_int(f.exit_status, 3, "exit() reaches the session");
	f.clause.nacts = 0;
	is_str(fix_print(&f, NULL), "  0      1                           :BEGIN \n",
	       "the header comes once; a clause without actions");
	f.cpu = 1234;
	((struct rt_rec *)(void *)f.rec)->probe = pr->id;
	is_str(fix_print(&f, NULL), "1234  10001 a_function_name_longer_than_the_column:entry \n",
	       "long names push right");
	f.opts.is_testing = true;
	is_str(fix_print(&f, NULL), "a_function_name_longer_than_the_column:entry \n",
	       "_DTRACE_TESTING leaves the columns CPU and ID out");
	f.clause.nacts = 0;
	fix_act(&f, ACT_TRACE, NULL);
	fix_int(&f, 4, true, 10);
	is_str(fix_fire(&f),
	       "                   FUNCTION:NAME\n                          :BEGIN        10\n",
	       "_DTRACE_TESTING keeps the others where they are");
	f.opts.flowindent = true;
	is_str(fix_fire(&f),
	       "FUNCTION                                 \n| :BEGIN                                  \n",
	       "_DTRACE_TESTING with flowindent");
	f.opts.flowindent = false;
	f.opts.is_testing = false;
	f.opts.quiet = true;
	fix_act(&f, ACT_TRACE, NULL);
	fix_int(&f, 4, true, 10);
	fix_act(&f, ACT_TRACE, NULL);
	fix_str(&f, REC_STR, "abc");
	is_str(fix_fire(&f), "10abc", "quiet");
	f.cpu = 0;
}

/* ---- flow indent ----------------------------------------------------------------------------- */

struct flow_row {
	uint32_t cpu;
	uint32_t probe, clause;		  /* clauses 0 and 1 exist */
	uint32_t next_probe, next_clause; /* 0: none */
	const char *want;
};

static void flow_run(const struct flow_row *steps, size_t n)
{
	static struct clause_layout two[2];

	two[0] = two[1] = f.cl;
	f.fake.layout.clauses = two;
	f.fake.layout.nclauses = 2;
	f.opts = (struct print_opts){.flowindent = true};
	fix_printer(&f);
	for (size_t i = 0; i < n; i++) {
		struct rt_rec *rec = (struct rt_rec *)(void *)f.rec;
		struct rt_rec next = {steps[i].next_clause, steps[i].next_probe, 0};

		*rec = (struct rt_rec){steps[i].clause, steps[i].probe, 0};
		f.cpu = steps[i].cpu;
		is_str(fix_print(&f, steps[i].next_probe ? &next : NULL), steps[i].want,
		       "flow line");
	}
	f.fake.layout.clauses = &f.cl;
	f.fake.layout.nclauses = 1;
	f.opts = (struct print_opts){.quiet = true};
	f.cpu = 0;
}

static void test_flow(void)
{
	uint32_t read_in = probes_add(f.probes, &fix_fbt, "vmlinux", "vfs_read", "entry", 0)->id;
	uint32_t read_out = probes_add(f.probes, &fix_fbt, "vmlinux", "vfs_read", "return", 0)->id;
	uint32_t area_in =
		probes_add(f.probes, &fix_fbt, "vmlinux", "rw_verify_area", "entry", 0)->id;
	uint32_t area_out =
		probes_add(f.probes, &fix_fbt, "vmlinux", "rw_verify_area", "return", 0)->id;
	uint32_t other =
		probes_add(f.probes, &fix_fbt, "vmlinux", "some_func", "some-probe", 0)->id;
	uint32_t sys_in = probes_add(f.probes, &fix_syscall, "vmlinux", "read", "entry", 0)->id;
	uint32_t sys_out = probes_add(f.probes, &fix_syscall, "vmlinux", "read", "return", 0)->id;
	uint32_t xin = probes_add(f.probes, &fix_fbt, "", "f", "x-entry", 0)->id;
	uint32_t xout = probes_add(f.probes, &fix_fbt, "", "f", "x-return", 0)->id;
	const struct flow_row b5[] = {
		{0, read_in, 0, 0, 0,
		 "CPU FUNCTION                                 \n"
		 "  0  -> vfs_read                              \n"},
		{0, area_in, 0, 0, 0, "  0    -> rw_verify_area                      \n"},
		{0, area_out, 0, 0, 0, "  0    <- rw_verify_area                      \n"},
		{0, other, 0, 0, 0, "  0   | some_func:some-probe                  \n"},
		{0, read_out, 0, 0, 0, "  0  <- vfs_read                              \n"},
	};
	const struct flow_row more[] = {
		{0, sys_out, 0, 0, 0, /* not below 0 */
		 "CPU FUNCTION                                 \n"
		 "  0  <= read                                  \n"},
		{0, sys_in, 0, 0, 0, "  0  => read                                  \n"},
		{1, xin, 0, 0, 0, "  1  -> f                                     \n"},
		{1, xin, 1, 0, 0, "  1   | f:x-entry                             \n"},
		{1, xout, 0, xout, 1, "  1   | f:x-return                            \n"},
		{1, xout, 1, 0, 0, "  1  <- f                                     \n"},
		{0, other, 0, 0, 0, "  0   | some_func:some-probe                  \n"},
		{0, sys_out, 0, sys_out, RT_REC_FAULT, /* a fault is no record of a clause */
		 "  0  <= read                                  \n"},
		{1, xin, 0, 0, 0, "  1  -> f                                     \n"},
		{1, xin, 0, 0, 0, "  1    -> f                                   \n"},
	};

	flow_run(b5, ARRAY_LEN(b5));
	flow_run(more, ARRAY_LEN(more));
}

/* ---- if/else --------------------------------------------------------------------------------- */

static void test_executed_bits(void)
{
	uint64_t words[2] = {1ull << 3 | 1ull << 63, 1ull << 1};
	struct strbuf want = {0};

	memcpy(f.rec + f.len, words, sizeof(words));
	f.cl.executed_off = f.len;
	f.len += sizeof(words);
	fix_act(&f, ACT_EXPR, NULL); /* records nothing, but counts */
	for (int i = 1; i < 70; i++) {
		fix_act(&f, ACT_PRINTF, "%d ");
		fix_int(&f, 1, true, i);
	}
	strbuf_addf(&want, "%d %d %d ", 3, 63, 65);
	is_str(fix_fire(&f), strbuf_text(&want), "only executed actions print");
	strbuf_deinit(&want);
}

/* ---- actions --------------------------------------------------------------------------------- */

static void test_setopt(void)
{
	fix_act(&f, ACT_SETOPT, NULL);
	fix_str(&f, REC_STRID, "quiet");
	fix_act(&f, ACT_SETOPT, NULL);
	fix_str(&f, REC_STRID, "aggsortrev");
	fix_str(&f, REC_STR, "0");
	(void)fix_fire(&f);
	is_str(strbuf_text(&f.log), "[quiet=1][aggsortrev=0]", "setopt()");
	strbuf_clear(&f.log);
	fix_act(&f, ACT_SETOPT, NULL);
	fix_str(&f, REC_STRID, "bad");
	fix_str(&f, REC_STR, "7");
	fix_act(&f, ACT_PRINTF, "goes on");
	is_str(fix_fire(&f), "goes on", "a failed setopt() does not end the record");
	is_str(strbuf_text(&f.log),
	       "[fault 0 1 couldn't set option \"bad\" to \"7\": Invalid option name]",
	       "its report");
	strbuf_clear(&f.log);
}

static const char *file_text(const char *path)
{
	static char buf[4096];
	FILE *fp = fopen(path, "re");
	size_t n = 0;

	if (fp) {
		n = fread(buf, 1, sizeof(buf) - 1, fp);
		(void)fclose(fp);
	}
	buf[n] = '\0';
	return fp ? buf : "(none)";
}

static void freopen_act(const char *name)
{
	fix_act(&f, ACT_FREOPEN, "%s");
	fix_str(&f, REC_STR, name);
}

static void printf_act(const char *text)
{
	fix_act(&f, ACT_PRINTF, text);
}

static void test_files(void)
{
	char dir[] = "/tmp/fathom-print-XXXXXX", path[64], command[80];

	if (!mkdtemp(dir)) {
		ok(false, "a directory");
		return;
	}
	snprintf(path, sizeof(path), "%s/out", dir);
	printf_act("before ");
	freopen_act(path);
	printf_act("inside ");
	freopen_act("");
	printf_act("after");
	is_str(fix_fire(&f), "before after", "what freopen() leaves on the output");
	is_str(file_text(path), "inside ", "what it sends to the file");
	freopen_act(path);
	printf_act("appended");
	freopen_act("");
	(void)fix_fire(&f);
	is_str(file_text(path), "inside appended", "a second freopen() appends");
	freopen_act(path);
	printf_act("thrown away");
	fix_act(&f, ACT_FTRUNCATE, NULL);
	printf_act("kept ");
	fix_act(&f, ACT_SYSTEM, "echo from the shell: %d");
	fix_int(&f, 4, true, 42);
	printf_act("end");
	freopen_act("");
	freopen_act("");
	printf_act("stdout");
	is_str(fix_fire(&f), "stdout", "a second empty freopen() does nothing");
	is_str(file_text(path), "kept from the shell: 42\nend", "ftruncate(), system() in order");
	snprintf(command, sizeof(command), "rm %s && rmdir %s", path, dir);
	fix_act(&f, ACT_SYSTEM, command);
	(void)fix_fire(&f);
	ok(access(dir, F_OK) != 0, "system() has run when it returns");
	freopen_act("/nonexistent/x");
	printf_act("still here");
	is_str(fix_fire(&f), "still here", "a failed freopen() changes nothing");
	is_str(strbuf_text(&f.log),
	       "[fault 0 1 couldn't freopen() \"/nonexistent/x\": No such file or directory]",
	       "its report");
	strbuf_clear(&f.log);
}

/* ---- faults ---------------------------------------------------------------------------------- */

static const struct {
	struct rt_fault fault;
	uint32_t epid, probe;
	const char *want;
} faults[] = {
	{{DIF_FAULT_BADADDR, 0, 1, 12, 0x10},
	 1,
	 1,
	 "error on enabled probe ID 1 (ID 1: dtrace:::BEGIN): invalid address (0x10) in action #1 at DIF "
	 "offset 12\n"},
	{{DIF_FAULT_DIVZERO, 0, 0, 8, 0},
	 7,
	 1,
	 "error on enabled probe ID 7 (ID 1: dtrace:::BEGIN): divide-by-zero in predicate at DIF offset "
	 "8\n"},
	{{DIF_FAULT_NOSCRATCH, 0, 3, -1, 99},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): out of scratch space in action #3\n"},
	{{DIF_FAULT_BADALIGN, 0, 1, -1, 0xffffffffffffffff},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): invalid alignment (0xffffffffffffffff) in "
	 "action #1\n"},
	{{DIF_FAULT_BADINDEX, 0, 1, 0, 12},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): index out of bounds (12) in action #1 at "
	 "DIF offset 0\n"},
	{{DIF_FAULT_BADSIZE, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): invalid size (0x10) in action #1\n"},
	{{DIF_FAULT_BADSTACK, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): bad stack (0x10) in action #1\n"},
	{{DIF_FAULT_ILLOP, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): illegal operation in action #1\n"},
	{{DIF_FAULT_KPRIV, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): invalid kernel access in action #1\n"},
	{{DIF_FAULT_UPRIV, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): invalid user access in action #1\n"},
	{{DIF_FAULT_TUPOFLOW, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): tuple stack overflow in action #1\n"},
	{{4711, 0, 1, -1, 16},
	 2,
	 1,
	 "error on enabled probe ID 2 (ID 1: dtrace:::BEGIN): unknown fault in action #1\n"},
	{{0, 0, 0, -1, 0},
	 2,
	 99999,
	 "error on enabled probe ID 2 (ID 99999: unknown probe): unknown fault in predicate\n"},
};

static void test_faults(void)
{
	for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
		struct rt_rec_fault rec = {
			.rec = {RT_REC_FAULT, faults[i].probe, 0},
			.fault = faults[i].fault,
			.epid = faults[i].epid,
		};
		struct strbuf out = {0};

		print_fault(f.printer, &rec, false, &out);
		is_str(strbuf_text(&out), faults[i].want, "fault text");
		strbuf_deinit(&out);
	}
}

/* ---- bad records ----------------------------------------------------------------------------- */

static void bad_case(uint32_t len, int code, const char *name)
{
	FILE *fp = fopen("/dev/null", "we");
	struct err *e = print_record(f.printer, fp, (const struct rt_rec *)(const void *)f.rec, len,
				     0, NULL);

	is_int(e ? err_get_code(e) : 0, code, name);
	err_destroy(e);
	if (fp)
		(void)fclose(fp);
}

static void test_bad(void)
{
	struct rt_rec *rec = (struct rt_rec *)(void *)f.rec;
	struct rt_str *s;
	uint32_t full;

	fix_act(&f, ACT_PRINTF, "%d %s %s");
	fix_int(&f, 4, true, 1);
	fix_str(&f, REC_STR, "heap");
	fix_str(&f, REC_STRID, "table");
	fix_close(&f);
	fix_printer(&f);
	full = f.len;
	s = (struct rt_str *)(void *)(f.rec + f.als[0].fields[1].off);
	bad_case(full, 0, "a good record");
	bad_case(full - 1, EDT_DOFFSET, "string beyond the end");
	bad_case(sizeof(*rec) + 3, EDT_DOFFSET, "field beyond the end");
	bad_case(3, EDT_DSIZE, "no header");
	s->off = UINT32_MAX;
	bad_case(full, EDT_DOFFSET, "string far away");
	s->off = full - 4;
	s->len = UINT32_MAX - 1;
	bad_case(full, EDT_DOFFSET, "string without end");
	s->len = 4;
	bad_case(full, 0, "repaired");
	memset(f.rec + f.als[0].fields[2].off, 0xff, 4);
	bad_case(full, EDT_DOFFSET, "string id without string");
	memset(f.rec + f.als[0].fields[2].off, 0, 4);
	rec->clause = 5;
	bad_case(full, EDT_BADSTID, "no such clause");
	rec->clause = 0;
	rec->probe = 0x7fffffff;
	bad_case(full, EDT_BADID, "no such probe");
	f.clause.nacts = 0;
	f.len = sizeof(*rec);
	f.nheap = 0;
}

static void test_write_error(void)
{
	FILE *fp = fopen("/dev/full", "we");
	struct err *e;

	if (!fp)
		return;
	fix_act(&f, ACT_PRINTF, "x");
	fix_close(&f);
	fix_printer(&f);
	e = print_record(f.printer, fp, (const struct rt_rec *)(const void *)f.rec, f.len, 0, NULL);
	if (!e)
		e = printer_flush(f.printer, fp);
	is_str(e ? err_text(e) : "", "failed to write to output file: No space left on device",
	       "a full disk");
	err_destroy(e);
	(void)fclose(fp);
	f.clause.nacts = 0;
}

int main(void)
{
	fix_init(&f);
	fix_open(&f);
	test_columns();
	test_flow();
	test_executed_bits();
	test_setopt();
	test_files();
	test_faults();
	test_bad();
	test_write_error();
	fix_deinit(&f);
	return tap_done();
}
