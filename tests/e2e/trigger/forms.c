/* SPDX-License-Identifier: MIT */
/*
 * Makes system calls in all their forms, with arguments that tell which: forms
 * open|stat|paths|fork|exit|net|misc|compat.
 *
 * Files do not exist: /no/CALL is what CALL was given. Texts are built on the stack, so that they
 * are in memory when a probe reads them.
 */
#include <fcntl.h>
#include <linux/openat2.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define CWD AT_FDCWD

struct paths {
	char a[64], b[64];
};

static struct paths paths(const char *call)
{
	struct paths p;

	snprintf(p.a, sizeof(p.a), "/no/%s", call);
	snprintf(p.b, sizeof(p.b), "/no/%s/2", call);
	return p;
}

#define CALL1(name, ...)                                                                           \
	do {                                                                                       \
		struct paths p = paths(#name);                                                     \
		(void)!syscall(SYS_##name, __VA_ARGS__);                                           \
	} while (0)

static void do_open(void)
{
	struct open_how how = {.flags = O_WRONLY | O_CREAT, .mode = 0611};

	CALL1(open, p.a, O_RDONLY, 0);
	CALL1(openat, CWD, p.a, O_WRONLY | O_CREAT, 0644);
	CALL1(openat2, CWD, p.a, &how, sizeof(how));
	CALL1(creat, p.a, 0600);
}

static void do_stat(void)
{
	struct stat st;
	char empty[1] = "", buf[512];

	CALL1(stat, p.a, &st);
	CALL1(lstat, p.a, &st);
	CALL1(newfstatat, CWD, p.a, &st, 0);
	CALL1(newfstatat, CWD, p.a, &st, AT_SYMLINK_NOFOLLOW);
	CALL1(statx, CWD, p.a, 0, 0x7ff, buf);
	CALL1(statx, CWD, p.a, AT_SYMLINK_NOFOLLOW, 0x7ff, buf);
	(void)syscall(SYS_fstat, 701, &st);
	(void)syscall(SYS_newfstatat, 702, empty, &st, AT_EMPTY_PATH);
}

static void do_paths(void)
{
	char buf[16];

	CALL1(unlink, p.a);
	CALL1(unlinkat, CWD, p.a, 0);
	CALL1(rmdir, p.a);
	CALL1(unlinkat, CWD, p.a, AT_REMOVEDIR);
	CALL1(rename, p.a, p.b);
	CALL1(renameat, CWD, p.a, CWD, p.b);
	CALL1(renameat2, CWD, p.a, CWD, p.b, 0);
	CALL1(symlink, p.a, p.b);
	CALL1(symlinkat, p.a, CWD, p.b);
	CALL1(linkat, CWD, p.a, CWD, p.b, 0);
	CALL1(mkdirat, CWD, p.a, 0711);
	CALL1(faccessat, CWD, p.a, R_OK);
	CALL1(readlinkat, CWD, p.a, buf, sizeof(buf));
	CALL1(fchownat, CWD, p.a, 7, 8, 0);
	CALL1(mknodat, CWD, p.a, S_IFIFO, 0);
	CALL1(execveat, CWD, p.a, NULL, NULL, 0);
}

static void *thread_main(void *arg)
{
	(void)arg;
	return NULL;
}

/* Three processes (clone, clone3, vfork), two threads. */
static void do_fork(void)
{
	struct clone_args args = {.exit_signal = SIGCHLD};
	pthread_t t;

	if (syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) == 0)
		_exit(0);
	if (syscall(SYS_clone3, &args, sizeof(args)) == 0)
		_exit(0);
	if (vfork() == 0)
		_exit(0);
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t, NULL, thread_main, NULL) == 0)
			pthread_join(t, NULL);
	while (wait(NULL) > 0)
		;
}

static void do_exit(void)
{
	_exit(42);
}

static void do_net(void)
{
	char buf[8] = "";
	int fd[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fd) < 0)
		return;
	(void)!send(fd[0], "12345", 5, 0);
	(void)!recv(fd[1], buf, sizeof(buf), 0);
}

/* What the C library calls in place of calls of long ago. */
static void do_misc(void)
{
	struct rlimit lim = {0, 0};
	struct timespec t = {0, 4000};
	struct timeval tv = {0, 5};
	int fd[2];

	(void)getrlimit(RLIMIT_CORE, &lim);
	(void)setrlimit(RLIMIT_CORE, &lim);
	(void)nanosleep(&t, NULL);
	(void)select(0, NULL, NULL, NULL, &tv);
	(void)poll(NULL, 0, 0);
	(void)ppoll(NULL, 0, &t, NULL);
	if (pipe(fd) == 0 && dup2(fd[0], 90) == 90)
		(void)dup3(fd[1], 91, 0);
	(void)accept4(99, NULL, NULL, 0);
	(void)tgkill(getpid(), gettid(), 0);
}

#ifdef __x86_64__
#define NR32_OPENAT    295 /* Linux arch/x86/entry/syscalls/syscall_32.tbl */
#define NR32_FSTATAT64 300

static void call32(long nr, long a, const char *b, void *c, long d)
{
	__asm__ volatile("int $0x80"
			 : "+a"(nr)
			 : "b"(a), "c"(b), "d"(c), "S"(d)
			 : "memory", "r8", "r9", "r10", "r11");
}

/* As a 32-bit program does, with addresses that fit. */
static void do_compat(void)
{
	char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);

	if (low == MAP_FAILED)
		return;
	snprintf(low, 64, "/no/openat32");
	snprintf(low + 64, 64, "/no/fstatat64");
	call32(NR32_OPENAT, CWD, low, (void *)O_WRONLY, 0);
	call32(NR32_FSTATAT64, CWD, low + 64, low + 128, 0);
	call32(NR32_FSTATAT64, CWD, low + 64, low + 128, AT_SYMLINK_NOFOLLOW);
}
#else
static void do_compat(void)
{
}
#endif

static const struct {
	const char *name;
	void (*func)(void);
} modes[] = {
	{"open", do_open}, {"stat", do_stat}, {"paths", do_paths}, {"fork", do_fork},
	{"exit", do_exit}, {"net", do_net},   {"misc", do_misc},   {"compat", do_compat},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].func();
			return 0;
		}
	fprintf(stderr, "usage: forms open|stat|paths|fork|exit|net|misc|compat\n");
	return 2;
}
