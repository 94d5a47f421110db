/* SPDX-License-Identifier: MIT */
/*
 * Processes that have one process id in turn, and containers: an address gets the names of the
 * process that had the id when the address was recorded, or none.
 */
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#include "target/ident.h"
#include "sym/uproc.h"
#include "sym/usym.h"
#include "tap.h"

#define AT	    ((taddr)0x7e5500000000) /* where both processes map something */
#define NCONTAINERS 300			    /* more than roots that are open at a time */

/* ---- two processes, one id ------------------------------------------------------------------- */

/* Starts a process, with the given id unless that is 0, which maps the file; -1: not allowed. */
static pid_t start(pid_t wanted, const char *file)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	int ready[2];
	char byte;
	long pid;

	if (wanted) {
		args.set_tid = (uint64_t)(uintptr_t)&wanted;
		args.set_tid_size = 1;
	}
	if (pipe2(ready, O_CLOEXEC))
		return -1;
	pid = syscall(SYS_clone3, &args, sizeof(args));
	if (pid == 0) {
		int fd = open(file, O_RDONLY | O_CLOEXEC);
		const void *p = mmap((void *)(uintptr_t)AT, 4096, PROT_READ | PROT_EXEC,
				     MAP_PRIVATE | MAP_FIXED, fd, 0);

		(void)!write(ready[1], "x", p != MAP_FAILED);
		for (;;)
			(void)pause();
	}
	(void)close(ready[1]);
	if (pid > 0)
		(void)!read(ready[0], &byte, 1);
	(void)close(ready[0]);
	return (pid_t)pid;
}

