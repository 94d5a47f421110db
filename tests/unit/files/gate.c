/* SPDX-License-Identifier: MIT */
/* The gate: the reader reads what stands in a file, and is given up when it does not answer. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>

#include "target/maps.h"
#include "image/elfsym.h"
#include "files/gate.h"
#include "files/mounts.h"
#include "files/reader.h"
#include "tap.h"

static uint32_t ntold;
static const char *wanted = "its file system does not answer";

static void on_notice(void *ctx, const char *msg)
{
	(void)ctx;
	ntold++;
	ok(strstr(msg, wanted) != NULL, "%s", msg);
}

/* The process that reads for us; 0: there is none. */
static pid_t reader_pid(void)
{
	char want[64], path[300], text[64] = "";
	DIR *d = opendir("/proc");
	const struct dirent *de;
	pid_t found = 0;

	(void)snprintf(want, sizeof(want), "file-reader of %d", (int)getpid());
	while (d && !found && (de = readdir(d))) {
		CLEANUP(fd) int fd = -1;
		ssize_t n;

		(void)snprintf(path, sizeof(path), "/proc/%s/cmdline", de->d_name);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
		if (n <= 0)
			continue;
		text[n] = '\0';
		if (strcmp(text, want) == 0)
			found = (pid_t)strtol(de->d_name, NULL, 10);
	}
	if (d)
		(void)closedir(d);
	return found;
}

/* A reader that is given up is not waited for: it ends a moment later. */
static bool reader_ends(void)
{
	uint64_t begin = now_ns();

	while (reader_pid() && now_ns() - begin < 10000000000)
		(void)usleep(1000);
	return !reader_pid();
}

/* Our own program. is_known: its device is given, which is that of a harmless file system. */
static struct gate_file *self_open(struct gate *g, bool is_known)
{
	struct proc_maps m;
	struct err *e = proc_maps_read(getpid(), &m);
	const struct proc_map *at = e ? NULL : proc_maps_find(&m, (taddr)(uintptr_t)&self_open);
	struct gate_file *f = NULL;

	if (at)
		f = gate_open_mapping(g,
				      &(struct gate_mapping){(uint64_t)getpid(), at->start, at->end,
							     is_known ? at->dev : 0, "self"});
	if (!e)
		proc_maps_deinit(&m);
	err_destroy(e);
	return f;
}

static void test_same(struct gate_file *here, struct gate_file *there)
{
	static char a[200000], b[200000];
	ssize_t n = gate_file_read(here, a, sizeof(a), 1000);
	struct elf_syms *x = elf_syms_read(here, GATE_LIMIT_DEFAULT, NULL);
	struct elf_syms *y = elf_syms_read(there, GATE_LIMIT_DEFAULT, NULL);
	uint32_t nwrong = 0;

	ok(gate_file_stat(here)->st_ino == gate_file_stat(there)->st_ino &&
		   gate_file_stat(here)->st_size == gate_file_stat(there)->st_size,
	   "the reader has opened the same file");
	ok(n > 4096 && gate_file_read(there, b, sizeof(b), 1000) == n &&
		   memcmp(a, b, (size_t)n) == 0,
	   "it reads the same bytes");
	ok(gate_file_read(there, b, sizeof(b), (uint64_t)gate_file_stat(there)->st_size) == 0,
	   "there are none behind the end");
	is_int(y->syms.len, x->syms.len, "symbols");
	for (uint32_t i = 0; i < x->syms.len && i < y->syms.len; i++)
		nwrong += x->syms.data[i].addr != y->syms.data[i].addr ||
			  strcmp(x->syms.data[i].name, y->syms.data[i].name) != 0;
	ok(x->syms.len > 20 && !nwrong, "the same ones");
	ok(!gate_file_is_stuck(there), "nothing was late");
	elf_syms_destroy(x);
	elf_syms_destroy(y);
}

