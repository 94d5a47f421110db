/* SPDX-License-Identifier: MIT */
/*
 * Provider proc: processes and threads begin, execute, get signals and end. Probes at one place fire in the order in which
 * they stand here.
 */
#pragma D depends_on library procfs.d
#pragma D depends_on library signal.d

typedef struct __siginfo {
	int si_signo;
	int si_errno;
	int si_code;
	pid_t si_pid;
	uid_t si_uid;
	uintptr_t si_addr;
	int si_status;
	long si_band;
	uintptr_t si_value;
} siginfo_t;

/* Two small numbers stand for signals of a process, and of the kernel, that say nothing else. */
inline int __has_siginfo[struct kernel_siginfo *I] = (uintptr_t)I > 1;

translator siginfo_t <struct kernel_siginfo *I> {
	si_signo = __has_siginfo[I] ? I->si_signo : 0;
	si_errno = __has_siginfo[I] ? I->si_errno : 0;
	si_code = __has_siginfo[I] ? I->si_code : (uintptr_t)I == 1 ? 0x80 : 0;
	si_pid = __has_siginfo[I] ? I->_sifields._kill._pid : 0;
	si_uid = __has_siginfo[I] ? I->_sifields._kill._uid : 0;
	si_addr = __has_siginfo[I] ? (uintptr_t)I->_sifields._sigfault._addr : 0;
	si_status = __has_siginfo[I] ? I->_sifields._sigchld._status : 0;
	si_band = __has_siginfo[I] ? I->_sifields._sigpoll._band : 0;
	si_value = __has_siginfo[I] ? (uintptr_t)I->_sifields._rt._sigval.sival_ptr : 0;
};

inline int FLTILL = 1;
inline int FLTPRIV = 2;
inline int FLTBPT = 3;
inline int FLTTRACE = 4;
inline int FLTACCESS = 5;
inline int FLTBOUNDS = 6;
inline int FLTIOVF = 7;
inline int FLTIZDIV = 8;
inline int FLTFPE = 9;
inline int FLTSTACK = 10;
inline int FLTPAGE = 11;

inline int __fault_code[int sig, int code] =
	sig == SIGSEGV ? (code == 2 ? FLTACCESS : FLTBOUNDS) :
	sig == SIGBUS ? FLTACCESS :
	sig == SIGILL ? (code == 5 ? FLTPRIV : FLTILL) :
	sig == SIGFPE ? (code == 1 ? FLTIZDIV : code == 2 ? FLTIOVF : FLTFPE) :
	code == 2 ? FLTTRACE : FLTBPT;

inline int __exit_code[int status] =
	(status & 0x7f) == 0 ? CLD_EXITED : status & 0x80 ? CLD_DUMPED : CLD_KILLED;

self uintptr_t __late_path;
inline int __path_is_there[uintptr_t A] = copyinint(A, 0) != 0 ? (self->__late_path = 0, 1) : (self->__late_path = A, 0);

provider proc {
	probe lwp__create(struct task_struct *t) : (lwpsinfo_t *t, psinfo_t *t) = rawtp:::sched_process_fork (args[1]);
	probe create(struct task_struct *t) : (psinfo_t *t)
		= rawtp:::sched_process_fork /args[1]->pid == args[1]->tgid/ (args[1]);

	/* in the child, on its first way out of the kernel; fork and lwp_create mean what clone() does for them, too */
	probe start() = syscall::fork:return /arg0 == 0/;
	probe lwp__start() = syscall::fork:return /arg0 == 0/, syscall::lwp_create:return /arg0 == 0/;

	/*
	 * At the entry, the page of the path may not be in memory: a child after fork() has not touched it. The probe then fires
	 * when the kernel has read the path, and the old program is still there: before the new one is loaded, or where that fails.
	 */
	probe exec(userland char *path) : (string path)
		= syscall::execve:entry /__path_is_there[arg0]/ ((userland char *)arg0),
		  syscall::execveat:entry /__path_is_there[arg1]/ ((userland char *)arg1),
		  rawtp:::sched_prepare_exec /self->__late_path != 0/ ((userland char *)self->__late_path),
		  syscall::execve:return /errno != 0 && self->__late_path != 0/ ((userland char *)self->__late_path),
		  syscall::execveat:return /errno != 0 && self->__late_path != 0/ ((userland char *)self->__late_path)
		|| syscall::execve:entry ((userland char *)arg0), syscall::execveat:entry ((userland char *)arg1);
	probe exec__failure(int err)
		= syscall::execve:return /errno != 0/ (errno), syscall::execveat:return /errno != 0/ (errno);
	probe exec__success() = rawtp:::sched_process_exec;

	/* every thread ends, the last one, too: then the process does */
	probe lwp__exit() = rawtp:::sched_process_exit;

	/* the last thread says it, or (before Linux 6.16) that none is left does */
	/* an older kernel does not say which thread was the last: of two that end at the same moment, both may look so */
	probe exit(int code)
		= rawtp:::sched_process_exit /args[1]/ (__exit_code[__exit_status[args[0]]])
		|| rawtp:::sched_process_exit /args[0]->signal->live.counter == 0/ (__exit_code[__exit_status[args[0]]]);

	probe fault(int code, struct kernel_siginfo *info) : (int code, siginfo_t *info)
		= rawtp:::signal_generate /args[2] == curthread && __has_siginfo[args[1]] && args[1]->si_code > 0 &&
			args[1]->si_code < 0x80 && (args[0] == SIGSEGV || args[0] == SIGBUS || args[0] == SIGFPE ||
			args[0] == SIGILL || args[0] == SIGTRAP)/ (__fault_code[args[0], args[1]->si_code], args[1]);

	probe signal__send(struct task_struct *t, int sig) : (lwpsinfo_t *t, psinfo_t *t, int sig)
		= rawtp:::signal_generate /args[4] != 1/ (args[2], args[0]);
	probe signal__discard(struct task_struct *t, int sig) : (lwpsinfo_t *t, psinfo_t *t, int sig)
		= rawtp:::signal_generate /args[4] == 1/ (args[2], args[0]);
	/* the second argument is there when the handler wants it (SA_SIGINFO) */
	probe signal__handle(int sig, struct kernel_siginfo *info, uintptr_t handler)
		: (int sig, siginfo_t *info, uintptr_t handler)
		= rawtp:::signal_deliver (args[0], args[2]->sa.sa_flags & 4 ? args[1] : NULL,
			(uintptr_t)args[2]->sa.sa_handler);
	probe signal__clear(int sig) = syscall::rt_sigtimedwait:return /(int)arg0 > 0/ ((int)arg0);
};

#pragma D attributes Evolving/Evolving/ISA provider proc provider
#pragma D attributes Private/Private/Unknown provider proc module
#pragma D attributes Private/Private/Unknown provider proc function
#pragma D attributes Evolving/Evolving/ISA provider proc name
#pragma D attributes Evolving/Evolving/ISA provider proc args
