/* SPDX-License-Identifier: MIT */
/* Filters: which predicates the process can tell, and what their code returns. */
#include "tap.h"

#include "prog.h"

/* uint64_t func(struct native_frame *, uint32_t site), which keeps only the stack pointer. */
uint64_t filter_call(uint64_t func, struct native_frame *frame, uint32_t site);
__asm__(".text\n"
	"filter_call:\n"
	"	push %rbx; push %rbp; push %r12; push %r13; push %r14; push %r15\n"
	"	sub $8, %rsp\n"
	"	mov %rdi, %rax\n"
	"	mov %rsi, %rdi\n"
	"	mov %edx, %esi\n"
	"	call *%rax\n"
	"	add $8, %rsp\n"
	"	pop %r15; pop %r14; pop %r13; pop %r12; pop %rbp; pop %rbx\n"
	"	ret\n");

/* ---- which are always true ------------------------------------------------------------------- */

#define F "pid1:a.out:f:entry "

static const struct {
	const char *text;
	bool is_true; /* of the entry of f */
} rows[] = {
	{F "{ ustack(); }", true},
	{F "/arg0 == 3/ { ustack(); }", false},
	{F "/arg0 == 3 && arg1 != 4 || arg2/ { trace(copyinstr(arg0)); }", false},
	{F "/pid == 1 && tid != 2 && cpu < 4/ { stop(); }", false},
	{F "/probefunc == \"f\"/ { trace(execname); }", false},
	{F "/uregs[20] > 5/ { trace(execname); }", false},
	{F "/arg0 == 3/ { ustack(); } " F "/arg1 == 4/ { trace(execname); }", false},
	{F "/arg0 == 3/ { ustack(); } " F "{ trace(execname); }", true},
	{F "/execname == \"x\"/ { ustack(); }", true},
	{F "/timestamp & 1/ { ustack(); }", true},
	{"int x; " F "/x++ < 3/ { ustack(); }", true},
	{"self int x; " F "/self->x/ { ustack(); }", true},
	{F "{ this->x = arg0; } " F "/this->x/ { ustack(); }", true},
	{"int a[uint64_t]; " F "/a[arg0]/ { ustack(); }", true},
	{F "/0 != *(int *)arg0/ { ustack(); }", true},
	{F "/copyinstr(arg0) == \"x\"/ { ustack(); }", true},
	{F "/(arg0 % arg1) == 2/ { ustack(); }", true},
	{F "/arg7 == 2/ { ustack(); }", true},
	{F "/ucaller == 2/ { ustack(); }", true},
	{F "/sample(arg0, 100)/ { ustack(); }", false},
	{F "/arg0 && sampled(arg1)/ { ustack(); } " F "/followed(arg0)/ { stop(); }", false},
	{F "/sample(arg0, 100) && timestamp/ { ustack(); }", true},
	{F "/sample(arg0, 100)/ { ustack(); } " F "{ stop(); }", true},
	{"pid1:a.out:f:return { ustack(); } " F "/arg0 == 1/ { ustack(); }", false},
};

static void test_rows(void)
{
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct nx *x = nx_create(rows[i].text);

		nx_lay_out(x);
		ok(native_filter_is_true(&x->unit, SITE_F_ENTRY, x->layout) == rows[i].is_true,
		   "%s: %s", rows[i].text, rows[i].is_true ? "true" : "a filter");
		nx_destroy(x);
	}
}

/* ---- what they return ------------------------------------------------------------------------ */

struct filters {
	struct nx *x, *host; /* host: its memory has the code */
	struct native_code code;
	uint64_t at;
};

static void filters_make_sampled(struct filters *f, const char *text, const struct nrun_opts *opts,
				 bool is_sampled)
{
	struct native_target t;
	struct err *e;

	*f = (struct filters){.x = nx_create(text), .host = nx_create(F "{ trace(1); }")};
	nx_lay_out(f->x);
	nx_lay_out(f->host);
	nx_make(f->host, opts);
	t = f->host->run->target;
	t.is_sampled = is_sampled;
	t.layout = f->x->layout;
	t.code += 1 << 20;
	f->at = t.code;
	e = native_filter_compile(&f->x->unit, &t, f->x->sites, NSITES, &f->code);
	ok(!e, "%s", e ? err_text(e) : text);
	err_destroy(e);
	if (f->code.size &&
	    pwrite(f->host->run->fd, f->code.bytes, f->code.size,
		   (off_t)(t.code - (uint64_t)f->host->run->map)) != (ssize_t)f->code.size)
		ok(false, "the code is written");
}

