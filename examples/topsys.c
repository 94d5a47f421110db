/* SPDX-License-Identifier: MIT */
/*
 * Which system calls are made most, and how long do they take?
 *
 *     topsys [-i SECONDS] [-n ROWS] [COMMAND]
 *
 * Every SECONDS (1) a table shows the ROWS (20) calls that were made most since the table before:
 * how many there were; the time that half of them did not exceed (HALF), and that 99 of 100 did not
 * exceed (99 %); and a picture of all times, one character for each power of two of nanoseconds.
 * With a COMMAND these are its calls, until it ends; else those of all other processes, until ^C.
 *
 * A program of libdtrace: the numbers come as numbers, no text is parsed. To build it:
 *
 *     cc -O2 -o topsys topsys.c $(pkg-config --cflags --libs libdtrace)
 */
#include <dtrace.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define ROWS_MAX 1024
#define POWERS	 40 /* 2^40 ns are 18 minutes */

static const char program[] =
	"syscall:::entry /$target ? pid == $target : pid != $pid/ { self->start = timestamp; }\n"
	"syscall:::return /self->start/\n"
	"{\n"
	"	@calls[probefunc] = count();\n"
	"	@times[probefunc] = quantize(timestamp - self->start);\n"
	"	self->start = 0;\n"
	"}\n";

struct row {
	char call[32];
	uint64_t count;
	uint64_t half, most; /* ns */
	uint64_t by_power[POWERS];
};

struct table {
	struct row rows[ROWS_MAX];
	uint32_t n;
	uint64_t total;
};

static dtrace_hdl_t *handle; /* for the signal handler */

static void fail(const char *what)
{
	const char *hint = dtrace_errhint(handle);

	fprintf(stderr, "topsys: %s: %s\n", what, dtrace_errmsg(handle, dtrace_errno(handle)));
	if (hint)
		fprintf(stderr, "hint: %s\n", hint);
	dtrace_close(handle);
	exit(1);
}

/* ---- handlers -------------------------------------------------------------------------------- */

static volatile sig_atomic_t is_interrupted;

static void on_signal(int sig)
{
	(void)sig;
	is_interrupted = 1;
	dtrace_interrupt(handle);
}

/* Lost calls make the table wrong: that has to be said. */
static int on_drop(const dtrace_dropdata_t *drop, void *arg)
{
	(void)arg;
	fprintf(stderr, "topsys: %s", drop->dtdda_msg);
	return DTRACE_HANDLE_OK;
}

static int on_fault(const dtrace_errdata_t *fault, void *arg)
{
	(void)arg;
	fprintf(stderr, "topsys: %s", fault->dteda_msg);
	return DTRACE_HANDLE_OK;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* The end of the bucket in which the call lies that is slower than part/100 of all. */
static uint64_t percentile(const dtrace_aggvalue_t *v, uint64_t part)
{
	uint64_t seen = 0;

	for (uint32_t i = 0; i < v->dtav_nbuckets; i++) {
		seen += (uint64_t)v->dtav_buckets[i].dtb_count;
		if (seen * 100 >= v->dtav_count * part)
			return (uint64_t)v->dtav_buckets[i].dtb_max;
	}
	return 0;
}

static void row_fill(struct row *row, const dtrace_aggvalue_t *times)
{
	row->half = percentile(times, 50);
	row->most = percentile(times, 99);
	for (uint32_t i = 0; i < times->dtav_nbuckets; i++) {
		const dtrace_bucket_t *b = &times->dtav_buckets[i];
		int power = b->dtb_min > 0 ? 63 - __builtin_clzll((uint64_t)b->dtb_min) : 0;

		row->by_power[power < POWERS ? power : POWERS - 1] += (uint64_t)b->dtb_count;
	}
}

/* Both aggregations side by side; what was read counts from zero again. */
static int on_call(const dtrace_aggdata_t **aggs, const int naggs, void *arg)
{
	struct table *t = arg;
	struct row *row = &t->rows[t->n];
	dtrace_aggvalue_t count, times;

	(void)naggs;
	if (!aggs[0] || !aggs[1] || t->n == ROWS_MAX)
		return DTRACE_AGGWALK_NEXT;
	if (dtrace_aggvalue(aggs[0], DTRACE_CPUALL, &count) != 0 ||
	    dtrace_aggvalue(aggs[1], DTRACE_CPUALL, &times) != 0)
		return DTRACE_AGGWALK_ERROR;
	if (!count.dtav_value)
		return DTRACE_AGGWALK_NEXT;
	memset(row, 0, sizeof(*row));
	snprintf(row->call, sizeof(row->call), "%s", aggs[0]->dtada_keys[0].dtd_bytes);
	row->count = (uint64_t)count.dtav_value;
	row_fill(row, &times);
	t->total += row->count;
	t->n++;
	return DTRACE_AGGWALK_CLEAR;
}

static void table_read(struct table *t)
{
	dtrace_aggid_t ids[2] = {dtrace_aggregate_lookup(handle, "calls"),
				 dtrace_aggregate_lookup(handle, "times")};

	t->n = 0;
	t->total = 0;
	if (dtrace_aggregate_snap(handle) != 0 ||
	    dtrace_aggregate_walk_joined(handle, ids, 2, on_call, t) != 0)
		fail("cannot read the aggregations");
}

/* ---- showing --------------------------------------------------------------------------------- */

static int row_cmp(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : strcmp(x->call, y->call);
}

static void time_show(uint64_t ns)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	uint32_t unit = 0;

	while (ns >= 10000 && unit < 3) {
		ns /= 1000;
		unit++;
	}
	printf(" %6" PRIu64 " %-2s", ns, units[unit]);
}

