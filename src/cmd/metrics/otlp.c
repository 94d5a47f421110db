/* SPDX-License-Identifier: MIT */
/*
 * OpenTelemetry: an ExportMetricsServiceRequest in JSON, sent with libcurl to URL/v1/metrics.
 *
 * Counters and histograms are cumulative, since the time at which the series was zero: a request
 * that was not delivered is made good by the next one.
 *
 * A request runs beside scrapes: libcurl says which descriptors it waits for and until when, and
 * otlp_run() lets it go on. While a collector does not answer, the requests of later intervals are
 * left out.
 *
 * Facts    opentelemetry-proto, metrics/v1/metrics.proto; its JSON form: integers of 64 bits are
 *          strings, enumerations are numbers. AGGREGATION_TEMPORALITY_CUMULATIVE is 2.
 */
#include <curl/curl.h>
#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/text.h"
#include "metrics.h"

#define TIMEOUT_S  5L
#define ANSWER_MAX 4096

struct otlp {
	struct exporter *x;
	CURLM *multi;
	CURL *curl;
	struct curl_slist *headers;
	char *url;
	struct strbuf body, answer;
	int epoll_fd;	 /* has the descriptors that libcurl waits for */
	uint64_t due_ns; /* when libcurl wants to go on in any case; 0: never */
	bool is_running; /* a request is on its way */
	bool is_failure_reported;
};

static void text_add(struct strbuf *o, const char *text)
{
	json_quote(o, text, strlen(text));
}

static void attribute_add(struct strbuf *o, const char *key, const char *value)
{
	strbuf_adds(o, "{\"key\":");
	text_add(o, key);
	strbuf_adds(o, ",\"value\":{\"stringValue\":");
	text_add(o, value);
	strbuf_adds(o, "}}");
}

struct request {
	struct strbuf *o;
	uint64_t now_ns, start_ns; /* since 1970 */
	bool has_metric;
};

/* Begins a data point: its attributes and times. */
static void point_open(struct request *r, const struct metric *m, const struct series *s,
		       bool is_first)
{
	struct strbuf *o = r->o;

	strbuf_adds(o, is_first ? "{\"attributes\":[" : ",{\"attributes\":[");
	if (s->is_overflow)
		strbuf_adds(o, "{\"key\":\"otel.metric.overflow\",\"value\":{\"boolValue\":true}}");
	for (uint32_t i = 0; i < m->nlabels && !s->is_overflow; i++) {
		if (i)
			strbuf_addc(o, ',');
		attribute_add(o, m->labels[i], s->values[i]);
	}
	strbuf_addf(o, "],\"startTimeUnixNano\":\"%llu\",\"timeUnixNano\":\"%llu\"",
		    (unsigned long long)s->start_ns, (unsigned long long)r->now_ns);
}

struct bounds {
	struct strbuf counts, limits;
	uint64_t last;
};

static void bound_add(int64_t bound, uint64_t count, void *arg)
{
	struct bounds *b = arg;

	strbuf_addf(&b->counts, "\"%llu\",", (unsigned long long)(count - b->last));
	strbuf_addf(&b->limits, "%s%lld", b->limits.len ? "," : "", (long long)bound);
	b->last = count;
}

static void histogram_add(struct strbuf *o, const struct metric *m, const struct series *s)
{
	struct bounds b = {0};
	uint64_t count;

	strbuf_adds(&b.counts, "");
	strbuf_adds(&b.limits, "");
	count = histogram_visit(m, s, bound_add, &b);
	strbuf_addf(o, ",\"count\":\"%llu\",\"bucketCounts\":[%s\"%llu\"],\"explicitBounds\":[%s]}",
		    (unsigned long long)count, b.counts.data, (unsigned long long)(count - b.last),
		    b.limits.data);
	strbuf_deinit(&b.counts);
	strbuf_deinit(&b.limits);
}

static void value_add(struct strbuf *o, const struct metric *m, const struct series *s)
{
	switch (m->type) {
	case METRIC_COUNTER:
	case METRIC_GAUGE:
		strbuf_addf(o, ",\"asInt\":\"%lld\"}", (long long)series_value(m, s));
		break;
	case METRIC_SUMMARY: /* the sum is a double there */
		strbuf_addf(o, ",\"count\":\"%llu\",\"sum\":%lld}",
			    (unsigned long long)series_count(m, s), (long long)series_sum(m, s));
		break;
	case METRIC_HISTOGRAM: histogram_add(o, m, s); break;
	}
}

static void metric_open(struct request *r, const char *name, const char *help)
{
	strbuf_adds(r->o, r->has_metric ? ",{\"name\":" : "{\"name\":");
	text_add(r->o, name);
	strbuf_adds(r->o, ",\"description\":");
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
	strbuf_adds(r->o, kinds[m->type]);
	for (struct series *s = series_next(m, NULL); s; s = series_next(m, s)) {
		point_open(r, m, s, is_first);
		value_add(r->o, m, s);
		is_first = false;
	}
	strbuf_adds(r->o, "]}}");
}

