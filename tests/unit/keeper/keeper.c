/* SPDX-License-Identifier: MIT */
/*
 * The keeper: nobody's child, nothing open, deaf to signals, gone with its tracer; a killed one is
 * noticed.
 */
#include "tap.h"

#include <bpf/bpf.h>
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "keeper/keeper.h"
#include "kernel/insn.h"
#include "kernel/kernel.h"

/* The process whose name is the keeper's and whose parent is pid, or 0. */
static pid_t keeper_of(pid_t pid)
{
	DIR *d = opendir("/proc");
	const struct dirent *de;
	pid_t found = 0;

	while (d && (de = readdir(d))) {
		char path[300];
		int id, parent;
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/%s/stat", de->d_name);
		f = de->d_name[0] >= '1' && de->d_name[0] <= '9' ? fopen(path, "re") : NULL;
		if (f && fscanf(f, "%d (uprobe-keeper) %*c %d", &id, &parent) == 2 && parent == pid)
			found = id;
		if (f)
			(void)fclose(f);
	}
	if (d)
		(void)closedir(d);
	return found;
}

/* It has its name from its first instruction on, and lives before its session begins. */
static pid_t keeper_wait(pid_t pid)
{
	pid_t id = 0;

	for (int i = 0; i < 2000 && !id; i++) {
		id = keeper_of(pid);
		(void)usleep(id ? 0 : 1000);
	}
	return id;
}

static int nfiles(pid_t pid)
{
	char path[64];
	int n = 0;
	DIR *d;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	d = opendir(path);
	while (d && readdir(d))
		n++;
	if (d)
		(void)closedir(d);
	return n - 2; /* "." and ".." */
}

/* How many files it has open, as soon as they are so many: it opens one more now and then. */
static int nfiles_await(pid_t pid, int want)
{
	uint64_t until = now_ns() + 20000000000;
	int n;

	while ((n = nfiles(pid)) != want && now_ns() < until)
		(void)usleep(1000);
	return n;
}

/* The session of a process, as soon as that is its own. */
static pid_t session_await(pid_t pid)
{
	uint64_t until = now_ns() + 20000000000;
	pid_t sid;

	while ((sid = getsid(pid)) != pid && now_ns() < until)
		(void)usleep(1000);
	return sid;
}

static bool ends(int pidfd)
{
	struct pollfd fd = {.fd = pidfd, .events = POLLIN};

	return poll(&fd, 1, 20000) == 1;
}

static void test_life(void)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	pid_t pid = keeper_wait(getpid());

	ok(!e && pid > 0, "it lives");
	is_int(waitpid(-1, NULL, WNOHANG), -1, "wait() knows of no child");
	for (int sig = 1; sig < NSIG; sig++)
		if (sig != SIGKILL && sig != SIGSTOP)
			(void)kill(pid, sig);
	is_int(session_await(pid), pid, "in a session of its own");
	ok(!keeper_check(k), "signals do not end it");
	is_int(nfiles_await(pid, 2), 2, "open are its socket and its tracer");
	keeper_destroy(k);
	is_int(kill(pid, 0), -1, "gone, and waited for");
}

static void test_killed(void)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	uint64_t zero = 0;
	struct uprobe_sites sites = {.offsets = &zero, .cookies = &zero, .n = 1};
	int pidfd;

	err_destroy(e);
	pidfd = (int)syscall(SYS_pidfd_open, keeper_wait(getpid()), 0);
	(void)kill(keeper_wait(getpid()), SIGKILL);
	ok(ends(pidfd), "it can be killed");
	e = keeper_check(k);
	ok(e && strstr(err_text(e), "which holds the probes, was killed"),
	   "keeper_check() says that it was killed");
	err_destroy(e);
	e = keeper_uprobe_multi(k, 0, 0, 0, &sites);
	ok(e && strstr(err_text(e), "which holds the probes, was killed"), "and so does a request");
	err_destroy(e);
	keeper_destroy(k);
	(void)close(pidfd);
}

