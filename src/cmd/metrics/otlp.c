/*
 * OpenTelemetry: an ExportMetricsServiceRequest in JSON, sent with libcurl to URL/v1/metrics.
 *
 * Counters and histograms are cumulative, since the exporter's start: a request that was not
 * delivered is made good by the next one.
 *
 * Facts    opentelemetry-proto, metrics/v1/metrics.proto; its JSON form: integers of 64 bits are
 *          strings, enumerations are numbers. AGGREGATION_TEMPORALITY_CUMULATIVE is 2.
 */
#include <curl/curl.h>
#include <time.h>
#include <unistd.h>

#include "metrics.h"

#define TIMEOUT_S 5L

struct otlp {
	CURL *curl;
	struct curl_slist *headers;
	char *url;
	struct buf body;
	bool has_failed; /* which was said */
};

static void text_add(struct buf *o, const char *text)
{
	buf_addc(o, '"');
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			buf_addf(o, "\\%c", *p);
		else if (*p < ' ')
			buf_addf(o, "\\u%04x", *p);
		else
			buf_addc(o, (char)*p);
	}
	buf_addc(o, '"');
}

static void attribute_add(struct buf *o, const char *key, const char *value)
{
	buf_adds(o, "{\"key\":");
	text_add(o, key);
	buf_adds(o, ",\"value\":{\"stringValue\":");
	text_add(o, value);
	buf_adds(o, "}}");
}

struct request {
	struct buf *o;
	uint64_t now_ns, start_ns;
	bool has_metric;
};

/* Begins a data point: its attributes and times. */
static void point_open(struct request *r, const struct metric *m, const struct series *s,
		       bool is_first)
{
	struct buf *o = r->o;

	buf_adds(o, is_first ? "{\"attributes\":[" : ",{\"attributes\":[");
	if (s->is_overflow)
		buf_adds(o, "{\"key\":\"otel.metric.overflow\",\"value\":{\"boolValue\":true}}");
	for (uint32_t i = 0; i < m->nlabels && !s->is_overflow; i++) {
		if (i)
			buf_addc(o, ',');
		attribute_add(o, m->labels[i], s->values[i]);
	}
	buf_addf(o, "],\"startTimeUnixNano\":\"%llu\",\"timeUnixNano\":\"%llu\"",
		 (unsigned long long)r->start_ns, (unsigned long long)r->now_ns);
}

struct bounds {
	struct buf counts, limits;
	uint64_t last;
};

static void bound_add(int64_t bound, uint64_t count, void *arg)
{
	struct bounds *b = arg;

	buf_addf(&b->counts, "\"%llu\",", (unsigned long long)(count - b->last));
	buf_addf(&b->limits, "%s%lld", b->limits.len ? "," : "", (long long)bound);
	b->last = count;
}

static void histogram_add(struct buf *o, const struct metric *m, const struct series *s)
{
	struct bounds b = {0};
	uint64_t count;

	buf_adds(&b.counts, "");
	buf_adds(&b.limits, "");
	count = histogram_visit(m, s, bound_add, &b);
	buf_addf(o, ",\"count\":\"%llu\",\"bucketCounts\":[%s\"%llu\"],\"explicitBounds\":[%s]}",
		 (unsigned long long)count, b.counts.data, (unsigned long long)(count - b.last),
		 b.limits.data);
	buf_free(&b.counts);
	buf_free(&b.limits);
}

static void value_add(struct buf *o, const struct metric *m, const struct series *s)
{
	double v = s->value;

	switch (m->type) {
	case METRIC_COUNTER:
		v = m->action == DTRACEAGG_COUNT ? series_count(s) : series_sum(s);
		buf_addf(o, ",\"asInt\":\"%lld\"}", (long long)v);
		break;
	case METRIC_GAUGE: buf_addf(o, ",\"asInt\":\"%lld\"}", (long long)v); break;
	case METRIC_SUMMARY:
		buf_addf(o, ",\"count\":\"%llu\",\"sum\":", (unsigned long long)series_count(s));
		buf_add_number(o, series_sum(s));
		buf_addc(o, '}');
		break;
	case METRIC_HISTOGRAM: histogram_add(o, m, s); break;
	}
}

static void metric_open(struct request *r, const char *name, const char *help)
{
	buf_adds(r->o, r->has_metric ? ",{\"name\":" : "{\"name\":");
	text_add(r->o, name);
	buf_adds(r->o, ",\"description\":");
	text_add(r->o, help);
	r->has_metric = true;
}