static void own_add(const struct own_metric *m, const char *const values[], double value, void *arg)
{
	struct request *r = arg;

	metric_open(r, m->name, m->help);
	strbuf_adds(r->o, m->is_counter
				  ? ",\"sum\":{\"aggregationTemporality\":2,\"isMonotonic\":true,"
				    "\"dataPoints\":[{\"attributes\":["
				  : ",\"gauge\":{\"dataPoints\":[{\"attributes\":[");
	for (uint32_t i = 0; i < 2 && m->labels[i]; i++) {
		if (i)
			strbuf_addc(r->o, ',');
		attribute_add(r->o, m->labels[i], values[i]);
	}
	strbuf_addf(r->o,
		    "],\"startTimeUnixNano\":\"%llu\",\"timeUnixNano\":\"%llu\",\"asDouble\":",
		    (unsigned long long)(m->start_ns ? m->start_ns : r->start_ns),
		    (unsigned long long)r->now_ns);
	strbuf_add_number(r->o, value);
	strbuf_adds(r->o, "}]}}");
}

void otlp_request(struct exporter *x, struct strbuf *out)
{
	struct request r = {.o = out, .start_ns = x->started_ns};
	char host[256] = "";

	r.now_ns = clock_real_ns();
	(void)gethostname(host, sizeof(host) - 1);
	strbuf_adds(out, "{\"resourceMetrics\":[{\"resource\":{\"attributes\":[");
	attribute_add(out, "service.name", "fathom-metrics");
	strbuf_addc(out, ',');
	attribute_add(out, "host.name", host);
	strbuf_adds(out, "]},\"scopeMetrics\":[{\"scope\":{\"name\":\"fathom\",\"version\":"
			 "\"" FATHOM_VERSION "\"},\"metrics\":[");
	metrics_visit(x, metric_add, &r);
	own_visit(x, own_add, &r);
	strbuf_adds(out, "]}]}]}");
}

/* ---- sending --------------------------------------------------------------------------------- */

/* Keeps the beginning of an answer. */
static size_t answer_take(char *data, size_t size, size_t n, void *arg)
{
	struct otlp *o = arg;
	size_t len = size * n, room = ANSWER_MAX - o->answer.len;

	strbuf_add(&o->answer, data, len < room ? len : room);
	return len;
}

/* libcurl begins or ends to wait for a descriptor. */
static int socket_change(CURL *curl, curl_socket_t fd, int what, void *arg, void *socket_arg)
{
	struct otlp *o = arg;
	struct epoll_event e = {.events = (what & CURL_POLL_IN ? EPOLLIN : 0u) |
					  (what & CURL_POLL_OUT ? EPOLLOUT : 0u),
				.data.fd = fd};

	(void)curl;
	(void)socket_arg;
	if (what == CURL_POLL_REMOVE)
		(void)epoll_ctl(o->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* it may be closed */
	else if (epoll_ctl(o->epoll_fd, EPOLL_CTL_MOD, fd, &e) != 0 && errno == ENOENT &&
		 epoll_ctl(o->epoll_fd, EPOLL_CTL_ADD, fd, &e) != 0)
		return -1;
	return 0;
}

static int timer_change(CURLM *multi, long ms, void *arg)
{
	struct otlp *o = arg;

	(void)multi;
	o->due_ns = ms < 0 ? 0 : clock_ns() + (uint64_t)ms * 1000000;
	return 0;
}

struct otlp *otlp_open(struct exporter *x, const char *url)
{
	struct otlp *o = mem_check(calloc(1, sizeof(*o)));
	size_t len = strlen(url);

	o->x = x;
	o->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != 0 || o->epoll_fd < 0 ||
	    !(o->multi = curl_multi_init()) || !(o->curl = curl_easy_init())) {
		say("cannot send to '%s': libcurl does not start", url);
		otlp_close(o);
		return NULL;
	}
	while (len && url[len - 1] == '/')
		len--;
	if (asprintf(&o->url, "%.*s/v1/metrics", (int)len, url) < 0)
		mem_check(NULL);
	o->headers = mem_check(curl_slist_append(NULL, "Content-Type: application/json"));
	/* a large body is sent at once, not after a second in which "100 Continue" may come */
	o->headers = mem_check(curl_slist_append(o->headers, "Expect:"));
	curl_multi_setopt(o->multi, CURLMOPT_SOCKETFUNCTION, socket_change);
	curl_multi_setopt(o->multi, CURLMOPT_SOCKETDATA, o);
	curl_multi_setopt(o->multi, CURLMOPT_TIMERFUNCTION, timer_change);
	curl_multi_setopt(o->multi, CURLMOPT_TIMERDATA, o);
	curl_easy_setopt(o->curl, CURLOPT_URL, o->url);
	curl_easy_setopt(o->curl, CURLOPT_HTTPHEADER, o->headers);
	curl_easy_setopt(o->curl, CURLOPT_WRITEFUNCTION, answer_take);
	curl_easy_setopt(o->curl, CURLOPT_WRITEDATA, o);
	curl_easy_setopt(o->curl, CURLOPT_TIMEOUT, TIMEOUT_S);
	curl_easy_setopt(o->curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(o->curl, CURLOPT_PROTOCOLS_STR, "http,https");
	return o;
}

/* How many points the collector says it has refused in a request that it has accepted. */
static long long rejected_count(const struct otlp *o)
{
	static const char member[] = "\"rejectedDataPoints\"";
	const char *at = o->answer.len ? strstr(o->answer.data, member) : NULL;

	if (!at)
		return 0;
	at += strlen(member);
	at += strspn(at, " \t\r\n:\""); /* 64-bit integers are strings in JSON */
	return strtoll(at, NULL, 10);
}

/* The request has ended. */
static void request_end(struct otlp *o, CURLcode code)
{
	long status = 0;
	long long rejected = 0;
	struct strbuf why = {0};

	(void)curl_multi_remove_handle(o->multi, o->curl);
	o->is_running = false;
	if (code == CURLE_OK)
		curl_easy_getinfo(o->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status >= 200 && status < 300)
		rejected = rejected_count(o);
	if (code != CURLE_OK)
		strbuf_adds(&why, curl_easy_strerror(code));
	else if (rejected > 0)
		strbuf_addf(&why, "it refuses %lld data points", rejected);
	else if (status < 200 || status >= 300)
		strbuf_addf(&why, "HTTP status %ld", status);
	if (why.len)
		o->x->npush_errors++;
	if (why.len && !o->is_failure_reported)
		say("'%s' takes no metrics: %s; they come with a later request", o->url, why.data);
	o->is_failure_reported = why.len > 0;
	strbuf_deinit(&why);
}

static void ended_take(struct otlp *o)
{
	const CURLMsg *m;
	int nleft;

	while ((m = curl_multi_info_read(o->multi, &nleft)))
		if (m->msg == CURLMSG_DONE)
			request_end(o, m->data.result);
}

void otlp_push(struct otlp *o)
{
	if (o->is_running)
		return;
	strbuf_clear(&o->body);
	strbuf_clear(&o->answer);
	otlp_request(o->x, &o->body);
	curl_easy_setopt(o->curl, CURLOPT_POSTFIELDS, o->body.data);
	curl_easy_setopt(o->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)o->body.len);
	o->is_running = curl_multi_add_handle(o->multi, o->curl) == CURLM_OK;
	otlp_run(o);
}