static void filters_make(struct filters *f, const char *text, const struct nrun_opts *opts)
{
	filters_make_sampled(f, text, opts, false);
}

static void filters_free(struct filters *f)
{
	native_code_deinit(&f->code);
	nx_destroy(f->x);
	nx_destroy(f->host);
}

static bool filter_has(const struct filters *f, uint32_t site)
{
	return f->code.entries[site].func != NATIVE_NO_FILTER;
}

static uint64_t filter_ask(const struct filters *f, uint32_t site, uint64_t arg0, uint64_t arg1)
{
	struct native_frame frame = {.rdi = arg0, .rsi = arg1, .rax = arg1, .pc = 0x401000};

	return filter_call(f->at + f->code.entries[site].func, &frame, f->code.entries[site].site);
}

static void test_values(void)
{
	struct filters f;

	filters_make(&f,
		     F "/arg0 == 3/ { ustack(); } " F "/arg1 > 10 && arg1 < 20/ { stop(); } "
		       "pid1:a.out:g:return /arg1 == 7 && arg0 == 0x123/ { ustack(); } "
		       "pid1:a.out:g:entry { ustack(); }",
		     &(struct nrun_opts){0});
	ok(filter_has(&f, SITE_F_ENTRY) && filter_has(&f, SITE_G_RETURN), "two have filters");
	ok(!filter_has(&f, SITE_G_ENTRY), "one is always true");
	is_int(filter_ask(&f, SITE_F_ENTRY, 3, 0), 1, "the first predicate");
	is_int(filter_ask(&f, SITE_F_ENTRY, 4, 15), 1, "the second one");
	is_int(filter_ask(&f, SITE_F_ENTRY, 3, 15), 1, "both");
	is_int(filter_ask(&f, SITE_F_ENTRY, 4, 20), 0, "none");
	is_int(filter_ask(&f, SITE_G_RETURN, 0, 7), 1, "a value that is returned");
	is_int(filter_ask(&f, SITE_G_RETURN, 0, 8), 0, "another one");
	filters_free(&f);
	filters_make(&f,
		     F "/probefunc == \"f\"/ { ustack(); } "
		       "pid1:a.out:g:entry /probefunc == \"f\"/ { ustack(); }",
		     &(struct nrun_opts){0});
	is_int(filter_ask(&f, SITE_F_ENTRY, 0, 0), 1, "a name");
	is_int(filter_ask(&f, SITE_G_ENTRY, 0, 0), 0, "another one");
	filters_free(&f);
}

/* A process that has no number of its thread: the kernel tests the predicate. */
static void test_lack(void)
{
	struct filters f;

	filters_make(&f, F "/tid == 1/ { ustack(); } pid1:a.out:g:entry /pid == 1/ { ustack(); }",
		     &(struct nrun_opts){.has_no_tid = true});
	ok(!filter_has(&f, SITE_F_ENTRY), "what the process lacks is true");
	ok(filter_has(&f, SITE_G_ENTRY), "what it has is not");
	is_int(filter_ask(&f, SITE_G_ENTRY, 0, 0), 0, "and is tested");
	filters_free(&f);
}

/* ---- samples --------------------------------------------------------------------------------- */

#define SAMPLING                                                                                   \
	F "/sample(arg0, 100000)/ { ustack(); } "                                                  \
	  "pid1:a.out:g:return /sampled(arg1)/ { ustack(); } "                                     \
	  "pid1:a.out:g:entry /arg0 && followed(arg0)/ { ustack(); }"

