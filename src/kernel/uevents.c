/* SPDX-License-Identifier: MIT */
/* Listens to what the kernel reports about its objects. */
#include "kernel/uevents.h"

#include <errno.h>
#include <linux/netlink.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"

#define EVENTS_ROOM (1 << 20) /* bytes of reports that wait to be read */

int uevents_listen(void)
{
	struct sockaddr_nl addr = {.nl_family = AF_NETLINK, .nl_groups = 1};
	CLEANUP(fd)
	int fd =
		socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_KOBJECT_UEVENT);
	int room = EVENTS_ROOM;

	if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)))
		return -1;
	/* with less room more reports can be lost, which uevents_next() says */
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room));
	return fd_take(&fd);
}

enum uevent uevents_next(int fd, char *text, size_t size)
{
	struct sockaddr_nl from;

	for (;;) {
		socklen_t len = sizeof(from);
		ssize_t n = recvfrom(fd, text, size - 1, 0, (struct sockaddr *)&from, &len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == ENOBUFS ? UEVENT_LOST : UEVENT_NONE;
		text[n] = '\0';
		if (len == sizeof(from) && from.nl_pid == 0) /* the kernel has sent it */
			return UEVENT_READ;
	}
}
