/* SPDX-License-Identifier: MIT */
/*
 * The jumps into regions that a process has in its code, found by comparison with its files.
 *
 * The table of windows in the region's head would say the same, but children of fork() share it,
 * and can overwrite it. What the process executes is private, and what it should execute is in its
 * files: where a page of code is the process's own, its bytes are compared with those of the file,
 * and what differs is a window if it is a jump or call that leads into a region.
 *
 *     file      48 89 e5 41 57           mov %rsp,%rbp; push %r15
 *     memory    e9 37 40 fe ff           jmp STUB
 *     file      e8 12 34 00 00           call f         (its first byte stays)
 *     memory    e8 99 7a fd ff           call STUB
 *     file      31 c0 c3 cc cc cc cc cc  xor; ret; padding
 *     memory    eb 01 c3 e9 .. .. .. ..  jmp PAD; ret; PAD: jmp STUB
 *
 * A jump of five bytes over nothing but padding, to which no short one leads, is what remains of
 * the last kind when it was partly taken back: nobody executes it, and a thread may be about to
 * return to it, so it is left alone.
 */
#include <errno.h>
#include <fcntl.h>

#include "arch/patch.h"
#include "base/sorted.h"
#include "kernel/sys.h"
#include "patch/leftover.h"

#define PAGES_MAX    (1u << 22) /* of code: 16 GB */
#define PAGES_CHUNK  512u
#define PAGE_PRESENT ((uint64_t)1 << 63)
#define PAGE_SWAPPED ((uint64_t)1 << 62)
#define PAGE_OF_FILE ((uint64_t)1 << 61)

/* A page of code: what the process has, and what the file has. */
struct page {
	taddr addr;
	uint32_t size; /* less at the end of the file */
	uint8_t mem[PATCH_PAGE], file[PATCH_PAGE];
};

/* A short jump that the file does not have. */
struct hop {
	taddr addr, to;
	uint8_t old[2];
};

struct search {
	struct leftover *l;
	int pagemap_fd;
	uint32_t npages;
	bool is_full; /* rows_left is used up */
	VEC(struct hop) hops;
	struct page page;
};

/* Whether a window begins there; *ret: its row. */
static bool jump_read(const struct search *s, uint32_t at, struct window_row *ret)
{
	const struct page *p = &s->page;
	uint8_t size = arch_patch->jump_size, first = p->mem[at];
	taddr to;

	if (at + size > p->size)
		return false;
	/* somebody's breakpoint is on it: keeper/windows.c */
	first = first == arch_patch->breakpoint ? p->file[at] : first;
	if (first != arch_patch->jump_byte && first != p->file[at])
		return false;
	to = arch_patch->jump_target(p->addr + at, p->mem + at);
	if (!leftover_head_of(s->l, to))
		return false;
	*ret = (struct window_row){.addr = p->addr + at,
				   .stub = to,
				   .is_used = true,
				   .is_call = first == p->file[at]};
	memcpy(ret->old, p->file + at, size);
	return true;
}

/* The process can fill its code with them. */
static bool rows_take(struct search *s)
{
	s->is_full |= !s->l->rows_left;
	s->l->rows_left -= !s->is_full;
	return !s->is_full;
}

static void hop_note(struct search *s, uint32_t at)
{
	const struct page *p = &s->page;
	struct hop h = {.addr = p->addr + at};

	if (p->mem[at] != arch_patch->short_byte || at + arch_patch->short_size > p->size)
		return;
	h.to = arch_patch->short_target(h.addr, p->mem + at);
	memcpy(h.old, p->file + at, sizeof(h.old));
	if (rows_take(s))
		vec_push(&s->hops, h);
}

/* The windows of a page; each lies on one. */
static void page_search(struct search *s)
{
	const struct page *p = &s->page;
	uint32_t behind = 0; /* the last window */

	for (uint32_t i = 0; i < p->size && !s->is_full; i++) {
		struct window_row r;
		uint32_t from = i, least;

		if (i < behind || p->mem[i] == p->file[i])
			continue;
		/* the first bytes may be the same: of a call, or by chance of the distance */
		least = MAX(behind, i - MIN(i, arch_patch->jump_size - 1u));
		while (from > least && !jump_read(s, from, &r))
			from--;
		if (jump_read(s, from, &r)) {
			if (rows_take(s))
				vec_push(&s->l->jumps, r);
			behind = from + arch_patch->jump_size;
			continue;
		}
		hop_note(s, i);
		if (i > behind && p->mem[i - 1] == p->file[i - 1])
			hop_note(s, i - 1);
	}
}

