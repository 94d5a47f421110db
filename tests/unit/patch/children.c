/* SPDX-License-Identifier: MIT */
/*
 * Children of a process with windows, when these are taken back: those that have windows are held
 * for a moment and have their code again, and those that have none are not stopped.
 */
#include "tap.h"

#ifdef __x86_64__

#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

#include "arch/patch.h"
#include "files/gate.h"
#include "patch/patch_impl.h"
#include "patch/victim.h"

/* A call that nobody makes, which has the same first byte when it is changed. */
__asm__(".pushsection .text\n.balign 16\nchild_call:\ncall child_called\nchild_called:\nret\n"
	".popsection");
extern uint8_t child_call[];

#define NWINDOWS (V_COUNT + 1u)

static struct gate *gate;
static struct patch_window windows[NWINDOWS];
static int wakes; /* ends the child's waiting */

/* The child waits in a call that fails when it is stopped: signals counts that. */
static void fork_run(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	int ep = epoll_create1(EPOLL_CLOEXEC), n;
	pid_t child;

	(void)epoll_ctl(ep, EPOLL_CTL_ADD, wakes, &ev);
	shared->is_ready = 1;
	(void)await(&shared->go, 1);
	child = fork();
	if (!child) {
		shared->handling = (unsigned int)getpid();
		while ((n = epoll_wait(ep, &ev, 1, 60000)) < 0 && errno == EINTR)
			(void)atomic_fetch_add(&shared->signals, 1);
		_exit(n == 1 ? 0 : 7);
	}
	while (waitpid(child, &n, 0) < 0 && errno == EINTR)
		;
	_exit(n ? 8 : 0);
}

static struct patch *patch_all(pid_t pid)
{
	struct patch_opts o = victim_opts(gate, NULL);
	enum patch_state s[NWINDOWS];
	struct patch *p = NULL;
	struct err *e = patch_open(pid, &o, &p);

	if (!e)
		e = victim_windows(p, windows);
	windows[V_COUNT] = (struct patch_window){.addr = (taddr)child_call, .is_call = true};
	windows[V_COUNT].stub = windows[0].stub;
	memcpy(windows[V_COUNT].old, child_call, sizeof(windows[V_COUNT].old));
	if (!e)
		e = patch_write(p, windows, NWINDOWS, NULL, s);
	if (e)
		BUG("%s", err_text(e));
	for (uint32_t i = 0; i < NWINDOWS; i++)
		if (s[i] != PATCH_IN)
			BUG("window %u: %d", i, (int)s[i]);
	return p;
}

/* What somebody has done to the windows of the child. */
enum change {
	CHANGE_NONE,
	CHANGE_OTHER,
	CHANGE_OLD,
	CHANGE_PAD,
	CHANGE_BREAKPOINT,
	CHANGE_CALL,
};

static bool is_waiting(pid_t child)
{
	CLEANUP(file) FILE *f = NULL;
	char path[64];
	long nr = -1;

	(void)snprintf(path, sizeof(path), "/proc/%d/syscall", (int)child);
	f = fopen(path, "re");
	return f && fscanf(f, "%ld", &nr) == 1 && (nr == SYS_epoll_wait || nr == SYS_epoll_pwait);
}

static void bytes_write(int fd, taddr at, const void *bytes, size_t size)
{
	if (pwrite(fd, bytes, size, (off_t)at) != (ssize_t)size)
		BUG("pwrite");
}

