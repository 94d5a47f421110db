/* SPDX-License-Identifier: MIT */
/* Cloning the tracer into a process that shares nothing with it. */
#include "base/apart.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define KEPT_MAX 8

pid_t apart_clone(void)
{
	uint64_t all = ~0ull, old;
	pid_t pid;

	/* pthread_sigmask() leaves two signals of the C library out: they would end the clone */
	(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	pid = (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL); /* no signal when it ends */
	if (pid != 0)
		(void)syscall(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	return pid;
}

bool apart_closing_begin(struct apart_closing *c)
{
	char byte;

	if (pipe2(c->gate, O_CLOEXEC) != 0)
		return false;
	if (apart_clone() == 0) {
		(void)close(c->gate[1]);
		(void)!read(c->gate[0], &byte,
			    1); /* returns when the caller has closed its copies */
		_exit(0);
	}
	return true;
}

void apart_closing_end(const struct apart_closing *c)
{
	(void)close(c->gate[0]);
	(void)close(c->gate[1]);
}

/* Returns the lowest descriptor of the list that is not below low, or next if that is lower. */
static int kept_lowest(const int *kept, uint32_t n, int low, int next)
{
	for (uint32_t i = 0; i < n; i++)
		if (kept[i] >= low && (next < 0 || kept[i] < next))
			next = kept[i];
	return next;
}

void descriptors_close(const int *kept, uint32_t n, const int *also, uint32_t nalso)
{
	int low = 0, next;

	while ((next = kept_lowest(also, nalso, low, kept_lowest(kept, n, low, -1))) >= 0) {
		if (next > low)
			(void)close_range((unsigned int)low, (unsigned int)next - 1, 0);
		low = next + 1;
	}
	(void)close_range((unsigned int)low, ~0u, 0);
}

/*
 * Reads n numbers of /proc/self/stat, beginning with field `first` (1 = the pid); false if the file
 * cannot be read or has too few fields.
 */
static bool stat_fields(int first, unsigned long *ret, int n)
{
	char buf[1024];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t len = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	char *p;

	if (fd >= 0)
		(void)close(fd);
	if (len <= 0)
		return false;
	buf[len] = '\0';
	p = strrchr(buf, ')'); /* the end of field 2 */
	for (int i = 2; p && i < first; i++)
		p = strchr(p + 1, ' ');
	for (int i = 0; p && i < n; i++)
		ret[i] = strtoul(p, &p, 10);
	return p != NULL;
}

/*
 * Unmaps the mapping that a line of /proc/self/maps describes, if it is one of a BPF map:
 * "7f00-7f10 rw-s 00000000 00:0e 15 anon_inode:bpf-map".
 */
static void bpf_map_drop(const char *line)
{
	char *end;
	unsigned long from = strtoul(line, &end, 16);
	unsigned long to = *end == '-' ? strtoul(end + 1, NULL, 16) : 0;

	if (to > from && strstr(line, "anon_inode:bpf-map"))
		(void)munmap((void *)from, to - from);
}

/*
 * Unmaps all BPF maps: the kernel keeps a map that is mapped, even after its last descriptor was
 * closed.
 */
static void bpf_maps_drop(void)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	char buf[8192];
	size_t len = 0;
	ssize_t n;

	while (fd >= 0 && len < sizeof(buf) - 1 &&
	       (n = read(fd, buf + len, sizeof(buf) - 1 - len)) > 0) {
		char *line = buf, *end;

		len += (size_t)n;
		buf[len] = '\0';
		for (; (end = strchr(line, '\n')); line = end + 1) {
			*end = '\0';
			bpf_map_drop(line);
		}
		len = strlen(line);
		memmove(buf, line, len);
	}
	if (fd >= 0)
		(void)close(fd);
}

/*
 * Frees the heap, and replaces the name and the command line, so that "killall dtrace" does not end
 * this process.
 */
static void heap_drop(const char *name, pid_t parent)
{
	enum { START_BRK = 47, ARG_START, ARG_END };
	unsigned long f[ARG_END - START_BRK + 1];
	size_t room;

	(void)prctl(PR_SET_NAME, name);
	if (!stat_fields(START_BRK, f, ARRAY_LEN(f)))
		return;
	(void)syscall(SYS_brk, f[0]);
	room = f[2] - f[1];
	if (room > 1) {
		memset((void *)f[1], 0, room);
		(void)snprintf((char *)f[1], room, "%s of %d", name, (int)parent);
	}
}

void apart_begin(const char *name, pid_t parent, const int *kept, uint32_t n)
{
	assert(n <= KEPT_MAX);
	(void)setsid();
	(void)!chdir("/");
	descriptors_close(kept, n, NULL, 0);
	bpf_maps_drop();
	heap_drop(name, parent);
}