static void test_stopped(void)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	(void)kill(keeper_wait(getpid()), SIGSTOP);
	if (!e)
		e = keeper_stopped(k, self);
	ok(!e, "a stopped one answers: it is resumed");
	(void)kill(keeper_wait(getpid()), SIGSTOP);
	keeper_destroy(k);
	is_int(keeper_of(getpid()), 0, "and it ends when it is stopped again");
	(void)close(self);
}

/* One that is made early has uprobes of its own, until the first request. */
static void test_early(void)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(true, &k);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	uint64_t until = now_ns() + 20000000000;
	pid_t pid = keeper_wait(getpid());
	bool is_warm = false;

	while (!is_warm && now_ns() < until) {
		is_warm = nfiles(pid) > 3;
		(void)usleep(1000);
	}
	ok(is_warm || access("/sys/bus/event_source/devices/uprobe/type", R_OK) != 0,
	   "it has uprobes of its own");
	if (!e)
		e = keeper_stopped(k, self);
	ok(!e, "it answers");
	/* it closes what came with the request last */
	is_int(nfiles_await(pid, 3), 3, "it has closed them, and keeps what it was given");
	keeper_destroy(k);
	(void)close(self);
}

/* The tracer is killed; a process that it made has its socket still. */
static void test_orphan(void)
{
	int up[2], pidfd;
	pid_t tracer, keeper, other = 0;

	if (pipe(up))
		return;
	tracer = fork();
	if (tracer == 0) {
		struct keeper *k = NULL;

		err_destroy(keeper_create(false, &k));
		other = fork();
		if (other)
			(void)!write(up[1], &other, sizeof(other));
		for (;;)
			(void)pause();
	}
	(void)!read(up[0], &other, sizeof(other));
	keeper = keeper_wait(tracer);
	pidfd = (int)syscall(SYS_pidfd_open, keeper, 0);
	(void)kill(tracer, SIGKILL);
	ok(keeper > 0 && ends(pidfd), "it ends with its tracer");
	(void)kill(other, SIGKILL);
	(void)waitpid(tracer, NULL, 0);
	(void)close(pidfd);
	(void)close(up[0]);
	(void)close(up[1]);
}

static void test_refusals(void)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	uint64_t zero = 0;
	struct uprobe_sites sites = {.offsets = &zero, .cookies = &zero, .n = 1};

	err_destroy(e);
	e = keeper_uprobe_multi(k, 0, 0, 0, &sites);
	ok(e && strstr(err_text(e), "the kernel refused the uprobes"), "no program");
	is_int(err_get_sys(e) == EINVAL || err_get_sys(e) == EBADF, 1, "with the kernel's reason");
	err_destroy(e);
	sys_fail_set(1);
	e = keeper_uprobe_multi(k, 0, 0, 0, &sites);
	ok(e && !sys_fail_pending(), "failure injection counts its calls");
	err_destroy(e);
	sys_fail_set(1);
	keeper_destroy(k);
	k = NULL;
	e = keeper_create(false, &k);
	ok(e && strstr(err_text(e), "cannot start the helper process that holds the probes"),
	   "no memory");
	err_destroy(e);
	sys_fail_set(0);
}

static pid_t stopped_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)pause();
	}
	(void)kill(pid, SIGSTOP);
	(void)waitpid(pid, &status, WUNTRACED);
	return pid;
}

/* A tracer that has stopped a process, and dies (or ends as it should). */
static void be_tracer(pid_t stopped, bool dies)
{
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);

	if (!e)
		e = keeper_stopped(k, (int)syscall(SYS_pidfd_open, stopped, 0));
	if (!e && dies)
		(void)raise(SIGKILL);
	keeper_destroy(k);
	_exit(e != NULL);
}

static pid_t tracer(pid_t stopped, bool dies)
{
	pid_t pid = fork();

	if (pid == 0)
		be_tracer(stopped, dies);
	return pid;
}

