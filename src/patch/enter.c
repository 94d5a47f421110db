/* SPDX-License-Identifier: MIT */
/*
 * The way into a process: a thread of it maps the region.
 *
 * These calls have no code of ours to run on. They borrow the unused end of the last page of
 * executable memory, which the vDSO has and most files, for the few bytes of arch_patch->call_code.
 * The first one keeps the place; it borrows memory below the thread's stack for its frame, and all
 * threads are held for it. The frames of the others lie in that place, and the other threads run.
 * What is borrowed gets its bytes back.
 */
#include <errno.h>
#include <inttypes.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "arch/arch.h"
#include "arch/patch.h"
#include "arch/stub.h"
#include "base/text.h"
#include "dtrace.h"
#include "kernel/sys.h"
#include "patch/hole.h"
#include "patch/memory_file.h"
#include "patch/patch_impl.h"
#include "target/ident.h"
#include "target/remote.h"
#include "target/seize.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif
#define RELAYS_NAME_AT 64      /* in the page of the switch, while the relays are mapped */
#define SLACK_SIZE     32      /* bytes of zeros at the end of a page, with room to spare */
#define ROWS_CHUNK     64      /* rows of the table that are written at once */
#define LEAVE_TRIES    5       /* more, while a thread may be in a stub */
#define LEAVE_NS       1000000 /* before the first one; each later one waits four times as long */

struct enter {
	struct patch *p;
	const struct patch_opts *o;
	struct seized held;
	struct proc_maps maps;
	struct remote remote;
	/* what was borrowed */
	uint8_t *frame_was;
	bool has_slack, has_frame;
	bool is_slack_used; /* by a thread that restores itself */
	taddr region;
	uint64_t relays_size; /* of the room behind the private part */
	uint64_t size;	      /* head, code and data */
	uint64_t near_size;   /* of what lies at region before the switch page */
	/* what is mapped: at region, with the switch page and what follows; data elsewhere */
	bool has_near, has_data;
	bool is_busy;	/* a thread did not stop */
	bool is_used;	/* a thread may be in a stub */
	bool is_shared; /* another process has the memory */
	bool is_gone;	/* the process has ended, or executed a program */
	struct err *e;
};

/* ---- what is borrowed ------------------------------------------------------------------------ */

static bool slack_try(const struct enter *t, const struct proc_map *m)
{
	uint8_t bytes[SLACK_SIZE], zeros[SLACK_SIZE] = {0};
	/* memory without a file is a region, which may be unmapped by the call, or a compiler's */
	bool has_file = proc_map_has_file(m) || strcmp(m->path, "[vdso]") == 0;
	bool is_code = has_file && m->is_exec && !m->is_write && !m->is_shared;

	if (!is_code || m->start >> arch.user_bits ||
	    sys_pread(t->p->mem_fd, bytes, sizeof(bytes), m->end - SLACK_SIZE) != SLACK_SIZE)
		return false;
	if (memcmp(bytes, arch_patch->call_code, arch_patch->call_size) == 0)
		memset(bytes, 0, arch_patch->call_size); /* of a tracer that was killed here */
	return memcmp(bytes, zeros, sizeof(zeros)) == 0;
}

static struct err *slack_borrow(struct enter *t)
{
	_Static_assert(SLACK_SIZE <= CALL_ROOM, "the code is at most that long");
	for (uint32_t i = t->maps.maps.len; i-- > 0;) {
		const struct proc_map *m = &t->maps.maps.data[i];

		if (!slack_try(t, m))
			continue;
		t->remote.code = m->end - SLACK_SIZE;
		if (!remote_write(t->held.threads[0].tid, t->p->mem_fd, t->remote.code,
				  arch_patch->call_code, arch_patch->call_size))
			return err_sys(errno, "cannot write to the code of process %d",
				       (int)t->p->pid);
		t->has_slack = true;
		return NULL;
	}
	return err_code(err_new("process %d has no unused bytes at the end of a page of code",
				(int)t->p->pid),
			EDT_NOTSUP);
}

