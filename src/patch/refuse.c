/* SPDX-License-Identifier: MIT */
/* Why no region is brought into a process, and what the user can do. */
#include <errno.h>
#include <inttypes.h>
#include <linux/capability.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "arch/patch.h"
#include "base/text.h"
#include "dtrace.h"
#include "files/gate.h"
#include "image/gocode.h"
#include "kernel/kernel.h"
#include "patch/patch_impl.h"
#include "target/code.h"
#include "target/ident.h"
#include "target/target.h"

#ifndef PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG /* Linux 3f67987cdc09, v6.4 */
#define PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG 0x4211
#endif
#define GO_LIMIT (64 << 10) /* bytes of the section with the version */

struct dispatch_config { /* struct ptrace_sud_config */
	uint64_t mode, selector, offset, len;
};

const char *patch_lack(void)
{
	return arch_patch ? NULL : "windows are made for x86-64 only";
}

static struct err *err_refused(struct err *e)
{
	return err_code(e, EDT_NOTSUP);
}

static struct err *use_uprobes(struct err *e, const char *how)
{
	return err_hint(err_refused(e), "%s; or leave it to uprobes: -x inproc=auto or off", how);
}

static void name_read(long pid, char name[17])
{
	CLEANUP(file) FILE *f = NULL;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
	f = fopen(path, "re");
	if (!f || !fgets(name, 17, f))
		name[0] = '\0';
	name[strcspn(name, "\n")] = '\0';
	(void)text_clean(name);
}

struct err *refuse_gone(pid_t pid)
{
	return err_sys(ESRCH, "process %d", (int)pid);
}

static struct err *refuse_traced(pid_t pid, long tracer)
{
	char name[17];

	name_read(tracer, name);
	return use_uprobes(err_new("process %d is traced by process %ld (%s), and a process has "
				   "one tracer",
				   (int)pid, tracer, name),
			   "let the other one go");
}

bool seccomp_is_on(pid_t pid)
{
	return proc_status_field(pid, "Seccomp") > 0;
}

/* Whether the program that the process executes was made by the compiler of Go. */
static bool program_is_go(pid_t pid, struct gate *g)
{
	struct target *t = NULL;
	struct go_code go = {0};
	struct gate_file *f = NULL;
	const struct proc_map *m;
	struct gate_elf elf;

	if (!g)
		return false;
	err_destroy(target_live_open(pid, g, &t)); /* what is wrong with it is said later */
	m = t ? target_program(t) : NULL;
	f = m ? target_open_map(t, m) : NULL;
	if (f) {
		gate_elf_open(f, GO_LIMIT, &elf);
		if (elf.elf)
			go_code_read(&go, &elf, false);
		gate_elf_close(&elf);
		gate_file_close(f);
	}
	target_close(t);
	return go.abi != GO_NONE;
}

struct err *refuse_early(pid_t pid, struct gate *g)
{
	long tracer = proc_status_field(pid, "TracerPid");
	uint64_t start;

	if (patch_lack())
		return err_refused(err_new("%s", patch_lack()));
	if (!proc_started(pid, &start))
		return refuse_gone(pid);
	if (pid == getpid())
		return use_uprobes(err_new("process %d is this one, which cannot hold itself",
					   (int)pid),
				   "give the id of another process");
	if (tracer > 0)
		return refuse_traced(pid, tracer);
	if (proc_status_field(pid, "Seccomp") == 1)
		return use_uprobes(err_new("process %d is in seccomp's strict mode: the kernel "
					   "kills it at the first call that is not read, write or "
					   "exit",
					   (int)pid),
				   "nothing else can be brought into it");
	if (program_is_go(pid, g))
		return use_uprobes(err_new("process %d executes a Go program, which moves its "
					   "stacks and interrupts itself by signals",
					   (int)pid),
				   "there is no other way into such a program");
	return NULL;
}

struct err *refuse_hold(pid_t pid, bool suspended, pid_t tid, int sys)
{
	long tracer = proc_status_field(tid, "TracerPid");

	if (tracer > 0 && tracer != getpid() && tracer != gettid()) /* it may be held now */
		return refuse_traced(pid, tracer);
	if (!sys)
		return use_uprobes(err_new("process %d makes threads faster than they are stopped",
					   (int)pid),
				   "try again");
	if (suspended && seccomp_is_on(tid))
		return use_uprobes(
			err_sys(sys, "the seccomp filter of process %d cannot be suspended",
				(int)pid),
			"it takes CAP_SYS_ADMIN, and a tracer without a filter of its own (not in "
			"a container)");
	return use_uprobes(err_sys(sys, "cannot stop thread %d of process %d", (int)tid, (int)pid),
			   "root may do it, unless the container or the system forbids ptrace");
}

struct err *refuse_busy(pid_t pid, pid_t tid)
{
	return use_uprobes(err_new("thread %d of process %d waits in the kernel, as for a child "
				   "of vfork(), and cannot be stopped",
				   (int)tid, (int)pid),
			   "try again later");
}

struct err *refuse_shared(pid_t pid, pid_t other)
{
	char name[17];

	name_read(other, name);
	return use_uprobes(err_new("process %d shares its memory with process %d (%s), which would "
				   "execute code while it is written",
				   (int)pid, (int)other, name),
			   "try again when that one has ended");
}

struct err *refuse_thread(pid_t pid, pid_t tid)
{
	struct dispatch_config c = {0};
	struct arch_words w;

	if (!arch_patch->words_read(tid, &w))
		return refuse_gone(pid);
	if (arch_patch->is_narrow(&w))
		return use_uprobes(err_new("process %d executes 32-bit code", (int)pid),
				   "64-bit programs only");
	if (ptrace(PTRACE_GET_SYSCALL_USER_DISPATCH_CONFIG, tid, (void *)sizeof(c), &c) == 0 &&
	    c.mode)
		return refuse_dispatch(pid);
	return NULL;
}

struct err *refuse_dispatch(pid_t pid)
{
	return use_uprobes(err_new("process %d handles its system calls itself (syscall user "
				   "dispatch): one that we make would be a signal",
				   (int)pid),
			   "it works while the process has it turned off");
}

struct err *refuse_stack(pid_t pid, pid_t tid, uint64_t size, uint64_t want)
{
	return use_uprobes(err_new("thread %d of process %d has a stack for signals of %" PRIu64
				   " bytes, of which a probe in a handler may need %" PRIu64,
				   (int)tid, (int)pid, size, want),
			   "give the program a larger one (sigaltstack)");
}

struct err *refuse_tsc(pid_t pid, pid_t tid)
{
	return use_uprobes(err_new("thread %d of process %d must not read the time stamp counter "
				   "(PR_SET_TSC), which our code does",
				   (int)tid, (int)pid),
			   "there is no other clock without a system call");
}

struct err *refuse_call(pid_t pid, const char *call, int sys)
{
	const char *how = "look at what security modules forbid";

	if (sys == ENOMEM)
		how = "look at vm.overcommit_memory, at the memory limit of its group, and at "
		      "ulimit -v";
	else if (sys == EACCES || sys == EPERM)
		how = "a security module forbids it: SELinux has the permission execmem";
	return use_uprobes(err_sys(sys, "%s in process %d", call, (int)pid), how);
}
