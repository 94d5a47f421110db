/* SPDX-License-Identifier: MIT */
/* Fatal endings, checked allocation and scope cleanup. */
#include "base/base.h"

#include <time.h>

void bug_at(const char *file, int line, const char *fmt, ...)
{
	va_list ap;

	fprintf(stderr, "dtrace: internal error at %s:%d: ", file, line);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	abort();
}

void oom(void)
{
	static const char msg[] =
		"dtrace: out of memory\n"
		"hint: raise the limit (ulimit -v), or trace with a smaller program\n";

	(void)!write(STDERR_FILENO, msg, sizeof(msg) - 1); /* nothing is left to do on failure */
	_exit(1);
}

void *xmalloc(size_t size)
{
	void *p = malloc(size ? size : 1);

	if (!p)
		oom();
	return p;
}

void *xcalloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size ? size : 1);

	if (!p)
		oom();
	return p;
}

void *xrealloc(void *old, size_t size)
{
	void *p = realloc(old, size ? size : 1);

	if (!p)
		oom();
	return p;
}

char *xstrdup(const char *s)
{
	size_t size = strlen(s) + 1;

	return memcpy(xmalloc(size), s, size);
}

void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

void cleanup_free(void *pp)
{
	free(*(void **)pp);
}

void cleanup_file(FILE **f)
{
	if (*f)
		fclose(*f);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec ts;

	(void)clock_gettime(clock, &ts); /* it cannot fail */
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

uint64_t worked_ns(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}