/*
 * A thread with enough memory below its stack pointer, that is not in use. One that cannot make
 * calls, as it handles its own itself, is passed over.
 */
static struct err *frame_borrow(struct enter *t)
{
	struct err *first = NULL;

	for (uint32_t i = 0; i < t->held.n; i++) {
		struct arch_words w;
		const struct proc_map *m;
		struct err *e;
		taddr at;

		if (!arch_patch->words_read(t->held.threads[i].tid, &w))
			continue;
		at = arch_patch->sp(&w) - arch_patch->red_zone - ARCH_FRAME_MAX;
		at -= at % arch_patch->frame_align;
		m = proc_maps_find(&t->maps, at);
		if (!m || !m->is_write || m->is_shared || arch_patch->sp(&w) >= m->end ||
		    sys_pread(t->p->mem_fd, t->frame_was, ARCH_FRAME_MAX, at) != ARCH_FRAME_MAX)
			continue;
		e = refuse_thread(t->p->pid, t->held.threads[i].tid);
		if (e && first)
			err_destroy(e);
		else if (e)
			first = e;
		if (e)
			continue;
		err_destroy(first);
		t->remote.tid = t->held.threads[i].tid;
		t->remote.frame = at;
		t->has_frame = true;
		return NULL;
	}
	if (first)
		return first;
	return err_hint(err_code(err_new("no thread of process %d has room on its stack for a call",
					 (int)t->p->pid),
				 EDT_NOTSUP),
			"try again later");
}

/* Whether a thread still restores itself there, after a call in which a tracer was killed. */
static bool slack_find_used(const struct enter *t)
{
	struct arch_words w;

	for (uint32_t i = 0; i < t->held.n; i++)
		if (arch_patch->words_read(t->held.threads[i].tid, &w) &&
		    arch_patch->pc(&w) - t->remote.code < arch_patch->call_size)
			return true;
	return false;
}

/* A thread that could not be stopped again needs the frame to restore itself. */
static void frame_give_back(struct enter *t)
{
	if (t->has_frame && !t->remote.is_left)
		(void)!pwrite(t->p->mem_fd, t->frame_was, ARCH_FRAME_MAX, (off_t)t->remote.frame);
	t->has_frame = false;
}

