/* SPDX-License-Identifier: MIT */
/*
 * The scrape endpoint: /metrics, and /-/healthy for those who ask whether the exporter runs.
 *
 * libmicrohttpd speaks HTTP: it is small, is in Debian, and can be driven from a loop of ours, so
 * that a scrape needs no thread and no lock.
 */
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics.h"

#define CONNECTIONS_MAX 32
#define TIMEOUT_S	30

struct server {
	struct MHD_Daemon *daemons[DAEMONS_MAX]; /* one for each address */
	uint32_t n;
	struct exporter *x;
	struct strbuf body;
};

static enum MHD_Result response_send(struct MHD_Connection *c, unsigned int status,
				     const char *type, const char *text, size_t len)
{
	struct MHD_Response *r = MHD_create_response_from_buffer(len, (void *)(uintptr_t)text,
								 MHD_RESPMEM_MUST_COPY);
	enum MHD_Result result;

	if (!r)
		return MHD_NO;
	(void)MHD_add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	result = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return result;
}

static enum MHD_Result metrics_answer(struct server *s, struct MHD_Connection *c)
{
	const char *accept =
		MHD_lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT);
	bool is_protobuf = accept && strstr(accept, "application/vnd.google.protobuf") &&
			   strstr(accept, "io.prometheus.client.MetricFamily");

	s->x->nscrapes++;
	exporter_read(s->x);
	strbuf_clear(&s->body);
	if (is_protobuf)
		prometheus_protobuf(s->x, &s->body);
	else
		prometheus_text(s->x, &s->body);
	return response_send(c, MHD_HTTP_OK,
			     is_protobuf
				     ? "application/vnd.google.protobuf; "
				       "proto=io.prometheus.client.MetricFamily; encoding=delimited"
				     : "text/plain; version=0.0.4; charset=utf-8",
			     s->body.data, s->body.len);
}

static enum MHD_Result request_answer(void *cls, struct MHD_Connection *c, const char *url,
				      const char *method, const char *version, const char *data,
				      size_t *size, void **request)
{
	static const char not_found[] = "There are /metrics and /-/healthy.\n", ok[] = "OK\n",
			  not_allowed[] = "Only GET and HEAD.\n";
	static int begun;

	(void)version;
	(void)data;
	if (!*request) { /* the headers are there, a body may follow */
		*request = &begun;
		return MHD_YES;
	}
	if (*size) { /* a body that nobody wants */
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
		return response_send(c, MHD_HTTP_METHOD_NOT_ALLOWED, "text/plain", not_allowed,
				     strlen(not_allowed));
	if (strcmp(url, "/metrics") == 0)
		return metrics_answer(cls, c);
	if (strcmp(url, "/-/healthy") == 0)
		return response_send(c, MHD_HTTP_OK, "text/plain", ok, strlen(ok));
	return response_send(c, MHD_HTTP_NOT_FOUND, "text/plain", not_found, strlen(not_found));
}

/* Opens a socket that listens at an address; -1: errno has the reason. */
static int socket_listen(const struct addrinfo *a, bool is_v6_only)
{
	int on = 1, error, fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (is_v6_only && a->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, CONNECTIONS_MAX) == 0)
		return fd;
	error = errno;
	close(fd);
	errno = error;
	return -1;
}

static bool daemon_start(struct server *s, int fd)
{
	struct MHD_Daemon *d =
		MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request_answer, s,
				 MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				 CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
				 MHD_OPTION_END);

	if (!d) {
		close(fd);
		return false;
	}
	s->daemons[s->n++] = d;
	return true;
}

static bool is_listed_before(const struct addrinfo *first, const struct addrinfo *a)
{
	for (; first != a; first = first->ai_next)
		if (first->ai_addrlen == a->ai_addrlen &&
		    memcmp(first->ai_addr, a->ai_addr, a->ai_addrlen) == 0)
			return true;
	return false;
}

/*
 * Listens at each address of the host: "localhost" is one of IPv4 and one of IPv6, and a scraper
 * may know either. An address that this machine does not have is left out if there is another one;
 * a port that is in use is not, because what is scraped there would be another program's.
 */
static bool addresses_listen(struct server *s, const struct addrinfo *found, const char *address)
{
	int error = EADDRNOTAVAIL;

	for (const struct addrinfo *a = found; a && s->n < DAEMONS_MAX; a = a->ai_next) {
		int fd;

		if (is_listed_before(found, a))
			continue;
		fd = socket_listen(a, found->ai_next != NULL);
		if (fd >= 0 && !daemon_start(s, fd)) {
			say("cannot serve '%s': libmicrohttpd does not start", address);
			return false;
		}
		if (fd >= 0 || errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)
			continue;
		error = errno;
		say("cannot listen on '%s': %s", address, strerror(error));
		return false;
	}
	if (!s->n)
		say("cannot listen on '%s': %s", address, strerror(error));
	return s->n > 0;
}

struct server *server_start(struct exporter *x, const char *address)
{
	struct addrinfo *found = address_find(address, NULL, SOCK_STREAM, "listen on");
	struct server *s = mem_check(calloc(1, sizeof(*s)));
	bool is_good;

	s->x = x;
	is_good = found && addresses_listen(s, found, address);
	if (found)
		freeaddrinfo(found);
	if (is_good)
		return s;
	server_stop(s);
	return NULL;
}

uint32_t server_fds(const struct server *s, int *ret_fds)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const union MHD_DaemonInfo *info =
			MHD_get_daemon_info(s->daemons[i], MHD_DAEMON_INFO_EPOLL_FD);

		ret_fds[i] = info ? info->epoll_fd : -1;
	}
	return s->n;
}

uint64_t server_due_ns(const struct server *s)
{
	uint64_t least = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		MHD_UNSIGNED_LONG_LONG ms;
		uint64_t at;

		if (MHD_get_timeout(s->daemons[i], &ms) != MHD_YES)
			continue;
		at = clock_ns() + (ms < 60000 ? ms : 60000) * 1000000ull;
		least = !least || at < least ? at : least;
	}
	return least;
}

void server_run(struct server *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		(void)MHD_run(s->daemons[i]);
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	for (uint32_t i = 0; i < s->n; i++)
		MHD_stop_daemon(s->daemons[i]);
	strbuf_deinit(&s->body);
	free(s);
}