static void test_stopped_processes(void)
{
	pid_t stopped = stopped_child();
	int status = 0;

	(void)waitpid(tracer(stopped, false), &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0,
	   "a tracer that has stopped a process ends");
	is_int(waitpid(stopped, &status, WCONTINUED | WNOHANG), 0, "the process stays stopped");
	(void)waitpid(tracer(stopped, true), &status, 0);
	ok(WIFSIGNALED(status), "another one is killed");
	ok(waitpid(stopped, &status, WCONTINUED) == stopped && WIFCONTINUED(status),
	   "the process that it stopped runs on");
	(void)kill(stopped, SIGKILL);
	(void)waitpid(stopped, &status, 0);
}

/* Limits how many descriptors the keeper has, and gives it as many as it takes. */
static void keeper_fill(struct keeper *k, rlim_t limit)
{
	const struct rlimit rl = {limit, limit};
	struct err *e = NULL;

	(void)prlimit(keeper_wait(getpid()), RLIMIT_NOFILE, &rl, NULL);
	while (!e)
		e = keeper_hold(k, STDIN_FILENO, STDIN_FILENO);
	err_destroy(e);
}

/*
 * A tracer that has stopped a process, and waits to be killed. limit: its keeper has no more
 * descriptors, and all are in use; 0: as many as it likes. *ret_keeper: the keeper.
 */
static pid_t waiting_tracer(pid_t stopped, rlim_t limit, pid_t *ret_keeper)
{
	int up[2];
	pid_t pid;
	char byte;

	if (pipe(up))
		return -1;
	pid = fork();
	if (pid == 0) {
		struct keeper *k = NULL;
		struct err *e = keeper_create(false, &k);

		if (!e)
			e = keeper_stopped(k, (int)syscall(SYS_pidfd_open, stopped, 0));
		if (!e && limit)
			keeper_fill(k, limit);
		if (!e)
			(void)!write(up[1], "", 1);
		for (;;)
			(void)pause();
	}
	(void)!read(up[0], &byte, 1);
	(void)close(up[0]);
	(void)close(up[1]);
	*ret_keeper = keeper_wait(pid);
	return pid;
}

static void write_number(const char *folder, const char *file, pid_t n)
{
	char path[128];
	FILE *f;

	(void)snprintf(path, sizeof(path), "%s/%s", folder, file);
	f = fopen(path, "we");
	if (!f)
		return;
	(void)fprintf(f, "%d\n", (int)n);
	(void)fclose(f);
}

