/* SPDX-License-Identifier: MIT */
/*
 * Features: each present as this kernel has it, each absent when forced; refusals name reason and
 * remedy.
 */
#include "tap.h"

#include <sys/stat.h>
#include <sys/wait.h>

#include "kernel/kernel.h"

static void say(const struct err *e)
{
	printf("# %s\n# hint: %s\n", err_text(e), err_get_hint(e) ? err_get_hint(e) : "none");
}

/* In a process of its own, so that the answers of this one stay. */
static bool child(bool (*check)(void))
{
	int status = 1;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(check() ? 0 : 1);
	(void)waitpid(pid, &status, 0);
	return status == 0;
}

static bool nobody_is_refused(void)
{
	struct err *e;

	if (setgid(65534) || setuid(65534))
		return false;
	e = kernel_check();
	if (!e)
		return false;
	say(e);
	fflush(stdout);
	return strstr(err_text(e), "CAP_BPF and CAP_PERFMON") && strstr(err_get_hint(e), "sudo");
}

static bool env_forces_absent(void)
{
	(void)setenv("FATHOM_NO_FEATURE", "btf,TEST_RUN", 1);
	return !feat_has(FEAT_BTF) && !feat_has(FEAT_TEST_RUN) && feat_has(FEAT_RINGBUF);
}

static const struct {
	enum feature f;
	const char *text, *hint;
} needed[] = {
	{FEAT_BPF, "this kernel lacks bpf(2) programs of type raw tracepoint", NULL},
	{FEAT_BTF, "this kernel lacks kernel type information in /sys/kernel/btf/vmlinux",
	 "CONFIG_DEBUG_INFO_BTF"},
	{FEAT_RINGBUF, "this kernel lacks BPF ring buffers", "Linux"},
};

static void test_check(void)
{
	struct err *e = kernel_check();

	ok(!e, "this kernel will do");
	for (size_t i = 0; i < ARRAY_LEN(needed); i++) {
		feat_force_absent(needed[i].f, true);
		ok(!feat_has(needed[i].f), "absent when forced");
		e = kernel_check();
		is_str(e ? err_text(e) : "no error", needed[i].text, needed[i].text);
		if (needed[i].hint)
			ok(e && err_get_hint(e) && strstr(err_get_hint(e), needed[i].hint),
			   "its hint");
		err_destroy(e);
		feat_force_absent(needed[i].f, false);
		ok(feat_has(needed[i].f), "there again");
	}
}

static bool all_fail_cleanly(void)
{
	int before = dup(0), after;

	close(before);
	for (int f = 0; f < FEAT_NFEATURES; f++) {
		if (f == FEAT_BTF || f == FEAT_UPROBE_NOP5 || f == FEAT_KPROBE || f == FEAT_HLT)
			continue; /* no system call of ours */
		sys_fail_set(1);
		if (feat_has((enum feature)f))
			return false;
	}
	sys_fail_set(0);
	after = dup(0);
	return before == after;
}

/* What Linux 6.1 lacks, or stock kernels may refuse. */
static bool is_optional(enum feature f)
{
	return f == FEAT_WRITE_USER || f == FEAT_UPROBE_MULTI || f == FEAT_UPROBE_TGID ||
	       f == FEAT_UPROBE_NOP5 || f == FEAT_KPROBE || f == FEAT_KPROBE_MULTI ||
	       f == FEAT_FENTRY || f == FEAT_READ_CAST;
}

int main(void)
{
	const char *path = NULL;
	struct err *e;
	struct stat st;

	ok(child(nobody_is_refused), "an ordinary user is told what is missing");
	ok(child(env_forces_absent), "FATHOM_NO_FEATURE");
	ok(child(all_fail_cleanly), "a probe that fails says no and leaves nothing open");
	for (int f = 0; f < FEAT_NFEATURES; f++) {
		ok(is_optional((enum feature)f) || feat_has((enum feature)f), "this kernel has %s",
		   feat_what((enum feature)f));
		feat_force_absent((enum feature)f, true);
		ok(!feat_has((enum feature)f), "not when forced absent");
		feat_force_absent((enum feature)f, false);
	}
	test_check();
	e = tracefs_path(&path);
	ok(!e && path, "tracefs is at %s", path ? path : "?");
	if (e)
		say(e);
	ok(path && chdir(path) == 0 && stat("events/raw_syscalls", &st) == 0, "and has events");
	return tap_done();
}
