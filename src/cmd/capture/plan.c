/* SPDX-License-Identifier: MIT */
/*
 * Which memory is copied.
 *
 * Never more than the kernel would write (coredump_filter, MADV_DONTDUMP), but for "full", and only
 * pages that are present: a page that is not may be on a server that does not answer, or be made by
 * a thread that stands still (userfaultfd), and reading it would hold us.
 *
 * Facts    Documentation/admin-guide/mm/pagemap.rst: the bits of an entry, and the ioctl
 *          PAGEMAP_SCAN of Linux 6.7, which skips what is not there.
 */
#include "base/base.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "cmd/capture/capture.h"

#define STACK_BYTES	  (256ull << 10)
#define STACK_END_BYTES	  (64ull << 10) /* of the crashed thread: its first functions */
#define RED_ZONE	  256ull
#define SAVED_STACK_BYTES (64ull << 10)
#define SAVED_STACKS	  32
#define DATA_BYTES	  (4ull << 20) /* of the variables of one file */
#define DATA_ALL_BYTES	  (16ull << 20)
#define FILE_PAGES_BYTES  (4ull << 20)
#define GAP_BYTES	  (1ull << 20)

struct scan { /* struct pm_scan_arg */
	u64 size, flags, start, end, walk_end, vec, vec_len, max_pages;
	u64 inverted, mask, anyof_mask, return_mask;
};
struct region {
	u64 start, end, categories;
};
#define SCAN_IOCTL  _IOWR('f', 16, struct scan)
#define IS_FILE	    (1u << 2)
#define IS_PRESENT  (1u << 3)
#define IS_SWAPPED  (1u << 4)
#define IS_ZERO	    (1u << 5)
#define ENTRY_FILE  (1ull << 61)
#define ENTRY_THERE (3ull << 62) /* present, or in the swap */

static struct run first_runs[RUNS_MAX], all_runs[RUNS_MAX], span_runs[RUNS_MAX];
static int pagemap = -1;
static bool scan_fails; /* before Linux 6.7 */
static u64 plan_until;	/* a range of terabytes takes seconds without the ioctl */

/* ---- runs */

void run_add(struct runs *runs, u64 start, u64 end)
{
	if (runs->n == RUNS_MAX) {
		runs->is_full = true;
		return;
	}
	runs->run[runs->n++] = (struct run){.start = start, .end = end};
}

static void heap_sift(struct run *run, u32 hole, u32 n)
{
	struct run r = run[hole];

	for (u32 child; (child = 2 * hole + 1) < n; hole = child) {
		if (child + 1 < n && run[child + 1].start > run[child].start)
			child++;
		if (run[child].start <= r.start)
			break;
		run[hole] = run[child];
	}
	run[hole] = r;
}

/* Sorts by address and joins what overlaps or is adjacent, if it is of the same segment. */
static void runs_sort(struct runs *runs, const struct head *h)
{
	struct run *run = runs->run;
	u32 n = runs->n, kept = 0;

	for (u32 i = n / 2; i-- > 0;)
		heap_sift(run, i, n);
	for (u32 i = n; i-- > 1;) {
		struct run r = run[0];

		run[0] = run[i];
		run[i] = r;
		heap_sift(run, 0, i);
	}
	for (u32 i = 0; i < n; i++) {
		struct run *last = kept ? &run[kept - 1] : NULL;

		if (last && run[i].start <= last->end &&
		    segment_at(h, last->start) == segment_at(h, run[i].start))
			last->end = MAX(last->end, run[i].end);
		else
			run[kept++] = run[i];
	}
	runs->n = kept;
}

