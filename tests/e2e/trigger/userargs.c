/* SPDX-License-Identifier: MIT */
/*
 * Makes one system call each with a string, a structure, an array of structures, and arrays of
 * strings.
 */
#include <fcntl.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

int main(void)
{
	struct iovec parts[2] = {{"first", 5}, {"second", 6}};
	struct timespec ts = {0, 1234};
	char *args[] = {"zero", "one", NULL}, *env[] = {"A=B", NULL};

	(void)open("/no/such/name", O_RDONLY); /* the failures are the point */
	nanosleep(&ts, NULL);
	(void)!writev(77, parts, 2);
	execve("/no/such/program", args, env);
	return 0;
}
