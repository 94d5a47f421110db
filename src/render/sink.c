/* Writing text out: whatever signals come, all of it or an error. */
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "render/out.h"

/*
 * The first signal that ends the run may find us waiting for a reader, such as a pager: then what
 * there is and the tables are still to be written. The second one means at once.
 */
static bool is_given_up(const volatile sig_atomic_t *interrupts)
{
	return interrupts && *interrupts > 1;
}

/* 0 or errno. stdio is not used: it loses its place when a signal ends a write. */
static int write_all(int fd, const char *data, size_t len, const volatile sig_atomic_t *interrupts)
{
	while (len) {
		ssize_t n = write(fd, data, len);

		if (n >= 0) {
			data += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) { /* another process that has the file made it so */
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

int sink_write(FILE *fp, const char *data, size_t len, const volatile sig_atomic_t *interrupts)
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