/* Puts a process into a new control group, where it can make no other one. */
static bool forks_forbid(pid_t pid, char *folder, size_t size)
{
	static const char *const roots[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup"};
	char path[128];

	for (size_t i = 0; i < ARRAY_LEN(roots); i++) {
		(void)snprintf(folder, size, "%s/fathom-keeper-%d", roots[i], (int)getpid());
		(void)snprintf(path, sizeof(path), "%s/pids.max", folder);
		if (mkdir(folder, 0700) != 0)
			continue;
		write_number(folder, "cgroup.procs", pid);
		write_number(folder, "pids.max", 1);
		if (access(path, W_OK) == 0)
			return true;
		(void)rmdir(folder);
	}
	return false;
}

static bool process_goes_on(pid_t stopped)
{
	uint64_t until = now_ns() + 20000000000;
	int status = 0;

	while (waitpid(stopped, &status, WCONTINUED | WNOHANG) != stopped && now_ns() < until)
		(void)usleep(1000);
	return WIFCONTINUED(status);
}

/* The keeper of a killed tracer can get no descriptor any more: the stopped process runs on. */
static void test_full(void)
{
	/* Requests bring two descriptors, so one of these limits leaves room for one more. */
	for (rlim_t limit = 31; limit <= 32; limit++) {
		pid_t stopped = stopped_child(), keeper = 0;
		pid_t dead = waiting_tracer(stopped, limit, &keeper);
		int n = nfiles(keeper);

		ok(n == (int)limit || n == (int)limit - 1, "a keeper has %d descriptors", n);
		(void)kill(dead, SIGKILL);
		(void)waitpid(dead, NULL, 0);
		ok(process_goes_on(stopped), "the process that it stopped runs on");
		(void)kill(stopped, SIGKILL);
		(void)waitpid(stopped, NULL, 0);
	}
}

/* The keeper of a killed tracer can make no process: the stopped process runs on. */
static void test_no_clone(void)
{
	pid_t stopped = stopped_child(), keeper = 0, dead = waiting_tracer(stopped, 0, &keeper);
	int pidfd = (int)syscall(SYS_pidfd_open, keeper, 0);
	bool is_forbidden;
	char folder[96];

	is_forbidden = forks_forbid(keeper, folder, sizeof(folder));
	(void)kill(dead, SIGKILL);
	(void)waitpid(dead, NULL, 0);
	if (!is_forbidden) {
		ok(true, "a keeper that can make no process # SKIP needs control groups of pids");
	} else {
		ok(process_goes_on(stopped),
		   "without a clone, the keeper itself resumes the process");
		ok(ends(pidfd), "the keeper has ended");
		while (rmdir(folder) != 0 && errno == EBUSY)
			(void)usleep(1000); /* until the keeper has left it */
	}
	(void)close(pidfd);
	(void)kill(stopped, SIGKILL);
	(void)waitpid(stopped, NULL, 0);
}

/* ---- processes with owner threads ------------------------------------------------------------ */

#define EVENTS 4096

struct owned_maps {
	int events, procs, prog; /* prog: each run is one event */
};

static int event_program(int events)
{
	const struct bpf_insn insns[] = {
		INSN_IMM64_LOW(BPF_REG_1, BPF_PSEUDO_MAP_FD, events),
		INSN_IMM64_HIGH(0),
		INSN_MOV(BPF_REG_2, BPF_REG_10),
		INSN_ADD_IMM(BPF_REG_2, -8),
		INSN_STORE_IMM(BPF_DW, BPF_REG_10, -8, 1),
		INSN_MOV_IMM(BPF_REG_3, 8),
		INSN_MOV_IMM(BPF_REG_4, BPF_RB_FORCE_WAKEUP),
		INSN_CALL(BPF_FUNC_ringbuf_output),
		INSNS_RETURN(0),
	};

	return bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "t_event", "GPL", insns,
			     ARRAY_LEN(insns), NULL);
}

/* The maps of a process in which makers of twins are stopped. */
static struct owned_maps owned_maps_create(void)
{
	struct owned_maps m;
	uint32_t key = 1;
	uint64_t value = 1;

	m.events = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "t_events", 0, 0, EVENTS, NULL);
	m.procs = bpf_map_create(BPF_MAP_TYPE_HASH, "t_procs", 4, 8, 1, NULL);
	m.prog = event_program(m.events);
	(void)bpf_map_update_elem(m.procs, &key, &value, 0);
	return m;
}

static void owned_maps_close(const struct owned_maps *m)
{
	(void)close(m->events);
	(void)close(m->procs);
	(void)close(m->prog);
}

static void event_make(const struct owned_maps *m)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);

	(void)bpf_prog_test_run_opts(m->prog, &opts);
}

static bool owned_maps_are_empty(const struct owned_maps *m)
{
	uint32_t key;

	return bpf_map_get_next_key(m->procs, NULL, &key) != 0;
}

static struct err *owned_add(struct keeper *k, uint64_t id, pid_t pid, const struct owned_maps *m)
{
	CLEANUP(fd) int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);

	return keeper_owned(k, id, pidfd, m->events, m->procs);
}

static void child_kill(pid_t pid)
{
	(void)kill(pid, SIGKILL);
	(void)waitpid(pid, NULL, 0);
}

