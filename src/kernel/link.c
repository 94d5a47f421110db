/* SPDX-License-Identifier: MIT */
/* Links and perf events, one at a time, and test runs of programs. */
#include "kernel/confine.h"
#include "kernel/kernel.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

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

/* Debian's kernels know one level of the sysctl more, with which CAP_PERFMON does not suffice. */
const char *events_need(void)
{
	CLEANUP(file) FILE *f = fopen("/proc/sys/kernel/perf_event_paranoid", "re");
	int level;

	if (f && fscanf(f, "%d", &level) == 1 && level > 2)
		return "events need CAP_SYS_ADMIN where the sysctl kernel.perf_event_paranoid is "
		       "above 2: set it to 2 and have CAP_PERFMON, or try sudo";
	return "tracing needs CAP_PERFMON; try sudo";
}

/* e, with what explains the refusal; where the capabilities suffice it is something else. */
static struct err *event_refused(int sys, struct err *e)
{
	const char *need = events_need();
	bool is_allowed = kernel_has_cap(CAP_SYS_ADMIN) ||
			  (kernel_has_cap(CAP_PERFMON) && strncmp(need, "events", 6) != 0);
	struct err *confined = is_allowed ? confined_err("perf_event_open(2)", sys) : NULL;

	if (confined) {
		err_destroy(e);
		return confined;
	}
	return sys == EACCES || sys == EPERM ? err_hint(e, "%s", need) : e;
}

