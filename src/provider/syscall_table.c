/* SPDX-License-Identifier: MIT */
/* Names, numbers and aliases of system calls. */
#include "probe/probe.h" /* glob_match() */
#include "provider/syscalls.h"

const struct syscall_row syscall_rows[] = {
#define SYSCALL(name, nr64, nr32, flags, tracefs, types) {#name, nr64, nr32, flags, tracefs, types},
#include "arch/machine/syscalls.def"
#undef SYSCALL
};
const uint32_t syscall_nrows = ARRAY_LEN(syscall_rows);

const struct syscall_row *syscall_find(const char *name)
{
	for (uint32_t i = 0; i < syscall_nrows; i++)
		if (strcmp(syscall_rows[i].name, name) == 0)
			return &syscall_rows[i];
	return NULL;
}

/*
 * Names of illumos, the BSDs and macOS, and Linux names that mean more than one call. A target is a
 * Linux call with the calls that do its work (syscall_views.c). NULL: only scripts for Linux use
 * the name, which means just that call.
 */
/* clang-format off */
static const struct {
	const char *name, *targets;
} aliases[] = {
	{ "__getcwd",            "getcwd" },
	{ "__pthread_kill",      "tkill" },
	{ "__pthread_sigmask",   "rt_sigprocmask" },
	{ "__semwait_signal",    "futex" },
	{ "_umtx_op",            "futex" },
	{ "accept",              "accept accept4" },
	{ "break",               "brk" },
	{ "bsdthread_create",    "lwp_create" },
	{ "bsdthread_terminate", "exit" },
	{ "dup2",                "dup2 dup3" },
	{ "exec",                "execve" },
	{ "exece",               "execve" },
	{ "execve",              NULL },
	{ "exit",                "exit exit_group" },
	{ "fcntl64",             "fcntl" },
	{ "fdsync",              "fsync fdatasync" },
	{ "fork",                "fork vfork" },
	{ "fork1",               "fork vfork" },
	{ "forkall",             "fork vfork" },
	{ "forksys",             "fork vfork" },
	{ "forkx",               "fork vfork" },
	{ "fsat",                "openat openat2 newfstatat statx unlinkat mkdirat mknodat linkat symlinkat "
	                         "readlinkat renameat renameat2 fchmodat fchownat faccessat faccessat2 utimensat futimesat" },
	{ "fstat64",             "fstat" },
	{ "fstatat",             "newfstatat" },
	{ "fstatat64",           "newfstatat" },
	{ "fstatfs64",           "fstatfs" },
	{ "fstatvfs",            "fstatfs" },
	{ "fstatvfs64",          "fstatfs" },
	{ "fxstat",              "fstat" },
	{ "getdents",            "getdents getdents64" },
	{ "getdirentries",       "getdents64" },
	{ "getdirentries64",     "getdents64" },
	{ "gtime",               "time" },
	{ "kldload",             "finit_module init_module" },
	{ "kldunload",           "delete_module" },
	{ "llseek",              "lseek" },
	{ "lstat64",             "lstat" },
	{ "lwp_cond_broadcast",  "futex" },
	{ "lwp_cond_signal",     "futex" },
	{ "lwp_cond_wait",       "futex" },
	{ "lwp_create",          "lwp_create" },
	{ "lwp_exit",            "exit" },
	{ "lwp_kill",            "tkill" },
	{ "lwp_mutex_register",  "futex" },
	{ "lwp_mutex_timedlock", "futex" },
	{ "lwp_mutex_trylock",   "futex" },
	{ "lwp_mutex_unlock",    "futex" },
	{ "lwp_mutex_wakeup",    "futex" },
	{ "lwp_park",            "futex" },
	{ "lwp_self",            "gettid" },
	{ "lwp_sema_post",       "futex" },
	{ "lwp_sema_timedwait",  "futex" },
	{ "lwp_sema_trywait",    "futex" },
	{ "lwp_sigmask",         "rt_sigprocmask" },
	{ "lwp_unpark",          "futex" },
	{ "lxstat",              "lstat" },
	{ "memcntl",             "madvise mlock msync" },
	{ "mkfifo",              "mknod" },
	{ "mmap2",               "mmap" },
	{ "mmap64",              "mmap" },
	{ "modctl",              "finit_module init_module delete_module" },
	{ "msgsys",              "msgget msgsnd msgrcv msgctl" },
	{ "nmount",              "mount" },
	{ "ntp_adjtime",         "adjtimex" },
	{ "open64",              "open" },
	{ "openat64",            "openat" },
	{ "pgrpsys",             "setpgid getpgid setsid getsid" },
	{ "pipe",                "pipe pipe2" },
	{ "poll",                "poll ppoll" },
	{ "pollsys",             "poll ppoll" },
	{ "pread",               "pread64" },
	{ "priocntlsys",         "sched_setscheduler sched_getscheduler sched_setparam sched_getparam" },
	{ "psynch_cvbroad",      "futex" },
	{ "psynch_cvsignal",     "futex" },
	{ "psynch_cvwait",       "futex" },
	{ "psynch_mutexdrop",    "futex" },
	{ "psynch_mutexwait",    "futex" },
	{ "psynch_rw_rdlock",    "futex" },
	{ "psynch_rw_unlock",    "futex" },
	{ "psynch_rw_wrlock",    "futex" },
	{ "pthread_sigmask",     "rt_sigprocmask" },
	{ "pwrite",              "pwrite64" },
	{ "recv",                "recvfrom" },
	{ "rexit",               "exit_group" },
	{ "rfork",               "fork vfork" },
	{ "rusagesys",           "getrusage" },
	{ "sbrk",                "brk" },
	{ "select",              "select pselect6" },
	{ "semsys",              "semget semop semtimedop semctl" },
	{ "send",                "sendto" },
	{ "sendfilev",           "sendfile" },
	{ "setegid",             "setegid" },
	{ "seteuid",             "seteuid" },
	{ "shmsys",              "shmget shmat shmdt shmctl" },
	{ "sigaction",           "rt_sigaction" },
	{ "signal",              "rt_sigaction" },
	{ "sigpending",          "rt_sigpending" },
	{ "sigprocmask",         "rt_sigprocmask" },
	{ "sigqueue",            "rt_sigqueueinfo" },
	{ "sigreturn",           "rt_sigreturn" },
	{ "sigsuspend",          "rt_sigsuspend" },
	{ "sigtimedwait",        "rt_sigtimedwait" },
	{ "sigwait",             "rt_sigtimedwait" },
	{ "so_socket",           "socket" },
	{ "so_socketpair",       "socketpair" },
	{ "stat64",              "stat" },
	{ "statfs64",            "statfs" },
	{ "statvfs",             "statfs" },
	{ "statvfs64",           "statfs" },
	{ "stime",               "settimeofday clock_settime" },
	{ "sysconfig",           "uname sysinfo" },
	{ "systeminfo",          "uname sysinfo" },
	{ "thr_exit",            "exit" },
	{ "thr_kill",            "tkill" },
	{ "thr_new",             "lwp_create" },
	{ "thr_self",            "gettid" },
	{ "tkill",               NULL },
	{ "uadmin",              "reboot" },
	{ "ulock_wait",          "futex" },
	{ "ulock_wait2",         "futex" },
	{ "ulock_wake",          "futex" },
	{ "ulock_wake2",         "futex" },
	{ "unmount",             "umount2" },
	{ "utime",               "utime utimes" },
	{ "utimesys",            "utimes utime" },
	{ "wait",                "wait4 waitid" },
	{ "wait6",               "waitid" },
	{ "waitpid",             "wait4" },
	{ "waitsys",             "waitid wait4" },
	{ "xmknod",              "mknod" },
	{ "xstat",               "stat" },
	{ "yield",               "sched_yield" },
};

