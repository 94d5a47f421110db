/* SPDX-License-Identifier: MIT */
/* Arena: a chain of growing blocks, bump-allocated. */
#include "base/arena.h"

#define BLOCK_MIN 4096u
#define BLOCK_MAX (1u << 20)

struct block {
	struct block *next;
	size_t cap, used;
	_Alignas(16) unsigned char data[];
};

struct arena {
	struct block *head; /* the block from which memory is taken now */
	size_t next_cap;
};

struct arena *arena_create(void)
{
	struct arena *a = xcalloc(1, sizeof(*a));

	a->next_cap = BLOCK_MIN;
	return a;
}

static void blocks_free(struct block *b)
{
	while (b) {
		struct block *next = b->next;

		free(b);
		b = next;
	}
}

void arena_destroy(struct arena *a)
{
	if (!a)
		return;
	blocks_free(a->head);
	free(a);
}

size_t arena_size(const struct arena *a)
{
	size_t size = sizeof(*a);

	for (const struct block *b = a->head; b; b = b->next)
		size += sizeof(*b) + b->cap;
	return size;
}

void arena_reset(struct arena *a)
{
	struct block *keep = NULL;

	/*
	 * The largest block is kept: a loop that resets per record then never calls malloc again.
	 */
	for (struct block *b = a->head; b; b = b->next)
		if (!keep || b->cap > keep->cap)
			keep = b;
	for (struct block *b = a->head, *next; b; b = next) {
		next = b->next;
		if (b != keep)
			free(b);
	}
	if (keep) {
		keep->next = NULL;
		keep->used = 0;
	}
	a->head = keep;
}

/* Returns memory whose size is rounded up to *size; its bytes are not zero. */
static void *room_take(struct arena *a, size_t *size)
{
	struct block *b = a->head;
	void *p;

	*size = ROUND_UP(*size ? *size : 1, (size_t)16);
	if (!b || b->cap - b->used < *size) {
		size_t cap = MAX(a->next_cap, *size);

		b = xmalloc(sizeof(*b) + cap);
		b->cap = cap;
		b->used = 0;
		b->next = a->head;
		a->head = b;
		a->next_cap = MIN(a->next_cap * 2, (size_t)BLOCK_MAX);
	}
	p = b->data + b->used;
	b->used += *size;
	return p;
}

void *arena_alloc(struct arena *a, size_t size)
{
	void *p = room_take(a, &size);

	return memset(p, 0, size);
}

void *arena_memdup(struct arena *a, const void *p, size_t size)
{
	size_t room = size;
	void *copy = room_take(a, &room);

	return size ? memcpy(copy, p, size) : copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t len)
{
	char *copy = arena_alloc(a, len + 1);

	if (len)
		memcpy(copy, s, len);
	return copy;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *s;
	int len;

	va_copy(again, ap);
	len = vsnprintf(NULL, 0, fmt, ap);
	if (len < 0)
		BUG("bad format '%s'", fmt);
	s = arena_alloc(a, (size_t)len + 1);
	vsnprintf(s, (size_t)len + 1, fmt, again);
	va_end(again);
	return s;
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap;
	char *s;

	va_start(ap, fmt);
	s = arena_vprintf(a, fmt, ap);
	va_end(ap);
	return s;
}
