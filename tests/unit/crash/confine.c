/* SPDX-License-Identifier: MIT */
/* Processes without rights that do what one does that a core has taken over. */
#include "tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/confine.h"

#define REQUESTS 5000 /* more than the answers that a socket keeps */

/* Asks for files, and reads none of the answers. */
static int deaf_run(void *ctx, int asks)
{
	(void)ctx;
	for (int i = 0; i < REQUESTS; i++)
		(void)send(asks, "/bin/sh", 7, MSG_NOSIGNAL);
	while (pause() != 0)
		;
	return 0;
}

/* Tries to reach the process that has made it. */
static int signals_run(void *ctx, int asks)
{
	const pid_t *pid = ctx;
	siginfo_t si = {.si_signo = SIGURG, .si_code = SI_QUEUE};
	int missed = 0;

	(void)asks;
	missed += kill(getpid(), 0) == 0 || errno != EPERM;
	errno = 0;
	missed += syscall(SYS_rt_sigqueueinfo, getpid(), SIGURG, &si) == 0 || errno != EPERM;
	errno = 0;
	missed += syscall(SYS_rt_tgsigqueueinfo, getpid(), getpid(), SIGURG, &si) == 0 ||
		  errno != EPERM;
	errno = 0;
	missed += syscall(SYS_pidfd_send_signal, -1, SIGURG, NULL, 0) == 0 || errno != EPERM;
	return *pid == getpid() ? 90 : missed;
}

static const char *text(struct err *e)
{
	static char buf[512];

	(void)snprintf(buf, sizeof(buf), "%s", e ? err_text(e) : "");
	err_destroy(e);
	return buf;
}

int main(void)
{
	pid_t pid = getpid();
	struct confined deaf = {.fs_uid = 0, .fs_gid = 0, .run = deaf_run, .seconds = 1};
	struct confined sends = {.fs_uid = UINT32_MAX, .run = signals_run, .ctx = &pid};
	bool is_late, is_refused;
	struct err *e;

	(void)alarm(20 * (unsigned int)tap_patience());
	e = confined_run(&deaf);
	is_late = e && strstr(err_text(e), "longer than 1 s");
	ok(is_late, "who reads no answers is ended in time: %s", text(e));
	e = confined_run(&sends);
	is_refused = !e;
	ok(is_refused, "signals go nowhere, not to itself either %s", text(e));
	return tap_done();
}
