/*
 * Attaching loaded programs; running one by hand.
 */
#include "bpf/attach.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/perf_event.h>

#include "base/vec.h"
#include "bpf/kernel.h"

struct err *attach_raw_tracepoint(int prog_fd, const char *name, int *ret_fd)
{
	union bpf_attr attr = {
		.raw_tracepoint.name = (uint64_t)(uintptr_t)name,
		.raw_tracepoint.prog_fd = (uint32_t)prog_fd,
	};
	int fd = sys_bpf(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof(attr));

	if (fd >= 0) {
		*ret_fd = fd;
		return NULL;
	}
	if (errno == ENOENT)
		return err_new("this kernel has no tracepoint '%s'", name);
	return err_sys(errno, "cannot attach to the tracepoint '%s'", name);
}

struct err *attach_tracepoint(const struct unit *u, int prog_fd, const struct attach_opts *opts,
			      struct attachments *ret)
{
	const char *fixed = place_traits(u->place.kind)->target;
	int fd;
	struct err *e = attach_raw_tracepoint(prog_fd, fixed ? fixed : u->place.target, &fd);

	if (!e)
		attachments_add(ret, fd);
	return e;
}

/* ---- timers --------------------------------------------------------------------------------- */

static struct err *event_refused(int sys, int cpu)
{
	struct err *e = err_sys(sys, "cannot open a timer event on CPU %d", cpu);

	if (sys == EACCES || sys == EPERM)
		return err_hint(e, "tracing needs CAP_PERFMON; try sudo");
	return e;
}

struct err *attach_cpu_clock(int prog_fd, int cpu, uint64_t period_ns, uint64_t cookie,
			     int *ret_event_fd, int *ret_link_fd)
{
	struct perf_event_attr ev = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(ev),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = period_ns,
		.disabled = 1,
		.pinned = 1,
	};
	union bpf_attr attr = {0};
	CLEANUP(fd) int event = -1;
	CLEANUP(fd) int link = -1;

	event = sys_perf_event_open(&ev, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return event_refused(errno, cpu);
	attr.link_create.prog_fd = (uint32_t)prog_fd;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return feat_explain(FEAT_PERF_LINK,
				    err_sys(errno, "cannot attach to the timer event on CPU %d",
					    cpu));
	if (sys_ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return err_sys(errno, "cannot start the timer event on CPU %d", cpu);
	*ret_event_fd = fd_take(&event);
	*ret_link_fd = fd_take(&link);
	return NULL;
}

/* CPUs that are online, as "0-3,5" in sysfs. An unreadable file means CPU 0 alone. */
static void cpus_online(uint32_t **ret_cpus, uint32_t *ret_n)
{
	CLEANUP(file) FILE *f = fopen("/sys/devices/system/cpu/online", "re");
	uint32_t *cpus = NULL, n = 0, cap = 0;
	unsigned int lo, hi;

	while (f && fscanf(f, "%u", &lo) == 1) {
		if (fscanf(f, "-%u", &hi) != 1)
			hi = lo;
		for (unsigned int cpu = lo; cpu <= hi; cpu++) {
			cpus = vec_grow(cpus, &cap, n + 1, sizeof(*cpus));
			cpus[n++] = cpu;
		}
		if (fgetc(f) != ',')
			break;
	}
	if (!n) {
		cpus = xcalloc(1, sizeof(*cpus));
		n = 1;
	}
	*ret_cpus = cpus;
	*ret_n = n;
}

static struct err *attach_one(int prog_fd, uint32_t cpu, const struct unit_probe *pr,
			      struct attachments *ret)
{
	int event_fd, link_fd;
	struct err *e;

	e = attach_cpu_clock(prog_fd, (int)cpu, pr->timer->period_ns, pr->key, &event_fd, &link_fd);
	if (e)
		return err_wrap(e, "cannot enable '%s' on CPU %" PRIu32, pr->timer->name, cpu);
	attachments_add(ret, link_fd);
	attachments_add(ret, event_fd);
	return NULL;
}

/*
 * A tick on the first CPU that takes it, others on all. A CPU may have gone offline since the list
 * was read: what it would have counted comes again with it (session/cpus.c). An error when not a
 * single one is left.
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

struct err *attach_timers(const struct unit *u, int prog_fd, const struct attach_opts *opts,
			  struct attachments *ret)
{
	CLEANUP(free) uint32_t *cpus = NULL;
	uint32_t ncpus;
	struct err *e = NULL;

	cpus_online(&cpus, &ncpus);
	for (uint32_t i = 0; i < u->nprobes && !e; i++)
		e = opts->cpu >= 0 ? attach_one(prog_fd, (uint32_t)opts->cpu, &u->probes[i], ret)
				   : attach_online(prog_fd, cpus, ncpus, &u->probes[i], ret);
	return e;
}

/* ---- uprobes, test runs --------------------------------------------------------------------- */

int uprobe_multi_try(int prog_fd, const char *path, pid_t pid)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = 1,
		.cnt = 1,
		.pid = (uint32_t)pid,
	};

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

struct err *prog_test_run(int prog_fd, uint64_t key)
{
	uint64_t args[12] = {key}; /* MAX_BPF_FUNC_ARGS: as many as a program may ask for */
	union bpf_attr attr = {
		.test.prog_fd = (uint32_t)prog_fd,
		.test.ctx_in = (uint64_t)(uintptr_t)args,
		.test.ctx_size_in = sizeof(args),
	};

	if (sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
		return err_sys(errno, "cannot run the program of BEGIN, END or ERROR");
	return NULL;
}

/* ---- attachments ---------------------------------------------------------------------------- */

void attachments_add(struct attachments *a, int fd)
{
	if (a->nfds == a->cap) {
		a->cap = a->cap ? a->cap * 2 : 8;
		a->fds = xrealloc(a->fds, a->cap * sizeof(*a->fds));
	}
	a->fds[a->nfds++] = fd;
}

struct err *attachments_keeper(struct attachments *a, struct keeper **ret)
{
	struct err *e = a->keeper ? NULL : keeper_create(&a->keeper);

	if (e)
		return e;
	*ret = a->keeper;
	return NULL;
}

void attachments_close_fast(struct attachments *a)
{
	for (uint32_t i = 0; i < a->nfds; i++)
		(void)close(a->fds[i]); /* nothing can be done about a failing close of a link */
	a->nfds = 0;
}

void attachments_close(struct attachments *a)
{
	attachments_close_fast(a);
	keeper_destroy(a->keeper);
	free(a->fds);
	*a = (struct attachments){0};
}
