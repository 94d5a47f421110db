/* SPDX-License-Identifier: MIT */
/*
 * Attaches loaded programs, and runs one by hand.
 */
#include "bpf/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>

#include "base/vec.h"
#include "bpf/engine.h"
#include "keeper/keeper.h"

struct err *attach_tracepoint(const struct unit *u, const int *progs,
			      const struct attach_opts *opts, struct attachments *ret)
{
	const char *fixed = place_traits(u->place.kind)->target;
	int fd;
	struct err *e = attach_raw_tracepoint(progs[0], fixed ? fixed : u->place.target, &fd);

	if (!e)
		attachments_add(ret, fd, 0);
	return e;
}

/* The tracer holds so many events itself: a session with few of them needs no keeper. */
#define OWN_EVENTS 2

/* Keeps the event attached; the keeper holds it if there are others. */
static struct err *event_hold(struct attachments *a, int link_fd, int event_fd)
{
	CLEANUP(fd) int link = link_fd;
	CLEANUP(fd) int event = event_fd;
	struct keeper *keeper;
	struct err *e;

	if (attachments_count_event(a) < OWN_EVENTS) {
		attachments_add(a, fd_take(&link), 0);
		attachments_add(a, fd_take(&event), 0);
		return NULL;
	}
	e = attachments_keeper(a, &keeper);
	return e ? e : keeper_hold(keeper, link, event);
}

/* The program of an event of tracefs runs on all CPUs, whichever CPU the event is opened for. */
struct err *attach_event(const struct unit *u, const int *progs, const struct attach_opts *opts,
			 struct attachments *ret)
{
	uint32_t id = u->probes[0].event->id;
	int event_fd, link_fd;
	struct err *e;

	if (!id)
		return err_new("tracefs does not say what the event '%s' holds: its module may be "
			       "gone",
			       u->place.target);
	e = attach_trace_event(progs[0], id, u->place.target, &event_fd, &link_fd);
	return e ? e : event_hold(ret, link_fd, event_fd);
}

/* ---- timers --------------------------------------------------------------------------------- */

static struct err *attach_one(int prog_fd, uint32_t cpu, const struct unit_probe *pr,
			      struct attachments *ret)
{
	const struct place_counter *c = pr->timer->counter;
	uint32_t group = pr->timer->is_single ? TIMERS_SINGLE : TIMERS_OF(cpu);
	int event_fd, link_fd;
	struct err *e;

	e = c ? attach_counter(prog_fd, (int)cpu, c->type, c->config, c->period, c->no_user,
			       c->no_kernel, pr->key, &event_fd, &link_fd)
	      : attach_cpu_clock(prog_fd, (int)cpu, pr->timer->period_ns, pr->key, &event_fd,
				 &link_fd);
	if (e)
		return err_wrap(e, "cannot enable '%s' on CPU %" PRIu32, pr->timer->name, cpu);
	attachments_add(ret, link_fd, group);
	attachments_add(ret, event_fd, group);
	return NULL;
}

/*
 * Attaches a tick probe on the first CPU that accepts it, and other timers on all CPUs. A CPU may
 * have gone offline since the list was read; its timer is attached when the CPU comes back
 * (session/live/cpus.c). Returns an error when no CPU is left.
 */
static struct err *attach_online(int prog_fd, const uint32_t *cpus, uint32_t ncpus,
				 const struct unit_probe *pr, struct attachments *ret)
{
	struct err *e = NULL, *offline = NULL;
	uint32_t nattached = 0, want = pr->timer->is_single ? 1 : ncpus;

	for (uint32_t i = 0; i < ncpus && nattached < want && !e; i++) {
		e = attach_one(prog_fd, cpus[i], pr, ret);
		if (e && err_get_sys(e) == ENODEV) {
			err_destroy(offline);
			offline = e;
			e = NULL;
		} else {
			nattached++;
		}
	}
	if (!e && !nattached)
		return offline;
	err_destroy(offline);
	return e;
}

/* The CPUs on which timers of the wanted group can be; for TIMERS_OF() the one CPU. */
static uint32_t timer_cpus(const struct attach_opts *opts, uint32_t **ret_cpus)
{
	bool is_of_cpu = opts->timers > TIMERS_SINGLE;
	uint32_t n = opts->cpu < 0 && !is_of_cpu ? cpus_online(ret_cpus) : 0;

	if (n)
		return n;
	*ret_cpus = xrealloc(*ret_cpus, sizeof(**ret_cpus));
	if (is_of_cpu)
		**ret_cpus = opts->timers - TIMERS_OF(0);
	else
		**ret_cpus = opts->cpu < 0 ? 0 : (uint32_t)opts->cpu;
	return 1;
}

struct err *attach_timers(const struct unit *u, const int *progs, const struct attach_opts *opts,
			  struct attachments *ret)
{
	CLEANUP(free) uint32_t *cpus = NULL;
	uint32_t ncpus = timer_cpus(opts, &cpus);
	struct err *e = NULL;

	for (uint32_t i = 0; i < u->nprobes && !e; i++)
		if (!opts->timers ||
		    u->probes[i].timer->is_single == (opts->timers == TIMERS_SINGLE))
			e = attach_online(progs[0], cpus, ncpus, &u->probes[i], ret);
	return e;
}
