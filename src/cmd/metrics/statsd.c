/*
 * StatsD: increments since the last push, a line each, as many lines in a datagram as fit.
 *
 *     dtrace_files_opens.bash./etc/passwd:12|c
 *
 * StatsD has no labels: the values of the keys are parts of the name. If a
 * server on this machine does not run, the kernel reports that nobody listens, and the increments
 * come again with the next push. Beyond this machine UDP loses what it loses.
 *
 * Facts    github.com/statsd/statsd, docs/metric_types.md; 1432 bytes fit into a frame of Ethernet.
 */
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "metrics.h"

#define DATAGRAM_MAX 1432
#define REPORT_MS    20

int udp_open(const char *address, const char *default_port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_DGRAM}, *found = NULL;
	const char *colon = strrchr(address, ':');
	char host[256];
	int fd = -1, bad;

	(void)snprintf(host, sizeof(host), "%.*s",
		       colon ? (int)(colon - address) : (int)strlen(address), address);
	bad = getaddrinfo(host, colon ? colon + 1 : default_port, &hints, &found);
	if (bad) {
		say("cannot send to '%s': %s", address, gai_strerror(bad));
		return -1;
	}
	for (struct addrinfo *a = found; a && fd < 0; a = a->ai_next) {
		fd = socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (fd >= 0 && connect(fd, a->ai_addr, a->ai_addrlen) == 0)
			break;
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	if (fd < 0)
		say("cannot send to '%s': %m", address);
	return fd;
}

struct sent { /* what *to becomes when the push has gone well */
	double *to, value;
};

struct push {
	struct exporter *x;
	int fd;
	struct buf datagram;
	struct sent *sent;
	uint32_t nsent, cap;
	bool is_good;
};

static void datagram_send(struct push *p)
{
	if (!p->datagram.len)
		return;
	if (send(p->fd, p->datagram.data, p->datagram.len, MSG_DONTWAIT) < 0) {
		p->x->npush_errors++;
		p->is_good = false;
	}
	buf_clear(&p->datagram);
}

/*
 * Whether the kernel reports that nobody listens. On this machine it does so at once, or a little
 * later if it is busy. The report also clears the error, so that the next push can be sent.
 */
static bool is_refused(int fd)
{
	struct pollfd p = {.fd = fd};
	socklen_t len = sizeof(int);
	int error = 0;

	(void)poll(&p, 1, REPORT_MS);
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error;
}

/* Adds the line; when all has been sent, *to becomes value. */
static void line_add(struct push *p, const struct buf *line, double *to, double value)
{
	if (p->datagram.len && p->datagram.len + 1 + line->len > DATAGRAM_MAX)
		datagram_send(p);
	if (p->datagram.len)
		buf_addc(&p->datagram, '\n');
	buf_add(&p->datagram, line->data, line->len);
	if (p->nsent == p->cap) {
		p->cap = p->cap ? p->cap * 2 : 64;
		p->sent = mem_check(realloc(p->sent, p->cap * sizeof(*p->sent)));
	}
	p->sent[p->nsent++] = (struct sent){to, value};
}

/* The name: that of the metric, and the values of the keys without what has a meaning in a line. */
static void name_add(struct buf *line, const struct metric *m, const struct series *s,
		     const char *suffix)
{
	buf_clear(line);
	buf_adds(line, m->name);
	if (s->is_overflow)
		buf_adds(line, ".overflow");
	for (uint32_t i = 0; i < m->nlabels && !s->is_overflow; i++) {
		buf_addc(line, '.');
		for (const char *c = s->values[i]; *c; c++)
			buf_addc(line, strchr(":|@#. \n\t", *c) ? '_' : *c);
	}
	buf_adds(line, suffix);
	buf_addc(line, ':');
}

static void counter_line(struct push *p, const struct metric *m, const struct series *s,
			 const char *suffix, double value, double *sent)
{
	static struct buf line;

	if (value == *sent)
		return;
	name_add(&line, m, s, suffix);
	buf_add_number(&line, value - *sent);
	buf_adds(&line, "|c");
	line_add(p, &line, sent, value);
}

/* A number with a sign changes a gauge: a negative value is therefore set in two steps. */
static void gauge_line(struct push *p, const struct metric *m, struct series *s)
{
	static struct buf line;

	if (s->value < 0) {
		name_add(&line, m, s, "");
		buf_adds(&line, "0|g");
		line_add(p, &line, &s->sent[0], s->value);
	}
	name_add(&line, m, s, "");
	buf_add_number(&line, s->value);
	buf_adds(&line, "|g");
	line_add(p, &line, &s->sent[0], s->value);
}

static void histogram_lines(struct push *p, const struct metric *m, struct series *s)
{
	char suffix[48];

	if (s->nbuckets_sent < m->nbounds) {
		s->buckets_sent = mem_check(realloc(s->buckets_sent, m->nbounds * sizeof(double)));
		while (s->nbuckets_sent < m->nbounds)
			s->buckets_sent[s->nbuckets_sent++] = 0;
	}
	for (uint32_t i = 0; i < m->nbounds; i++) {
		if (m->bounds[i].max == INT64_MAX)
			(void)snprintf(suffix, sizeof(suffix), ".to_inf");
		else
			(void)snprintf(suffix, sizeof(suffix), ".to_%lld",
				       (long long)m->bounds[i].max);
		counter_line(p, m, s, suffix, (double)series_bucket(m, s, i), &s->buckets_sent[i]);
	}
}

static void metric_push(struct exporter *x, const struct script *script, struct metric *m,
			void *arg)
{
	struct push *p = arg;

	(void)x;
	(void)script;
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		switch (m->type) {
		case METRIC_COUNTER:
			counter_line(p, m, s, "",
				     m->action == DTRACEAGG_COUNT ? series_count(s) : series_sum(s),
				     &s->sent[0]);
			break;
		case METRIC_SUMMARY:
			counter_line(p, m, s, ".sum", series_sum(s), &s->sent[0]);
			counter_line(p, m, s, ".count", series_count(s), &s->sent[1]);
			break;
		case METRIC_GAUGE: gauge_line(p, m, s); break;
		case METRIC_HISTOGRAM: histogram_lines(p, m, s); break;
		}
	}
}

bool statsd_push(struct exporter *x, int fd)
{
	struct push p = {.x = x, .fd = fd, .is_good = true};

	metrics_visit(x, metric_push, &p);
	datagram_send(&p);
	if (p.nsent && is_refused(fd)) {
		x->npush_errors++;
		p.is_good = false;
	}
	for (uint32_t i = 0; i < p.nsent && p.is_good; i++)
		*p.sent[i].to = p.sent[i].value;
	buf_free(&p.datagram);
	free(p.sent);
	return p.is_good;
}
