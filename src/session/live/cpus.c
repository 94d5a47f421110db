/* SPDX-License-Identifier: MIT */
/*
 * Keeps the timers of profile and tick probes on all CPUs, while CPUs come and go.
 *
 * A timer dies with its CPU, and does not come back when the CPU does; nor do the kernel's records
 * of what processes do there (watch/records.h). The kernel reports which CPU comes and goes, and
 * the timers of that CPU are set anew. Where it reports nothing, the list of CPUs that are online
 * is compared now and then. After a machine has slept, all CPUs but the first have gone and come
 * without a report: then time has passed that CLOCK_MONOTONIC does not count, and all timers are
 * set anew.
 */
#include <errno.h>
#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#include "consume/wait.h"
#include "session/live/live.h"
#include "watch/watch.h"

bool unit_has_timers(const struct session_unit *u)
{
	return u->traits->is_timer;
}

/*
 * The machine was suspended for at least *ret_min and at most *ret_max so far: there are two bounds
 * because time passes between the reads of the clocks.
 */
static void slept_ns(uint64_t *ret_min, uint64_t *ret_max)
{
	uint64_t before = now_ns(), boot;
	struct timespec ts;

	(void)clock_gettime(CLOCK_BOOTTIME, &ts); /* cannot fail */
	boot = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	*ret_min = boot - now_ns();
	*ret_max = boot - before;
}

/*
 * Returns how many samples a second the kernel allows; 0 = unknown. The kernel lowers the number
 * when samples take long.
 */
static uint64_t rate_max(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	uint64_t rate = 0;

	return f && fscanf(f, "%" SCNu64, &rate) == 1 ? rate : 0;
}

static void check_rates(struct live *live, const struct session_unit *u)
{
	uint64_t max = rate_max();

	for (uint32_t i = 0; max && i < u->points.len; i++) {
		const struct place_timer *timer = u->points.data[i].timer;
		uint64_t rate = timer->counter ? 0 : 1000000000 / timer->period_ns;

		if (rate <= max || live->cpu_watch.is_rate_told)
			continue;
		live->cpu_watch.is_rate_told = true;
		report_adjusted(live->report,
				"'%s' may fire less often: the kernel allows %" PRIu64
				" samples a second (sysctl kernel.perf_event_max_sample_rate)",
				timer->name, max);
	}
}

/* Attaches a group of the timers of all units; 0 = all groups. */
static struct err *timers_attach(struct live *live, uint32_t group)
{
	struct attach_opts opts = live_attach_opts(live);
	struct err *e = NULL;

	opts.timers = group;
	for (uint32_t i = 0; i < live->match->units.len && !e; i++) {
		struct session_unit *u = live->match->units.data[i];

		if (unit_has_timers(u))
			e = u->engine->engine->attach(u->engine, u->loaded, &opts,
						      live->cpu_watch.timers);
	}
	return e;
}

struct err *live_start_timers(struct live *live)
{
	struct cpu_watch *w = &live->cpu_watch;
	uint64_t least;
	const int *fds;
	struct err *e;

	w->events_fd = -1;
	for (uint32_t i = 0; i < live->match->units.len; i++) {
		if (!unit_has_timers(live->match->units.data[i]))
			continue;
		w->has_timers = true;
		check_rates(live, live->match->units.data[i]);
	}
	w->is_needed = w->has_timers || (live->watch && watch_fds(live->watch, &fds));
	if (!w->is_needed)
		return NULL;
	w->events_fd = cpus_listen();
	e = w->events_fd >= 0 ? waiter_watch(live->waiter, w->events_fd) : NULL;
	if (e)
		return e;
	slept_ns(&least, &w->slept_ns);
	w->nonline = cpus_online(&w->online);
	w->single_on = w->nonline ? w->online[0] : 0;
	return timers_attach(live, 0);
}

void live_end_timers(struct live *live)
{
	struct cpu_watch *w = &live->cpu_watch;

	attachments_close(w->timers);
	if (w->is_needed && w->events_fd >= 0)
		(void)close(w->events_fd);
	free(w->online);
	*w = (struct cpu_watch){.timers = w->timers};
}

/* ---- CPUs that come and go ------------------------------------------------------------------- */

