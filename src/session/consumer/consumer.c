/* SPDX-License-Identifier: MIT */
/* Reads and prints what a run records, until its end (consumer.h). */
#include "session/consumer/consumer.h"

#include <errno.h>
#include <inttypes.h>

#include "agg/merge.h"
#include "base/str.h"
#include "base/text.h"
#include "consume/drops.h"
#include "consume/stream.h"
#include "keeper/keeper.h"
#include "kernel/capabilities.h"
#include "provider/providers.h"
#include "session/arrivals/arrivals.h"
#include "session/live/sites.h"
#include "session/tracing.h"
#include "watch/watch.h"

/* Bounds, in ns, of the time between two reads. One CPU can write 200 bytes a microsecond. */
#define INTERVAL_MIN	1000000
#define INTERVAL_TIMERS 100000000
#define INTERVAL_LIVE	100000000 /* a key is obeyed so soon */
#define BYTES_PER_US	200
/*
 * A probe takes its time stamp before it reserves its record. Records that are younger than this
 * may still be missing on another CPU, and are left for the next read.
 */
#define HORIZON_NS 1000000
/* Places of a language are read so soon at first, then after twice the time, up to the last. */
#define SITES_FIRST_NS 20000000u
#define SITES_NS       1000000000u

void consumer_init(struct consumer *c, struct arrivals *a)
{
	*c = (struct consumer){.arrivals = a,
			       .live = a->live,
			       .match = a->match,
			       .probes = a->probes};
}

/* ---- options, as the printer reads them ----------------------------------------------------- */

_Static_assert(PRINT_UNSET == OPT_UNSET, "an enum that is unset is so for the printer");

void consumer_refresh(struct consumer *c)
{
	const struct options *o = c->live->opts;

	c->print_opts = (struct print_opts){
/* clang-format off */
#define OF_FLAG(id) opt_flag(o, OPT_##id)
#define OF_NUMBER(id) opt_u32(o, OPT_##id)
#define OF_SIZE OF_NUMBER
#define OF_STRING(id) o->str[OPT_##id]
#define OF_ENUM(id) (int)o->val[OPT_##id]
#define OPT(...)
#define OPT_RENDER(id, name, kind, class, deflt, flags, what, member) .member = OF_##kind(id),
#include "session/options.def"
		/* clang-format on */
		.target_pid = (uint64_t)targets_first(c->live->targets),
		.is_testing = trusted_getenv("_DTRACE_TESTING") != NULL,
	};
}

/* ---- calls of the printer ------------------------------------------------------------------- */

static void hook_exit(void *ctx, int status)
{
	struct consumer *c = ctx;

	c->live->exit_status = status; /* the last one counts */
	c->live->exit_seen = true;
}

/* Returns the value as dtrace_getopt() does. */
static int64_t opt_value(const struct options *o, const char *name)
{
	enum opt_id id;

	return opt_find(name, &id) ? o->val[id] : DTRACEOPT_UNSET;
}

static struct err *hook_setopt(void *ctx, const char *name, const char *value)
{
	struct consumer *c = ctx;
	struct options *opts = c->live->opts;
	dtrace_setoptdata_t opt = {.dtsda_probe = printer_record(c->printer),
				   .dtsda_option = name,
				   .dtsda_newval = value,
				   .dtsda_old = opt_value(opts, name)};
	struct err *e = options_set(opts, name, value, true);

	if (e)
		return e;
	opt.dtsda_new = opt_value(opts, name);
	if (report_setopt(c->live->report, &opt))
		return NULL;
	return err_code(err_new("the handler of setopt() has ended consuming"), EDT_DIRABORT);
}

static uint32_t hook_epid(void *ctx, uint32_t *clause, uint32_t probe)
{
	const struct consumer *c = ctx;

	*clause = match_clause_for(c->match, *clause, probe);
	return match_epid(c->match, *clause, probe);
}

static void hook_fault(void *ctx, uint32_t clause, uint32_t probe, const char *text)
{
	consumer_report_library_fault(ctx, clause, probe, text);
}

static void hook_notice(void *ctx, const char *msg)
{
	report_adjusted(((const struct consumer *)ctx)->live->report, "%s", msg);
}

struct err *consumer_snap(struct consumer *c)
{
	struct err *e;

	aggs_set_livemin(c->aggs, (uint64_t)MAX(c->live->opts->val[OPT_livemin], 0));
	consumer_livecheck_set(c);
	watch_drain(c->live->watch); /* who has executed another program */
	sites_begin(c->live->sites);
	e = aggs_snap(c->aggs);
	c->sites_interval = MIN(MAX(2 * c->sites_interval, SITES_FIRST_NS), SITES_NS);
	c->sites_at = now_ns() + c->sites_interval;
	if (c->is_ended)
		consumer_livecheck_report(c);
	c->is_snapped = true;
	c->snap_at = now_ns() + (uint64_t)MAX(c->live->opts->val[OPT_aggrate], 0);
	return e;
}

