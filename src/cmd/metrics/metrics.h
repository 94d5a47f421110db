/* SPDX-License-Identifier: MIT */
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
 * in the series. normalize() is not executed either: the series hold what was counted, and are
 * divided when they are shown.
 *
 * Several rows may be one series: the key of a ustack() names the process, and its text does not;
 * two strings may differ in bytes that no label can have. The rows of a series are added up:
 *
 *     what the series shows = base + now      base: rows that were taken out of the kernel
 *                                             now: rows that the last reading has left there
 *
 * A row is read either into now, which begins at zero in each reading, or, when it is taken out,
 * into base. So it counts once, whatever becomes of the other rows of its series.
 *
 * Threads  one. Scrapes are answered and requests are sent between two readings; nothing waits for
 *          a receiver.
 */
#pragma once

#include <dtrace.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

#define KEYS_MAX 16 /* labels of a metric; an aggregation with more keys is refused */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_SUMMARY, METRIC_HISTOGRAM };

struct bucket {
	int64_t min, max; /* INT64_MIN, INT64_MAX: no bound */
	uint64_t base, now;
	int64_t sent; /* as series.sent */
};

/*
 * The counters of one or more rows, before normalize() divides them. A counter that the aggregating
 * function does not use is 0. Integers wrap, as those of the kernel do.
 */
struct parts {
	uint64_t nrows; /* 0: there is no value */
	uint64_t count; /* of a histogram: all counts */
	uint64_t sum;
	unsigned __int128 sumsq;
	int64_t least, greatest;
};

enum { SENT_VALUE, SENT_SUM = SENT_VALUE, SENT_COUNT, SENT_PARTS };

struct series {
	char *labels; /* key0="a",key1="b", escaped as Prometheus wants it; "" if there are no keys */
	char **values; /* texts of the keys, metric.nlabels of them */
	uint64_t hash;
	struct series *next; /* of the same slot */
	bool is_overflow;
	struct parts base, now;
	struct bucket *buckets; /* ascending */
	uint32_t nbuckets;
	bool begins_anew;	  /* the script has cleared a gauge: the next row is its value */
	struct parts last;	  /* base + now after the last reading */
	int64_t last_value;	  /* and the value of a counter */
	int64_t sent[SENT_PARTS]; /* what StatsD has received: SENT_* */
	uint32_t npinned;	  /* datagrams on their way that point to it: it is not freed */
	uint64_t seen;		  /* the reading that has seen it last */
	uint64_t changed_ns;	  /* when its value last changed */
	uint64_t start_ns;	  /* since 1970: it was zero then */
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
	bool has_fallen;	 /* a counter has decreased; the warning was printed */
	uint64_t normal;	 /* the factor of normalize(); 1: none */
	struct bucket *bounds;	 /* all buckets that any series has, ascending; counts unused */
	uint32_t nbounds;
};

/* How a script's aggregation is shown: from its comment "@metric", else from its name. */
struct directive {
	char *agg, *name, *help, *type;
	char *labels[KEYS_MAX];
	uint32_t nlabels;
	int line;
	bool is_checked; /* against the first row of the aggregation */
	struct directive *next;
};

struct script_agg {
	struct metric *metric; /* NULL: no row has been read */
	bool is_due;	       /* its rows are to be taken out: clear(), trunc() */
	bool is_refused;       /* it has too many keys; the warning was printed */
	uint64_t normal;       /* the factor of normalize() */
};

struct script {
	char *path, *name; /* name: of the file without ".d", as part of a metric's name */
	dtrace_hdl_t *hdl; /* NULL: it has failed or ended */
	struct directive *directives;
	struct script_agg *aggs; /* by identifier of the aggregation, from 1 */
	uint32_t naggs;
	uint64_t nreadings;
	uint64_t read_ns; /* since 1970: its last reading, or the start */
	uint64_t ndrops, nerrors;
	bool is_up;
	bool is_refused; /* it has never traced; a message was printed */
};

struct config {
	uint32_t limit;	    /* series of a metric */
	uint64_t expire_ns; /* a series that has not changed for so long is forgotten; 0: never */
	const char *prefix;
	const char *crashes; /* the file in which fathom-crash counts; "": none */
	bool is_verbose;
};

struct exporter {
	struct config config;
	struct script **scripts;
	uint32_t nscripts;
	uint64_t started_ns; /* since 1970 */
	uint64_t nscrapes, npush_errors;
	double reading_seconds; /* of the last reading */
};

uint64_t clock_ns(void);      /* CLOCK_MONOTONIC */
uint64_t clock_real_ns(void); /* since 1970 */
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

/* Returns p; the program ends if it is NULL, because there is no memory. */
static inline void *mem_check(void *p)
{
	if (!p) {
		fputs("fathom-metrics: out of memory\n", stderr);
		abort();
	}
	return p;
}

/* Adds an integer, or a number so that it can be read back exactly. */
static inline void strbuf_add_int(struct strbuf *b, int64_t v)
{
	strbuf_addf(b, "%lld", (long long)v);
}

static inline void strbuf_add_number(struct strbuf *b, double v)
{
	if (v >= -1e15 && v <= 1e15 && v == (double)(int64_t)v)
		strbuf_add_int(b, (int64_t)v);
	else
		strbuf_addf(b, "%.17g", v);
}

