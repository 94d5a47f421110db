/*
 * The scrape endpoint: /metrics, and /-/healthy for those who ask whether the exporter runs.
 *
 * libmicrohttpd speaks HTTP: it is small, is in Debian, and can be driven from a loop of ours, so
 * that a scrape needs no thread and no lock.
 */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics.h"

#define CONNECTIONS_MAX 32
#define TIMEOUT_S	30

struct server {
	struct MHD_Daemon *daemon;
	struct exporter *x;
	struct buf body;
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
	buf_clear(&s->body);
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

/* A socket that listens; -1: it cannot, which was said. */
static int listen_on(const char *address)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
	const char *colon = strrchr(address, ':');
	char host[256];
	int fd = -1, on = 1, bad;

	(void)snprintf(host, sizeof(host), "%.*s", colon ? (int)(colon - address) : 0, address);
	if (*host == '[' && host[strlen(host) - 1] == ']') { /* IPv6 */
		host[strlen(host) - 1] = '\0';
		memmove(host, host + 1, strlen(host));
	}
	bad = getaddrinfo(*host ? host : NULL, colon ? colon + 1 : address, &hints, &found);
	if (bad) {
		say("cannot listen on '%s': %s", address, gai_strerror(bad));
		return -1;
	}
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		if (fd < 0)
			continue;
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
		if (bind(fd, a->ai_addr, a->ai_addrlen) == 0 && listen(fd, CONNECTIONS_MAX) == 0)
			break;
		close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd < 0)
		say("cannot listen on '%s': %m", address);
	return fd;
}

struct server *server_start(struct exporter *x, const char *address)
{
	struct server *s = mem_check(calloc(1, sizeof(*s)));
	int fd = listen_on(address);

	s->x = x;
	if (fd >= 0)
		s->daemon =
			MHD_start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, request_answer, s,
					 MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
					 CONNECTIONS_MAX, MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S,
					 MHD_OPTION_END);
	if (s->daemon)
		return s;
	if (fd >= 0)
		say("cannot serve '%s': libmicrohttpd does not start", address);
	free(s);
	return NULL;
}

int server_fd(const struct server *s)
{
	const union MHD_DaemonInfo *info = MHD_get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD);

	return info ? info->epoll_fd : -1;
}

int server_wait_ms(const struct server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	return MHD_get_timeout(s->daemon, &ms) == MHD_YES ? (int)(ms < 60000 ? ms : 60000) : -1;
}

void server_run(struct server *s)
{
	(void)MHD_run(s->daemon);
}

void server_stop(struct server *s)
{
	if (!s)
		return;
	MHD_stop_daemon(s->daemon);
	buf_free(&s->body);
	free(s);
}