/* One snapshot serves all printa() of one dtrace_work(), and of aggrate when that is set. */
static struct err *hook_snap(void *ctx)
{
	struct consumer *c = ctx;

	return c->is_snapped || (c->snap_at && now_ns() < c->snap_at) ? NULL : consumer_snap(c);
}

/* Names are cached, so syms must know first what the process had mapped at that time. */
static void name_stack(void *ctx, enum datum_kind kind, const char *bytes, uint32_t size,
		       uint64_t time, struct strbuf *out)
{
	const struct consumer *c = ctx;

	watch_drain(c->live->watch);
	printer_stack_name(c->printer, kind, bytes, size, time, out);
}

static void note_execed(void *ctx, const struct watch_subject *s)
{
	struct consumer *c = ctx;

	if (c->aggs)
		aggs_note_exec(c->aggs, s->pid, s->time);
}

/* Their times are the kernel's, as those of live(). */
static const struct watch_subscriber exec_subscriber = {
	.name = "alive",
	.scope = WATCH_ALL,
	.execed = note_execed,
};

static void hook_tend(void *ctx)
{
	const struct consumer *c = ctx;

	if (c->live->is_stopped)
		return; /* nobody waits any more */
	watch_drain(c->live->watch);
	tracing_tend(c->arrivals);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

struct err *consumer_start(struct consumer *c)
{
	struct live *live = c->live;
	bool is_ring = live->opts->val[OPT_bufpolicy] == BUFPOLICY_RING;
	struct syms *syms = names_syms(live->names);
	struct agg_source whole;

	c->print_hooks = (struct print_hooks){
		.ctx = c,
		.exit = hook_exit,
		.setopt = hook_setopt,
		.fault = hook_fault,
		.snap = hook_snap,
		.notice = hook_notice,
		.epid = hook_epid,
		.tend = hook_tend,
		.interrupts = &live->is_interrupted,
	};
	c->stream = stream_create(live->engines.runs, live->engines.n,
				  &(struct stream_opts){
					  .layout = c->match->layout,
					  .specsize = (uint64_t)live->opts->val[OPT_specsize],
					  .keep = is_ring ? live->bufsize : 0,
				  });
	c->drops =
		drops_create(live->engines.control, live->engines.ncpus, stream_specs(c->stream));
	c->engine_aggs = engines_aggs(&live->engines, c->match->layout);
	whole = agg_merge_whole(c->engine_aggs);
	c->aggs = aggs_create(c->match->layout, whole.io, whole.ctx);
	aggs_keep_percpu(c->aggs, opt_flag(live->opts, OPT_aggpercpu));
	c->printer = printer_create(c->match->layout, c->probes, c->aggs, &c->print_opts,
				    &c->print_hooks);
	printer_set_wall(c->printer, live->engines.control->wall_offset);
	consumer_refresh(c); /* the targets may have changed */
	aggs_set_syms(c->aggs, syms);
	printer_set_syms(c->printer, syms);
	if (c->print_opts.stackmerge != PRINT_MERGE_OFF)
		aggs_merge_stacks(c->aggs, name_stack, c);
	names_add_targets(live->names, live->targets);
	if (c->match->layout->live_size)
		watch_subscribe(live_watch(live), &exec_subscriber, c);
	c->status_at = now_ns() + (uint64_t)live->opts->val[OPT_statusrate];
	return printer_open_base(c->printer);
}

void consumer_undo(struct consumer *c)
{
	printer_destroy(c->printer);
	aggs_destroy(c->aggs);
	agg_merge_destroy(c->engine_aggs);
	drops_destroy(c->drops);
	stream_destroy(c->stream);
	c->printer = NULL;
	c->aggs = NULL;
	c->engine_aggs = NULL;
	c->drops = NULL;
	c->stream = NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

/*
 * While there are many records to print, stacks of processes that no walk has met before, and
 * frames in files that are new, do not wait for their end.
 */
#define RECORDS_A_SERVICE 32

static struct err *record_print(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				const struct rt_rec *next)
{
	struct consumer *c = ctx;

	if (++c->printed % RECORDS_A_SERVICE == 0)
		stacks_serve(c->live->stacks);
	if (rec->clause == RT_REC_FAULT)
		return consumer_report_fault(c, (const struct rt_rec_fault *)rec, cpu);
	return print_record(c->printer, c->fp, rec, len, cpu, next);
}

static struct err *records_consume(struct consumer *c, FILE *fp, uint64_t horizon)
{
	struct err *e;

	watch_drain(c->live->watch);   /* before the records of these processes are read */
	stacks_serve(c->live->stacks); /* the symbols of a large file take long to read */
	c->fp = fp;
	c->is_snapped = false;
	e = stream_drain(c->stream, horizon, c->is_ended, record_print, c);
	if (e) {
		err_destroy(printer_flush(c->printer, fp)); /* the first error is returned */
		return e;
	}
	return printer_flush(c->printer, fp);
}

static bool unit_records(const struct session_unit *u)
{
	for (uint32_t i = 0; i < u->clauses.len; i++) {
		const struct prog_clause *cl = u->clauses.data[i].layout->clause;

		if (cl->is_default)
			return true;
		for (uint32_t j = 0; j < cl->nacts; j++)
			if (cl->acts[j].kind == ACT_COMMIT ||
			    (act_is_recording(cl->acts[j].kind) && cl->acts[j].kind != ACT_EXIT))
				return true;
	}
	return false;
}

/*
 * Returns the time between two reads: a buffer must not fill up in between, however sudden the
 * burst. Timers cannot burst, and a program that records only exit(), which wakes us, need not be
 * read often. switchrate is the upper bound.
 */
static uint64_t interval_max(const struct consumer *c)
{
	const struct live *live = c->live;
	uint64_t ns = (uint64_t)MAX(live->opts->val[OPT_switchrate], 0);

	for (uint32_t i = 0; i < c->match->units.len; i++) {
		const struct session_unit *u = c->match->units.data[i];

		if (u->unit.is_begin_end || !unit_records(u))
			continue;
		ns = MIN(ns, (uint64_t)INTERVAL_TIMERS);
		if (!u->traits->is_timer)
			ns = MIN(ns,
				 (uint64_t)engines_bufsize(&live->engines) * 1000 / BYTES_PER_US);
	}
	if (live->opts->val[OPT_oformat] == PRINT_LIVE)
		ns = MIN(ns, (uint64_t)INTERVAL_LIVE);
	return MAX(ns, (uint64_t)INTERVAL_MIN);
}

/* Aims at buffers a quarter full: shortens the interval at once, and lengthens it step by step. */
static void adapt_interval(struct consumer *c)
{
	uint32_t fill = engines_fill(&c->live->engines);

	if (fill > 64)
		c->work_interval = c->work_interval * 64 / fill;
	else if (fill < 16)
		c->work_interval *= 2;
	c->work_interval = MIN(MAX(c->work_interval, (uint64_t)INTERVAL_MIN), interval_max(c));
}

uint64_t consumer_due(const struct consumer *c)
{
	uint64_t due = c->work_at + c->work_interval;

	return sites_has_processes(c->live->sites) ? MIN(due, c->sites_at) : due;
}

/* ---- work ----------------------------------------------------------------------------------- */

/*
 * Whether places of a language are to be read, though nobody prints their counts: their program may
 * forget them, or end.
 */
static bool sites_are_due(const struct consumer *c, uint64_t now)
{
	return sites_has_processes(c->live->sites) && now >= c->sites_at;
}

struct err *consumer_work(struct consumer *c, FILE *fp)
{
	struct live *live = c->live;
	uint64_t now = now_ns();
	struct err *e = NULL;

	/* policy fill: buffers are read only at the end of the run, when one of them is full */
	if (live->opts->val[OPT_bufpolicy] != BUFPOLICY_FILL) {
		e = records_consume(c, fp, now - HORIZON_NS);
		adapt_interval(c);
	}
	if (!e)
		e = printer_tick(c->printer);
	arrivals_tend(c->arrivals, now - HORIZON_NS);
	c->work_at = now_ns();
	live_follow_cpus(live, now >= c->status_at);
	if (!e && (aggs_needs_sweep(c->aggs) || sites_are_due(c, now)))
		e = consumer_snap(c);
	if (!e && now >= c->status_at) {
		c->status_at = now + (uint64_t)live->opts->val[OPT_statusrate];
		consumer_debug_memory(c);
		e = consumer_report_drops(c);
		if (!e)
			e = keeper_check(attachments_made_keeper(live->attachments));
	}
	return e;
}

/* Says how many stacks were cut because the unwind tables of their files were not there yet. */
static void late_stacks_report(struct consumer *c)
{
	const struct rt_control *control = c->live->engines.control;
	uint64_t n = 0;

	for (uint32_t cpu = 0; cpu < c->live->engines.ncpus; cpu++)
		n += __atomic_load_n(&control->cpu[cpu].late_stacks, __ATOMIC_RELAXED);
	if (n > c->late_stacks)
		report_notice(c->live->report,
			      "%llu user stack%s with '%s': the file's unwind table was not "
			      "loaded yet",
			      (unsigned long long)(n - c->late_stacks),
			      WORD_FOR(n - c->late_stacks, " ends", "s end"),
			      "[no unwind table yet]");
	c->late_stacks = n;
}

/* Says how many stacks have native frames only because their process was new. */
static void bare_stacks_report(const struct consumer *c)
{
	const uint64_t n = stacks_bare(c->live->stacks);

	if (n)
		report_notice(c->live->report,
			      "%" PRIu64
			      " user stack%s native frames only: the process was new, and "
			      "its ustack helper was not attached yet",
			      n, n == 1 ? " has" : "s have");
}

/* Says in how many stacks frames of the language are missing, because walks were too long. */
static void spent_stacks_report(struct consumer *c)
{
	const struct rt_control *control = c->live->engines.control;
	struct strbuf at = {0};
	uint64_t n = 0;

	for (uint32_t cpu = 0; cpu < c->live->engines.ncpus; cpu++)
		n += __atomic_load_n(&control->cpu[cpu].spent_stacks, __ATOMIC_RELAXED);
	n -= c->spent_stacks;
	strbuf_adds(&at, "; the first at ");
	if (!stacks_note(c->live->stacks, RT_NOTE_SPENT, &at))
		strbuf_clear(&at);
	if (n)
		report_adjusted(
			c->live->report,
			"%" PRIu64 " user stack%s no frames of the language from "
			"'[language frames cut]' on: to read them takes longer than one walk "
			"may last%s",
			n, n == 1 ? " has" : "s have", strbuf_text(&at));
	c->spent_stacks += n;
	strbuf_deinit(&at);
}

/* Says how many stacks that variables or records had were not in their table any more. */
static void lost_stacks_report(const struct consumer *c)
{
	uint64_t n = aggs_take_lost_stacks(c->aggs);

	if (n)
		report_adjusted(c->live->report,
				"%" PRIu64 " time%s '%s' was shown: that stack had left the table "
				"of stacks; a larger dynvarsize or aggsize keeps more of them",
				n, n == 1 ? "" : "s", "[stack not kept]");
}

/* END fires after the buffers were emptied: its record must not be lost to a full buffer. */
struct err *consumer_finish(struct consumer *c, FILE *fp)
{
	struct err *e = records_consume(c, fp, ENGINE_EVERYTHING);

	if (!e && !c->is_ended) {
		c->is_ended = true;
		e = live_fire(c->live, DTRACE_KEY_END);
		aggs_set_quiet(c->aggs);
		if (!e)
			e = records_consume(c, fp, ENGINE_EVERYTHING);
	}
	/* which places are gone is said below; of who has ended, objects cannot be looked at */
	if (!e && sites_has_processes(c->live->sites) &&
	    c->live->opts->val[OPT_livecheck] == OPT_UNSET)
		e = consumer_snap(c);
	consumer_debug_memory(c);
	if (c->live->nmissed)
		report_adjusted(
			c->live->report,
			"%llu times a probe was reached while the kernel ran a program of this "
			"or another tracer on its CPU, or had no room for a return: no clause ran",
			(unsigned long long)c->live->nmissed);
	c->live->nmissed = 0;
	late_stacks_report(c);
	bare_stacks_report(c);
	spent_stacks_report(c);
	lost_stacks_report(c);
	if (!e)
		e = consumer_report_drops(c);
	live_tell_inproc_drops(c->live);
	return e;
}

/* ---- callbacks ------------------------------------------------------------------------------ */

void consumer_set_callbacks(struct consumer *c, dtrace_consume_probe_f *probe,
			    dtrace_consume_rec_f *rec, void *arg)
{
	const struct report *r = c->live->report;

	printer_set_callbacks(c->printer,
			      &(struct print_callbacks){.hdl = r->hdl,
							.probe = probe,
							.rec = rec,
							.arg = arg,
							.text = r->on.buffered.func,
							.text_arg = r->on.buffered.arg});
}

/* ---- aggregations --------------------------------------------------------------------------- */

struct err *consumer_print_aggs(struct consumer *c, FILE *fp, dtrace_aggregate_walk_f *walk)
{
	struct err *e;

	if (!c->printer)
		return NULL;
	consumer_set_callbacks(c, NULL, NULL, NULL);
	e = consumer_snap(c);
	if (!e)
		e = walk ? print_aggs_in(c->printer, fp, walk) : print_aggs(c->printer, fp);
	return e ? e : printer_flush(c->printer, fp);
}

struct err *consumer_end_output(struct consumer *c, FILE *fp)
{
	if (!c->printer)
		return NULL;
	consumer_set_callbacks(c, NULL, NULL, NULL);
	return printer_end(c->printer, fp);
}
