/* Entry point of fathom-metrics: flags, the scripts of a directory, the loop. */
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "metrics.h"

#define DEFAULT_DIR    "/etc/fathom/metrics.d"
#define DEFAULT_LISTEN "localhost:9476"
#define WORK_NS	       1000000000 /* how often records are consumed */

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
	"  -1, --once SECONDS      traces so long, prints what Prometheus would get, and ends\n"
	"  -h, --help, -V, --version\n";

struct run {
	struct exporter x;
	const char *dir, *listen, *otlp_url, *statsd_address, *ganglia_address;
	double interval_s, once_s;
	struct server *server;
	struct otlp *otlp;
	int statsd_fd, ganglia_fd;
	char host[256];
};

static volatile sig_atomic_t is_ending;

uint64_t clock_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
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
		say("%s: '%s' is no number from %g on", flag, text, least);
		exit(2);
	}
	return v;
}

static void flags_read(struct run *r, int argc, char **argv)
{
	enum { OPT_OTLP = 256, OPT_STATSD, OPT_GANGLIA, OPT_PREFIX };
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

/* ---- the loop -------------------------------------------------------------------------------- */

static void push_all(struct run *r)
{
	struct exporter *x = &r->x;

	if (r->statsd_fd < 0 && r->ganglia_fd < 0 && !r->otlp)
		return;
	exporter_read(x);
	if (r->statsd_fd >= 0)
		(void)statsd_push(x, r->statsd_fd); /* what failed was counted */
	if (r->ganglia_fd >= 0)
		(void)ganglia_push(x, r->ganglia_fd, r->host, (uint32_t)r->interval_s);
	if (r->otlp)
		(void)otlp_push(x, r->otlp);
}

static int wait_ms(const struct run *r, uint64_t until)
{
	uint64_t now = clock_ns();
	int server_ms = r->server ? server_wait_ms(r->server) : -1;
	int ms = until > now ? (int)((until - now + 999999) / 1000000) : 0;

	return server_ms >= 0 && server_ms < ms ? server_ms : ms;
}

static void scripts_consume(struct run *r)
{
	uint64_t interval = (uint64_t)(r->interval_s * 1e9);
	uint64_t work_at = clock_ns(), push_at = work_at + interval, now;

	while (!is_ending) {
		struct pollfd fd = {.fd = r->server ? server_fd(r->server) : -1, .events = POLLIN};

		(void)poll(&fd, 1, wait_ms(r, work_at < push_at ? work_at : push_at));
		if (r->server)
			server_run(r->server);
		now = clock_ns();
		if (now >= work_at) {
			for (uint32_t i = 0; i < r->x.nscripts; i++)
				script_work(&r->x, r->x.scripts[i]);
			work_at = now + WORK_NS;
		}
		if (now >= push_at) {
			push_all(r);
			push_at += interval;
			if (push_at <= clock_ns()) /* sending took too long: some are left out */
				push_at = clock_ns() + interval;
		}
	}
	push_all(r);
}

static void metrics_print(struct run *r)
{
	uint64_t end = clock_ns() + (uint64_t)(r->once_s * 1e9);
	struct buf text = {0};

	while (!is_ending && clock_ns() < end) {
		(void)poll(NULL, 0, wait_ms(r, end) < 100 ? wait_ms(r, end) : 100);
		for (uint32_t i = 0; i < r->x.nscripts; i++)
			script_work(&r->x, r->x.scripts[i]);
	}
	exporter_read(&r->x);
	prometheus_text(&r->x, &text);
	(void)fwrite(text.data, 1, text.len, stdout);
	buf_free(&text);
}

static void end_note(int sig)
{
	(void)sig;
	is_ending = 1;
}

static void outputs_open(struct run *r)
{
	if (r->listen && !(r->server = server_start(&r->x, r->listen)))
		exit(1);
	if (r->statsd_address && (r->statsd_fd = udp_open(r->statsd_address, "8125")) < 0)
		exit(1);
	if (r->ganglia_address && (r->ganglia_fd = udp_open(r->ganglia_address, "8649")) < 0)
		exit(1);
	if (r->otlp_url && !(r->otlp = otlp_open(r->otlp_url)))
		exit(1);
	(void)gethostname(r->host, sizeof(r->host) - 1);
}

int main(int argc, char **argv)
{
	struct run r = {.x.config = {.limit = 1000, .prefix = "dtrace_"},
			.dir = DEFAULT_DIR,
			.listen = DEFAULT_LISTEN,
			.interval_s = 10,
			.once_s = -1,
			.statsd_fd = -1,
			.ganglia_fd = -1};
	struct sigaction end = {.sa_handler = end_note};
	struct timespec now;
	bool is_up;

	flags_read(&r, argc, argv);
	(void)sigaction(SIGINT, &end, NULL);
	(void)sigaction(SIGTERM, &end, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	(void)clock_gettime(CLOCK_REALTIME, &now);
	r.x.started_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (r.once_s < 0)
		outputs_open(&r);
	if (optind < argc)
		for (int i = optind; i < argc; i++)
			script_add(&r, argv[i]);
	else
		dir_add(&r);
	is_up = is_any_up(&r.x);
	if (!is_up)
		say("no script traces");
	else if (r.once_s >= 0)
		metrics_print(&r);
	else
		scripts_consume(&r);
	server_stop(r.server);
	otlp_close(r.otlp);
	for (uint32_t i = 0; i < r.x.nscripts; i++)
		script_close(r.x.scripts[i]);
	free(r.x.scripts);
	return is_up ? 0 : 1;
}
