/* SPDX-License-Identifier: MIT */
/*
 * The keeper's own process (keeper.h).
 *
 * One thread of the tracer may have cloned this process while other threads held locks of the C
 * library: the code here uses neither malloc() nor stdio streams.
 */
#include "keeper/keeper_impl.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/apart.h"
#include "keeper/owned.h"
#include "keeper/patched.h"
#include "keeper/spared.h"
#include "keeper/stopped.h"
#include "keeper/warm.h"
#include "kernel/capabilities.h"
#include "kernel/kernel.h"
#include "kernel/quota.h"
#include "target/ident.h"

/* Linux kernel/trace/trace_event_perf.c: format of the PMU "uprobe", ref_ctr_offset */
#define REF_CTR_SHIFT	    32
#define RETPROBE	    1 /* retprobe */
#define UPROBE_MULTI_RETURN 1 /* Linux include/uapi/linux/bpf.h: BPF_F_UPROBE_MULTI_RETURN */

#define FENCE_FD_MAX (1 << 20) /* descriptors above this number take too much of a table */

/* ---- doing ----------------------------------------------------------------------------------- */

static int link_create(void *attr, unsigned int size)
{
	int link;

	capabilities_raise();
	link = (int)syscall(SYS_bpf, BPF_LINK_CREATE, attr, size);
	capabilities_lower();
	return link;
}

static int multi_create(int prog_fd, const char *path, pid_t pid, const uint64_t *offsets,
			const uint64_t *cookies, const uint64_t *counters, uint32_t n,
			bool is_returned)
{
	struct uprobe_multi_attr attr = {
		.prog_fd = (uint32_t)prog_fd,
		.attach_type = ATTACH_UPROBE_MULTI,
		.path = (uint64_t)(uintptr_t)path,
		.offsets = (uint64_t)(uintptr_t)offsets,
		.cookies = (uint64_t)(uintptr_t)cookies,
		.ref_ctr_offsets = (uint64_t)(uintptr_t)counters,
		.cnt = n,
		.multi_flags = is_returned ? UPROBE_MULTI_RETURN : 0,
		.pid = (uint32_t)pid,
	};

	return link_create(&attr, sizeof(attr));
}

/*
 * The process and group of each link, by the link's descriptor. Links with a higher descriptor stay
 * open until the keeper ends.
 */
static struct {
	pid_t pid;
	uint32_t group;
} links[65536];
static int nlinks; /* descriptors of links are below this number */

static void link_note(int fd, const struct keeper_area *a, pid_t pid)
{
	if (fd < 0 || (size_t)fd >= ARRAY_LEN(links))
		return;
	links[fd].pid = pid;
	links[fd].group = a->group;
	nlinks = MAX(nlinks, fd + 1);
}

