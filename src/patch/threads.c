/* SPDX-License-Identifier: MIT */
/*
 * What each thread of a process says of itself: whether it may read the time stamp counter, and how
 * large its alternate stack for signals is.
 *
 * The kernel answers nobody but the thread, so each makes two calls, with the code and the frame of
 * the region; the first one registers the process for membarrier(2), too. One thread is held at a
 * time, for these calls; all others run.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "arch/patch.h"
#include "base/vec.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"
#include "target/remote.h"
#include "target/seize.h"

#ifndef AT_MINSIGSTKSZ /* Linux 1c33bb0507508, v5.14 */
#define AT_MINSIGSTKSZ 51
#endif
#define FRAME_LEAST	   2048 /* what the frame of a signal takes where the kernel does not say */
#define ANSWER_AT	   64	/* in the page of the switch */
#define REGISTER_SYNC_CORE 64	/* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE */

struct asking {
	struct patch *p;
	uint32_t stack_size;
	VEC(pid_t) tids;
	uint32_t i; /* the next one */
	bool is_busy, is_registered;
	struct seized held;
	struct remote remote;
	struct err *e;
};

static uint64_t signal_frame_size(void)
{
	uint64_t size = getauxval(AT_MINSIGSTKSZ);

	return MAX(size, (uint64_t)FRAME_LEAST);
}

/* False: the thread has given no answer. */
static bool answer_get(struct asking *a, long nr, const uint64_t args[6], void *ret, size_t size)
{
	taddr at = patch_switch_addr(a->p) + ANSWER_AT;
	int64_t value = -1;

	if (remote_call(&a->remote, nr, args, &value))
		return value == 0 && sys_pread(a->p->mem_fd, ret, size, at) == (ssize_t)size;
	a->p->is_left |= a->remote.is_left;
	if (a->remote.is_dispatched)
		a->e = refuse_dispatch(a->p->pid);
	else if (a->remote.is_left)
		a->e = refuse_call(a->p->pid, nr == SYS_prctl ? "prctl" : "sigaltstack",
				   errno ? errno : EIO);
	return false; /* or it has ended */
}

/*
 * Registers the process for membarrier(2), by one thread while the others run: in a process with
 * several threads the kernel waits for a grace period meanwhile, which takes some milliseconds. A
 * kernel may lack it.
 */
static void process_register(struct asking *a)
{
	const uint64_t args[6] = {REGISTER_SYNC_CORE};
	int64_t value = -1;

	if (remote_call(&a->remote, SYS_membarrier, args, &value)) {
		a->p->journal->has_barrier = value == 0;
		a->is_registered = true;
		return;
	}
	a->p->is_left |= a->remote.is_left;
	if (a->remote.is_dispatched)
		a->e = refuse_dispatch(a->p->pid);
	else if (a->remote.is_left)
		a->e = refuse_call(a->p->pid, "membarrier", errno ? errno : EIO);
}

static void thread_ask(struct asking *a, pid_t tid)
{
	const struct windows_journal *j = a->p->journal;
	taddr at = patch_switch_addr(a->p) + ANSWER_AT;
	const uint64_t tsc[6] = {PR_GET_TSC, at}, stack[6] = {0, at};
	uint64_t least = signal_frame_size() + a->stack_size;
	int32_t mode = PR_TSC_ENABLE;
	stack_t alternate;

	a->remote.tid = tid;
	a->remote.code = j->call;
	a->remote.frame = j->frame;
	a->e = refuse_thread(a->p->pid, tid);
	if (!a->e && !a->is_registered)
		process_register(a);
	if (a->e)
		return;
	if (answer_get(a, SYS_prctl, tsc, &mode, sizeof(mode)) && mode == PR_TSC_SIGSEGV)
		a->e = refuse_tsc(a->p->pid, tid);
	if (!a->e && a->stack_size &&
	    answer_get(a, SYS_sigaltstack, stack, &alternate, sizeof(alternate)) &&
	    !(alternate.ss_flags & SS_DISABLE) && alternate.ss_size < least)
		a->e = refuse_stack(a->p->pid, tid, alternate.ss_size, least);
}

static void asking_run(void *ctx)
{
	struct asking *a = ctx;
	bool suspends = a->p->journal->suspends;

	a->is_busy = false;
	for (; a->i < a->tids.len && !a->e && !a->is_busy; a->i += !a->is_busy) {
		pid_t tid = a->tids.data[a->i];

		switch (seize_thread(a->p->pid, tid, &a->held)) {
		case SEIZE_DONE:
			if (suspends && !seize_suspend(tid) && errno != ESRCH)
				a->e = refuse_hold(a->p->pid, true, tid, errno);
			else
				thread_ask(a, tid);
			break;
		case SEIZE_GONE: break;
		case SEIZE_BUSY: a->is_busy = true; break;
		case SEIZE_MANY:
		case SEIZE_REFUSED: a->e = refuse_hold(a->p->pid, false, tid, a->held.sys); break;
		}
		seize_release(&a->held);
	}
}

static struct err *threads_list(struct asking *a)
{
	char path[64];
	const struct dirent *d;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)a->p->pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT ? refuse_gone(a->p->pid)
				       : err_sys(errno, "cannot list the threads of process %d",
						 (int)a->p->pid);
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			vec_push(&a->tids, (pid_t)strtol(d->d_name, NULL, 10));
	(void)closedir(dir);
	return NULL;
}

/* A thread that begins meanwhile has from its maker whether it may read the counter. */
struct err *threads_ask(struct patch *p, const struct patch_opts *o)
{
	struct asking a = {.p = p, .stack_size = o->stack_size};
	uint64_t until = now_ns() + p->busy_ns;
	struct err *e = threads_list(&a);

	a.remote = (struct remote){.mem_fd = p->mem_fd, .buf = xmalloc(ARCH_FRAME_MAX)};
	if (!e)
		e = worker_run(asking_run, &a);
	while (!e && a.is_busy && busy_wait(until, o->is_interrupted))
		e = worker_run(asking_run, &a);
	if (!e && a.is_busy)
		a.e = refuse_busy(p->pid, a.tids.data[a.i]);
	vec_deinit(&a.tids);
	free(a.remote.buf);
	return e ? e : a.e;
}
