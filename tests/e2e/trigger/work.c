/* SPDX-License-Identifier: MIT */
/*
 * What the scripts of examples/ look for, N times: work NAME N.
 *
 * spin: N milliseconds of user code, in time on CPU. lock: N waits of a thread for another. poll: N
 * timeouts of one millisecond. nap: N sleeps of one millisecond. kill: N signals 0 to itself, one
 * SIGUSR1 that it ignores. map: N mappings of 64 KiB, half of them given back. heap: the heap grows
 * N times by 4 KiB. sync: N fsync() of a file that is gone. connect: N connections to a port of
 * this machine where nobody listens. fork: N children. print: N lines.
 */
#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What is done here matters to whoever looks on, not to us: results are not wanted. */

static volatile uint64_t spun;

static int64_t cpu_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

static void do_spin(long n)
{
	int64_t end = cpu_ms() + n;

	while (cpu_ms() < end)
		for (int i = 0; i < 10000; i++)
			spun++;
}

static void nap_ms(long n)
{
	struct timespec ts = {.tv_nsec = n * 1000000};

	nanosleep(&ts, NULL);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *lock_main(void *arg)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	return arg;
}

static void do_lock(long n)
{
	while (n--) {
		pthread_t t;

		pthread_mutex_lock(&mutex);
		if (pthread_create(&t, NULL, lock_main, NULL) != 0)
			exit(1);
		nap_ms(1);
		pthread_mutex_unlock(&mutex);
		pthread_join(t, NULL);
	}
}

static void do_poll(long n)
{
	while (n--)
		(void)poll(NULL, 0, 1);
}

static void do_nap(long n)
{
	while (n--)
		nap_ms(1);
}

static void do_kill(long n)
{
	signal(SIGUSR1, SIG_IGN);
	kill(getpid(), SIGUSR1);
	while (n--)
		kill(getpid(), 0);
}

static void do_map(long n)
{
	for (long i = 0; i < n; i++) {
		void *p = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			       0);

		if (i % 2 && p != MAP_FAILED)
			munmap(p, 65536);
	}
}

static void do_heap(long n)
{
	while (n--)
		if (sbrk(4096) == (void *)-1)
			exit(1);
}

static void do_sync(long n)
{
	FILE *f = tmpfile();

	while (f && n--)
		(void)fsync(fileno(f));
}

static void do_connect(long n)
{
	struct sockaddr_in sa = {.sin_family = AF_INET, .sin_port = htons(9)};

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	while (n--) {
		int fd = socket(AF_INET, SOCK_STREAM, 0);

		(void)connect(fd, (struct sockaddr *)&sa, sizeof(sa));
		close(fd);
	}
}

static void do_fork(long n)
{
	while (n--) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		(void)waitpid(pid, NULL, 0);
	}
}

static void do_print(long n)
{
	while (n--) {
		printf("line\t%ld\n", n);
		fflush(stdout);
	}
}

static const struct {
	const char *name;
	void (*func)(long n);
} modes[] = {
	{"spin", do_spin},	 {"lock", do_lock}, {"poll", do_poll},	 {"nap", do_nap},
	{"kill", do_kill},	 {"map", do_map},   {"heap", do_heap},	 {"sync", do_sync},
	{"connect", do_connect}, {"fork", do_fork}, {"print", do_print},
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(modes) / sizeof(modes[0]); i++)
		if (strcmp(argv[1], modes[i].name) == 0) {
			modes[i].func(atol(argv[2]));
			return 0;
		}
	fprintf(stderr, "usage: work spin|lock|poll|nap|kill|map|heap|sync|connect|fork|print N\n");
	return 2;
}