static void child_change(pid_t child, enum change how)
{
	static const uint8_t other[5] = {0x0f, 0x1f, 0x44, 0x00, 0x00};
	CLEANUP(fd) int fd = process_memory_open(child);

	for (uint32_t i = 0; i < NWINDOWS; i++) {
		const struct patch_window *w = &windows[i];
		size_t size = w->pad ? arch_patch->short_size : arch_patch->jump_size;

		switch (how) {
		case CHANGE_NONE: break;
		case CHANGE_OTHER:
			bytes_write(fd, w->addr, other, size);
			if (w->pad)
				bytes_write(fd, w->pad, other, sizeof(other));
			break;
		case CHANGE_OLD:
		case CHANGE_PAD:
			bytes_write(fd, w->addr, w->old, size);
			if (w->pad && how == CHANGE_OLD)
				bytes_write(fd, w->pad, w->old_pad, sizeof(w->old_pad));
			break;
		/*
		 * Where a jump has begun with another byte than the file has, nothing can be taken
		 * back; behind the first byte of a call it can.
		 */
		case CHANGE_BREAKPOINT:
		case CHANGE_CALL:
			if (w->is_call && how == CHANGE_BREAKPOINT)
				bytes_write(fd, w->addr, w->old, size);
			else
				bytes_write(fd, w->addr, &arch_patch->breakpoint, 1);
			if (w->pad)
				bytes_write(fd, w->pad, w->old_pad, sizeof(w->old_pad));
			break;
		}
	}
}

/* But for a breakpoint. */
static bool call_is_clean(pid_t child)
{
	CLEANUP(fd) int fd = process_memory_open(child);
	uint8_t now[4];

	return pread(fd, now, sizeof(now), (off_t)((taddr)child_call + 1)) ==
		       (ssize_t)sizeof(now) &&
	       memcmp(now, child_call + 1, sizeof(now)) == 0;
}

static void test_child(enum change how, bool is_held, const char *what)
{
	pid_t pid = victim_start(fork_run), child;
	struct patch *p;
	bool is_clean;

	(void)await(&shared->is_ready, 1);
	p = patch_all(pid);
	shared->go = 1;
	(void)await(&shared->handling, 1);
	child = (pid_t)shared->handling;
	while (!is_waiting(child) && kill(child, 0) == 0)
		(void)usleep(1000);
	child_change(child, how);
	if (how == CHANGE_NONE) {
		uint32_t n = 0;

		ok(windows_undo_children(p->journal, p->region_fd, now_ns(), &n, NULL) > 0 &&
			   n == 0 && !victim_is_clean(child),
		   "one for which there is no time is left");
	}
	if (how == CHANGE_OLD)
		is_int(windows_undo_children(p->journal, p->region_fd, now_ns(), NULL, NULL), 0,
		       "one without windows has none left when there is no time");
	ok(!patch_take_back_all(p), "%s", what);
	is_clean = victim_is_clean(child);
	ok(is_clean == (how <= CHANGE_PAD && how != CHANGE_OTHER), "and has %s code",
	   is_clean ? "the file's" : "its own");
	ok(call_is_clean(child) == (how != CHANGE_OTHER), "and %s call",
	   how == CHANGE_OTHER ? "its own" : "the file's");
	patch_close(p);
	(void)!write(wakes, &(uint64_t){1}, 8);
	is_int(victim_end(pid), 0, "and ends as it would");
	ok((shared->signals > 0) == is_held, "it was %s", is_held ? "held" : "not stopped");
	(void)!read(wakes, &(uint64_t){0}, 8);
}

int main(void)
{
	if (geteuid()) {
		printf("1..0 # SKIP needs privilege\n");
		return 0;
	}
	gate = gate_create();
	wakes = eventfd(0, EFD_CLOEXEC);
	test_child(CHANGE_NONE, true, "a child with all windows");
	test_child(CHANGE_OLD, false, "one that has had them taken out");
	test_child(CHANGE_PAD, true, "one that has a pad left");
	test_child(CHANGE_OTHER, false, "one with other code in their place");
	test_child(CHANGE_BREAKPOINT, false, "one with breakpoints in their place");
	test_child(CHANGE_CALL, true, "one with a breakpoint on a call that leads to a stub");
	(void)close(wakes);
	gate_destroy(gate);
	return tap_done();
}

#else

int main(void)
{
	printf("1..0 # SKIP windows are made for x86-64 only\n");
	return 0;
}

#endif