/* The same for the code, which is where nobody else executes anything. */
static void slack_give_back(struct enter *t)
{
	const uint8_t zeros[SLACK_SIZE] = {0};

	if (t->has_slack && !t->remote.is_left && !t->is_slack_used &&
	    pwrite(t->p->mem_fd, zeros, arch_patch->call_size, (off_t)t->remote.code) < 0)
		(void)remote_write(t->held.threads[0].tid, t->p->mem_fd, t->remote.code, zeros,
				   arch_patch->call_size);
	t->has_slack = false;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static int64_t enter_call(struct enter *t, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
			  uint64_t e)
{
	const uint64_t args[6] = {a, b, c, d, e, 0};
	int64_t value;

	if (t->remote.is_left)
		return -EIO;
	return remote_call(&t->remote, nr, args, &value) ? value : -(errno ? errno : EIO);
}

/* Maps memory without a file. */
static int64_t call_map(struct enter *t, taddr at, uint64_t size, uint64_t prot, uint64_t flags)
{
	return enter_call(t, SYS_mmap, at, size, prot, flags | MAP_ANONYMOUS, ~0ull);
}

/*
 * Keeps the place: nobody else maps anything there from then on, and the frame of other calls has
 * memory of its own. All threads are held for this call alone, because the frame of it lies below
 * the stack of the thread that makes it, where memory may be that of another stack, as of small
 * ones of coroutines.
 */
static struct err *place_reserve(struct enter *t)
{
	int64_t r = call_map(t, t->region, t->near_size + REGION_PRIVATE + t->relays_size,
			     PROT_READ, MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE);

	if (r != (int64_t)t->region)
		return refuse_call(t->p->pid, "mmap", r < 0 ? (int)-r : EEXIST);
	t->has_near = true;
	return NULL;
}

/* Maps a part over what was reserved. */
static struct err *part_map(struct enter *t, taddr at, uint64_t size, uint64_t prot, uint64_t flags)
{
	int64_t r = call_map(t, at, size, prot, flags | MAP_FIXED);

	return r == (int64_t)at ? NULL : refuse_call(t->p->pid, "mmap", r < 0 ? (int)-r : EEXIST);
}

/*
 * Head and data are files of their own: who has the head has no way to the data. Where there is
 * room for the code alone, the data lies where the kernel likes.
 */
static struct err *data_map(struct enter *t)
{
	struct patch *p = t->p;
	int64_t r;

	p->data = t->region + p->head_size + p->code_size;
	if (!p->data_size)
		return NULL;
	if (t->near_size == t->size)
		return part_map(t, p->data, p->data_size, PROT_READ | PROT_WRITE, MAP_SHARED);
	r = call_map(t, 0, p->data_size, PROT_READ | PROT_WRITE, MAP_SHARED);
	if (r < 0)
		return refuse_call(p->pid, "mmap", (int)-r);
	p->data = (taddr)r;
	t->has_data = true;
	return NULL;
}

static struct err *region_map(struct enter *t)
{
	taddr own = t->region + t->near_size; /* the switch page, and what follows */
	struct err *e = part_map(t, t->region, t->p->head_size, PROT_READ, MAP_SHARED);
	int64_t r;

	if (!e)
		e = part_map(t, t->region + t->p->head_size, t->p->code_size, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE);
	if (!e)
		e = data_map(t);
	if (e)
		return e;
	/* not mapped anew, because the frame of calls is there */
	r = enter_call(t, SYS_mprotect, own, REGION_PRIVATE, PROT_READ | PROT_WRITE, 0, 0);
	if (r)
		return refuse_call(t->p->pid, "mprotect", (int)-r);
	r = enter_call(t, SYS_madvise, own, REGION_PRIVATE, MADV_WIPEONFORK, 0, 0);
	return r ? refuse_call(t->p->pid, "madvise", (int)-r) : NULL;
}

/* Keeps the first failure in *e. */
static void part_unmap(struct enter *t, taddr at, uint64_t size, struct err **e)
{
	int64_t r = enter_call(t, SYS_munmap, at, size, 0, 0, 0);

	if (r && !*e)
		*e = refuse_call(t->p->pid, "munmap", (int)-r);
}

/*
 * No thread is in it. What was not mapped may be somebody else's: a process that shares the memory
 * and is not held can have mapped something in the hole meanwhile.
 */
static void region_unmap(struct enter *t, struct err **e)
{
	if (t->has_near)
		part_unmap(t, t->region, t->near_size + REGION_PRIVATE, e);
	if (t->has_data)
		part_unmap(t, t->p->data, t->p->data_size, e);
	if (t->relays_size)
		part_unmap(t, t->region + t->near_size + REGION_PRIVATE, t->relays_size, e);
}

/* ---- our side -------------------------------------------------------------------------------- */

static void head_size_set(struct patch *p, const struct patch_opts *o)
{
	uint64_t head = REGION_ROWS + (uint64_t)o->windows * sizeof(struct window_row);

	p->head_size = ROUND_UP(head, (uint64_t)PATCH_PAGE);
	p->code_size = ROUND_UP(CALL_ROOM + o->code_size, (uint64_t)PATCH_PAGE);
	p->data_size = ROUND_UP(o->data_size, (uint64_t)PATCH_PAGE);
	p->relays_size = ROUND_UP((uint64_t)o->slots * STUB_SLOT_SIZE, (uint64_t)PATCH_PAGE);
}

struct err *region_file_open(pid_t pid, pid_t tid, taddr at, uint64_t size, int *ret_fd)
{
	char path[96];
	struct err *e;

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid,
		       (unsigned long long)at, (unsigned long long)(at + size));
	e = memory_file_open(path, tid, size, ret_fd);
	if (e && err_get_sys(e))
		e = err_hint(e, "it takes CAP_SYS_ADMIN or CAP_CHECKPOINT_RESTORE");
	return e ? err_wrap(e, "the region of process %d", (int)pid) : NULL;
}

