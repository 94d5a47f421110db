/* SPDX-License-Identifier: MIT */
/* Processes that live: one that runs, and one whose threads are held. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "files/gate.h"
#include "files/mapping.h"
#include "files/reader.h"
#include "target/halt.h"
#include "target/target_impl.h"

struct live {
	struct target t;
	struct halt halt; /* of target_hold() */
};

static pid_t live_proc(const struct target *t)
{
	return t->pid;
}

static void live_close(struct target *t)
{
	halt_release(&((struct live *)t)->halt);
}

/* ---- /proc ----------------------------------------------------------------------------------- */

static void args_read(pid_t tid, char *args, size_t size)
{
	char path[64];
	size_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)tid);
	{
		CLEANUP(file) FILE *cmdline = fopen(path, "re");

		n = cmdline ? fread(args, 1, size, cmdline) : 0;
	}
	for (size_t i = 0; i + 1 < n; i++)
		if (!args[i])
			args[i] = ' ';
	args[n ? n - 1 : 0] = '\0';
}

static bool live_who(struct target *t, pid_t tid, struct target_who *ret)
{
	const struct halt_thread *held = halt_find(&((struct live *)t)->halt, tid);
	char path[64], line[256];
	int pid = 0;

	*ret = (struct target_who){.tid = tid, .inner = tid};
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	{
		CLEANUP(file) FILE *status = fopen(path, "re");

		while (status && fgets(line, sizeof(line), status)) {
			(void)sscanf(line, "Name:\t%15[^\n]", ret->name);
			(void)sscanf(line, "State:\t%c", &ret->state);
			(void)sscanf(line, "Tgid:\t%d", &pid);
			if (strncmp(line, "NSpid:", 6) == 0)
				ret->inner = (pid_t)strtol(strrchr(line, '\t'), NULL, 10);
			(void)sscanf(line, "PPid:\t%d", &ret->ppid);
			(void)sscanf(line, "Uid:\t%" SCNu32, &ret->uid);
			(void)sscanf(line, "Gid:\t%" SCNu32, &ret->gid);
		}
	}
	if (held)
		ret->state = held->state;
	ret->pid = pid;
	args_read(tid, ret->args, sizeof(ret->args));
	return pid > 0 && pid == t->pid;
}

static size_t live_auxv(struct target *t, void *to, size_t size)
{
	CLEANUP(fd) int fd = -1;
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/auxv", (int)t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, to, size) : 0;
	return n > 0 ? (size_t)n : 0;
}

static struct err *live_maps_now(struct target *t, struct proc_maps *ret)
{
	return proc_maps_read(t->pid, ret);
}

static const struct proc_map *live_program(struct target *t)
{
	char link[64], path[4200];
	ssize_t n;

	(void)snprintf(link, sizeof(link), "/proc/%d/exe", (int)t->pid);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return NULL;
	path[n] = '\0';
	(void)proc_path_strip(path);
	for (uint32_t i = 0; i < t->maps.maps.len; i++)
		if (strcmp(t->maps.maps.data[i].path, path) == 0)
			return &t->maps.maps.data[i];
	return NULL;
}

static void live_threads(struct target *t, target_tids *ret)
{
	struct dirent *d;
	char path[64];
	DIR *dir;

	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)t->pid);
	dir = opendir(path);
	while (dir && (d = readdir(dir))) {
		pid_t tid = (pid_t)strtol(d->d_name, NULL, 10);

		if (tid > 0)
			vec_push(ret, tid);
	}
	if (dir)
		(void)closedir(dir);
}

/* ---- memory and files ------------------------------------------------------------------------ */

static bool live_read(struct target *t, taddr addr, void *dst, size_t size)
{
	while (size > READER_CHUNK) {
		if (!gate_memory_read(t->gate, (uint64_t)t->pid, addr, dst, READER_CHUNK))
			return false;
		addr += READER_CHUNK;
		dst = (char *)dst + READER_CHUNK;
		size -= READER_CHUNK;
	}
	return gate_memory_read(t->gate, (uint64_t)t->pid, addr, dst, size);
}

