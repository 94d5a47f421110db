/* SPDX-License-Identifier: MIT */
/* System calls of a held thread. */
#include "target/remote.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "arch/patch.h"
#include "kernel/sys.h"
#include "target/seize.h"

#define SYSCALL_STOP (SIGTRAP | 0x80) /* PTRACE_O_TRACESYSGOOD */
#define MASK_SIZE    8		      /* Linux sizeof(sigset_t) */
#define ASKED_MAX    6

#ifndef SYS_USER_DISPATCH /* Linux include/uapi/asm-generic/siginfo.h, v5.11 */
#define SYS_USER_DISPATCH 2
#endif

/* ---- memory ---------------------------------------------------------------------------------- */

/* Where the kernel refuses forced writes through the file, it still grants them to a tracer. */
static bool word_poke(pid_t tid, taddr addr, const uint8_t *from, size_t size)
{
	taddr at = MIN(addr, (addr | 4095) - 7); /* all on one page */
	long word;

	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, tid, (void *)at, NULL);
	if (errno)
		return false;
	memcpy((uint8_t *)&word + (addr - at), from, size);
	return ptrace(PTRACE_POKEDATA, tid, (void *)at, (void *)word) == 0;
}

bool remote_write(pid_t tid, int mem_fd, taddr addr, const void *from, size_t size)
{
	const uint8_t *p = from;
	size_t n;

	if (sys_pwrite(mem_fd, from, size, addr) == (ssize_t)size)
		return true;
	for (; size; size -= n, addr += n, p += n) {
		n = MIN(size, sizeof(long));
		n = MIN(n, 4096 - (addr & 4095));
		if (!word_poke(tid, addr, p, n))
			return false;
	}
	return true;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/*
 * Lets the thread run to the next stop, which must be of this kind. A process that was stopped
 * before may report that it has been asked to stop once more. SIGSTOP, which cannot be blocked, is
 * given to the thread: it is stopped then as soon as we let go.
 */
static bool thread_run(pid_t tid, int request, int want)
{
	uintptr_t sig = 0;
	int status = 0;

	for (int i = 0; i < ASKED_MAX; i++) {
		if (sys_ptrace(request, tid, NULL, (void *)sig) || !seize_wait(tid, &status))
			return false;
		if (status >> 16 == want || (!(status >> 16) && WSTOPSIG(status) == want))
			return true;
		sig = !(status >> 16) && WSTOPSIG(status) == SIGSTOP ? SIGSTOP : 0;
		if (status >> 16 != PTRACE_EVENT_STOP && !sig)
			break;
	}
	errno = EPROTO;
	return false;
}

/* Returns to a stop as the first one was, at which the kernel sees to calls that are begun anew. */
static bool call_end(pid_t tid)
{
	return sys_ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) == 0 &&
	       thread_run(tid, PTRACE_CONT, PTRACE_EVENT_STOP);
}

/* Whether the thread has stopped because its call is a signal to itself. */
static bool is_dispatched(pid_t tid)
{
	siginfo_t si = {0};

	return ptrace(PTRACE_GETSIGINFO, tid, NULL, &si) == 0 && si.si_signo == SIGSYS &&
	       si.si_code == SYS_USER_DISPATCH;
}

/* Makes the call. *ret_dispatched: the kernel has not made it, and the signal was taken away. */
static bool call_run(pid_t tid, int64_t *ret, bool *ret_dispatched)
{
	struct arch_words after;

	if (!thread_run(tid, PTRACE_SYSCALL, SYSCALL_STOP)) {
		*ret_dispatched = errno == EPROTO && is_dispatched(tid);
		return *ret_dispatched && call_end(tid);
	}
	if (!thread_run(tid, PTRACE_SYSCALL, SYSCALL_STOP) || !arch_patch->words_read(tid, &after))
		return false;
	*ret = arch_patch->call_value(&after);
	return call_end(tid);
}

bool remote_call(struct remote *r, long nr, const uint64_t args[6], int64_t *ret)
{
	struct arch_words before, call;
	uint64_t mask, all = ~(1ull << (SIGSYS - 1));
	int64_t value = 0;
	uint32_t size;

	errno = 0;
	r->is_left = r->is_dispatched = false;
	if (!arch_patch->words_read(r->tid, &before) ||
	    sys_ptrace(PTRACE_GETSIGMASK, r->tid, (void *)MASK_SIZE, &mask))
		return false;
	size = arch_patch->is_narrow(&before)
		       ? 0
		       : arch_patch->frame_make(r->tid, &before, mask, r->frame, r->buf,
						ARCH_FRAME_MAX);
	if (!size || !remote_write(r->tid, r->mem_fd, r->frame, r->buf, size)) {
		errno = size ? errno : ENOEXEC;
		return false;
	}
	arch_patch->call_make(&before, r->code, r->frame, nr, args, &call);
	sys_point();
	/*
	 * In this order: from when the registers are set until they are restored, the thread
	 * restores itself if we are killed.
	 */
	if (!arch_patch->words_write(r->tid, &call))
		return false;
	if (sys_ptrace(PTRACE_SETSIGMASK, r->tid, (void *)MASK_SIZE, &all) ||
	    !call_run(r->tid, &value, &r->is_dispatched)) {
		r->is_left = true;
		return false;
	}
	sys_point();
	if (ptrace(PTRACE_SETSIGMASK, r->tid, (void *)MASK_SIZE, &mask)) {
		r->is_left = true; /* it was killed */
		return false;
	}
	sys_point();
	if (!arch_patch->words_write(r->tid, &before)) {
		r->is_left = true;
		return false;
	}
	sys_point();
	if (r->is_dispatched) {
		errno = EACCES;
		return false;
	}
	*ret = value;
	return true;
}
