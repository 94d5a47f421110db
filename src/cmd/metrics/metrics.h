/*
 * fathom-metrics: aggregations of D scripts as metrics.
 *
 * A script is a session of libdtrace of its own (script.c). Its aggregations are metrics, the rows
 * of an aggregation are the series of the metric (model.c). Reading a script brings its series up
 * to date; the forms of output then only read the model: Prometheus (prometheus.c, served by
 * http.c), OpenTelemetry (otlp.c), StatsD and Ganglia (statsd.c, ganglia.c).
 *
 * A counter never falls, whatever the script does: clear() and trunc() of a script are not
 * executed. Instead the rows are taken out of the kernel, exactly once, and what they counted stays
 * in the series (struct series: base).
 *
 * Threads  one. The server's connections are handled between two readings.
 */
#pragma once

#include <dtrace.h>
#include <stdbool.h>
#include <stdint.h>

#include "buf.h"

#define KEYS_MAX 16 /* labels of a metric; an aggregation with more keys is refused */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_SUMMARY, METRIC_HISTOGRAM };

struct bucket {
	int64_t min, max; /* INT64_MIN, INT64_MAX: no bound */
	int64_t base, now;
};

/*
 * A row. What it counts is base + now: now is what the kernel has, base what was taken out of the
 * kernel. A gauge has only value.
 */
struct series {
	char *labels; /* key0="a",key1="b", escaped as Prometheus wants it; "" if there are no keys */
	char **values; /* texts of the keys, metric.nlabels of them */
	uint64_t hash;
	struct series *next; /* of the same slot */
	bool is_overflow;
	double value;
	int64_t sum_base, sum_now;
	uint64_t count_base, count_now;
	struct bucket *buckets; /* ascending */
	uint32_t nbuckets;
	double sent[2]; /* what StatsD was told: of a counter its value, of a summary both parts */
	double *buckets_sent; /* by bucket of the metric */
	uint32_t nbuckets_sent;
	uint64_t changed_ns,
		seen; /* when its value last changed; the reading that has seen it last */
};

struct metric {
	char *name; /* with the prefix, without "_total" */
	char *help;
	enum metric_type type;
	dtrace_actkind_t action;
	char *labels[KEYS_MAX];
	uint32_t nlabels;
	struct series **slots; /* by hash */
	uint32_t nslots, nseries;
	struct series *overflow; /* NULL: not needed yet */
	uint64_t noverflowed;	 /* rows that went there */
	bool has_fallen;	 /* a counter has, which was said */
	struct bucket *bounds;	 /* all buckets that any series has, ascending; counts unused */
	uint32_t nbounds;
};

/* How a script's aggregation is shown: from its comment "@metric", else from its name. */
struct directive {
	char *agg, *name, *help, *type;
	char *labels[KEYS_MAX];
	uint32_t nlabels;
	struct directive *next;
};

struct script {
	char *path, *name; /* name: of the file without ".d", as part of a metric's name */
	dtrace_hdl_t *hdl; /* NULL: it has failed or ended */
	struct directive *directives;
	struct metric **metrics; /* by identifier of the aggregation, from 1 */
	bool *is_due;		 /* rows of the aggregation are to be taken out: clear(), trunc() */
	uint32_t nmetrics;
	uint64_t ndrops, nerrors;
	bool is_up;
};

struct config {
	uint32_t limit;	    /* series of a metric */
	uint64_t expire_ns; /* a series that has not changed for so long is forgotten; 0: never */
	const char *prefix;
	bool is_verbose;
};

struct exporter {
	struct config config;
	struct script **scripts;
	uint32_t nscripts;
	uint64_t nreadings;
	uint64_t started_ns; /* since 1970 */
	uint64_t nscrapes, npush_errors;
	double reading_seconds; /* of the last reading */
};

uint64_t clock_ns(void);
/* Writes "fathom-metrics: ..." to standard error. */
__attribute__((format(printf, 1, 2))) void say(const char *fmt, ...);

/* script.c */
struct script *script_open(struct exporter *x, const char *path);
void script_close(struct script *s);
/* Consumes records, executes what they ask for. */
void script_work(struct exporter *x, struct script *s);
/* Brings the series up to date. */
void script_read(struct exporter *x, struct script *s);
/* Reads all scripts. */
void exporter_read(struct exporter *x);

/* naming.c */
struct directive *directives_parse(const char *path, const char *text);
void directives_free(struct directive *d);
const struct directive *directive_find(const struct directive *d, const char *agg);
/* A copy in which all characters that a name cannot have are '_'. */
char *name_clean(const char *text);
/* Adds a text as Prometheus wants values of labels; is_help: as it wants help texts. */
void label_escape(struct buf *b, const char *text, bool is_help);

/* model.c */
struct metric *metric_create(const struct exporter *x, const struct script *s,
			     const dtrace_aggdesc_t *desc, uint32_t nkeys);
void metric_destroy(struct metric *m);
/*
 * Takes a row over; is_due: it is to be taken out. Returns what the walk has to do with it
 * (DTRACE_AGGWALK_*).
 */
int metric_row(struct exporter *x, struct metric *m, const dtrace_aggdata_t *row, bool is_due);
/* Forgets series that the last readings have not seen and that expired. */
void metric_expire(struct exporter *x, struct metric *m);
/* The next series: NULL begins, NULL ends. The overflow comes last. */
struct series *series_next(const struct metric *m, const struct series *s);
double series_count(const struct series *s);
double series_sum(const struct series *s);
/* The count of the metric's bucket i in the series. */
int64_t series_bucket(const struct metric *m, const struct series *s, uint32_t i);
/*
 * Calls func with each upper bound (inclusive) of the metric's buckets, ascending, and how many
 * values do not exceed it; returns how many there are in all. A bound is there also where a range
 * without values ends.
 */
typedef void bound_func(int64_t bound, uint64_t count, void *arg);
uint64_t histogram_visit(const struct metric *m, const struct series *s, bound_func *func,
			 void *arg);

/* Calls func for each metric. */
typedef void metric_func(struct exporter *x, const struct script *s, struct metric *m, void *arg);
void metrics_visit(struct exporter *x, metric_func *func, void *arg);

/* A metric about the exporter itself; it has one label at most. */
struct own_metric {
	const char *name, *help;
	bool is_counter;
	const char *label; /* NULL: none */
};
typedef void own_func(const struct own_metric *m, const char *label_value, double value, void *arg);
void own_visit(struct exporter *x, own_func *func, void *arg);

/* prometheus.c */
void prometheus_text(struct exporter *x, struct buf *out);
void prometheus_protobuf(struct exporter *x, struct buf *out);

/* http.c */
struct server;
/* address: "HOST:PORT". NULL: it cannot listen, which was said. */
struct server *server_start(struct exporter *x, const char *address);
int server_fd(const struct server *s);	    /* becomes readable when server_run() has work */
int server_wait_ms(const struct server *s); /* until it has work anyway; -1: never */
void server_run(struct server *s);
void server_stop(struct server *s);

/* statsd.c: a connected socket for "HOST:PORT"; -1: there is none, which was said. */
int udp_open(const char *address, const char *default_port);

/* statsd.c, ganglia.c, otlp.c: send what there is; false: something could not be sent. */
bool statsd_push(struct exporter *x, int fd);
bool ganglia_push(struct exporter *x, int fd, const char *host, uint32_t interval_s);
struct otlp;
struct otlp *otlp_open(const char *url);
bool otlp_push(struct exporter *x, struct otlp *o);
void otlp_close(struct otlp *o);
/* The request of OTLP/HTTP in JSON. */
void otlp_request(struct exporter *x, struct buf *out);