/* naming.c */
/* Both return false after printing what is wrong: the text, or an aggregation that is not there. */
bool directives_parse(const char *path, const char *text, struct directive **ret);
bool directives_check(const char *path, const struct directive *d, dtrace_hdl_t *hdl);
void directives_free(struct directive *d);
struct directive *directive_find(struct directive *d, const char *agg);
/* A copy in which all characters that a name cannot have are '_'. */
char *name_clean(const char *text);
/* Replaces bytes that are no UTF-8 by '?': receivers refuse all of a text that has them. */
void utf8_clean(char *text);
/* Shortens a name to max bytes; a number at its end tells the series from others. */
void name_cut(struct strbuf *name, size_t max, const struct series *s);
/* Adds a text as Prometheus wants values of labels; is_help: as it wants help texts. */
void label_escape(struct strbuf *b, const char *text, bool is_help);

/* model.c */
struct metric *metric_create(const struct exporter *x, const struct script *s,
			     const dtrace_aggdesc_t *desc, uint32_t nkeys);
void metric_destroy(struct metric *m);
/* A reading of all aggregations of a script. */
struct reading {
	struct exporter *x;
	uint64_t number;   /* of the script's readings, from 1 */
	uint64_t now_ns;   /* its time; the same for all rows */
	uint64_t since_ns; /* since 1970: the reading before it, or the start */
};

/*
 * Adds a row to its series; is_due: it is to be taken out. Returns what the walk has to do with it
 * (DTRACE_AGGWALK_*).
 */
int metric_row(const struct reading *r, struct metric *m, const dtrace_aggdata_t *row, bool is_due);
/* Follows the last row of a reading: forgets the series that have not changed for too long. */
void metric_read(const struct reading *r, struct metric *m);
/* The next series: NULL begins, NULL ends. The overflow comes last. */
struct series *series_next(const struct metric *m, const struct series *s);
/* The value of a counter or gauge. */
int64_t series_value(const struct metric *m, const struct series *s);
/* The parts of a summary. */
uint64_t series_count(const struct metric *m, const struct series *s);
int64_t series_sum(const struct metric *m, const struct series *s);
/* The series' bucket that begins with min, or NULL. */
struct bucket *series_bucket_find(const struct series *s, int64_t min);
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

/* A metric that is no script's: about the exporter itself, or crashes. */
struct own_metric {
	const char *name, *help;
	bool is_counter;
	const char *labels[2]; /* NULL: none */
	uint64_t start_ns;     /* since 1970: a counter was zero then; 0: when we started */
};
typedef void own_func(const struct own_metric *m, const char *const values[], double value,
		      void *arg);
void own_visit(struct exporter *x, own_func *func, void *arg);

/* crashes.c: the same, of what fathom-crash has counted */
void crashes_visit(struct exporter *x, own_func *func, void *arg);

/* prometheus.c */
void prometheus_text(struct exporter *x, struct strbuf *out);
void prometheus_protobuf(struct exporter *x, struct strbuf *out);

/* address.c */
/*
 * Resolves an address of a flag. default_port NULL: there has to be one, and a port alone means all
 * addresses of the machine. Returns NULL after printing why it is impossible to do purpose.
 */
struct addrinfo *address_find(const char *text, const char *default_port, int socktype,
			      const char *purpose);
/* Returns a connected socket, or -1 after printing the reason. */
int udp_open(const char *address, const char *default_port, int *ret_family);

/*
 * Servers and receivers run in the loop that reads scripts, and never wait: X_run() is called when
 * one of its descriptors is readable, and at the time that X_due_ns() returns (CLOCK_MONOTONIC;
 * 0: none).
 */

/* http.c */
#define DAEMONS_MAX 4
struct server;
/* Returns NULL after printing the reason. */
struct server *server_start(struct exporter *x, const char *address);
uint32_t server_fds(const struct server *s, int *ret_fds); /* at most DAEMONS_MAX */
uint64_t server_due_ns(const struct server *s);
void server_run(struct server *s);
void server_stop(struct server *s);

/*
 * statsd.c, ganglia.c, otlp.c: send what the last reading has found. What could not be sent is
 * counted in npush_errors, and comes with a later push.
 */
struct statsd;
/* Returns NULL after printing the reason. */
struct statsd *statsd_open(struct exporter *x, const char *address);
void statsd_push(struct statsd *st);
uint64_t statsd_due_ns(const struct statsd *st);
void statsd_run(struct statsd *st);
void statsd_close(struct statsd *st);

void ganglia_push(struct exporter *x, int fd, const char *host, uint32_t interval_s);

struct otlp;
/* Returns NULL after printing the reason. */
struct otlp *otlp_open(struct exporter *x, const char *url);
void otlp_push(struct otlp *o); /* does nothing while a request is on its way */
/* Sends for the last time, and waits for the answer. */
void otlp_push_last(struct otlp *o, uint64_t until_ns);
int otlp_fd(const struct otlp *o);
uint64_t otlp_due_ns(const struct otlp *o);
void otlp_run(struct otlp *o);
void otlp_close(struct otlp *o);
/* The request of OTLP/HTTP in JSON. */
void otlp_request(struct exporter *x, struct strbuf *out);
