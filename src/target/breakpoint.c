/* SPDX-License-Identifier: MIT */
/* A breakpoint in the memory of a held process (breakpoint.h). */
#include "target/breakpoint.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "arch/arch.h"
#include "target/maps.h"
#include "target/target.h"
#include "files/gate.h"

/* ---- bytes of a stopped process -------------------------------------------------------------- */

static struct err *ptrace_failed(const struct breakpoint *b, const char *what)
{
	return err_sys(errno, "cannot %s process %d", what, (int)target_pid(b->target));
}

/* Reads the aligned word that contains addr. It lies in one page, as addr does. */
static bool word_read(pid_t tid, taddr addr, long *ret)
{
	errno = 0;
	*ret = ptrace(PTRACE_PEEKDATA, tid, (void *)(addr & ~(taddr)(sizeof(*ret) - 1)), NULL);
	return errno == 0;
}

static bool byte_read(pid_t tid, taddr addr, uint8_t *ret)
{
	long word;

	if (!word_read(tid, addr, &word))
		return false;
	*ret = ((const uint8_t *)&word)[addr & (sizeof(word) - 1)];
	return true;
}

static bool byte_write(pid_t tid, taddr addr, uint8_t byte)
{
	long word;

	if (!word_read(tid, addr, &word))
		return false;
	((uint8_t *)&word)[addr & (sizeof(word) - 1)] = byte;
	return ptrace(PTRACE_POKEDATA, tid, (void *)(addr & ~(taddr)(sizeof(word) - 1)), word) == 0;
}

/* ---- uprobes of others ----------------------------------------------------------------------- */

/* The instruction in its file. */
struct origin {
	struct gate_file *file; /* NULL: it is in no file */
	uint64_t off;
};

static struct origin origin_open(const struct breakpoint *b, taddr addr)
{
	struct origin at = {0};
	const struct proc_map *m;
	struct err *e = target_refresh(b->target);

	if (e) {
		err_destroy(e); /* The process has ended. */
		return at;
	}
	m = proc_maps_find(target_maps(b->target), addr);
	if (m && proc_map_has_file(m)) {
		at.file = target_open_map(b->target, m);
		at.off = addr - m->start + m->off;
	}
	return at;
}

/* Finds out whether the byte that the breakpoint replaces is that of a uprobe. */
static void uprobe_find(struct breakpoint *b)
{
	struct origin at = origin_open(b, b->addr);

	b->hides_uprobe = at.file && gate_file_read(at.file, &b->origin, 1, at.off) == 1 &&
			  b->origin != b->old;
	gate_file_close(at.file);
}

/*
 * Makes the kernel place uprobes at the instruction, if anybody still has some there for this
 * process. Nobody says who has, but a uprobe that comes puts the breakpoint back into the process,
 * and one that goes leaves it to those that stay. False if the kernel refuses.
 */
static bool uprobe_renew(const struct breakpoint *b, pid_t tid)
{
	static const char type_path[] = "/sys/bus/event_source/devices/uprobe/type";
	struct origin at = origin_open(b, b->addr);
	struct perf_event_attr attr = {.size = sizeof(attr), .config2 = at.off};
	CLEANUP(file) FILE *type = fopen(type_path, "re");
	char path[64];
	int fd = -1;

	if (at.file && type && fscanf(type, "%u", &attr.type) == 1) {
		(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", gate_file_fd(at.file));
		attr.config1 = (uint64_t)(uintptr_t)path;
		fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
	}
	if (fd >= 0)
		(void)close(fd);
	gate_file_close(at.file);
	return fd >= 0;
}

/* ---- the breakpoint -------------------------------------------------------------------------- */

struct err *breakpoint_set(struct breakpoint *b, pid_t tid, taddr addr)
{
	b->addr = addr;
	b->hides_uprobe = false;
	if (!byte_read(tid, addr, &b->old))
		return ptrace_failed(b, "read the code of");
	if (b->old == arch.traps[1].code)
		uprobe_find(b);
	if (b->hides_uprobe && b->trap->code == b->old)
		return err_hint(err_new("another tracer has a probe at the instruction before "
					"which process %d is to be held",
					(int)target_pid(b->target)),
				"end the other tracer, or see the option evaltime");
	if (!byte_write(tid, addr, b->trap->code))
		return ptrace_failed(b, "set a breakpoint in");
	b->is_set = true;
	return NULL;
}

struct err *breakpoint_clear_in(const struct breakpoint *b, pid_t tid)
{
	uint8_t now;

	if (!byte_read(tid, b->addr, &now))
		return errno == ESRCH ? NULL : ptrace_failed(b, "read the code of");
	if (now != b->trap->code)
		return NULL; /* A uprobe has come, or the child was made when it was cleared. */
	if (byte_write(tid, b->addr, b->hides_uprobe ? b->origin : b->old) &&
	    (!b->hides_uprobe || uprobe_renew(b, tid) || byte_write(tid, b->addr, b->old)))
		return NULL;
	return errno == ESRCH ? NULL : ptrace_failed(b, "remove a breakpoint from");
}

struct err *breakpoint_clear(struct breakpoint *b, pid_t tid)
{
	struct err *e = b->is_set ? breakpoint_clear_in(b, tid) : NULL;

	if (!e)
		b->is_set = false;
	return e;
}

bool breakpoint_is_hit(const struct breakpoint *b, pid_t tid, int sig)
{
	siginfo_t si;
	uint64_t pc;

	if (!b->trap || sig != b->trap->signal || ptrace(PTRACE_GETSIGINFO, tid, NULL, &si) != 0 ||
	    si.si_code != SI_KERNEL || !arch.reg_read(tid, arch.pc, &pc) ||
	    pc != b->addr + b->trap->past)
		return false;
	return !b->trap->past || arch.reg_write(tid, arch.pc, b->addr);
}

bool breakpoint_is_there(const struct breakpoint *b)
{
	uint8_t now;

	return !target_read(b->target, b->addr, &now, 1) || now == b->trap->code;
}
