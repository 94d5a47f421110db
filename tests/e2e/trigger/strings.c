/* SPDX-License-Identifier: MIT */
/* Opens each argument as a file, so that a script sees known strings in a system call. */
#include <fcntl.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_RDONLY);

		if (fd >= 0)
			close(fd);
	}
	return 0;
}
