/* SPDX-License-Identifier: MIT */
/* Which processes have ended before the probes of a new file were placed. */
#include "session/arrivals/short_lived.h"

#include "session/options.h"
#include "session/report.h"
#include "tap.h"

#define MS 1000000ull

struct fixture {
	struct options opts;
	struct report report;
	struct missed *m;
	struct strbuf said;
};

static int on_notice(dtrace_hdl_t *h, const char *msg, void *arg)
{
	(void)h;
	strbuf_adds(arg, msg);
	return DTRACE_HANDLE_OK;
}

static void fixture_open(struct fixture *f)
{
	*f = (struct fixture){.m = missed_create()};
	options_init(&f->opts);
	report_init(&f->report, NULL, &f->opts);
	report_on_notice(&f->report, on_notice, &f->said);
}

static void fixture_close(struct fixture *f)
{
	missed_destroy(f->m);
	report_deinit(&f->report);
	options_deinit(&f->opts);
	strbuf_deinit(&f->said);
}

/* Files of inode 1 have probes, of inode 2 have none, and no other could be opened. */
static enum missed_file ask(void *ctx, uint64_t dev, uint64_t ino, const char **ret_name)
{
	*ret_name = ino == 1 ? "libprobed.so" : NULL;
	return ino == 1 ? MISSED_PROBED : ino == 2 ? MISSED_OTHER : MISSED_UNREAD;
}

static const char *settled(struct fixture *f, uint64_t at, bool is_end)
{
	strbuf_clear(&f->said);
	missed_settle(f->m, at, is_end, &f->report);
	return strbuf_text(&f->said);
}

static void test_ends(void)
{
	struct fixture f;

	fixture_open(&f);
	ok(!missed_is_open(f.m), "nothing is open before a file is mapped");
	missed_mapped(f.m, 10, 8, 1, 1 * MS, true);
	missed_mapped(f.m, 11, 8, 1, 1 * MS, true);
	missed_mapped(f.m, 11, 8, 1, 1 * MS, true);
	missed_mapped(f.m, 12, 8, 1, 2 * MS, false);
	ok(missed_is_open(f.m), "a new file is open");
	missed_gone(f.m, 11, 3 * MS, true);
	missed_look(f.m, 5 * MS, ask, NULL);
	missed_gone(f.m, 12, 5 * MS + MS / 2, true);
	missed_gone(f.m, 10, 9 * MS, true);
	is_str(settled(&f, 5 * MS, false), "", "nothing is said before all ends are known");
	ok(strstr(settled(&f, 9 * MS, false), "2 processes ended before the probes of "
					      "'libprobed.so' were placed") != NULL,
	   "those count that ended before, or just after: %s", strbuf_text(&f.said));
	ok(!missed_is_open(f.m), "then nothing is open");
	missed_mapped(f.m, 13, 8, 1, 10 * MS, false);
	ok(!missed_is_open(f.m), "a process that maps it later is traced");
	fixture_close(&f);
}

static void test_children(void)
{
	struct fixture f;

	fixture_open(&f);
	missed_mapped(f.m, 10, 8, 1, 1 * MS, true);
	missed_forked(f.m, 20, 10);
	missed_forked(f.m, 21, 10);
	missed_gone(f.m, 20, 2 * MS, false);
	missed_gone(f.m, 21, 2 * MS, true);
	missed_look(f.m, 5 * MS, ask, NULL);
	ok(strstr(settled(&f, 9 * MS, false), "1 process ended") != NULL,
	   "a child that executes at once has done nothing in the file, one that ends has: %s",
	   strbuf_text(&f.said));
	fixture_close(&f);
}

static void test_kinds(void)
{
	struct fixture f;

	fixture_open(&f);
	missed_mapped(f.m, 10, 8, 2, 1 * MS, true);
	missed_mapped(f.m, 11, 8, 3, 1 * MS, true);
	missed_gone(f.m, 10, 2 * MS, true);
	missed_gone(f.m, 11, 2 * MS, true);
	missed_look(f.m, 5 * MS, ask, NULL);
	is_str(settled(&f, 9 * MS, false), "", "a file without probes is none to speak of");
	ok(strstr(settled(&f, 10 * MS, true), "1 process ended before a file") != NULL,
	   "files that could not be opened are said at the end: %s", strbuf_text(&f.said));
	missed_mapped(f.m, 12, 8, 1, 11 * MS, true);
	missed_clear(f.m);
	ok(!missed_is_open(f.m), "what was before tracing begins is forgotten");
	fixture_close(&f);
}

int main(void)
{
	test_ends();
	test_children();
	test_kinds();
	return tap_done();
}
