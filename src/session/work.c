/* Consuming a run: sleeping, draining, stopping, the end. */
#include <errno.h>

#include "keeper/keeper.h"
#include "provider/providers.h"
#include "proc/control.h"
#include "session/later.h"
#include "consume/latest.h"
#include "consume/rings.h"
#include "session/session.h"
#include "consume/spec.h"
#include "session/unwind.h"
#include "watch/watch.h"

/* Bounds, in ns, of the time between two reads. One CPU can write 200 bytes a microsecond. */
#define INTERVAL_MIN	1000000
#define INTERVAL_TIMERS 100000000
#define BYTES_PER_US	200
/*
 * A probe takes its time stamp before it reserves its record: what is younger than this may still
 * be missing on another CPU, and is left for the next time.
 */
#define HORIZON_NS 1000000

static enum rt_state state_of(const dtrace_hdl_t *h)
{
	return (enum rt_state)__atomic_load_n(&h->maps->control->state, __ATOMIC_ACQUIRE);
}

/* ---- aggregations --------------------------------------------------------------------------- */

/* One snapshot serves all printa() of one dtrace_work(), and of aggrate when that is set. */
struct err *session_snap(dtrace_hdl_t *h, bool is_final)
{
	struct err *e;

	if (!is_final && (h->is_snapped || (h->snap_at && now_ns() < h->snap_at)))
		return NULL;
	e = aggs_snap(h->aggs);
	h->is_snapped = true;
	h->snap_at = now_ns() + (uint64_t)MAX(h->opts.val[OPT_aggrate], 0);
	return e;
}

int dtrace_aggregate_print(dtrace_hdl_t *dtp, FILE *fp)
{
	struct err *e;

	if (!dtp->printer)
		return 0;
	e = session_snap(dtp, true);
	if (!e)
		e = print_aggs(dtp->printer, fp);
	if (!e)
		e = printer_flush(dtp->printer, fp);
	return e ? report_fail(&dtp->report, e) : 0;
}

int dtrace_output_end(dtrace_hdl_t *dtp, FILE *fp)
{
	struct err *e = dtp->printer ? printer_end(dtp->printer, fp) : NULL;

	return e ? report_fail(&dtp->report, e) : 0;
}

/* ---- draining ------------------------------------------------------------------------------- */

static struct err *consume_printed(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				   const struct rt_rec *next)
{
	dtrace_hdl_t *h = ctx;

	if (rec->clause == RT_REC_FAULT)
		return session_report_fault(h, (const struct rt_rec_fault *)rec);
	if (next && next->clause >= h->layout->nclauses)
		next = NULL;
	return print_record(h->printer, h->work_fp, rec, len, cpu, next);
}

/* What is not held back by a speculation. */
static struct err *consume_committed(void *ctx, const struct rt_rec *rec, uint32_t len,
				     uint32_t cpu, const struct rt_rec *next)
{
	dtrace_hdl_t *h = ctx;

	if (!h->latest)
		return consume_printed(h, rec, len, cpu, next);
	latest_add(h->latest, rec, len, cpu);
	return NULL;
}

static struct err *consume_record(void *ctx, const struct rt_rec *rec, uint32_t len, uint32_t cpu,
				  const struct rt_rec *next)
{
	dtrace_hdl_t *h = ctx;

	return specs_record(h->specs, rec, len, cpu, next, consume_committed, h);
}

static struct err *drain(dtrace_hdl_t *h, FILE *fp, uint64_t horizon)
{
	struct err *e;

