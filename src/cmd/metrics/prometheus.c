/* SPDX-License-Identifier: MIT */
/*
 * Prometheus: its text format, and its protocol buffers, in which histograms are native as well.
 *
 * Facts    text: prometheus.io/docs/instrumenting/exposition_formats, version 0.0.4.
 *          Protocol buffers: io/prometheus/client/metrics.proto of prometheus/client_model; the
 *          length of a message stands before it. Native histograms: schema 0 has the buckets
 *          (2^(i-1), 2^i], and counts of consecutive ones as differences.
 *
 * A quantize() bucket is [2^i, 2^(i+1) - 1]: as a native bucket it is (2^i, 2^(i+1)], so a value
 * that is exactly a power of two stands one bucket higher than Prometheus itself would put it.
 */
#include "metrics.h"

/* ---- text ------------------------------------------------------------------------------------ */

static void head_add(struct strbuf *o, const char *name, const char *suffix, const char *help,
		     const char *type)
{
	strbuf_addf(o, "# HELP %s%s ", name, suffix);
	label_escape(o, help, true);
	strbuf_addf(o, "\n# TYPE %s%s %s\n", name, suffix, type);
}

static void sample_add(struct strbuf *o, const struct metric *m, const char *suffix,
		       const char *labels, const char *more, int64_t value)
{
	strbuf_adds(o, m->name);
	strbuf_adds(o, suffix);
	if (*labels || *more) {
		strbuf_addc(o, '{');
		strbuf_adds(o, labels);
		if (*labels && *more)
			strbuf_addc(o, ',');
		strbuf_adds(o, more);
		strbuf_addc(o, '}');
	}
	strbuf_addc(o, ' ');
	strbuf_add_int(o, value);
	strbuf_addc(o, '\n');
}

struct bucket_text {
	struct strbuf *o;
	const struct metric *m;
	const struct series *s;
};

static void bucket_text(int64_t bound, uint64_t count, void *arg)
{
	const struct bucket_text *t = arg;
	char le[48];

	(void)snprintf(le, sizeof(le), "le=\"%lld\"", (long long)bound);
	sample_add(t->o, t->m, "_bucket", t->s->labels, le, (int64_t)count);
}

static void histogram_add(struct strbuf *o, const struct metric *m, const struct series *s)
{
	struct bucket_text t = {o, m, s};
	int64_t count = (int64_t)histogram_visit(m, s, bucket_text, &t);

	sample_add(o, m, "_bucket", s->labels, "le=\"+Inf\"", count);
	sample_add(o, m, "_count", s->labels, "", count);
}

static void metric_text(struct exporter *x, const struct script *script, struct metric *m,
			void *arg)
{
	static const char *const types[] = {"counter", "gauge", "summary", "histogram"};
	bool is_counter = m->type == METRIC_COUNTER;
	struct strbuf *o = arg;

	(void)x;
	(void)script;
	head_add(o, m->name, is_counter ? "_total" : "", m->help, types[m->type]);
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		switch (m->type) {
		case METRIC_COUNTER:
			sample_add(o, m, "_total", s->labels, "", series_value(m, s));
			break;
		case METRIC_GAUGE: sample_add(o, m, "", s->labels, "", series_value(m, s)); break;
		case METRIC_SUMMARY:
			sample_add(o, m, "_sum", s->labels, "", series_sum(m, s));
			sample_add(o, m, "_count", s->labels, "", (int64_t)series_count(m, s));
			break;
		case METRIC_HISTOGRAM: histogram_add(o, m, s); break;
		}
	}
}

struct own_text {
	struct strbuf *o;
	const char *last; /* the metric whose head was written */
};