/* Looks into the mappings, because on some kernel the call answered and had mapped nothing. */
static struct err *region_open(struct enter *t)
{
	struct patch *p = t->p;
	pid_t tid = t->remote.tid;
	struct err *e = region_file_open(p->pid, tid, t->region, p->head_size, &p->region_fd);

	if (!e && p->data_size)
		e = region_file_open(p->pid, tid, p->data, p->data_size, &p->data_fd);
	if (e)
		return e;
	/* whoever comes later sees by this that the tracer, or its keeper, lives */
	if (flock(p->region_fd, LOCK_EX | LOCK_NB))
		return err_sys(errno, "cannot lock the region of process %d", (int)p->pid);
	return NULL;
}

static struct err *head_write(struct enter *t)
{
	struct patch *p = t->p;
	struct region_head h = {.text = REGION_TEXT,
				.version = REGION_VERSION,
				.nrows = p->journal->nrows,
				.region = t->region,
				.head_size = p->head_size,
				.code_size = p->code_size,
				.data_size = p->data_size};

	_Static_assert(sizeof(h) <= REGION_ROWS, "the head stands before the rows");
	if (sys_pwrite(p->region_fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return err_sys(errno, "cannot write to the region of process %d", (int)p->pid);
	p->journal->region = t->region;
	p->journal->region_size = t->near_size;
	p->journal->head_size = p->head_size;
	p->journal->call = t->region + p->head_size;
	p->journal->frame = t->region + t->near_size + PATCH_PAGE;
	own_add(p, t->region, t->near_size + REGION_PRIVATE);
	if (t->has_data)
		own_add(p, p->data, p->data_size);
	_Static_assert(SLACK_SIZE <= WINDOWS_MAGIC_AT &&
			       WINDOWS_MAGIC_AT + WINDOWS_MAGIC_SIZE <= CALL_ROOM,
		       "the magic stands behind the code");
	if (sys_pwrite(p->mem_fd, p->journal->magic, WINDOWS_MAGIC_SIZE,
		       p->journal->call + WINDOWS_MAGIC_AT) != WINDOWS_MAGIC_SIZE)
		return region_write_err(p, errno);
	p->code_end = CALL_ROOM;
	if (!region_is_at(p, t->region) || !windows_is_there(p->journal, p->mem_fd))
		return err_code(err_new("process %d has not mapped the region", (int)p->pid),
				EDT_NOTSUP);
	return NULL;
}

/* ---- all ------------------------------------------------------------------------------------- */

static struct err *threads_hold(struct enter *t)
{
	pid_t pid = t->p->pid, since = proc_last_made(), partner = proc_memory_partner(pid);

	switch (seize_process(pid, &t->held)) {
	case SEIZE_DONE: break;
	case SEIZE_GONE: t->is_gone = true; return refuse_gone(pid);
	case SEIZE_REFUSED: return refuse_hold(pid, false, t->held.tid, t->held.sys);
	case SEIZE_MANY: return refuse_hold(pid, false, pid, 0);
	case SEIZE_BUSY: t->is_busy = true; return refuse_busy(pid, t->held.tid);
	}
	if (!partner || proc_memory_compare(pid, partner) != MEMORY_SAME)
		partner = proc_memory_newcomer(pid, since);
	t->is_shared = partner != 0;
	return partner ? refuse_shared(pid, partner) : NULL;
}

/* Finds room for all within reach, or for the code alone. */
static struct err *region_place(struct enter *t)
{
	uint64_t sizes[] = {t->size, t->p->head_size + t->p->code_size};

	for (uint32_t i = 0; i < ARRAY_LEN(sizes) && !t->region; i++) {
		t->near_size = sizes[i];
		t->region = hole_find(&t->maps, sizes[i] + REGION_PRIVATE + t->p->relays_size,
				      t->o->near_lo, t->o->near_hi);
	}
	return t->region ? NULL
			 : err_code(err_new("process %d has no room for %llu bytes of code within "
					    "reach of its own",
					    (int)t->p->pid, (unsigned long long)t->near_size),
				    EDT_NOTSUP);
}

/* Suspends seccomp for the calls of the thread that makes them, if it has any. */
static struct err *filters_suspend(struct enter *t)
{
	pid_t tid = t->remote.tid;
	int sys;

	t->p->journal->suspends = seize_suspend(tid);
	sys = errno;
	return t->p->journal->suspends || !seccomp_is_on(tid)
		       ? NULL
		       : refuse_hold(t->p->pid, true, tid, sys);
}

/* A thread of the process, which is held, can make calls then. */
static struct err *calls_prepare(struct enter *t)
{
	struct err *e = proc_maps_read(t->p->pid, &t->maps);

	if (!e)
		e = slack_borrow(t);
	t->is_slack_used = t->has_slack && slack_find_used(t);
	if (!e)
		e = frame_borrow(t);
	if (!e)
		e = filters_suspend(t);
	return e;
}

/* Holds the process. Whether all threads could make calls is asked later (threads_ask()). */
static struct err *calls_begin(struct enter *t)
{
	struct err *e = threads_hold(t);

	return e ? e : calls_prepare(t);
}

/* All threads but the one that makes calls run again. */
static void others_release(struct enter *t)
{
	uint64_t since = t->held.since_ns;

	frame_give_back(t);
	if (t->remote.is_left)
		return;
	t->remote.frame = t->region + t->near_size + PATCH_PAGE;
	seize_release_others(&t->held, t->remote.tid);
	stop_count(t->p, now_ns() - since);
	t->held.since_ns = 0;
}

static void calls_end(struct enter *t)
{
	struct patch *p = t->p;
	uint64_t since = t->held.since_ns;

	frame_give_back(t);
	slack_give_back(t);
	seize_release(&t->held);
	stop_count(p, since ? now_ns() - since : 0);
	proc_maps_deinit(&t->maps);
}

/* Without relays, the room that was kept for them is given back. */
static void relays_place(struct enter *t)
{
	taddr at = t->region + t->near_size + REGION_PRIVATE;

	relays_map(t->p, &t->remote, at, t->region + t->near_size + RELAYS_NAME_AT);
	if (t->relays_size && !t->p->relays_size)
		(void)enter_call(t, SYS_munmap, at, t->relays_size, 0, 0, 0);
}

static struct err *enter_held(struct enter *t)
{
	struct err *e = calls_begin(t);

	if (!e)
		e = region_place(t);
	if (!e)
		e = place_reserve(t);
	if (!e) {
		owner_find(t->p, &t->held);
		others_release(t);
		e = region_map(t);
	}
	if (!e)
		e = region_open(t);
	if (!e)
		e = head_write(t);
	if (!e)
		relays_place(t);
	if (e && t->remote.is_dispatched) {
		err_destroy(e);
		e = refuse_dispatch(t->p->pid);
	}
	return e;
}

/* Unmaps what there is of the region. All of it stays if a thread does not stop (is_busy). */
static void leave_try(void *ctx)
{
	struct enter *t = ctx;
	struct err *e;

	t->is_busy = false;
	e = calls_begin(t);
	if (!e)
		region_unmap(t, &e);
	calls_end(t);
	t->has_near = t->has_near && t->is_busy;
	t->has_data = t->has_data && t->is_busy;
	err_destroy(e);
}

/* Tries it again while a thread of a process that could not be entered does not stop. */
static void leave_wait(struct enter *t)
{
	uint64_t until = now_ns() + t->p->busy_ns;

	while (t->has_near && t->is_busy && !t->remote.is_left &&
	       busy_wait(until, t->o->is_interrupted))
		err_destroy(worker_run(leave_try, t));
	if (t->has_near && t->is_busy)
		t->e = err_wrap(t->e,
				"process %d keeps memory for nothing, as a thread does not stop",
				(int)t->p->pid);
}

static void enter_run(void *ctx)
{
	struct enter *t = ctx;

	t->is_busy = false;
	t->e = enter_held(t);
	calls_end(t);
	if (!t->e || !t->has_near || t->remote.is_left)
		return;
	/* the frame of these calls cannot be in what they unmap: all are held for them once more */
	leave_try(t);
}

static void enter_deinit(struct enter *t)
{
	free(t->frame_was);
	free(t->remote.buf);
}

struct err *region_enter(struct patch *p, const struct patch_opts *o)
{
	struct enter t = {.p = p, .o = o};
	uint64_t until = now_ns() + p->busy_ns;
	struct err *e;

	head_size_set(p, o);
	t.size = p->head_size + p->code_size + p->data_size;
	t.relays_size = p->relays_size;
	if (getrandom(p->journal->magic, sizeof(p->journal->magic), 0) !=
	    (ssize_t)sizeof(p->journal->magic))
		return err_sys(errno, "the kernel has no random numbers");
	t.frame_was = xmalloc(ARCH_FRAME_MAX);
	t.remote = (struct remote){.mem_fd = p->mem_fd, .buf = xmalloc(ARCH_FRAME_MAX)};
	e = worker_run(enter_run, &t);
	/* nothing was changed */
	while (!e && t.is_busy && !t.has_near && busy_wait(until, o->is_interrupted)) {
		err_destroy(t.e);
		t.e = NULL;
		e = worker_run(enter_run, &t);
	}
	if (!e)
		leave_wait(&t);
	enter_deinit(&t);
	return e ? e : t.e;
}

bool region_is_at(const struct patch *p, taddr at)
{
	char path[96];
	struct stat ours, there;

	(void)snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)p->pid,
		       (unsigned long long)at, (unsigned long long)(at + p->head_size));
	return fstat(p->region_fd, &ours) == 0 && stat(path, &there) == 0 &&
	       ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
}