	watch_drain(h->watch); /* before what was recorded in those processes */
	h->work_fp = fp;
	h->is_snapped = false;
	specs_drain_begin(h->specs);
	e = rings_drain(h->rings, horizon, consume_record, h);
	/* END may still commit what is active when tracing stops */
	specs_drain_end(h->specs, h->is_ended ? horizon : MIN(horizon, now_ns()));
	if (!e && h->latest && h->is_ended)
		e = latest_drain(h->latest, consume_printed, h);
	if (e) {
		err_destroy(printer_flush(h->printer, fp)); /* e came first */
		return e;
	}
	return printer_flush(h->printer, fp);
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
 * How long nothing needs to be read: a buffer must not fill up in between, however sudden the
 * burst. Timers cannot burst, and a program that records nothing but exit(), which wakes us, need
 * not be looked at. switchrate is the upper bound.
 */
static uint64_t interval_max(const dtrace_hdl_t *h)
{
	uint64_t ns = (uint64_t)MAX(h->opts.val[OPT_switchrate], 0);

	for (uint32_t i = 0; i < h->units.len; i++) {
		const struct session_unit *u = h->units.data[i];

		if (u->unit.is_begin_end || !unit_records(u))
			continue;
		ns = MIN(ns, (uint64_t)INTERVAL_TIMERS);
		if (!u->traits->is_timer)
			ns = MIN(ns, (uint64_t)h->maps->ring_size * 1000 / BYTES_PER_US);
	}
	return MAX(ns, (uint64_t)INTERVAL_MIN);
}

/* Aims at buffers a quarter full: sooner at once when they fill fast, later again step by step. */
static void adapt_interval(dtrace_hdl_t *h)
{
	uint32_t fill = rings_fill(h->rings);

	if (fill > 64)
		h->work_interval = h->work_interval * 64 / fill;
	else if (fill < 16)
		h->work_interval *= 2;
	h->work_interval = MIN(MAX(h->work_interval, (uint64_t)INTERVAL_MIN), interval_max(h));
}

/* ---- ends ----------------------------------------------------------------------------------- */

/* Nothing fires any more; what costs no time is taken off, the rest when the handle is closed. */
static void stop(dtrace_hdl_t *h)
{
	if (!h->is_active || h->is_stopped)
		return;
	h->is_stopped = true;
	__atomic_store_n(&h->maps->control->state, RT_STATE_OFF, __ATOMIC_RELEASE);
	later_stop(h);
	attachments_close_fast(&h->attachments);
	attachments_close(&h->cpu_watch.timers);
}

int dtrace_stop(dtrace_hdl_t *dtp)
{
	stop(dtp);
	return 0;
}

void dtrace_interrupt(dtrace_hdl_t *dtp)
{
	dtp->is_interrupted++;
	if (dtp->rings)
		rings_wake(dtp->rings);
}

/* ---- the public loop ------------------------------------------------------------------------ */

void dtrace_sleep(dtrace_hdl_t *dtp)
{
	if (!dtp->is_active || dtp->is_stopped || dtp->exit_seen ||
	    state_of(dtp) == RT_STATE_EXITING)
		return;
	session_sleep(dtp, dtp->work_at + dtp->work_interval);
}

/*
 * exit() may have lost its record to a full buffer; the state says it all the same, and the status
 * is then 0.
 */
static bool is_over(dtrace_hdl_t *h)
{
	return h->is_stopped || h->exit_seen || state_of(h) == RT_STATE_EXITING ||
	       targets_gone(&h->targets);
}

static struct err *work_on(dtrace_hdl_t *h, FILE *fp)
{
	uint64_t now = now_ns();
	struct err *e = NULL;

	/* policy fill: until a buffer is full, which ends the run, they are left alone */
	if (h->opts.val[OPT_bufpolicy] != BUFPOLICY_FILL) {
		e = drain(h, fp, now - HORIZON_NS);
		adapt_interval(h);
	}
	h->work_at = now_ns();
	if (!e && now >= h->status_at) {
		h->status_at = now + (uint64_t)h->opts.val[OPT_statusrate];
		session_follow_cpus(h);
		e = session_report_drops(h);
		if (!e)
			e = keeper_check(h->attachments.keeper);
	}
	return e;
}

/* END fires when the buffers have been emptied: its record must not be lost to a full one. */
static struct err *work_last(dtrace_hdl_t *h, FILE *fp)
{
	struct err *e;

	stop(h);
	e = drain(h, fp, RINGS_EVERYTHING);
	if (!e && !h->is_ended) {
		h->is_ended = true;
		e = session_fire(h, DTRACE_KEY_END);
		aggs_set_quiet(h->aggs);
		if (!e)
			e = drain(h, fp, RINGS_EVERYTHING);
	}
	return e ? e : session_report_drops(h);
}

dtrace_workstatus_t dtrace_work(dtrace_hdl_t *dtp, FILE *fp)
{
	struct err *e = NULL;
	bool over;

	if (!dtp->is_active)
		return DTRACE_WORKSTATUS_DONE;
	later_work(dtp);
	session_see_targets(dtp);
	(void)unwinds_work(dtp->unwinds, 0); /* only what is asked for */
	over = is_over(dtp);
	if (!over) {
		e = work_on(dtp, fp);
		over = !e && is_over(dtp);
	}
	if (over)
		e = work_last(dtp, fp);
	if (e) {
		report_fail(&dtp->report, e);
		return DTRACE_WORKSTATUS_ERROR;
	}
	return over ? DTRACE_WORKSTATUS_DONE : DTRACE_WORKSTATUS_OKAY;
}

int dtrace_exit_status(dtrace_hdl_t *dtp)
{
	return dtp->exit_seen ? dtp->exit_status & 0xff : -1;
}