/* What the reader may do: it has no descriptor but its socket and the file, and few rights. */
static void test_rights(void)
{
	char path[64], line[256];
	unsigned long long caps = ~0ull;
	int seccomp = -1, no_new = -1;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)reader_pid());
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f)) {
		(void)sscanf(line, "CapPrm: %llx", &caps);
		(void)sscanf(line, "Seccomp: %d", &seccomp);
		(void)sscanf(line, "NoNewPrivs: %d", &no_new);
	}
	if (f)
		(void)fclose(f);
	ok((caps & ~(1ull << 2 | 1ull << 19 | 1ull << 40)) == 0, "it can read, and no more: %llx",
	   caps);
	ok(no_new == 1 && seccomp != 0, "it gets nothing back");
}

/* Memory of a process: the reader reads it, and has the file that it had before. */
static void test_process_memory(struct gate *g, struct gate_file *there)
{
	static const char text[] = "memory of a process";
	char copy[sizeof(text)] = "", byte = 0;
	pid_t reader = reader_pid();

	ok(gate_memory_read(g, (uint64_t)getpid(), (taddr)(uintptr_t)text, copy, sizeof(copy)) &&
		   strcmp(copy, text) == 0,
	   "it reads memory");
	ok(!gate_memory_read(g, (uint64_t)getpid(), 8, copy, sizeof(copy)), "there is none");
	ok(!gate_memory_read(g, INT32_MAX, 8, copy, sizeof(copy)), "there is no such process");
	ok(gate_file_read(there, &byte, 1, 0) == 1 && byte == 0x7f && reader_pid() == reader,
	   "the file is still open");
}

static void test_killed(struct gate_file *there)
{
	pid_t pid = reader_pid();
	char byte;

	ok(pid > 0 && kill(pid, SIGKILL) == 0, "somebody kills the reader");
	ok(gate_file_read(there, &byte, 1, 0) == 1 && byte == 0x7f, "another one reads");
	ok(reader_pid() != pid, "it is another one");
}

#define BUSY_NS	  400000000
#define WAIT_NS	  50000000
#define TRIES_MAX 10

/* A process for each CPU that leaves nothing of it to others for a while. */
static void cpus_fill(pid_t *pids, int n)
{
	struct sched_param first = {.sched_priority = 1};

	for (int i = 0; i < n; i++) {
		uint64_t begin = now_ns();
		cpu_set_t one;

		pids[i] = fork();
		if (pids[i])
			continue;
		CPU_ZERO(&one);
		CPU_SET(i, &one);
		(void)sched_setaffinity(0, sizeof(one), &one); /* a CPU that is not there */
		(void)sched_setscheduler(0, SCHED_FIFO, &first);
		while (now_ns() - begin < BUSY_NS)
			;
		_exit(0);
	}
}

/*
 * Reads while all CPUs are filled. The kernel keeps a share of a CPU for others, 50 ms in a second:
 * a reader that gets it is not late.
 */
static bool is_read_busy(struct gate_file *there, int *nlate)
{
	pid_t pids[CPU_SETSIZE];
	int n = (int)MIN(sysconf(_SC_NPROCESSORS_CONF), (long)CPU_SETSIZE);
	uint64_t begin;
	bool is_read;
	char byte;

	cpus_fill(pids, n);
	(void)usleep(50000); /* until they have begun */
	begin = now_ns();
	is_read = gate_file_read(there, &byte, 1, 0) == 1;
	*nlate += now_ns() - begin > WAIT_NS;
	for (int i = 0; i < n; i++)
		(void)waitpid(pids[i], NULL, 0);
	return is_read;
}