static bool is_online(const struct cpu_watch *w, uint32_t cpu)
{
	for (uint32_t i = 0; i < w->nonline; i++)
		if (w->online[i] == cpu)
			return true;
	return false;
}

/* Marks the CPUs about which the kernel has reported; true if there is one. */
static bool changes_hear(const struct live *live, bool *changed)
{
	struct cpu_event ev;
	bool any = false;

	while (live->cpu_watch.events_fd >= 0 && cpus_next(live->cpu_watch.events_fd, &ev)) {
		for (uint32_t cpu = 0; cpu < live->engines.ncpus; cpu++)
			changed[cpu] |= ev.is_lost || ev.cpu == cpu;
		any = true;
	}
	return any;
}

/* Reads the list of CPUs again, and marks those that are new or not there any more. */
static bool changes_compare(const struct live *live, struct cpu_watch *w, bool *changed)
{
	const struct cpu_watch before = *w;
	bool any = false;

	w->online = NULL;
	w->nonline = cpus_online(&w->online);
	if (!w->nonline) { /* the list cannot be read: nothing is known */
		free(w->online);
		*w = before;
		return false;
	}
	for (uint32_t cpu = 0; cpu < live->engines.ncpus; cpu++) {
		bool is_other = is_online(&before, cpu) != is_online(w, cpu);

		changed[cpu] |= is_other;
		any |= is_other;
	}
	free(before.online);
	return any;
}

/* Sets the timers of a CPU anew, and the watch of what processes do there. */
static struct err *cpu_renew(struct live *live, uint32_t cpu)
{
	int only = live_cpu(live), fd;
	const int *fds;
	struct err *e = NULL;

	attachments_close_group(live->cpu_watch.timers, TIMERS_OF(cpu));
	if (!is_online(&live->cpu_watch, cpu))
		return NULL;
	if (live->watch && watch_fds(live->watch, &fds)) {
		e = watch_cpu(live->watch, cpu, &fd);
		if (!e)
			e = waiter_listen(live->waiter, fd);
	}
	if (!e && (only < 0 || only == (int)cpu))
		e = timers_attach(live, TIMERS_OF(cpu));
	if (e && err_get_sys(e) == ENODEV) { /* it has gone again, and the kernel reports that */
		err_destroy(e);
		e = NULL;
	}
	return e;
}

static struct err *cpus_renew(struct live *live, const bool *changed)
{
	struct cpu_watch *w = &live->cpu_watch;
	struct err *e = NULL;

	if (w->nonline && changed[w->single_on]) {
		attachments_close_group(w->timers, TIMERS_SINGLE);
		w->single_on = w->online[0];
		e = timers_attach(live, TIMERS_SINGLE);
	}
	for (uint32_t cpu = 0; cpu < live->engines.ncpus && !e; cpu++)
		if (changed[cpu])
			e = cpu_renew(live, cpu);
	return e;
}

void live_follow_cpus(struct live *live, bool is_check_due)
{
	struct cpu_watch *w = &live->cpu_watch;
	CLEANUP(free) bool *changed = NULL;
	bool has_slept = false, is_other;
	uint64_t least, most;
	struct err *e;

	if (!w->is_needed)
		return;
	changed = xcalloc(live->engines.ncpus, sizeof(*changed));
	is_other = changes_hear(live, changed);
	if (!is_other && !is_check_due)
		return;
	for (uint32_t i = 0; i < live->match->units.len; i++)
		if (unit_has_timers(live->match->units.data[i]))
			check_rates(live, live->match->units.data[i]);
	slept_ns(&least, &most);
	has_slept = (int64_t)(least - w->slept_ns) > 0;
	is_other |= changes_compare(live, w, changed);
	if (!has_slept && !is_other)
		return;
	if (has_slept) {
		w->slept_ns = most;
		memset(changed, true, live->engines.ncpus * sizeof(*changed));
	}
	e = cpus_renew(live, changed);
	if (w->has_timers || e)
		report_adjusted(live->report, "%s: timers of profile and tick probes %s%s",
				is_other ? "CPUs have come or gone" : "the machine slept",
				e ? "cannot be set anew: " : "are set anew", e ? err_text(e) : "");
	err_destroy(e);
}
