/* SPDX-License-Identifier: MIT */
#include "classic.h"
#include <stdio.h>
void (*volatile pointer)(int) = __dtrace_my_app___tail;
__attribute__((noinline)) void conditional(int i)
{
	if (i > 1)
		__dtrace_my_app___tail(i + 200);
}
__attribute__((noinline)) void tail(int i)
{
	__dtrace_my_app___tail(i);
}
__attribute__((noinline)) void tail_many(int i)
{
	__dtrace_my_app___many(1 + i, 2, 3, 4, 5, 6, 7, 8);
}
__attribute__((noinline)) int work(int i, const char *text)
{
	int seen = 0;
	if (MY_APP_QUERY_START_ENABLED()) {
		MY_APP_QUERY_START(i, text, -5L * i);
		seen = 1;
	}
	__dtrace_my_app___many(i, -2, 'x', 65535, -5000000000LL, 250, -7, 8L + i);
	__dtrace_my_app___ratio(1.5 * i, i + 1, 2.5f);
	__dtrace_my_app___idle();
	return seen;
}
int main(int argc, char **argv)
{
	int seen = 0;
	for (int i = 1; i <= 2; i++) {
		seen += work(i, "select 1");
		tail(i);
		tail_many(i);
		conditional(i);
		pointer(i + 100);
	}
	printf("seen %d\n", seen);
	return 0;
}
