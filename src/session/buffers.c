/* SPDX-License-Identifier: MIT */
/*
 * Chooses the sizes of the principal buffers and of the maps (options bufsize, aggsize,
 * dynvarsize), and opens the engine with the buffers.
 */
#include <errno.h>
#include <linux/capability.h>
#include <unistd.h>

#include "session/arrivals.h"
#include "session/run.h"
#include "sym/sym.h"

#define RING_BUFSIZE ((uint64_t)4 << 20) /* policy ring: least size of the kernel's buffers */
/* the kernel's buffers have a power of two that 32 bits hold */
#define RING_MAX      ((uint64_t)1 << 31)
#define BUFSIZE_LEAST 4096 /* a buffer is not lowered below this size */

static struct err *check_bufsize(const struct run *run, uint64_t bufsize)
{
	for (uint32_t i = 0; i < run->match->layout->nclauses; i++) {
		const struct clause_layout *cl = &run->match->layout->clauses[i];

		if (clause_counts(&run->match->clauses.data[i]) && cl->max_size + 8 > bufsize)
			return err_hint(
				err_code(err_new("Enabling exceeds size of buffer"),
					 EDT_BUFTOOSMALL),
				"a record may need %u bytes: raise bufsize (-b) or lower strsize",
				cl->max_size + 8);
	}
	return NULL;
}

static void tell_size(struct run *run, const char *what, uint64_t size)
{
	struct strbuf text = {0};

	if (opt_flag(run->opts, OPT_quietresize))
		return;
	size_add(&text, size);
	report_adjusted(run->report, "%s lowered to %s", what, strbuf_text(&text));
	strbuf_deinit(&text);
}

static bool is_out_of_memory(const struct err *e)
{
	return err_get_sys(e) == ENOMEM || err_get_sys(e) == E2BIG;
}

static bool has_tracepoints(const struct run *run)
{
	for (uint32_t i = 0; i < run->match->units.len; i++)
		if (!run->match->units.data[i]->traits->is_timer)
			return true;
	return false;
}

static bool dumps_code(const struct run *run)
{
	const char *dump = run->opts->str[OPT_dump];
	bool is_listed =
		opt_flag(run->opts, OPT_verbose) && (run->opts->val[OPT_disasm] & DISASM_BPF);

	return is_listed || (dump && strstr(dump, "bpf"));
}

static void engine_debug(void *ctx, const char *msg)
{
	report_debug(ctx, "%s", msg);
}

/* The units of the run for engines_choose(), and the engine of each, which may be NULL yet. */
struct choice {
	const struct unit **units;
	const struct engine **engines;
	uint32_t n;
};

static struct choice choice_create(const struct run *run)
{
	struct choice c = {.n = run->match->units.len};

	c.units = xcalloc(MAX(c.n, 1u), sizeof(*c.units));
	c.engines = xcalloc(MAX(c.n, 1u), sizeof(*c.engines));
	for (uint32_t i = 0; i < c.n; i++) {
		const struct session_unit *u = run->match->units.data[i];

		c.units[i] = &u->unit;
		c.engines[i] = u->engine ? u->engine->engine : NULL;
	}
	return c;
}

static void choice_deinit(struct choice *c)
{
	free(c->units);
	free(c->engines);
}

struct err *run_choose_engine(struct run *run, struct session_unit *u)
{
	const struct engine *opened[ENGINES_MAX + 1];
	struct choice c = choice_create(run);
	struct err *e;

	engines_opened(&run->engines, run->engine_choice, opened);
	e = engines_choose(opened, c.units, c.n, run->match->layout, c.engines);
	for (uint32_t i = 0; i < c.n && !e; i++)
		if (run->match->units.data[i] == u)
			u->engine = engines_find(&run->engines, c.engines[i]);
	choice_deinit(&c);
	return e;
}

static struct err *engines_try(struct run *run, const struct choice *c, uint64_t bufsize)
{
	/* policy ring: the consumer bounds what is kept; these buffers hold unread records only */
	bool is_ring = run->opts->val[OPT_bufpolicy] == BUFPOLICY_RING;
	FILE *dump = run->report->dump;
	struct engine_opts opts = {
		.layout = run->match->layout,
		.bufsize = (uint32_t)(is_ring ? MAX(bufsize, RING_BUFSIZE) : bufsize),
		.strtab_room = later_strtab_room(run),
		.cpu = run_cpu(run),
		.stops_when_full = run->opts->val[OPT_bufpolicy] == BUFPOLICY_FILL,
		.reads_parent = match_reads(run->match, DIF_VAR_PPID),
		.reads_execname = match_reads(run->match, DIF_VAR_EXECNAME),
		.pidns = run->pidns,
		.signals_own = !kernel_has_cap(CAP_KILL),
		.uid = geteuid(),
		.dump = dumps_code(run) ? dump : NULL,
		.log = !opt_flag(run->opts, OPT_bpflog) ? NULL
		       : dump				? dump
							: stderr,
		.debug = report_is_debugging(run->report) ? engine_debug : NULL,
		.ctx = run->report,
	};

