/* SPDX-License-Identifier: MIT */
/* Starting, watching and ending target processes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/str.h"
#include "base/text.h"
#include "base/vec.h"
#include "base/words.h"
#include "kernel/confine.h"
#include "target/code.h"
#include "target/control.h"
#include "target/tracees.h"

/* How long a command may take to begin, and after what time a signal ends the wait for it. */
#define EXEC_WAIT_NS ((uint64_t)30000000000)
#define EXEC_SOON_NS ((uint64_t)500000000)

struct proc {
	pid_t pid;
	int pidfd;
	bool is_created, is_held, is_advanced, is_ended;
	bool is_parked; /* stopped by a signal: proc_park() */
	bool is_reaped; /* it ended during proc_advance(), which has waited for it */
	int status;
	struct tracees threads; /* while it is held */
	char *msg;
};

static int pidfd_open(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

/* ---- how processes end ---------------------------------------------------------------------- */

static void signal_add(struct strbuf *s, int sig)
{
	const char *name = sigabbrev_np(sig);

	if (name)
		strbuf_addf(s, "SIG%s", name);
	else if (sig >= SIGRTMIN && sig <= SIGRTMAX)
		strbuf_addf(s, sig > SIGRTMIN ? "SIGRTMIN+%d" : "SIGRTMIN", sig - SIGRTMIN);
	else
		strbuf_addf(s, "signal %d", sig);
}

static char *describe_status(pid_t pid, int status)
{
	struct strbuf s = {0};

	if (WIFSIGNALED(status)) {
		strbuf_addf(&s, "pid %d terminated by ", (int)pid);
		signal_add(&s, WTERMSIG(status));
	} else if (WEXITSTATUS(status)) {
		strbuf_addf(&s, "pid %d exited with status %d", (int)pid, WEXITSTATUS(status));
	} else {
		strbuf_addf(&s, "pid %d has exited", (int)pid);
	}
	return s.data;
}

/* ---- -c ------------------------------------------------------------------------------------- */

static void child_environment(char *const *envs, uint32_t nenvs)
{
	for (uint32_t i = 0; i < nenvs; i++) {
		if (envs[i][0] == '+')
			(void)putenv(envs[i] + 1); /* without memory the variable is missing */
		else
			(void)unsetenv(envs[i] + 1);
	}
}

/* The child writes this to its parent when it could not execute the command. */
struct exec_report {
	int sys;
	bool is_traced; /* it failed to let us trace it */
	pid_t tracer;	/* who traces it already */
};

/* Becomes the command; what fails is reported through report_fd. */
static NORETURN void child_exec(char *const *argv, char *const *envs, uint32_t nenvs, pid_t parent,
				int report_fd)
{
	struct exec_report r = {0};
	sigset_t none;

	sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	child_environment(envs, nenvs);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent) {
		r.is_traced = ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0;
		if (!r.is_traced)
			(void)execvp(argv[0], argv);
	}
	r.sys = errno;
	if (r.is_traced)
		r.tracer = (pid_t)proc_status_field(getpid(), "TracerPid");
	(void)!write(report_fd, &r, sizeof(r)); /* the parent sees the end of file instead */
	_exit(127);
}

static int wait_child(pid_t pid, int *ret_status)
{
	int got;

	do
		got = waitpid(pid, ret_status, 0);
	while (got < 0 && errno == EINTR);
	return got;
}

/*
 * Waits until the child has executed the command or failed, which closes its end of the pipe.
 * False: neither has happened, because it waits for a file system whose server has stopped. A
 * signal ends the wait once it has become a long one: the user has lost patience.
 */
static bool exec_is_over(int report_fd)
{
	struct pollfd p = {.fd = report_fd, .events = POLLIN};
	uint64_t begin = now_ns(), now = begin;

	while (now - begin < EXEC_WAIT_NS) {
		int n = poll(&p, 1, (int)((EXEC_WAIT_NS - (now - begin)) / 1000000));

		now = now_ns();
		if (n > 0)
			return true;
		if (n < 0 && (errno != EINTR || now - begin > EXEC_SOON_NS))
			return false;
	}
	return false;
}

/* Another tracer follows the children of this process, so the child cannot be held. */
static struct err *traced_err(pid_t tracer)
{
	char path[64], name[32] = "";
	CLEANUP(file) FILE *f = NULL;

