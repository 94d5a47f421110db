/* SPDX-License-Identifier: MIT */
/*
 * Ganglia: two datagrams a value, as its command gmetric sends them: what the metric is, and its
 * value as a text. gmond forgets what a metric is when it starts again, so both come each time.
 *
 * Facts    XDR: RFC 4506. Messages: Ganglia 3.7 lib/gm_protocol.x: gmetadata_full is 128,
 *          gmetric_string 133; a slope of 1 only rises, 3 goes both ways.
 *
 *          gmond takes messages of at most 1472 bytes, max_udp_msg_len; it writes names into XML as
 *          they are, and gmetad makes files of them.
 *
 * libganglia could send them, but only with a configuration of gmond that it reads from a file, and
 * with APR; the format is the few lines below.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <sys/socket.h>

#include "metrics.h"

/* A message has the name twice, the help, and the names of the host and of the script. */
#define NAME_MAX_LEN 288
#define HELP_MAX_LEN 256

enum { GMETADATA_FULL = 128, GMETRIC_STRING = 133, SLOPE_POSITIVE = 1, SLOPE_BOTH = 3 };

static void xdr_int(struct strbuf *b, uint32_t v)
{
	v = htonl(v);
	strbuf_add(b, (const char *)&v, sizeof(v));
}

static void xdr_text_cut(struct strbuf *b, const char *text, size_t max)
{
	size_t len = strnlen(text, max);

	xdr_int(b, (uint32_t)len);
	strbuf_add(b, text, len);
	strbuf_add(b, "\0\0\0", (4 - len % 4) % 4);
}

static void xdr_text(struct strbuf *b, const char *text)
{
	xdr_text_cut(b, text, strlen(text));
}

struct push {
	struct exporter *x;
	const char *host;
	uint32_t interval_s;
	int fd;
};

static void datagram_send(struct push *p, const struct strbuf *b)
{
	bool is_sent = send(p->fd, b->data, b->len, MSG_DONTWAIT) >= 0;

	if (!is_sent && errno == ECONNREFUSED) /* reported of an earlier datagram */
		is_sent = send(p->fd, b->data, b->len, MSG_DONTWAIT) >= 0;
	if (!is_sent)
		p->x->npush_errors++;
}

static void value_send(struct push *p, const struct script *script, const struct metric *m,
		       const char *name, int64_t value, bool rises)
{
	static struct strbuf b;
	struct strbuf text = {0};

	strbuf_clear(&b);
	xdr_int(&b, GMETADATA_FULL);
	xdr_text(&b, p->host);
	xdr_text(&b, name);
	xdr_int(&b, 0); /* not in another host's name */
	xdr_text(&b, "double");
	xdr_text(&b, name);
	xdr_text(&b, ""); /* units */
	xdr_int(&b, rises ? SLOPE_POSITIVE : SLOPE_BOTH);
	xdr_int(&b, p->interval_s * 2);	 /* late after so many seconds, */
	xdr_int(&b, p->interval_s * 60); /* and forgotten */
	xdr_int(&b, 2);
	xdr_text(&b, "GROUP");
	xdr_text(&b, script->name);
	xdr_text(&b, "DESC");
	xdr_text_cut(&b, m->help, HELP_MAX_LEN);
	datagram_send(p, &b);

	strbuf_clear(&b);
	strbuf_add_int(&text, value);
	xdr_int(&b, GMETRIC_STRING);
	xdr_text(&b, p->host);
	xdr_text(&b, name);
	xdr_int(&b, 0);
	xdr_text(&b, "%s");
	xdr_text(&b, text.data);
	datagram_send(p, &b);
	strbuf_deinit(&text);
}

struct bounds {
	struct push *p;
	const struct script *script;
	const struct metric *m;
	const char *name;
};

static void bound_send(int64_t bound, uint64_t count, void *arg)
{
	const struct bounds *t = arg;
	struct strbuf name = {0};

	strbuf_addf(&name, "%s.le_%lld", t->name, (long long)bound);
	value_send(t->p, t->script, t->m, name.data, (int64_t)count, true);
	strbuf_deinit(&name);
}

/* A name with a suffix. */
static void part_send(const struct bounds *t, const char *suffix, int64_t value)
{
	struct strbuf name = {0};

	strbuf_addf(&name, "%s%s", t->name, suffix);
	value_send(t->p, t->script, t->m, name.data, value, true);
	strbuf_deinit(&name);
}

/* Whether a character would be markup in gmond's XML, or a part of a path in gmetad's files. */
static bool is_special(char c)
{
	return (unsigned char)c < ' ' || c == 0x7f || strchr("/\\\"'<>&", c);
}

static void name_make(const struct metric *m, const struct series *s, struct strbuf *name)
{
	strbuf_clear(name);
	strbuf_addf(name, "%s%s", m->name, s->is_overflow ? ".overflow" : "");
	for (uint32_t i = 0; i < m->nlabels && !s->is_overflow; i++) {
		strbuf_addc(name, '.');
		for (const char *c = s->values[i]; *c; c++)
			strbuf_addc(name, is_special(*c) ? '_' : *c);
	}
	name_cut(name, NAME_MAX_LEN, s);
}

static void metric_push(struct exporter *x, const struct script *script, struct metric *m,
			void *arg)
{
	struct push *p = arg;
	struct strbuf name = {0};

	(void)x;
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		struct bounds t = {p, script, m, NULL};

		name_make(m, s, &name);
		t.name = name.data;
		switch (m->type) {
		case METRIC_COUNTER: part_send(&t, "", series_value(m, s)); break;
		case METRIC_GAUGE:
			value_send(p, script, m, name.data, series_value(m, s), false);
			break;
		case METRIC_SUMMARY:
			part_send(&t, ".sum", series_sum(m, s));
			part_send(&t, ".count", (int64_t)series_count(m, s));
			break;
		case METRIC_HISTOGRAM:
			part_send(&t, ".count", (int64_t)histogram_visit(m, s, bound_send, &t));
			break;
		}
	}
	strbuf_deinit(&name);
}

void ganglia_push(struct exporter *x, int fd, const char *host, uint32_t interval_s)
{
	struct push p = {x, host, interval_s ? interval_s : 1, fd};

	metrics_visit(x, metric_push, &p);
}
