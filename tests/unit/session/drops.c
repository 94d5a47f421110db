/* SPDX-License-Identifier: MIT */
/*
 * Every drop message of d-language.md 7.2, singular and plural, with and without its tag: counters
 * are raised where the kernel would raise them. DYNRINSE, DYNDIRTY and STKSTROVERFLOW have no
 * counter: freed dynamic variables are free at once, and helpers' strings have room of their own.
 */
#include "session/session.h"
#include "tap.h"

static struct strbuf said;

static dtrace_dropdata_t last; /* its message is gone */

static int on_drop(const dtrace_dropdata_t *drop, void *arg)
{
	(void)arg;
	last = *drop;
	if (strncmp(drop->dtdda_msg, "hint: ", 6) != 0)
		strbuf_add(&said, drop->dtdda_msg, strcspn(drop->dtdda_msg, "\n") + 1);
	return DTRACE_HANDLE_OK;
}

static dtrace_hdl_t *running(const char *option)
{
	int error;
	dtrace_hdl_t *h = dtrace_open(DTRACE_VERSION, 0, &error);
	dtrace_prog_t *p;

	if (!h)
		return NULL;
	if (option)
		(void)dtrace_setopt(h, option, NULL);
	p = dtrace_program_strcompile(h, "tick-1d { @ = count(); x[tid] = 1; }",
				      DTRACE_PROBESPEC_NAME, 0, 0, NULL);
	(void)dtrace_handle_drop(h, on_drop, NULL);
	if (p && dtrace_program_exec(h, p, NULL) == 0 && dtrace_go(h) == 0)
		return h;
	printf("# %s\n", dtrace_errmsg(h, dtrace_errno(h)));
	dtrace_close(h);
	return NULL;
}

/* clang-format off */
static const struct {
	size_t counter; /* in struct rt_cpu */
	const char *tag, *one, *many;
	dtrace_dropkind_t kind;
	int cpu;
} rows[] = {
	{ offsetof(struct rt_cpu, drops),	 "PRINCIPAL",   "1 drop on CPU 0",	       "3 drops on CPU 0",
	  DTRACEDROP_PRINCIPAL, 0 },
	{ offsetof(struct rt_cpu, nest_drops),	 "PRINCIPAL",   "1 drop on CPU 0",	       "3 drops on CPU 0",
	  DTRACEDROP_PRINCIPAL, 0 },
	{ offsetof(struct rt_cpu, agg_drops),	 "AGGREGATION", "1 aggregation drop on CPU 0", "3 aggregation drops on CPU 0",
	  DTRACEDROP_AGGREGATION, 0 },
	{ offsetof(struct rt_cpu, dyn_drops),	 "DYNAMIC",     "1 dynamic variable drop",     "3 dynamic variable drops",
	  DTRACEDROP_DYNAMIC, DTRACE_CPUALL },
	{ offsetof(struct rt_cpu, spec_drops),	 "SPEC",        "1 speculative drop",	       "3 speculative drops",
	  DTRACEDROP_SPEC, DTRACE_CPUALL },
	{ offsetof(struct rt_cpu, spec_busy),	 "SPECBUSY",    "1 failed speculation (available buffer(s) still busy)",
	  "3 failed speculations (available buffer(s) still busy)",
	  DTRACEDROP_SPECBUSY, DTRACE_CPUALL },
	{ offsetof(struct rt_cpu, spec_unavail), "SPECUNAVAIL", "1 failed speculation (no speculative buffer available)",
	  "3 failed speculations (no speculative buffer available)",
	  DTRACEDROP_SPECUNAVAIL, DTRACE_CPUALL },
	{ offsetof(struct rt_cpu, dblerrors),	 "DBLERROR",    "1 error in ERROR probe enabling",
	  "3 errors in ERROR probe enabling",
	  DTRACEDROP_DBLERROR, DTRACE_CPUALL },
	{ offsetof(struct rt_cpu, live_drops),	 "LIVE",	"1 object not followed by live()",
	  "3 objects not followed by live()", DTRACEDROP_LIVE, DTRACE_CPUALL },
};
/* clang-format on */

static uint64_t totals[DTRACEDROP_LIVE + 1];

static void check(dtrace_hdl_t *h, size_t row, uint64_t n, bool is_tagged)
{
	const char *tag = is_tagged ? rows[row].tag : NULL;
	const char *text = n == 1 ? rows[row].one : rows[row].many;
	char want[256];
	struct err *e;

	*(uint64_t *)(void *)((char *)&h->live.engines.control->cpu[0] + rows[row].counter) += n;
	strbuf_clear(&said);
	e = consumer_report_drops(&h->consumer);
	ok(!e, "reported");
	err_destroy(e);
	(void)snprintf(want, sizeof(want), "%s%s%s%s\n", tag ? "[DTRACEDROP_" : "", tag ? tag : "",
		       tag ? "] " : "", text);
	is_str(strbuf_text(&said), want, text);
	totals[rows[row].kind] += n;
	ok(last.dtdda_handle == h && last.dtdda_kind == rows[row].kind &&
		   last.dtdda_cpu == rows[row].cpu && last.dtdda_drops == n &&
		   last.dtdda_total == totals[rows[row].kind],
	   "and its parts: %llu, in all %llu", (unsigned long long)last.dtdda_drops,
	   (unsigned long long)last.dtdda_total);
}

int main(void)
{
	for (int tagged = 0; tagged < 2; tagged++) {
		dtrace_hdl_t *h = running(tagged ? "droptags" : NULL);

		if (!h) {
			ok(true, "# SKIP this machine cannot trace");
			return tap_done();
		}
		for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
			check(h, i, 1, tagged);
			check(h, i, 3, tagged);
		}
		strbuf_clear(&said);
		memset(totals, 0, sizeof(totals));
		err_destroy(consumer_report_drops(&h->consumer));
		is_str(strbuf_text(&said), "", "what was reported is not reported again");
		dtrace_close(h);
	}
	strbuf_deinit(&said);
	return tap_done();
}