	/* only stacks of tracepoints begin in tracing code, those of timers do not */
	if ((match_reads(run->match, DIF_VAR_CALLER) ||
	     match_reads(run->match, DIF_VAR_STACKDEPTH)) &&
	    has_tracepoints(run))
		opts.tracing = syms_tracing(names_syms(run->names), &opts.ntracing);

	if (run->unwinds_here) {
		opts.ukernel = &run->ukernel;
		opts.unwindsize = (uint64_t)run->opts->val[OPT_unwindsize];
	}
	return engines_open(&run->engines, run->engine_choice, c->engines, c->n, &opts);
}

/*
 * Returns how many bytes of memory are available; a very large number when that is unknown.
 */
static uint64_t memory_available(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib;
	char line[128];

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) == 1)
			return (uint64_t)kib << 10;
	return UINT64_MAX;
}

/*
 * Returns the share of each CPU in half of the available memory. The kernel would give more, and
 * would have no memory for other processes then.
 */
static uint64_t memory_share(void)
{
	return memory_available() / 2 / (uint64_t)MAX(sysconf(_SC_NPROCESSORS_ONLN), 1);
}

uint64_t run_map_size(struct run *run, enum opt_id id, const char *what)
{
	uint64_t asked = (uint64_t)MAX(run->opts->val[id], 0), size = asked, max = memory_share();

	if (run->opts->val[OPT_bufresize] != 0)
		return asked;
	while (size > MAX(max, BUFSIZE_LEAST))
		size /= 2;
	if (size < asked)
		tell_size(run, what, size);
	return size;
}

/* Returns the largest buffer of each CPU. */
static uint64_t bufsize_max(void)
{
	uint64_t share = memory_share();
	uint64_t max = BUFSIZE_LEAST;

	while (2 * max <= MIN(share, RING_MAX))
		max *= 2;
	return max;
}

static struct err *bufsize_refused(uint64_t max)
{
	struct strbuf text = {0};
	struct err *e;

	size_add(&text, max);
	e = err_hint(err_sys(ENOMEM, "there is no memory for buffers of this size"),
		     "with bufresize=manual buffers are not lowered; there is room for -b %s",
		     strbuf_text(&text));
	strbuf_deinit(&text);
	return e;
}

/* Halves the buffer size until there is memory for it (option bufresize). */
static struct err *engines_fit(struct run *run, const struct choice *c, uint64_t bufsize)
{
	bool is_auto = run->opts->val[OPT_bufresize] == 0;
	struct err *e = engines_try(run, c, bufsize), *small;

	while (e && is_auto && is_out_of_memory(e) && bufsize / 2 >= BUFSIZE_LEAST) {
		bufsize /= 2;
		small = check_bufsize(run, bufsize);
		if (!small)
			small = engines_try(run, c, bufsize);
		if (small && !is_out_of_memory(small)) {
			err_destroy(small); /* the first error says more */
			return e;
		}
		err_destroy(e);
		e = small;
	}
	run->bufsize = bufsize;
	return e;
}

struct err *run_open_engines(struct run *run)
{
	uint64_t asked = (uint64_t)run->opts->val[OPT_bufsize], bufsize = asked,
		 max = bufsize_max();
	struct choice c = choice_create(run);
	struct err *e =
		engines_choose(run->engine_choice, c.units, c.n, run->match->layout, c.engines);

	if (!e)
		e = check_bufsize(run, bufsize);
	if (!e && bufsize > max && run->opts->val[OPT_bufresize] != 0)
		e = bufsize_refused(max);
	while (bufsize > max)
		bufsize /= 2;
	if (!e)
		e = check_bufsize(run, bufsize);
	if (!e)
		e = engines_fit(run, &c, bufsize);
	if (!e) {
		run->engine = run->engines.runs[0];
		for (uint32_t i = 0; i < c.n; i++)
			run->match->units.data[i]->engine =
				engines_find(&run->engines, c.engines[i]);
		if (run->bufsize < asked)
			tell_size(run, "buffer size", run->bufsize);
	}
	choice_deinit(&c);
	return e;
}