int otlp_fd(const struct otlp *o)
{
	return o->epoll_fd;
}

uint64_t otlp_due_ns(const struct otlp *o)
{
	return o->due_ns;
}

void otlp_run(struct otlp *o)
{
	struct epoll_event e[8];
	int n = epoll_wait(o->epoll_fd, e, (int)(sizeof(e) / sizeof(e[0])), 0), nrunning;

	for (int i = 0; i < n; i++) {
		int what = (e[i].events & EPOLLIN ? CURL_CSELECT_IN : 0) |
			   (e[i].events & EPOLLOUT ? CURL_CSELECT_OUT : 0) |
			   (e[i].events & (EPOLLERR | EPOLLHUP) ? CURL_CSELECT_ERR : 0);

		(void)curl_multi_socket_action(o->multi, e[i].data.fd, what, &nrunning);
	}
	if (o->due_ns && clock_ns() >= o->due_ns) {
		o->due_ns = 0;
		(void)curl_multi_socket_action(o->multi, CURL_SOCKET_TIMEOUT, 0, &nrunning);
	}
	ended_take(o);
}

void otlp_push_last(struct otlp *o, uint64_t until_ns)
{
	if (o->is_running) { /* the last request has all that the one before it had */
		(void)curl_multi_remove_handle(o->multi, o->curl);
		o->is_running = false;
	}
	otlp_push(o);
	while (o->is_running) {
		struct pollfd p = {.fd = o->epoll_fd, .events = POLLIN};
		uint64_t now = clock_ns(), wake = until_ns;

		if (now >= until_ns) {
			request_end(o, CURLE_OPERATION_TIMEDOUT);
			return;
		}
		if (o->due_ns && o->due_ns < wake)
			wake = o->due_ns;
		(void)poll(&p, 1, wake > now ? (int)((wake - now + 999999) / 1000000) : 0);
		otlp_run(o);
	}
}

void otlp_close(struct otlp *o)
{
	if (!o)
		return;
#if LIBCURL_VERSION_NUM >= 0x075700
	if (o->curl) /* a thread that still resolves a name is left to itself */
		curl_easy_setopt(o->curl, CURLOPT_QUICK_EXIT, 1L);
#endif
	if (o->multi && o->curl)
		(void)curl_multi_remove_handle(o->multi, o->curl);
	curl_easy_cleanup(o->curl);
	if (o->multi)
		(void)curl_multi_cleanup(o->multi);
	curl_slist_free_all(o->headers);
	if (o->epoll_fd >= 0)
		close(o->epoll_fd);
	free(o->url);
	strbuf_deinit(&o->body);
	strbuf_deinit(&o->answer);
	free(o);
}