/* A reader that waits for a CPU is late, but it is no file system that does not answer. */
static void test_busy(struct gate *g, struct gate_file *there)
{
	struct sched_param as_others = {0}, before_all = {.sched_priority = 2};
	int nlate = 0, nread = 0, ntried = 0;

	if (sched_setscheduler(0, SCHED_FIFO, &before_all) != 0) {
		ok(true, "a busy machine # SKIP needs SCHED_FIFO");
		return;
	}
	gate_set_wait(g, WAIT_NS);
	gate_set_patient(g, false);
	while (!nlate && ntried < TRIES_MAX) {
		ntried++;
		nread += is_read_busy(there, &nlate);
	}
	(void)sched_setscheduler(0, SCHED_OTHER, &as_others);
	is_int(nread, ntried, "it reads on a busy machine");
	ok(nlate, "later than it should");
	ok(!gate_file_is_stuck(there), "nothing is wrong with the file");
	is_int(ntold, 0, "no file system is blamed");
	gate_set_patient(g, true);
	test_killed(there); /* the next reader is as others */
}

/* A file of memory is in no folder: its name is not looked up, whoever would have to be asked. */
static void test_memory_name(struct gate *g)
{
	/* a tree that is mounted nowhere: nothing is known of its file systems */
	CLEANUP(fd) int root = (int)syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */);

	if (root < 0) {
		ok(true, "a name of a memory file # SKIP needs open_tree()");
		return;
	}
	ok(!gate_open_path(g, root, "/nowhere/at/all") && errno == ENOENT,
	   "a path of others, which have answered at once, is looked up");
	ok(!gate_open_path(g, root, "/memfd:code (deleted)") && errno == ENOENT,
	   "the name of a memory file never is");
}

#define SLOW_WAIT_NS 2000000000
#define SLOW_STOP_US 1500000
#define SLOW_STOPS   9 /* four waits may follow one another */

/*
 * A file system that answers within the time that an answer may take, but so slowly that waits have
 * their share of the time: it is not said to be silent.
 */
static void test_slow(struct gate *g, struct gate_file *there)
{
	pid_t reader = reader_pid(), child, copy;
	uint32_t nread = 0;
	char byte;

	wanted = "file systems answer too slowly";
	gate_set_wait(g, SLOW_WAIT_NS);
	gate_set_patient(g, false);
	ok(reader > 0, "there is a reader");
	for (int i = 0; i < SLOW_STOPS && reader > 0; i++) {
		(void)kill(reader, SIGSTOP);
		child = fork();
		if (!child) {
			(void)usleep(SLOW_STOP_US);
			(void)kill(reader, SIGCONT);
			_exit(0);
		}
		nread += gate_file_read(there, &byte, 1, 0) == 1;
		(void)waitpid(child, NULL, 0);
	}
	ok(nread >= 4 && nread < SLOW_STOPS, "it answers late, but in time, %u times", nread);
	nread = 0;
	for (int i = 0; i < 10; i++)
		nread += gate_file_read(there, &byte, 1, 0) >= 0;
	ok(!nread && errno == ETIMEDOUT, "then nobody waits for it for some time");
	ok(gate_file_is_stuck(there), "the file says so");
	ok(strstr(gate_late_text(g), wanted) != NULL, "the gate says why");
	is_int(ntold, 1, "the user is told once");
	ok(reader_pid() == reader, "the reader goes on");
	ok(gate_memory_read(g, (uint64_t)getpid(), (uintptr_t)&child, &copy, sizeof(copy)) &&
		   copy == child,
	   "others are asked, because they have always answered at once");
	test_memory_name(g);
	gate_set_patient(g, true);
	ok(gate_file_read(there, &byte, 1, 0) == 1, "later it reads again");
	wanted = "its file system does not answer";
	ntold = 0;
}

static void test_stopped(struct gate *g, struct gate_file *there)
{
	uint32_t nread = 0;
	uint64_t begin;
	char byte;

	gate_set_wait(g, 50000000);
	gate_set_patient(g, false);
	ok(kill(reader_pid(), SIGSTOP) == 0, "the reader does not answer");
	begin = now_ns();
	ok(gate_file_read(there, &byte, 1, 0) < 0 && errno == ETIMEDOUT, "that is an error");
	ok(now_ns() - begin >= 50000000, "after the time that it has");
	ok(gate_file_is_stuck(there), "the file says why");
	is_int(ntold, 1, "the user is told");
	begin = now_ns();
	for (int i = 0; i < 1000; i++)
		nread += gate_file_read(there, &byte, 1, 0) >= 0;
	ok(!nread && now_ns() - begin < 25000000000, "for some time it is not asked again");
	is_int(ntold, 1, "and the user is told once");
	ok(reader_ends(), "it was given up");
}

