/* SPDX-License-Identifier: MIT */
/*
 * Finds the memory that stacks refer to, over several pointers: the frames, functions and names of
 * languages are objects on the heap.
 *
 * Nothing is known of a language here: each word that could be a pointer is followed, breadth
 * first, and the begin of what it points to is looked through. Pages are read once, into a cache.
 */
#include "base/base.h"

#include <elf.h>

#include "cmd/capture/capture.h"

#define PAGES_MAX     2048 /* 8 MB */
#define TABLE_SIZE    8192 /* a power of two */
#define QUEUE_SIZE    65536
#define OBJECT_BYTES  192
#define GRANULE	      64 /* objects that begin in the same one are looked through once */
#define CRASHED_BYTES (64u << 10)
#define STACK_BYTES   4096u
#define LEVELS	      5
#define DATA_LEVELS   3
#define DATA_BYTES    (1ull << 20)

static u8 page_data[PAGES_MAX][PAGE];
static u64 page_addr[PAGES_MAX], page_seen[PAGES_MAX];
static u16 table[TABLE_SIZE]; /* 1 + index of a page */
static u32 npages;

static struct {
	u64 addr;
	u32 level;
} queue[QUEUE_SIZE];
static u32 queue_head, queue_tail;

static struct {
	const struct process *p;
	const struct head *h;
	u64 low, high, until; /* addresses; time */
	bool is_late;
} chase;

/* The cached page, which is read if there is room; PAGES_MAX: it cannot be had. */
static u32 page_get(u64 addr)
{
	u32 at = (u32)((addr / PAGE * 0x9e3779b97f4a7c15ull) >> 40) % TABLE_SIZE;

	for (; table[at]; at = (at + 1) % TABLE_SIZE)
		if (page_addr[table[at] - 1] == addr)
			return table[at] - 1u;
	if (npages == PAGES_MAX || !page_is_present(addr) ||
	    memory_read(chase.p, addr, page_data[npages], PAGE) != PAGE)
		return PAGES_MAX;
	page_addr[npages] = addr;
	table[at] = (u16)(npages + 1);
	return npages++;
}

/* Whether the kernel would write what is there, and the program could have written it. */
static bool address_is_object(u64 addr)
{
	u32 i;

	if (addr < chase.low || addr >= chase.high)
		return false;
	i = segment_at(chase.h, addr);
	return i < chase.h->nsegments && addr >= segments[i].start &&
	       addr < segments[i].start + segments[i].dumped && !segments[i].is_stack &&
	       ((segments[i].flags & PF_W) || !segments[i].has_file);
}

static void word_follow(u64 word, u32 level)
{
	u64 addr = word & ~7ull; /* tags of languages are in the lowest bits */
	u32 page;

	if (!address_is_object(addr))
		return;
	page = page_get(addr & ~(PAGE - 1));
	if (page == PAGES_MAX || (page_seen[page] >> (addr % PAGE / GRANULE) & 1))
		return;
	page_seen[page] |= 1ull << (addr % PAGE / GRANULE);
	if (level && queue_tail < QUEUE_SIZE) {
		queue[queue_tail].addr = addr;
		queue[queue_tail++].level = level - 1;
	}
}

static void bytes_follow(const u8 *bytes, size_t len, u32 level)
{
	size_t step = chase.h->is_64 ? 8 : 4;

	for (size_t i = 0; i + step <= len; i += step) {
		u64 word = 0;

		memcpy(&word, bytes + i, step);
		word_follow(word, level);
	}
}

static void queue_run(void)
{
	for (; queue_head < queue_tail && !chase.is_late; queue_head++) {
		u64 addr = queue[queue_head].addr, end = addr + OBJECT_BYTES;

		if (queue_head % 64 == 0)
			chase.is_late = time_mono() > chase.until;
		while (addr < end) {
			u32 page = page_get(addr & ~(PAGE - 1));
			size_t len = (size_t)MIN(end - addr, PAGE - addr % PAGE);

			if (page == PAGES_MAX || !address_is_object(addr))
				break;
			bytes_follow(page_data[page] + addr % PAGE, len, queue[queue_head].level);
			addr += len;
		}
	}
	queue_head = queue_tail = 0;
}

static void register_follow(u32 thread, u64 word)
{
	word_follow(word, LEVELS);
}

/* Memory that is present, from addr on, page by page. */
static void memory_follow(u64 addr, u64 end, u32 level)
{
	static u8 bytes[PAGE];

	while (addr < end && !chase.is_late && page_is_present(addr & ~(PAGE - 1))) {
		size_t len = (size_t)MIN(end - addr, PAGE - addr % PAGE);

		bytes_follow(bytes, memory_read(chase.p, addr, bytes, len), level);
		addr += len;
		chase.is_late = time_mono() > chase.until;
	}
}

void chase_all(struct runs *runs, const struct process *p, const struct head *h, u64 until_ns)
{
	u32 n = runs->n; /* of the runs to look through: those of data are among them */

	chase.p = p;
	chase.h = h;
	chase.low = h->nsegments ? segments[0].start : 0;
	chase.high = h->nsegments ? segments[h->nsegments - 1].end : 0;
	chase.until = until_ns;
	head_words(h, THREADS_COPIED, register_follow);
	for (u32 i = 0; i < nstacks; i++) {
		u64 sp = stacks[i].sp & ~7ull;
		u32 s = segment_at(h, sp);

		if (s < h->nsegments && sp >= segments[s].start)
			memory_follow(sp,
				      MIN(sp + (i ? STACK_BYTES : CRASHED_BYTES), segments[s].end),
				      LEVELS);
		queue_run();
	}
	for (u32 i = 0; i < n; i++) {
		const struct run *r = &runs->run[i];
		u32 s = segment_at(h, r->start);

		if (s < h->nsegments && segments[s].has_file && (segments[s].flags & PF_W))
			memory_follow(r->start, MIN(r->end, r->start + DATA_BYTES), DATA_LEVELS);
		queue_run();
	}
	for (u32 i = 0; i < npages; i++)
		run_add(runs, page_addr[i], page_addr[i] + PAGE);
}
