/* SPDX-License-Identifier: MIT */
/* Starts and ends the server of core_pattern's socket. */
#include "crash/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/format.h"

#define PATIENCE_NS 10000000000ull
#define STEP_MS	    10 /* between two looks whether it listens */

extern char **environ;

/* Connects; -1 with errno. A connection without a request is none for the server. */
static int server_connect(const char *path)
{
	CLEANUP(fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	if (strlen(path) >= sizeof(at.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	memcpy(at.sun_path, path, strlen(path) + 1);
	if (fd < 0 || connect(fd, (struct sockaddr *)&at, sizeof(at)) != 0)
		return -1;
	return fd_take(&fd);
}

bool crash_server_listens(const char *path)
{
	CLEANUP(fd) int fd = server_connect(path);

	return fd >= 0;
}

struct err *crash_socket_check(const char *path)
{
	const char *name = strrchr(path, '/');
	CLEANUP(free) char *folder = name ? strndup(path, (size_t)(name - path)) : NULL;
	CLEANUP(free) char *real = folder ? realpath(*folder ? folder : "/", NULL) : NULL;

	if (*path != '/' || !name[1])
		return err_new("the path of the socket, '%s', is not absolute", path);
	if (strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return err_new("the path of the socket, '%s', is too long", path);
	if (!real)
		return err_sys(errno, "there is no directory of the socket '%s'", path);
	if (strcmp(real, *folder ? folder : "/") != 0)
		return err_hint(err_new("the path of the socket, '%s', has symbolic links", path),
				"its directory's own path is '%s'", real);
	return crash_above_check(path);
}

/* ---- by systemd ------------------------------------------------------------------------------ */

/* The unit of the package is about the usual places. */
static bool has_unit(const struct crash_paths *p, const char *path)
{
	return !*p->root && strcmp(path, CRASH_SOCKET) == 0 &&
	       access("/run/systemd/system", F_OK) == 0;
}

static struct err *systemctl_run(char **argv)
{
	int status;
	pid_t pid;

	errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	if (errno)
		return err_sys(errno, "cannot execute systemctl");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0
		       ? NULL
		       : err_new("'systemctl %s %s %s' has failed", argv[1], argv[2], argv[3]);
}

/* ---- by us ----------------------------------------------------------------------------------- */

/* Becomes the server, in a session of its own. */
NORETURN static void server_become(const struct crash_paths *p, const char *path)
{
	CLEANUP(free) char *config = NULL;
	char *env[] = {(char *)"PATH=/usr/sbin:/usr/bin:/sbin:/bin", NULL};
	char *argv[] = {p->capturer, NULL, (char *)"socket", (char *)path, NULL};
	int null = open("/dev/null", O_RDWR);

	if (asprintf(&config, "config=%s", p->config_name) < 0)
		oom();
	argv[1] = config;
	if (setsid() < 0 || fork() != 0)
		_exit(0);
	for (int i = 0; i < 3; i++)
		(void)dup2(null, i);
	(void)syscall(SYS_close_range, 3, ~0u, 0);
	(void)execve(p->capturer, argv, env);
	_exit(1);
}

static struct err *server_spawn(const struct crash_paths *p, const char *path)
{
	uint64_t until = now_ns() + PATIENCE_NS;
	pid_t pid;

	(void)fflush(NULL);
	pid = fork();
	if (pid < 0)
		return err_sys(errno, "cannot make a process");
	if (pid == 0)
		server_become(p, path);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
	while (!crash_server_listens(path)) {
		if (now_ns() > until)
			return err_new("'%s' does not listen at '%s'", p->capturer, path);
		(void)poll(NULL, 0, STEP_MS);
	}
	return NULL;
}

/* Whether a process executes the capturer; a file that was replaced is it, too. */
static bool is_capturer(const struct crash_paths *p, pid_t pid)
{
	char name[64], exe[PATH_MAX];
	size_t len = strlen(p->capturer);
	ssize_t n;

	(void)snprintf(name, sizeof(name), "/proc/%d/exe", (int)pid);
	n = readlink(name, exe, sizeof(exe) - 1);
	exe[MAX(n, (ssize_t)0)] = '\0';
	return strncmp(exe, p->capturer, len) == 0 &&
	       (!exe[len] || strcmp(exe + len, " (deleted)") == 0);
}

/* The listener is ended by its pidfd, which is that of the process whose program was looked at. */
static struct err *server_kill(const struct crash_paths *p, const char *path)
{
	CLEANUP(fd) int fd = server_connect(path);
	CLEANUP(fd) int pidfd = -1;
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);
	struct pollfd end = {.events = POLLIN};

	if (fd < 0 || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) != 0 || peer.pid <= 1)
		return NULL;
	pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	if (pidfd < 0 || !is_capturer(p, peer.pid))
		return NULL; /* it has ended, or is not ours */
	end.fd = pidfd;
	if (syscall(SYS_pidfd_send_signal, pidfd, SIGTERM, NULL, 0) != 0 ||
	    poll(&end, 1, (int)(PATIENCE_NS / 1000000)) != 1)
		return err_new("the server of '%s', process %d, does not end", path, peer.pid);
	return unlink(path) == 0 || errno == ENOENT ? NULL
						    : err_sys(errno, "cannot remove '%s'", path);
}

/* ---- either ---------------------------------------------------------------------------------- */

struct err *crash_server_start(const struct crash_paths *p, const char *path, crash_notes *notes)
{
	char *argv[] = {(char *)"systemctl", (char *)"enable", (char *)"--now",
			(char *)CRASH_SOCKET_UNIT, NULL};
	struct err *e;

	if (has_unit(p, path))
		return systemctl_run(argv);
	e = server_kill(p, path); /* an older one may have another configuration */
	if (!e)
		e = server_spawn(p, path);
	if (!e)
		crash_note(notes,
			   "when the machine boots, something must start '%s config=%s socket %s': "
			   "without it, crashes are lost",
			   p->capturer, p->config_name, path);
	return e;
}

struct err *crash_server_stop(const struct crash_paths *p, const char *path)
{
	char *argv[] = {(char *)"systemctl",	   (char *)"disable",	      (char *)"--now",
			(char *)CRASH_SOCKET_UNIT, (char *)CRASH_SERVER_UNIT, NULL};

	return has_unit(p, path) ? systemctl_run(argv) : server_kill(p, path);
}
