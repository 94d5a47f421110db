/* SPDX-License-Identifier: MIT */
/* Identifies processes by process id and start time, and by pidfds. */
#include "target/ident.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>

/* fields of /proc/PID/stat: proc(5) */
#define STAT_START     22
#define STAT_ARG_START 48
#define STAT_SIZE      2048 /* of its 52 fields */

/* ---- when it began -------------------------------------------------------------------------- */

/* Writes "/proc/PID/stat" with async-signal-safe means only. */
static void stat_path(pid_t pid, char ret[32])
{
	char digits[12];
	uint32_t n = 0;

	do
		digits[n++] = (char)('0' + pid % 10);
	while ((pid /= 10));
	memcpy(ret, "/proc/", 6);
	for (uint32_t i = 0; i < n; i++)
		ret[6 + i] = digits[n - 1 - i];
	memcpy(ret + 6 + n, "/stat", 6);
}

/* Reads /proc/PID/stat; async-signal-safe. */
static bool stat_read(pid_t pid, char *buf, size_t size)
{
	char path[32];
	ssize_t len;
	int fd;

	if (pid <= 0)
		return false;
	stat_path(pid, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, buf, size - 1);
	if (fd >= 0)
		(void)close(fd);
	if (len <= 0)
		return false;
	buf[len] = '\0';
	return true;
}

/* Reads the number that is a field behind the second one. */
static bool stat_number(const char *stat, int field, uint64_t *ret)
{
	const char *p = strrchr(stat, ')'); /* the end of field 2, which may hold anything */

	for (int i = 2; p && i < field; i++)
		p = strchr(p + 1, ' ');
	if (!p)
		return false;
	*ret = 0;
	for (p++; *p >= '0' && *p <= '9'; p++)
		*ret = *ret * 10 + (uint64_t)(*p - '0');
	return true;
}

bool proc_started(pid_t pid, uint64_t *ret_start)
{
	char stat[STAT_SIZE];

	return stat_read(pid, stat, sizeof(stat)) && stat_number(stat, STAT_START, ret_start);
}

bool proc_began(pid_t pid, uint64_t *ret_start, uint64_t *ret_arg_start)
{
	char stat[STAT_SIZE];

	return stat_read(pid, stat, sizeof(stat)) && stat_number(stat, STAT_START, ret_start) &&
	       stat_number(stat, STAT_ARG_START, ret_arg_start);
}

/* state: as in /proc/PID/stat, after a parenthesis and a blank. */
static bool state_is(pid_t pid, const char *state)
{
	char stat[STAT_SIZE];
	const char *end = stat_read(pid, stat, sizeof(stat)) ? strrchr(stat, ')') : NULL;

	return end && strncmp(end, state, 3) == 0;
}

bool proc_is_running(pid_t pid)
{
	return state_is(pid, ") R");
}

bool proc_is_sleeping(pid_t pid)
{
	return state_is(pid, ") S");
}

bool proc_is_stopped(pid_t pid)
{
	return state_is(pid, ") T");
}

/*
 * Reads the offset of a clock in our time namespace, in ns, from a line of seconds and nanoseconds:
 * "boottime           0         0".
 */
static int64_t clock_offset(const char *clock)
{
	CLEANUP(file) FILE *f = fopen("/proc/self/timens_offsets", "re");
	char line[128], name[16];
	int64_t s, ns;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%15s %" SCNd64 " %" SCNd64, name, &s, &ns) == 3 &&
		    strcmp(name, clock) == 0)
			return s * 1000000000 + ns;
	return 0;
}

int64_t proc_boot_offset(void)
{
	return clock_offset("boottime");
}

int64_t proc_monotonic_offset(void)
{
	return clock_offset("monotonic");
}

/* ---- identities ----------------------------------------------------------------------------- */

