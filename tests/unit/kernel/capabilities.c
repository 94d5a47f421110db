/* SPDX-License-Identifier: MIT */
/*
 * Capabilities that are held and raised for single calls: by a child that is an ordinary user. The
 * child's answer is a set of bits, one for each check that holds.
 */
#include "kernel/capabilities.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "kernel/kernel.h"
#include "tap.h"

#define USER 45101

static uint64_t effective(void)
{
	struct capability_sets s;

	return capabilities_read(&s) ? s.effective : ~0ull;
}

/* Another thread, which says what it has when it is asked by a byte in a pipe. */
struct other {
	pthread_t thread;
	int ask[2];
	uint64_t effective;
};

static void *other_run(void *arg)
{
	struct other *o = arg;
	char byte;

	if (read(o->ask[0], &byte, 1) == 1)
		o->effective = effective();
	return NULL;
}

static bool other_begin(struct other *o)
{
	*o = (struct other){.effective = ~0ull};
	return pipe2(o->ask, O_CLOEXEC) == 0 && pthread_create(&o->thread, NULL, other_run, o) == 0;
}

static uint64_t other_ask(struct other *o)
{
	if (write(o->ask[1], "", 1) == 1)
		(void)pthread_join(o->thread, NULL);
	return o->effective;
}

static bool user_become(void)
{
	return prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) == 0 && setgroups(0, NULL) == 0 &&
	       setresgid(USER, USER, USER) == 0 && setresuid(USER, USER, USER) == 0;
}

enum {
	IS_HELD = 1 << 0,
	IS_RAISED = 1 << 1,
	IS_LOWERED = 1 << 2,
	OF_ONE_THREAD = 1 << 3,
	ERRNO_STAYS = 1 << 4,
	ENV_IS_IGNORED = 1 << 5,
	IS_GONE = 1 << 6,
	FILES_STAY_SHUT = 1 << 7,
	ALL = (1 << 8) - 1,
};

/* Whether root's file is closed to us although the capabilities are raised. */
static bool is_shadow_shut(void)
{
	CLEANUP(fd) int fd = open("/etc/shadow", O_RDONLY | O_CLOEXEC);

	return fd < 0 && (errno == EACCES || errno == ENOENT);
}

static int child_check(void)
{
	uint64_t mask = capability_bit(CAP_BPF) | capability_bit(CAP_PERFMON);
	struct capability_sets s;
	struct other o;
	int good = 0;

	if (!user_become() || !capabilities_hold(mask) || !capabilities_read(&s) ||
	    !other_begin(&o))
		return 0;
	if (s.permitted == mask && !s.effective && !s.inheritable && kernel_has_cap(CAP_BPF) &&
	    !kernel_has_cap(CAP_SYS_ADMIN))
		good |= IS_HELD;
	capabilities_raise();
	good |= effective() == mask ? IS_RAISED : 0;
	good |= other_ask(&o) == 0 ? OF_ONE_THREAD : 0;
	good |= is_shadow_shut() ? FILES_STAY_SHUT : 0;
	errno = EXDEV;
	capabilities_lower();
	good |= errno == EXDEV ? ERRNO_STAYS : 0;
	good |= effective() == 0 ? IS_LOWERED : 0;
	good |= trusted_getenv("FATHOM_TEST") == NULL ? ENV_IS_IGNORED : 0;
	capabilities_give_up();
	capabilities_raise();
	good |= capabilities_read(&s) && !s.permitted && !s.effective && !kernel_has_cap(CAP_BPF)
			? IS_GONE
			: 0;
	capabilities_lower();
	return good;
}

int main(void)
{
	int status = 0;
	pid_t pid;

	(void)setenv("FATHOM_TEST", "1", 1);
	ok(trusted_getenv("FATHOM_TEST") != NULL, "the environment counts for a process as it is");
	ok(!capabilities_are_held(), "nothing is held at first");
	capabilities_raise();
	capabilities_lower();
	if (geteuid() != 0 || !kernel_has_cap(CAP_BPF) || !kernel_has_cap(CAP_SETUID)) {
		printf("# not root: the rest is left out\n");
		return tap_done();
	}
	ok(effective() != 0, "raising and lowering change nothing where nothing is held");
	pid = fork();
	if (pid == 0)
		_exit(child_check());
	ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status),
	   "a child that is a user");
	for (int bit = 1; bit < ALL; bit <<= 1)
		ok(WEXITSTATUS(status) & bit, "check 0x%x of the child", (unsigned int)bit);
	return tap_done();
}