	(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)tracer);
	f = fopen(path, "re");
	if (f && fgets(name, sizeof(name), f))
		name[strcspn(name, "\n")] = '\0';
	(void)text_clean(name);
	return err_hint(err_new("dtrace itself is being traced: process %d ('%s') follows its "
				"children, so they cannot be held",
				(int)tracer, name),
			"start the command apart and use -p, or let '%s' not follow children "
			"(strace without -f, gdb with 'set follow-fork-mode parent')",
			name);
}

/* Waits until the child is stopped at the first instruction of the new program, or has ended. */
static struct err *wait_for_exec(pid_t pid, int report_fd)
{
	struct exec_report r;
	struct err *e;
	int status;

	if (!exec_is_over(report_fd)) {
		/* It may not even be possible to kill it, so nobody waits for its end. */
		(void)kill(pid, SIGKILL);
		return err_hint(err_new("its file system does not answer"),
				"try again when its server runs; 'umount -f' ends a mount whose "
				"server is gone");
	}
	if (wait_child(pid, &status) < 0)
		return err_sys(errno, "lost process %d", (int)pid);
	if (WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP)
		return NULL;
	if (WIFSTOPPED(status)) {
		(void)kill(pid, SIGKILL);
		(void)wait_child(pid, &status);
		return err_new("process %d stopped before it ran", (int)pid);
	}
	if (read(report_fd, &r, sizeof(r)) != sizeof(r))
		return err_new("process %d ended before it ran", (int)pid);
	if (r.is_traced && r.tracer > 0)
		return traced_err(r.tracer);
	e = r.is_traced ? confined_err("ptrace(2)", r.sys) : NULL;
	return e ? e : err_sys(r.sys, r.is_traced ? "ptrace" : "exec");
}

struct err *proc_create(const char *cmd, char *const *envs, uint32_t nenvs, struct proc **ret_proc)
{
	struct words w;
	int report[2];
	struct err *e = NULL;
	struct proc *p;
	pid_t pid, self = getpid();

	e = words_split(cmd, &w);
	if (e)
		return e;
	if (!w.list.data[0]) {
		words_deinit(&w);
		return err_new("empty command");
	}
	if (pipe2(report, O_CLOEXEC) != 0) {
		words_deinit(&w);
		return err_sys(errno, "pipe");
	}
	pid = fork();
	if (pid == 0)
		child_exec(w.list.data, envs, nenvs, self, report[1]);
	(void)close(report[1]);
	if (pid < 0)
		e = err_sys(errno, "fork");
	else
		e = wait_for_exec(pid, report[0]);
	(void)close(report[0]);
	words_deinit(&w);
	if (e)
		return e;
	p = xcalloc(1, sizeof(*p));
	*p = (struct proc){.pid = pid,
			   .pidfd = pidfd_open(pid),
			   .is_created = true,
			   .is_held = true};
	e = p->pidfd < 0 ? err_sys(errno, "cannot watch process %d", (int)pid)
			 : tracees_init(&p->threads, pid);
	if (e) {
		proc_destroy(p);
		return e;
	}
	*ret_proc = p;
	return NULL;
}

/* The moments at which the option evaltime holds a process. */
static const char *const moments[] = {
	[PROC_EXEC] = "it had executed anything",
	[PROC_PREINIT] = "its libraries were loaded",
	[PROC_POSTINIT] = "its libraries were initialised",
	[PROC_MAIN] = "it called main()",
};

/* The process has ended before the probes could be placed. */
static struct err *ended_err(const struct proc *p, enum proc_when when)
{
	CLEANUP(free) char *how = describe_status(p->pid, p->status);
	struct err *e = err_new("%s before %s: nothing was traced", how, moments[when]);

	return when == PROC_PREINIT ? e
				    : err_hint(e, "hold it earlier: -x evaltime=preinit or exec");
}

/* Whether the process has ended while it was run on. */
static bool end_note(struct proc *p)
{
	if (!p->threads.has_ended)
		return false;
	p->is_reaped = true;
	p->is_held = false;
	p->status = p->threads.status;
	return true;
}

struct err *proc_advance(struct proc *p, const struct proc_advance *how, struct evaltime *ret)
{
	struct err *e;

