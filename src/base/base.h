/* SPDX-License-Identifier: MIT */
/*
 * The vocabulary every file uses: attributes, assertions, small arithmetic, cleanup scopes.
 *
 * Include it first. It also bans the C library calls that cannot be used safely.
 */
#pragma once

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST_CHECK	  __attribute__((warn_unused_result))
#define PRINTF_LIKE(f, a) __attribute__((format(printf, f, a)))
#define NORETURN	  __attribute__((noreturn))
#define EXPORT		  __attribute__((visibility("default")))
#define ARRAY_LEN(a)	  (sizeof(a) / sizeof((a)[0]))
/* clang-format off */
/* The number of arguments, at most six. */
#define COUNT_ARGS(...) COUNT_ARGS_(0, ##__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)
#define COUNT_ARGS_(zero, a, b, c, d, e, f, n, ...) n
/* clang-format on */
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
/* Rounds x up to a multiple of n, which must be a power of two. */
#define ROUND_UP(x, n)		      (((x) + ((n)-1)) & ~((__typeof__(x))(n)-1))
#define CONTAINER_OF(p, type, member) ((type *)((char *)(p)-offsetof(type, member)))

/* An address in a traced process or in the kernel: never dereferenced by us. */
typedef uint64_t taddr;

/* Ends the process because of a mistake of our own. No input may ever lead here. */
NORETURN PRINTF_LIKE(3, 4) void bug_at(const char *file, int line, const char *fmt, ...);
#define BUG(...) bug_at(__FILE__, __LINE__, __VA_ARGS__)

/* Reports on stderr that no memory is left, and ends the process with status 1. */
NORETURN void oom(void);
void *xmalloc(size_t size);
void *xcalloc(size_t n, size_t size);
void *xrealloc(void *p, size_t size);
char *xstrdup(const char *s);

/* Returns CLOCK_MONOTONIC in nanoseconds. */
uint64_t now_ns(void);
/* Returns for how many nanoseconds the calling thread has been on a CPU. */
uint64_t worked_ns(void);

/*
 * CLEANUP(fd) int fd = -1;      closes at the end of the scope
 * CLEANUP(free) void *p = NULL; frees
 * CLEANUP(file) FILE *f = NULL; fclose
 */
#define CLEANUP(kind) __attribute__((cleanup(cleanup_##kind)))
void cleanup_fd(int *fd);
void cleanup_free(void *pp);
void cleanup_file(FILE **f);
/* Takes the descriptor out of a CLEANUP scope. */
static inline int fd_take(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#ifndef BASE_ALLOW_UNSAFE
#pragma GCC poison strcpy strcat sprintf strncpy atoi
#ifdef __clang__
#define ERROR_IF_CALLED(why) __attribute__((diagnose_if(1, why, "error")))
#else
#define ERROR_IF_CALLED(why) __attribute__((error(why)))
#endif
/*
 * Only calls of strtok() are banned, not the word, because D has a subroutine of that name
 * (dif/subrs.def).
 */
char *strtok(char *, const char *) ERROR_IF_CALLED("it is not reentrant: use strtok_r()");
#endif
