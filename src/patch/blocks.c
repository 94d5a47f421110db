/* SPDX-License-Identifier: MIT */
/*
 * Where code in the process finds the number of the thread that runs it: in the thread's block, at
 * an offset that is looked for. One thread is held at a time, as for what threads are asked
 * (threads.c); all others run.
 */
#include <errno.h>
#include <sys/uio.h>

#include "arch/arch.h"
#include "patch/patch_impl.h"
#include "target/seize.h"

#define BLOCK_MAX 4096u		/* bytes of a thread block that are searched for the thread's id */
#define LOOK_NS	  1000000000ull /* for all threads: one that does not stop takes half of it */

struct looking {
	pid_t pid;
	tid_vec tids;
	bool is_one[BLOCK_MAX / 4]; /* all threads so far have their ids there */
	bool is_known, is_refused;
	struct patch_blocks *ret;
};

/*
 * Keeps the offsets at which the block of this thread has the thread's id, as in all before. Behind
 * the block of a thread may be nothing: what is mapped there is read.
 */
static bool tid_offsets_keep(struct looking *l, pid_t tid, taddr block)
{
	uint32_t words[BLOCK_MAX / 4];
	struct iovec to = {words, sizeof(words)};
	struct iovec from = {(void *)(uintptr_t)block, sizeof(words)}; /* of the process */
	ssize_t size = process_vm_readv(tid, &to, 1, &from, 1, 0);
	bool is_some = false;

	for (int32_t i = 0; i < (int32_t)BLOCK_MAX / 4; i++) {
		l->is_one[i] &= 4 * i + 4 <= size && words[i] == (uint32_t)tid;
		is_some |= l->is_one[i];
	}
	return is_some;
}

/* The thread may not have come so far that the C library has given it a block. */
static void block_look(struct looking *l, pid_t tid)
{
	struct arch_regs regs;

	if (!arch.regs_read(tid, &regs))
		return; /* it has ended */
	l->ret->lacks_one |= !regs.thread_pointer;
	l->is_known &= regs.thread_pointer && tid_offsets_keep(l, tid, regs.thread_pointer);
}

static void looking_run(void *ctx)
{
	struct looking *l = ctx;
	uint64_t until = now_ns() + LOOK_NS;
	struct seized held;

	for (uint32_t i = 0; i < l->tids.len && !l->is_refused; i++) {
		switch (seize_thread(l->pid, l->tids.data[i], &held)) {
		case SEIZE_DONE: block_look(l, l->tids.data[i]); break;
		case SEIZE_GONE: break;
		case SEIZE_BUSY: l->is_known = false; break; /* what it has in its block */
		case SEIZE_MANY:
		case SEIZE_REFUSED: l->is_refused = true; break;
		}
		seize_release(&held);
		if (now_ns() > until) {
			l->is_known = false; /* of those that are left, nothing is known either */
			break;
		}
	}
}

/* Where a thread has several, the C library's own place is meant if it is among them. */
static bool tid_offset_choose(const struct looking *l, int32_t *ret)
{
	static const uint32_t usual = 0x2d0; /* glibc: struct pthread.tid, from 2.3 to 2.41 */
	uint32_t n = 0;

	for (uint32_t i = 0; i < ARRAY_LEN(l->is_one); i++) {
		n += l->is_one[i];
		if (l->is_one[i])
			*ret = (int32_t)(4 * i);
	}
	if (n > 1 && l->is_one[usual / 4]) {
		*ret = (int32_t)usual;
		n = 1;
	}
	return l->is_known && n == 1;
}

bool patch_blocks_read(pid_t pid, struct patch_blocks *ret)
{
	struct looking l = {.pid = pid, .ret = ret, .is_known = true};
	struct err *e = threads_list(pid, &l.tids);

	*ret = (struct patch_blocks){0};
	memset(l.is_one, true, sizeof(l.is_one));
	l.is_known = l.tids.len > 0;
	if (!e)
		e = worker_run(looking_run, &l);
	ret->has_tid = tid_offset_choose(&l, &ret->tid_off);
	vec_deinit(&l.tids);
	if (!e)
		return !l.is_refused;
	err_destroy(e);
	return false;
}
