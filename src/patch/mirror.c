/* SPDX-License-Identifier: MIT */
/*
 * Mirrors: the region once more in the same process, where a jump reaches it from code that lies
 * far away.
 *
 * Of shared memory, mremap(2) with an old size of 0 makes another mapping; the code, which is
 * private, is copied. All distances in a mirror are those of the region, so code and data are found
 * as there; what the region has for itself is the page of the switch behind it, and a mirror has
 * one of its own.
 */
#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "arch/patch.h"
#include "dtrace.h"
#include "kernel/sys.h"
#include "patch/hole.h"
#include "patch/patch_impl.h"
#include "target/code.h"
#include "target/remote.h"
#include "target/seize.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

struct mirroring {
	struct patch *p;
	taddr lo, hi; /* the code from which it must be reached */
	struct seized held;
	struct remote remote;
	taddr at; /* of the new one; 0: nothing is mapped */
	bool is_busy;
	struct err *e;
};

static uint64_t mirror_size(const struct patch *p)
{
	return p->head_size + p->code_size + p->data_size;
}

uint64_t mirror_span(const struct patch *p)
{
	return mirror_size(p) + PATCH_PAGE;
}

static bool mirror_is_near(const struct patch *p, taddr at, taddr lo, taddr hi)
{
	taddr end = at + mirror_span(p);

	return MAX(hi, end) - MIN(lo, at) <= PATCH_REACH;
}

bool mirrors_have_code(const struct patch *p, taddr addr)
{
	for (uint32_t i = 0; i < p->nmirrors; i++)
		if (addr - (p->mirrors[i] + p->head_size) < p->code_size)
			return true;
	return false;
}

/* ---- switches -------------------------------------------------------------------------------- */

enum gate_state { GATE_FREE, GATE_SHUT, GATE_OPEN };

taddr mirrors_switch_addr(const struct patch *p, uint32_t i)
{
	return i < p->nmirrors ? p->mirrors[i] + mirror_size(p) : patch_switch_addr(p);
}

/* The page of a row of gates: of a mirror, or, behind these, of the region. */
static taddr gates_addr(const struct patch *p, uint32_t i)
{
	return mirrors_switch_addr(p, MIN(i, p->nmirrors)) + PATCH_GATES_AT;
}

/* A process may have unmapped a mirror: nothing of it is left that could fire. */
static void gates_write(const struct patch *p, int mem_fd, uint32_t i, bool is_on)
{
	uint8_t bytes[PATCH_GATES];

	for (uint32_t k = 0; k < PATCH_GATES; k++)
		bytes[k] = is_on && p->gates[i][k] == GATE_OPEN;
	(void)!pwrite(mem_fd, bytes, sizeof(bytes), (off_t)gates_addr(p, i));
}

void mirrors_switch(const struct patch *p, int mem_fd, bool is_on)
{
	for (uint32_t i = 0; i < p->nmirrors; i++)
		gates_write(p, mem_fd, i, is_on);
	gates_write(p, mem_fd, PATCH_MIRRORS_MAX, is_on);
}

bool patch_gate_take(struct patch *p, uint64_t shift, taddr *ret)
{
	uint32_t i = 0;

	while (i < p->nmirrors && p->mirrors[i] - p->journal->region != shift)
		i++;
	if (i == p->nmirrors && shift)
		return false;
	i = shift ? i : PATCH_MIRRORS_MAX;
	for (uint32_t k = 0; k < PATCH_GATES; k++)
		if (p->gates[i][k] == GATE_FREE) {
			p->gates[i][k] = GATE_SHUT;
			*ret = gates_addr(p, i) + k;
			return true;
		}
	return false;
}

static void gate_set(struct patch *p, taddr gate, enum gate_state state)
{
	for (uint32_t i = 0; i <= PATCH_MIRRORS_MAX; i++) {
		bool is_used = i < p->nmirrors || i == PATCH_MIRRORS_MAX;
		uint8_t byte = state == GATE_OPEN && p->is_on;

		if (!is_used || gate - gates_addr(p, i) >= PATCH_GATES)
			continue;
		p->gates[i][gate - gates_addr(p, i)] = (uint8_t)state;
		(void)!pwrite(p->mem_fd, &byte, 1, (off_t)gate);
	}
	if (state == GATE_OPEN)
		owner_write(p); /* the mirror may be new */
}

void patch_gate_open(struct patch *p, taddr gate, bool is_open)
{
	gate_set(p, gate, is_open ? GATE_OPEN : GATE_SHUT);
}

void patch_gate_free(struct patch *p, taddr gate)
{
	gate_set(p, gate, GATE_FREE);
}

/* ---- in the process -------------------------------------------------------------------------- */