	*ret = (struct evaltime){0};
	if (p->is_reaped)
		return ended_err(p, how->when);
	if (!p->is_held || p->is_advanced || how->when == PROC_EXEC)
		return NULL;
	p->is_advanced = true;
	p->threads.interrupts = how->interrupts;
	e = evaltime_run(&p->threads, how->gate, how->when, how->is_int3, ret);
	if (!end_note(p))
		return e;
	return e ? e : ended_err(p, how->when);
}

struct err *proc_advance_exec(struct proc *p, const struct proc_advance *how, struct evaltime *ret,
			      bool *ret_is_there)
{
	struct err *e;

	*ret = (struct evaltime){0};
	*ret_is_there = false;
	if (!p->is_held)
		return NULL;
	p->is_advanced = true;
	p->threads.interrupts = how->interrupts;
	e = tracees_run(&p->threads, NULL, 0);
	if (!e && p->threads.has_executed && how->when != PROC_EXEC)
		e = evaltime_run(&p->threads, how->gate, how->when, how->is_int3, ret);
	*ret_is_there = !end_note(p);
	return e;
}

struct err *proc_park(struct proc *p)
{
	if (!p->is_held)
		return NULL;
	/* the signal waits for the threads: none of them comes to an instruction of the program */
	if (kill(p->pid, SIGSTOP) != 0)
		return err_sys(errno, "cannot stop process %d", (int)p->pid);
	tracees_release(&p->threads);
	p->is_held = false;
	p->is_parked = true;
	while (waitpid(p->pid, &p->status, WUNTRACED) < 0 && errno == EINTR)
		;
	p->is_reaped = !WIFSTOPPED(p->status); /* somebody has killed it */
	return NULL;
}

struct err *proc_continue(struct proc *p)
{
	if (p->is_held)
		tracees_release(&p->threads);
	if (p->is_parked)
		(void)kill(p->pid, SIGCONT); /* or it has been killed */
	p->is_held = p->is_parked = false;
	return NULL;
}

/* ---- -p ------------------------------------------------------------------------------------- */

struct err *proc_grab(pid_t pid, struct proc **ret_proc)
{
	struct proc *p;
	int fd;

	if (pid == getpid())
		return err_new("a process cannot trace itself");
	fd = pidfd_open(pid);
	if (fd < 0 && errno == EINVAL) /* a thread that does not lead its process */
		return err_hint(err_new("not a process"),
				"give the id of the process, not that of a thread");
	if (fd < 0)
		return err_sys(errno, "cannot open process");
	p = xcalloc(1, sizeof(*p));
	*p = (struct proc){.pid = pid, .pidfd = fd};
	*ret_proc = p;
	return NULL;
}

/* ---- both ----------------------------------------------------------------------------------- */

bool proc_has_ended(struct proc *p, const char **ret_msg)
{
	struct pollfd pfd = {.fd = p->pidfd, .events = POLLIN};
	int status = 0;

	*ret_msg = NULL;
	if (p->is_ended)
		return true;
	if (p->is_held)
		tracees_reap(&p->threads, false);
	if (p->is_reaped)
		status = p->status;
	else if (poll(&pfd, 1, 0) != 1)
		return false;
	if (p->is_created && !p->is_reaped && waitpid(p->pid, &status, WNOHANG) != p->pid)
		return false; /* stopped, not ended: ptrace reports that through wait, not here */
	p->is_ended = true;
	p->msg = describe_status(p->pid, status);
	*ret_msg = p->msg;
	return true;
}

pid_t proc_pid(const struct proc *p)
{
	return p->pid;
}

bool proc_is_created(const struct proc *p)
{
	return p->is_created;
}

bool proc_is_held(const struct proc *p)
{
	return p->is_held;
}

bool proc_is_reaped(const struct proc *p)
{
	return p->is_reaped;
}

int proc_fd(const struct proc *p)
{
	return p->pidfd;
}

void proc_destroy(struct proc *p)
{
	int status;

	if (!p)
		return;
	if (p->is_created && !p->is_ended && !p->is_reaped) {
		(void)kill(p->pid, SIGKILL); /* fails if the process has just ended */
		tracees_reap(&p->threads, true);
		(void)wait_child(p->pid, &status);
	}
	if (p->is_reaped)
		tracees_reap(&p->threads, true);
	if (p->pidfd >= 0)
		(void)close(p->pidfd);
	tracees_deinit(&p->threads);
	free(p->msg);
	free(p);
}
