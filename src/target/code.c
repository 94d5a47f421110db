/* SPDX-License-Identifier: MIT */
/* Checks whether the code in the memory of a process is the code of its file. */
#include "target/code.h"

#include <fcntl.h>

#include "arch/arch.h"
#include "arch/insn.h"
#include "arch/patch.h"

#define PAGE_PRESENT ((uint64_t)1 << 63)
#define PAGE_SWAPPED ((uint64_t)1 << 62)
#define PAGE_OF_FILE ((uint64_t)1 << 61)
#define STUB_MAX     1024 /* bytes of the code to which a jump leads that are read */

/* Finds a field of /proc/PID/status: what is behind its name; NULL: there is none. */
static const char *status_find(pid_t pid, const char *name, char *line, int size)
{
	CLEANUP(file) FILE *f = NULL;
	char path[64];
	size_t len = strlen(name);

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f = fopen(path, "re");
	while (f && fgets(line, size, f))
		if (strncmp(line, name, len) == 0 && line[len] == ':')
			return line + len + 1;
	return NULL;
}

long proc_status_field(pid_t pid, const char *name)
{
	char line[256];
	const char *at = status_find(pid, name, line, sizeof(line));

	return at ? strtol(at, NULL, 10) : -1;
}

bool proc_status_has(pid_t pid, const char *name, const char *word)
{
	char line[256];
	const char *at = status_find(pid, name, line, sizeof(line));
	size_t len = strlen(word), n;

	for (; at && len; at += n) {
		at += strspn(at, "\t \n");
		n = strcspn(at, "\t \n");
		if (!n)
			return false;
		if (n == len && memcmp(at, word, n) == 0)
			return true;
	}
	return at != NULL;
}

static int open_proc(pid_t pid, const char *name)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

/*
 * True if a debugger traces the process. We trace it, too, while a process of -c is held, and have
 * no breakpoint in it then.
 */
static bool is_debugged(pid_t pid)
{
	long tracer = proc_status_field(pid, "TracerPid");
	char path[64];

	if (tracer <= 0)
		return false;
	(void)snprintf(path, sizeof(path), "/proc/self/task/%ld", tracer);
	return access(path, F_OK) != 0;
}

void code_check_init(struct code_check *c, pid_t pid)
{
	c->mem_fd = open_proc(pid, "mem");
	c->pagemap_fd = open_proc(pid, "pagemap");
	c->is_traced = is_debugged(pid);
	c->first = 0;
	c->nbits = 0;
}

void code_check_deinit(struct code_check *c)
{
	if (c->mem_fd >= 0)
		(void)close(c->mem_fd);
	if (c->pagemap_fd >= 0)
		(void)close(c->pagemap_fd);
}

/* True if the process has a private copy of the page, or if that is unknown. */
static bool is_own_page(struct code_check *c, uint64_t page)
{
	uint64_t bits;

	if (page < c->first || page - c->first >= c->nbits) {
		ssize_t n = pread(c->pagemap_fd, c->bits, sizeof(c->bits), (off_t)(page * 8));

		c->first = page;
		c->nbits = n > 0 ? (uint32_t)n / 8 : 0;
		if (!c->nbits)
			return true;
	}
	bits = c->bits[page - c->first];
	return bits & PAGE_SWAPPED || ((bits & PAGE_PRESENT) && !(bits & PAGE_OF_FILE));
}

enum code_state code_check_at(struct code_check *c, taddr addr, const uint8_t *code, size_t len)
{
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint8_t mem[CODE_BEFORE_MAX];

	len = MIN(len, sizeof(mem));
	if (!is_own_page(c, addr / page_size) && !is_own_page(c, (addr + len - 1) / page_size))
		return CODE_SAME;
	if (pread(c->mem_fd, mem, len, (off_t)addr) != (ssize_t)len)
		return CODE_SAME; /* the process has ended */
	if (memcmp(mem, code, len) == 0)
		return CODE_SAME;
	switch (arch.insns->patch(code, mem, len)) {
	case INSN_PATCH_BREAKPOINT:
		return c->is_traced ? CODE_BREAKPOINT : CODE_SAME; /* another tracer's uprobe */
	case INSN_PATCH_OPTIMIZED: return CODE_SAME;		   /* such a probe, too */
	case INSN_PATCH_OTHER: break;
	}
	return CODE_CHANGED;
}

/* ---- jumps of other tracers ------------------------------------------------------------------ */