/* The tracer does nothing: each event is answered, also by whom it has given back. */
static void test_owned(void)
{
	pid_t maker = stopped_child(), users = stopped_child();
	struct owned_maps m = owned_maps_create(), quiet = owned_maps_create();
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	int status = 0;

	for (uint64_t id = 1; !e && id <= 1000; id++) {
		e = owned_add(k, id, users, &quiet);
		if (!e)
			e = keeper_disowned(k, id);
	}
	if (!e)
		e = owned_add(k, 1001, users, &quiet);
	if (!e)
		e = owned_add(k, 1002, maker, &m);
	ok(!e, "a thousand processes have owners, one after the other");
	err_destroy(e);
	is_int(waitpid(maker, &status, WCONTINUED | WNOHANG), 0, "without an event none runs on");
	event_make(&m);
	ok(process_goes_on(maker), "the maker of a twin runs on");
	ok(owned_maps_are_empty(&m), "no other one is stopped");
	(void)kill(maker, SIGSTOP);
	(void)waitpid(maker, &status, WUNTRACED);
	event_make(&m);
	ok(process_goes_on(maker), "one that was on its way to stop, too");
	(void)kill(maker, SIGSTOP);
	(void)waitpid(maker, &status, WUNTRACED);
	e = keeper_disowned(k, 1002);
	ok(!e, "it is given back");
	err_destroy(e);
	e = keeper_disowned(k, 1001);
	err_destroy(e);
	is_int(waitpid(maker, &status, WCONTINUED | WNOHANG), 0,
	       "and stays stopped if its user has stopped it");
	is_int(waitpid(users, &status, WCONTINUED | WNOHANG), 0, "as the other one");
	keeper_destroy(k);
	child_kill(maker);
	child_kill(users);
	owned_maps_close(&m);
	owned_maps_close(&quiet);
}

/* A tracer that dies while its keeper is stopped, which finds the event then. */
static void test_owned_orphan(void)
{
	pid_t maker = stopped_child(), users = stopped_child(), keeper = 0, dead;
	struct owned_maps m = owned_maps_create(), quiet = owned_maps_create();
	int up[2], status = 0;

	if (pipe(up))
		return;
	dead = fork();
	if (dead == 0) {
		struct keeper *k = NULL;
		struct err *e = keeper_create(false, &k);

		if (!e)
			e = owned_add(k, 1, users, &quiet);
		if (!e)
			e = owned_add(k, 2, maker, &m);
		if (!e)
			(void)!write(up[1], "", 1);
		for (;;)
			(void)pause();
	}
	(void)!read(up[0], &status, 1);
	keeper = keeper_wait(dead);
	(void)kill(keeper, SIGSTOP);
	event_make(&m);
	(void)kill(dead, SIGKILL);
	(void)waitpid(dead, NULL, 0);
	(void)kill(keeper, SIGCONT);
	ok(process_goes_on(maker), "the maker of a twin runs on when the tracer was killed");
	is_int(waitpid(users, &status, WCONTINUED | WNOHANG), 0, "without a twin, none runs on");
	child_kill(maker);
	child_kill(users);
	owned_maps_close(&m);
	owned_maps_close(&quiet);
	(void)close(up[0]);
	(void)close(up[1]);
}

/* There may be more processes with owners than may be stopped, and they take no room of those. */
static void test_many_owned(void)
{
	struct owned_maps m = owned_maps_create();
	struct keeper *k = NULL;
	struct err *e = keeper_create(false, &k);
	int self = (int)syscall(SYS_pidfd_open, getpid(), 0);
	uint64_t n = 0;

	while (!e && n < 1000) {
		e = owned_add(k, n, getpid(), &m);
		n += !e;
	}
	is_int(n, 256, "so many processes may have owners at a time");
	ok(e && strstr(err_text(e), "too many processes are to have owner threads"), "not more");
	err_destroy(e);
	e = keeper_stopped(k, self);
	ok(!e, "another one may be stopped");
	err_destroy(e);
	keeper_destroy(k);
	owned_maps_close(&m);
	(void)close(self);
}

int main(void)
{
	test_life();
	test_killed();
	test_stopped();
	test_early();
	test_orphan();
	test_refusals();
	test_stopped_processes();
	test_full();
	test_no_clone();
	test_owned();
	test_owned_orphan();
	test_many_owned();
	return tap_done();
}
