/* SPDX-License-Identifier: MIT */
/* The tracer's side of the keeper (keeper.h): starts it, sends it requests, ends it. */
#include "keeper/keeper_impl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/apart.h"
#include "kernel/kernel.h"
#include "kernel/quota.h"
#include "base/realtime.h"
#include "keeper/fence.h"
#include "privilege/privilege.h"
#include "target/ident.h"

#define RESUME_MS 500
#define ENDING_MS 100 /* so long the keeper is waited for after a signal that ends the session */
/*
 * keeper_destroy() waits for at most so many links to be closed: each of them takes a grace period
 * of the kernel (providers.md 1.2), and each instruction takes 2 to 50 us.
 */
#define WAIT_MAX       8
#define WAIT_SITES_MAX 4096

struct keeper {
	pid_t pid;
	int pidfd;
	int sock;
	uint32_t nlinks;
	uint64_t nsites; /* instructions that they probe */
	uint32_t group;	 /* the group of the links that are made now */
	pid_t only_pid;	 /* keeper_set_process(); 0: none */
	uint64_t only_start;
	struct keeper_area *area;	     /* memory that is shared with the keeper */
	const atomic_int *is_interrupted;    /* may be NULL */
	const struct privileges *privileges; /* NULL: of root */
	struct fence *fence;		     /* NULL: no process has needed it */
	bool is_given_up;		     /* it serves a request whose answer nobody waits for */
};

/* ---- making ---------------------------------------------------------------------------------- */

static pid_t keeper_spawn(struct keeper_area *area, int sock, int parent_fd)
{
	pid_t pid, parent = getpid();
	char name[16] = "";

	/* by its name it is counted (kernel/quota.c), also if somebody stops it at once */
	(void)prctl(PR_GET_NAME, name, 0, 0, 0);
	(void)prctl(PR_SET_NAME, KEEPER_NAME, 0, 0, 0);
	pid = apart_clone();
	if (pid == 0)
		keeper_run(area, sock, parent_fd, parent);
	(void)prctl(PR_SET_NAME, name, 0, 0, 0);
	return pid;
}

static struct err *uprobe_pmu(uint32_t *ret_type)
{
	static const char path[] = "/sys/bus/event_source/devices/uprobe/type";
	CLEANUP(file) FILE *f = fopen(path, "re");

	if (!f || fscanf(f, "%u", ret_type) != 1)
		return err_hint(err_new("this kernel has no uprobes"),
				"it must be built with CONFIG_UPROBE_EVENTS");
	return NULL;
}

static struct err *start_failed_err(void)
{
	return err_sys(errno, "cannot start the helper process that holds the probes");
}

struct err *keeper_create(bool is_early, struct keeper **ret)
{
	struct keeper_area *area = sys_mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE,
					    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CLEANUP(fd) int ours = -1;
	CLEANUP(fd) int theirs = -1;
	CLEANUP(fd) int self = -1;
	int pair[2];
	pid_t pid = -1;

	if (area == MAP_FAILED)
		return start_failed_err();
	if (is_early)
		err_destroy(uprobe_pmu(&area->warm_type)); /* keeper_uprobe() tells */
	self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	if (self >= 0 && socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		ours = pair[0];
		theirs = pair[1];
		pid = keeper_spawn(area, theirs, self);
	}
	if (pid < 0) {
		struct err *e = start_failed_err();

		(void)munmap(area, sizeof(*area));
		return e;
	}
	*ret = xcalloc(1, sizeof(**ret));
	**ret = (struct keeper){
		.pid = pid,
		/* -1: if somebody stops the keeper, it is not resumed */
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.sock = fd_take(&ours),
		.area = area,
	};
	return NULL;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static const struct {
	const char *what;
	/*
	 * for failure injection (sys.h), which happens here: it does not count the keeper's calls
	 */
	const char *call;
	long number;
} steps[UPROBE_NSTEPS] = {
	[UPROBE_PASS] = {"too many files are open", NULL, 0},
	[UPROBE_MULTI] = {"the kernel refused the uprobes", "bpf", BPF_LINK_CREATE},
	[UPROBE_EVENT] = {"the kernel refused the uprobe", "perf_event_open", -1},
	[UPROBE_LINK] = {"cannot attach to the uprobe", "bpf", BPF_LINK_CREATE},
	[UPROBE_START] = {"cannot start the uprobe", "ioctl", 0},
	[UPROBE_STOPPED] = {"too many processes are to be stopped", NULL, 0},
	[UPROBE_PATCHED] = {"too many processes are to have windows", NULL, 0},
	[UPROBE_OWNED] = {"too many processes are to have owner threads", NULL, 0},
};

static struct err *step_refused_err(enum uprobe_step step, int sys)
{
	struct err *e = err_sys(sys, "%s", steps[step].what);