static int pidfd_of(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static bool pidfd_has_ended(int pidfd)
{
	struct pollfd p = {.fd = pidfd, .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void pidfd_resume(int pidfd)
{
	/* This fails if the process has ended. */
	(void)syscall(SYS_pidfd_send_signal, pidfd, SIGCONT, NULL, 0);
}

struct err *proc_id_open(pid_t pid, struct proc_id *ret)
{
	struct proc_id id = {.pid = pid, .pidfd = pidfd_of(pid)};

	*ret = (struct proc_id){.pid = pid, .pidfd = -1};
	if (id.pidfd < 0)
		return err_sys(errno, "cannot open process %d", (int)pid);
	/*
	 * A living process keeps its id. So if it has not ended by now, the start time that was
	 * read is its own.
	 */
	if (!proc_started(pid, &id.start) || pidfd_has_ended(id.pidfd)) {
		(void)close(id.pidfd);
		return err_sys(ESRCH, "process %d", (int)pid);
	}
	*ret = id;
	return NULL;
}

struct err *proc_id_copy(const struct proc_id *id, struct proc_id *ret)
{
	int fd = fcntl(id->pidfd, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return err_sys(errno, "cannot follow process %d", (int)id->pid);
	*ret = *id;
	ret->pidfd = fd;
	return NULL;
}

void proc_id_close(struct proc_id *id)
{
	if (id->pidfd >= 0)
		(void)close(id->pidfd);
	id->pidfd = -1;
}

bool proc_id_has_ended(const struct proc_id *id)
{
	return id->pidfd < 0 || pidfd_has_ended(id->pidfd);
}

void proc_id_resume(const struct proc_id *id)
{
	if (id->pidfd >= 0)
		pidfd_resume(id->pidfd);
}

void proc_resume_exact(pid_t pid, uint64_t start)
{
	int fd = pidfd_of(pid);
	uint64_t now;

	if (fd < 0)
		return;
	/*
	 * If the process ends meanwhile, fd still refers to it, and no other process gets the
	 * signal.
	 */
	if (!proc_started(pid, &now) || now == start)
		pidfd_resume(fd);
	(void)close(fd);
}

/* Whether its first thread has ended: it has no memory then, as kernel threads have none. */
static bool first_thread_is_dead(pid_t pid)
{
	char buf[STAT_SIZE];
	const char *at = stat_read(pid, buf, sizeof(buf)) ? strrchr(buf, ')') : NULL;

	return at && at[1] == ' ' && (at[2] == 'Z' || at[2] == 'X');
}

enum memory_relation proc_memory_compare(pid_t a, pid_t b)
{
	long order = syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);

	if (order < 0)
		return errno == ESRCH ? MEMORY_OTHER : MEMORY_UNKNOWN;
	return order == 0 && (a == b || !first_thread_is_dead(a)) ? MEMORY_SAME : MEMORY_OTHER;
}

static pid_t name_read_pid(const char *text)
{
	pid_t n = 0;

	for (; *text >= '0' && *text <= '9' && n < 1 << 22; text++)
		n = n * 10 + (*text - '0');
	return *text ? 0 : n;
}

void proc_visit_all(bool (*visit)(void *ctx, pid_t pid), void *ctx)
{
	char buf[8192] __attribute__((aligned(8)));
	int fd = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	bool goes_on = fd >= 0;
	long n;

	while (goes_on && (n = syscall(SYS_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n && goes_on;) {
			const struct dirent64 *d = (const struct dirent64 *)(buf + at);
			pid_t pid = name_read_pid(d->d_name);

			at += d->d_reclen;
			goes_on = pid <= 0 || visit(ctx, pid);
		}
	if (fd >= 0)
		(void)close(fd);
}

struct partner {
	pid_t pid, found;
};

static bool partner_compare(void *ctx, pid_t pid)
{
	struct partner *p = ctx;

	if (pid != p->pid && proc_memory_compare(p->pid, pid) == MEMORY_SAME)
		p->found = pid;
	return !p->found;
}

pid_t proc_memory_partner(pid_t pid)
{
	struct partner p = {.pid = pid};

	proc_visit_all(partner_compare, &p);
	return p.found;
}

pid_t proc_last_made(void)
{
	CLEANUP(fd) int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
	char buf[128];
	ssize_t n = fd < 0 ? -1 : read(fd, buf, sizeof(buf) - 1);
	const char *at;

	if (n <= 0)
		return 0;
	while (n > 0 && buf[n - 1] == '\n')
		n--;
	buf[n] = '\0';
	at = strrchr(buf, ' '); /* the last of five numbers: proc_loadavg(5) */
	return at ? name_read_pid(at + 1) : 0;
}

/* False: it is the number of another thread of a process, or of nothing any more. */
static bool number_is_process(pid_t pid)
{
	int fd = pidfd_of(pid); /* not of other threads: pidfd_open(2) */

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM;
	(void)close(fd);
	return true;
}

#define NEWCOMERS_MAX 1024 /* numbers that are looked at one by one */

pid_t proc_memory_newcomer(pid_t pid, pid_t since)
{
	struct partner p = {.pid = pid};
	pid_t last = proc_last_made();

	if (!since || !last || last < since || last - since > NEWCOMERS_MAX)
		return proc_memory_partner(pid);
	for (pid_t n = since + 1; n <= last && !p.found; n++)
		if (!partner_compare(&p, n) && !number_is_process(n))
			p.found = 0; /* a new thread of the process itself */
	return p.found;
}
