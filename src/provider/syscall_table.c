/* Names, numbers and aliases of system calls. */
#include "provider/syscalls.h"

const struct syscall_row syscall_rows[] = {
#define SYSCALL(name, nr64, nr32, flags, tracefs, types) {#name, nr64, nr32, flags, tracefs, types},
#include "provider/syscalls.def"
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
 * Names of illumos, the BSDs and macOS. Path calls that Linux programs make in their "...at" form
 * are suggested only: their first argument would be a directory descriptor where the script expects
 * a path.
 */
/* clang-format off */
static const struct syscall_alias aliases[] = {
	{ "exece",          "execve",                                  true },
	{ "exec",           "execve",                                  true },
	{ "rexit",          "exit_group",                              true },
	{ "lwp_exit",       "exit",                                    true },
	{ "lwp_self",       "gettid",                                  true },
	{ "sigaction",      "rt_sigaction",                            true },
	{ "sigprocmask",    "rt_sigprocmask",                          true },
	{ "sigsuspend",     "rt_sigsuspend",                           true },
	{ "sigpending",     "rt_sigpending",                           true },
	{ "sigtimedwait",   "rt_sigtimedwait",                         true },
	{ "pollsys",        "poll ppoll",                              true },
	{ "pread",          "pread64",                                 true },
	{ "pwrite",         "pwrite64",                                true },
	{ "so_socket",      "socket",                                  true },
	{ "recv",           "recvfrom",                                true },
	{ "send",           "sendto",                                  true },
	{ "mmap64",         "mmap",                                    true },
	{ "gtime",          "time",                                    true },
	{ "llseek",         "lseek",                                   true },
	{ "waitsys",        "waitid",                                  true },
	{ "yield",          "sched_yield",                             true },
	{ "statvfs",        "statfs",                                  true },
	{ "fstatvfs",       "fstatfs",                                 true },
	{ "ntp_adjtime",    "adjtimex",                                true },
	{ "openat64",       "openat",                                  true },

	{ "open64",         "open openat openat2 creat",               false },
	{ "open_nocancel",  "open openat openat2 creat",               false },
	{ "xstat",          "stat newfstatat statx",                   false },
	{ "lxstat",         "lstat newfstatat statx",                  false },
	{ "fxstat",         "fstat newfstatat",                        false },
	{ "fork1",          "fork vfork clone clone3",                 false },
	{ "forkall",        "fork vfork clone clone3",                 false },
	{ "forksys",        "fork vfork clone clone3",                 false },
	{ "forkx",          "fork vfork clone clone3",                 false },
	{ "rfork",          "fork vfork clone clone3",                 false },
	{ "lwp_create",     "clone clone3",                            false },
	{ "lwp_kill",       "tkill tgkill",                            false },
	{ "lwp_sigmask",    "rt_sigprocmask",                          false },
	{ "lwp_park",       "futex",                                   false },
	{ "ulock_wait",     "futex",                                   false },
	{ "_umtx_op",       "futex",                                   false },
	{ "so_socketpair",  "socketpair",                              false },
	{ "sbrk",           "brk",                                     false },
	{ "memcntl",        "madvise mlock msync",                     false },
	{ "stime",          "settimeofday clock_settime",              false },
	{ "utimesys",       "utimensat utimes utime",                  false },
	{ "fdsync",         "fsync fdatasync",                         false },
	{ "fsat",           "openat newfstatat unlinkat renameat",     false },
	{ "wait",           "wait4 waitid",                            false },
	{ "pgrpsys",        "setpgid getpgid setsid getsid",           false },
	{ "semsys",         "semget semop semtimedop semctl",          false },
	{ "msgsys",         "msgget msgsnd msgrcv msgctl",             false },
	{ "shmsys",         "shmget shmat shmdt shmctl",               false },
	{ "uadmin",         "reboot",                                  false },
	{ "systeminfo",     "uname sysinfo",                           false },
	{ "sysconfig",      "uname sysinfo",                           false },
	{ "sendfilev",      "sendfile",                                false },
	{ "rusagesys",      "getrusage",                               false },
	{ "stat64",         "stat newfstatat statx",                   false },
	{ "lstat64",        "lstat newfstatat statx",                  false },
	{ "fstat64",        "fstat newfstatat",                        false },
	{ "fcntl64",        "fcntl",                                   false },
	{ "mmap2",          "mmap",                                    false },
	{ "waitpid",        "wait4 waitid",                            false },
	{ "signal",         "rt_sigaction",                            false },
};
/* clang-format on */

const struct syscall_alias *syscall_alias_find(const char *name, struct syscall_alias *tmp)
{
	static const char suffix[] = "_nocancel"; /* macOS: read_nocancel is read */
	size_t len = strlen(name), base_len;

	for (size_t i = 0; i < ARRAY_LEN(aliases); i++)
		if (strcmp(aliases[i].name, name) == 0)
			return &aliases[i];
	for (uint32_t i = 0; i < syscall_nrows; i++) {
		const struct syscall_row *row = &syscall_rows[i];

		base_len = strlen(row->name);
		if (strcmp(row->tracefs, name) != 0 &&
		    (len != base_len + strlen(suffix) || strncmp(name, row->name, base_len) != 0 ||
		     strcmp(name + base_len, suffix) != 0))
			continue;
		if (strcmp(row->name, name) == 0)
			continue;
		*tmp = (struct syscall_alias){
			.name = name, .targets = row->name, .same_args = true};
		return tmp;
	}
	return NULL;
}
