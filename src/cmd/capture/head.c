/* SPDX-License-Identifier: MIT */
/*
 * The head of the core that the kernel writes: ELF header, program headers, notes.
 *
 * Facts    fs/binfmt_elf.c, elf_core_dump(): program headers follow the ELF header, the first one
 *          is of the notes, which follow the program headers. With 65535 and more of them their
 *          number stands at the end of the file; here it follows from where the notes begin.
 */
#include "base/base.h"

#include <elf.h>
#include <errno.h>
#include <sys/uio.h>

#include "cmd/capture/capture.h"

u8 head_bytes[HEAD_SIZE] __attribute__((aligned(16)));
struct segment segments[SEGMENTS_MAX];

/* Reads until there are len bytes of the head; false: the core ends before. */
static bool bytes_want(struct head *h, int fd, size_t len)
{
	while (h->len < len) {
		ssize_t n = read(fd, head_bytes + h->len, len - h->len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		h->len += (size_t)n;
	}
	return true;
}

/* A program header of a table of either class. */
static Elf64_Phdr phdr_at(const u8 *table, bool is_64, u32 i)
{
	Elf64_Phdr ph;
	Elf32_Phdr small;

	if (is_64) {
		memcpy(&ph, table + (size_t)i * sizeof(ph), sizeof(ph));
		return ph;
	}
	memcpy(&small, table + (size_t)i * sizeof(small), sizeof(small));
	return (Elf64_Phdr){
		.p_type = small.p_type,
		.p_flags = small.p_flags,
		.p_offset = small.p_offset,
		.p_vaddr = small.p_vaddr,
		.p_filesz = small.p_filesz,
		.p_memsz = small.p_memsz,
	};
}

/* ---- notes */

struct note {
	u32 type;
	const u8 *desc;
	size_t size;
	bool is_core; /* named "CORE" */
};

/* The note at *at, which becomes that of the next one; false: there is none. */
static bool note_next(const struct head *h, size_t *at, struct note *ret)
{
	u32 word[3];
	size_t name, desc, left = h->notes_len - *at;

	if (left < sizeof(word))
		return false;
	memcpy(word, h->notes + *at, sizeof(word));
	name = ROUND_UP((size_t)word[0], (size_t)4);
	desc = ROUND_UP((size_t)word[1], (size_t)4);
	left -= sizeof(word);
	if (name > left || desc > left - name)
		return false;
	*ret = (struct note){
		.type = word[2],
		.desc = h->notes + *at + sizeof(word) + name,
		.size = word[1],
		.is_core = word[0] == 5 && memcmp(h->notes + *at + sizeof(word), "CORE", 5) == 0,
	};
	*at += sizeof(word) + name + desc;
	return true;
}

static u64 word_at(const struct head *h, const u8 *bytes)
{
	u64 word = 0;
	u32 half;

	if (h->is_64) {
		memcpy(&word, bytes, sizeof(word));
	} else {
		memcpy(&half, bytes, sizeof(half));
		word = half;
	}
	return word;
}

static void auxv_take(struct head *h, const struct note *note)
{
	size_t step = h->is_64 ? 8 : 4;

	for (size_t at = 0; at + 2 * step <= note->size; at += 2 * step) {
		u64 type = word_at(h, note->desc + at), value = word_at(h, note->desc + at + step);

		if (type == AT_PHDR)
			h->auxv_phdr = value;
		else if (type == AT_PHNUM)
			h->auxv_phnum = value;
		else if (type == AT_SYSINFO_EHDR)
			h->vdso = value;
	}
}

static void siginfo_take(struct head *h, const struct note *note)
{
	/* signals whose siginfo_t has an address: SIGILL SIGTRAP SIGBUS SIGFPE SIGSEGV */
	const u32 with_addr = 1u << 4 | 1u << 5 | 1u << 7 | 1u << 8 | 1u << 11;
	s32 word[3];

	if (note->size < 24)
		return;
	memcpy(word, note->desc, sizeof(word)); /* si_signo, si_errno, si_code */
	h->signal = word[0];
	h->code = word[2];
	/* a code above 0 is of the kernel, others are of a process that has sent the signal */
	h->has_addr = word[0] > 0 && word[0] < 32 && (with_addr >> word[0] & 1) && word[2] > 0;
	h->fault_addr = word_at(h, note->desc + (h->is_64 ? 16 : 12));
}

static void notes_take(struct head *h)
{
	struct note note;

	for (size_t at = 0; note_next(h, &at, &note);) {
		if (!note.is_core)
			continue;
		if (note.type == NT_PRSTATUS && !h->threads++ && note.size >= 40)
			memcpy(&h->ns_tid, note.desc + (h->is_64 ? 32 : 24), sizeof(h->ns_tid));
		else if (note.type == NT_AUXV)
			auxv_take(h, &note);
		else if (note.type == NT_SIGINFO)
			siginfo_take(h, &note);
	}
}

void head_words(const struct head *h, u32 max, void (*take)(u32 thread, u64 word))
{
	size_t step = h->is_64 ? 8 : 4;
	struct note note;
	u32 thread = 0;

	for (size_t at = 0; thread < max && note_next(h, &at, &note);) {
		if (!note.is_core || note.type != NT_PRSTATUS)
			continue;
		for (size_t i = 0; i + step <= note.size; i += step)
			take(thread, word_at(h, note.desc + i));
		thread++;
	}
}

/* ---- segments */

/* Moves the segment at hole down to its place in a heap of n whose greatest is at the root. */
static void heap_sift(u32 hole, u32 n)
{
	struct segment s = segments[hole];

	for (u32 child; (child = 2 * hole + 1) < n; hole = child) {
		if (child + 1 < n && segments[child + 1].start > segments[child].start)
			child++;
		if (segments[child].start <= s.start)
			break;
		segments[hole] = segments[child];
	}
	segments[hole] = s;
}

/* By address; a kernel can write them by size (core_sort_vma). */
static void segments_sort(u32 n)
{
	bool sorted = true;

	for (u32 i = 1; i < n && sorted; i++)
		sorted = segments[i - 1].start <= segments[i].start;
	if (sorted)
		return;
	for (u32 i = n / 2; i-- > 0;)
		heap_sift(i, n);
	for (u32 i = n; i-- > 1;) {
		struct segment s = segments[0];

		segments[0] = segments[i];
		segments[i] = s;
		heap_sift(0, i);
	}
}

static void segments_take(struct head *h, const u8 *table, u32 nphdr)
{
	u32 n = 0, kept = 0;

	for (u32 i = 0; i < nphdr; i++) {
		Elf64_Phdr ph = phdr_at(table, h->is_64, i);

		if (ph.p_type != PT_LOAD || !ph.p_memsz || ph.p_vaddr % PAGE || ph.p_memsz % PAGE ||
		    ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			continue;
		if (n == SEGMENTS_MAX) {
			h->cut = "there are too many mappings";
			break;
		}
		segments[n++] = (struct segment){
			.start = ph.p_vaddr,
			.end = ph.p_vaddr + ph.p_memsz,
			.dumped = ROUND_UP(MIN(ph.p_filesz, ph.p_memsz), PAGE),
			.flags = ph.p_flags,
			.is_head = ph.p_filesz && ph.p_filesz < ph.p_memsz,
		};
	}
	segments_sort(n);
	for (u32 i = 0; i < n; i++)
		if (!kept || segments[i].start >= segments[kept - 1].end)
			segments[kept++] = segments[i];
	h->nsegments = kept;
}

u32 segment_at(const struct head *h, u64 addr)
{
	u32 low = 0, high = h->nsegments;

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (segments[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How many program headers there are, from the ELF header and the first of them. */
static u32 phdr_count(struct head *h, int fd, size_t header, size_t each)
{
	u16 n;
	Elf64_Phdr first;

	memcpy(&n,
	       head_bytes +
		       (h->is_64 ? offsetof(Elf64_Ehdr, e_phnum) : offsetof(Elf32_Ehdr, e_phnum)),
	       sizeof(n));
	if (n != PN_XNUM || !bytes_want(h, fd, header + each))
		return n;
	first = phdr_at(head_bytes + header, h->is_64, 0);
	if (first.p_type != PT_NOTE || first.p_offset < header || first.p_offset > HEAD_SIZE)
		return 0;
	return (u32)((first.p_offset - header) / each);
}

const char *head_read(struct head *h, int fd)
{
	const u16 order = 1;
	size_t header, each, end;
	u32 n;

	*h = (struct head){0};
	if (!bytes_want(h, fd, sizeof(Elf64_Ehdr)) || memcmp(head_bytes, ELFMAG, SELFMAG) != 0 ||
	    head_bytes[EI_DATA] != (*(const u8 *)&order ? ELFDATA2LSB : ELFDATA2MSB) ||
	    (head_bytes[EI_CLASS] != ELFCLASS64 && head_bytes[EI_CLASS] != ELFCLASS32))
		return fault(
			"what the kernel writes is no core file: its first %zu bytes are not those "
			"of ELF",
			h->len);
	h->is_elf = true;
	h->is_64 = head_bytes[EI_CLASS] == ELFCLASS64;
	header = h->is_64 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
	each = h->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	n = phdr_count(h, fd, header, each);
	if (!n || header + n * each > HEAD_SIZE || !bytes_want(h, fd, header + n * each))
		return fault("the core's %u program headers cannot be read", n);
	segments_take(h, head_bytes + header, n);
	for (u32 i = 0; i < n; i++) {
		Elf64_Phdr ph = phdr_at(head_bytes + header, h->is_64, i);

		if (ph.p_type != PT_NOTE)
			continue;
		if (ph.p_offset < header + n * each || ph.p_offset > HEAD_SIZE)
			return fault("the core's notes stand too far behind its head");
		end = (size_t)MIN(ph.p_offset + ph.p_filesz, HEAD_SIZE);
		if (!bytes_want(h, fd, end) || end < ph.p_offset + ph.p_filesz)
			h->cut = "the registers of some threads do not fit";
		h->notes = head_bytes + ph.p_offset;
		h->notes_len = h->len > ph.p_offset ? h->len - (size_t)ph.p_offset : 0;
		notes_take(h);
		return NULL;
	}
	return fault("the core has no notes");
}

/* ---- memory */

size_t memory_read(const struct process *p, u64 addr, void *buf, size_t len)
{
	struct iovec local = {buf, len}, remote = {(void *)(uintptr_t)addr, len};
	ssize_t n = process_vm_readv((pid_t)p->mm_pid, &local, 1, &remote, 1, 0);

	return n > 0 ? (size_t)n : 0;
}

/* Looks for the build id in a note segment of the executable's memory. */
static bool build_id_note(struct head *h, const struct process *p, u64 addr, u64 size)
{
	u8 bytes[4096];
	struct head at_hand = {.is_64 = h->is_64, .notes = bytes};
	struct note note;

	at_hand.notes_len = memory_read(p, addr, bytes, (size_t)MIN(size, sizeof(bytes)));
	for (size_t at = 0; note_next(&at_hand, &at, &note);) {
		const u8 *name = note.desc - 4;

		if (note.type == NT_GNU_BUILD_ID && memcmp(name, "GNU", 4) == 0 && note.size) {
			h->build_id_len = MIN(note.size, sizeof(h->build_id));
			memcpy(h->build_id, note.desc, h->build_id_len);
			return true;
		}
	}
	return false;
}

void build_id_find(struct head *h, const struct process *p)
{
	u8 table[64 * sizeof(Elf64_Phdr)];
	size_t each = h->is_64 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
	u64 bias = 0;
	u32 n = (u32)MIN(h->auxv_phnum, 64);

	n = (u32)(memory_read(p, h->auxv_phdr, table, n * each) / each);
	for (u32 i = 0; i < n; i++) {
		Elf64_Phdr ph = phdr_at(table, h->is_64, i);

		if (ph.p_type == PT_PHDR)
			bias = h->auxv_phdr - ph.p_vaddr;
	}
	for (u32 i = 0; i < n; i++) {
		Elf64_Phdr ph = phdr_at(table, h->is_64, i);

		if (ph.p_type == PT_NOTE && build_id_note(h, p, bias + ph.p_vaddr, ph.p_memsz))
			break;
	}
}
