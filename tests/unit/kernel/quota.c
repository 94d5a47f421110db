/* SPDX-License-Identifier: MIT */
/*
 * Counting the sessions of a user in /proc: by children that are an ordinary user with the
 * capabilities of a session. A child that is asked for its quotas answers with its exit status.
 */
#include "kernel/quota.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernel/capabilities.h"
#include "tap.h"

#define MANY_GROUPS 2000 /* the status of a process has them before its capabilities */
#define PROBES	    10
#define LOOKS	    3

static unsigned int user; /* one that no other process has */

/* Becomes the user, in so many groups, as the command's file makes its process. */
static bool user_become(uint32_t ngroups)
{
	const uint64_t needed = capability_bit(CAP_BPF) | capability_bit(CAP_PERFMON);
	static gid_t groups[MANY_GROUPS];

	for (uint32_t i = 0; i < ngroups; i++)
		groups[i] = 1000000000 + i;
	return !setgroups(ngroups, groups) && !prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) &&
	       !setresuid(user, user, user) && capabilities_keep(needed);
}

static struct err *session_begin(uint64_t sessions, uint64_t cpu)
{
	const struct quota quotas[QUOTA_NKINDS] = {
		[QUOTA_SESSIONS] = {.max = sessions},
		[QUOTA_MEMORY] = quota_default(QUOTA_MEMORY),
		[QUOTA_PROBES] = {.max = PROBES},
		[QUOTA_CPU] = {.max = cpu},
	};

	return quota_begin(quotas, "the user", "/nonexistent");
}

/* A child that is a session, takes some probes, and stays until its end of the pipe is closed. */
struct session {
	pid_t pid;
	int stay[2];
};

static bool other_begin(struct session *s, uint32_t ngroups, uint64_t probes)
{
	int said[2];
	char byte;
	bool is_good;

	if (pipe(s->stay) || pipe(said))
		return false;
	s->pid = fork();
	if (!s->pid) {
		(void)close(s->stay[1]);
		(void)close(said[0]);
		is_good = user_become(ngroups) && !session_begin(4, QUOTA_CPU_MAX) &&
			  !quota_take(QUOTA_PROBES, probes) && write(said[1], "", 1) == 1;
		_exit(is_good && read(s->stay[0], &byte, 1) == 0 ? 0 : 1);
	}
	(void)close(s->stay[0]);
	(void)close(said[1]);
	is_good = read(said[0], &byte, 1) == 1;
	(void)close(said[0]);
	return is_good;
}

static void other_end(const struct session *s)
{
	(void)close(s->stay[1]);
	(void)waitpid(s->pid, NULL, 0);
}

/* Runs a check in a child that is the user. */
static void child_run(bool (*check)(void), const char *name)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid)
		_exit(user_become(1) && check() ? 0 : 1);
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && !WEXITSTATUS(status),
	   "%s", name);
}

static bool says(struct err *e, const char *what)
{
	bool is_said = e && strstr(err_text(e), what);

	if (!is_said)
		printf("# %s\n", e ? err_text(e) : "no error");
	err_destroy(e);
	return is_said;
}

static bool session_is_counted(void)
{
	return says(session_begin(1, QUOTA_CPU_MAX), "has 1 session already");
}

static bool probes_are_counted(void)
{
	return !session_begin(4, QUOTA_CPU_MAX) &&
	       says(quota_take(QUOTA_PROBES, PROBES), "1 other session of the user has");
}

/* Leaves so many descriptors that can be opened. */
static bool files_leave(uint32_t n)
{
	struct rlimit limit = {0, 0};
	int fds[2], last = 2;

	for (uint32_t i = 0; i < n; i++)
		last = fds[i] = dup(0);
	for (uint32_t i = 0; i < n; i++)
		(void)close(fds[i]);
	limit.rlim_cur = limit.rlim_max = (rlim_t)last + 1;
	return last >= 0 && !setrlimit(RLIMIT_NOFILE, &limit);
}

/*
 * The folder /proc can be opened, and no file in it, which must not mean that there is no other
 * session.
 */
static bool limit_before_take(void)
{
	return !session_begin(4, QUOTA_CPU_MAX) && files_leave(1) &&
	       says(quota_take(QUOTA_PROBES, PROBES), "so not be counted");
}

/* The same, after the session has a descriptor of its own. */
static bool limit_before_begin(void)
{
	return files_leave(2) && says(session_begin(1, QUOTA_CPU_MAX), "so not be counted");
}

static atomic_int is_told;
static uint64_t wait_seconds;

static void wait_told(void *ctx, const char *msg)
{
	unsigned int n;

	(void)ctx;
	if (sscanf(msg, "tracing begins in %u s", &n) == 1)
		wait_seconds = n;
	atomic_store(&is_told, 1);
}

/*
 * Sessions that cannot be counted are as many as there may be: with 0.1 %, a session that is alone
 * or has one other waits for less than a minute, and one of four for more.
 */
static bool limit_before_wait(void)
{
	if (session_begin(4, 10) || !files_leave(0))
		return false;
	(void)usleep(1100000); /* the last look at the others is too old then */
	quota_wait(&is_told, wait_told, NULL);
	if (wait_seconds <= 60)
		printf("# %u s\n", (unsigned int)wait_seconds);
	return wait_seconds > 60;
}

/* ---- the thread, while somebody waits for other sessions ------------------------------------- */

static atomic_bool is_refused;

static void *probes_take(void *unused)
{
	(void)unused;
	err_destroy(quota_take(QUOTA_PROBES, PROBES));
	atomic_store(&is_refused, true);
	return NULL;
}

/* While others are waited for, the thread goes on to tell the kernel how far the budget goes. */
static bool budget_grows(void)
{
	static uint64_t counters[2];
	uint64_t most, before = 0;
	pthread_t thread;
	uint32_t n = 0;

	if (session_begin(4, 500))
		return false;
	quota_watch(&counters[0], &counters[1], sizeof(counters), 1);
	if (pthread_create(&thread, NULL, probes_take, NULL))
		return false;
	while (!atomic_load(&is_refused)) {
		most = __atomic_load_n(&counters[1], __ATOMIC_RELAXED);
		n += most != before;
		before = most;
		(void)usleep(1000);
	}
	(void)pthread_join(thread, NULL);
	/* once for quota_watch(), and once where the thread took its name */
	if (n <= LOOKS)
		printf("# the budget grew %u times\n", n);
	return n > LOOKS;
}

int main(void)
{
	struct session s;

	user = 2000000000u + (unsigned int)getpid();
	if (geteuid() != 0) {
		ok(true, "only root makes processes of another user # SKIP");
		return tap_done();
	}
	ok(other_begin(&s, 1, PROBES), "another session");
	child_run(session_is_counted, "a session");
	child_run(probes_are_counted, "its probes");
	child_run(limit_before_take, "no descriptors: probes");
	child_run(limit_before_begin, "no descriptors: the session");
	child_run(limit_before_wait, "no descriptors: the budget");
	child_run(budget_grows, "the budget grows while another session is waited for");
	other_end(&s);
	ok(other_begin(&s, MANY_GROUPS, PROBES), "another session, in many groups");
	child_run(session_is_counted, "a session in many groups");
	child_run(probes_are_counted, "the probes of a session in many groups");
	other_end(&s);
	return tap_done();
}