/* Returns true if the request is about the link: a group, or processes in ascending order. */
static bool link_is_meant(const struct keeper_area *a, int fd)
{
	uint32_t low = 0, high = a->n, mid;

	if (a->group)
		return links[fd].group == a->group;
	if (!links[fd].pid)
		return false;
	while (low < high) {
		mid = low + (high - low) / 2;
		if (a->offsets[mid] < (uint64_t)links[fd].pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < a->n && a->offsets[low] == (uint64_t)links[fd].pid;
}

static int do_multi(const struct keeper_area *a, int prog_fd, const char *path)
{
	int link = multi_create(prog_fd, path, a->pid, a->offsets, a->cookies,
				a->has_counters ? a->counters : NULL, a->n, a->is_returned);

	link_note(link, a, a->pid);
	return link;
}

/* On success, the event and its link stay open. */
static enum uprobe_step do_single(const struct keeper_area *a, int prog_fd, const char *path)
{
	struct perf_event_attr ev = {
		.type = a->pmu_type,
		.size = sizeof(ev),
		.disabled = 1,
		.config1 = (uint64_t)(uintptr_t)path,
		.config2 = a->offsets[0],
		.config = a->counters[0] << REF_CTR_SHIFT | (a->is_returned ? RETPROBE : 0),
	};
	union bpf_attr attr = {0};
	/* An event for all processes is opened on CPU 0; its program runs on every CPU. */
	pid_t pid = a->pid ? a->pid : -1;
	CLEANUP(fd)
	int event = uprobe_event_open(&ev, pid, a->pid ? -1 : 0);
	CLEANUP(fd) int link = -1;

	if (event < 0)
		return UPROBE_EVENT;
	attr.link_create.prog_fd = (uint32_t)prog_fd;
	attr.link_create.target_fd = (uint32_t)event;
	attr.link_create.attach_type = BPF_PERF_EVENT;
	attr.link_create.perf_event.bpf_cookie = a->cookies[0];
	link = link_create(&attr, sizeof(attr));
	if (link < 0)
		return UPROBE_LINK;
	if (syscall(SYS_ioctl, event, PERF_EVENT_IOC_ENABLE, 0))
		return UPROBE_START;
	link_note(fd_take(&event), a, 0);
	link_note(fd_take(&link), a, 0);
	return UPROBE_PASS;
}

static void do_sweep(const struct keeper_area *a, uint32_t n, int prog_fd, int file_fd)
{
	char path[64];
	int link;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	link = multi_create(prog_fd, path, (pid_t)syscall(SYS_getpid), a->swept, NULL, NULL, n,
			    false);
	if (link >= 0)
		(void)close(link);
}

static void do_request(struct keeper_area *a, int prog_fd, int file_fd)
{
	enum uprobe_step failed;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", file_fd);
	errno = 0;
	if (a->op == KEEPER_SINGLE)
		failed = do_single(a, prog_fd, path);
	else
		failed = do_multi(a, prog_fd, path) < 0 ? UPROBE_MULTI : UPROBE_PASS;
	a->sys = failed == UPROBE_PASS ? 0 : errno;
	a->step = failed;
	a->placed_at = now_ns();
}

/* The kernel takes several milliseconds to close a link: a clone waits for that, if nobody does. */
static void do_drop(const struct keeper_area *a)
{
	struct apart_closing closing = {{-1, -1}};
	bool is_apart = !a->waits && apart_closing_begin(&closing);

	for (int fd = 0; fd < nlinks; fd++)
		if (link_is_meant(a, fd)) {
			(void)close(fd);
			links[fd].pid = 0;
			links[fd].group = 0;
		}
	if (!is_apart) { /* clones that close other links still have copies of these links */
		while (syscall(SYS_wait4, -1, NULL, __WCLONE, NULL) > 0)
			;
		return;
	}
	apart_closing_end(&closing);
	while (syscall(SYS_wait4, -1, NULL, __WCLONE | WNOHANG, NULL) > 0)
		; /* reaps the clones that have ended */
}

/* ---- the fence ----------------------------------------------------------------------------- */

/*
 * The link of the fence (fence.h) must go after those of the uprobes. A process that ends closes
 * its descriptors in ascending order, and the kernel may do the work in any: so one copy of the
 * link is below all others, and one above. The hard limit stays at that: the user may have lowered
 * the soft one, to raise it again when the copy is made.
 */
static void fence_hold(struct keeper_area *a, int *fd)
{
	struct rlimit rl = {0};

	(void)getrlimit(RLIMIT_NOFILE, &rl);
	rl.rlim_cur = rl.rlim_max = MIN(rl.rlim_cur, (rlim_t)FENCE_FD_MAX);
	a->step = UPROBE_PASS;
	a->sys = 0;
	if (setrlimit(RLIMIT_NOFILE, &rl) != 0 ||
	    fcntl(*fd, F_DUPFD_CLOEXEC, (int)rl.rlim_cur - 1) < 0)
		a->sys = errno;
	else
		(void)fd_take(fd);
}

/* ---- stopped processes --------------------------------------------------------------------- */

struct stopped {
	int fds[KEEPER_STOPPED_MAX]; /* pidfds */
	uint32_t n;
	int map; /* MAP_WATCHED (stopped.h); -1: there is none */
};

/* Takes over the pidfd of a stopped process; the answer is EUSERS if there are too many. */
static void stopped_take(struct stopped *s, struct keeper_area *a, int *fd)
{
	a->sys = s->n < KEEPER_STOPPED_MAX ? 0 : EUSERS;
	a->step = UPROBE_STOPPED;
	if (!a->sys)
		s->fds[s->n++] = fd_take(fd);
}

static void close_links(const struct stopped *s, int self)
{
	descriptors_close(s->fds, s->n, (int[]){self, s->map}, 2);
}

static void stopped_resume(const struct stopped *s)
{
	if (s->map >= 0)
		stopped_map_release(s->map);
	for (uint32_t i = 0; i < s->n; i++)
		/* fails if the process has ended */
		(void)syscall(SYS_pidfd_send_signal, s->fds[i], SIGCONT, NULL, 0);
}

/*
 * Resumes the processes that the programs of a dead tracer have stopped. The programs must be
 * detached before, or they would stop the processes again. So a clone that has no links waits until
 * the keeper has ended, which closes the links, and then resumes the processes.
 *
 * Where no clone can be made, the keeper itself closes the links first. This is worse only if
 * somebody kills the keeper meanwhile (keeper.h).
 */
static void stopped_release(const struct stopped *s)
{
	struct pollfd end = {.fd = -1, .events = POLLIN};
	pid_t clone = -1;

	if (!s->n && s->map < 0)
		return;
	end.fd = (int)syscall(SYS_pidfd_open, syscall(SYS_getpid), 0);
	if (end.fd >= 0)
		clone = apart_clone();
	if (clone > 0)
		return;
	close_links(s, end.fd);
	if (clone == 0)
		while (poll(&end, 1, -1) < 0 && errno == EINTR)
			;
	else /* clones that close links still have copies of all (do_drop()) */
		while (syscall(SYS_wait4, -1, NULL, __WCLONE, NULL) > 0)
			;
	stopped_resume(s);
	_exit(0);
}

/* ---- windows ------------------------------------------------------------------------------- */

static bool fds_have(const int *fds, uint32_t n, int fd)
{
	for (uint32_t i = 0; i < n; i++)
		if (fds[i] == fd)
			return true;
	return false;
}

/*
 * Takes back what the tracer has left. Links come first: a process that a debugger holds is tried
 * for seconds, and nothing is to be traced meanwhile. They are closed one by one, so that the
 * kernel has finished with each before the next one, and the fence, which is above, goes last.
 */
static void windows_release(struct patched *p, const struct stopped *s)
{
	if (!p->n)
		return;
	for (int fd = 0; fd < nlinks; fd++)
		if (fd != s->map && !patched_has_fd(p, fd) && !fds_have(s->fds, s->n, fd))
			(void)close(fd);
	patched_undo(p);
}

/* ---- receiving requests ---------------------------------------------------------------------- */

/*
 * Receives the byte of a request and its descriptors, which are -1 if none were passed. Returns
 * false if the tracer has closed the socket.
 */
static bool request_receive(int sock, int ret_fds[KEEPER_FDS])
{
	union {
		struct cmsghdr align;
		char space[CMSG_SPACE(KEEPER_FDS * sizeof(int))];
	} control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;

	for (int i = 0; i < KEEPER_FDS; i++)
		ret_fds[i] = -1;
	if (recvmsg(sock, &msg, MSG_CMSG_CLOEXEC) != 1)
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(c),
		       MIN(c->cmsg_len - CMSG_LEN(0), KEEPER_FDS * sizeof(int)));
	return true;
}

/*
 * Ends the keeper before its links are closed: a clone gets copies of all links and closes them, so
 * the tracer, which waits for the keeper's end, does not wait for the kernel. The clone waits until
 * the keeper has ended: the kernel detaches with the last copy, which must not be the keeper's.
 */
static NORETURN void end_late(struct owned *o, struct patched *p, const struct stopped *s)
{
	int self = (int)syscall(SYS_pidfd_open, syscall(SYS_getpid), 0);
	struct pollfd end = {.fd = self, .events = POLLIN};
	pid_t clone = apart_clone(); /* without a clone, the end takes longer */

	if (clone > 0)
		_exit(0);
	if (clone == 0 && self >= 0)
		while (poll(&end, 1, -1) < 0 && errno == EINTR)
			;
	owned_release(o, p);
	windows_release(p, s);
	_exit(0);
}

/* Takes over the descriptors of a process with windows. */
static void patched_take(struct patched *p, struct keeper_area *a, int fds[KEEPER_FDS])
{
	a->step = UPROBE_PATCHED;
	a->sys = fds[2] < 0 ? EMFILE : 0;
	if (!a->sys && !patched_add(p, a->offsets[0], fds[0], fds[1], fds[2]))
		a->sys = EUSERS;
	for (int i = 0; i < KEEPER_FDS && !a->sys; i++)
		(void)fd_take(&fds[i]);
}

/* Takes over the descriptors of a process with an owner thread. */
static void owned_take(struct owned *o, struct keeper_area *a, int fds[KEEPER_FDS])
{
	a->step = UPROBE_OWNED;
	a->sys = fds[2] < 0 ? EMFILE : owned_add(o, a->offsets[0], fds);
	for (int i = 0; i < KEEPER_FDS && !a->sys; i++)
		(void)fd_take(&fds[i]);
}

static bool request_serve(struct keeper_area *area, int sock, struct stopped *s, struct held *held,
			  struct spared *spared, struct owned *owned, struct patched *p)
{
	uint32_t n = 0; /* offsets to be swept after the answer */
	bool is_there;
	int fds[KEEPER_FDS];

	if (!request_receive(sock, fds))
		return false;
	if (area->op == KEEPER_DETACH_ELSEWHERE)
		end_late(owned, p, s);
	if (area->op == KEEPER_DROP) {
		do_drop(area);
	} else if (area->op == KEEPER_UNPATCHED) {
		patched_drop(p, area->offsets[0]);
	} else if (area->op == KEEPER_DISOWNED) {
		owned_drop(owned, p, area->offsets[0]);
	} else if (area->op == KEEPER_OWNER_WORDS) {
		owned_write(owned, p, area->offsets[0]);
	} else if (area->op == KEEPER_PATCHED) {
		patched_take(p, area, fds);
	} else if (fds[1] < 0) { /* the keeper has no room for the descriptors */
		area->sys = EMFILE;
		area->step = UPROBE_PASS;
	} else if (area->op == KEEPER_STOPPED) {
		stopped_take(s, area, &fds[0]);
	} else if (area->op == KEEPER_OWNED) {
		owned_take(owned, area, fds);
	} else if (area->op == KEEPER_SPARED) {
		spared_take(spared, held, area, &fds[0]);
	} else if (area->op == KEEPER_EVENTS) {
		held_take(held, area, &fds[0]);
		spared_renew(spared, held);
	} else if (area->op == KEEPER_STOPPED_MAP) {
		s->map = fd_take(&fds[0]);
		area->sys = 0;
	} else if (area->op == KEEPER_HOLD) {
		(void)fd_take(&fds[0]);
		(void)fd_take(&fds[1]);
		area->sys = 0;
	} else if (area->op == KEEPER_FENCE) {
		fence_hold(area, &fds[0]);
	} else if (area->op == KEEPER_SWEEP) {
		n = area->n;
		memcpy(area->swept, area->offsets, n * sizeof(*area->swept));
		area->sys = 0;
	} else {
		do_request(area, fds[0], fds[1]);
	}
	is_there = send(sock, "", 1, MSG_NOSIGNAL) == 1;
	if (n)
		do_sweep(area, n, fds[0], fds[1]);
	for (int i = 0; i < KEEPER_FDS; i++)
		if (fds[i] >= 0)
			(void)close(fds[i]); /* the link holds the program and the file itself */
	return is_there;
}

/* ---- the life of the keeper ----------------------------------------------------------------- */

static void raise_limit(void)
{
	struct rlimit rl;

	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = rl.rlim_max;
		(void)setrlimit(RLIMIT_NOFILE, &rl); /* without it, few links may still fit */
	}
}

