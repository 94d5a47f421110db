/* SPDX-License-Identifier: MIT */
/*
 * The fence takes processes of its user only: whoever is refused executes whatever it likes.
 * (privilege/fence.py has what becomes of those that are taken.)
 */
#include "tap.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keeper/fence.h"
#include "keeper/keeper.h"
#include "kernel/kernel.h"
#include "rt/follow.h"
#include "target/ident.h"

#define USER  ((uid_t)4100001)
#define OTHER ((uid_t)4100002)

/* A shell of that user, which executes another program when the descriptor is written to. */
struct shell {
	pid_t pid;
	int fd;
};

static bool is_shell(pid_t pid)
{
	char path[64], text[64] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	f = fopen(path, "re");
	if (f) {
		(void)!fread(text, 1, sizeof(text) - 1, f);
		(void)fclose(f);
	}
	return strcmp(text, "a-shell") == 0;
}

static struct shell shell_begin(uid_t uid)
{
	struct shell s;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC) != 0)
		abort();
	s.pid = fork();
	if (s.pid == 0) {
		if (setgroups(0, NULL) != 0 || setresgid(uid, uid, uid) != 0 ||
		    setresuid(uid, uid, uid) != 0 || dup2(fds[0], 0) != 0)
			_exit(9);
		(void)execl("/bin/sh", "a-shell", "-c", "read line; exec env true", NULL);
		_exit(8);
	}
	(void)close(fds[0]);
	s.fd = fds[1];
	for (int i = 0; i < 20000 && !is_shell(s.pid); i++)
		(void)usleep(1000);
	return s;
}

/* Lets it execute the other program; returns its status. */
static int shell_end(const struct shell *s)
{
	int status = -1;

	(void)!write(s->fd, "\n", 1);
	(void)close(s->fd);
	(void)waitpid(s->pid, &status, 0);
	return status;
}

static bool is_refused(struct err *e, const char *why)
{
	bool is_good = e && strstr(err_text(e), why);

	if (!is_good)
		printf("# %s\n", e ? err_text(e) : "no error");
	err_destroy(e);
	return is_good;
}

static void test_others(struct fence *f, const struct privileges *p)
{
	struct shell s = shell_begin(OTHER);
	uint64_t start;

	ok(is_refused(fence_add(f, p, s.pid, 0, &start), "is not one of"),
	   "another user's process is refused");
	is_int(shell_end(&s), 0, "it executes programs afterwards");
}

static void test_own(struct fence *f, const struct privileges *p)
{
	struct shell s = shell_begin(USER);
	uint64_t began = 0, start = 0;
	struct err *e;

	ok(proc_started(s.pid, &began), "the user's process has begun");
	ok(is_refused(fence_add(f, p, s.pid, began + 1, &start), "has ended"),
	   "a process that began at another time is refused");
	e = fence_add(f, p, s.pid, began, &start);
	ok(!e && start == began, "the process is taken");
	err_destroy(e);
	e = fence_add(f, p, s.pid, 0, &start);
	ok(!e && start == began, "and once more, whenever it began");
	err_destroy(e);
	is_int(shell_end(&s), 0, "it executes programs of its user");
}

/* The map of the fenced processes, which the fence alone has: -1 if there is none. */
static int fenced_find(void)
{
	for (int fd = 0; fd < 256; fd++) {
		struct bpf_map_info info = {0};
		uint32_t size = sizeof(info);

		if (bpf_obj_get_info_by_fd(fd, &info, &size) == 0 &&
		    strcmp(info.name, "fenced") == 0)
			return fd;
	}
	return -1;
}

/* Another user's process that has the id of a fenced one, and has begun in the same tick. */
static void test_reused(void)
{
	struct shell s = shell_begin(OTHER);
	uint32_t key = (uint32_t)s.pid;
	struct rt_watched value = {.root = key};
	int fd = fenced_find();

	ok(fd >= 0 && proc_started(s.pid, &value.start) &&
		   bpf_map_update_elem(fd, &key, &value, BPF_ANY) == 0,
	   "another user's process has the id of a fenced one");
	is_int(shell_end(&s), 0, "it executes programs of its user");
}

/* The process of the keeper, which takes its name a moment after it was made; 0: there is none. */
static pid_t keeper_find(void)
{
	char path[64];
	int id = 0, pid = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	for (int i = 0; i < 20000 && !pid; i++) {
		f = fopen(path, "re");
		while (f && !pid && fscanf(f, "%d", &id) == 1) {
			char name[64], text[32] = "";
			FILE *comm;

			(void)snprintf(name, sizeof(name), "/proc/%d/comm", id);
			comm = fopen(name, "re");
			if (comm && fgets(text, sizeof(text), comm) &&
			    strcmp(text, "uprobe-keeper\n") == 0)
				pid = id;
			if (comm)
				(void)fclose(comm);
		}
		if (f)
			(void)fclose(f);
		(void)usleep(pid ? 0 : 1000);
	}
	return pid;
}

/* The keeper's limit of descriptors, by which the last copy of the fence's link is the highest. */
static void test_limit(const struct privileges *p)
{
	const uint64_t zero = 0;
	const struct uprobe_sites sites = {.offsets = &zero, .cookies = &zero, .n = 1};
	struct shell s = shell_begin(USER);
	struct keeper *k = NULL;
	struct rlimit rl;
	struct err *e = keeper_create(false, &k);
	pid_t pid;

	if (!e)
		e = keeper_drop(k, s.pid, true); /* when it answers, it has raised its limit */
	pid = e ? -1 : keeper_find();
	ok(!e && prlimit(pid, RLIMIT_NOFILE, NULL, &rl) == 0, "a keeper has a limit");
	err_destroy(e);
	rl.rlim_cur = 64;
	ok(prlimit(pid, RLIMIT_NOFILE, &rl, NULL) == 0 && rl.rlim_max > 64, "it is lowered");
	keeper_confine(k, p);
	e = keeper_uprobe_multi(k, 0, 0, s.pid, &sites);
	ok(e != NULL, "what is no program is refused, after the fence is there");
	err_destroy(e);
	ok(prlimit(pid, RLIMIT_NOFILE, NULL, &rl) == 0, "the limit is read");
	is_int((int)rl.rlim_max, 64, "it cannot be raised any more");
	keeper_destroy(k);
	(void)shell_end(&s);
}

int main(void)
{
	const struct privileges p = {.levels = LEVEL_USER | LEVEL_PROC, .uid = USER, .gid = USER};
	struct fence *f = NULL;
	struct err *e;
	int link = -1;

	if (geteuid() != 0) {
		ok(true, "the fence # SKIP needs root");
		return tap_done();
	}
	e = fence_create(&p, &f, &link);
	ok(!e, "a fence is made");
	if (e) {
		printf("# %s\n", err_text(e));
		err_destroy(e);
		return tap_done();
	}
	test_others(f, &p);
	test_own(f, &p);
	test_limit(&p);
	test_reused();
	is_int((int)fence_ended(f), 0, "nobody was ended");
	(void)close(link);
	fence_destroy(f);
	return tap_done();
}
