/* SPDX-License-Identifier: MIT */
/*
 * The gate against processes that change what it is about to open: another file is mapped where one
 * was, a path leads to a device or a fifo.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "target/maps.h"
#include "files/gate.h"
#include "tap.h"

#define PAGE	    4096
#define HARMLESS    "/bin/true"
#define OPENS	    20000 /* mappings that are opened while they change */
#define LIMIT_NS    (20000000000 * tap_patience())
#define FILEWAIT_NS (100000000 * tap_patience())

static char folder[] = "/tmp/fathom-gate-race-XXXXXX";

static const char *in_folder(const char *name)
{
	static char path[128];

	(void)snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

/* ---- a file system whose server does not answer ---------------------------------------------- */

struct server {
	pid_t pid;
	FILE *to, *from;
};

static bool server_answers(struct server *s, const char *want)
{
	char line[128];

	return fgets(line, sizeof(line), s->from) && strcmp(line, want) == 0;
}

/* Mounts a file system that serves HARMLESS (tests/e2e/trigger/hangfs.c). */
static bool server_start(struct server *s, const char *mnt)
{
	char exe[4096], *slash;
	ssize_t n = readlink("/proc/self/exe", exe, sizeof(exe) - 64);
	int in[2], out[2];

	if (n <= 0 || pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0)
		return false;
	exe[n] = '\0';
	slash = strrchr(exe, '/');
	(void)snprintf(slash, 64, "/../e2e/trigger/hangfs");
	s->pid = fork();
	if (!s->pid) {
		(void)dup2(in[0], STDIN_FILENO);
		(void)dup2(out[1], STDOUT_FILENO);
		(void)execl(exe, "hangfs", mnt, HARMLESS, NULL);
		_exit(127);
	}
	(void)close(in[0]);
	(void)close(out[1]);
	s->to = fdopen(in[1], "w");
	s->from = fdopen(out[0], "r");
	return server_answers(s, "ready\n");
}

static bool server_obey(struct server *s, const char *command)
{
	(void)fprintf(s->to, "%s\n", command);
	(void)fflush(s->to);
	return server_answers(s, "done\n");
}

static void server_end(struct server *s)
{
	(void)fclose(s->to);
	(void)waitpid(s->pid, NULL, 0);
	(void)fclose(s->from);
}

/* ---- mappings that change -------------------------------------------------------------------- */

static uint64_t dev_of(taddr addr)
{
	struct proc_maps m;
	struct err *e = proc_maps_read(getpid(), &m);
	const struct proc_map *at = e ? NULL : proc_maps_find(&m, addr);
	uint64_t dev = at ? at->dev : 0;

	if (!e)
		proc_maps_deinit(&m);
	err_destroy(e);
	return dev;
}

static void *map_at(void *addr, int fd)
{
	return mmap(addr, PAGE, PROT_READ, MAP_PRIVATE | (addr ? MAP_FIXED : 0), fd, 0);
}

/* Maps the two files in turns until it is killed. */
static NORETURN void mapper_run(void *addr, int fd, int other)
{
	for (;;) {
		(void)map_at(addr, fd);
		(void)map_at(addr, other);
	}
}

/*
 * Opens what the process maps as often as asked, with a device that was read when a harmless file
 * was mapped. Returns as an exit status: bit 0: a file was opened, bit 1: a server was not waited
 * for, bit 2: something else went wrong.
 */
static int mappings_open(const struct gate_mapping *m, int n)
{
	struct gate *g = gate_create();
	int status = 0;

	gate_set_wait(g, FILEWAIT_NS);
	gate_set_patient(g, false);
	for (int i = 0; i < n; i++) {
		CLEANUP(gate_file) struct gate_file *f = gate_open_mapping(g, m);

		if (f)
			status |= 1;
		else if (errno == ETIMEDOUT)
			status |= 2;
		else if (errno != ENOENT) /* nothing is mapped there for a moment */
			status |= 4;
	}
	gate_destroy(g);
	return status;
}

/*
 * Runs mappings_open() in another process. Returns -1 if it hangs; then the server has to answer
 * again, because a process that waits for it cannot be killed.
 */
static int opener_run(const struct gate_mapping *m, int n, struct server *s)
{
	uint64_t begin = now_ns();
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(mappings_open(m, n));
	while (waitpid(pid, &status, WNOHANG) == 0) {
		if (now_ns() - begin > LIMIT_NS) {
			(void)kill(pid, SIGKILL);
			(void)server_obey(s, "go");
			(void)waitpid(pid, &status, 0);
			return -1;
		}
		(void)usleep(1000);
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 256;
}

static void test_mapping(void)
{
	CLEANUP(fd) int fd = open(HARMLESS, O_RDONLY | O_CLOEXEC), hung = -1;
	struct gate_mapping m = {.pid = (uint64_t)getpid(), .path = HARMLESS};
	void *addr = map_at(NULL, fd);
	char mnt[128], path[160];
	struct server s;
	pid_t mapper;
	int status;

	(void)snprintf(mnt, sizeof(mnt), "%s", in_folder("mnt"));
	(void)snprintf(path, sizeof(path), "%s/true", mnt);
	if (mkdir(mnt, 0700) != 0 || !server_start(&s, mnt)) {
		ok(true, "a mapping that changes # SKIP FUSE cannot be mounted here");
		return;
	}
	hung = open(path, O_RDONLY | O_CLOEXEC);
	m.start = (taddr)(uintptr_t)addr;
	m.end = m.start + PAGE;
	m.dev = dev_of(m.start);
	is_int(mappings_open(&m, 1), 1, "a file that is mapped is opened");
	ok(hung >= 0 && server_obey(&s, "hang open"), "a file system does not answer any more");
	ok(map_at(addr, hung) == addr, "one of its files is mapped where the other one was");
	is_int(opener_run(&m, 1, &s), 2, "its server is not waited for longer than allowed");
	ok(map_at(addr, fd) == addr && server_obey(&s, "hang open"),
	   "the first file is mapped again");
	mapper = fork();
	if (!mapper)
		mapper_run(addr, fd, hung);
	m.pid = (uint64_t)mapper;
	status = opener_run(&m, OPENS, &s);
	ok(status == 3 || status == 1, "files that change all the time: %d", status);
	(void)kill(mapper, SIGKILL);
	(void)waitpid(mapper, NULL, 0);
	(void)server_obey(&s, "go");
	(void)munmap(addr, PAGE);
	server_end(&s);
	(void)rmdir(mnt);
}

/* ---- what is no regular file is not even opened ---------------------------------------------- */

/* True if somebody has opened the file since the watch was added. */
static bool was_opened(int watch)
{
	char events[4096];

	return read(watch, events, sizeof(events)) > 0;
}

/* Asks in this process; and in the reader, below a tree that is mounted nowhere. */
static void check_not_opened(const char *path, const char *what)
{
	CLEANUP(fd) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	CLEANUP(fd) int tree = (int)syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* OPEN_TREE_CLONE */);
	struct gate *g = gate_create();

	gate_set_wait(g, FILEWAIT_NS);
	ok(inotify_add_watch(watch, path, IN_OPEN) >= 0, "%s is watched", what);
	ok(!gate_open_path(g, -1, path) && errno == EINVAL, "%s is refused", what);
	ok(!was_opened(watch), "%s is not opened", what);
	if (tree >= 0) {
		ok(!gate_open_path(g, tree, path) && errno == EINVAL, "%s: so is it by the reader",
		   what);
		ok(!was_opened(watch), "%s is not opened there either", what);
	}
	gate_destroy(g);
}

/* A user's perf map may be a link to a device, and opening some devices has effects. */
static void test_kinds(void)
{
	char fifo[128], device[128], link[128];

	(void)snprintf(fifo, sizeof(fifo), "%s", in_folder("fifo"));
	(void)snprintf(device, sizeof(device), "%s", in_folder("device"));
	(void)snprintf(link, sizeof(link), "%s", in_folder("link"));
	if (mkfifo(fifo, 0600) == 0)
		check_not_opened(fifo, "a fifo");
	if (mknod(device, S_IFCHR | 0600, makedev(1, 5)) != 0 || symlink(device, link) != 0) {
		ok(true, "a device # SKIP none can be made here");
	} else {
		check_not_opened(device, "a device");
		check_not_opened(link, "a link to a device");
	}
	(void)unlink(fifo);
	(void)unlink(device);
	(void)unlink(link);
}

static void test_mapped_device(void)
{
	CLEANUP(fd) int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC), fd = -1;
	const char *path = in_folder("device");
	struct gate_mapping m = {.pid = (uint64_t)getpid(), .path = path};
	void *addr;

	if (mknod(path, S_IFCHR | 0600, makedev(1, 5)) == 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	addr = fd < 0 ? MAP_FAILED : map_at(NULL, fd);
	if (addr == MAP_FAILED) {
		ok(true, "a mapped device # SKIP none can be made here");
		return;
	}
	m.start = (taddr)(uintptr_t)addr;
	m.end = m.start + PAGE;
	for (int i = 0; i < 2; i++) {
		struct gate *g = gate_create();

		gate_set_wait(g, FILEWAIT_NS);
		m.dev = i ? 0 : dev_of(m.start); /* unknown: the reader is asked */
		ok(inotify_add_watch(watch, path, IN_OPEN) >= 0, "a mapped device is watched");
		ok(!gate_open_mapping(g, &m) && errno == EINVAL, "it is refused");
		ok(!was_opened(watch), "it is not opened");
		gate_destroy(g);
	}
	(void)munmap(addr, PAGE);
	(void)unlink(path);
}

int main(void)
{
	(void)signal(SIGPIPE, SIG_IGN);
	if (!mkdtemp(folder))
		return 1;
	test_kinds();
	test_mapped_device();
	test_mapping();
	(void)rmdir(folder);
	return tap_done();
}
