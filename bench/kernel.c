/* SPDX-License-Identifier: MIT */
/*
 * Workloads for bench/kernel.py, all on one CPU: context switches, block transfers, TCP segments.
 *
 *     kernel switch N      N switches between two threads that wake each other; prints nanoseconds
 *                          a switch
 *     kernel read FILE N   N direct reads of 4096 bytes of a device; prints nanoseconds a read
 *     kernel tcp N         N messages of 1000 bytes to another thread through the loopback device,
 *                          each answered with 100; prints nanoseconds a message
 *
 * The number printed is the lower quartile of 100 parts of the run, with the priority of a
 * real-time program where that is allowed: a machine that does other things disturbs some of them.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { PARTS = 100, MESSAGE = 1000, ANSWER = 100, BLOCK = 4096 };

static int from[2]; /* the thread reads from[0], and writes from[1] */
static size_t in_size, out_size;

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int double_compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Reads all of a message; false when there is no more, or when it fails. */
static int message_read(int fd, char *buf, size_t size)
{
	for (size_t got = 0; got < size;) {
		ssize_t n = read(fd, buf + got, size - got);

		if (n <= 0)
			return 0;
		got += (size_t)n;
	}
	return 1;
}

static void *thread_answer(void *arg)
{
	static char buf[MESSAGE];

	while (message_read(from[0], buf, in_size) &&
	       write(from[1], buf, out_size) == (ssize_t)out_size)
		;
	return arg;
}

static int thread_start(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, thread_answer, NULL);
}

/* Two switches a turn. */
static int switch_turn(int *fds)
{
	uint64_t one = 1;

	return write(fds[0], &one, 8) == 8 && read(fds[1], &one, 8) == 8;
}

static int read_turn(int *fds)
{
	static char *block;
	static unsigned int n;

	if (!block && posix_memalign((void **)&block, BLOCK, BLOCK))
		return 0;
	return pread(fds[0], block, BLOCK, (off_t)(n++ & 255) * BLOCK) == BLOCK;
}

static int tcp_turn(int *fds)
{
	static char buf[MESSAGE];

	return write(fds[0], buf, MESSAGE) == MESSAGE && message_read(fds[0], buf, ANSWER);
}

static int tcp_connect(int *ret_client, int *ret_server)
{
	struct sockaddr_in addr = {.sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(addr);
	int one = 1, listener = socket(AF_INET, SOCK_STREAM, 0),
	    client = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(listener, (struct sockaddr *)&addr, len) || listen(listener, 1) ||
	    getsockname(listener, (struct sockaddr *)&addr, &len) ||
	    connect(client, (struct sockaddr *)&addr, len))
		return -1;
	*ret_client = client;
	*ret_server = accept(listener, NULL, NULL);
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	setsockopt(*ret_server, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return *ret_server < 0 ? -1 : 0;
}

static int run(int (*turn)(int *), int *fds, long n, int per_turn)
{
	double part[PARTS];

	for (int i = 0; i < PARTS; i++) {
		uint64_t start = now_ns();
		long turns = n / PARTS / per_turn;

		for (long k = 0; k < turns; k++)
			if (!turn(fds)) {
				fprintf(stderr, "kernel: %s\n", strerror(errno));
				return 1;
			}
		part[i] = (double)(now_ns() - start) / (double)(turns * per_turn);
	}
	qsort(part, PARTS, sizeof(part[0]), double_compare);
	printf("%.1f\n", part[PARTS / 4]);
	return 0;
}

int main(int argc, char **argv)
{
	struct sched_param first = {.sched_priority = 1};
	int fds[2];
	cpu_set_t cpus;

	CPU_ZERO(&cpus);
	CPU_SET((size_t)sysconf(_SC_NPROCESSORS_ONLN) - 1, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	sched_setscheduler(0, SCHED_FIFO, &first);
	if (argc == 3 && strcmp(argv[1], "switch") == 0) {
		fds[0] = from[0] = eventfd(0, 0);
		fds[1] = from[1] = eventfd(0, 0);
		in_size = out_size = 8;
		return thread_start() || run(switch_turn, fds, atol(argv[2]), 2);
	}
	if (argc == 4 && strcmp(argv[1], "read") == 0) {
		fds[0] = open(argv[2], O_RDONLY | O_DIRECT);
		return run(read_turn, fds, atol(argv[3]), 1);
	}
	if (argc == 3 && strcmp(argv[1], "tcp") == 0) {
		if (tcp_connect(&fds[0], &from[0]))
			return 1;
		from[1] = from[0];
		in_size = MESSAGE;
		out_size = ANSWER;
		return thread_start() || run(tcp_turn, fds, atol(argv[2]), 1);
	}
	fprintf(stderr, "usage: kernel switch N | kernel read FILE N | kernel tcp N\n");
	return 2;
}