/* Memory that no file server has to be asked for can be read here, which is much faster. */
static bool held_read(struct target *t, taddr addr, void *dst, size_t size)
{
	const struct proc_map *m = proc_maps_find(&t->maps, addr);
	struct iovec here = {dst, size}, there = {(void *)(uintptr_t)addr, size};

	if (!m || size > m->end - addr ||
	    (proc_map_has_file(m) && !gate_is_dev_harmless(t->gate, m->dev)))
		return live_read(t, addr, dst, size);
	return process_vm_readv(t->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool live_mapping(const struct target *t, const struct proc_map *m, struct mapping *ret)
{
	*ret = proc_map_mapping(t->pid, m);
	return true;
}

/* ---- registers ------------------------------------------------------------------------------- */

static struct err *held_regs(struct target *t, pid_t tid, struct arch_regs *ret)
{
	const struct halt_thread *held = halt_find(&((struct live *)t)->halt, tid);

	if (held && !held->is_stopped)
		return err_new("thread %d has not stopped: it waits in the kernel, where nothing "
			       "interrupts it (state %c)",
			       (int)tid, held->state ? held->state : '?');
	return arch.regs_read(tid, ret)
		       ? NULL
		       : err_sys(errno, "cannot read the registers of thread %d", (int)tid);
}

static size_t held_note(struct target *t, pid_t tid, uint32_t type, void *to, size_t size)
{
	struct iovec io = {to, size};

	return ptrace(PTRACE_GETREGSET, tid, (void *)(uintptr_t)type, &io) == 0 ? io.iov_len : 0;
}

/* ---- pages that were touched ----------------------------------------------------------------- */

#define PAGES_READ   8192u
#define PAGE_PRESENT (1ull << 63)
#define PAGE_SWAPPED (1ull << 62)

/* Facts: Linux Documentation/admin-guide/mm/pagemap.rst. */
static taddr live_touched(struct target *t, taddr addr, taddr end)
{
	uint64_t page_size = (uint64_t)sysconf(_SC_PAGESIZE), page = addr / page_size;
	CLEANUP(free) uint64_t *bits = xcalloc(PAGES_READ, sizeof(*bits));
	CLEANUP(fd) int fd = -1;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)t->pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && page * page_size < end) {
		uint64_t want = MIN((end - 1) / page_size - page + 1, (uint64_t)PAGES_READ);
		ssize_t n = pread(fd, bits, want * sizeof(*bits), (off_t)(page * sizeof(*bits)));

		if (n < (ssize_t)sizeof(*bits))
			break;
		for (uint64_t i = 0; i < (uint64_t)n / sizeof(*bits); i++, page++)
			if (bits[i] & (PAGE_PRESENT | PAGE_SWAPPED))
				return MIN(MAX(page * page_size, addr), end);
	}
	return page * page_size < end ? MAX(page * page_size, addr) : end;
}

/* ---- opening --------------------------------------------------------------------------------- */

static const struct target_ops live_ops = {
	.close = live_close,
	.proc = live_proc,
	.who = live_who,
	.auxv = live_auxv,
	.signal = target_signal_none,
	.maps_now = live_maps_now,
	.read = live_read,
	.touched = live_touched,
	.mapping = live_mapping,
	.program = live_program,
	.threads = live_threads,
	.regs = target_regs_none,
	.note = target_note_none,
};

static const struct target_ops held_ops = {
	.close = live_close,
	.proc = live_proc,
	.who = live_who,
	.auxv = live_auxv,
	.signal = target_signal_none,
	.maps_now = live_maps_now,
	.read = held_read,
	.touched = live_touched,
	.mapping = live_mapping,
	.program = live_program,
	.threads = live_threads,
	.regs = held_regs,
	.note = held_note,
};

static struct err *process_open(const struct target_ops *ops, pid_t pid, struct gate *g,
				struct target **ret)
{
	struct proc_maps maps;
	struct err *e = proc_maps_read(pid, &maps);
	struct live *l;

	if (e)
		return e;
	l = xcalloc(1, sizeof(*l));
	l->t = (struct target){.ops = ops, .gate = g, .pid = pid, .maps = maps};
	*ret = &l->t;
	return NULL;
}

struct err *target_live_open(pid_t pid, struct gate *g, struct target **ret)
{
	return process_open(&live_ops, pid, g, ret);
}

struct err *target_held_open(pid_t pid, struct gate *g, struct target **ret)
{
	return process_open(&held_ops, pid, g, ret);
}

/* Returns the process to which a thread belongs; 0: there is no such thread. */
static pid_t process_of(pid_t tid)
{
	CLEANUP(file) FILE *status = NULL;
	char path[64], line[256];
	int pid = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	status = fopen(path, "re");
	while (status && !pid && fgets(line, sizeof(line), status))
		(void)sscanf(line, "Tgid:\t%d", &pid);
	return pid;
}

struct err *target_hold(pid_t tid, struct gate *g, struct target **ret)
{
	pid_t pid = process_of(tid);
	struct halt halt = {0};
	struct target *t;
	struct err *e = pid > 0 ? halt_process(pid, &halt)
				: err_new("there is no process or thread %d", (int)tid);

	if (e)
		return e;
	e = target_held_open(pid, g, &t);
	if (e) {
		halt_release(&halt);
		return e;
	}
	((struct live *)t)->halt = halt;
	*ret = t;
	return NULL;
}