void keeper_run(struct keeper_area *area, int sock, int parent_fd, pid_t parent)
{
	struct pollfd fds[] = {{.fd = sock, .events = POLLIN},
			       {.fd = parent_fd, .events = POLLIN},
			       {.fd = -1, .events = POLLIN},
			       {.fd = -1, .events = POLLIN}};
	static struct owned owned = {.poll_fd = -1};
	static struct stopped stopped = {.map = -1};
	static struct held held = {.events_fd = -1};
	struct spared spared = {.events = -1};
	static struct patched patched;
	struct warm warm;

	apart_begin(KEEPER_NAME, parent, (int[]){sock, parent_fd}, 2);
	raise_limit();
	warm_begin(&warm, area->warm_type);
	for (;;) {
		int n;

		fds[2].fd = held.due && (spared.due || !spared.n) ? -1 : held.events_fd;
		fds[3].fd = owned.poll_fd;
		n = poll(fds, ARRAY_LEN(fds),
			 due_timeout(held.due, due_timeout(spared.due, warm.is_on ? WARM_MS : -1)));
		if (n < 0 && errno != EINTR)
			break;
		if (n > 0 && fds[3].revents)
			owned_look(&owned, &patched);
		spared_look(&spared, n > 0 && fds[2].revents);
		held_look(&held, &spared, area, n > 0 && fds[2].revents);
		if (n <= 0 && !warm.is_on)
			continue;
		if (n <= 0) {
			warm_renew(&warm);
			continue;
		}
		if (warm.file >= 0)
			warm_end(&warm);
		/* the tracer has ended; a process it forked may hold the socket */
		if (fds[1].revents)
			break;
		if (fds[0].revents &&
		    !request_serve(area, sock, &stopped, &held, &spared, &owned, &patched))
			break;
	}
	owned_release(&owned, &patched);
	windows_release(&patched, &stopped); /* none, if the tracer has ended in order */
	if (!area->is_done)
		stopped_release(&stopped);
	_exit(0); /* closes all links (keeper.h) */
}