static void own_text(const struct own_metric *m, const char *const values[], double value,
		     void *arg)
{
	struct own_text *t = arg;
	const char *suffix = m->is_counter ? "_total" : "";

	if (t->last != m->name)
		head_add(t->o, m->name, suffix, m->help, m->is_counter ? "counter" : "gauge");
	t->last = m->name;
	strbuf_addf(t->o, "%s%s", m->name, suffix);
	for (uint32_t i = 0; i < 2 && m->labels[i]; i++) {
		strbuf_addf(t->o, "%s%s=\"", i ? "," : "{", m->labels[i]);
		label_escape(t->o, values[i], false);
		strbuf_addc(t->o, '"');
	}
	if (m->labels[0])
		strbuf_addc(t->o, '}');
	strbuf_addc(t->o, ' ');
	strbuf_add_number(t->o, value);
	strbuf_addc(t->o, '\n');
}

void prometheus_text(struct exporter *x, struct strbuf *out)
{
	struct own_text own = {out, NULL};

	metrics_visit(x, metric_text, out);
	own_visit(x, own_text, &own);
}

/* ---- protocol buffers ------------------------------------------------------------------------ */

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2 };

static void varint_add(struct strbuf *o, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		strbuf_addc(o, (char)(v | 0x80));
	strbuf_addc(o, (char)v);
}

static void tag_add(struct strbuf *o, uint32_t field, enum wire wire)
{
	varint_add(o, field << 3 | wire);
}

static void uint_add(struct strbuf *o, uint32_t field, uint64_t v)
{
	tag_add(o, field, WIRE_VARINT);
	varint_add(o, v);
}

static void sint_add(struct strbuf *o, uint32_t field, int64_t v)
{
	uint_add(o, field, (uint64_t)v << 1 ^ (uint64_t)(v >> 63));
}

static void double_add(struct strbuf *o, uint32_t field, double v)
{
	tag_add(o, field, WIRE_FIXED64);
	strbuf_add(o, (const char *)&v, sizeof(v));
}

static void bytes_add(struct strbuf *o, uint32_t field, const char *data, size_t len)
{
	tag_add(o, field, WIRE_BYTES);
	varint_add(o, len);
	strbuf_add(o, data, len);
}

/* Adds the message and empties it. */
static void message_add(struct strbuf *o, uint32_t field, struct strbuf *message)
{
	bytes_add(o, field, message->len ? message->data : "", message->len);
	strbuf_clear(message);
}

static void label_add(struct strbuf *o, const char *name, const char *value)
{
	static struct strbuf pair;

	bytes_add(&pair, 1, name, strlen(name));
	bytes_add(&pair, 2, value, strlen(value));
	message_add(o, 1, &pair);
}

/* The power of two by which a bucket of quantize() begins, for positive and negative values. */
static int32_t bucket_power(int64_t bound)
{
	uint64_t v = bound < 0 ? -(uint64_t)bound : (uint64_t)bound;

	return 63 - __builtin_clzll(v);
}

/* Spans and differences of the buckets on one side of zero. */
static void native_side(struct strbuf *h, const struct metric *m, const struct series *s,
			bool is_negative)
{
	uint32_t span_field = is_negative ? 9 : 12, delta_field = is_negative ? 10 : 13;
	static struct strbuf span, deltas;
	int64_t last_count = 0;
	int32_t next = 0; /* index behind the last one */

	strbuf_clear(&deltas);
	for (uint32_t k = 0; k < m->nbounds; k++) {
		uint32_t i = is_negative ? m->nbounds - 1 - k : k;
		const struct bucket *b = &m->bounds[i];
		int64_t edge = is_negative ? b->max : b->min; /* the bound that is nearer to zero */
		int64_t count = series_bucket(m, s, i);
		int32_t index;

		if (!count || (is_negative ? edge >= 0 : edge <= 0))
			continue;
		index = bucket_power(edge) + 1;
		sint_add(&span, 1, index - next);
		uint_add(&span, 2, 1);
		message_add(h, span_field, &span);
		sint_add(&deltas, delta_field, count - last_count);
		last_count = count;
		next = index + 1;
	}
	strbuf_add(h, deltas.len ? deltas.data : "", deltas.len);
}

