/* SPDX-License-Identifier: MIT */
/*
 * The core file: the kernel's notes, and the memory that was copied, at places of the file that the
 * plan knows before it is copied.
 *
 * Disks are slower than memory: as much as fits is held in memory until the process is let go, and
 * written then.
 */
#include "base/base.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <time.h>

#include "cmd/capture/capture.h"

#define CHUNK	   (256u << 10)
#define HELD_BYTES (512ull << 20)
#define HELD_MAX   RUNS_MAX
#define BIG_BYTES  (8ull << 20)
#define HUGE_BYTES (2ull << 20) /* of a huge page; where they have another size, of a step */
#define BATCH	   256
#define HOLES_MAX  1024
#define PHDRS_MAX  65534u
#define PIECES_MAX (2 * RUNS_MAX)

static u8 chunk[CHUNK] __attribute__((aligned(PAGE)));
static u64 hole[HOLES_MAX]; /* addresses of pages that could not be read */
static u32 nholes;
static struct run pieces[PIECES_MAX]; /* what was copied, by address */
static u32 npieces;
static u8 *held_data; /* NULL: there is none */
static size_t held_size, held_len;
static struct {
	size_t until; /* bytes from the start for which it is decided */
	bool is_huge, is_last;
	size_t from; /* since when it was measured, and what one byte of either kind costs */
	u64 from_ns, huge_cost, small_cost;
} pages;
static struct held {
	u64 offset; /* in the file */
	size_t at, len;
} held[HELD_MAX];
static u32 nheld;
static u64 data_offset; /* of the spans, in the file */
static u64 copied_to;	/* all memory below this address was copied, above it plan->first */

static size_t header_size(const struct head *h)
{
	return h->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
}

static size_t phdr_size(const struct head *h)
{
	return h->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
}

/* As many program headers as there can be: each piece, and each gap before one. */
static u64 notes_offset(const struct plan *plan, const struct head *h)
{
	u64 most = 1 + h->nsegments + 2ull * (plan->spans.n + plan->first.n + HOLES_MAX);

	return header_size(h) + MIN(most, PHDRS_MAX) * phdr_size(h);
}

static u64 offset_of(const struct plan *plan, u64 addr)
{
	const struct run *span = &plan->spans.run[run_at(&plan->spans, addr)];

	return data_offset + span->offset + (addr - span->start);
}

/* Writes len bytes of pages but those that are zero; 0 or an errno. */
static int pages_write(int fd, const u8 *data, size_t len, u64 offset)
{
	static const u8 zero[PAGE];
	size_t from = 0;

	for (size_t at = 0; at <= len; at += PAGE) {
		if (at < len && memcmp(data + at, zero, PAGE) != 0)
			continue;
		while (from < at) {
			ssize_t n = pwrite(fd, data + from, at - from, (off_t)(offset + from));

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return n < 0 ? errno : EIO;
			from += (size_t)n;
		}
		from = at + PAGE;
	}
	return 0;
}

/* ---- the memory that is held */

/* An eighth of the machine's memory at most, and a quarter of what is free. */
static void held_init(u64 wanted)
{
	struct sysinfo info;
	u64 size = HELD_BYTES;
	void *data;

	if (sysinfo(&info) < 0)
		return;
	size = MIN(size, (u64)info.totalram * info.mem_unit / 8);
	size = MIN(size, (u64)(info.freeram + info.bufferram) * info.mem_unit / 4);
	size &= ~(PAGE - 1);
	data = size ? mmap(NULL, size + HUGE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
		    : MAP_FAILED;
	if (data == MAP_FAILED)
		return;
	held_data = (u8 *)ROUND_UP((uintptr_t)data, HUGE_BYTES);
	held_size = size;
	pages.is_last = wanted < BIG_BYTES; /* small copies do not repay a try */
}

static u64 cpu_used(void)
{
	struct timespec t;

	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) < 0)
		return 0;
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

/*
 * Decides for the next len bytes which pages they get: small ones first, then a huge one, and from
 * there on those that cost less. Huge ones cost half of what small ones do where the kernel has
 * some at hand, and ten times as much where it has to tidy up first, or, in a virtual machine,
 * where the host has yet to find the memory.
 */
static void pages_choose(size_t len)
{
	while (pages.until < held_len + len) {
		size_t bytes = held_len - pages.from;

		if (!pages.is_last && bytes) {
			u64 cost = ((cpu_used() - pages.from_ns) << 10) / bytes;

			if (pages.is_huge)
				pages.huge_cost = cost;
			else
				pages.small_cost = cost;
			pages.is_last = pages.huge_cost > pages.small_cost;
			pages.is_huge = !pages.is_last;
			pages.from = held_len;
			pages.from_ns = cpu_used();
		} else if (!pages.is_last && !pages.until) {
			pages.from_ns = cpu_used();
		}
		madvise(held_data + pages.until, MIN(HUGE_BYTES, held_size - pages.until),
			pages.is_huge ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);
		pages.until += HUGE_BYTES;
	}
}

static bool held_fits(size_t len)
{
	return held_data && held_size - held_len >= len && nheld < HELD_MAX;
}

