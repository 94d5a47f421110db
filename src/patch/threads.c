/* SPDX-License-Identifier: MIT */
/*
 * What each thread of a process says of itself: whether it may read the time stamp counter, and how
 * large its alternate stack for signals is.
 *
 * The kernel answers nobody but the thread, so each makes two calls, with the code and the frame of
 * the region; the first one registers the process for membarrier(2), too. One thread is held at a
 * time, for these calls, and while it is looked where its rseq area is; all others run.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "arch/patch.h"
#include "base/vec.h"
#include "kernel/sys.h"
#include "patch/patch_impl.h"
#include "target/ident.h"
#include "target/remote.h"
#include "target/seize.h"

#ifndef AT_MINSIGSTKSZ /* Linux 1c33bb0507508, v5.14 */
#define AT_MINSIGSTKSZ 51
#endif
#define FRAME_LEAST	   2048 /* what the frame of a signal takes where the kernel does not say */
#define ANSWER_AT	   64	/* in the page of the switch */
#define REGISTER_SYNC_CORE 64	/* MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE */
#define ASLEEP_TRIED	   16	/* threads that are looked at for one that sleeps */
#define RSEQ_CPU_ID	   4	/* of struct rseq */

#ifndef PTRACE_GET_RSEQ_CONFIGURATION /* Linux 90f093fa8ea4, v5.13 */
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

struct rseq_config { /* struct ptrace_rseq_configuration */
	uint64_t pointer;
	uint32_t size, signature, flags, pad;
};

struct asking {
	struct patch *p;
	uint32_t stack_size;
	tid_vec tids;
	uint32_t i; /* the next one */
	bool is_busy, is_registered;
	bool has_rseqs; /* whoever has an rseq area has it at p->rseq_offset, so far */
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
 * Registers the process for membarrier(2), of which the kernel takes note whenever a CPU gets one
 * of its threads (all_write() in keeper/windows.c). One thread does it, while the others run: in a
 * process with several threads the kernel waits for a grace period meanwhile, which takes some
 * milliseconds. A kernel may lack it.
 */
static void process_register(struct asking *a)
{
	const uint64_t args[6] = {REGISTER_SYNC_CORE};
	int64_t value = -1;

	if (remote_call(&a->remote, SYS_membarrier, args, &value)) {
		a->is_registered = true;
		return;
	}
	a->p->is_left |= a->remote.is_left;
	if (a->remote.is_dispatched)
		a->e = refuse_dispatch(a->p->pid);
	else if (a->remote.is_left)
		a->e = refuse_call(a->p->pid, "membarrier", errno ? errno : EIO);
}

/* False: the thread has none. */
static bool rseq_ask(pid_t tid, int64_t *ret)
{
	struct rseq_config c = {0};
	struct arch_regs regs;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, (void *)sizeof(c), &c) <= 0 || !c.pointer ||
	    !arch.regs_read(tid, &regs) || !regs.thread_pointer)
		return false;
	*ret = (int64_t)(c.pointer + RSEQ_CPU_ID - regs.thread_pointer);
	return true;
}

/*
 * The C library has it at one distance from the thread pointer in all threads. A program that
 * registers it by itself may have it anywhere: where one instruction does not reach, or where
 * another thread has nothing mapped.
 */
static void rseq_note(struct asking *a, pid_t tid)
{
	struct patch *p = a->p;
	int64_t offset;

	if (!rseq_ask(tid, &offset))
		return;
	a->has_rseqs &= offset == (int32_t)offset && (!p->has_rseq || p->rseq_offset == offset);
	p->has_rseq = true;
	p->rseq_offset = offset;
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
	rseq_note(a, tid);
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

void threads_put_asleep_first(tid_vec *tids)
{
	for (uint32_t n = 0; n < ASLEEP_TRIED && n + 1 < tids->len; n++) {
		pid_t *tid = &tids->data[tids->len - 1 - n], first = tids->data[0];

		if (!proc_is_sleeping(*tid))
			continue;
		tids->data[0] = *tid;
		*tid = first;
		return;
	}
}

struct err *threads_list(pid_t pid, tid_vec *ret)
{
	char path[64];
	const struct dirent *d;
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	dir = opendir(path);
	if (!dir)
		return errno == ENOENT
			       ? refuse_gone(pid)
			       : err_sys(errno, "cannot list the threads of process %d", (int)pid);
	while ((d = readdir(dir)))
		if (d->d_name[0] != '.')
			vec_push(ret, (pid_t)strtol(d->d_name, NULL, 10));
	(void)closedir(dir);
	return NULL;
}

/* A thread that begins meanwhile has from its maker whether it may read the counter. */
struct err *threads_ask(struct patch *p, const struct patch_opts *o)
{
	struct asking a = {.p = p, .stack_size = o->stack_size, .has_rseqs = true};
	uint64_t until = now_ns() + p->busy_ns;
	struct err *e = threads_list(p->pid, &a.tids);

	threads_put_asleep_first(&a.tids); /* it waits for the grace period */
	a.remote = (struct remote){.mem_fd = p->mem_fd, .buf = xmalloc(ARCH_FRAME_MAX)};
	if (!e)
		e = worker_run(asking_run, &a);
	while (!e && a.is_busy && busy_wait(until, o->is_interrupted))
		e = worker_run(asking_run, &a);
	if (!e && a.is_busy)
		a.e = refuse_busy(p->pid, a.tids.data[a.i]);
	p->has_rseq &= a.has_rseqs;
	vec_deinit(&a.tids);
	free(a.remote.buf);
	return e ? e : a.e;
}
