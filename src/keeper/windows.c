/* SPDX-License-Identifier: MIT */
/* Writes windows into a process that is held, and takes them back. */
#include "keeper/windows.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "arch/patch.h"
#include "kernel/sys.h"
#include "target/code.h"
#include "target/ident.h"
#include "target/remote.h"
#include "target/seize.h"

#define PAGE	    4096
#define STACK_WORDS 8192      /* that are read at once */
#define STACK_MAX   (8 << 20) /* bytes of one stack that are looked at */
#define PARTS_MAX   64	      /* mappings of one stack */
#define STACKS_MAX  16	      /* of one thread: its own, and those that signals have interrupted */
#define MOVES_MAX   1024      /* threads that are moved out of windows during one stop */

/* Linux include/uapi/linux/fs.h, v6.11: struct procmap_query, PROCMAP_QUERY */
struct map_query {
	uint64_t size, flags, addr, start, end, found, page_size, off, inode;
	uint32_t dev[2], name_size, build_id_size;
	uint64_t name, build_id;
};
#define MAP_QUERY    _IOWR('f', 17, struct map_query)
#define MAP_WRITABLE 2u

/* Addresses at which no thread may be, or return to, while a window is changed. */
struct range {
	taddr lo, hi; /* hi is the last one */
	uint32_t i;   /* of the job's rows */
};

struct plan {
	uint8_t new[WINDOWS_JUMP], new_pad[WINDOWS_JUMP];
	uint8_t now[WINDOWS_JUMP], now_pad[WINDOWS_JUMP];
	uint8_t size; /* of the jump at addr */
	bool changes;
	bool keeps_pad; /* a thread is about to return to it */
	/*
	 * Somebody's breakpoint is where the jump begins, which has the same first byte as what the
	 * file has there: the breakpoint stays, and what is behind it is taken back.
	 */
	bool has_breakpoint;
};

struct move {
	pid_t tid;
	uint32_t i;
	taddr to;
};

struct work {
	struct windows_job *job;
	struct seized held;
	int maps_fd; /* of its mappings; -1: there is none */
	struct plan plans[WINDOWS_BATCH];
	struct range ranges[WINDOWS_BATCH];
	uint32_t nranges;
	struct move moves[MOVES_MAX];
	uint32_t nmoves;
	/* windows_have_threads(): */
	bool is_looking;
	bool is_partial; /* not all of a stack was read */
	bool has_word;	 /* a stack of the thread has an address in a range */
	bool has_frame;	 /* one may have the frame of a signal */
	bool is_left;	 /* a thread has both */
	uint64_t words[STACK_WORDS + 4];
	struct {
		taddr from, to;
	} stacks[STACKS_MAX];
	uint32_t nstacks;
	struct iovec ours[2 * WINDOWS_BATCH], theirs[2 * WINDOWS_BATCH];
};

static const struct window_row *row_of(const struct work *w, uint32_t i)
{
	return &w->job->journal->rows[w->job->rows[i]];
}