/*
 * Reads where the code of a stub goes on behind its window: of the targets within lo..hi of all
 * jumps to which control comes, the lowest, because no other one leads into what was moved. False:
 * it returns before, or has no such jump.
 *
 *     jne 1f          the moved je
 *     mov %rcx, %rax  a copy of what it leads to (flow/ways.c); or jmp, to where it leads
 *     ret
 *     1: jmp BEHIND
 */
static bool stub_end_find(const struct code_check *c, taddr stub, taddr lo, taddr hi, taddr *ret)
{
	bool is_target[STUB_MAX] = {false}, is_found = false;
	uint8_t code[STUB_MAX];
	ssize_t got = pread(c->mem_fd, code, sizeof(code), (off_t)stub);
	uint32_t size = (uint32_t)MAX(got, (ssize_t)0), off = 0;
	struct insn_decoder d;
	struct insn insn;

	arch.insns->start(&d, false, false);
	while (off < size) {
		bool is_insn = arch.insns->decode(&d, code, size, off, &insn) && insn.len;
		bool is_inside = is_insn && insn.target > (int64_t)off && insn.target < size;
		taddr to = is_insn ? stub + (taddr)insn.target : 0;
		bool ends = !is_insn || insn.kind == INSN_RET || insn.kind == INSN_STOP;

		if (is_insn && (insn.kind == INSN_JCC || insn.kind == INSN_JMP) && is_inside)
			is_target[insn.target] = true;
		if (is_insn && insn.kind == INSN_JMP && to >= lo && to <= hi) {
			*ret = is_found ? MIN(*ret, to) : to;
			is_found = ends = true;
		}
		/* a jump to code that is no stub's may come back to what is behind it */
		ends |= is_insn && insn.kind == INSN_JMP && is_inside;
		off += is_insn ? insn.len : 1;
		while (ends && off < size && !is_target[off])
			off++;
	}
	return is_found;
}

/* Whether control that begins at code comes to code + size, and no instruction leads elsewhere. */
static bool is_run(const uint8_t *code, uint32_t size, uint32_t room)
{
	struct insn_decoder d;
	struct insn insn;
	uint32_t off = 0;

	arch.insns->start(&d, false, false);
	while (off < size) {
		if (!arch.insns->decode(&d, code, room, off, &insn) || !insn.len ||
		    (insn.kind != INSN_PLAIN && insn.kind != INSN_NOP5 && insn.kind != INSN_JCC))
			return false;
		off += insn.len;
	}
	return off == size;
}

/*
 * Reads the jump of another tracer at an address: its stub, to which a short one leads by way of a
 * pad, and its size. A jump over nothing but padding is such a pad: no instruction that begins
 * behind it was moved.
 */
static bool jump_read(const struct code_check *c, taddr from, const uint8_t *mem,
		      const uint8_t *file, uint32_t room, taddr *ret_stub, uint32_t *ret_size)
{
	uint8_t pad[CODE_BEFORE_MAX];
	taddr at;

	if (room >= arch_patch->jump_size && *mem == arch_patch->jump_byte) {
		*ret_size = arch_patch->jump_size;
		*ret_stub = arch_patch->jump_target(from, mem);
		return memcmp(mem, file, *ret_size) != 0 &&
		       !arch_patch->is_padding(file, *ret_size);
	}
	*ret_size = arch_patch->short_size;
	if (room < *ret_size || *mem != arch_patch->short_byte || memcmp(mem, file, *ret_size) == 0)
		return false;
	at = arch_patch->short_target(from, mem);
	if (pread(c->mem_fd, pad, arch_patch->jump_size, (off_t)at) != arch_patch->jump_size ||
	    *pad != arch_patch->jump_byte)
		return false;
	*ret_stub = arch_patch->jump_target(at, pad);
	return true;
}

bool code_is_moved(struct code_check *c, taddr addr, const uint8_t *file, uint32_t before,
		   uint32_t len)
{
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	uint8_t mem[CODE_BEFORE_MAX];
	uint32_t size;

	if (!arch_patch || before > CODE_BEFORE_MAX || before < arch_patch->short_size)
		return false;
	if (!is_own_page(c, (addr - before) / page_size) && !is_own_page(c, addr / page_size))
		return false;
	if (pread(c->mem_fd, mem, before, (off_t)(addr - before)) != (ssize_t)before)
		return false;
	for (uint32_t i = 0; i < before; i++) {
		taddr from = addr - before + i, end, stub;

		if (!jump_read(c, from, mem + i, file + i, before - i, &stub, &size))
			continue;
		if (stub_end_find(c, stub, from + size, from + CODE_BEFORE_MAX, &end)
			    ? addr < end
			    : is_run(file + i, before - i, before - i + len))
			return true;
		i += size - 1u; /* its distance has no other jump */
	}
	return false;
}
