/* SPDX-License-Identifier: MIT */
/*
 * Addresses in flags: HOST:PORT, [IPV6]:PORT. Where there is a default port, HOST, IPV6 and [IPV6]
 * stand alone as well; where there is none, PORT does, and means all addresses of the machine.
 */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics.h"

/* Whether getaddrinfo() is to see it: of a number that is too large it takes some bits. */
static bool is_port(const char *text)
{
	char *end;
	long n = strtol(text, &end, 10);

	return *text && (*end ? *text != '-' : n >= 1 && n <= 65535);
}

/* Splits the text; returns what is wrong with it, or NULL. */
static const char *address_split(const char *text, const char *default_port, char *host,
				 size_t size, const char **ret_port)
{
	const char *close = *text == '[' ? strchr(text, ']') : NULL;
	const char *colon = strrchr(close ? close : text, ':');
	const char *from = close ? text + 1 : text;
	const char *to = close ? close : colon ? colon : text + strlen(text);

	if (close && close[1] && close + 1 != colon)
		return "':PORT' is expected behind ']'";
	if (default_port && !close && colon && strchr(text, ':') != colon) {
		to = text + strlen(text); /* an IPv6 address without brackets has no port */
		colon = NULL;
	}
	if (!default_port && !colon) {
		if (close)
			return "there is no port";
		to = from; /* the port alone */
	}
	if ((size_t)(to - from) >= size)
		return "the name is too long";
	(void)snprintf(host, size, "%.*s", (int)(to - from), from);
	*ret_port = colon ? colon + 1 : default_port ? default_port : text;
	return is_port(*ret_port) ? NULL : "a port is a number from 1 to 65535, or a service";
}

struct addrinfo *address_find(const char *text, const char *default_port, int socktype,
			      const char *purpose)
{
	const struct addrinfo hints = {.ai_socktype = socktype,
				       .ai_flags = default_port ? 0 : AI_PASSIVE};
	struct addrinfo *found = NULL;
	const char *port, *why;
	char host[256];
	int bad;

	why = address_split(text, default_port, host, sizeof(host), &port);
	if (!why) {
		bad = getaddrinfo(*host ? host : NULL, port, &hints, &found);
		why = !bad ? NULL : bad == EAI_SYSTEM ? strerror(errno) : gai_strerror(bad);
	}
	if (why)
		say("cannot %s '%s': %s", purpose, text, why);
	return why ? NULL : found;
}

int udp_open(const char *address, const char *default_port, int *ret_family)
{
	struct addrinfo *found = address_find(address, default_port, SOCK_DGRAM, "send to");
	int fd = -1, error = 0;

	if (!found)
		return -1;
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0) {
			*ret_family = a->ai_family;
			break;
		}
		error = errno;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd < 0)
		say("cannot send to '%s': %s", address, strerror(error));
	return fd;
}