static struct err *mirror_call(struct mirroring *t, const char *name, long nr,
			       const uint64_t args[6], uint64_t want)
{
	int64_t value;

	if (t->remote.is_left || !remote_call(&t->remote, nr, args, &value))
		value = -(errno ? errno : EIO);
	t->p->is_left |= t->remote.is_left;
	if ((uint64_t)value == want)
		return NULL;
	return t->remote.is_dispatched
		       ? refuse_dispatch(t->p->pid)
		       : refuse_call(t->p->pid, name, value < 0 ? (int)-value : EEXIST);
}

static struct err *mirror_reserve(struct mirroring *t, taddr at, uint64_t size)
{
	const uint64_t args[6] = {at,
				  size,
				  PROT_NONE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
				  ~0ull,
				  0};
	struct err *e = mirror_call(t, "mmap", SYS_mmap, args, at);

	t->at = e ? 0 : at;
	return e;
}

/* Maps a part of the region once more over what was reserved. */
static struct err *part_map(struct mirroring *t, taddr from, uint64_t size, taddr to)
{
	const uint64_t args[6] = {from, 0, size, MREMAP_MAYMOVE | MREMAP_FIXED, to, 0};

	return size ? mirror_call(t, "mremap", SYS_mremap, args, to) : NULL;
}

#define COPY_SIZE 65536u /* bytes that are copied at once */

static struct err *code_map(struct mirroring *t, taddr at)
{
	const struct patch *p = t->p;
	const uint64_t args[6] = {at,
				  p->code_size,
				  PROT_READ | PROT_EXEC,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				  ~0ull,
				  0};

	return mirror_call(t, "mmap", SYS_mmap, args, at);
}

/* The process runs: no jump leads there yet. Code that is written later is written to both. */
static struct err *code_copy(const struct patch *p, taddr at)
{
	CLEANUP(free) uint8_t *buf = xmalloc(COPY_SIZE);
	struct err *e = NULL;

	for (uint64_t off = 0; off < p->code_end && !e; off += COPY_SIZE) {
		size_t n = (size_t)MIN(p->code_end - off, (uint64_t)COPY_SIZE);
		taddr from = p->journal->region + p->head_size + off;

		if (sys_pread(p->mem_fd, buf, n, from) != (ssize_t)n ||
		    sys_pwrite(p->mem_fd, buf, n, at + off) != (ssize_t)n)
			e = err_code(err_sys(errno, "cannot copy code in process %d", (int)p->pid),
				     EDT_NOTSUP);
	}
	return e;
}

static struct err *switch_map(struct mirroring *t, taddr at)
{
	const uint64_t page[6] = {at,
				  PATCH_PAGE,
				  PROT_READ | PROT_WRITE,
				  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
				  ~0ull,
				  0};
	const uint64_t wipe[6] = {at, PATCH_PAGE, MADV_WIPEONFORK};
	struct err *e = mirror_call(t, "mmap", SYS_mmap, page, at);

	return e ? e : mirror_call(t, "madvise", SYS_madvise, wipe, 0);
}

static struct err *mirror_map(struct mirroring *t, taddr at)
{
	const struct patch *p = t->p;
	uint64_t code = p->head_size + p->code_size, size = mirror_size(p);
	struct err *e = mirror_reserve(t, at, mirror_span(p));

	if (!e)
		e = part_map(t, p->journal->region, p->head_size, at);
	if (!e)
		e = code_map(t, at + p->head_size);
	if (!e)
		e = part_map(t, p->data, p->data_size, at + code);
	if (!e)
		e = switch_map(t, at + size);
	if (!e && !region_is_at(p, at))
		e = err_code(err_new("process %d has not mapped the region once more", (int)p->pid),
			     EDT_NOTSUP);
	return e;
}

static void mirror_unmap(struct mirroring *t)
{
	const uint64_t args[6] = {t->at, mirror_span(t->p)};

	if (t->at)
		err_destroy(mirror_call(t, "munmap", SYS_munmap, args, 0));
	t->at = 0;
}

/* ---- holding --------------------------------------------------------------------------------- */

/* Why the thread, which is held, makes no calls; NULL: it may. */
static struct err *thread_lack(struct mirroring *t, pid_t tid)
{
	const struct windows_journal *j = t->p->journal;
	struct err *e = refuse_thread(t->p->pid, tid);

	if (!e && !windows_is_there(j, t->p->mem_fd))
		e = refuse_gone(t->p->pid);
	if (!e && j->suspends && !seize_suspend(tid))
		e = refuse_hold(t->p->pid, true, tid, errno);
	/* a filter that it has got since it was entered might end it for a call of ours */
	if (!e && !j->suspends && proc_status_field(tid, "Seccomp") != 0)
		e = refuse_hold(t->p->pid, false, tid, EPERM);
	return e;
}

/*
 * Holds a thread that may make calls, while the others run: what it maps is no memory of theirs.
 * False: none does, with t->e.
 */