/* Notes that the next len bytes of the held memory belong at this offset of the core file. */
static void held_add(u64 offset, size_t len)
{
	struct held *last = nheld ? &held[nheld - 1] : NULL;

	if (last && last->offset + last->len == offset && last->at + last->len == held_len)
		last->len += len;
	else if (len)
		held[nheld++] = (struct held){.offset = offset, .at = held_len, .len = len};
	held_len += len;
}

static int held_write(int fd)
{
	int error = 0;

	for (u32 i = 0; i < nheld && !error; i++)
		error = pages_write(fd, held_data + held[i].at, held[i].len, held[i].offset);
	return error;
}

/*
 * Reads the runs from i on, as many as go in one call; returns how many were read, which is 0 if a
 * page of them cannot be read, or they do not fit.
 */
static u32 batch_copy(struct copied *c, const struct plan *plan, const struct process *p, u32 i)
{
	struct iovec remote[BATCH], local = {.iov_len = 0};
	u32 n = 0;

	for (; i + n < plan->first.n && n < BATCH; n++) {
		const struct run *r = &plan->first.run[i + n];

		if (local.iov_len + (r->end - r->start) > CHUNK * 4)
			break;
		remote[n].iov_base = (void *)(uintptr_t)r->start;
		remote[n].iov_len = r->end - r->start;
		local.iov_len += r->end - r->start;
	}
	if (!n || !held_fits(local.iov_len) || nheld + n > HELD_MAX)
		return 0;
	pages_choose(local.iov_len);
	local.iov_base = held_data + held_len;
	if (process_vm_readv((pid_t)p->mm_pid, &local, 1, remote, n, 0) != (ssize_t)local.iov_len)
		return 0;
	for (u32 k = 0; k < n; k++)
		held_add(offset_of(plan, plan->first.run[i + k].start), remote[k].iov_len);
	c->bytes += local.iov_len;
	return n;
}

/* Copies a range of a span; returns the address that it came to, and why it stopped before end. */
static u64 range_copy(struct copied *c, const struct plan *plan, const struct process *p, int fd,
		      struct run range, u64 until_ns)
{
	u64 addr = range.start;

	while (addr < range.end) {
		size_t len = (size_t)MIN(range.end - addr, CHUNK);
		bool holds = held_fits(len);
		size_t n;
		int error = 0;

		if (holds)
			pages_choose(len);
		n = memory_read(p, addr, holds ? held_data + held_len : chunk, len) &
		    ~(size_t)(PAGE - 1);
		if (holds)
			held_add(offset_of(plan, addr), n);
		else
			error = pages_write(fd, chunk, n, offset_of(plan, addr));
		if (error) {
			c->cut = strerror(error);
			return addr;
		}
		addr += n;
		c->bytes += n;
		if (n < len) {
			if (nholes < HOLES_MAX)
				hole[nholes++] = addr;
			c->holes++;
			addr += PAGE;
		}
		if (time_mono() > until_ns) {
			c->cut = "the time was over";
			return addr;
		}
	}
	return addr;
}

/* Copies what is in all and not in first. */
static void rest_copy(struct copied *c, struct plan *plan, const struct process *p, int fd,
		      u64 until_ns)
{
	for (u32 i = 0; i < plan->all.n; i++) {
		struct run r = plan->all.run[i];

		while (r.start < r.end) {
			u32 k = run_at(&plan->first, r.start);
			u64 next =
				k < plan->first.n ? MAX(plan->first.run[k].start, r.start) : r.end;
			struct run part = {.start = r.start, .end = MIN(next, r.end)};

			copied_to = range_copy(c, plan, p, fd, part, until_ns);
			if (c->cut)
				return;
			r.start = next < r.end ? MIN(plan->first.run[k].end, r.end) : r.end;
		}
	}
	copied_to = ~0ull;
}

void core_copy(struct copied *c, struct plan *plan, const struct process *p, const struct head *h,
	       int fd, u64 until_ns)
{
	u64 notes = notes_offset(plan, h), begin = time_mono();
	/* Registers and stacks, which are copied in any case, have twice the time. */
	u64 last_ns = until_ns + (until_ns > begin ? until_ns - begin : 0) + 50 * NS_PER_MS;

	*c = (struct copied){0};
	data_offset = ROUND_UP(notes + h->notes_len, PAGE);
	copied_to = 0;
	held_init(plan->size);
	for (u32 i = 0; i < plan->first.n; i++) {
		struct run *r = &plan->first.run[i];
		u32 n = batch_copy(c, plan, p, i);

		if (n) {
			i += n - 1;
			continue;
		}
		r->end = range_copy(c, plan, p, fd, *r, last_ns);
		if (c->cut) {
			plan->first.n = i + (r->end > r->start);
			return;
		}
	}
	if (plan->kept > KEEP_STACKS)
		rest_copy(c, plan, p, fd, until_ns);
	if (c->cut)
		plan->kept = KEEP_STACKS;
}

/* ---- the head */

static bool page_is_hole(u64 addr)
{
	for (u32 i = 0; i < nholes; i++)
		if (hole[i] == addr)
			return true;
	return false;
}

