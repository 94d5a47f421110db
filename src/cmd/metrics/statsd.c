/* SPDX-License-Identifier: MIT */
/*
 * StatsD: increments since the last push, a line each, as many lines in a datagram as fit.
 *
 *     dtrace_files_opens.bash./etc/passwd:12|c
 *
 * StatsD has no labels: the values of the keys are parts of the name. A name that would not fit
 * into a datagram is cut, and ends with '~' and a number that belongs to this series alone.
 *
 * An increment that was not delivered comes again with the next push, and only that one. Each
 * datagram therefore has its own receipt (struct datagram): the values that its series have when it
 * has arrived. If no server runs on this machine, the kernel returns the datagrams that nobody has
 * received, each with its first bytes, by which it is found again. It does so within send(), or a
 * little later if the machine is busy: the receipts of a push are kept for REPORT_MS, and meanwhile
 * scrapes are answered. Beyond this machine UDP loses what it loses.
 *
 * Facts    github.com/statsd/statsd, docs/metric_types.md; 1432 bytes fit into a frame of Ethernet.
 *          ip(7), ipv6(7): IP_RECVERR, and MSG_ERRQUEUE in recvmsg(2).
 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <linux/errqueue.h> /* uses struct timespec */

#include "metrics.h"

#define DATAGRAM_MAX 1432
#define VALUE_ROOM   32 /* for ":-9223372036854775808|c" */
#define REPORT_MS    20

/* A value that a series has in the server when the datagram with it has arrived. */
struct receipt {
	struct series *series;
	bool is_bucket;
	int64_t at; /* the least value of the bucket; else SENT_* */
	int64_t value;
};

struct datagram {
	struct strbuf bytes;
	struct receipt *receipts;
	uint32_t nreceipts, cap;
	bool is_lost;
};

struct statsd {
	struct exporter *x;
	const char *address;
	int fd;
	struct datagram *datagrams; /* of the last push; the last one is being filled */
	uint32_t ndatagrams, cap;
	uint64_t due_ns; /* when the receipts of the last push are taken over; 0: they have been */
	bool is_failure_reported;
};

struct statsd *statsd_open(struct exporter *x, const char *address)
{
	int family, on = 1, fd = udp_open(address, "8125", &family);
	struct statsd *st;

	if (fd < 0)
		return NULL;
	st = mem_check(calloc(1, sizeof(*st)));
	*st = (struct statsd){.x = x, .address = address, .fd = fd};
	(void)setsockopt(fd, family == AF_INET6 ? IPPROTO_IPV6 : IPPROTO_IP,
			 family == AF_INET6 ? IPV6_RECVERR : IP_RECVERR, &on, sizeof(on));
	return st;
}

/* ---- receipts -------------------------------------------------------------------------------- */

/* Finds the datagram that the kernel returns the first len bytes of, or NULL. */
static struct datagram *datagram_find(struct statsd *st, const char *bytes, size_t len)
{
	for (uint32_t i = 0; i < st->ndatagrams; i++) {
		struct datagram *d = &st->datagrams[i];

		if (!d->is_lost && d->bytes.len >= len && memcmp(d->bytes.data, bytes, len) == 0)
			return d;
	}
	return NULL;
}

/* d NULL: a datagram of an earlier push, whose receipts were taken over. */
static void failure_note(struct statsd *st, struct datagram *d, int error)
{
	st->x->npush_errors++;
	if (d)
		d->is_lost = true;
	if (!st->is_failure_reported)
		say("'%s' takes no metrics: %s; %s", st->address, strerror(error),
		    d ? "increments come with a later datagram" : "increments are lost");
	st->is_failure_reported = true;
}

static int error_of(struct msghdr *m)
{
	struct sock_extended_err e = {.ee_errno = ECONNREFUSED};

	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c))
		if ((c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
		    (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR))
			memcpy(&e, CMSG_DATA(c), sizeof(e));
	return (int)e.ee_errno;
}