static void native_add(struct strbuf *h, const struct metric *m, const struct series *s)
{
	uint64_t zeros = 0;

	for (uint32_t i = 0; i < m->nbounds; i++)
		if (m->bounds[i].min <= 0 && m->bounds[i].max >= 0)
			zeros += (uint64_t)series_bucket(m, s, i);
	sint_add(h, 5, 0);   /* schema */
	double_add(h, 6, 0); /* zero_threshold */
	uint_add(h, 7, zeros);
	native_side(h, m, s, true);
	native_side(h, m, s, false);
}

static void bucket_message(int64_t bound, uint64_t count, void *arg)
{
	static struct strbuf bucket;

	uint_add(&bucket, 1, count);
	double_add(&bucket, 2, (double)bound);
	message_add(arg, 3, &bucket);
}

static void histogram_message(struct strbuf *h, const struct metric *m, const struct series *s)
{
	uint_add(h, 1, histogram_visit(m, s, bucket_message, h));
	double_add(h, 2, __builtin_nan("")); /* quantize() keeps no sum */
	if (m->action == DTRACEAGG_QUANTIZE)
		native_add(h, m, s);
}

static void value_message(struct strbuf *o, const struct metric *m, const struct series *s)
{
	static struct strbuf value;

	switch (m->type) {
	case METRIC_COUNTER:
		double_add(&value, 1, (double)series_value(m, s));
		message_add(o, 3, &value);
		break;
	case METRIC_GAUGE:
		double_add(&value, 1, (double)series_value(m, s));
		message_add(o, 2, &value);
		break;
	case METRIC_SUMMARY:
		uint_add(&value, 1, series_count(m, s));
		double_add(&value, 2, (double)series_sum(m, s));
		message_add(o, 4, &value);
		break;
	case METRIC_HISTOGRAM:
		histogram_message(&value, m, s);
		message_add(o, 7, &value);
		break;
	}
}

static void family_head(struct strbuf *f, const char *name, bool is_counter, const char *help,
			int type)
{
	static struct strbuf full;

	strbuf_clear(&full);
	strbuf_addf(&full, "%s%s", name, is_counter ? "_total" : "");
	bytes_add(f, 1, full.data, full.len);
	bytes_add(f, 2, help, strlen(help));
	uint_add(f, 3, (uint64_t)type);
}

static void family_end(struct strbuf *out, struct strbuf *family)
{
	varint_add(out, family->len);
	strbuf_add(out, family->data, family->len);
	strbuf_clear(family);
}

static void metric_protobuf(struct exporter *x, const struct script *script, struct metric *m,
			    void *arg)
{
	static const int types[] = {0, 1, 2, 4};
	static struct strbuf family, metric;

	(void)x;
	(void)script;
	family_head(&family, m->name, m->type == METRIC_COUNTER, m->help, types[m->type]);
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		if (s->is_overflow)
			label_add(&metric, "otel_metric_overflow", "true");
		for (uint32_t i = 0; i < m->nlabels && !s->is_overflow; i++)
			label_add(&metric, m->labels[i], s->values[i]);
		value_message(&metric, m, s);
		message_add(&family, 4, &metric);
	}
	family_end(arg, &family);
}

/* A family a sample: Prometheus takes families of the same name one after another. */
static void own_protobuf(const struct own_metric *m, const char *const values[], double value,
			 void *arg)
{
	static struct strbuf family, metric, number;

	family_head(&family, m->name, m->is_counter, m->help, m->is_counter ? 0 : 1);
	for (uint32_t i = 0; i < 2 && m->labels[i]; i++)
		label_add(&metric, m->labels[i], values[i]);
	double_add(&number, 1, value);
	message_add(&metric, m->is_counter ? 3 : 2, &number);
	message_add(&family, 4, &metric);
	family_end(arg, &family);
}

void prometheus_protobuf(struct exporter *x, struct strbuf *out)
{
	metrics_visit(x, metric_protobuf, out);
	own_visit(x, own_protobuf, out);
}
