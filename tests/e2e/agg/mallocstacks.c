/* SPDX-License-Identifier: MIT */
/* Numbers that mallocstacks must show: what leaks, is freed at once, grows, is aligned. */
#include <stdlib.h>

static void *volatile last;

__attribute__((noinline)) void leak(void)
{
	for (int i = 0; i < 10; i++)
		last = malloc(4000);
}

__attribute__((noinline)) void waste(void)
{
	for (int i = 0; i < 10; i++) {
		last = malloc(5000);
		free(last);
	}
}

__attribute__((noinline)) void grow(void)
{
	last = malloc(100);
	for (size_t i = 2; i <= 10; i++)
		last = realloc(last, 100 * i);
}

__attribute__((noinline)) void align(void)
{
	void *p;

	last = aligned_alloc(64, 640); /* is not seen */
	if (posix_memalign(&p, 64, 128) == 0)
		last = p;
	last = calloc(3, 7);
}

int main(void)
{
	leak();
	waste();
	grow();
	align();
	return 0;
}