static bool page_read(struct search *s, taddr addr)
{
	struct page *p = &s->page;

	p->addr = addr;
	p->size = (uint32_t)leftover_file_read(s->l, addr, p->file, sizeof(p->file));
	return p->size && sys_pread(s->l->mem_fd, p->mem, p->size, addr) == (ssize_t)p->size;
}

/* Searches the pages of a mapping that are the process's own: no window is in others. */
static struct err *mapping_search(struct search *s, const struct proc_map *m)
{
	uint64_t bits[PAGES_CHUNK];

	for (taddr at = m->start; at < m->end && !leftover_is_interrupted(s->l);
	     at += PAGES_CHUNK * PATCH_PAGE) {
		uint64_t left = (m->end - at) / PATCH_PAGE;
		uint32_t n = (uint32_t)MIN(left, (uint64_t)PAGES_CHUNK);
		ssize_t got = pread(s->pagemap_fd, bits, n * sizeof(*bits),
				    (off_t)(at / PATCH_PAGE * sizeof(*bits)));

		if (got != (ssize_t)(n * sizeof(*bits)))
			return err_sys(got < 0 ? errno : EIO,
				       "cannot look at the code of process %d", (int)s->l->pid);
		s->npages += n;
		if (s->npages > PAGES_MAX)
			return err_new("process %d has more than %u pages of code", (int)s->l->pid,
				       PAGES_MAX);
		for (uint32_t i = 0; i < n && !s->is_full && !leftover_is_interrupted(s->l); i++)
			if ((bits[i] & PAGE_SWAPPED ||
			     ((bits[i] & PAGE_PRESENT) && !(bits[i] & PAGE_OF_FILE))) &&
			    page_read(s, at + i * PATCH_PAGE))
				page_search(s);
		if (s->is_full)
			return err_new("process %d has more jumps in its code than dtraces leave",
				       (int)s->l->pid);
	}
	return NULL;
}

static struct window_row *jump_at(const struct leftover *l, taddr addr)
{
	uint32_t low = sorted_below(l->jumps.data, l->jumps.len, addr, addr);

	return low < l->jumps.len && l->jumps.data[low].addr == addr ? &l->jumps.data[low] : NULL;
}

/* Makes one window of a short jump and of the jump to which it leads. */
static void pads_join(struct search *s)
{
	struct leftover *l = s->l;
	CLEANUP(free) const struct hop **hops = xcalloc(MAX(l->jumps.len, 1u), sizeof(*hops));
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->hops.len; i++) {
		const struct window_row *r = jump_at(l, s->hops.data[i].to);

		if (r && !r->is_call)
			hops[r - l->jumps.data] = &s->hops.data[i];
	}
	for (uint32_t i = 0; i < l->jumps.len; i++) {
		struct window_row r = l->jumps.data[i];

		if (hops[i]) {
			r.pad = r.addr;
			r.addr = hops[i]->addr;
			memcpy(r.old_pad, r.old, sizeof(r.old_pad));
			memset(r.old, 0, sizeof(r.old));
			memcpy(r.old, hops[i]->old, sizeof(hops[i]->old));
		}
		if (r.pad || !arch_patch->is_padding(r.old, arch_patch->jump_size))
			l->jumps.data[n++] = r;
	}
	l->jumps.len = n;
}

static int by_addr(const void *pa, const void *pb)
{
	const struct window_row *a = pa, *b = pb;

	return (a->addr > b->addr) - (a->addr < b->addr);
}

struct err *leftover_find_jumps(struct leftover *l)
{
	struct search *s;
	struct err *e = NULL;
	char path[64];

	if (l->has_jumps)
		return NULL;
	s = xcalloc(1, sizeof(*s));
	s->l = l;
	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)l->pid);
	s->pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (s->pagemap_fd < 0)
		e = err_sys(errno, "cannot look at the code of process %d", (int)l->pid);
	for (uint32_t i = 0; i < l->maps.maps.len && !e; i++)
		if (proc_map_is_code(&l->maps.maps.data[i]) &&
		    proc_map_has_file(&l->maps.maps.data[i]))
			e = mapping_search(s, &l->maps.maps.data[i]);
	pads_join(s);
	if (l->jumps.len)
		qsort(l->jumps.data, l->jumps.len, sizeof(*l->jumps.data), by_addr);
	l->has_jumps = !e;
	if (s->pagemap_fd >= 0)
		(void)close(s->pagemap_fd);
	vec_deinit(&s->hops);
	free(s);
	return e;
}