static void stop(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* Start times are told apart in ticks of 10 ms. */
static void ticks_pass(void)
{
	const struct timespec ts = {.tv_nsec = 3 * PROC_TICK_NS};

	(void)nanosleep(&ts, NULL);
}

static const char *object_at(struct usyms *u, pid_t pid, uint64_t time)
{
	struct sym_name n;

	u->time = time;
	(void)usyms_find(u, (uint64_t)pid, AT + 64, &n);
	return n.object ? n.object : "nothing";
}

/* Path of the C library: the first mapping that is called so. */
static bool find_libc(char path[256])
{
	CLEANUP(file) FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	while (f && fgets(line, sizeof(line), f)) {
		const char *slash = strchr(line, '/');

		if (slash && strstr(slash, "libc.so") && sscanf(slash, "%255s", path) == 1)
			return true;
	}
	return false;
}

enum how { TOLD_NOTHING, TOLD_LOST, TOLD_ALL };

static const char *const how_texts[] = {"without events", "with events that were lost",
					"with events"};

static void test_two(const char *libc, enum how how)
{
	const char *text = how_texts[how];
	uint64_t first, second;
	struct usyms u;
	pid_t pid;

	usyms_init(&u);
	u.procs.is_told = how != TOLD_NOTHING;
	pid = start(0, libc);
	first = now_ns();
	(void)uproc_get(&u.procs, (uint64_t)pid);
	stop(pid);
	if (how == TOLD_ALL)
		uprocs_ended(&u.procs, (uint64_t)pid, now_ns());
	ticks_pass();
	if (start(pid, "/proc/self/exe") != pid) {
		ok(true, "two processes with one id, %s # SKIP not allowed", text);
		usyms_deinit(&u);
		return;
	}
	if (how == TOLD_ALL) /* an event has the time at which the process began, to the tick */
		uprocs_forked(&u.procs, (uint64_t)pid, (uint64_t)getpid(),
			      upid_born(&u.procs, (uint64_t)pid));
	second = now_ns();
	uprocs_tick(&u.procs);
	if (how == TOLD_LOST)
		uprocs_lost(&u.procs);
	is_str(object_at(&u, pid, second), "unit_sym_identity", text);
	is_str(object_at(&u, pid, first), "libc.so.6", "the one that had the id before");
	is_str(object_at(&u, pid, first - 1000000000), "nothing", "nobody is known to have had it");
	is_str(object_at(&u, pid, UINT64_MAX), "nothing", "either: the time is not known");
	stop(pid);
	uprocs_ended(&u.procs, (uint64_t)pid, now_ns());
	is_str(object_at(&u, pid, second), "unit_sym_identity", "after its end");
	is_str(object_at(&u, pid, first), "libc.so.6", "and the one before");
	usyms_deinit(&u);
}

/* The process that is there by now began after the address was recorded. */
static void test_unseen(const char *libc)
{
	uint64_t before = now_ns();
	struct usyms u;
	pid_t pid;

	ticks_pass();
	pid = start(0, libc);
	usyms_init(&u);
	is_str(object_at(&u, pid, before), "nothing", "recorded before the process began");
	is_str(object_at(&u, pid, now_ns()), "libc.so.6", "recorded now");
	stop(pid);
	usyms_deinit(&u);
}

/* ---- a busy machine -------------------------------------------------------------------------- */

static volatile sig_atomic_t was_held;

static void on_alarm(int sig)
{
	const struct timespec ts = {.tv_nsec = 2 * PROC_TICK_NS};

	(void)sig;
	(void)nanosleep(&ts, NULL);
	was_held = 1;
}

/* The start of a process stays the same although this thread is held up while it asks for it. */
static void test_held(void)
{
	uint64_t least = UINT64_MAX, most = 0;
	struct usyms u;

	usyms_init(&u);
	(void)signal(SIGALRM, on_alarm);
	for (int i = 0; i < 50; i++) {
		const struct itimerval it = {.it_value = {.tv_usec = 50 + i * 13}};

		was_held = 0;
		(void)setitimer(ITIMER_REAL, &it, NULL);
		while (!was_held) {
			uint64_t born = upid_born(&u.procs, (uint64_t)getpid());

			least = MIN(least, born);
			most = MAX(most, born);
		}
	}
	(void)signal(SIGALRM, SIG_DFL);
	ok(most - least < PROC_TICK_NS, "a process begins once: within %llu ns",
	   (unsigned long long)(most - least));
	usyms_deinit(&u);
}

/* ---- containers ------------------------------------------------------------------------------ */

static uint32_t descriptors_count(void)
{
	uint32_t n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* A process with a root directory of its own, in which a compiler has listed one function. */
static pid_t container_start(const char *root, uint32_t i)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (mkdir(root, 0755) || chroot(root) || chdir("/") || mkdir("/tmp", 0777))
		_exit(1);
	{
		char path[32];
		FILE *f;

		(void)snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
		f = fopen(path, "we");
		if (!f || fprintf(f, "%llx 1000 made_in_%u\n", (unsigned long long)AT, i) < 0 ||
		    fclose(f))
			_exit(1);
	}
	if (mmap((void *)(uintptr_t)AT, 4096, PROT_READ | PROT_EXEC,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		_exit(1);
	(void)raise(SIGSTOP);
	_exit(0);
}

static void root_remove(const char *root, pid_t pid)
{
	char path[128];

	(void)snprintf(path, sizeof(path), "%s/tmp/perf-%d.map", root, (int)pid);
	(void)unlink(path);
	(void)snprintf(path, sizeof(path), "%s/tmp", root);
	(void)rmdir(path);
	(void)rmdir(root);
}

static void test_containers(void)
{
	uint32_t before = descriptors_count(), nright = 0, nafter = 0;
	char dir[] = "/tmp/roots-XXXXXX", root[64], want[32];
	pid_t pids[NCONTAINERS];
	struct usyms u;

	if (geteuid() != 0 || !mkdtemp(dir)) {
		ok(true, "containers # SKIP only root can make them");
		return;
	}
	usyms_init(&u);
	for (uint32_t i = 0; i < NCONTAINERS; i++) {
		struct sym_name n;
		int status;

		(void)snprintf(root, sizeof(root), "%s/%u", dir, i);
		pids[i] = container_start(root, i);
		(void)waitpid(pids[i], &status, WUNTRACED);
		(void)snprintf(want, sizeof(want), "made_in_%u", i);
		nright += usyms_find(&u, (uint64_t)pids[i], AT, &n) && n.name &&
			  strcmp(n.name, want) == 0;
		stop(pids[i]);
		uprocs_ended(&u.procs, (uint64_t)pids[i], now_ns());
		root_remove(root, pids[i]);
	}
	for (uint32_t i = NCONTAINERS - 50; i < NCONTAINERS; i++) {
		struct sym_name n;

		(void)snprintf(want, sizeof(want), "made_in_%u", i);
		nafter += usyms_find(&u, (uint64_t)pids[i], AT, &n) && n.name &&
			  strcmp(n.name, want) == 0;
	}
	is_int(nright, NCONTAINERS, "each container has its own names");
	is_int(nafter, 50, "also when it has gone, the latest ones at least");
	ok(hashmap_count(u.procs.roots.open) < NCONTAINERS && u.procs.roots.nclosed > 0,
	   "old root directories are closed: %zu are open, %llu had to make room",
	   hashmap_count(u.procs.roots.open), (unsigned long long)u.procs.roots.nclosed);
	usyms_deinit(&u);
	is_int(descriptors_count(), before, "descriptors are all closed");
	(void)rmdir(dir);
}

int main(void)
{
	char libc[256];

	if (find_libc(libc)) {
		test_two(libc, TOLD_NOTHING);
		test_two(libc, TOLD_LOST);
		test_two(libc, TOLD_ALL);
		test_unseen(libc);
	}
	test_held();
	test_containers();
	return tap_done();
}
