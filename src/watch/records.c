/* SPDX-License-Identifier: MIT */
/*
 * The kernel's records of what processes do.
 *
 * Each CPU has a buffer with its records in the order of time. A fork is recorded on the parent's
 * CPU, and what the child does on the child's CPU. So all buffers are read, their records are
 * sorted by time, and those up to the moment before the first buffer was read are applied: all
 * records of that time are in the buffers, because the kernel takes the time of a record just
 * before it writes the record.
 */
#include "watch/records.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <time.h>

#include "base/vec.h"
#include "kernel/kernel.h"
#include "kernel/sys.h"
#include "sym/sym.h"
#include "watch/subscribers.h"

#define DATA_SIZE     ((size_t)256 << 10) /* of each buffer; less if the kernel refuses so much */
#define DATA_SIZE_MIN ((size_t)16 << 10)
#define RECORD_MAX    65536 /* more than the largest record has */
#define ROUNDS	      4	    /* reads of all buffers in one drain, so that a drain ends */

struct cpu_events {
	uint32_t cpu;
	int fd;
	struct perf_event_mmap_page *page; /* data follows it; NULL = not mapped */
	size_t data_size;
};

struct event {
	uint64_t time;
	uint32_t off, seq; /* in text */
};

struct records {
	const struct subscribers *subs;
	struct cpu_events *cpus;
	int *fds;
	uint32_t n, cap;
	size_t page_size;
	VEC(struct event) events; /* read, not yet applied */
	VEC(uint8_t) bytes;	  /* the records of events, each 8-aligned */
};

/* ---- what the kernel writes ----------------------------------------------------------------- */

struct rec_mmap2 {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	uint32_t dev_major, dev_minor;
	uint64_t ino, generation;
	uint32_t prot, flags;
	char path[];
};

struct rec_comm {
	struct perf_event_header h;
	uint32_t pid, tid;
};

struct rec_task { /* fork, exit */
	struct perf_event_header h;
	uint32_t pid, ppid, tid, ptid;
	uint64_t time;
};

/*
 * Process ids are those of the PID namespace of the process that opened the event: ours. A process
 * outside of it has the process id 0, and its records are ignored.
 */

/* Every record ends with its time (sample_id_all). */
static uint64_t time_of(const struct perf_event_header *h)
{
	uint64_t t;

	memcpy(&t, (const uint8_t *)h + h->size - sizeof(t), sizeof(t));
	return t;
}

static void apply_mmap(const struct records *w, const struct perf_event_header *h, uint64_t time)
{
	const struct rec_mmap2 *r = (const struct rec_mmap2 *)h;
	struct sym_map m = {
		.start = r->addr,
		.len = r->len,
		.off = r->pgoff,
		.dev = makedev(r->dev_major, r->dev_minor),
		.ino = r->ino,
		.gen = r->generation,
		.path = r->path,
		.is_exec = r->prot & PROT_EXEC,
	};
	size_t room = h->size - sizeof(*r) - sizeof(time);

	if (!r->pid || !m.is_exec || strnlen(r->path, room) == room)
		return;
	SUBSCRIBERS_TELL(w->subs, WATCH_ALL, mapped,
			 &(struct watch_subject){.pid = r->pid, .time = time}, &m);
}

static void apply_comm(const struct records *w, const struct perf_event_header *h, uint64_t time)
{
	const struct rec_comm *r = (const struct rec_comm *)h;

	if (r->pid && h->misc & PERF_RECORD_MISC_COMM_EXEC)
		SUBSCRIBERS_TELL(w->subs, WATCH_ALL, execed,
				 &(struct watch_subject){.pid = r->pid, .time = time});
}

static void apply_fork(const struct records *w, const struct perf_event_header *h, uint64_t time)
{
	const struct rec_task *r = (const struct rec_task *)h;

	if (r->pid && !r->ppid) /* the parent is in another PID namespace */
		SUBSCRIBERS_TELL(w->subs, WATCH_ALL, execed,
				 &(struct watch_subject){.pid = r->pid, .time = time});
	else if (r->pid != r->ppid) /* otherwise a thread begins */
		SUBSCRIBERS_TELL(w->subs, WATCH_ALL, forked,
				 &(struct watch_subject){.pid = r->pid, .time = time}, r->ppid);
}

static void apply_exit(const struct records *w, const struct perf_event_header *h, uint64_t time)
{
	const struct rec_task *r = (const struct rec_task *)h;

	if (r->pid && r->pid == r->tid)
		SUBSCRIBERS_TELL(w->subs, WATCH_ALL, ended,
				 &(struct watch_subject){.pid = r->pid, .time = time});
}