static void test_paths(struct gate *g)
{
	char name[] = "/tmp/fathom-gate-XXXXXX", fifo[64];
	CLEANUP(fd) int fd = mkstemp(name);
	CLEANUP(fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	CLEANUP(gate_file) struct gate_file *f = gate_open_path(g, -1, name), *below = NULL;

	ok(fd >= 0 && f != NULL, "a path");
	below = gate_open_path(g, root, name);
	ok(below != NULL, "the same below a root directory");
	(void)snprintf(fifo, sizeof(fifo), "%s.fifo", name);
	ok(mkfifo(fifo, 0600) == 0 && !gate_open_path(g, -1, fifo) && errno == EINVAL,
	   "a fifo is refused, and nobody waits");
	ok(!gate_open_path(g, -1, "/nowhere/at/all") && errno == ENOENT, "no file");
	(void)unlink(fifo);
	(void)unlink(fifo);
	(void)unlink(name);
}

/*
 * Files whose contents the kernel makes are regular files, too. Paths that the kernel has in its
 * cache are opened here, others by the reader.
 */
static void test_made_by_kernel(void)
{
	struct gate *g = gate_create();
	char name[] = "/tmp/fathom-gate-XXXXXX", link[64];
	CLEANUP(fd) int fd = mkstemp(name);
	CLEANUP(fd) int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)snprintf(link, sizeof(link), "%s.link", name);
	ok(fd >= 0 && symlink("/proc/version", link) == 0 && !gate_open_path(g, -1, link) &&
		   errno == EINVAL,
	   "a file of /proc is refused");
	ok(!gate_open_path(g, root, link) && errno == EINVAL, "and below a root directory");
	ok(!gate_open_path(g, -1, "/proc/self/../version") && errno == EINVAL, "by any name");
	ok(!gate_open_path(g, -1, "/sys/kernel/profiling") && errno == EINVAL, "and one of /sys");
	ok(reader_pid() != 0, "the reader has refused one at least");
	(void)unlink(link);
	(void)unlink(name);
	gate_destroy(g);
	ok(reader_ends(), "no reader is left");
}

/*
 * Names in a tmpfs, where the kernel's cache keeps none that does not exist: absent files, those
 * that were never looked up, symbolic links out of it.
 */
static void test_memory(void)
{
	struct gate *g = gate_create();
	char name[] = "/dev/shm/fathom-gate-XXXXXX", other[64];
	CLEANUP(fd) int shm = open("/dev/shm", O_PATH | O_CLOEXEC);
	CLEANUP(fd) int fd = mkstemp(name);
	CLEANUP(gate_file) struct gate_file *f = NULL, *link = NULL;
	const struct mount *m;
	struct mounts all;

	mounts_init(&all);
	m = mounts_of_fd(&all, shm);
	if (fd < 0 || !m || strcmp(m->point, "/dev/shm") != 0) {
		ok(true, "/dev/shm # SKIP no file system is mounted there");
		goto out;
	}
	f = gate_open_path(g, -1, name);
	ok(f != NULL, "a file of a tmpfs");
	(void)snprintf(other, sizeof(other), "%s.absent", name);
	ok(!gate_open_path(g, -1, other) && errno == ENOENT, "one that does not exist");
	ok(mkfifo(other, 0600) == 0 && !gate_open_path(g, -1, other) && errno == EINVAL, "a fifo");
	is_int(reader_pid(), 0, "a tmpfs needs no reader");
	(void)unlink(other);
	ok(symlink("/etc/passwd", other) == 0, "a symbolic link into another file system");
	link = gate_open_path(g, -1, other);
	ok(link != NULL, "leads to where it points");
	(void)unlink(other);
out:
	(void)unlink(name);
	mounts_deinit(&all);
	gate_destroy(g);
	ok(reader_ends(), "no reader is left");
}

