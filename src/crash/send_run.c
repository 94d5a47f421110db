/* SPDX-License-Identifier: MIT */
/* Runs the programs that send mails and posts. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "base/apart.h"
#include "crash/confine.h"
#include "crash/send.h"

static bool rights_drop(void)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return true;
	confined_user(&uid, &gid);
	return setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
	       setresuid(uid, uid, uid) == 0;
}

NORETURN static void program_main(const struct send_program *p, int in)
{
	static char path[] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin", lang[] = "LC_ALL=C.UTF-8";
	char *env[] = {path, lang, NULL};
	const int kept[] = {0};

	if (dup2(in, 0) < 0 || chdir("/") != 0)
		_exit(126);
	descriptors_close(kept, 1, NULL, 0);
	if (open("/dev/null", O_WRONLY) != 1 || dup2(1, 2) != 2)
		_exit(126);
	(void)signal(SIGALRM, SIG_DFL);
	(void)signal(SIGPIPE, SIG_DFL);
	(void)alarm(p->seconds); /* it stays when the program is executed */
	if (p->is_nobody && !rights_drop())
		_exit(126);
	(void)execve(p->argv[0], p->argv, env);
	_exit(127);
}

/* A file in memory, so that a program that does not read cannot hold us. */
static int input_make(const struct send_program *p)
{
	CLEANUP(fd) int fd = memfd_create("crash report", MFD_CLOEXEC);
	size_t at = 0;

	while (fd >= 0 && at < p->len) {
		ssize_t n = write(fd, p->text + at, p->len - at);

		if (n <= 0)
			return -1;
		at += (size_t)n;
	}
	if (fd >= 0 && lseek(fd, 0, SEEK_SET) != 0)
		return -1;
	return fd_take(&fd);
}

struct err *send_run(const struct send_program *p)
{
	CLEANUP(fd) int made = p->fd < 0 ? input_make(p) : -1;
	int in = p->fd < 0 ? made : p->fd, status;
	pid_t pid;

	if (in < 0)
		return err_sys(errno, "cannot make the input of '%s'", p->argv[0]);
	pid = fork();
	if (pid == 0)
		program_main(p, in);
	if (pid < 0)
		return err_sys(errno, "cannot run '%s'", p->argv[0]);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_hint(err_new("'%s' cannot be executed", p->argv[0]),
				"install the package that has it");
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
		return err_new("'%s' took longer than %u s", p->argv[0], p->seconds);
	if (WIFSIGNALED(status) || WEXITSTATUS(status))
		return err_new("'%s' has failed (%s %d)", p->argv[0],
			       WIFSIGNALED(status) ? "signal" : "status",
			       WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return NULL;
}
