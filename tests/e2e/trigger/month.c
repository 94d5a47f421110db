/* SPDX-License-Identifier: MIT */
/*
 * A month of a busy machine in short: month N DIR STEP makes N processes, one after the other;
 * after each STEP of them it prints how many, and reads a line. Most processes share our memory and
 * are as cheap as processes can be. Some execute a program whose file is new, some live in a
 * container of their own and generate code. Each calls getppid() from a function of its own.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXEC_EVERY	64
#define CONTAINER_EVERY 256

static char self_path[512];
static char stack[1 << 16] __attribute__((aligned(16)));

static __attribute__((noinline)) int visit(void *arg)
{
	volatile long parent = syscall(SYS_getppid); /* volatile: no jump instead of the call */

	(void)arg;
	return parent < 0;
}

static int child(void *arg)
{
	(void)visit(arg);
	_exit(0);
}

static void process_wait(pid_t pid)
{
	if (pid < 0 || waitpid(pid, NULL, 0) != pid) {
		perror("process");
		exit(1);
	}
}

/* A process like all others, whose file nobody has seen before and nobody will see again. */
static void new_program(const char *dir, long i)
{
	int from = open(self_path, O_RDONLY | O_CLOEXEC), to;
	struct stat st;
	char path[600];
	pid_t pid;

	(void)snprintf(path, sizeof(path), "%s/month%ld", dir, i % 7);
	to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (from < 0 || to < 0 || fstat(from, &st) ||
	    sendfile(to, from, NULL, (size_t)st.st_size) < 0)
		exit(1);
	(void)close(from);
	(void)close(to);
	pid = vfork();
	if (pid == 0) {
		execl(path, path, "visit", (char *)NULL);
		_exit(1);
	}
	process_wait(pid);
	(void)unlink(path);
}

/* mov $110, %eax (getppid); syscall; ret */
static const unsigned char code[] = {0xb8, 110, 0, 0, 0, 0x0f, 0x05, 0xc3};

static void container(const char *dir)
{
	pid_t pid = fork();

	if (pid == 0) {
		void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		void (*generated)(void);

		if (unshare(CLONE_NEWNS) || chroot(dir) || p == MAP_FAILED)
			_exit(1);
		memcpy(p, code, sizeof(code));
		memcpy(&generated, &p, sizeof(p));
		generated();
		_exit(0);
	}
	process_wait(pid);
}

int main(int argc, char **argv)
{
	char line[16];
	long n, step;

	if (argc == 2 && strcmp(argv[1], "visit") == 0)
		return visit(NULL);
	if (argc != 4 || readlink("/proc/self/exe", self_path, sizeof(self_path) - 1) < 0)
		return 2;
	n = atol(argv[1]);
	step = atol(argv[3]);
	for (long i = 1; i <= n; i++) {
		if (i % CONTAINER_EVERY == 0)
			container(argv[2]);
		else if (i % EXEC_EVERY == 0)
			new_program(argv[2], i);
		else
			process_wait(clone(child, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
		if (i % step == 0 &&
		    (printf("%ld\n", i) < 0 || fflush(stdout) || !fgets(line, sizeof(line), stdin)))
			return 1;
	}
	return 0;
}