static void test_mounts(void)
{
	CLEANUP(fd) int root = open("/proc", O_PATH | O_CLOEXEC);
	CLEANUP(fd) int memory = memfd_create("test", MFD_CLOEXEC);
	const struct mount *m;
	struct mounts all;
	struct stat st;

	mounts_init(&all);
	m = mounts_of_fd(&all, root);
	ok(m && m->is_harmless && strcmp(m->point, "/proc") == 0, "/proc is a mount of our own");
	ok(m && mounts_is_dev_harmless(&all, m->dev), "its device is known");
	ok(!mounts_is_dev_harmless(&all, makedev(0, 0xfffff)), "one that nobody knows may hang");
	ok(!mounts_is_dev_harmless(&all, 0), "so may none at all");
	ok(memory >= 0 && fstat(memory, &st) == 0 && mounts_is_dev_harmless(&all, st.st_dev),
	   "files of memory are mounted nowhere, and read");
	m = mounts_of_path(&all, "/proc/self/maps");
	ok(m && strcmp(m->point, "/proc") == 0, "a path below it");
	m = mounts_of_path(&all, "/procession");
	ok(!m || strcmp(m->point, "/proc") != 0, "a name that begins like it is elsewhere");
	mounts_deinit(&all);
}

/* How long a thread has had a CPU, and has waited for one, in ns; 0: the kernel does not say. */
static uint64_t runnable_ns(pid_t tid)
{
	uint64_t ran = 0, waited = 0;
	char path[64];
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)tid);
	f = fopen(path, "re");
	if (f) {
		if (fscanf(f, "%" SCNu64 " %" SCNu64, &ran, &waited) != 2)
			ran = waited = 0;
		(void)fclose(f);
	}
	return ran + waited;
}

/*
 * The time that a reader, and whoever waits for it, have run is no time in which they have waited
 * for a server; nor is that in which they have waited for a CPU.
 */
static void test_runnable(void)
{
	static char data[READER_CHUNK];
	struct reader *r = reader_create();
	uint64_t before, both, until = now_ns() + 60000000000;
	CLEANUP(fd) int found = -1;
	struct stat st;
	size_t n = 0, sum = 0;
	pid_t pid;

	ok(r && reader_open_path(r, -1, "/bin/sh", until, &found, &st) == 0,
	   "a reader opens a program");
	pid = reader_pid();
	(void)reader_runnable_ns(r);
	before = runnable_ns(pid) + runnable_ns(getpid());
	for (int i = 0; i < 200; i++)
		sum += reader_read(r, 0, data, sizeof(data), until, &n) == 0 ? n : 0;
	both = runnable_ns(pid) + runnable_ns(getpid()) - before;
	ok(sum > 1000000 && (both > 0 || !before), "it reads, which takes %" PRIu64 " ns", both);
	ok(reader_runnable_ns(r) >= both, "that is all the time in which both could run");
	(void)reader_destroy(r);
	ok(reader_ends(), "it has ended");
}

int main(void)
{
	struct gate *g = gate_create();
	struct gate_file *here, *there;

	gate_on_notice(g, on_notice, NULL);
	test_mounts();
	test_paths(g);
	test_made_by_kernel();
	test_memory();
	test_runnable();
	here = self_open(g, true);
	is_int(reader_pid(), 0, "harmless files need no reader");
	there = self_open(g, false);
	if (!here || !there) {
		ok(true, "map_files # SKIP needs privilege");
	} else {
		test_same(here, there);
		test_rights();
		test_process_memory(g, there);
		test_killed(there);
		test_busy(g, there);
		test_slow(g, there);
		test_stopped(g, there);
	}
	gate_destroy(g);
	gate_file_close(here);
	gate_file_close(there);
	ok(reader_ends(), "no reader is left");
	return tap_done();
}
