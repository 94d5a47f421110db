/* Says which modules of the kernel come and go: the kernel reports that to whoever listens. */
#include "kernel/kernel.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#define EVENTS_ROOM (1 << 20) /* bytes of reports that wait to be read */

int modules_listen(void)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = 1};
	CLEANUP(fd)
	int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	int room = EVENTS_ROOM;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return -1;
	/* with less room more reports can be lost, which modules_next() says */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return fd_take(&fd);
}

/* Reads "add@/module/NAME" or "remove@/module/NAME"; false: it is something else. */
static bool report_read(const char *text, struct module_event *ret)
{
	static const char came[] = "add@/module/", gone[] = "remove@/module/";
	bool has_come = strncmp(text, came, strlen(came)) == 0;
	const char *name = text + (has_come ? strlen(came) : strlen(gone));
	size_t size;

	if ((!has_come && strncmp(text, gone, strlen(gone)) != 0) || strchr(name, '/'))
		return false;
	size = strlen(name) + 1;
	if (size > sizeof(ret->name))
		return false;
	ret->kind = has_come ? MODULE_COME : MODULE_GONE;
	memcpy(ret->name, name, size);
	return true;
}

bool modules_next(int fd, struct module_event *ret)
{
	struct sockaddr_nl from;
	char text[4096];

	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, text, sizeof(text) - 1, 0, (struct sockaddr *)&from, &len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0) {
			ret->kind = MODULE_LOST;
			return errno == ENOBUFS;
		}
		text[n] = '\0';
		if (len == sizeof(from) && from.nl_pid == 0 && report_read(text, ret))
			return true; /* it is the kernel's */
	}
}