/* Whether a thread may still be in code of the region or of a mirror, or return to it. */
static bool region_is_used(const struct enter *t)
{
	const struct patch *p = t->p;
	struct windows_range ranges[WINDOWS_OWN_MAX];
	taddr code = p->journal->region + p->head_size;
	uint32_t n = 0;

	ranges[n++] = (struct windows_range){code, code + p->code_size};
	if (t->relays_size)
		ranges[n++] = (struct windows_range){p->relays, p->relays + t->relays_size};
	for (uint32_t i = 0; i < p->nmirrors; i++) {
		code = p->mirrors[i] + p->head_size;
		ranges[n++] = (struct windows_range){code, code + p->code_size};
	}
	return windows_have_threads(p->journal, p->mem_fd, &t->held, ranges, n);
}

/*
 * Whether the process with this id still executes what we have entered. The mem file alone does not
 * say it: another process may keep the memory that it had before an exec.
 */
static bool region_is_there(const struct patch *p)
{
	CLEANUP(fd) int mem_fd = process_memory_open(p->pid);

	return windows_is_there(p->journal, p->mem_fd) && mem_fd >= 0 &&
	       windows_is_there(p->journal, mem_fd);
}

/* Another program, or another process that has got the id, is not stopped. */
static struct err *leave_begin(struct enter *t)
{
	struct err *e;

