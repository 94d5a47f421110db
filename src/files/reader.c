/* SPDX-License-Identifier: MIT */
/* The tracer's side of the reader (reader.h): starts it, sends requests, and gives it up. */
#include "files/reader_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/apart.h"
#include "base/realtime.h"

/* time beyond the deadline for a reader that waits for a CPU */
#define MORE_NS	 20000000
#define MORE_MAX 100
#define END_MS	 100 /* wait for the end of a reader; it ends at once if no file system holds it */

struct reader {
	pid_t pid;
	int pidfd;
	int sock;
	bool is_late;	   /* an answer has not come yet: no request can be sent */
	uint64_t runnable; /* reader_runnable_ns(): as of the last call */
	struct reader_area *area;
};

/* ---- making and ending ----------------------------------------------------------------------- */

struct reader *reader_create(void)
{
	struct reader_area *area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE,
					MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t pid = -1, parent = getpid();
	int pair[2] = {-1, -1};
	struct reader *r;

	if (area == MAP_FAILED)
		return NULL;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0) {
		pid = apart_clone();
		if (pid == 0)
			reader_run(area, pair[1], parent);
		(void)close(pair[1]);
	}
	if (pid < 0) {
		if (pair[0] >= 0)
			(void)close(pair[0]);
		(void)munmap(area, sizeof(*area));
		return NULL;
	}
	r = xcalloc(1, sizeof(*r));
	*r = (struct reader){
		.pid = pid,
		.pidfd = (int)syscall(SYS_pidfd_open, pid, 0),
		.sock = pair[0],
		.area = area,
	};
	return r;
}

bool reader_reap(pid_t pid)
{
	return waitpid(pid, NULL, __WCLONE | WNOHANG) != 0;
}

pid_t reader_destroy(struct reader *r)
{
	pid_t pid;

	if (!r)
		return 0;
	pid = r->pid;
	(void)close(r->sock);
	if (r->pidfd >= 0) {
		struct pollfd end = {.fd = r->pidfd, .events = POLLIN};

		(void)syscall(SYS_pidfd_send_signal, r->pidfd, SIGKILL, NULL, 0);
		(void)poll(&end, 1, r->is_late ? 0 : END_MS);
		(void)close(r->pidfd);
	} else {
		(void)kill(pid, SIGKILL);
	}
	(void)munmap(r->area, sizeof(*r->area));
	free(r);
	return reader_reap(pid) ? 0 : pid;
}

/* ---- both sides ------------------------------------------------------------------------------ */

union control {
	struct cmsghdr align;
	char space[CMSG_SPACE(sizeof(int))];
};

bool reader_send(int sock, int fd)
{
	union control control = {0};
	char byte = 0;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (fd >= 0) {
		control.align = (struct cmsghdr){CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS};
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		memcpy(CMSG_DATA(&control.align), &fd, sizeof(fd));
	}
	return sendmsg(sock, &msg, MSG_NOSIGNAL) == 1;
}

bool reader_receive(int sock, int *ret_fd)
{
	union control control;
	char byte;
	struct iovec iov = {&byte, 1};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	const struct cmsghdr *c;
	ssize_t n;

	*ret_fd = -1;
	do
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	while (n < 0 && errno == EINTR);
	if (n != 1)
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(int)))
		memcpy(ret_fd, CMSG_DATA(c), sizeof(*ret_fd));
	return true;
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Reads the beginning of a file in /proc; false: there is none. */
static bool proc_read(const char *path, char *text, size_t size)
{
	CLEANUP(fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, size - 1);

	text[MAX(n, 0)] = '\0';
	return n > 0;
}

/*
 * How long a thread has had a CPU in its life, or has waited for one: the first two numbers of its
 * schedstat.
 */
static uint64_t runnable_ns(const char *path)
{
	char text[128], *end;
	uint64_t ran;

	if (!proc_read(path, text, sizeof(text)))
		return 0;
	ran = strtoull(text, &end, 10);
	return ran + strtoull(end, NULL, 10);
}

uint64_t reader_runnable_ns(struct reader *r)
{
	uint64_t before = r->runnable;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)r->pid);
	r->runnable = runnable_ns(path) + runnable_ns("/proc/thread-self/schedstat");
	return r->runnable - MIN(before, r->runnable);
}

