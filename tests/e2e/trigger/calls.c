/* SPDX-License-Identifier: MIT */
/*
 * Makes a known number of a known system call: calls NAME N.
 *
 * getppid: N times getppid(). open: N times openat() of a missing file. write: N writes of 10 bytes
 * to /dev/null. read: N reads of i bytes (i = 1..N) from /dev/zero. badclose: N times close(-1).
 * threads: N threads that call getppid() once each. nap: a sleep of N microseconds. hop: N times
 * getppid() on the first, then on the last CPU. pgid: getpgid(i), i = 1..N. cold: N times openat()
 * of a missing file whose name is not in memory yet. none: N times a system call that there is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void do_getppid(long n)
{
	while (n--)
		syscall(SYS_getppid);
}

static void do_open(long n)
{
	while (n--)
		(void)!open("/no/such/file", O_RDONLY); /* the failure is the point */
}

static void do_write(long n)
{
	int fd = open("/dev/null", O_WRONLY);

	while (n--)
		(void)!write(fd, "0123456789", 10);
}

static void do_read(long n)
{
	static char buf[1 << 16];
	int fd = open("/dev/zero", O_RDONLY);

	for (long i = 1; i <= n; i++)
		(void)!read(fd, buf, (size_t)i);
}

static void do_badclose(long n)
{
	while (n--)
		close(-1);
}

static void *thread_main(void *arg)
{
	syscall(SYS_getppid);
	return arg;
}

static void do_threads(long n)
{
	while (n--) {
		pthread_t t;

		if (pthread_create(&t, NULL, thread_main, NULL) == 0)
			pthread_join(t, NULL);
	}
}

static void do_nap(long n)
{
	struct timespec ts = {.tv_sec = 0, .tv_nsec = n * 1000};

	(void)clock_nanosleep(CLOCK_REALTIME, 0, &ts, NULL);
}

static void run_on(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)sched_setaffinity(0, sizeof(set), &set); /* not allowed: then it stays where it is */
}

static void do_hop(long n)
{
	int last = (int)sysconf(_SC_NPROCESSORS_CONF) - 1;

	for (long i = 0; i < n; i++) {
		run_on(0);
		syscall(SYS_getppid);
		run_on(last);
		syscall(SYS_getppid);
	}
}

static void do_pgid(long n)
{
	for (long i = 1; i <= n; i++)
		syscall(SYS_getpgid, (int)i);
}

static void do_none(long n)
{
	while (n--)
		syscall(2000);
}

static void do_cold(long n)
{
	static const char name[] = "/no/such/cold";
	int fd = memfd_create("cold", 0);

	(void)!write(fd, name, sizeof(name));
	while (n--) {
		char *map = mmap(NULL, sizeof(name), PROT_READ, MAP_PRIVATE, fd, 0);

		(void)!open(map, O_RDONLY); /* the failure is the point */
		(void)munmap(map, sizeof(name));
	}
}

static const struct {
	const char *name;
	void (*func)(long n);
} modes[] = {
	{"getppid", do_getppid},   {"open", do_open},	    {"write", do_write}, {"read", do_read},
	{"badclose", do_badclose}, {"threads", do_threads}, {"nap", do_nap},	 {"hop", do_hop},
	{"cold", do_cold},	   {"pgid", do_pgid},	    {"none", do_none},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].func(atol(argv[2]));
			return 0;
		}
	fprintf(stderr,
		"usage: calls getppid|open|write|read|badclose|threads|nap|hop|cold|pgid|none N\n");
	return 2;
}
