/* SPDX-License-Identifier: MIT */
/* Says why the kernel has ended a session with quotas (quota_witness.h). */
#include "kernel/quota_witness.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/apart.h"
#include "kernel/capabilities.h"

#define WRITE_S 1 /* a terminal that is stopped, or a full pipe, is not waited for longer */

struct witness_area *witness_area_create(void)
{
	void *p = mmap(NULL, sizeof(struct witness_area), PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

static uint64_t control_word(const char *control, size_t off)
{
	return __atomic_load_n((const uint64_t *)(const void *)(control + off), __ATOMIC_RELAXED);
}

/* Whether the programs have raised the alarm: a counter is above what its CPU may take. */
static bool is_overdrawn(const struct witness_area *a, const char *control)
{
	if (atomic_load(&a->is_alarmed))
		return true;
	for (uint32_t i = 0; control && i < a->ncounters; i++)
		if (control_word(control, a->taken_off + i * a->stride) >
		    control_word(control, a->most_off + i * a->stride))
			return true;
	return false;
}

static bool has_timer_fired(const struct witness_area *a)
{
	uint64_t wound_at = atomic_load(&a->wound_at);

	return wound_at && now_ns() - wound_at >= a->stopped_ns;
}

/*
 * Only SIGKILL ends a write that waits for a reader or a file system. The witness has nothing else
 * to do: its timer ends it. Without a timer there is no message.
 */
static void error_write(const char *text)
{
	const struct itimerspec its = {.it_value = {.tv_sec = WRITE_S}};
	struct sigevent end = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
	timer_t timer;

	if (timer_create(CLOCK_MONOTONIC, &end, &timer) == 0 &&
	    timer_settime(timer, 0, &its, NULL) == 0)
		(void)!write(STDERR_FILENO, text, strlen(text));
}

/*
 * It makes async-signal-safe calls only (base/apart.h). Its user can stop it at any instruction,
 * and end the session then. A process without capabilities is not counted, so it gives them up
 * last, when it holds nothing of the session's probes any more.
 */
static NORETURN void witness_run(const struct witness_area *a, int session_fd, int control_fd,
				 pid_t session)
{
	struct pollfd end = {.fd = session_fd, .events = POLLIN};
	void *control;

	apart_begin(WITNESS_NAME, session, (int[]){STDERR_FILENO, session_fd, control_fd}, 3);
	control = mmap(NULL, a->control_size, PROT_READ, MAP_SHARED, control_fd, 0);
	(void)close(control_fd);
	capabilities_give_up();
	while (poll(&end, 1, -1) < 0 && errno == EINTR)
		;
	if (atomic_load(&a->is_over))
		_exit(0);
	if (is_overdrawn(a, control == MAP_FAILED ? NULL : control))
		error_write(a->overdrawn);
	else if (has_timer_fired(a))
		error_write(a->stopped);
	_exit(0);
}

void witness_begin(struct witness_area *a, int control_fd)
{
	pid_t session = getpid(), pid;
	CLEANUP(fd) int session_fd = (int)syscall(SYS_pidfd_open, session, 0);

	pid = session_fd < 0 ? -1 : apart_clone();
	if (pid == 0)
		witness_run(a, session_fd, control_fd, session);
	a->pid = pid; /* the witness does not look at it */
}

void witness_end(struct witness_area *a)
{
	if (!a)
		return;
	if (a->pid > 0) { /* the id is its own until its end is waited for */
		(void)kill(a->pid, SIGKILL);
		(void)waitpid(a->pid, NULL, __WCLONE);
	}
	(void)munmap(a, sizeof(*a));
}