static void result_set(struct work *w, uint32_t i, enum window_result r)
{
	w->job->results[i] = (uint8_t)r;
	w->plans[i].changes = false;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

static bool is_on_page(taddr addr, uint32_t size)
{
	return addr / PAGE == (addr + size - 1) / PAGE;
}

bool windows_jump_make(const struct window_row *r, uint8_t *ret_code)
{
	if (r->pad)
		return arch_patch->short_make(r->addr, r->pad, ret_code);
	if (!arch_patch->jump_make(r->addr, r->stub, ret_code))
		return false;
	if (r->is_call) /* the same distance from the same end */
		ret_code[0] = r->old[0];
	return true;
}

/* Makes the jumps; false: they do not reach. */
static bool plan_make(struct plan *p, const struct window_row *r)
{
	p->size = r->pad ? arch_patch->short_size : arch_patch->jump_size;
	if (!is_on_page(r->addr, p->size) || (r->pad && !is_on_page(r->pad, WINDOWS_JUMP)))
		return false;
	return windows_jump_make(r, p->new) &&
	       (!r->pad || arch_patch->jump_make(r->pad, r->stub, p->new_pad));
}

static void plans_make(struct work *w)
{
	for (uint32_t i = 0; i < w->job->n; i++) {
		w->job->results[i] = WINDOW_DONE;
		w->plans[i].changes = true;
		if (!plan_make(&w->plans[i], row_of(w, i)))
			result_set(w, i, WINDOW_BEYOND);
	}
}

static void iov_add(struct work *w, uint32_t *n, uint8_t *to, taddr from, size_t size)
{
	w->ours[*n] = (struct iovec){to, size};
	w->theirs[(*n)++] = (struct iovec){(void *)from, size};
}

/* Reads all at once where that is allowed, one by one otherwise. */
static void bytes_read(struct work *w)
{
	size_t want = 0;
	uint32_t n = 0;
	ssize_t got = 0;

	for (uint32_t i = 0; i < w->job->n; i++) {
		const struct window_row *r = row_of(w, i);

		if (!w->plans[i].changes)
			continue;
		iov_add(w, &n, w->plans[i].now, r->addr, w->plans[i].size);
		if (r->pad)
			iov_add(w, &n, w->plans[i].now_pad, r->pad, WINDOWS_JUMP);
	}
	for (uint32_t at = 0, some; at < n && got >= 0; at += some) {
		some = MIN(n - at, 1024u); /* IOV_MAX */
		for (uint32_t i = at; i < at + some; i++)
			want += w->ours[i].iov_len;
		got = process_vm_readv(w->held.threads[0].tid, w->ours + at, some, w->theirs + at,
				       some, 0);
		want -= (size_t)MAX(got, (ssize_t)0);
	}
	if (!want)
		return;
	for (uint32_t i = 0; i < w->job->n; i++) {
		const struct window_row *r = row_of(w, i);
		struct plan *p = &w->plans[i];

		if (p->changes && (sys_pread(w->job->mem_fd, p->now, p->size, r->addr) != p->size ||
				   (r->pad && sys_pread(w->job->mem_fd, p->now_pad, WINDOWS_JUMP,
							r->pad) != WINDOWS_JUMP)))
			result_set(w, i, WINDOW_REFUSED);
	}
}

static bool is_under_breakpoint(const struct plan *p, const struct window_row *r)
{
	return !r->pad && p->new[0] == r->old[0] &&
	       p->now[0] == arch_patch->breakpoint &&memcmp(p->now + 1, p->new + 1, p->size - 1u) ==
		       0;
}

/* Leaves windows alone that are not as they were left. */
static void bytes_compare(struct work *w)
{
	bool is_in = w->job->bounds;

	for (uint32_t i = 0; i < w->job->n; i++) {
		const struct window_row *r = row_of(w, i);
		struct plan *p = &w->plans[i];
		bool is_old = p->changes && memcmp(p->now, r->old, p->size) == 0;

		if (!p->changes)
			continue;
		if (is_in) {
			if (!is_old ||
			    (r->pad && memcmp(p->now_pad, r->old_pad, WINDOWS_JUMP) != 0))
				result_set(w, i, WINDOW_DIFFERS);
		} else if (is_under_breakpoint(p, r)) {
			p->has_breakpoint = true;
		} else if (memcmp(p->now, p->new, p->size) != 0) {
			/* of a window that was not written, or not wholly taken back */
			if (!is_old)
				result_set(w, i, WINDOW_DIFFERS);
			else if (!r->pad || memcmp(p->now_pad, p->new_pad, WINDOWS_JUMP) != 0)
				result_set(w, i, WINDOW_DONE);
		}
	}
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool is_of_group(const struct work *w, uint32_t i, uint32_t group)
{
	return group && w->job->groups[i] == group;
}

/*
 * Gives all windows of a group the result of one of them that cannot be written: none of them is.
 */
static void group_refuse(struct work *w, uint32_t group, enum window_result r)
{
	for (uint32_t i = 0; i < w->job->n; i++)
		if (is_of_group(w, i, group) &&
		    (w->plans[i].changes || w->job->results[i] == WINDOW_HELD))
			result_set(w, i, r);
}

/* Nothing is written of a group of which a window cannot be. */
static void groups_settle(struct work *w)
{
	for (uint32_t i = 0; i < w->job->n && w->job->groups; i++)
		if (w->job->groups[i] && !w->plans[i].changes)
			group_refuse(w, w->job->groups[i], (enum window_result)w->job->results[i]);
}

/* Whether a window of the group was written before row i: then there is time for all of it. */
static bool group_has_begun(const struct work *w, uint32_t i)
{
	uint32_t group = w->job->groups ? w->job->groups[i] : 0;

	for (uint32_t k = 0; k < i && group; k++)
		if (is_of_group(w, k, group) && w->plans[k].changes)
			return true;
	return false;
}

static bool bytes_put(const struct work *w, taddr addr, const uint8_t *from, size_t size)
{
	return remote_write(w->held.threads[0].tid, w->job->mem_fd, addr, from, size);
}

/* The jump that leads to the pad is there only as long as the pad is. */
static bool bytes_write(const struct work *w, uint32_t i)
{
	const struct window_row *r = row_of(w, i);
	const struct plan *p = &w->plans[i];

	if (w->job->bounds)
		return (!r->pad || bytes_put(w, r->pad, p->new_pad, WINDOWS_JUMP)) &&
		       bytes_put(w, r->addr, p->new, p->size);
	if (p->has_breakpoint)
		return bytes_put(w, r->addr + 1, r->old + 1, p->size - 1u);
	return bytes_put(w, r->addr, r->old, p->size) &&
	       (!r->pad || p->keeps_pad || memcmp(p->now_pad, p->new_pad, WINDOWS_JUMP) != 0 ||
		bytes_put(w, r->pad, r->old_pad, WINDOWS_JUMP));
}

/*
 * A thread is about to return into the window. One that is taken back leads nowhere any more, and
 * its pad can stay as long as that.
 */
static void window_hold(struct work *w, uint32_t i)
{
	if (w->job->bounds) {
		result_set(w, i, WINDOW_HELD);
		return;
	}
	w->job->results[i] = WINDOW_HELD;
	w->plans[i].keeps_pad = true;
}

/* ---- threads in windows ---------------------------------------------------------------------- */

static void ranges_sort(struct range *r, uint32_t n)
{
	for (uint32_t gap = n / 2; gap; gap /= 2)
		for (uint32_t i = gap; i < n; i++) {
			struct range x = r[i];
			uint32_t j = i;

			for (; j >= gap && r[j - gap].lo > x.lo; j -= gap)
				r[j] = r[j - gap];
			r[j] = x;
		}
}

/*
 * A window that is written must not be entered in its middle; the pad of one that is taken back
 * must not be entered any more. The middle of a call nobody enters: its instruction stays.
 */
static void ranges_make(struct work *w)
{
	for (uint32_t i = 0; i < w->job->n; i++) {
		const struct window_row *r = row_of(w, i);

		if (!w->plans[i].changes)
			continue;
		if (w->job->bounds && !r->is_call)
			w->ranges[w->nranges++] =
				(struct range){r->addr + 1, r->addr + w->plans[i].size - 1, i};
		else if (r->pad)
			w->ranges[w->nranges++] = (struct range){r->pad, r->pad, i};
	}
	ranges_sort(w->ranges, w->nranges);
}

static const struct range *range_find(const struct work *w, taddr addr)
{
	uint32_t low = 0, high = w->nranges, mid;

	while (low < high) {
		mid = low + (high - low) / 2;
		if (w->ranges[mid].lo <= addr)
			low = mid + 1;
		else
			high = mid;
	}
	return low && addr <= w->ranges[low - 1].hi ? &w->ranges[low - 1] : NULL;
}

static void pc_check(struct work *w, pid_t tid, taddr pc)
{
	const struct range *r = range_find(w, pc);
	const struct window_bounds *b;
	struct move m = {.tid = tid};

	if (!r || !w->plans[r->i].changes)
		return;
	if (w->is_looking) {
		window_hold(w, r->i);
		return;
	}
	m.i = r->i;
	if (w->job->bounds) {
		b = &w->job->bounds[r->i];
		for (uint8_t k = 0; k < MIN(b->n, WINDOWS_BOUNDS); k++)
			if (row_of(w, r->i)->addr + b->offs[k] == pc)
				m.to = b->to[k];
	} else {
		m.to = row_of(w, r->i)->addr;
	}
	if (m.to && w->nmoves < MOVES_MAX)
		w->moves[w->nmoves++] = m;
	else
		window_hold(w, r->i);
}

static void stack_add(struct work *w, taddr sp)
{
	for (uint32_t i = 0; i < w->nstacks; i++)
		if (sp >= w->stacks[i].from && sp < w->stacks[i].to)
			return;
	if (w->nstacks == STACKS_MAX) {
		w->is_partial = true;
		return;
	}
	w->stacks[w->nstacks].from = sp & ~7ull;
	w->stacks[w->nstacks++].to = (sp & ~7ull) + 1;
}

/*
 * Looks at words of a stack, before which stand the last three of those below. Frames of signals
 * say where else the thread has a stack.
 */
static void words_check(struct work *w, uint32_t n)
{
	taddr lo = w->ranges[0].lo, hi = w->ranges[w->nranges - 1].hi;
	uint64_t mask = arch_patch->frame_mask, mark = arch_patch->frame_mark & mask;
	const uint64_t *words = w->words + 4;

	for (uint32_t i = 0; i < n; i++) {
		if (words[i] - lo <= hi - lo) {
			const struct range *r = range_find(w, words[i]);

			w->has_word |= r != NULL;
			if (r && !w->is_looking)
				window_hold(w, r->i);
		}
		if ((words[i] & mask) == mark) {
			w->has_frame = true;
			stack_add(w, w->words[4 + i - arch_patch->frame_sp]);
		}
	}
}

/*
 * Reads words of a stack. The id of the process itself is of no use: when its first thread has
 * ended, the kernel finds no memory by it. Some containers forbid the call.
 */
static ssize_t stack_read(struct work *w, taddr at, size_t size)
{
	struct iovec ours = {w->words + 4, size};
	struct iovec theirs = {(void *)at, size};
	ssize_t got = process_vm_readv(w->held.threads[0].tid, &ours, 1, &theirs, 1, 0);

	return got < 0 ? pread(w->job->mem_fd, ours.iov_base, ours.iov_len, (off_t)at) : got;
}

/*
 * Where memory of ours begins above an address, which is no stack, although the kernel may have put
 * one right below it: it would take long to read, and what clauses have written there may look like
 * addresses of windows.
 */
static taddr own_begin(const struct work *w, taddr at)
{
	const struct windows_journal *j = w->job->journal;
	taddr begin = UINT64_MAX;

	for (uint32_t i = 0; i < MIN(j->nown, (uint32_t)WINDOWS_OWN_MAX); i++)
		if (j->own[i].hi > j->own[i].lo && j->own[i].lo > at)
			begin = MIN(begin, j->own[i].lo);
	return begin;
}

/*
 * Where a stack ends: before the first mapping that nobody can write to. Kernels that do not say it
 * have all read that follows, which may be megabytes of libraries above the stack of a thread.
 */
static taddr stack_end(const struct work *w, taddr at)
{
	taddr end = at;

	for (uint32_t i = 0; i < PARTS_MAX && end - at < STACK_MAX; i++) {
		struct map_query q = {.size = sizeof(q), .addr = end};

		if (w->maps_fd < 0 || ioctl(w->maps_fd, MAP_QUERY, &q)) {
			if (w->maps_fd >= 0 && errno == ENOENT)
				return end;
			break;
		}
		if (!(q.found & MAP_WRITABLE))
			return end;
		end = q.end;
	}
	return at + STACK_MAX;
}

/* Most stacks are read at once: only of others it is asked where they end. */
static void stack_check(struct work *w, uint32_t k)
{
	taddr at = w->stacks[k].from, own = own_begin(w, at), end = MIN(at + STACK_WORDS * 8, own);
	bool is_end_known = false;
	ssize_t got, size;

	memset(w->words, 0, 4 * sizeof(*w->words));
	while (at < end) {
		size = (ssize_t)MIN(end - at, (taddr)STACK_WORDS * 8);
		got = stack_read(w, at, (size_t)size);
		if (got < 8)
			break;
		at += (taddr)got & ~7ull;
		w->stacks[k].to = at;
		words_check(w, (uint32_t)got / 8);
		if (got < size || size < STACK_WORDS * 8)
			break;
		if (!is_end_known)
			end = MIN(stack_end(w, w->stacks[k].from), own);
		is_end_known = true;
		memcpy(w->words, w->words + STACK_WORDS, 4 * sizeof(*w->words));
	}
	if (at == w->stacks[k].from || at - w->stacks[k].from >= STACK_MAX)
		w->is_partial = true;
}

static void threads_check(struct work *w)
{
	struct arch_words regs;

	for (uint32_t i = 0; i < w->held.n && w->nranges; i++) {
		pid_t tid = w->held.threads[i].tid;

		if (!arch_patch->words_read(tid, &regs))
			continue; /* it has ended */
		pc_check(w, tid, arch_patch->pc(&regs));
		w->nstacks = 0;
		w->has_word = w->has_frame = false;
		stack_add(w, arch_patch->sp(&regs));
		for (uint32_t k = 0; k < w->nstacks; k++)
			stack_check(w, k);
		w->is_left |= w->has_word && w->has_frame;
	}
}

/* A thread that cannot be moved holds its window back. */
static void threads_move(struct work *w)
{
	struct arch_words regs;

	for (uint32_t i = 0; i < w->nmoves; i++) {
		const struct move *m = &w->moves[i];

		if (!w->plans[m->i].changes || !arch_patch->words_read(m->tid, &regs))
			continue;
		arch_patch->pc_set(&regs, m->to);
		sys_point();
		if (!arch_patch->words_write(m->tid, &regs) && errno != ESRCH)
			window_hold(w, m->i);
	}
}

/* ---- a stop ---------------------------------------------------------------------------------- */

bool windows_is_there(const struct windows_journal *j, int mem_fd)
{
	uint64_t magic[ARRAY_LEN(j->magic)];

	return pread(mem_fd, magic, sizeof(magic), (off_t)(j->call + WINDOWS_MAGIC_AT)) ==
		       (ssize_t)sizeof(magic) &&
	       memcmp(magic, j->magic, sizeof(magic)) == 0;
}

/* The kernel has refused row i: what was written of its group is taken back in the same stop. */
static void group_undo(struct work *w, uint32_t i)
{
	uint32_t group = w->job->groups ? w->job->groups[i] : 0;

	for (uint32_t k = 0; k < i; k++) {
		const struct window_row *r = row_of(w, k);

		if (!is_of_group(w, k, group) || !w->plans[k].changes)
			continue;
		(void)(bytes_put(w, r->addr, r->old, w->plans[k].size) &&
		       (!r->pad || bytes_put(w, r->pad, r->old_pad, WINDOWS_JUMP)));
	}
	group_refuse(w, group, WINDOW_REFUSED);
}

/*
 * Until when it is written: so that all run again after WINDOWS_STOP_NS, less what it takes to let
 * them go, which is some third of what it has taken to hold them. Where that alone has taken long,
 * because there are many threads, or they wait for a CPU, half of it is added, so that no process
 * is stopped for ever more often.
 */
static uint64_t write_end(const struct work *w)
{
	uint64_t now = now_ns(), taken = now - MIN(w->held.since_ns, now), left = WINDOWS_STOP_NS;

	left -= MIN(left, taken + taken / 3);
	return now + MAX(left, MIN(taken / 2, (uint64_t)WINDOWS_STOP_NS));
}

/*
 * Writes what is to be changed. The first write to a page gives the process a copy of its own,
 * which takes longest. It is made here and not before the stop: what is written to a process that
 * runs can meet a breakpoint, or a window, that another tracer writes there.
 *
 * No thread executes old code afterwards, and none has to call membarrier(2) for it, for which it
 * would need a CPU while all stand still. All of them were off their CPUs when this was written: a
 * request of ptrace(2) waits until its thread is, and letting one go is such a request. A CPU that
 * gets one of them again comes from another process, and loads the address of the page tables, or
 * from a thread of the kernel, and then synchronizes itself for a process that has registered (as
 * patch/threads.c has it do): Linux Documentation/features/sched/membarrier-sync-core.
 */
static void all_write(struct work *w)
{
	struct windows_job *job = w->job;
	uint64_t until = job->write_ns ? now_ns() + job->write_ns : write_end(w);
	uint32_t n = 0;

	for (uint32_t i = 0; i < job->n; i++) {
		if (!w->plans[i].changes)
			continue;
		/* the old bytes lie on pages that the process has to itself */
		if (job->bounds && n && now_ns() > until && !group_has_begun(w, i)) {
			result_set(w, i, WINDOW_LATE);
			continue;
		}
		n++;
		if (!bytes_write(w, i)) {
			result_set(w, i, WINDOW_REFUSED);
			group_undo(w, i);
		}
	}
}

/*
 * The process is held, and nobody else: who has the same memory would execute code while it is
 * written. That is looked for before the stop, because it takes long where processes are many; in
 * the stop, those are looked at that the process can have made until it stopped.
 */
static enum windows_result work_do(struct work *w)
{
	struct windows_job *job = w->job;
	pid_t since = proc_last_made(), partner = proc_memory_partner(job->pid);

	switch (seize_process(job->pid, &w->held)) {
	case SEIZE_DONE: break;
	case SEIZE_GONE: return WINDOWS_GONE;
	case SEIZE_BUSY: return WINDOWS_BUSY;
	case SEIZE_REFUSED:
	case SEIZE_MANY: return WINDOWS_REFUSED;
	}
	if (!windows_is_there(job->journal, job->mem_fd))
		return WINDOWS_GONE;
	/* a child of vfork() has ended by now, or its parent has not stopped */
	if (!partner || proc_memory_compare(job->pid, partner) != MEMORY_SAME)
		partner = proc_memory_newcomer(job->pid, since);
	if (partner) {
		w->held.tid = partner;
		return WINDOWS_SHARED;
	}
	plans_make(w);
	bytes_read(w);
	bytes_compare(w);
	ranges_make(w);
	threads_check(w);
	groups_settle(w);
	threads_move(w);
	groups_settle(w);
	all_write(w);
	return WINDOWS_DONE;
}

/* Formatting numbers needs no memory. */
static int maps_open(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

enum windows_result windows_change(struct windows_job *job)
{
	enum windows_result r = WINDOWS_REFUSED;
	uint64_t since;
	struct work *w;

	assert(job->n <= WINDOWS_BATCH);
	if (!windows_is_there(job->journal, job->mem_fd))
		return WINDOWS_GONE;
	w = mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (w == MAP_FAILED) {
		job->sys = errno;
		return WINDOWS_REFUSED;
	}
	w->job = job;
	w->maps_fd = maps_open(job->pid);
	r = work_do(w);
	job->tid = w->held.tid;
	job->sys = w->held.sys;
	since = w->held.since_ns;
	seize_release(&w->held);
	job->stop_ns = since ? now_ns() - since : 0;
	for (uint32_t i = 0; i < job->n && !job->bounds && r == WINDOWS_DONE; i++)
		if (job->pid == job->journal->pid &&
		    (job->results[i] == WINDOW_DIFFERS || job->results[i] == WINDOW_REFUSED))
			job->journal->has_strange = true;
	if (w->maps_fd >= 0)
		(void)close(w->maps_fd);
	(void)munmap(w, sizeof(*w));
	return r;
}

/*
 * The code in the ranges calls nothing outside of them. So a thread that is not in there returns to
 * it only from the handler of a signal: without the frame of a signal on its stacks, an address
 * there is what an earlier call has left behind.
 */
bool windows_have_threads(struct windows_journal *j, int mem_fd, const struct seized *held,
			  const struct windows_range *ranges, uint32_t n)
{
	uint8_t results[WINDOWS_OWN_MAX] = {0};
	struct windows_job job = {.pid = j->pid,
				  .mem_fd = mem_fd,
				  .journal = j,
				  .n = n,
				  .results = results};
	struct work *w =
		mmap(NULL, sizeof(*w), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool some;

	assert(n <= WINDOWS_OWN_MAX);
	if (w == MAP_FAILED)
		return true;
	w->job = &job;
	w->is_looking = true;
	w->held = *held;
	w->maps_fd = maps_open(j->pid);
	for (uint32_t i = 0; i < n; i++) {
		w->plans[i].changes = true;
		w->ranges[w->nranges++] = (struct range){ranges[i].lo, ranges[i].hi - 1, i};
	}
	ranges_sort(w->ranges, w->nranges);
	threads_check(w);
	some = w->is_partial || w->is_left;
	for (uint32_t i = 0; i < n; i++)
		some |= results[i] == WINDOW_HELD;
	if (w->maps_fd >= 0)
		(void)close(w->maps_fd);
	(void)munmap(w, sizeof(*w));
	return some;
}

/* ---- all ------------------------------------------------------------------------------------- */

/* The next rows that are used, from *from on, which becomes the row behind them. */
static uint32_t rows_next(const struct windows_journal *j, uint32_t *from, uint32_t *rows)
{
	uint32_t n = 0;

	for (; *from < j->nrows && n < WINDOWS_BATCH; (*from)++)
		if (j->rows[*from].is_used)
			rows[n++] = *from;
	return n;
}

uint32_t windows_undo(struct windows_journal *j, pid_t pid, int mem_fd, bool is_freed,
		      uint32_t *ret_n)
{
	uint32_t rows[WINDOWS_BATCH], from = 0, n, left = 0, done = 0;
	uint8_t results[WINDOWS_BATCH];
	bool is_held_off = false;

	while (!is_held_off && (n = rows_next(j, &from, rows))) {
		struct windows_job job = {.pid = pid,
					  .mem_fd = mem_fd,
					  .journal = j,
					  .rows = rows,
					  .n = n,
					  .results = results};
		enum windows_result r = windows_change(&job);

		for (uint32_t i = 0; i < n; i++) {
			if (r == WINDOWS_GONE || (r == WINDOWS_DONE && results[i] != WINDOW_HELD))
				j->rows[rows[i]].is_used &= !is_freed;
			else
				left++;
			done += r == WINDOWS_DONE && results[i] == WINDOW_DONE;
		}
		/* a thread that does not stop does so for no other row; nor can it be let go now */
		is_held_off = r == WINDOWS_BUSY || r == WINDOWS_REFUSED || r == WINDOWS_SHARED;
	}
	while ((n = rows_next(j, &from, rows)))
		left += n;
	if (ret_n)
		*ret_n += done;
	return left;
}