/* From 2^8 ns to 2^31 ns; what lies outside counts at the ends. */
static void picture_show(const struct row *row)
{
	static const char levels[] = " .:-=+*#%@";
	uint64_t at[24] = {0};

	for (int power = 0; power < POWERS; power++)
		at[power < 8 ? 0 : power > 31 ? 23 : power - 8] += row->by_power[power];
	printf("  |");
	for (int i = 0; i < 24; i++)
		putchar(levels[(at[i] * 9 + row->count - 1) / row->count]);
	printf("|\n");
}

static void table_show(struct table *t, uint32_t nrows, double seconds)
{
	qsort(t->rows, t->n, sizeof(t->rows[0]), row_cmp);
	printf("%-20s %10s %10s %9s %9s   %-24s\n", "CALL", "CALLS", "A SECOND", "HALF", "99 %",
	       "256 ns .. 2 s");
	for (uint32_t i = 0; i < t->n && i < nrows; i++) {
		const struct row *row = &t->rows[i];

		printf("%-20s %10" PRIu64 " %10.0f", row->call, row->count,
		       (double)row->count / seconds);
		time_show(row->half);
		time_show(row->most);
		picture_show(row);
	}
	printf("%-20s %10" PRIu64 " %10.0f\n\n", "all", t->total, (double)t->total / seconds);
	fflush(stdout);
}

/* ---- running --------------------------------------------------------------------------------- */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void start(const char *command)
{
	dtrace_prog_t *prog;
	char name[] = "topsys";
	char *args[] = {name, NULL};
	int error;

	handle = dtrace_open(DTRACE_VERSION, 0, &error);
	if (!handle) {
		fprintf(stderr, "topsys: %s\n", dtrace_open_errmsg());
		exit(1);
	}
	dtrace_handle_drop(handle, on_drop, NULL);
	dtrace_handle_err(handle, on_fault, NULL);
	if (dtrace_setopt(handle, "quiet", NULL) != 0 ||
	    dtrace_setopt(handle, "defaultargs", NULL) != 0)
		fail("cannot set an option");
	if (command && dtrace_proc_create(handle, command) != 0)
		fail(command);
	prog = dtrace_program_strcompile(handle, program, DTRACE_PROBESPEC_NAME, 0, 1, args);
	if (!prog || dtrace_program_exec(handle, prog, NULL) != 0)
		fail("cannot compile the program");
	if (dtrace_go(handle) != 0 || dtrace_proc_continue(handle) != 0)
		fail("cannot trace");
}

static void run(double interval, uint32_t nrows)
{
	static struct table table;
	dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
	double begin = now(), t;

	while (status == DTRACE_WORKSTATUS_OKAY) {
		if (is_interrupted)
			dtrace_stop(handle);
		else
			dtrace_sleep(handle);
		/* the program records nothing: no file, no callbacks */
		status = dtrace_work(handle, NULL, NULL, NULL, NULL);
		if (status == DTRACE_WORKSTATUS_ERROR)
			fail("cannot go on");
		t = now();
		if (t - begin < interval && status == DTRACE_WORKSTATUS_OKAY)
			continue;
		table_read(&table);
		table_show(&table, nrows, t - begin);
		begin = t;
	}
}

int main(int argc, char **argv)
{
	struct sigaction act = {.sa_handler = on_signal};
	uint32_t nrows = 20;
	double interval = 1;
	int opt;

	while ((opt = getopt(argc, argv, "i:n:")) != -1)
		switch (opt) {
		case 'i': interval = strtod(optarg, NULL); break;
		case 'n': nrows = (uint32_t)strtoul(optarg, NULL, 10); break;
		default:
			fprintf(stderr, "usage: topsys [-i seconds] [-n rows] [command]\n");
			return 2;
		}
	start(argv[optind]);
	sigaction(SIGINT, &act, NULL);
	sigaction(SIGTERM, &act, NULL);
	run(interval, nrows);
	dtrace_close(handle);
	return 0;
}
