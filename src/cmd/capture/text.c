/* SPDX-License-Identifier: MIT */
/* Text that is written to files and to the system's log, in buffers of fixed size. */
#include "base/base.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <syslog.h>
#include <time.h>

#include "cmd/capture/capture.h"

static u64 clock_ns(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (u64)t.tv_sec * NS_PER_S + (u64)t.tv_nsec;
}

u64 time_mono(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

u64 time_real(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int write_all(int fd, const void *data, size_t len)
{
	const char *at = data;

	while (len) {
		ssize_t n = write(fd, at, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? errno : EIO;
		at += n;
		len -= (size_t)n;
	}
	return 0;
}

void out_init(struct out *o, int fd)
{
	o->fd = fd;
	o->len = 0;
	o->written = 0;
	o->failed = fd < 0 ? errno : 0;
}

void out_flush(struct out *o)
{
	if (!o->failed && o->len)
		o->failed = write_all(o->fd, o->data, o->len);
	o->written += o->len;
	o->len = 0;
}

void out_bytes(struct out *o, const void *data, size_t len)
{
	const char *from = data;

	while (len) {
		size_t n = MIN(len, sizeof(o->data) - o->len);

		memcpy(o->data + o->len, from, n);
		o->len += n;
		from += n;
		len -= n;
		if (o->len == sizeof(o->data))
			out_flush(o);
	}
}

void out_printf(struct out *o, const char *fmt, ...)
{
	char text[512];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (n > 0)
		out_bytes(o, text, MIN((size_t)n, sizeof(text) - 1));
}

/* The length of the character of UTF-8 (RFC 3629) that s begins with, beyond ASCII; 0: none. */
static size_t utf8_len(const u8 *s, size_t len)
{
	size_t n = s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : 4;

	if (s[0] < 0xc2 || s[0] > 0xf4 || len < n)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	/* forms that are too long, surrogates, and what is beyond Unicode */
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return s[0] == 0xc2 && s[1] < 0xa0 ? 0 : n; /* C1 */
}

void out_escaped(struct out *o, const char *text, size_t len)
{
	const u8 *s = (const u8 *)text;

	for (size_t i = 0; i < len;) {
		size_t n = s[i] >= 0x80 ? utf8_len(s + i, len - i) : 1;

		if (!n || s[i] < 0x20 || s[i] == 0x7f || s[i] == '\\') {
			out_printf(o, "\\x%02x", s[i]);
			n = 1;
		} else {
			out_bytes(o, s + i, n);
		}
		i += n;
	}
}

const char *fault(const char *fmt, ...)
{
	static char text[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return text;
}

void say(const char *fmt, ...)
{
	struct sockaddr_un log = {.sun_family = AF_UNIX, .sun_path = "/dev/log"};
	char text[768];
	int n, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	va_list args;

	n = snprintf(text, sizeof(text), "<%d>fathom-crash-capture[%d]: ", LOG_DAEMON | LOG_ERR,
		     (int)getpid());
	va_start(args, fmt);
	vsnprintf(text + n, sizeof(text) - (size_t)n - 1, fmt, args);
	va_end(args);
	for (char *c = text; *c; c++)
		if ((u8)*c < 0x20 || *c == 0x7f)
			*c = '?';
	if (fd >= 0 && connect(fd, (struct sockaddr *)&log, sizeof(log)) == 0 &&
	    send(fd, text, strlen(text), MSG_NOSIGNAL) >= 0) {
		close(fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	fd = open("/dev/kmsg", O_WRONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	memcpy(text + strlen(text), "\n", 2);
	write_all(fd, text, strlen(text));
	close(fd);
}