static bool thread_hold(struct mirroring *t)
{
	pid_t pid = t->p->pid;
	tid_vec tids = {0};
	bool is_held = false;

	t->e = threads_list(pid, &tids);
	if (!t->e)
		t->e = refuse_gone(pid);
	threads_put_asleep_first(&tids);
	for (uint32_t i = 0; i < tids.len && !is_held && !t->is_busy; i++) {
		enum seize_result r = seize_thread(pid, tids.data[i], &t->held);

		if (r != SEIZE_GONE) {
			err_destroy(t->e);
			t->e = r == SEIZE_DONE ? thread_lack(t, tids.data[i])
			       : r == SEIZE_BUSY
				       ? refuse_busy(pid, tids.data[i])
				       : refuse_hold(pid, false, tids.data[i], t->held.sys);
		}
		t->is_busy = r == SEIZE_BUSY;
		is_held = r == SEIZE_DONE && !t->e;
		t->remote.tid = tids.data[i];
		if (!is_held)
			seize_release(&t->held);
	}
	vec_deinit(&tids);
	return is_held;
}

static struct err *mirror_make(struct mirroring *t)
{
	struct proc_maps maps;
	struct err *e = proc_maps_read(t->p->pid, &maps);
	taddr at;

	if (e)
		return e;
	at = hole_find(&maps, mirror_span(t->p), t->lo, t->hi);
	proc_maps_deinit(&maps);
	if (!at)
		return err_code(err_new("process %d has no room for %llu bytes near the code that "
					"it has mapped once more",
					(int)t->p->pid, (unsigned long long)mirror_size(t->p)),
				EDT_NOTSUP);
	e = mirror_map(t, at);
	if (e)
		mirror_unmap(t);
	return e;
}

/* Takes a mirror away again; one that stays has nothing that leads there. */
static void leave_run(void *ctx)
{
	struct mirroring *t = ctx;

	if (thread_hold(t) && region_is_at(t->p, t->at))
		mirror_unmap(t);
	err_destroy(t->e);
	t->e = NULL;
	seize_release(&t->held);
}

static void mirror_run(void *ctx)
{
	struct mirroring *t = ctx;

	t->is_busy = false;
	if (thread_hold(t))
		t->e = mirror_make(t);
	seize_release(&t->held);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static struct err *mirror_add(struct patch *p, taddr lo, taddr hi, const atomic_int *is_interrupted)
{
	struct mirroring t = {.p = p, .lo = lo, .hi = hi};
	uint64_t until = now_ns() + p->busy_ns;
	struct err *e;

	t.remote = (struct remote){.mem_fd = p->mem_fd,
				   .code = p->journal->call,
				   .frame = p->journal->frame,
				   .buf = xmalloc(ARCH_FRAME_MAX)};
	e = worker_run(mirror_run, &t);
	while (!e && t.is_busy && busy_wait(until, is_interrupted)) { /* nothing was changed */
		err_destroy(t.e);
		t.e = NULL;
		e = worker_run(mirror_run, &t);
	}
	if (!e && !t.e) {
		struct err *copied = code_copy(p, t.at + p->head_size);

		if (copied)
			e = worker_run(leave_run, &t);
		t.e = copied;
	}
	free(t.remote.buf);
	if (e || t.e) {
		if (e)
			err_destroy(t.e);
		return e ? e : t.e;
	}
	p->mirrors[p->nmirrors++] = t.at;
	own_add(p, t.at, mirror_span(p));
	return NULL;
}

struct err *patch_mirror(struct patch *p, taddr lo, taddr hi, const atomic_int *is_interrupted,
			 uint64_t *ret_shift)
{
	bool is_whole = p->journal->region_size == mirror_size(p);
	struct err *e = NULL;

	*ret_shift = 0;
	if (!is_whole)
		return err_code(err_new("the data of process %d is not near its code", (int)p->pid),
				EDT_NOTSUP);
	if (mirror_is_near(p, p->journal->region, lo, hi))
		return NULL;
	for (uint32_t i = 0; !e; i++) {
		/* it restores itself later from where another call would have its registers */
		if (i == p->nmirrors && p->is_left)
			return err_code(err_new("a thread of process %d is still in a call that it "
						"was to make",
						(int)p->pid),
					EDT_NOTSUP);
		if (i == PATCH_MIRRORS_MAX)
			return err_code(err_new("process %d has too much code far away",
						(int)p->pid),
					EDT_NOTSUP);
		if (i == p->nmirrors)
			e = mirror_add(p, lo, hi, is_interrupted);
		if (!e && mirror_is_near(p, p->mirrors[i], lo, hi)) {
			*ret_shift = p->mirrors[i] - p->journal->region;
			break;
		}
	}
	return e;
}
