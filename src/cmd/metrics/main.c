/* SPDX-License-Identifier: MIT */
/* Entry point of fathom-metrics: flags, the scripts of a directory, the loop. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "crash/format.h"
#include "metrics.h"

#define DEFAULT_DIR    "/etc/fathom/metrics.d"
#define DEFAULT_LISTEN "localhost:9476"
#define WORK_NS	       1000000000 /* how often records are consumed */
#define LAST_NS	       1000000000 /* how long the last push waits for a receiver */

static const char usage[] =
	"usage: fathom-metrics [-d DIR] [-l HOST:PORT | -L] [options] [SCRIPT...]\n"
	"  Aggregations of D scripts as metrics, for Prometheus and others.\n"
	"  -d, --dir DIR           the scripts DIR/*.d (" DEFAULT_DIR
	"), unless SCRIPTs are given\n"
	"  -l, --listen HOST:PORT  where Prometheus scrapes (" DEFAULT_LISTEN ")\n"
	"  -L, --no-listen         nowhere\n"
	"      --otlp URL          sends to an OpenTelemetry collector: http://localhost:4318\n"
	"      --statsd HOST:PORT  sends to a StatsD server\n"
	"      --ganglia HOST:PORT sends to gmond\n"
	"  -i, --interval SECONDS  how often it sends (10)\n"
	"  -n, --limit N           series of a metric; more rows become one series (1000)\n"
	"  -e, --expire SECONDS    forgets series that have not changed for so long (0: never)\n"
	"      --prefix TEXT       before the names of metrics (dtrace_)\n"
	"      --crashes FILE      what fathom-crash has counted (" CRASH_STORE
	"/" CRASH_STORE_TALLY ")\n"
	"  -1, --once SECONDS      traces so long, prints what Prometheus would get, and ends\n"
	"  -h, --help, -V, --version\n";

struct run {
	struct exporter x;
	const char *dir, *listen, *otlp_url, *statsd_address, *ganglia_address;
	double interval_s, once_s;
	struct server *server;
	struct otlp *otlp;
	struct statsd *statsd;
	int ganglia_fd;
	char host[256];
};

static volatile sig_atomic_t is_ending;
static int end_fd; /* becomes readable with it */