static void piece_add(const struct plan *plan, u64 start, u64 end)
{
	if (start < end && npieces < PIECES_MAX)
		pieces[npieces++] = (struct run){start, end, offset_of(plan, start)};
}

/* Adds a range without the pages that could not be read. */
static void range_add(const struct plan *plan, u64 start, u64 end)
{
	u64 from = start;

	for (u64 at = start; nholes && at < end; at += PAGE) {
		if (!page_is_hole(at))
			continue;
		piece_add(plan, from, at);
		from = at + PAGE;
	}
	piece_add(plan, from, end);
}

static void pieces_find(const struct plan *plan)
{
	u32 k = 0;

	npieces = 0;
	for (u32 i = 0; i < plan->spans.n; i++) {
		struct run span = plan->spans.run[i];
		u64 full = MIN(MAX(copied_to, span.start), span.end);

		range_add(plan, span.start, full);
		for (; k < plan->first.n && plan->first.run[k].start < span.end; k++)
			range_add(plan, MAX(plan->first.run[k].start, full),
				  plan->first.run[k].end);
	}
}

static void phdr_add(struct out *o, const struct head *h, u32 type, u32 flags, u64 offset,
		     struct run memory, u64 file_size)
{
	u64 align = type == PT_LOAD ? PAGE : 4;

	if (h->is_64)
		out_bytes(o,
			  &(Elf64_Phdr){
				  .p_type = type,
				  .p_flags = flags,
				  .p_offset = offset,
				  .p_vaddr = memory.start,
				  .p_filesz = file_size,
				  .p_memsz = memory.end - memory.start,
				  .p_align = align,
			  },
			  sizeof(Elf64_Phdr));
	else
		out_bytes(o,
			  &(Elf32_Phdr){
				  .p_type = type,
				  .p_flags = flags,
				  .p_offset = (u32)offset,
				  .p_vaddr = (u32)memory.start,
				  .p_filesz = (u32)file_size,
				  .p_memsz = (u32)(memory.end - memory.start),
				  .p_align = (u32)align,
			  },
			  sizeof(Elf32_Phdr));
}

/*
 * The program headers of all segments: of pieces, and, with gaps, of what is between them; with o
 * NULL they are only counted.
 */
static u32 phdrs_add(struct out *o, const struct head *h, bool with_gaps)
{
	u32 n = 0, k = 0;

	for (u32 i = 0; i < h->nsegments; i++) {
		const struct segment *s = &segments[i];

		for (u64 at = s->start; at < s->end;) {
			bool is_piece;
			struct run part;

			while (k < npieces && pieces[k].end <= at)
				k++;
			is_piece = k < npieces && pieces[k].start <= at;
			part = (struct run){.start = at, .end = s->end};
			if (is_piece)
				part.end = MIN(pieces[k].end, s->end);
			else if (k < npieces)
				part.end = MIN(pieces[k].start, s->end);
			at = part.end;
			if (!is_piece && !with_gaps)
				continue;
			n++;
			if (o)
				phdr_add(o, h, PT_LOAD, s->flags,
					 is_piece ? pieces[k].offset + part.start - pieces[k].start
						  : data_offset,
					 part, is_piece ? part.end - part.start : 0);
		}
	}
	return n;
}

static void ehdr_add(struct out *o, const struct head *h, u32 nphdr)
{
	Elf64_Ehdr e;
	Elf32_Ehdr small;

	memcpy(&e, head_bytes, sizeof(e));
	memcpy(&small, head_bytes, sizeof(small));
	e.e_phnum = small.e_phnum = (u16)nphdr;
	e.e_shoff = small.e_shoff = 0;
	e.e_shnum = small.e_shnum = 0;
	e.e_shstrndx = small.e_shstrndx = 0;
	e.e_shentsize = small.e_shentsize = 0;
	if (h->is_64)
		out_bytes(o, &e, sizeof(e));
	else
		out_bytes(o, &small, sizeof(small));
}

const char *core_head(const struct plan *plan, const struct head *h, int fd)
{
	static struct out o;
	u64 notes = (data_offset - h->notes_len) & ~3ull; /* they end where memory begins */
	bool with_gaps = true;
	u32 n;

	pieces_find(plan);
	n = phdrs_add(NULL, h, true);
	if (n + 1 > PHDRS_MAX) {
		with_gaps = false;
		n = phdrs_add(NULL, h, false);
	}
	if (n + 1 > PHDRS_MAX)
		return "the memory is in too many pieces for a core file";
	if (ftruncate(fd, (off_t)(data_offset + plan->size)) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		return strerror(errno);
	errno = held_write(fd);
	if (errno)
		return strerror(errno);
	out_init(&o, fd);
	ehdr_add(&o, h, n + 1);
	phdr_add(&o, h, PT_NOTE, 0, notes, (struct run){0}, h->notes_len);
	phdrs_add(&o, h, with_gaps);
	out_flush(&o);
	if (!o.failed && lseek(fd, (off_t)notes, SEEK_SET) < 0)
		o.failed = errno;
	if (!o.failed)
		o.failed = write_all(fd, h->notes, h->notes_len);
	return o.failed ? strerror(o.failed) : NULL;
}
