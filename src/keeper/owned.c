/* SPDX-License-Identifier: MIT */
/* Takes away the words of an owner thread that has a twin (owned.h). */
#include "keeper/owned.h"

#include <errno.h>
#include <linux/bpf.h>
#include <linux/membarrier.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "keeper/patched.h"
#include "keeper/windows.h"

#define LOOK_MAX 16 /* processes with events that are asked for at a time */
#define REST_MAX 50 /* looks at events that are not whole yet, 1 ms apart */

/* ---- the words ------------------------------------------------------------------------------- */

/* The beginning of the journal; NULL: the process has no windows. */
static struct windows_journal *journal_open(const struct patched_process *w)
{
	void *j = w ? mmap(NULL, sizeof(struct windows_journal), PROT_READ | PROT_WRITE, MAP_SHARED,
			   w->journal_fd, 0)
		    : MAP_FAILED;

	return j == MAP_FAILED ? NULL : j;
}

static void journal_close(struct windows_journal *j)
{
	(void)munmap(j, sizeof(*j));
}

/* Words that the process has unmapped, or that have ended with it, are no error. */
static void words_set(const struct windows_journal *j, int mem_fd, taddr pointer)
{
	const struct windows_owner *w = &j->owner;
	uint32_t n = __atomic_load_n(&w->nwords, __ATOMIC_ACQUIRE);

	if (!windows_is_there(j, mem_fd))
		return;
	for (uint32_t i = 0; i < MIN(n, (uint32_t)WINDOWS_OWN_MAX); i++)
		(void)!pwrite(mem_fd, &pointer, sizeof(pointer), (off_t)w->words[i]);
}

/*
 * The tracer takes the pointer out of the journal before it makes the words 0 itself. So who writes
 * it looks there once more.
 */
static void words_write(const struct owned_process *x, const struct patched *p)
{
	const struct patched_process *w = patched_find(p, x->id);
	struct windows_journal *j = journal_open(w);
	taddr pointer;

	if (!j)
		return;
	pointer = __atomic_load_n(&j->owner.pointer, __ATOMIC_SEQ_CST);
	words_set(j, w->mem_fd, pointer);
	if (pointer && __atomic_load_n(&j->owner.pointer, __ATOMIC_SEQ_CST) != pointer)
		words_set(j, w->mem_fd, 0);
	journal_close(j);
}

/* Returns false if the tracer has resumed the process, because it could not wait for the keeper. */
static bool words_take_away(const struct owned_process *x, const struct patched *p)
{
	const struct patched_process *w = patched_find(p, x->id);
	struct windows_journal *j = journal_open(w);
	bool is_ours = true;

	if (!j)
		return true;
	words_set(j, w->mem_fd, 0);
	is_ours = !__atomic_load_n(&j->owner.is_resumed, __ATOMIC_ACQUIRE);
	__atomic_store_n(&j->owner.is_ended, true, __ATOMIC_RELEASE);
	journal_close(j);
	return is_ours;
}

/* ---- the program in the kernel --------------------------------------------------------------- */

/* No maker is stopped any more, but for one whose program runs just now. */
static void program_silence(const struct owned_process *x)
{
	uint32_t key;
	union bpf_attr attr = {.map_fd = (uint32_t)x->procs_fd,
			       .next_key = (uint64_t)(uintptr_t)&key};

	if (syscall(SYS_bpf, BPF_MAP_GET_NEXT_KEY, &attr, sizeof(attr)))
		return;
	attr = (union bpf_attr){.map_fd = (uint32_t)x->procs_fd, .key = (uint64_t)(uintptr_t)&key};
	(void)syscall(SYS_bpf, BPF_MAP_DELETE_ELEM, &attr, sizeof(attr));
}

static bool has_events(const struct owned_process *x)
{
	uint64_t pos = ringbuf_begin(&x->events), begin = pos;
	uint32_t len;

	while (ringbuf_next(&x->events, &pos, &len))
		;
	ringbuf_give_up(&x->events, pos);
	return pos != begin;
}

static bool has_rest(const struct owned_process *x)
{
	return ringbuf_begin(&x->events) != __atomic_load_n(x->events.written, __ATOMIC_ACQUIRE);
}

static void program_pause(void)
{
	const struct timespec pause = {.tv_nsec = 1000000};

	(void)nanosleep(&pause, NULL);
}

static void process_attend(struct owned_process *x, const struct patched *p)
{
	bool is_stopped;

	if (!has_events(x))
		return;
	is_stopped = words_take_away(x, p);
	if (!x->has_twin)
		program_silence(x);
	x->has_twin = true;
	if (is_stopped) /* fails if the process has ended */
		(void)syscall(SYS_pidfd_send_signal, x->pidfd, SIGCONT, NULL, 0);
}

/* ---- the list -------------------------------------------------------------------------------- */

static struct owned_process *process_find(const struct owned *o, uint64_t id)
{
	for (uint32_t i = 0; i < o->n; i++)
		if (o->list[i].id == id)
			return (struct owned_process *)&o->list[i];
	return NULL;
}

int owned_add(struct owned *o, uint64_t id, const int fds[3])
{
	struct owned_process x = {id, fds[0], fds[1], fds[2], {0}, false};
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = id};
	int sys;

	if (o->n == OWNED_MAX)
		return EUSERS;
	if (o->poll_fd < 0)
		o->poll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (o->poll_fd < 0)
		return errno;
	sys = ringbuf_map(x.events_fd, true, &x.events);
	if (!sys && epoll_ctl(o->poll_fd, EPOLL_CTL_ADD, x.events_fd, &ev)) {
		sys = errno;
		ringbuf_unmap(&x.events);
	}
	if (!sys)
		o->list[o->n++] = x;
	return sys;
}

void owned_write(const struct owned *o, const struct patched *p, uint64_t id)
{
	const struct owned_process *x = process_find(o, id);

	if (x && !x->has_twin)
		words_write(x, p);
}

void owned_look(struct owned *o, const struct patched *p)
{
	struct epoll_event evs[LOOK_MAX];
	int n = epoll_wait(o->poll_fd, evs, LOOK_MAX, 0);

	for (int i = 0; i < n; i++) {
		struct owned_process *x = process_find(o, evs[i].data.u64);

		if (x)
			process_attend(x, p);
	}
}

static void process_close(struct owned *o, struct owned_process *x)
{
	(void)epoll_ctl(o->poll_fd, EPOLL_CTL_DEL, x->events_fd, NULL);
	ringbuf_unmap(&x->events);
	(void)close(x->pidfd);
	(void)close(x->events_fd);
	(void)close(x->procs_fd);
}

void owned_drop(struct owned *o, const struct patched *p, uint64_t id)
{
	struct owned_process *x = process_find(o, id);

	if (!x)
		return;
	process_attend(x, p);
	/* an event is whole when its maker was stopped */
	for (int i = 0; i < REST_MAX && has_rest(x); i++) {
		program_pause();
		process_attend(x, p);
	}
	process_close(o, x);
	*x = o->list[--o->n];
}

/* A program that runs meanwhile has found the process before, and stops its maker after that. */
void owned_release(struct owned *o, const struct patched *p)
{
	for (uint32_t i = 0; i < o->n; i++) {
		program_silence(&o->list[i]);
		process_attend(&o->list[i], p);
	}
	/* refused with nohz_full, and by filters of system calls */
	if (o->n && syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0))
		for (int i = 0; i < REST_MAX; i++)
			program_pause();
	while (o->n)
		owned_drop(o, p, o->list[0].id);
}
