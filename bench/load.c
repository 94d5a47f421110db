/* SPDX-License-Identifier: MIT */
/*
 * Workloads for the benchmarks: known system calls at full speed or at a given rate.
 *
 *     load getppid N       N calls of getppid(); prints nanoseconds a call
 *     load write N         N writes of 1..4096 bytes to /dev/null; prints nanoseconds a call
 *     load access N        N calls of access() on eight paths of usual lengths; prints nanoseconds
 *                          a call
 *     load keys N FILE     N calls of getpgid(), each with another argument; then writes the time
 *                          (CLOCK_MONOTONIC, ns) to FILE
 *     load paced RATE SEC  RATE calls a second for SEC seconds; prints the calls made
 *     load run COMMAND...  runs it with its output thrown away; prints wall milliseconds and peak
 *                          KiB (a large parent's own pages would count as the child's peak)
 *
 * With WAIT=1 in the environment it waits for a newline on stdin before it starts.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static void report(uint64_t start, long n)
{
	printf("%.1f\n", (double)(now_ns() - start) / (double)n);
}

static int run_getppid(long n)
{
	uint64_t start = now_ns();

	for (long i = 0; i < n; i++)
		syscall(SYS_getppid);
	report(start, n);
	return 0;
}

static int run_write(long n)
{
	static char buf[4096];
	int fd = open("/dev/null", O_WRONLY);
	uint64_t start = now_ns();

	for (long i = 0; i < n; i++)
		if (write(fd, buf, (size_t)(i & 4095) + 1) < 0)
			return 1;
	report(start, n);
	return 0;
}

static int run_access(long n)
{
	static const char *const paths[8] = {
		"/etc/passwd",
		"/usr/lib/x86_64-linux-gnu/libc.so.6",
		"/proc/self/status",
		"/var/lib/none",
		"/etc/ld.so.cache",
		"/usr/share/zoneinfo/Europe/Vienna",
		"/tmp",
		"/home/user/.config/tool/settings.json",
	};
	uint64_t start = now_ns();

	for (long i = 0; i < n; i++)
		(void)syscall(SYS_access, paths[i & 7], F_OK);
	report(start, n);
	return 0;
}

static int run_keys(long n, const char *path)
{
	FILE *f;

	for (long i = 0; i < n; i++)
		syscall(SYS_getpgid, (int)(1000000 + i));
	f = fopen(path, "we");
	if (!f)
		return 1;
	fprintf(f, "%llu\n", (unsigned long long)now_ns());
	return fclose(f) ? 1 : 0;
}

/* Bursts of one millisecond, so that pacing costs nothing between calls. */
static int run_paced(long rate, long seconds)
{
	uint64_t start = now_ns(), end = start + (uint64_t)seconds * 1000000000u, now;
	long made = 0;

	while ((now = now_ns()) < end) {
		long due = (long)((double)(now - start) * (double)rate / 1e9);
		struct timespec ms = {.tv_nsec = 200000};

		for (; made < due; made++)
			syscall(SYS_getppid);
		nanosleep(&ms, NULL);
	}
	printf("%ld\n", made);
	return 0;
}

static int run_command(char **argv)
{
	uint64_t start = now_ns();
	struct rusage usage;
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		int null = open("/dev/null", O_RDWR);

		dup2(null, 0);
		dup2(null, 1);
		dup2(null, 2);
		execvp(argv[0], argv);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid)
		return 1;
	printf("%.3f %ld\n", (double)(now_ns() - start) / 1e6, usage.ru_maxrss);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	if (getenv("WAIT"))
		(void)getchar();
	if (argc == 3 && strcmp(argv[1], "getppid") == 0)
		return run_getppid(atol(argv[2]));
	if (argc == 3 && strcmp(argv[1], "write") == 0)
		return run_write(atol(argv[2]));
	if (argc == 3 && strcmp(argv[1], "access") == 0)
		return run_access(atol(argv[2]));
	if (argc == 4 && strcmp(argv[1], "keys") == 0)
		return run_keys(atol(argv[2]), argv[3]);
	if (argc == 4 && strcmp(argv[1], "paced") == 0)
		return run_paced(atol(argv[2]), atol(argv[3]));
	if (argc > 2 && strcmp(argv[1], "run") == 0)
		return run_command(argv + 2);
	fprintf(stderr,
		"usage: load getppid N | load write N | load access N | load keys N FILE |\n"
		"       load paced RATE SECONDS | load run COMMAND\n");
	return 2;
}
