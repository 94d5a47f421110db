/* SPDX-License-Identifier: MIT */
/*
 * Subscribers are told what the kernel has recorded: in the order of the times, of processes and
 * not of threads, and each only of what it wants.
 */
#include "tap.h"

#include <sys/mman.h>

#include "base/str.h"
#include "sym/sym.h"
#include "watch/records.h"
#include "watch/subscribers.h"

#define DATA_SIZE ((size_t)4096)

static struct perf_event_mmap_page *page;
static struct strbuf told;

/* ---- writing records as the kernel does ------------------------------------------------------ */

static void put(const void *data, size_t size)
{
	uint8_t *ring = (uint8_t *)page + (size_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < size; i++)
		ring[(page->data_head + i) & (DATA_SIZE - 1)] = ((const uint8_t *)data)[i];
	page->data_head += size;
}

static void put_head(uint32_t type, uint16_t misc, size_t body)
{
	put(&(struct perf_event_header){type, misc, (uint16_t)(8 + body + 8)}, 8);
}

/* pid, ppid, tid, ptid, time; then the time that ends every record */
static void put_task(uint32_t type, uint32_t pid, uint32_t ppid, uint32_t tid, uint64_t time)
{
	const uint32_t ids[] = {pid, ppid, tid, ppid};

	put_head(type, 0, sizeof(ids) + 8);
	put(ids, sizeof(ids));
	put(&time, 8);
	put(&time, 8);
}

static void put_comm(uint16_t misc, uint32_t pid, uint64_t time)
{
	const uint32_t ids[] = {pid, pid};

	put_head(PERF_RECORD_COMM, misc, sizeof(ids) + 8);
	put(ids, sizeof(ids));
	put("comm\0\0\0", 8);
	put(&time, 8);
}

static void put_map(uint32_t pid, uint32_t prot, const char *path, uint64_t time)
{
	const struct {
		uint32_t pid, tid;
		uint64_t addr, len, pgoff;
		uint32_t dev_major, dev_minor;
		uint64_t ino, generation;
		uint32_t prot, flags;
	} r = {pid, pid, 0x1000, 0x2000, 0x3000, 8, 1, 77, 5, prot, 0};
	char text[16] = {0};

	(void)snprintf(text, sizeof(text), "%s", path);
	put_head(PERF_RECORD_MMAP2, 0, sizeof(r) + sizeof(text));
	put(&r, sizeof(r));
	put(text, sizeof(text));
	put(&time, 8);
}

/* ---- a subscriber that writes down what it is told ------------------------------------------- */

static void on_mapped(void *ctx, const struct watch_subject *s, const struct sym_map *m)
{
	strbuf_addf(&told, "%s%d maps %s at %d; ", (const char *)ctx, (int)s->pid, m->path,
		    (int)s->time);
}

static void on_execed(void *ctx, const struct watch_subject *s)
{
	strbuf_addf(&told, "%s%d executes at %d; ", (const char *)ctx, (int)s->pid, (int)s->time);
}

static void on_forked(void *ctx, const struct watch_subject *s, uint64_t parent)
{
	strbuf_addf(&told, "%s%d is a child of %d; ", (const char *)ctx, (int)s->pid, (int)parent);
}

static void on_ended(void *ctx, const struct watch_subject *s)
{
	strbuf_addf(&told, "%s%d ends at %d; ", (const char *)ctx, (int)s->pid, (int)s->time);
}

static void on_lost(void *ctx)
{
	strbuf_addf(&told, "%ssome are lost; ", (const char *)ctx);
}

static const struct watch_subscriber all = {.name = "all",
					    .mapped = on_mapped,
					    .execed = on_execed,
					    .forked = on_forked,
					    .ended = on_ended,
					    .lost = on_lost};
static const struct watch_subscriber ends = {.name = "ends", .ended = on_ended};

static void expect(struct records *r, const char *want, const char *what)
{
	strbuf_clear(&told);
	records_drain(r);
	is_str(strbuf_text(&told), want, what);
}

static void test_events(struct records *r)
{
	const uint64_t lost[] = {1, 2, 9};

	put_map(10, PROT_READ | PROT_EXEC, "/lib/a", 1);
	expect(r, "10 maps /lib/a at 1; ", "a mapping");
	put_map(10, PROT_READ, "/lib/b", 2);
	put_map(0, PROT_EXEC, "/lib/b", 2);
	expect(r, "", "data is none, nor is what a process outside of our namespace maps");
	put_comm(PERF_RECORD_MISC_COMM_EXEC, 10, 3);
	put_comm(0, 10, 4);
	expect(r, "10 executes at 3; ", "another program, but not another name");
	put_task(PERF_RECORD_FORK, 11, 10, 11, 5);
	put_task(PERF_RECORD_FORK, 10, 10, 12, 6);
	expect(r, "11 is a child of 10; ", "a child, but not a thread");
	put_task(PERF_RECORD_FORK, 13, 0, 13, 7);
	expect(r, "13 executes at 7; ", "one whose parent is outside begins with nothing");
	put_task(PERF_RECORD_EXIT, 10, 1, 12, 8);
	put_task(PERF_RECORD_EXIT, 11, 10, 11, 9);
	expect(r, "11 ends at 9; >11 ends at 9; ",
	       "an end is told to both, that of a thread to none");
	put_head(PERF_RECORD_LOST, 0, 16);
	put(lost, sizeof(lost));
	expect(r, "some are lost; ", "what the kernel had no room for");
}

/* The buffers of CPUs are read one after the other. */
static void test_order(struct records *r)
{
	put_task(PERF_RECORD_FORK, 20, 9, 20, 103);
	put_map(20, PROT_EXEC, "/new", 104);
	put_map(20, PROT_EXEC, "/old", 101);
	put_task(PERF_RECORD_EXIT, 20, 1, 20, 102);
	expect(r,
	       "20 maps /old at 101; 20 ends at 102; >20 ends at 102; 20 is a child of 9; 20 maps "
	       "/new at 104; ",
	       "who had the number before has ended before another one begins");
}

static void test_later(struct records *r)
{
	put_task(PERF_RECORD_EXIT, 30, 1, 30, UINT64_MAX);
	put_task(PERF_RECORD_EXIT, 31, 1, 31, 200);
	expect(r, "31 ends at 200; >31 ends at 200; ", "what comes after the look waits");
}

int main(void)
{
	struct subscribers subs = {0};
	struct records *r;

	page = mmap(NULL, (size_t)sysconf(_SC_PAGESIZE) + DATA_SIZE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	page->data_head = page->data_tail = DATA_SIZE - 24; /* records go around the end */
	vec_push(&subs.list, (struct subscription){&all, (void *)(uintptr_t) ""});
	vec_push(&subs.list, (struct subscription){&ends, (void *)(uintptr_t) ">"});
	r = records_create_over(&subs, page, DATA_SIZE);
	test_events(r);
	test_order(r);
	test_later(r);
	records_destroy(r);
	vec_deinit(&subs.list);
	strbuf_deinit(&told);
	return tap_done();
}