	return step == UPROBE_LINK ? feat_explain(FEAT_PERF_LINK, e) : e;
}

static struct err *fail_on_purpose(enum uprobe_step first, enum uprobe_step last)
{
	for (enum uprobe_step s = first; s <= last; s++)
		if (sys_fails(steps[s].call, steps[s].number))
			return step_refused_err(s, errno);
	return NULL;
}

static struct err *keeper_gone_err(const struct keeper *k)
{
	if (k->is_given_up)
		return err_sys(EINTR,
			       "helper process %d, which holds the probes, is not waited for",
			       (int)k->pid);
	return err_new("helper process %d, which holds the probes, was killed; tracing has ended",
		       (int)k->pid);
}

/* Announces the request and passes n descriptors, such as those of the program and of the file. */
static bool request_send(const struct keeper *k, const int *fds, uint32_t n)
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(KEEPER_FDS * sizeof(int))];
	} control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (n) {
		control.align = (struct cmsghdr){CMSG_LEN(n * sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(n * sizeof(int));
		memcpy(CMSG_DATA(&control.align), fds, n * sizeof(int));
	}
	return sendmsg(k->sock, &msg, MSG_NOSIGNAL) == 1;
}

/*
 * Waits until fd is readable. SIGSTOP is the one signal that the keeper cannot block. A tracer that
 * waits for a stopped keeper would hang, so SIGCONT is sent to the keeper during the wait. Returns
 * false if a signal has ended the wait.
 */
static bool wait_for(const struct keeper *k, int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	int ms = k->is_interrupted && *k->is_interrupted ? ENDING_MS : RESUME_MS;
	bool was_interrupted = ms == ENDING_MS;

	while (poll(&p, 1, ms) <= 0) {
		if (was_interrupted)
			return false;
		was_interrupted = k->is_interrupted && *k->is_interrupted;
		ms = was_interrupted ? ENDING_MS : RESUME_MS;
		if (k->pidfd >= 0)
			(void)syscall(SYS_pidfd_send_signal, k->pidfd, SIGCONT, NULL, 0);
	}
	return true;
}

/* Sends the request and waits for the answer; false: the keeper is gone. */
static bool request_do(struct keeper *k, const int *fds, uint32_t nfds)
{
	char byte;
	ssize_t n = -1;

	realtime_lend(k->pid);
	if (request_send(k, fds, nfds)) {
		do {
			k->is_given_up = !wait_for(k, k->sock);
			n = k->is_given_up ? -1 : recv(k->sock, &byte, 1, 0);
		} while (n < 0 && errno == EINTR && !k->is_given_up);
	}
	realtime_take_back(k->pid);
	return n == 1;
}

static struct err *request_make(struct keeper *k, enum keeper_op op, int prog_fd, int file_fd)
{
	if (k->is_given_up)
		return keeper_gone_err(k);
	k->area->op = op;
	if (!request_do(k, (int[]){prog_fd, file_fd}, 2))
		return keeper_gone_err(k);
	if (k->area->sys)
		return step_refused_err(k->area->step, k->area->sys);
	if (op == KEEPER_MULTI || op == KEEPER_SINGLE)
		k->nsites += k->area->n;
	k->nlinks += op == KEEPER_MULTI || op == KEEPER_SINGLE ? 1 : op == KEEPER_HOLD ? 2 : 0;
	return NULL;
}

/* ---- whose processes ------------------------------------------------------------------------- */

void keeper_confine(struct keeper *k, const struct privileges *p)
{
	k->privileges = p;
}

uint64_t keeper_fence_ended(const struct keeper *k)
{
	return k ? fence_ended(k->fence) : 0;
}

bool keeper_has_fenced(const struct keeper *k, pid_t pid)
{
	return fence_has_ended(k->fence, pid);
}

static struct err *fence_make(struct keeper *k)
{
	CLEANUP(fd) int link = -1;
	struct fence *f;
	struct err *e = fence_create(k->privileges, &f, &link);

	if (!e)
		e = request_make(k, KEEPER_FENCE, link, link);
	if (e)
		return e;
	k->fence = f;
	return NULL;
}

/* Before uprobes come into the process; *ret_start: which one that is, 0: it does not matter. */
static struct err *process_admit(struct keeper *k, pid_t pid, uint64_t *ret_start)
{
	struct err *e = NULL;

	*ret_start = 0;
	if (!privileges_lack(k->privileges, LEVEL_PROC_OWNER))
		return NULL;
	if (!pid)
		return err_hint(err_new("this kernel places breakpoints in the processes of all "
					"users only: that needs proc_owner"),
				"it lacks %s", feat_what(FEAT_UPROBE_TGID));
	if (!k->fence)
		e = fence_make(k);
	return e ? e
		 : fence_add(k->fence, k->privileges, pid, pid == k->only_pid ? k->only_start : 0,
			     ret_start);
}

/* Afterwards: another process may have got the id meanwhile. */
static struct err *process_confirm(struct keeper *k, pid_t pid, uint64_t start, struct err *e)
{
	uint64_t now;

	if (e || !start || (proc_started(pid, &now) && now == start))
		return e;
	e = keeper_drop(k, pid, true);
	return e ? e : err_sys(ESRCH, "process %d has ended", (int)pid);
}

/* ---- requests -------------------------------------------------------------------------------- */

struct err *keeper_uprobe_multi(struct keeper *k, int prog_fd, int file_fd, pid_t pid,
				const struct uprobe_sites *sites)
{
	uint64_t start;
	struct err *e = fail_on_purpose(UPROBE_MULTI, UPROBE_MULTI);

	assert(sites->n <= KEEPER_SITES_MAX);
	if (!e)
		e = process_admit(k, pid, &start);
	if (e)
		return e;
	k->area->pid = pid;
	k->area->group = k->group;
	k->area->n = sites->n;
	k->area->is_returned = sites->is_returned;
	memcpy(k->area->offsets, sites->offsets, sites->n * sizeof(*sites->offsets));
	memcpy(k->area->cookies, sites->cookies, sites->n * sizeof(*sites->cookies));
	k->area->has_counters = sites->counters;
	if (sites->counters)
		memcpy(k->area->counters, sites->counters, sites->n * sizeof(*sites->counters));
	return process_confirm(k, pid, start, request_make(k, KEEPER_MULTI, prog_fd, file_fd));
}

uint64_t keeper_placed_at(const struct keeper *k)
{
	return k->area->placed_at;
}

struct err *keeper_sweep(struct keeper *k, int prog_fd, int file_fd, const uint64_t *offsets,
			 uint32_t n)
{
	assert(n <= KEEPER_SITES_MAX);
	k->area->n = n;
	memcpy(k->area->offsets, offsets, n * sizeof(*offsets));
	return request_make(k, KEEPER_SWEEP, prog_fd, file_fd);
}

struct err *keeper_stopped(struct keeper *k, int pidfd)
{
	return request_make(k, KEEPER_STOPPED, pidfd, pidfd);
}

struct err *keeper_events(struct keeper *k, int events_fd)
{
	k->area->thread = gettid();
	return request_make(k, KEEPER_EVENTS, events_fd, events_fd);
}

void keeper_events_seen(struct keeper *k, uint64_t pos)
{
	__atomic_store_n(&k->area->events_seen, pos, __ATOMIC_RELEASE);
}

uint64_t keeper_events_resumed(const struct keeper *k)
{
	return __atomic_load_n(&k->area->events_resumed, __ATOMIC_ACQUIRE);
}

uint64_t keeper_nresumed(const struct keeper *k)
{
	return __atomic_load_n(&k->area->nresumed, __ATOMIC_RELAXED);
}

struct err *keeper_spare(struct keeper *k, const struct proc_id *id)
{
	k->area->pid = id->pid;
	return request_make(k, KEEPER_SPARED, id->pidfd, id->pidfd);
}

struct err *keeper_hold(struct keeper *k, int link_fd, int event_fd)
{
	return request_make(k, KEEPER_HOLD, link_fd, event_fd);
}

struct err *keeper_stopped_map(struct keeper *k, int procs_fd)
{
	return request_make(k, KEEPER_STOPPED_MAP, procs_fd, procs_fd);
}

/* Passes an id, and three descriptors. */
static struct err *process_send(struct keeper *k, enum keeper_op op, uint64_t id, const int fds[3])
{
	if (k->is_given_up)
		return keeper_gone_err(k);
	k->area->op = op;
	k->area->offsets[0] = id;
	if (!request_do(k, fds, 3))
		return keeper_gone_err(k);
	return k->area->sys ? step_refused_err(k->area->step, k->area->sys) : NULL;
}

struct err *keeper_patched(struct keeper *k, uint64_t id, int mem_fd, int journal_fd, int region_fd)
{
	return process_send(k, KEEPER_PATCHED, id, (int[]){mem_fd, journal_fd, region_fd});
}

struct err *keeper_owned(struct keeper *k, uint64_t id, int pidfd, int events_fd, int procs_fd)
{
	return process_send(k, KEEPER_OWNED, id, (int[]){pidfd, events_fd, procs_fd});
}

/* Passes an id, and no descriptor; nothing can be wrong with that. */
static struct err *id_send(struct keeper *k, enum keeper_op op, uint64_t id)
{
	if (k->is_given_up)
		return keeper_gone_err(k);
	k->area->op = op;
	k->area->offsets[0] = id;
	return request_do(k, NULL, 0) ? NULL : keeper_gone_err(k);
}

struct err *keeper_unpatched(struct keeper *k, uint64_t id)
{
	return id_send(k, KEEPER_UNPATCHED, id);
}

struct err *keeper_owner_words(struct keeper *k, uint64_t id)
{
	return id_send(k, KEEPER_OWNER_WORDS, id);
}

struct err *keeper_disowned(struct keeper *k, uint64_t id)
{
	return id_send(k, KEEPER_DISOWNED, id);
}

/* The processes are in the area, unless it is about a group. */
static struct err *links_drop(struct keeper *k, uint32_t npids, uint32_t group, bool waits)
{
	if (k->is_given_up)
		return keeper_gone_err(k);
	k->area->op = KEEPER_DROP;
	k->area->n = npids;
	k->area->group = group;
	k->area->waits = waits;
	return request_do(k, NULL, 0) ? NULL : keeper_gone_err(k);
}

struct err *keeper_drop(struct keeper *k, pid_t pid, bool waits)
{
	k->area->offsets[0] = (uint64_t)pid;
	return links_drop(k, 1, 0, waits);
}

static int by_pid(const void *pa, const void *pb)
{
	const uint64_t *a = pa, *b = pb;

	return (*a > *b) - (*a < *b);
}

struct err *keeper_drop_all(struct keeper *k, const pid_t *pids, uint32_t n)
{
	struct err *e = NULL;

	for (uint32_t from = 0, some; from < n && !e; from += some) {
		some = MIN(n - from, (uint32_t)KEEPER_SITES_MAX);
		for (uint32_t i = 0; i < some; i++)
			k->area->offsets[i] = (uint64_t)pids[from + i];
		qsort(k->area->offsets, some, sizeof(*k->area->offsets), by_pid);
		e = links_drop(k, some, 0, false);
	}
	return e;
}

void keeper_set_interrupted(struct keeper *k, const atomic_int *is_interrupted)
{
	k->is_interrupted = is_interrupted;
}

void keeper_set_process(struct keeper *k, pid_t pid, uint64_t start)
{
	k->only_pid = pid;
	k->only_start = start;
}

void keeper_set_group(struct keeper *k, uint32_t group)
{
	k->group = group;
}

struct err *keeper_drop_group(struct keeper *k, uint32_t group, bool waits)
{
	return links_drop(k, 0, group, waits);
}

struct err *keeper_uprobe(struct keeper *k, int prog_fd, int file_fd, pid_t pid, uint64_t offset,
			  uint64_t cookie, uint64_t counter, bool is_returned)
{
	uint64_t start;
	struct err *e = uprobe_pmu(&k->area->pmu_type);

	if (!e)
		e = fail_on_purpose(UPROBE_EVENT, UPROBE_START);
	if (!e)
		e = process_admit(k, pid, &start);
	if (e)
		return e;
	k->area->pid = pid;
	k->area->group = k->group;
	k->area->n = 1;
	k->area->is_returned = is_returned;
	k->area->offsets[0] = offset;
	k->area->cookies[0] = cookie;
	k->area->counters[0] = counter;
	return process_confirm(k, pid, start, request_make(k, KEEPER_SINGLE, prog_fd, file_fd));
}

/* ---- ending ---------------------------------------------------------------------------------- */

struct err *keeper_check(const struct keeper *k)
{
	struct pollfd fd = {.fd = k ? k->sock : -1};

	return poll(&fd, 1, 0) == 1 && (fd.revents & POLLHUP) ? keeper_gone_err(k) : NULL;
}

/*
 * Waits for the end of the keeper, but not for long: on a busy machine, the kernel's own threads
 * wait for a CPU before they let it detach anything. Then init reaps the keeper.
 */
static void end_wait(const struct keeper *k)
{
	struct pollfd p = {.fd = k->pidfd, .events = POLLIN};
	uint64_t until = now_ns() + RESUME_MS * 1000000ull;

	/* SIGCONT: as in wait_for() */
	while (k->pidfd >= 0 && poll(&p, 1, ENDING_MS) <= 0 && now_ns() < until)
		(void)syscall(SYS_pidfd_send_signal, k->pidfd, SIGCONT, NULL, 0);
	while (waitpid(k->pid, NULL, __WCLONE | (k->pidfd >= 0 ? WNOHANG : 0)) < 0 &&
	       errno == EINTR)
		;
}

void keeper_destroy(struct keeper *k)
{
	if (!k)
		return;
	k->area->is_done = true;
	if (!k->is_given_up && (k->nlinks > WAIT_MAX || k->nsites > WAIT_SITES_MAX)) {
		k->area->op = KEEPER_DETACH_ELSEWHERE;
		(void)request_send(k, NULL, 0); /* fails if the keeper was killed */
	}
	realtime_lend(k->pid);
	(void)shutdown(k->sock, SHUT_RDWR); /* a forked process may hold the socket, too */
	(void)close(k->sock);
	if (!k->is_given_up)
		end_wait(k);
	realtime_take_back(k->pid);
	if (k->pidfd >= 0)
		(void)close(k->pidfd);
	(void)munmap(k->area, sizeof(*k->area));
	fence_destroy(k->fence);
	free(k);
}
