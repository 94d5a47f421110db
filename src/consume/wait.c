/* SPDX-License-Identifier: MIT */
/* Waiting until something is to be consumed. */
#include "consume/wait.h"

#include <errno.h>
#include <sys/epoll.h>

#include "probe/engine.h"

struct waiter {
	int epoll_fd;
};

/*
 * Edge-triggered: data without a wake-up must not end the wait, or we would read record by record;
 * and a target that has ended must not end it again and again while others run.
 */
enum wait_end { WAIT_ENDS, WAIT_INTERRUPTED };

static struct err *epoll_add(struct waiter *w, int fd, enum wait_end end)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.u32 = end};

	if (epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, fd, &ev) != 0)
		return err_sys(errno, "cannot wait for a buffer");
	return NULL;
}

struct err *waiter_watch(struct waiter *w, int fd)
{
	return epoll_add(w, fd, WAIT_ENDS);
}

struct err *waiter_listen(struct waiter *w, int fd)
{
	return epoll_add(w, fd, WAIT_INTERRUPTED);
}

bool waiter_wait(struct waiter *w, uint64_t timeout_ns)
{
	struct epoll_event ev[16];
	uint64_t ms = (timeout_ns + 999999) / 1000000;
	/* EINTR is one of the reasons to return; there is no other failure. */
	int n = epoll_wait(w->epoll_fd, ev, ARRAY_LEN(ev), (int)MIN(ms, (uint64_t)INT32_MAX));

	for (int i = 0; i < n; i++)
		if (ev[i].data.u32 == WAIT_ENDS)
			return true;
	return n <= 0;
}

static struct err *engine_add(struct waiter *w, const struct engine_run *run)
{
	struct err *e = NULL;

	for (uint32_t cpu = 0; cpu < run->ncpus && !e; cpu++)
		if (run->wake_fds[cpu] >= 0)
			e = epoll_add(w, run->wake_fds[cpu], WAIT_ENDS);
	if (!e && run->wake_fd >= 0)
		e = epoll_add(w, run->wake_fd, WAIT_ENDS);
	return e;
}

struct err *waiter_create(struct engine_run *const *runs, uint32_t n, int wake_fd,
			  struct waiter **ret)
{
	struct waiter *w = xcalloc(1, sizeof(*w));
	struct err *e;

	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (w->epoll_fd < 0)
		e = err_sys(errno, "cannot wait for buffers");
	else
		e = epoll_add(w, wake_fd, WAIT_ENDS);
	for (uint32_t i = 0; i < n && !e; i++)
		e = engine_add(w, runs[i]);
	if (e) {
		waiter_destroy(w);
		return e;
	}
	*ret = w;
	return NULL;
}

void waiter_destroy(struct waiter *w)
{
	if (!w)
		return;
	if (w->epoll_fd >= 0)
		(void)close(w->epoll_fd);
	free(w);
}