static void test_samples(void)
{
	struct filters f;
	uint32_t n = 0, nreturned = 0;

	filters_make_sampled(&f, SAMPLING, &(struct nrun_opts){.has_samples = true}, true);
	is_int(filter_ask(&f, SITE_G_RETURN, 0, 0x1000), 0, "no call was sampled");
	for (uint32_t i = 0; i < 200000; i++)
		if (filter_ask(&f, SITE_F_ENTRY, 1000, 0)) {
			n++;
			nreturned += filter_ask(&f, SITE_G_RETURN, 0, 0x2000) == 1;
		}
	/* 2,000 are expected, with a deviation of 45 */
	ok(n > 1700 && n < 2300, "%u samples of 200 MB, one of 100 kB", n);
	is_int(nreturned, n, "each has one return,");
	is_int(filter_ask(&f, SITE_G_RETURN, 0, 0x2000), 0, "and no more");
	is_int(filter_ask(&f, SITE_F_ENTRY, 0, 0), 0, "no bytes are never in the sample");
	is_int(filter_ask(&f, SITE_F_ENTRY, UINT64_MAX, 0), 1, "all of them always");
	is_int(filter_ask(&f, SITE_G_RETURN, 0, 0), 1, "a call that has failed ends, too");
	is_int(filter_ask(&f, SITE_G_ENTRY, 0x2010, 0), 0, "another address of the page");
	is_int(filter_ask(&f, SITE_G_ENTRY, 0x2000, 0), 1, "the address is followed,");
	is_int(filter_ask(&f, SITE_G_ENTRY, 0x2000, 0), 0, "until it is not");
	is_int(filter_ask(&f, SITE_G_ENTRY, 0, 0), 0, "none");
	filters_free(&f);
}

static bool address_note(const struct filters *f, uint64_t addr)
{
	return filter_ask(f, SITE_F_ENTRY, UINT64_MAX, 0) == 1 &&
	       filter_ask(f, SITE_G_RETURN, 0, addr) == 1;
}

/* However many addresses there are, none that is followed is told from it. */
static void test_many(uint64_t n, uint64_t apart)
{
	uint64_t nlost = 0, nnoted = 0, nothers = 0;
	struct filters f;

	filters_make_sampled(&f, SAMPLING, &(struct nrun_opts){.has_samples = true}, true);
	for (uint64_t i = 1; i <= n; i++)
		nnoted += address_note(&f, i * apart);
	is_int(nnoted, n, "addresses are noted");
	for (uint64_t i = 1; i <= n; i++)
		nothers += filter_ask(&f, SITE_G_ENTRY, i * apart + 16, 0);
	for (uint64_t i = 1; i <= n; i++)
		nlost += !filter_ask(&f, SITE_G_ENTRY, i * apart, 0);
	is_int(nlost, 0, "and each is found");
	ok(n > 65536 * 8 ? nothers == n : nothers == 0, "of others %llu",
	   (unsigned long long)nothers);
	filters_free(&f);
}

static void test_without_samples(void)
{
	struct filters f;

	filters_make_sampled(&f, SAMPLING, &(struct nrun_opts){.has_samples = true}, false);
	ok(!filter_has(&f, SITE_F_ENTRY) && !filter_has(&f, SITE_G_RETURN) &&
		   !filter_has(&f, SITE_G_ENTRY),
	   "where the process is not asked, all are true");
	filters_free(&f);
}

/*
 * What the target lacks, and another clause of the same probe reads, makes a filter true: then the
 * process must not be the one that is asked.
 */
static void test_samples_lack(void)
{
	struct nx *x = nx_create(F "/sample(arg0, 100)/ { ustack(); } " F "/tid == 1/ { stop(); }");
	struct nx *host = nx_create(F "{ trace(1); }");
	struct native_code code = {0};
	struct native_target t;
	struct err *e;

	nx_lay_out(x);
	nx_lay_out(host);
	nx_make(host, &(struct nrun_opts){.has_samples = true});
	t = host->run->target;
	t.layout = x->layout;
	t.code += 1 << 20;
	t.is_sampled = true;
	ok(!native_filter_is_true(&x->unit, SITE_F_ENTRY, x->layout), "may be a filter,");
	ok(!native_filter_is_true_in(&x->unit, SITE_F_ENTRY, &t), "and is one with all there is");
	t.has_tid = false;
	ok(native_filter_is_true_in(&x->unit, SITE_F_ENTRY, &t), "not without what is read");
	e = native_filter_compile(&x->unit, &t, x->sites, NSITES, &code);
	ok(e && strstr(err_text(e), "cannot be tested"), "refused: %s", e ? err_text(e) : "no");
	err_destroy(e);
	t.is_sampled = false;
	ok(native_filter_is_true_in(&x->unit, SITE_F_ENTRY, &t), "sample() is not asked");
	e = native_filter_compile(&x->unit, &t, x->sites, NSITES, &code);
	ok(!e && code.entries[SITE_F_ENTRY].func == NATIVE_NO_FILTER, "the kernel is, always");
	err_destroy(e);
	native_code_deinit(&code);
	nx_destroy(x);
	nx_destroy(host);
}

