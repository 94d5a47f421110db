/* SPDX-License-Identifier: MIT */
/* Writes text to a file: all of it, whatever signals come, or an error. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "render/out.h"

/*
 * The first signal that ends the run may come while a write waits for a reader such as a pager: the
 * data and the aggregations are still to be written. The second signal means to end at once.
 */
static bool is_given_up(const atomic_int *interrupts)
{
	return interrupts && *interrupts > 1;
}

/* Returns 0 or errno. It does not use stdio, which loses data when a signal ends a write. */
static int write_all(int fd, const char *data, size_t len, const atomic_int *interrupts)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) { /* another process has made the file non-blocking */
			struct pollfd p = {.fd = fd, .events = POLLOUT};

			if (poll(&p, 1, -1) < 0 && errno != EINTR)
				return errno;
		} else if (errno != EINTR) {
			return errno;
		}
		if (len && is_given_up(interrupts))
			return EINTR;
	}
	return 0;
}

int sink_write(FILE *fp, const char *data, size_t len, const atomic_int *interrupts)
{
	int sys;

	if (fflush(fp) != 0 && errno != EINTR)
		return errno;
	if (fileno(fp) >= 0) {
		sys = write_all(fileno(fp), data, len, interrupts);
		if (sys)
			/* cannot read, so that ferror() tells the caller's caller */
			(void)fgetc(fp);
		return sys;
	}
	if ((len && fwrite(data, 1, len, fp) != len) || fflush(fp) != 0) /* memory, no file */
		return errno;
	return 0;
}
