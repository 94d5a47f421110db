/* SPDX-License-Identifier: MIT */
/* The kernel's symbol table: made-up ones, and this kernel's own. */
#include "sym/ksym.h"

#include <time.h>

#include "tap.h"

static struct ksyms table(const char *text)
{
	size_t len = strlen(text);
	char *copy = xcalloc(1, len + 2);
	struct ksyms k;

	memcpy(copy, text, len);
	ksyms_parse(copy, len, &k);
	return k;
}

static void finds(const struct ksyms *k, taddr addr, const char *want)
{
	struct sym_name n;
	char got[128] = "none";

	if (ksyms_find(k, addr, &n))
		(void)snprintf(got, sizeof(got), "%s`%s+%llx", n.object, n.name,
			       (unsigned long long)n.off);
	is_str(got, want, want);
}

static void test_parse(void)
{
	struct ksyms k = table("ffffffff81000000 T _text\n"
			       "ffffffff81000000 t local\n"
			       "ffffffff81000000 T start\n"
			       "ffffffff81000100 t one\n"
			       "0000000000000000 A per_cpu\n"
			       "ffffffff81000200 W two\n"
			       "garbage\n"
			       "ffffffffc0002000 t late\t[mod_b]\n"
			       "ffffffffc0001000 t early\t[mod_a]\n"
			       "ffffffffc0001010 t early2\t[mod_a]");

	is_int(k.syms.len, 6, "symbols with addresses, one an address");
	finds(&k, 0xffffffff80ffffffull, "none");
	finds(&k, 0xffffffff81000000ull, "vmlinux`start+0");
	finds(&k, 0xffffffff810000ffull, "vmlinux`start+ff");
	finds(&k, 0xffffffff81000100ull, "vmlinux`one+0");
	finds(&k, 0xffffffff81000210ull, "vmlinux`two+10");
	finds(&k, 0xffffffff91000210ull, "none");
	finds(&k, 0xffffffffc0001008ull, "mod_a`early+8");
	finds(&k, 0xffffffffc0001018ull, "mod_a`early2+8");
	finds(&k, 0xffffffffc0002001ull, "mod_b`late+1");
	finds(&k, 0xffffffffd0002001ull, "none");
	is_int(ksyms_start(&k, 0xffffffff81000123ull, false), 0xffffffff81000100ull, "function");
	is_int(ksyms_start(&k, 0xffffffff81000123ull, true), 0xffffffff81000000ull, "the kernel");
	is_int(ksyms_start(&k, 0xffffffffc0001018ull, true), 0xffffffffc0001000ull, "module");
	is_int(ksyms_start(&k, 5, true), 5, "unknown");
	ksyms_deinit(&k);
}

static void test_tracing(void)
{
	struct ksyms k = table("ffffffff81000000 T first\n"
			       "ffffffff81000100 t __pfx___traceiter_x\n"
			       "ffffffff81000110 t __traceiter_x\n"
			       "ffffffff81000200 t trace_raw_output_x\n"
			       "ffffffff81000300 T syscall_trace_enter\n"
			       "ffffffff81000400 T bpf_trace_run2\n"
			       "ffffffff81000500 T last\n"
			       "ffffffffc0001000 t bpf_prog_1_entry\t[bpf]\n");

	ok(!ksyms_is_tracing(&k, 0xffffffff81000001ull), "an ordinary function");
	ok(ksyms_is_tracing(&k, 0xffffffff81000120ull), "calls probes");
	ok(!ksyms_is_tracing(&k, 0xffffffff81000210ull), "calls nothing");
	ok(!ksyms_is_tracing(&k, 0xffffffff81000310ull), "traced, not tracing");
	ok(ksyms_is_tracing(&k, 0xffffffff81000410ull), "runs programs");
	ok(ksyms_is_tracing(&k, 0xffffffffc0001010ull), "a program");
	ksyms_tracing(&k);
	is_int(k.tracing.len, 4, "two ranges");
	is_int(k.tracing.data[0], 0xffffffff81000100ull, "first from");
	is_int(k.tracing.data[1], 0xffffffff81000300ull, "to");
	is_int(k.tracing.data[2], 0xffffffff81000400ull, "second from");
	is_int(k.tracing.data[3], 0xffffffff81000500ull, "to");
	ksyms_deinit(&k);
}

static void test_bad_text(void)
{
	static const char *const texts[] = {
		"",
		"\n",
		"\n\n\n",
		"f",
		"ffffffff81000000",
		"ffffffff81000000 ",
		"ffffffff81000000 T",
		"ffffffff81000000 T ",
		"ffffffff81000000 T \n",
		"fffffffffffffffffffffffff T x\n",
		"ffffffff81000000 T x\t",
		"ffffffff81000000 T x\t[",
		"ffffffff81000000 T x\t[]\n",
		"0000000000000000 T hidden\n",
	};

	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		struct ksyms k = table(texts[i]);
		struct sym_name n;

		(void)ksyms_find(&k, 0xffffffff81000000ull, &n);
		(void)ksyms_start(&k, UINT64_MAX, true);
		ok(k.syms.len <= 1, "text %zu", i);
		ksyms_deinit(&k);
	}
}

/* Each line of the file names its address, unless a better alias does. */
static void test_this_kernel(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/kallsyms", "re");
	struct timespec from, to;
	struct ksyms k;
	struct err *e;
	unsigned long long addr, nlines = 0, nfound = 0, nwrong = 0;
	char type, name[512];

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	e = ksyms_read(&k);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	if (e) {
		ok(true, "this kernel # SKIP %s", err_text(e));
		err_destroy(e);
		return;
	}
	printf("# %u symbols in %.1f ms\n", k.syms.len,
	       (double)(to.tv_sec - from.tv_sec) * 1e3 + (double)(to.tv_nsec - from.tv_nsec) / 1e6);
	while (f && fscanf(f, "%llx %c %511s%*[^\n]", &addr, &type, name) == 3) {
		struct sym_name n;

		if (!addr || type == 'A' || type == 'a')
			continue;
		nlines++;
		if (!ksyms_find(&k, addr, &n) || n.off)
			nwrong++;
		else
			nfound += strcmp(n.name, name) == 0;
	}
	ok(nlines > 1000, "%llu lines", nlines);
	/* programs of other tests come and go */
	ok(nwrong < 100, "every address is the start of a symbol (%llu are not)", nwrong);
	ok(nfound > nlines / 10 * 9, "%llu by the same name", nfound);
	ksyms_deinit(&k);
}

int main(void)
{
	test_parse();
	test_tracing();
	test_bad_text();
	test_this_kernel();
	return tap_done();
}
