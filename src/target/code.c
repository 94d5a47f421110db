/* SPDX-License-Identifier: MIT */
/* Checks whether the code in the memory of a process is the code of its file. */
#include "target/code.h"

#include <fcntl.h>

#include "arch/arch.h"

#define PAGE_PRESENT ((uint64_t)1 << 63)
#define PAGE_SWAPPED ((uint64_t)1 << 62)
#define PAGE_OF_FILE ((uint64_t)1 << 61)
#define INSN_MAX     16 /* bytes of the longest instruction of any architecture */

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
	uint8_t mem[INSN_MAX];

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