/* A process whose clauses run there samples nothing: what it counts would be counted down twice. */
static void test_clauses(void)
{
	struct nx *x = nx_create(F "/sample(arg0, 100)/ { @ = count(); }");
	const char *why = "";

	nx_lay_out(x);
	ok(!native_takes(&x->unit, x->layout, &why) && strstr(why, "relay"), "refused: %s", why);
	nx_destroy(x);
}

/* ---- what stubs test ------------------------------------------------------------------------- */

/* clang-format off */
static const struct {
	const char *text;
	const char *tests; /* of the entry of f, as tests_text() has them; "": none */
} tested[] = {
	{F "/sample(arg0, 100)/ { ustack(); }", "bytes 0"},
	{F "/sample(arg1, 100)/ { ustack(); }", "bytes 1"},
	{F "/sample(arg0 * arg1, 100)/ { ustack(); }", "bytes 0 * 1"},
	{F "/followed(arg0)/ { ustack(); }", "page 0"},
	{F "/arg0 && followed(arg0)/ { ustack(); }", "page 0"},
	{F "/arg1 == 3 && followed(arg0) && arg2/ { ustack(); }", "page 0"},
	{F "/sampled(arg0 ? arg0 : uregs[8])/ { ustack(); }", "call"},
	{F "/followed(arg0) || sampled(arg1)/ { ustack(); }", "page 0, call"},
	{F "/sample(arg1, 100)/ { ustack(); } " F "/arg0 && followed(arg0)/ { stop(); }",
	 "page 0, bytes 1"},
	{F "/sample(arg1, 100) || followed(arg5)/ { ustack(); }", "page 5, bytes 1"},
	{F "/sample(arg1, 100)/ { ustack(); } pid1:a.out:g:entry /sample(arg0, 100)/ { stop(); }",
	 "bytes 1"},
	/* they count at some firings only, or twice, or something else */
	{F "/arg0 && sample(arg0, 100)/ { ustack(); }", ""},
	{F "/followed(arg0) && sample(arg1, 100)/ { ustack(); }", "page 0"},
	{F "/sample(arg0, 100)/ { ustack(); } " F "/sample(arg0, 100)/ { stop(); }", ""},
	{F "/sample(arg0, 100)/ { ustack(); } " F "/sample(arg1, 100)/ { stop(); }", ""},
	{F "/sample(arg0 ? arg0 : arg1, 100)/ { ustack(); }", ""},
	{F "/sample(arg0 + 1, 100)/ { ustack(); }", ""},
	{F "/sample(100, 100)/ { ustack(); }", ""},
	/* another mean, for the same bytes left; one that differs */
	{F "/sample(arg0, 100)/ { ustack(); } pid1:a.out:g:entry /sample(arg0, 200)/ { stop(); }", ""},
	{F "/sample(arg0, arg1)/ { ustack(); }", ""},
	/* true without a sample */
	{F "/!followed(arg0)/ { ustack(); }", ""},
	{F "/arg0 == 3 || followed(arg0)/ { ustack(); }", ""},
	{F "/followed(arg0)/ { ustack(); } " F "/arg1 == 3/ { stop(); }", ""},
	/* registers that stubs use, and what is in none */
	{F "/followed(arg2)/ { ustack(); }", ""},
	{F "/sample(arg3, 100)/ { ustack(); }", ""},
	{F "/sample(arg0 * arg2, 100)/ { ustack(); }", ""},
	{F "/followed(arg0 + 16)/ { ustack(); }", ""},
	{F "/arg0 == 3/ { ustack(); }", ""},
};
/* clang-format on */

static const char *tests_text(const struct native_entry *e, char *to, size_t size)
{
	size_t n = 0;

	*to = 0;
	for (uint32_t i = 0; i < e->ntests; i++) {
		const struct native_test *t = &e->tests[i];
		const char *before = i ? ", " : "";

		if (t->kind == NATIVE_TEST_CALL)
			n += (size_t)snprintf(to + n, size - n, "%scall", before);
		else if (t->kind == NATIVE_TEST_PAGE)
			n += (size_t)snprintf(to + n, size - n, "%spage %d", before, t->arg);
		else if (t->times)
			n += (size_t)snprintf(to + n, size - n, "%sbytes %d * %d", before, t->arg,
					      t->times - 1);
		else
			n += (size_t)snprintf(to + n, size - n, "%sbytes %d", before, t->arg);
	}
	return to;
}

