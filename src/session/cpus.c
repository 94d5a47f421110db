/*
 * Keeps the timers of profile and tick probes on all CPUs, while CPUs come and go.
 *
 * A timer dies with its CPU, and does not come back when the CPU does: after a machine has slept,
 * all CPUs but the first have gone and come. So when the list of CPUs that are online is another
 * one, or time has passed that CLOCK_MONOTONIC does not count, all timers are set anew.
 */
#include <inttypes.h>
#include <time.h>

#include "session/run.h"

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

static void online_read(struct cpu_watch *w)
{
	CLEANUP(file) FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	size_t n = f ? fread(w->online, 1, sizeof(w->online) - 1, f) : 0;

	w->online[n] = 0;
	w->online[strcspn(w->online, "\n")] = 0;
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

static void check_rates(struct run *run, const struct session_unit *u)
{
	uint64_t max = rate_max();

	for (uint32_t i = 0; max && i < u->points.len; i++) {
		const struct place_timer *timer = u->points.data[i].timer;
		uint64_t rate = timer->counter ? 0 : 1000000000 / timer->period_ns;

		if (rate <= max || run->cpu_watch.is_rate_told)
			continue;
		run->cpu_watch.is_rate_told = true;
		report_adjusted(run->report,
				"'%s' may fire less often: the kernel allows %" PRIu64
				" samples a second (sysctl kernel.perf_event_max_sample_rate)",
				timer->name, max);
	}
}

static struct err *timers_attach(struct run *run)
{
	for (uint32_t i = 0; i < run->units.len; i++) {
		struct session_unit *u = run->units.data[i];
		struct err *e =
			unit_has_timers(u) ? run_attach_unit(run, u, &run->cpu_watch.timers) : NULL;

		if (e)
			return e;
	}
	return NULL;
}

struct err *run_start_timers(struct run *run)
{
	uint64_t least;

	for (uint32_t i = 0; i < run->units.len; i++) {
		if (!unit_has_timers(run->units.data[i]))
			continue;
		run->cpu_watch.is_needed = true;
		check_rates(run, run->units.data[i]);
	}
	if (!run->cpu_watch.is_needed)
		return NULL;
	slept_ns(&least, &run->cpu_watch.slept_ns);
	online_read(&run->cpu_watch);
	return timers_attach(run);
}

void run_follow_cpus(struct run *run)
{
	struct cpu_watch *w = &run->cpu_watch, now = {.is_needed = true};
	uint64_t least;
	bool has_slept, is_other;
	struct err *e;

	if (!w->is_needed)
		return;
	for (uint32_t i = 0; i < run->units.len; i++)
		if (unit_has_timers(run->units.data[i]))
			check_rates(run, run->units.data[i]);
	slept_ns(&least, &now.slept_ns);
	online_read(&now);
	has_slept = (int64_t)(least - w->slept_ns) > 0;
	is_other = strcmp(now.online, w->online) != 0;
	if (!has_slept && !is_other)
		return;
	w->slept_ns = now.slept_ns;
	memcpy(w->online, now.online, sizeof(w->online));
	attachments_close(&w->timers);
	e = timers_attach(run);
	report_adjusted(run->report, "%s: timers of profile and tick probes %s%s",
			is_other ? "CPUs have come or gone" : "the machine slept",
			e ? "cannot be set anew: " : "are set anew", e ? err_text(e) : "");
	err_destroy(e);
}