u32 run_at(const struct runs *runs, u64 addr)
{
	u32 low = 0, high = runs->n;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (runs->run[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static u64 runs_bytes(const struct runs *runs)
{
	u64 bytes = 0;

	for (u32 i = 0; i < runs->n; i++)
		bytes += runs->run[i].end - runs->run[i].start;
	return bytes;
}

/* ---- pages that are present */

bool page_is_present(u64 addr)
{
	u64 entry;

	return pagemap < 0 ||
	       pread(pagemap, &entry, sizeof(entry), (off_t)(addr / PAGE * sizeof(entry))) !=
		       sizeof(entry) ||
	       (entry & ENTRY_THERE);
}

/* Adds what is present of a range by the ioctl; false: the kernel has none. */
static bool range_scan(struct runs *runs, u64 start, u64 end, bool skip_file)
{
	static struct region region[1024];

	while (start < end) {
		struct scan scan = {
			.size = sizeof(scan),
			.start = start,
			.end = end,
			.vec = (u64)(uintptr_t)region,
			.vec_len = ARRAY_LEN(region),
			.inverted = IS_ZERO | (skip_file ? IS_FILE : 0),
			.mask = IS_ZERO | (skip_file ? IS_FILE : 0),
			.anyof_mask = IS_PRESENT | IS_SWAPPED,
			.return_mask = IS_PRESENT,
		};
		int n = ioctl(pagemap, SCAN_IOCTL, &scan);

		if (n < 0) {
			scan_fails = errno == ENOTTY;
			return false;
		}
		for (int i = 0; i < n; i++)
			run_add(runs, region[i].start, region[i].end);
		if (scan.walk_end <= start)
			break;
		start = scan.walk_end;
	}
	return true;
}

static void range_add(struct runs *runs, u64 start, u64 end, bool skip_file)
{
	static u64 entry[8192];
	u64 from = 0; /* of the pages that are present, up to start; 0: none */

	if (pagemap < 0) {
		run_add(runs, start, end);
		return;
	}
	if (!scan_fails && range_scan(runs, start, end, skip_file))
		return;
	while (start < end) {
		size_t want = (size_t)MIN((end - start) / PAGE, ARRAY_LEN(entry));
		ssize_t n = pread(pagemap, entry, want * sizeof(u64),
				  (off_t)(start / PAGE * sizeof(u64)));

		if (n < (ssize_t)sizeof(u64))
			break; /* it is not the process's own, as the kernel's page of old calls */
		if (time_mono() > plan_until) {
			runs->is_full = true;
			break;
		}
		n /= (ssize_t)sizeof(u64);
		for (ssize_t i = 0; i < n; i++, start += PAGE) {
			bool is_wanted =
				(entry[i] & ENTRY_THERE) && !(skip_file && (entry[i] & ENTRY_FILE));

			if (from && !is_wanted)
				run_add(runs, from, start);
			from = !is_wanted ? 0 : from ? from : start;
		}
	}
	if (from)
		run_add(runs, from, start);
}

void plan_add(struct runs *runs, const struct head *h, u64 start, u64 end)
{
	start &= ~(PAGE - 1);
	if (end < start || end > ~0ull - PAGE)
		return;
	end = ROUND_UP(end, PAGE);
	for (u32 i = segment_at(h, start); i < h->nsegments && segments[i].start < end; i++) {
		u64 from = MAX(start, segments[i].start);
		u64 to = MIN(end, segments[i].start + segments[i].dumped);

		if (from < to)
			range_add(runs, from, to, false);
	}
}

/* ---- stacks */

static bool address_is_copied(const struct head *h, u64 addr, u32 *ret_segment)
{
	u32 i = segment_at(h, addr);

	*ret_segment = i;
	return i < h->nsegments && addr >= segments[i].start &&
	       addr < segments[i].start + segments[i].dumped;
}

/*
 * A handler on a stack of its own was interrupted code on another one: what the words at the top of
 * the crashed stack point to is taken for a stack, if it is memory of another mapping.
 */
static void saved_stacks_add(struct runs *runs, const struct process *p, const struct head *h,
			     u64 sp)
{
	u64 word[512] = {0}, covered = 0;
	u32 own, other, n = 0;
	size_t len = page_is_present(sp & ~(PAGE - 1)) ? PAGE - sp % PAGE : 0;

	address_is_copied(h, sp, &own);
	if (len && page_is_present((sp & ~(PAGE - 1)) + PAGE))
		len = sizeof(word);
	len = memory_read(p, sp, word, len);
	for (size_t i = 0; i < len / sizeof(u64) && n < SAVED_STACKS; i++) {
		if (!address_is_copied(h, word[i], &other) || other == own ||
		    !(segments[other].flags & PF_W) || word[i] - covered < SAVED_STACK_BYTES / 2)
			continue;
		plan_add(runs, h, word[i] - MIN(word[i], RED_ZONE), word[i] + SAVED_STACK_BYTES);
		covered = word[i];
		n++;
	}
}

static void stacks_add(struct runs *runs, const struct process *p, const struct head *h, u64 max)
{
	for (u32 i = 0; i < nstacks && (i == 0 || runs_bytes(runs) < max); i++) {
		u64 sp = stacks[i].sp;
		u32 s;

		if (sp < PAGE || sp > ~0ull - STACK_BYTES)
			continue;
		plan_add(runs, h, sp - RED_ZONE, sp + STACK_BYTES);
		if (i)
			continue;
		if (address_is_copied(h, sp, &s) || s < h->nsegments)
			plan_add(runs, h, MAX(segments[s].end - STACK_END_BYTES, segments[s].start),
				 segments[s].end);
		saved_stacks_add(runs, p, h, sp);
	}
}

static struct {
	struct runs *runs;
	const struct head *h;
} words;

static void register_take(u32 thread, u64 word)
{
	u64 around = thread ? RED_ZONE : PAGE;
	u32 s;

	if (address_is_copied(words.h, word, &s))
		plan_add(words.runs, words.h, MAX(word - MIN(word, around), segments[s].start),
			 word + around);
}

/* Variables of the program and its libraries: where interpreters have their roots. */
static void data_add(struct runs *runs, const struct head *h, u64 max)
{
	u64 sum = 0;

	for (u32 i = 0; i < h->nsegments; i++) {
		const struct segment *s = &segments[i], *before = i ? s - 1 : s;
		/* .bss follows the file's mapping */
		bool is_data = s->has_file || (before->has_file && before->end == s->start);

		if (!is_data || s->is_shared || !(s->flags & PF_W) || s->dumped > DATA_BYTES ||
		    sum + s->dumped > max)
			continue;
		plan_add(runs, h, s->start, s->start + s->dumped);
		sum += s->dumped;
	}
}

/* ---- the rest */

static bool segment_skips_file(const struct segment *s, enum keep keep)
{
	return keep == KEEP_HEAP && s->has_file && !s->is_shared && s->dumped > FILE_PAGES_BYTES;
}

static void rest_add(struct runs *runs, const struct head *h, enum keep keep)
{
	for (u32 i = 0; i < h->nsegments; i++)
		if (segments[i].dumped)
			range_add(runs, segments[i].start, segments[i].start + segments[i].dumped,
				  segment_skips_file(&segments[i], keep));
}

static void runs_copy(struct runs *to, const struct runs *from)
{
	for (u32 i = 0; i < from->n; i++)
		run_add(to, from->run[i].start, from->run[i].end);
}

/* Joins runs of anonymous memory that are near each other, and gives each its place in the file. */
static void spans_make(struct plan *plan, const struct head *h)
{
	struct runs *spans = &plan->spans;

	for (u32 i = 0; i < plan->all.n; i++) {
		const struct run *r = &plan->all.run[i];
		struct run *last = spans->n ? &spans->run[spans->n - 1] : NULL;
		u32 s = segment_at(h, r->start);

		if (last && plan->kept > KEEP_STACKS && r->start - last->end <= GAP_BYTES &&
		    segment_at(h, last->start) == s && !segments[s].has_file)
			last->end = r->end;
		else
			spans->run[spans->n++] = *r;
	}
	plan->size = 0;
	for (u32 i = 0; i < spans->n; i++) {
		spans->run[i].offset = plan->size;
		plan->size += spans->run[i].end - spans->run[i].start;
	}
}

static const char *rest_plan(struct plan *plan, const struct head *h, enum keep keep, u64 max_bytes)
{
	static char text[128];
	u64 bytes;

	runs_copy(&plan->all, &plan->first);
	rest_add(&plan->all, h, keep);
	runs_sort(&plan->all, h);
	bytes = runs_bytes(&plan->all);
	if (plan->all.is_full)
		return "the memory is in too many pieces";
	if (bytes <= max_bytes)
		return NULL;
	snprintf(text, sizeof(text), "%s is %llu bytes, of which %llu may be copied",
		 keep_names[keep], (unsigned long long)bytes, (unsigned long long)max_bytes);
	return text;
}

void plan_make(struct plan *plan, const struct process *p, const struct head *h, enum keep keep,
	       u64 max_bytes, u64 until_ns)
{
	struct runs *first = &plan->first;

	*plan = (struct plan){
		.kept = MAX(keep, KEEP_STACKS),
		.first.run = first_runs,
		.all.run = all_runs,
		.spans.run = span_runs,
	};
	pagemap = openat(p->dir, "pagemap", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	plan_until = until_ns;
	for (u32 i = 0; i < h->nsegments; i++)
		if (segments[i].is_head ||
		    (h->vdso && h->vdso >= segments[i].start && h->vdso < segments[i].end))
			plan_add(first, h, segments[i].start,
				 segments[i].is_head ? segments[i].start + PAGE : segments[i].end);
	words.runs = first;
	words.h = h;
	head_words(h, THREADS_COPIED, register_take);
	stacks_add(first, p, h, max_bytes / 2);
	data_add(first, h, MIN(DATA_ALL_BYTES, max_bytes / 4));
	runs_sort(first, h);
	if (keep > KEEP_STACKS)
		plan->cut = rest_plan(plan, h, keep, max_bytes);
	if (keep <= KEEP_STACKS || plan->cut) {
		u64 soon = time_mono() + 15 * NS_PER_MS;

		plan->kept = KEEP_STACKS;
		chase_all(first, p, h, MIN(soon, until_ns));
		runs_sort(first, h);
		plan->all.n = 0;
		runs_copy(&plan->all, first);
		if (first->is_full && !plan->cut)
			plan->cut = "the stacks are in too many pieces";
	}
	spans_make(plan, h);
	close(pagemap);
}
