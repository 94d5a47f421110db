/* SPDX-License-Identifier: MIT */
/*
 * Arena: memory with one lifetime, released all at once.
 *
 * Owns     every block that it has returned, and nothing else: no descriptors, no mappings.
 * Errors   none; allocation never returns NULL (oom() ends the process). Check sizes that come from
 *          files or traced memory before asking.
 * Threads  one arena belongs to one thread.
 */
#pragma once

#include "base/base.h"

struct arena;

struct arena *arena_create(void);
void arena_destroy(struct arena *a);	  /* NULL is allowed */
size_t arena_size(const struct arena *a); /* bytes of memory that it has taken */
/* Releases every allocation, and keeps the largest block for reuse. */
void arena_reset(struct arena *a);

/* Returns size zeroed bytes, aligned to 16 bytes. */
void *arena_alloc(struct arena *a, size_t size);
char *arena_strdup(struct arena *a, const char *s);
char *arena_strndup(struct arena *a, const char *s, size_t len);
PRINTF_LIKE(2, 3) char *arena_printf(struct arena *a, const char *fmt, ...);
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);
void *arena_memdup(struct arena *a, const void *p, size_t size);

#define ARENA_NEW(a, type)	((type *)arena_alloc((a), sizeof(type)))
#define ARENA_NEW_N(a, type, n) ((type *)arena_alloc((a), sizeof(type) * (size_t)(n)))