/* Takes the datagrams that the kernel has returned. */
static void returned_take(struct statsd *st)
{
	for (;;) {
		char bytes[DATAGRAM_MAX], control[256];
		struct iovec part = {bytes, sizeof(bytes)};
		struct msghdr m = {.msg_iov = &part,
				   .msg_iovlen = 1,
				   .msg_control = control,
				   .msg_controllen = sizeof(control)};
		ssize_t len = recvmsg(st->fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT);

		if (len < 0)
			return;
		failure_note(st, datagram_find(st, bytes, (size_t)len), error_of(&m));
	}
}

static void receipt_take(const struct receipt *r)
{
	struct bucket *b;

	if (!r->is_bucket) {
		r->series->sent[r->at] = r->value;
		return;
	}
	b = series_bucket_find(r->series, r->at);
	if (b)
		b->sent = r->value;
}

/* Takes the receipts of the last push over, except those of datagrams that were not delivered. */
static void receipts_take(struct statsd *st)
{
	bool is_good = true;

	returned_take(st);
	for (uint32_t i = 0; i < st->ndatagrams; i++) {
		struct datagram *d = &st->datagrams[i];

		for (uint32_t k = 0; k < d->nreceipts; k++) {
			d->receipts[k].series->npinned--;
			if (!d->is_lost)
				receipt_take(&d->receipts[k]);
		}
		is_good &= !d->is_lost;
		d->nreceipts = 0;
		d->is_lost = false;
		strbuf_clear(&d->bytes);
	}
	if (st->ndatagrams && is_good)
		st->is_failure_reported = false;
	st->ndatagrams = 0;
	st->due_ns = 0;
}

/* ---- datagrams ------------------------------------------------------------------------------- */

static struct datagram *datagram_new(struct statsd *st)
{
	if (st->ndatagrams == st->cap) {
		st->cap = st->cap ? st->cap * 2 : 16;
		st->datagrams = mem_check(realloc(st->datagrams, st->cap * sizeof(*st->datagrams)));
		memset(&st->datagrams[st->ndatagrams], 0,
		       (st->cap - st->ndatagrams) * sizeof(*st->datagrams));
	}
	return &st->datagrams[st->ndatagrams++];
}

static void datagram_send(struct statsd *st, struct datagram *d)
{
	int tries = 2; /* send() may return the error of an earlier datagram */

	returned_take(st);
	while (send(st->fd, d->bytes.data, d->bytes.len, MSG_DONTWAIT) < 0)
		if (errno != ECONNREFUSED || !--tries) {
			failure_note(st, d, errno);
			break;
		} else {
			returned_take(st);
		}
	returned_take(st);
}

/* Adds a line to the last datagram. receipt: of an increment; NULL: of a gauge. */
static void line_add(struct statsd *st, const struct strbuf *line, const struct receipt *receipt)
{
	struct datagram *d = st->ndatagrams ? &st->datagrams[st->ndatagrams - 1] : NULL;

	if (d && d->bytes.len + 1 + line->len > DATAGRAM_MAX) {
		datagram_send(st, d);
		d = NULL;
	}
	if (!d)
		d = datagram_new(st);
	if (d->bytes.len)
		strbuf_addc(&d->bytes, '\n');
	strbuf_add(&d->bytes, line->data, line->len);
	if (!receipt)
		return;
	if (d->nreceipts == d->cap) {
		d->cap = d->cap ? d->cap * 2 : 32;
		d->receipts = mem_check(realloc(d->receipts, d->cap * sizeof(*d->receipts)));
	}
	d->receipts[d->nreceipts++] = *receipt;
	receipt->series->npinned++;
}

/* ---- lines ----------------------------------------------------------------------------------- */

/* Whether a server would take the character for the end of the name, or for a tag of its own. */
static bool is_special(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f || strchr(" :|@#.,;=[]", c);
}

