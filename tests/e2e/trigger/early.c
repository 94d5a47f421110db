/* SPDX-License-Identifier: MIT */
/* Runs code before main(), in a library's constructor; main() opens one file. */
#include <fcntl.h>
#include <unistd.h>

long early_value(void);

int main(void)
{
	int fd = open("/dev/null", O_RDONLY);

	return fd < 0 || close(fd) || !early_value();
}
