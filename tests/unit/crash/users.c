/* SPDX-License-Identifier: MIT */
/* The server that hands crashes to users: how many processes one of them makes it start. */
#include "tap.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/users.h"

#define CLIENTS 120 /* which ask nothing */
#define MOST	64

static pid_t server_start(const char *path)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	err_destroy(crash_users_listen("/nonexistent", path));
	_exit(0);
}

static int client_connect(const char *path)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	memcpy(at.sun_path, path, strlen(path) + 1);
	if (connect(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	(void)close(fd);
	return -1;
}

static uint32_t children_count(pid_t pid)
{
	char path[64], text[4096];
	uint32_t n = 0;
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)pid, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = read(fd, text, sizeof(text));
	(void)close(fd);
	for (ssize_t i = 0; i < len; i++)
		n += text[i] == ' ';
	return n;
}

int main(void)
{
	char folder[] = "/tmp/unit_crash_users_XXXXXX", path[64];
	uint64_t until = now_ns() + 10000000000 * tap_patience();
	int clients[CLIENTS];
	uint32_t most = 0, n = 0;
	pid_t pid;

	if (!mkdtemp(folder))
		return 1;
	(void)snprintf(path, sizeof(path), "%s/socket", folder);
	pid = server_start(path);
	while (!crash_users_are_served(path) && now_ns() < until)
		(void)poll(NULL, 0, 1);
	for (uint32_t i = 0; i < CLIENTS; i++)
		clients[i] = client_connect(path);
	for (; n < MOST && now_ns() < until; n = children_count(pid))
		(void)poll(NULL, 0, 1);
	/* the queue is served in order: with no bound, others would follow at once */
	for (int i = 0; i < 200; i++) {
		most = MAX(most, children_count(pid));
		(void)poll(NULL, 0, 1);
	}
	is_int(most, MOST, "who holds connections makes no more processes");
	for (uint32_t i = 0; i < CLIENTS; i++)
		(void)close(clients[i]);
	is_int(crash_users_open(path, "x", "core"), -1, "others are answered when it has gone");
	is_int(errno, EIO, "that there is no store");
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
	(void)unlink(path);
	(void)rmdir(folder);
	return tap_done();
}