	t->is_gone = !region_is_there(t->p);
	if (t->is_gone)
		return refuse_gone(t->p->pid);
	e = threads_hold(t);
	if (e)
		return e;
	t->is_gone = !region_is_there(t->p); /* it has executed one meanwhile */
	return t->is_gone ? refuse_gone(t->p->pid) : calls_prepare(t);
}

/* Once no thread is in them. */
static struct err *all_unmap(struct enter *t)
{
	const struct patch *p = t->p;
	struct err *e = NULL;

	for (uint32_t i = 0; i < p->nmirrors; i++)
		if (region_is_at(p, p->mirrors[i]))
			part_unmap(t, p->mirrors[i], mirror_span(p), &e);
	if (region_is_at(p, p->journal->region))
		region_unmap(t, &e);
	return e;
}

static void leave_run(void *ctx)
{
	struct enter *t = ctx;

	t->is_busy = t->is_used = t->is_shared = false;
	t->e = leave_begin(t);
	t->is_used = !t->e && t->p->next_row && region_is_used(t);
	if (t->is_used)
		t->e = err_new("a thread is in its code, or a signal handler may return there");
	else if (!t->e)
		t->e = all_unmap(t);
	calls_end(t);
}

/*
 * Waits before another try: as long as a thread does not stop, and a few times for the end of a
 * stub, or of a child of vfork().
 */
