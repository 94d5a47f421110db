/* SPDX-License-Identifier: MIT */
/* The traced process of same.py: makes as many rounds of calls as a line says, and answers. */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OWN __attribute__((noinline, noclone, noipa))

OWN long add(long a, long b)
{
	return a + b;
}

OWN long six(long a, long b, long c, long d, long e, long f)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f;
}

OWN long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

/* Three ways out. */
OWN long ways(long n)
{
	char text[64];

	if (n % 3 == 0)
		return -1;
	if (n % 3 == 1)
		return (long)strlen(memset(text, 0, sizeof(text))) + n;
	return add(n, 1000);
}

OWN void nothing(void)
{
	__asm__ volatile("");
}

/* Takes its return address off the stack first. */
long popped(long n);
__asm__(".pushsection .text\n.globl popped\n.type popped, @function\npopped:\n"
	"	.cfi_startproc\n"
	"	pop %rax\n"
	"	.cfi_def_cfa_offset 0\n"
	"	.cfi_register rip, rax\n"
	"	lea 100(%rdi), %rcx\n"
	"	push %rax\n"
	"	.cfi_def_cfa_offset 8\n"
	"	.cfi_offset rip, -8\n"
	"	mov %rcx, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size popped, . - popped\n.popsection\n");

static int by_value(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

OWN long rounds(long n)
{
	long sum = 0;

	for (long i = 0; i < n; i++) {
		int list[8] = {5, 3, 8, 1, 9, 2, 7, 4};

		sum += add(i, 1) + six(i, 1, 2, 3, 4, 5) + fib(5) + ways(i) + popped(i);
		nothing();
		qsort(list, 8, sizeof(list[0]), by_value);
		sum += list[0] + strtol("12", NULL, 10);
	}
	return sum;
}

static void *in_thread(void *arg)
{
	(void)arg;
	return (void *)rounds(3);
}

static long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Gives each record that these calls have made another probe: it stands before the time. */
static long forge(long n)
{
	long long since = now(), until;
	char line[512];
	long count = 0;
	FILE *f;

	rounds(n);
	until = now() + 1000000;
	f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof(line), f)) {
		unsigned long from, to;

		if (!strstr(line, " rw-s ") || sscanf(line, "%lx-%lx", &from, &to) != 2)
			continue;
		for (long long *p = (long long *)from + 1; p < (long long *)to; p++)
			if (*p > since && *p < until) {
				((unsigned *)p)[-1] = 0x7ffffff0;
				count++;
			}
	}
	if (f)
		fclose(f);
	return count;
}

/* The page of add() once more: the function there. */
static long (*add_copy(void))(long, long)
{
	unsigned long from, to, off, at = (unsigned long)add;
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	int fd = open("/proc/self/exe", O_RDONLY);
	char *p = NULL;

	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &from, &to, &off) == 3 && at >= from && at < to)
			p = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				 (off_t)(off + (at - from) / 4096 * 4096));
	fclose(f);
	close(fd);
	return (long (*)(long, long))(p + at % 4096);
}

/* Leaves no room for more than 5 MiB within the reach of a jump from an address. */
static void crowd(const void *at)
{
	const long step = 8 << 20, size = 3 << 20;
	unsigned long middle = (unsigned long)at / step * step;

	for (long i = -280; i <= 280; i++)
		(void)mmap((void *)(middle + (unsigned long)(i * step)), size, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			   0);
}

/* How many regions have code behind their first page: the process has been entered wholly then. */
static int regions(void)
{
	char line[512];
	FILE *f = fopen("/proc/self/maps", "re");
	unsigned long at, to, head_end = 0;
	int n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%lx-%lx", &at, &to) != 2)
			continue;
		if (strstr(line, " r-xp ") && at == head_end)
			n += *(const volatile long *)(at + 4096) != 0;
		head_end = strstr(line, " r--s ") && strstr(line, "/dev/zero") ? to : 0;
	}
	if (f)
		fclose(f);
	return n;
}

/* As soon as there is one region more, this thread waits where nothing can stop it. */
static atomic_bool may_end;
static void *in_vfork(void *arg)
{
	long before = (long)arg;

	while (regions() <= before)
		usleep(1000);
	if (!vfork()) {
		while (!may_end)
			usleep(10000);
		_exit(0);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	char line[256];
	pthread_t t;
	void *lib;
	pid_t pid;
	long sum;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("0\n");
	while (fgets(line, sizeof(line), stdin)) {
		sum = 0;
		if (line[0] == 'f') { /* a child makes the calls */
			pid = fork();
			if (!pid)
				_exit((int)rounds(3) & 0x7f);
			waitpid(pid, NULL, 0);
		} else if (line[0] == 't') { /* another thread */
			pthread_create(&t, NULL, in_thread, NULL);
			pthread_join(t, (void **)&sum);
		} else if (line[0] == 'm') {
			static long (*copy)(long, long);

			copy = copy ? copy : add_copy();
			sum = copy(20, 22);
		} else if (line[0] == 'e') {
			execv("/proc/self/exe", argv);
		} else if (line[0] == 'c') {
			crowd(add);
			crowd(strtol);
		} else if (line[0] == 'h') {
			sum = forge(50);
		} else if (line[0] == 'v') {
			pthread_create(&t, NULL, in_vfork, (void *)(long)regions());
		} else if (line[0] == 'w') {
			may_end = true;
			pthread_join(t, NULL);
		} else if (line[0] == '/') { /* a library is opened, and called */
			line[strcspn(line, "\n")] = '\0';
			lib = dlopen(line, RTLD_NOW);
			sum = lib ? ((long (*)(long))dlsym(lib, "from_library"))(4) : -1;
		} else {
			sum = rounds(atol(line));
		}
		printf("%ld\n", sum);
	}
	return 0;
}
