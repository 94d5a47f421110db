/* SPDX-License-Identifier: MIT */
/*
 * Words of a process's memory.
 *
 * A page of it may be served by a process (a file system of FUSE) or another machine. Reading it
 * may wait without end, and meanwhile the kernel holds the lock of the process's mappings, so that
 * no probe can be placed there. So only memory is read that nobody serves. The process may map
 * something else between the question and the reading: therefore a child reads. If it does not
 * answer in time it gets SIGKILL, and is left alone: it ends when the page is there, or the file
 * system is not.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "memprof.h"

#define WAIT_MS	 2000
#define ENDS_MAX 100 /* how often it is asked, each ms, whether a child has ended */

/* In the child of a process with threads: only functions that signal handlers may call. */
static __attribute__((noreturn)) void words_send(int mem, int out, const struct memory_words *w,
						 const bool *are_local)
{
	for (size_t i = 0; i < w->n; i++) {
		uint64_t word = 0;

		if (!are_local[i] ||
		    pread(mem, &word, sizeof(word), (off_t)w->addrs[i]) != sizeof(word))
			word = 0;
		if (write(out, &word, sizeof(word)) != sizeof(word))
			break;
	}
	_exit(0);
}

static int64_t clock_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Returns how many bytes have come until the time is over. */
static size_t bytes_receive(int in, char *buf, size_t size)
{
	int64_t end = clock_ms() + WAIT_MS;
	size_t got = 0;

	while (got < size) {
		struct pollfd p = {.fd = in, .events = POLLIN};
		int64_t left = end - clock_ms();
		ssize_t n;

		if (left <= 0)
			break;
		n = poll(&p, 1, (int)left);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		n = read(in, buf + got, size - got);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		got += (size_t)n;
	}
	return got;
}

bool memory_words_read(pid_t pid, struct memory_words *w)
{
	const struct timespec pause = {.tv_nsec = 1000000};
	int mem, ends[2] = {-1, -1};
	size_t size = w->n * sizeof(*w->values), got = 0;
	bool *are_local = mem_check(calloc(w->n + 1, sizeof(*are_local))), is_complete = true;
	char path[64];
	pid_t child;

	w->values = mem_check(calloc(w->n + 1, sizeof(*w->values)));
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mem < 0) {
		free(are_local);
		return false;
	}
	addresses_check(pid, w->addrs, w->n, are_local);
	for (size_t i = 0; i < w->n; i++)
		is_complete &= are_local[i];
	child = pipe2(ends, O_CLOEXEC) == 0 ? fork() : -1;
	if (child == 0)
		words_send(mem, ends[1], w, are_local);
	(void)close(mem);
	(void)close(ends[1]);
	if (child > 0) {
		got = bytes_receive(ends[0], (char *)w->values, size);
		(void)kill(child, SIGKILL);
		w->is_stuck = got != size;
		for (uint32_t i = 0; i < ENDS_MAX && w->is_stuck; i++) {
			w->is_stuck = waitpid(child, NULL, WNOHANG) == 0;
			if (w->is_stuck)
				(void)nanosleep(&pause, NULL);
		}
	}
	(void)close(ends[0]);
	free(are_local);
	return is_complete && got == size;
}

void memory_words_deinit(struct memory_words *w)
{
	free(w->addrs);
	free(w->values);
	*w = (struct memory_words){0};
}