/* Does the reader wait for a CPU, and for nothing else? The state in /proc/PID/stat says so. */
static bool reader_is_runnable(const struct reader *r)
{
	char path[64], text[256];
	const char *state = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)r->pid);
	if (proc_read(path, text, sizeof(text)))
		state = strrchr(text, ')'); /* behind the name, which may contain anything */
	return state && strncmp(state, ") R", 3) == 0;
}

/*
 * Waits for the answer until the deadline. On a busy machine the reader may not have had a CPU by
 * then: that is no file system that does not answer, so it gets more time.
 */
static bool answer_wait(const struct reader *r, uint64_t deadline)
{
	struct pollfd p = {.fd = r->sock, .events = POLLIN};
	uint32_t nmore = 0;

	for (;;) {
		uint64_t now = now_ns(), left = deadline > now ? deadline - now : 0;
		struct timespec ts = {(time_t)(left / 1000000000), (long)(left % 1000000000)};
		int n = ppoll(&p, 1, &ts, NULL);

		if (n > 0 || (n < 0 && errno != EINTR))
			return true;
		if (left)
			continue;
		if (nmore == MORE_MAX || !reader_is_runnable(r))
			return poll(&p, 1, 0) != 0; /* it may have answered a moment ago */
		nmore++;
		deadline = now_ns() + MORE_NS;
	}
}

static int request_send(struct reader *r, enum reader_op op, int fd, uint64_t deadline, int *ret_fd)
{
	bool is_answered;
	int got = -1;

	if (r->is_late)
		return ETIMEDOUT;
	r->area->op = op;
	r->is_late = true;
	if (!reader_send(r->sock, fd))
		return EPIPE;
	realtime_lend(r->pid);
	is_answered = answer_wait(r, deadline);
	realtime_take_back(r->pid);
	if (!is_answered)
		return ETIMEDOUT;
	if (!reader_receive(r->sock, &got))
		return EPIPE;
	r->is_late = false;
	if (ret_fd && got >= 0)
		*ret_fd = got;
	else if (got >= 0)
		(void)close(got);
	else if (ret_fd && !r->area->sys)
		return EMFILE; /* our table of descriptors is full */
	return r->area->sys;
}

int reader_open_path(struct reader *r, int root, const char *path, uint64_t deadline, int *ret_fd,
		     struct stat *ret)
{
	size_t len = strlen(path);
	int sys;

	if (len >= sizeof(r->area->path))
		return ENAMETOOLONG;
	memcpy(r->area->path, path, len + 1);
	sys = request_send(r, READER_OPEN_PATH, root, deadline, ret_fd);
	if (!sys)
		*ret = r->area->st;
	return sys;
}

int reader_open_mapping(struct reader *r, uint64_t pid, taddr start, taddr end, uint64_t deadline,
			int *ret_fd, struct stat *ret)
{
	int sys;

	r->area->pid = pid;
	r->area->start = start;
	r->area->end = end;
	sys = request_send(r, READER_OPEN_MAPPING, -1, deadline, ret_fd);
	if (!sys)
		*ret = r->area->st;
	return sys;
}

int reader_reopen(struct reader *r, int fd, uint64_t deadline)
{
	return request_send(r, READER_REOPEN, fd, deadline, NULL);
}

int reader_stat(struct reader *r, uint64_t deadline, struct stat *ret)
{
	int sys = request_send(r, READER_STAT, -1, deadline, NULL);

	if (!sys)
		*ret = r->area->st;
	return sys;
}

int reader_read(struct reader *r, uint64_t off, void *to, size_t size, uint64_t deadline,
		size_t *ret_n)
{
	int sys;

	assert(size <= READER_CHUNK);
	r->area->off = off;
	r->area->size = size;
	sys = request_send(r, READER_READ, -1, deadline, NULL);
	if (sys)
		return sys;
	*ret_n = MIN(r->area->n, size);
	memcpy(to, r->area->data, *ret_n);
	return 0;
}

int reader_memory(struct reader *r, uint64_t pid, taddr addr, void *to, size_t size,
		  uint64_t deadline, size_t *ret_n)
{
	int sys;

	assert(size <= READER_CHUNK);
	r->area->pid = pid;
	r->area->start = addr;
	r->area->size = size;
	sys = request_send(r, READER_MEMORY, -1, deadline, NULL);
	if (sys)
		return sys;
	*ret_n = MIN(r->area->n, size);
	memcpy(to, r->area->data, *ret_n);
	return 0;
}

bool reader_is_closing(const struct reader *r)
{
	return __atomic_load_n(&r->area->is_closing, __ATOMIC_ACQUIRE);
}
