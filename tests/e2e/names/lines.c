/* SPDX-License-Identifier: MIT */
/* Places with known lines, shown by getppid(ADDRESS). */
#define _GNU_SOURCE
#include <unistd.h>
#include <sys/syscall.h>

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noinline, noclone))
#endif

static volatile int sink;

NOINLINE static void show(void)
{
	syscall(SYS_getppid, (void *)show); /* line 17 */
	sink++;
}

#line 100 "other.h"
NOINLINE static void middle(int n)
{
	if (n)
		show(); /* other.h:103 */
	sink++;
}
#line 28 "lines.c"

int main(void)
{
	middle(1); /* line 31 */
	return sink > 9;
}