uint64_t clock_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t clock_real_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_REALTIME, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fputs("fathom-metrics: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static __attribute__((noreturn)) void usage_exit(void)
{
	fputs(usage, stderr);
	exit(2);
}

static double number_of(const char *flag, const char *text, double least)
{
	char *end;
	double v = strtod(text, &end);

	if (*end || end == text || !(v >= least) || v > 1e9) {
		say("%s: expected a number >= %g, not '%s'", flag, least, text);
		exit(2);
	}
	return v;
}

static void flags_read(struct run *r, int argc, char **argv)
{
	enum { OPT_OTLP = 256, OPT_STATSD, OPT_GANGLIA, OPT_PREFIX, OPT_CRASHES };
	static const struct option longs[] = {{"dir", required_argument, NULL, 'd'},
					      {"listen", required_argument, NULL, 'l'},
					      {"no-listen", no_argument, NULL, 'L'},
					      {"otlp", required_argument, NULL, OPT_OTLP},
					      {"statsd", required_argument, NULL, OPT_STATSD},
					      {"ganglia", required_argument, NULL, OPT_GANGLIA},
					      {"interval", required_argument, NULL, 'i'},
					      {"limit", required_argument, NULL, 'n'},
					      {"expire", required_argument, NULL, 'e'},
					      {"prefix", required_argument, NULL, OPT_PREFIX},
					      {"once", required_argument, NULL, '1'},
					      {"crashes", required_argument, NULL, OPT_CRASHES},
					      {"help", no_argument, NULL, 'h'},
					      {"version", no_argument, NULL, 'V'},
					      {0}};
	int f;

	while ((f = getopt_long(argc, argv, "d:l:Li:n:e:1:hV", longs, NULL)) != -1) {
		switch (f) {
		case 'd': r->dir = optarg; break;
		case 'l': r->listen = optarg; break;
		case 'L': r->listen = NULL; break;
		case OPT_OTLP: r->otlp_url = optarg; break;
		case OPT_STATSD: r->statsd_address = optarg; break;
		case OPT_GANGLIA: r->ganglia_address = optarg; break;
		case OPT_CRASHES: r->x.config.crashes = optarg; break;
		case OPT_PREFIX: r->x.config.prefix = optarg; break;
		case 'i': r->interval_s = number_of("--interval", optarg, 0.01); break;
		case 'n': r->x.config.limit = (uint32_t)number_of("--limit", optarg, 1); break;
		case 'e':
			r->x.config.expire_ns = (uint64_t)(number_of("--expire", optarg, 0) * 1e9);
			break;
		case '1': r->once_s = number_of("--once", optarg, 0); break;
		case 'h': fputs(usage, stdout); exit(0);
		case 'V': puts("fathom-metrics " FATHOM_VERSION); exit(0);
		default: usage_exit();
		}
	}
}

/* ---- scripts --------------------------------------------------------------------------------- */

static void script_add(struct run *r, const char *path)
{
	struct exporter *x = &r->x;

	x->scripts = mem_check(realloc(x->scripts, (x->nscripts + 1) * sizeof(*x->scripts)));
	x->scripts[x->nscripts] = script_open(x, path);
	x->nscripts++;
}

static int is_script(const struct dirent *e)
{
	size_t len = strlen(e->d_name);

	return e->d_name[0] != '.' && len > 2 && strcmp(e->d_name + len - 2, ".d") == 0;
}

static void dir_add(struct run *r)
{
	struct dirent **entries;
	int n = scandir(r->dir, &entries, is_script, alphasort);

	if (n < 0) {
		say("cannot read '%s': %m", r->dir);
		exit(1);
	}
	for (int i = 0; i < n; i++) {
		char *path;

		if (asprintf(&path, "%s/%s", r->dir, entries[i]->d_name) < 0)
			mem_check(NULL);
		script_add(r, path);
		free(path);
		free(entries[i]);
	}
	free(entries);
	if (!n) {
		say("there is no script (*.d) in '%s'", r->dir);
		exit(1);
	}
}

static bool is_any_up(const struct exporter *x)
{
	for (uint32_t i = 0; i < x->nscripts; i++)
		if (x->scripts[i]->is_up)
			return true;
	return false;
}

static bool is_any_refused(const struct exporter *x)
{
	for (uint32_t i = 0; i < x->nscripts; i++)
		if (x->scripts[i]->is_refused)
			return true;
	return false;
}

/* ---- the loop -------------------------------------------------------------------------------- */

static bool has_receiver(const struct run *r)
{
	return r->statsd || r->ganglia_fd >= 0 || r->otlp;
}

/* is_last: there will be no other one, so it waits a little for the answer. */
static void push_all(struct run *r, bool is_last)
{
	if (!has_receiver(r))
		return;
	exporter_read(&r->x);
	if (r->statsd)
		statsd_push(r->statsd);
	if (r->ganglia_fd >= 0)
		ganglia_push(&r->x, r->ganglia_fd, r->host, (uint32_t)r->interval_s);
	if (r->otlp && is_last)
		otlp_push_last(r->otlp, clock_ns() + LAST_NS);
	else if (r->otlp)
		otlp_push(r->otlp);
}

/* The earlier one of two times, of which 0 is none. */
static uint64_t time_earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

/* Waits until then, the end, or something to do for scrapes and requests; does that. */
static void serve_until(struct run *r, uint64_t until)
{
	struct pollfd p[DAEMONS_MAX + 2];
	int fds[DAEMONS_MAX];
	uint32_t n = r->server ? server_fds(r->server, fds) : 0, i;
	uint64_t now;

	for (i = 0; i < n; i++)
		p[i] = (struct pollfd){.fd = fds[i], .events = POLLIN};
	p[i++] = (struct pollfd){.fd = end_fd, .events = POLLIN};
	p[i++] = (struct pollfd){.fd = r->otlp ? otlp_fd(r->otlp) : -1, .events = POLLIN};
	if (r->server)
		until = time_earlier(until, server_due_ns(r->server));
	if (r->otlp)
		until = time_earlier(until, otlp_due_ns(r->otlp));
	if (r->statsd)
		until = time_earlier(until, statsd_due_ns(r->statsd));
	now = clock_ns();
	(void)poll(p, i, until > now ? (int)((until - now + 999999) / 1000000) : 0);
	if (r->server)
		server_run(r->server);
	if (r->otlp)
		otlp_run(r->otlp);
	if (r->statsd)
		statsd_run(r->statsd);
}

static void scripts_work(struct run *r)
{
	for (uint32_t i = 0; i < r->x.nscripts; i++)
		script_work(&r->x, r->x.scripts[i]);
}

static void scripts_consume(struct run *r)
{
	uint64_t interval = (uint64_t)(r->interval_s * 1e9);
	uint64_t work_at = clock_ns(), push_at = work_at + interval, now;

	while (!is_ending) {
		serve_until(r, has_receiver(r) ? time_earlier(work_at, push_at) : work_at);
		now = clock_ns();
		if (now >= work_at) {
			scripts_work(r);
			work_at = now + WORK_NS;
		}
		if (has_receiver(r) && now >= push_at) {
			push_all(r, false);
			push_at += interval;
			if (push_at <= clock_ns()) /* reading took too long: some are left out */
				push_at = clock_ns() + interval;
		}
	}
	push_all(r, true);
}

static void metrics_print(struct run *r)
{
	uint64_t end = clock_ns() + (uint64_t)(r->once_s * 1e9);
	struct strbuf text = {0};

	while (!is_ending && clock_ns() < end) {
		serve_until(r, time_earlier(end, clock_ns() + 100000000));
		scripts_work(r);
	}
	exporter_read(&r->x);
	prometheus_text(&r->x, &text);
	(void)fwrite(text.data, 1, text.len, stdout);
	strbuf_deinit(&text);
}

static void end_note(int sig)
{
	uint64_t one = 1;
	int error = errno;

	(void)sig;
	is_ending = 1;
	if (write(end_fd, &one, sizeof(one)) < 0) {
		/* its counter is at the maximum, so it is readable */
	}
	errno = error;
}

static void outputs_open(struct run *r)
{
	int family;

	if (r->listen && !(r->server = server_start(&r->x, r->listen)))
		exit(1);
	if (r->statsd_address && !(r->statsd = statsd_open(&r->x, r->statsd_address)))
		exit(1);
	if (r->ganglia_address &&
	    (r->ganglia_fd = udp_open(r->ganglia_address, "8649", &family)) < 0)
		exit(1);
	if (r->otlp_url && !(r->otlp = otlp_open(&r->x, r->otlp_url)))
		exit(1);
	(void)gethostname(r->host, sizeof(r->host) - 1);
}

int main(int argc, char **argv)
{
	struct run r = {.x.config = {.limit = 1000,
				     .prefix = "dtrace_",
				     .crashes = CRASH_STORE "/" CRASH_STORE_TALLY},
			.dir = DEFAULT_DIR,
			.listen = DEFAULT_LISTEN,
			.interval_s = 10,
			.once_s = -1,
			.ganglia_fd = -1};
	struct sigaction end = {.sa_handler = end_note};
	bool is_up, is_refused;

	flags_read(&r, argc, argv);
	end_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	(void)sigaction(SIGINT, &end, NULL);
	(void)sigaction(SIGTERM, &end, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	r.x.started_ns = clock_real_ns();
	if (r.once_s < 0)
		outputs_open(&r);
	if (optind < argc)
		for (int i = optind; i < argc; i++)
			script_add(&r, argv[i]);
	else
		dir_add(&r);
	is_up = is_any_up(&r.x);
	is_refused = is_any_refused(&r.x);
	if (!is_up)
		say("no script traces");
	else if (r.once_s >= 0)
		metrics_print(&r);
	else
		scripts_consume(&r);
	server_stop(r.server);
	otlp_close(r.otlp);
	statsd_close(r.statsd); /* it points to series */
	for (uint32_t i = 0; i < r.x.nscripts; i++)
		script_close(r.x.scripts[i]);
	free(r.x.scripts);
	return is_up && (r.once_s < 0 || !is_refused) ? 0 : 1;
}
