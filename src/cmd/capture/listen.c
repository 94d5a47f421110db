/* SPDX-License-Identifier: MIT */
/*
 * The socket that the kernel connects to for each crash, if core_pattern is "@@/path": Linux 6.17.
 *
 * Facts    the kernel's header coredump.h: it sends a request, gets an answer of at least 16
 *          bytes, sends a mark, which is 0 if it takes the answer, then the core. SO_PEERPIDFD
 *          gives a pidfd of the process that crashes.
 */
#include "base/base.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "cmd/capture/capture.h"

#define PEER_PIDFD    77 /* SO_PEERPIDFD */
#define WRITES_CORE   1u /* the kernel writes the core */
#define REJECTS	      4u /* it writes none, and the process ends */
#define WAITS	      8u /* and keeps the process until we close */
#define ANSWER_SIZE   16u
#define SECONDS	      30
#define ACTIVATION_FD 3 /* sd_listen_fds(3) */

struct request {
	u32 size, answer_size;
	u64 mask;
};
struct answer {
	u32 size, spare;
	u64 mask;
};

static bool receive_all(int fd, void *buf, size_t len)
{
	char *at = buf;

	while (len) {
		ssize_t n = recv(fd, at, len, 0);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		at += n;
		len -= (size_t)n;
	}
	return true;
}

const char *listen_answer(const struct process *p, bool wants_core)
{
	struct request request;
	struct answer answer = {.size = ANSWER_SIZE,
				.mask = wants_core ? WRITES_CORE | WAITS : REJECTS};
	int fd = p->in;
	u8 more[256];
	u32 mark;

	if (!receive_all(fd, &request, sizeof(request)) || request.size < sizeof(request) ||
	    request.size > sizeof(request) + sizeof(more) ||
	    !receive_all(fd, more, request.size - sizeof(request)))
		return "no request of the kernel arrived";
	if (request.answer_size < ANSWER_SIZE || (answer.mask & ~request.mask))
		return "the kernel knows no such answer";
	if (send(fd, &answer, sizeof(answer), MSG_NOSIGNAL) != sizeof(answer) ||
	    !receive_all(fd, &mark, sizeof(mark)))
		return "the kernel does not go on";
	return mark ? fault("the kernel does not take the answer (mark %u)", mark) : NULL;
}

static const char *socket_make(const char *path, int *ret_fd)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (strlen(path) >= sizeof(at.sun_path))
		return "the socket's path is too long";
	memcpy(at.sun_path, path, strlen(path) + 1);
	unlink(path);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 128) < 0)
		return fault("cannot listen at %s: %s", path, strerror(errno));
	*ret_fd = fd;
	return NULL;
}

const char *listen_serve(struct process *p, const char *path)
{
	int server = ACTIVATION_FD;
	const char *why = path ? socket_make(path, &server) : NULL;

	if (why)
		return why;
	signal(SIGCHLD, SIG_IGN); /* none remains as a zombie */
	for (;;) {
		socklen_t len = sizeof(p->pidfd);
		u8 first;
		int fd = accept4(server, NULL, NULL, SOCK_CLOEXEC);

		if (fd < 0 && (errno == EBADF || errno == ENOTSOCK || errno == EINVAL))
			return fault("descriptor %d is no socket that listens", server);
		if (fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOMEM))
			poll(NULL, 0, 100);
		if (fd < 0)
			continue;
		if (fork() != 0) {
			close(fd);
			continue;
		}
		signal(SIGCHLD, SIG_DFL);
		alarm(SECONDS);
		close(server);
		p->in = fd;
		if (recv(fd, &first, 1, MSG_PEEK) <= 0)
			_exit(0); /* it only wanted to know whether we listen */
		if (getsockopt(fd, SOL_SOCKET, PEER_PIDFD, &p->pidfd, &len) < 0)
			return fault("the kernel gives no pidfd: %s", strerror(errno));
		return NULL;
	}
}