static void metric_add(struct exporter *x, const struct script *script, struct metric *m, void *arg)
{
	static const char *const kinds[] = {
		",\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,\"dataPoints\":[",
		",\"gauge\":{\"dataPoints\":[",
		",\"summary\":{\"dataPoints\":[",
		",\"histogram\":{\"aggregationTemporality\":2,\"dataPoints\":[",
	};
	struct request *r = arg;
	bool is_first = true;

	(void)x;
	(void)script;
	metric_open(r, m->name, m->help);
	buf_adds(r->o, kinds[m->type]);
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		point_open(r, m, s, is_first);
		value_add(r->o, m, s);
		is_first = false;
	}
	buf_adds(r->o, "]}}");
}

static void own_add(const struct own_metric *m, const char *label_value, double value, void *arg)
{
	struct request *r = arg;

	metric_open(r, m->name, m->help);
	buf_adds(r->o, m->is_counter
			       ? ",\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,"
				 "\"dataPoints\":[{\"attributes\":["
			       : ",\"gauge\":{\"dataPoints\":[{\"attributes\":[");
	if (m->label)
		attribute_add(r->o, m->label, label_value);
	buf_addf(r->o, "],\"startTimeUnixNano\":\"%llu\",\"timeUnixNano\":\"%llu\",\"asDouble\":",
		 (unsigned long long)r->start_ns, (unsigned long long)r->now_ns);
	buf_add_number(r->o, value);
	buf_adds(r->o, "}]}}");
}

void otlp_request(struct exporter *x, struct buf *out)
{
	struct request r = {.o = out, .start_ns = x->started_ns};
	struct timespec now;
	char host[256] = "";

	(void)clock_gettime(CLOCK_REALTIME, &now);
	r.now_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	(void)gethostname(host, sizeof(host) - 1);
	buf_adds(out, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[");
	attribute_add(out, "service.name", "fathom-metrics");
	buf_addc(out, ',');
	attribute_add(out, "host.name", host);
	buf_adds(out, "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"fathom\",\"version\":"
		      "\"" FATHOM_VERSION "\"},\"metrics\":[");
	metrics_visit(x, metric_add, &r);
	own_visit(x, own_add, &r);
	buf_adds(out, "]}]}]}");
}

/* ---- sending --------------------------------------------------------------------------------- */

static size_t answer_drop(char *data, size_t size, size_t n, void *arg)
{
	(void)data;
	(void)arg;
	return size * n;
}

struct otlp *otlp_open(const char *url)
{
	struct otlp *o = mem_check(calloc(1, sizeof(*o)));
	size_t len = strlen(url);

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || !(o->curl = curl_easy_init())) {
		say("cannot send to '%s': libcurl does not start", url);
		free(o);
		return NULL;
	}
	while (len && url[len - 1] == '/')
		len--;
	if (asprintf(&o->url, "%.*s/v1/metrics", (int)len, url) < 0)
		mem_check(NULL);
	o->headers = mem_check(curl_slist_append(NULL, "Content-Type: application/json"));
	curl_easy_setopt(o->curl, CURLOPT_URL, o->url);
	curl_easy_setopt(o->curl, CURLOPT_HTTPHEADER, o->headers);
	curl_easy_setopt(o->curl, CURLOPT_WRITEFUNCTION, answer_drop);
	curl_easy_setopt(o->curl, CURLOPT_TIMEOUT, TIMEOUT_S);
	curl_easy_setopt(o->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(o->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	return o;
}

bool otlp_push(struct exporter *x, struct otlp *o)
{
	long status = 0;
	char answer[48];
	CURLcode code;
	bool is_good;

	buf_clear(&o->body);
	otlp_request(x, &o->body);
	curl_easy_setopt(o->curl, CURLOPT_POSTFIELDS, o->body.data);
	curl_easy_setopt(o->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body.len);
	code = curl_easy_perform(o->curl);
	if (code == CURLE_OK)
		curl_easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &status);
	is_good = status >= 200 && status < 300;
	if (!is_good)
		x->npush_errors++;
	(void)snprintf(answer, sizeof(answer), "HTTP status %ld", status);
	if (!is_good && !o->has_failed)
		say("'%s' takes no metrics: %s; they come with a later request", o->url,
		    code != CURLE_OK ? curl_easy_strerror(code) : answer);
	o->has_failed = !is_good;
	return is_good;
}

void otlp_close(struct otlp *o)
{
	if (!o)
		return;
	curl_slist_free_all(o->headers);
	curl_easy_cleanup(o->curl);
	free(o->url);
	buf_free(&o->body);
	free(o);
}