/* Calls of other systems without a counterpart on Linux, and what programs do here instead. */
static const struct {
	const char *name, *instead;
} absent[] = {
	{ "__sysctl",    "openat of /proc/sys" },
	{ "auditon",     NULL },
	{ "auditsys",    NULL },
	{ "cap_enter",   "seccomp" },
	{ "corectl",     NULL },
	{ "door",        NULL },
	{ "doorfs",      NULL },
	{ "exacctsys",   NULL },
	{ "fexecve",     "execveat" },
	{ "getattrlist", "statx" },
	{ "getfsstat",   "statfs" },
	{ "getfsstat64", "statfs" },
	{ "getmsg",      NULL },
	{ "jail",        "clone, unshare" },
	{ "kevent",      "epoll_wait" },
	{ "kevent64",    "epoll_wait" },
	{ "kevent_qos",  "epoll_wait" },
	{ "kqueue",      "epoll_create1" },
	{ "lgrpsys",     NULL },
	{ "pdfork",      "clone3" },
	{ "port",        "epoll_wait" },
	{ "portfs",      "epoll_wait" },
	{ "posix_spawn", "clone, then execve" },
	{ "putmsg",      NULL },
	{ "resolvepath", NULL },
	{ "schedctl",    NULL },
	{ "shm_open",    "openat" },
	{ "sysctl",      "openat of /proc/sys" },
	{ "tasksys",     NULL },
	{ "zone",        NULL },
};
/* clang-format on */

bool syscall_is_absent(const char *name, const char **ret_instead)
{
	for (size_t i = 0; i < ARRAY_LEN(absent); i++)
		if (strcmp(absent[i].name, name) == 0) {
			*ret_instead = absent[i].instead;
			return true;
		}
	return false;
}

/* Whether name is base with "_nocancel", as macOS calls some calls: read_nocancel. */
static bool is_nocancel(const char *name, const char *base)
{
	size_t len = strlen(base);

	return strncmp(name, base, len) == 0 && strcmp(name + len, "_nocancel") == 0;
}

static bool is_form(const char *name)
{
	for (uint32_t i = 0; i < syscall_nviews; i++)
		if (strcmp(syscall_views[i].as, name) == 0)
			return true;
	return false;
}

const char *syscall_targets(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0 || is_nocancel(name, aliases[i].name))
			return aliases[i].targets;
	for (uint32_t i = 0; i < syscall_nrows; i++) {
		const struct syscall_row *row = &syscall_rows[i];

		if (strcmp(row->name, name) == 0)
			return is_form(name) ? row->name : NULL;
		if (strcmp(row->tracefs, name) == 0 || is_nocancel(name, row->name))
			return row->name;
	}
	return NULL;
}

const char *syscall_targets_next(const char *pattern, uint32_t *at)
{
	while (*at < ARRAY_LEN(aliases) + syscall_nrows) {
		uint32_t i = (*at)++;

		if (i < ARRAY_LEN(aliases)) {
			if (aliases[i].targets && glob_match(pattern, aliases[i].name))
				return aliases[i].targets;
		} else {
			const struct syscall_row *row = &syscall_rows[i - ARRAY_LEN(aliases)];
			char name[64];

			(void)snprintf(name, sizeof(name), "%s_nocancel", row->name);
			if (glob_match(pattern, row->tracefs) || glob_match(pattern, name))
				return row->name;
		}
	}
	return NULL;
}
