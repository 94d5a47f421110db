/* SPDX-License-Identifier: MIT */
/*
 * How many printf records a second one core formats.
 *
 *     print_bench [million-records]      prints one line per kind of record
 *
 * Records are made once and printed again and again to /dev/null, through the same calls a session
 * makes. No kernel is involved.
 */
#include <time.h>

#include "render/fix.h"

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void run(struct fix *f, const char *what, uint64_t n)
{
	FILE *fp = fopen("/dev/null", "we");
	double start, secs;

	fix_close(f);
	fix_printer(f);
	start = now();
	for (uint64_t i = 0; i < n; i++) {
		struct err *e =
			print_record(f->printer, fp, (const struct rt_rec *)(const void *)f->rec,
				     f->len, 0, NULL);

		if (e)
			BUG("%s", err_text(e));
	}
	err_destroy(printer_flush(f->printer, fp));
	secs = now() - start;
	printf("%-44s %10.0f records/s %6.0f ns each\n", what, (double)n / secs,
	       secs * 1e9 / (double)n);
	(void)fclose(fp);
	fix_reset(f);
}

int main(int argc, char **argv)
{
	uint64_t n = (argc > 1 ? strtoull(argv[1], NULL, 10) : 2) * 1000000;
	struct fix f;

	fix_init(&f);
	fix_act(&f, ACT_PRINTF, "%s %d %x\n");
	fix_str(&f, REC_COMM, "postgres");
	fix_int(&f, 4, true, 12345);
	fix_int(&f, 8, false, 0xdeadbeef);
	run(&f, "printf(\"%s %d %x\"), quiet", n);
	fix_act(&f, ACT_PRINTF, "%-16s %8d %s\n");
	fix_str(&f, REC_STRID, "openat");
	fix_int(&f, 4, true, 12345);
	fix_str(&f, REC_STR, "/usr/lib/x86_64-linux-gnu/libc.so.6");
	run(&f, "printf(\"%-16s %8d %s\"), quiet", n);
	f.opts.quiet = false;
	fix_act(&f, ACT_PRINTF, "%s %d %x");
	fix_str(&f, REC_COMM, "postgres");
	fix_int(&f, 4, true, 12345);
	fix_int(&f, 8, false, 0xdeadbeef);
	run(&f, "printf(\"%s %d %x\"), with columns", n);
	for (int i = 0; i < 3; i++) {
		fix_act(&f, ACT_TRACE, NULL);
		fix_int(&f, 8, true, 1234567 << i);
	}
	run(&f, "trace() of three integers, with columns", n);
	f.opts.flowindent = true;
	run(&f, "flow indent, no data", n);
	f.opts.flowindent = false;
	f.opts.oformat = PRINT_JSONL;
	for (int i = 0; i < 3; i++) {
		fix_act(&f, ACT_TRACE, NULL);
		fix_int(&f, 8, true, 1234567 << i);
	}
	run(&f, "trace() of three integers, jsonl", n);
	fix_act(&f, ACT_PRINTF, "%s %d %x");
	fix_str(&f, REC_COMM, "postgres");
	fix_int(&f, 4, true, 12345);
	fix_int(&f, 8, false, 0xdeadbeef);
	run(&f, "printf(\"%s %d %x\"), jsonl", n);
	fix_deinit(&f);
	return 0;
}