/* Opens the event that attr describes, and runs the program at its overflows. */
static struct err *event_attach(struct perf_event_attr *ev, int prog_fd, int cpu, uint64_t cookie,
				int *ret_event_fd, int *ret_link_fd)
{
	union bpf_attr attr = {0};
	CLEANUP(fd) int event = -1;
	CLEANUP(fd) int link = -1;

	event = sys_perf_event_open(ev, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return event_refused(errno, err_sys(errno, "cannot open the event on CPU %d", cpu));
	attr.link_create.prog_fd = (uint32_t)prog_fd;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return feat_explain(FEAT_PERF_LINK,
				    err_sys(errno, "cannot attach to the event on CPU %d", cpu));
	if (sys_ioctl(event, PERF_EVENT_IOC_ENABLE, 0))
		return err_sys(errno, "cannot start the event on CPU %d", cpu);
	*ret_event_fd = fd_take(&event);
	*ret_link_fd = fd_take(&link);
	return NULL;
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

	return event_attach(&ev, prog_fd, cpu, cookie, ret_event_fd, ret_link_fd);
}

static struct perf_event_attr counter_attr(uint32_t type, uint64_t config, bool no_user,
					   bool no_kernel)
{
	return (struct perf_event_attr){
		.type = type,
		.size = sizeof(struct perf_event_attr),
		.config = config,
		.disabled = 1,
		.exclude_user = no_user,
		.exclude_kernel = no_kernel,
	};
}

struct err *attach_counter(int prog_fd, int cpu, uint32_t type, uint64_t config, uint64_t period,
			   bool no_user, bool no_kernel, uint64_t cookie, int *ret_event_fd,
			   int *ret_link_fd)
{
	struct perf_event_attr ev = counter_attr(type, config, no_user, no_kernel);

	ev.sample_period = period;
	return event_attach(&ev, prog_fd, cpu, cookie, ret_event_fd, ret_link_fd);
}

int counter_try(uint32_t type, uint64_t config, bool no_user, bool no_kernel)
{
	struct perf_event_attr ev = counter_attr(type, config, no_user, no_kernel);
	CLEANUP(fd) int fd = sys_perf_event_open(&ev, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	return fd < 0 ? errno : 0;
}

struct err *attach_trace_event(int prog_fd, uint32_t id, const char *name, int *ret_event_fd,
			       int *ret_link_fd)
{
	/* No sample_period: samples of some events are forbidden (irq_vectors:irq_work_exit). */
	struct perf_event_attr ev = {
		.type = PERF_TYPE_TRACEPOINT,
		.size = sizeof(ev),
		.config = id,
	};
	union bpf_attr attr = {0};
	CLEANUP(fd) int event = -1;
	int link, cpu = sched_getcpu();

	event = sys_perf_event_open(&ev, -1, cpu < 0 ? 0 : cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return errno == ENOENT
			       ? err_new("this kernel has no event '%s'", name)
			       : event_refused(errno,
					       err_sys(errno, "cannot open the event '%s'", name));
	attr.link_create.prog_fd = (uint32_t)prog_fd;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return feat_explain(FEAT_PERF_LINK,
				    err_sys(errno, "cannot attach to the event '%s'", name));
	*ret_event_fd = fd_take(&event);
	*ret_link_fd = link;
	return NULL;
}

int attach_kprobe_multi(int prog_fd, const uint64_t *addrs, const uint64_t *cookies, uint32_t n,
			bool is_return, int *ret_fd)
{
	union bpf_attr attr = {
		.link_create.prog_fd = (uint32_t)prog_fd,
		.link_create.attach_type = ATTACH_KPROBE_MULTI,
		.link_create.kprobe_multi =
			{
				.flags = is_return ? BPF_F_KPROBE_MULTI_RETURN : 0,
				.cnt = n,
				.addrs = (uint64_t)(uintptr_t)addrs,
				.cookies = (uint64_t)(uintptr_t)cookies,
			},
	};
	int fd = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));

	if (fd < 0)
		return errno;
	*ret_fd = fd;
	return 0;
}

/* The number of the kind of event; 0: the kernel has no such events. */
static uint32_t kprobe_pmu_type(void)
{
	CLEANUP(file) FILE *f = fopen(KPROBE_PMU "/type", "re");
	unsigned int type;

	return f && fscanf(f, "%u", &type) == 1 ? type : 0;
}

int attach_kprobe(int prog_fd, uint64_t addr, uint64_t cookie, bool is_return, int *ret_event_fd,
		  int *ret_link_fd)
{
	struct perf_event_attr ev = {
		.type = kprobe_pmu_type(),
		.size = sizeof(ev),
		.config = is_return, /* PERF_PROBE_CONFIG_IS_RETPROBE: Linux kernel/events/core.c */
		.kprobe_addr = addr,
	};
	union bpf_attr attr = {0};
	CLEANUP(fd) int event = -1;
	int link;

	if (!ev.type)
		return ENOENT;
	event = sys_perf_event_open(&ev, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0)
		return errno;
	attr.link_create.prog_fd = (uint32_t)prog_fd;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = cookie;
	link = sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
	if (link < 0)
		return errno;
	*ret_event_fd = fd_take(&event);
	*ret_link_fd = link;
	return 0;
}

static bool object_info(int fd, void *info, uint32_t size)
{
	union bpf_attr attr = {.info.bpf_fd = (uint32_t)fd,
			       .info.info_len = size,
			       .info.info = (uint64_t)(uintptr_t)info};

	return !sys_bpf(BPF_OBJ_GET_INFO_BY_FD, &attr, sizeof(attr));
}

/* Whether the object of type information is that of the module. */
static bool btf_object_is(int fd, const char *mod)
{
	char name[64] = "";
	struct bpf_btf_info info = {.name = (uint64_t)(uintptr_t)name, .name_len = sizeof(name)};

	return object_info(fd, &info, sizeof(info)) && info.kernel_btf && strcmp(name, mod) == 0;
}

int btf_object_open(const char *mod)
{
	union bpf_attr next = {0};
	int fd;

	if (strcmp(mod, KERNEL_MODULE) == 0)
		return 0;
	while (!sys_bpf(BPF_BTF_GET_NEXT_ID, &next, sizeof(next))) {
		union bpf_attr attr = {.btf_id = next.next_id};

		next.start_id = next.next_id;
		fd = sys_bpf(BPF_BTF_GET_FD_BY_ID, &attr, sizeof(attr));
		if (fd < 0)
			continue; /* it has gone */
		if (btf_object_is(fd, mod))
			return fd;
		(void)close(fd);
	}
	return -1;
}

int attach_function(int prog_fd, bool is_return, uint64_t cookie)
{
	union bpf_attr attr = {
		.link_create.prog_fd = (uint32_t)prog_fd,
		.link_create.attach_type = is_return ? BPF_TRACE_FEXIT : BPF_TRACE_FENTRY,
		.link_create.tracing.cookie = cookie,
	};

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

uint64_t prog_missed(int prog_fd)
{
	struct bpf_prog_info info = {0};

	return object_info(prog_fd, &info, sizeof(info)) ? info.recursion_misses : 0;
}

/* The part that is needed of struct bpf_link_info of Linux 6.9: older headers lack it. */
struct link_info {
	uint32_t type, id, prog_id;
	union {
		struct {
			uint64_t addrs;
			uint32_t count, flags;
			uint64_t missed;
		} multi __attribute__((aligned(8)));
		struct {
			uint32_t type;
			uint64_t name;
			uint32_t name_len, offset;
			uint64_t addr, missed;
		} event;
	};
	uint64_t rest[8];
};
#define EVENT_KPROBE	3 /* enum bpf_perf_event_type */
#define EVENT_KRETPROBE 4

uint64_t link_missed(int link_fd)
{
	struct link_info info = {0};

	if (!object_info(link_fd, &info, sizeof(info)))
		return 0; /* it is no link */
	if (info.type == BPF_LINK_TYPE_KPROBE_MULTI)
		return info.multi.missed;
	if (info.type == BPF_LINK_TYPE_PERF_EVENT &&
	    (info.event.type == EVENT_KPROBE || info.event.type == EVENT_KRETPROBE))
		return info.event.missed;
	return 0;
}

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

int insns_load(enum bpf_prog_type type, uint32_t attach_type, const struct bpf_insn *insns,
	       uint32_t ninsns, const char *name)
{
	union bpf_attr attr = {
		.prog_type = type,
		.expected_attach_type = attach_type,
		.insns = (uint64_t)(uintptr_t)insns,
		.insn_cnt = ninsns,
		.license = (uint64_t)(uintptr_t) "Dual MIT/GPL",
	};

	(void)snprintf(attr.prog_name, sizeof(attr.prog_name), "%s", name);
	return sys_bpf_load(&attr, sizeof(attr));
}

int prog_ask(int prog_fd, uint64_t arg, uint32_t *ret_value)
{
	uint64_t args[12] = {arg}; /* MAX_BPF_FUNC_ARGS: as many as a program may ask for */
	union bpf_attr attr = {
		.test.prog_fd = (uint32_t)prog_fd,
		.test.ctx_in = (uint64_t)(uintptr_t)args,
		.test.ctx_size_in = sizeof(args),
	};

	if (sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)))
		return errno;
	*ret_value = attr.test.retval;
	return 0;
}

struct err *prog_test_run(int prog_fd, uint64_t key)
{
	uint32_t value;
	int sys = prog_ask(prog_fd, key, &value);

	return sys ? err_sys(sys, "cannot run the program of BEGIN, END or ERROR") : NULL;
}