/* The name: that of the metric, and the values of the keys. */
static void name_add(struct strbuf *line, const struct metric *m, const struct series *s,
		     const char *suffix)
{
	strbuf_clear(line);
	strbuf_adds(line, m->name);
	if (s->is_overflow)
		strbuf_adds(line, ".overflow");
	for (uint32_t i = 0; i < m->nlabels && !s->is_overflow; i++) {
		strbuf_addc(line, '.');
		for (const char *c = s->values[i]; *c; c++)
			strbuf_addc(line, is_special(*c) ? '_' : *c);
	}
	name_cut(line, DATAGRAM_MAX - VALUE_ROOM - strlen(suffix), s);
	strbuf_adds(line, suffix);
	strbuf_addc(line, ':');
}

static void counter_line(struct statsd *st, const struct metric *m, const char *suffix,
			 const struct receipt *r, int64_t sent)
{
	static struct strbuf line;

	if (r->value == sent)
		return;
	name_add(&line, m, r->series, suffix);
	strbuf_add_int(&line, (int64_t)((uint64_t)r->value - (uint64_t)sent));
	strbuf_adds(&line, "|c");
	line_add(st, &line, r);
}

static void part_line(struct statsd *st, const struct metric *m, struct series *s,
		      const char *suffix, int part, int64_t value)
{
	const struct receipt r = {s, false, part, value};

	counter_line(st, m, suffix, &r, s->sent[part]);
}

/* A number with a sign changes a gauge: a negative value is therefore set in two steps. */
static void gauge_line(struct statsd *st, const struct metric *m, const struct series *s)
{
	static struct strbuf line;
	int64_t value = series_value(m, s);

	if (value < 0) {
		name_add(&line, m, s, "");
		strbuf_adds(&line, "0|g");
		line_add(st, &line, NULL);
	}
	name_add(&line, m, s, "");
	strbuf_add_int(&line, value);
	strbuf_adds(&line, "|g");
	line_add(st, &line, NULL);
}

static void histogram_lines(struct statsd *st, const struct metric *m, struct series *s)
{
	char suffix[48];

	for (uint32_t i = 0; i < m->nbounds; i++) {
		const struct bucket *bound = &m->bounds[i];
		const struct bucket *b = series_bucket_find(s, bound->min);
		const struct receipt r = {s, true, bound->min, series_bucket(m, s, i)};

		if (!b)
			continue;
		if (bound->max == INT64_MAX)
			(void)snprintf(suffix, sizeof(suffix), ".to_inf");
		else
			(void)snprintf(suffix, sizeof(suffix), ".to_%lld", (long long)bound->max);
		counter_line(st, m, suffix, &r, b->sent);
	}
}

static void metric_push(struct exporter *x, const struct script *script, struct metric *m,
			void *arg)
{
	struct statsd *st = arg;

	(void)x;
	(void)script;
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		switch (m->type) {
		case METRIC_COUNTER: part_line(st, m, s, "", SENT_VALUE, series_value(m, s)); break;
		case METRIC_SUMMARY:
			part_line(st, m, s, ".sum", SENT_SUM, series_sum(m, s));
			part_line(st, m, s, ".count", SENT_COUNT, (int64_t)series_count(m, s));
			break;
		case METRIC_GAUGE: gauge_line(st, m, s); break;
		case METRIC_HISTOGRAM: histogram_lines(st, m, s); break;
		}
	}
}

/* ---- pushing --------------------------------------------------------------------------------- */

void statsd_push(struct statsd *st)
{
	receipts_take(st);
	metrics_visit(st->x, metric_push, st);
	if (!st->ndatagrams)
		return;
	datagram_send(st, &st->datagrams[st->ndatagrams - 1]);
	st->due_ns = clock_ns() + REPORT_MS * 1000000ull;
}

uint64_t statsd_due_ns(const struct statsd *st)
{
	return st->due_ns;
}

void statsd_run(struct statsd *st)
{
	if (st->due_ns && clock_ns() >= st->due_ns)
		receipts_take(st);
}

void statsd_close(struct statsd *st)
{
	if (!st)
		return;
	receipts_take(st);
	for (uint32_t i = 0; i < st->cap; i++) {
		strbuf_deinit(&st->datagrams[i].bytes);
		free(st->datagrams[i].receipts);
	}
	free(st->datagrams);
	close(st->fd);
	free(st);
}