static void apply_lost(const struct records *w, const struct perf_event_header *h, uint64_t time)
{
	SUBSCRIBERS_TELL(w->subs, WATCH_ALL, lost);
}

static const struct {
	uint32_t min_size;
	void (*apply)(const struct records *w, const struct perf_event_header *h, uint64_t time);
} record_types[] = {
	[PERF_RECORD_LOST] = {sizeof(struct perf_event_header), apply_lost},
	[PERF_RECORD_COMM] = {sizeof(struct rec_comm), apply_comm},
	[PERF_RECORD_EXIT] = {sizeof(struct rec_task), apply_exit},
	[PERF_RECORD_FORK] = {sizeof(struct rec_task), apply_fork},
	[PERF_RECORD_MMAP2] = {sizeof(struct rec_mmap2), apply_mmap},
};

/* ---- reading -------------------------------------------------------------------------------- */

static void bytes_copy(const struct records *w, const struct cpu_events *c, uint64_t pos, void *to,
		       size_t len)
{
	const uint8_t *data = (const uint8_t *)c->page + w->page_size;
	size_t at = pos & (c->data_size - 1), first = MIN(len, c->data_size - at);

	memcpy(to, data + at, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

static void event_add(struct records *w, const struct cpu_events *c, uint64_t pos, uint32_t size)
{
	uint32_t at = w->bytes.len;

	vec_reserve(&w->bytes, at + size);
	w->bytes.len += size;
	bytes_copy(w, c, pos, w->bytes.data + at, size);
	vec_push(&w->events,
		 (struct event){time_of((struct perf_event_header *)(w->bytes.data + at)), at,
				w->events.len});
}

static void cpu_read(struct records *w, const struct cpu_events *c)
{
	uint64_t head = __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = c->page->data_tail;
	struct perf_event_header h;

	while (head - tail >= sizeof(h)) {
		bytes_copy(w, c, tail, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - tail)
			tail = head - h.size; /* never happens: skips the rest */
		else if (h.type < ARRAY_LEN(record_types) && record_types[h.type].apply &&
			 h.size >= record_types[h.type].min_size + sizeof(uint64_t))
			event_add(w, c, tail, h.size);
		tail += h.size;
	}
	__atomic_store_n(&c->page->data_tail, head, __ATOMIC_RELEASE);
}

static int by_time(const void *pa, const void *pb)
{
	const struct event *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

/*
 * Keeps the events from i on, and only their bytes. On a busy machine some events are left over
 * after every drain, so bytes that are not removed here would pile up.
 */
static void events_keep_from(struct records *w, uint32_t i)
{
	VEC(uint8_t) bytes = {0};
	uint32_t n = 0;

	if (i == w->events.len) {
		vec_clear(&w->events);
		vec_clear(&w->bytes);
		return;
	}
	for (; i < w->events.len; i++, n++) {
		struct event ev = w->events.data[i];
		const struct perf_event_header *h = (const void *)(w->bytes.data + ev.off);

		vec_reserve(&bytes, bytes.len + h->size);
		memcpy(bytes.data + bytes.len, h, h->size);
		ev.off = bytes.len;
		bytes.len += h->size;
		w->events.data[n] = ev;
	}
	w->events.len = n;
	vec_clear(&w->bytes);
	vec_reserve(&w->bytes, bytes.len);
	memcpy(w->bytes.data, bytes.data, bytes.len);
	w->bytes.len = bytes.len;
	vec_deinit(&bytes);
}

bool records_are_full(const struct records *w)
{
	for (uint32_t cpu = 0; w && cpu < w->n; cpu++) {
		const struct cpu_events *c = &w->cpus[cpu];
		uint64_t head = __atomic_load_n(&c->page->data_head, __ATOMIC_ACQUIRE);

		if (head - c->page->data_tail + RECORD_MAX > c->data_size)
			return true;
	}
	return false;
}

void records_drain(struct records *w)
{
	for (int round = 0; w && round < ROUNDS; round++) {
		uint64_t horizon = now_ns();
		uint32_t i = 0;

		for (uint32_t cpu = 0; cpu < w->n; cpu++)
			cpu_read(w, &w->cpus[cpu]);
		if (!w->events.len)
			return;
		qsort(w->events.data, w->events.len, sizeof(*w->events.data), by_time);
		for (; i < w->events.len && w->events.data[i].time <= horizon; i++) {
			const struct perf_event_header *h =
				(const void *)(w->bytes.data + w->events.data[i].off);

			record_types[h->type].apply(w, h, w->events.data[i].time);
		}
		events_keep_from(w, i);
	}
}

/* ---- opening -------------------------------------------------------------------------------- */

static struct err *refused_err(int sys, const char *what)
{
	struct err *e = err_sys(sys, "cannot %s the events of what processes map", what);

	if (sys == EACCES || sys == EPERM)
		return err_hint(e, "that needs CAP_PERFMON, and memory that may be locked "
				   "(sysctl kernel.perf_event_mlock_kb)");
	return e;
}

static struct err *cpu_open(const struct records *w, uint32_t cpu, struct cpu_events *ret)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.comm = 1,
		.comm_exec = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	CLEANUP(fd) int fd = sys_perf_event_open(&attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	size_t data_size = 0;
	void *p = MAP_FAILED;

	if (fd < 0)
		return refused_err(errno, "open");
	for (size_t size = DATA_SIZE; p == MAP_FAILED && size >= DATA_SIZE_MIN; size /= 2) {
		p = sys_mmap(NULL, w->page_size + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		data_size = size;
	}
	if (p == MAP_FAILED)
		return refused_err(errno, "map");
	*ret = (struct cpu_events){cpu, fd_take(&fd), p, data_size};
	return NULL;
}

static void cpu_close(const struct records *w, const struct cpu_events *c)
{
	if (c->page)
		(void)munmap(c->page, w->page_size + c->data_size);
	if (c->fd >= 0)
		(void)close(c->fd);
}

static void cpu_put(struct records *w, uint32_t at, const struct cpu_events *c)
{
	w->cpus[at] = *c;
	w->fds[at] = c->fd;
	w->n = MAX(w->n, at + 1);
}

struct err *records_create(const struct subscribers *subs, struct records **ret)
{
	uint32_t ncpus = cpus_possible();
	CLEANUP(free) bool *online = xcalloc(MAX(ncpus, 1u), sizeof(*online));
	struct records *w;
	struct err *e = NULL;

	if (!ncpus)
		return err_sys(errno, "cannot find out how many CPUs there are");
	w = xcalloc(1, sizeof(*w));

	*w = (struct records){
		.subs = subs,
		.cap = ncpus,
		.cpus = xcalloc(ncpus, sizeof(*w->cpus)),
		.fds = xcalloc(ncpus, sizeof(*w->fds)),
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
	};
	cpus_mark_online(online, ncpus);
	for (uint32_t cpu = 0; cpu < ncpus && !e; cpu++) {
		struct cpu_events c;

		if (!online[cpu])
			continue;
		e = cpu_open(w, cpu, &c);
		if (!e)
			cpu_put(w, w->n, &c);
	}
	if (e) {
		records_destroy(w);
		return e;
	}
	*ret = w;
	return NULL;
}

struct err *records_renew(struct records *w, uint32_t cpu, int *ret_fd)
{
	struct cpu_events c;
	uint32_t at = 0;
	struct err *e;

	while (at < w->n && w->cpus[at].cpu != cpu)
		at++;
	if (at == w->cap)
		return err_new("CPU %u was not there when the watch began", cpu);
	e = cpu_open(w, cpu, &c);
	if (e)
		return e;
	if (at < w->n) {
		cpu_read(w, &w->cpus[at]);
		cpu_close(w, &w->cpus[at]);
	}
	cpu_put(w, at, &c);
	*ret_fd = c.fd;
	SUBSCRIBERS_TELL(w->subs, WATCH_ALL, lost);
	return NULL;
}

struct records *records_create_over(const struct subscribers *subs,
				    struct perf_event_mmap_page *page, size_t size)
{
	struct records *w = xcalloc(1, sizeof(*w));

	*w = (struct records){
		.subs = subs,
		.cpus = xcalloc(1, sizeof(*w->cpus)),
		.n = 1,
		.page_size = (size_t)sysconf(_SC_PAGESIZE),
	};
	w->cpus[0] = (struct cpu_events){.fd = -1, .page = page, .data_size = size};
	return w;
}

void records_destroy(struct records *w)
{
	if (!w)
		return;
	for (uint32_t i = 0; i < w->n; i++)
		cpu_close(w, &w->cpus[i]);
	vec_deinit(&w->events);
	vec_deinit(&w->bytes);
	free(w->cpus);
	free(w->fds);
	free(w);
}

uint32_t records_fds(const struct records *w, const int **ret_fds)
{
	*ret_fds = w ? w->fds : NULL;
	return w ? w->n : 0;
}