static bool leave_pause(const struct enter *t, uint64_t until, uint32_t *ntries)
{
	struct timespec pause = {0};

	if (t->is_busy)
		return busy_wait(until, NULL);
	if (!(t->is_used || t->is_shared) || *ntries >= LEAVE_TRIES)
		return false;
	pause.tv_nsec = LEAVE_NS << 2 * (*ntries)++;
	(void)nanosleep(&pause, NULL);
	return true;
}

struct err *region_stays(const struct patch *p, struct err *why)
{
	bool has_region = region_is_at(p, p->journal->region);
	uint32_t n = 0;

	for (uint32_t i = 0; i < p->nmirrors; i++)
		n += region_is_at(p, p->mirrors[i]);
	if (n)
		return err_wrap(why, "process %d keeps %s%" PRIu32 " mirror%s of the region",
				(int)p->pid, has_region ? "the region, and " : "", n, PLURAL(n));
	return err_wrap(why, "process %d keeps %s", (int)p->pid,
			has_region ? "the region" : "a part of the region");
}

struct err *region_leave(struct patch *p)
{
	const struct windows_journal *j = p->journal;
	struct enter t = {.p = p,
			  .region = j->region,
			  .near_size = j->region_size,
			  .relays_size = p->relays ? p->relays_size : 0,
			  .has_near = true};
	bool is_apart = p->data != j->region + p->head_size + p->code_size, is_again;
	uint64_t until = now_ns() + WINDOWS_UNDO_NS;
	uint32_t ntries = 0;
	struct err *e;

	/*
	 * A call that has failed in its middle is still in the region. And where bytes of a window
	 * were others, our jump may come back when a debugger takes its breakpoint away.
	 */
	if (!region_is_there(p))
		return NULL;
	if (p->is_left)
		return region_stays(p, err_new("a thread may be in a call there that has failed"));
	if (j->has_strange)
		return region_stays(p, err_new("a window had bytes that were not ours, so a "
					       "debugger may bring its jump back"));
	t.has_data = is_apart && p->data_size;
	t.frame_was = xmalloc(ARCH_FRAME_MAX);
	t.remote = (struct remote){.mem_fd = p->mem_fd, .buf = xmalloc(ARCH_FRAME_MAX)};
	do {
		err_destroy(t.e);
		t.e = NULL;
		e = worker_run(leave_run, &t);
		is_again = !e && !t.remote.is_left && !t.is_gone && leave_pause(&t, until, &ntries);
	} while (is_again);
	enter_deinit(&t);
	if (!e)
		e = t.e;
	if (!t.is_gone)
		return e ? region_stays(p, e) : NULL; /* nothing leads into it */
	err_destroy(e);
	return NULL;
}

bool region_rows_write(const struct patch *p, uint32_t row, uint32_t n)
{
	struct window_row rows[ROWS_CHUNK];

	for (uint32_t some; n; n -= some, row += some) {
		size_t size;

		some = MIN(n, (uint32_t)ROWS_CHUNK);
		size = some * sizeof(*rows);
		memcpy(rows, &p->journal->rows[row], size);
		for (uint32_t i = 0; i < some; i++)
			window_row_turn(&rows[i]);
		if (sys_pwrite(p->region_fd, rows, size, REGION_ROWS + row * sizeof(*rows)) !=
		    (ssize_t)size)
			return false;
	}
	return true;
}