static void test_tests(void)
{
	const struct nrun_opts opts = {.has_samples = true},
			       no_rseq = {.has_samples = true, .has_no_rseq = true};
	struct filters f;
	char text[128];

	for (size_t i = 0; i < ARRAY_LEN(tested); i++) {
		filters_make_sampled(&f, tested[i].text, &opts, true);
		is_str(tests_text(&f.code.entries[SITE_F_ENTRY], text, sizeof(text)),
		       tested[i].tests, tested[i].text);
		filters_free(&f);
	}
	filters_make_sampled(&f, SAMPLING, &opts, true);
	is_str(tests_text(&f.code.entries[SITE_G_RETURN], text, sizeof(text)), "call",
	       "a return, whatever it returns");
	filters_free(&f);
	filters_make_sampled(&f, SAMPLING, &opts, false);
	is_int(f.code.entries[SITE_F_ENTRY].ntests, 0, "nothing where the process is not asked");
	filters_free(&f);
	filters_make_sampled(&f, SAMPLING, &no_rseq, true);
	is_int(f.code.entries[SITE_F_ENTRY].ntests, 0, "nor where CPUs have no numbers;");
	is_int(f.code.entries[SITE_G_ENTRY].ntests, 1, "addresses have");
	filters_free(&f);
}

/* Tests are true whenever their filters are. */
static void test_tests_agree(void)
{
	struct filters f;
	const struct blob_samples *s;
	const struct blob_cpu *cpus;
	uint64_t left = 0, addr = 0x7f0012345670;
	uint32_t n = 0, nwrong = 0;

	filters_make_sampled(&f, SAMPLING, &(struct nrun_opts){.has_samples = true}, true);
	s = (const void *)(f.host->run->target.data + f.host->run->target.plan->samples_off);
	cpus = (const void *)(f.host->run->target.data + f.host->run->target.plan->cpus_off);
	is_int(s->ncalls, 0, "no call is sampled");
	is_int(filter_ask(&f, SITE_F_ENTRY, UINT64_MAX, 0), 1, "one is:");
	is_int(s->ncalls, 1, "it is counted");
	is_int(filter_ask(&f, SITE_F_ENTRY, UINT64_MAX, 0), 1, "the same thread again:");
	is_int(s->ncalls, 1, "once");
	is_int(s->pages[addr >> 12 & 0xffff], 0, "no address of the page is noted");
	is_int(filter_ask(&f, SITE_G_RETURN, 0, addr), 1, "it ends,");
	is_int(s->ncalls, 0, "and is not counted any more");
	is_int(s->pages[addr >> 12 & 0xffff], 1, "its address is");
	is_int(filter_ask(&f, SITE_G_ENTRY, addr, 0), 1, "until it is freed:");
	is_int(s->pages[addr >> 12 & 0xffff], 0, "not any more");
	for (uint32_t i = 0; i < 1000; i++) {
		bool is_yes;

		left = 0;
		for (uint32_t k = 0; k < f.host->run->target.ncpus; k++)
			left = cpus[k].sample_left ? cpus[k].sample_left : left;
		is_yes = filter_ask(&f, SITE_F_ENTRY, 20000, 0) == 1;
		n += is_yes;
		nwrong += is_yes != (left <= 20000);
		if (is_yes)
			(void)filter_ask(&f, SITE_G_RETURN, 0, 0);
	}
	/* a thread that is moved to another CPU meets another number */
	ok(n > 100 && n < 350 && nwrong < 20, "bytes left say which: %u of 1,000, %u wrong", n,
	   nwrong);
	ok(!ndata_samples_end(f.host->run->data), "from now on");
	is_int(s->pages[0] & s->pages[0xffff] & s->pages[addr >> 12 & 0xffff], 255,
	       "all addresses may be noted");
	is_int(filter_ask(&f, SITE_G_ENTRY, addr + 0x5000, 0), 1, "and count as that");
	filters_free(&f);
}

int main(void)
{
	test_tests();
	test_tests_agree();
	test_samples();
	test_many(20000, 4096 * 3);
	test_many(20000, 64);
	test_many(600000, 4096 + 32);
	test_without_samples();
	test_samples_lack();
	test_clauses();
	test_rows();
	test_values();
	test_lack();
	return tap_done();
}
