/* SPDX-License-Identifier: MIT */
/* Entry point of memprof: the table of ways, the command line, messages. */
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

#include "memprof.h"

/* clang-format off */
static const struct way ways[] = {
	/* name    options  what                                                    looks at what is there */
	{ "",       "",   "what grows: new pages, by who has touched them", growth_run, false },
	{ "malloc", "orBM", "blocks of malloc that were not given back, by who has asked", malloc_run, false },
	{ "objects", "C", "objects of Ruby, Python, PHP, Perl that are alive, by file, line and class", objects_run, false },
	{ "alive",  "dim", "objects and blocks that are alive, by type", alive_run, true },
	{ "holds",  "w",  "who holds objects of a type, or one object: chains from roots", holds_run, true },
	{ "leaks",  "dmsx", "blocks of malloc to which nothing points, by type, and with -d by place", leaks_run, true },
	{ "sample", "",   "who allocates in Java and Node.js, sampled: it costs nearly nothing", sample_run, false },
};
/* clang-format on */
#define RATE_MAX (1ull << 40) /* base/exponential.h */
#define DEPTH	 8	      /* frames of a row, without -s */
#define NWAYS	 (sizeof(ways) / sizeof(ways[0]))

/* ---- messages -------------------------------------------------------------------------------- */

static void message_print(const char *fmt, va_list ap)
{
	fflush(stdout);
	fputs("memprof: ", stderr);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
}

void say(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(fmt, ap);
	va_end(ap);
}

void say_fatal(struct memprof *m, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(fmt, ap);
	va_end(ap);
	session_close(m);
	exit(E_ERROR);
}

void library_fatal(struct memprof *m, const char *fmt, ...)
{
	const char *hint = dtrace_errhint(m->dtp);
	struct strbuf what = {0};
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&what, fmt, ap);
	va_end(ap);
	say("%s: %s", strbuf_text(&what), dtrace_errmsg(m->dtp, dtrace_errno(m->dtp)));
	if (hint)
		fprintf(stderr, "hint: %s\n", hint);
	session_close(m);
	exit(E_ERROR);
}

void *mem_check(void *p)
{
	if (p)
		return p;
	say("out of memory");
	exit(E_ERROR);
}

/* ---- the command line ------------------------------------------------------------------------ */

static __attribute__((noreturn, format(printf, 1, 2))) void usage_refuse(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	message_print(fmt, ap);
	va_end(ap);
	fputs("hint: memprof --help shows the ways and options\n", stderr);
	exit(E_USAGE);
}

static void usage_print(void)
{
	fputs("usage: memprof [WAY] [options] {-p PID | -c COMMAND | COMMAND [ARGUMENT...]}\n"
	      "       memprof alive|leaks [options] {-p PID | CORE}\n"
	      "       memprof holds [options] {-p PID | CORE} TYPE|ADDRESS\n"
	      "  What the memory of a process is used for, by place in its program.\n"
	      "ways:\n",
	      stdout);
	for (size_t i = 0; i < NWAYS; i++)
		printf("  %-8s %s\n", ways[i].name[0] ? ways[i].name : "(none)", ways[i].what);
	fputs("options:\n"
	      "  -p PID        a process that runs\n"
	      "  -c COMMAND    runs a command, until it ends; so do operands\n"
	      "  -d SECONDS    ends after so long; else with ^C. SIGUSR1 prints, and it goes on\n"
	      "  -i SECONDS    prints every so many seconds what has grown since the time before\n"
	      "  -n N          at most N rows (20); 0: all\n"
	      "  -s N          at most N frames of a row (8); 0: all\n"
	      "  -m, --mixed   native frames between those of the language, too; alive: blocks by size\n"
	      "  -o SECONDS    malloc: only what is at least so old\n"
	      "  -r BYTES      malloc: a sample, one of so many bytes, as 512k: it costs little\n"
	      "      --by WHAT  malloc: by caller or by function, without stacks: it costs less\n"
	      "      --module NAME  malloc: only what calls in this file of the process ask for\n"
	      "  -C, --created objects: all that were created, alive or not\n"
	      "      --json    a row is an object of JSON in a line\n"
	      "      --flame FILE   a flame graph instead of rows, as SVG or HTML\n"
	      "      --show    prints the D program, and traces nothing\n"
	      "  -x NAME[=VALUE]    an option of dtrace, or maxrate=N: events a second at which\n"
	      "                     exact ways end by themselves (100000)\n"
	      "  -v            also says what becomes of the probes\n"
	      "  -h, --help, -V, --version\n",
	      stdout);
}

static double number_of(const char *flag, const char *text, double least, double most)
{
	char *end;
	double v = strtod(text, &end);

	if (*end || end == text || !(v >= least) || v > most)
		usage_refuse("%s: expected a number from %.15g to %.15g, not '%s'", flag, least,
			     most, text);
	return v;
}

static uint32_t count_of(const char *flag, const char *text, uint32_t least, uint32_t most)
{
	double v = number_of(flag, text, least, most);

	if (v != (double)(uint32_t)v)
		usage_refuse("%s: expected a whole number, not '%s'", flag, text);
	return (uint32_t)v;
}

/* Bytes, with a letter for KiB, MiB, GiB. */
static uint64_t bytes_of(const char *flag, const char *text)
{
	static const char letters[] = "kmg";
	char *end;
	uint64_t n = *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : 0;
	const char *letter = n && *end ? strchr(letters, *end | 0x20) : NULL;
	uint32_t shift = letter ? 10 * (uint32_t)(letter - letters + 1) : 0;

	if (!n || (*end && (!letter || end[1])) || n > RATE_MAX >> shift)
		usage_refuse("%s: expected bytes from 1 to 1024g, as 512k, not '%s'", flag, text);
	return n << shift;
}

static enum by by_of(const char *text)
{
	if (strcmp(text, "caller") == 0)
		return BY_CALLER;
	if (strcmp(text, "function") != 0)
		usage_refuse("--by: expected caller or function, not '%s'", text);
	return BY_FUNCTION;
}

/* The name stands in descriptions of probes, where other characters would be more than a name. */
static const char *module_of(const char *text)
{
	if (!module_is_plain(text))
		usage_refuse("--module: expected the name of a file of the process, as libssl.so.3 "
			     "or a.out, not '%s'",
			     text);
	return text;
}

static const struct way *way_find(const char *name)
{
	for (size_t i = 0; i < NWAYS; i++)
		if (strcmp(ways[i].name, name) == 0)
			return &ways[i];
	return NULL;
}

/* Operands are a command; each is one word of it, whatever characters it has. */
static char *command_join(char **words)
{
	struct strbuf b = {0};

	for (; *words; words++) {
		strbuf_adds(&b, b.len ? " '" : "'");
		for (const char *c = *words; *c; c++) {
			if (*c == '\'')
				strbuf_adds(&b, "'\\''");
			else
				strbuf_addc(&b, *c);
		}
		strbuf_addc(&b, '\'');
	}
	return b.data;
}

static void option_take(struct memprof *m, const char *text)
{
	if (strncmp(text, "maxrate=", 8) == 0) {
		m->maxrate = count_of("-x maxrate", text + 8, 1, 4000000000);
		m->has_maxrate = true;
		return;
	}
	if (strcmp(text, "maxrate") == 0)
		usage_refuse("-x maxrate needs a number: -x maxrate=100000");
	m->options = mem_check(realloc(m->options, (m->noptions + 1) * sizeof(*m->options)));
	m->options[m->noptions++] = text;
}

static void flag_take(struct memprof *m, int f)
{
	switch (f) {
	case 'p': m->pid = (pid_t)count_of("-p", optarg, 1, INT32_MAX); break;
	case 'c': m->command = mem_check(strdup(optarg)); break;
	case 'd': m->duration_s = number_of("-d", optarg, 0.001, 1e9); break;
	case 'i': m->interval_s = number_of("-i", optarg, 0.1, 1e9); break;
	case 'n': m->top = count_of("-n", optarg, 0, 1000000000); break;
	case 's': m->depth = count_of("-s", optarg, 0, 16384); break;
	case 'o': m->older_s = number_of("-o", optarg, 0.001, 1e9); break;
	case 'B': m->by = by_of(optarg); break;
	case 'r': m->rate = bytes_of("-r", optarg); break;
	case 'M': m->module = module_of(optarg); break;
	case 'C': m->is_created = true; break;
	case 'm': m->is_mixed = true; break;
	case 'v': m->is_verbose = true; break;
	case 'x': option_take(m, optarg); break;
	case 'J': m->is_json = true; break;
	case 'F': m->flame = optarg; break;
	case 'S': m->shows_d = true; break;
	case 'h': usage_print(); exit(E_SUCCESS);
	case 'V': puts("memprof " FATHOM_VERSION); exit(E_SUCCESS);
	default: fputs("hint: memprof --help shows the ways and options\n", stderr); exit(E_USAGE);
	}
}

/* Refuses options that would have no effect beside the others. */
static void flags_check(const struct memprof *m)
{
	if (m->older_s > 0 && !strchr(m->way->options, 'o'))
		usage_refuse("-o is an option of 'memprof malloc'");
	if (m->rate && !strchr(m->way->options, 'r'))
		usage_refuse("-r is an option of 'memprof malloc'");
	if (m->by && !strchr(m->way->options, 'B'))
		usage_refuse("--by is an option of 'memprof malloc'");
	if (m->module && !strchr(m->way->options, 'M'))
		usage_refuse("--module is an option of 'memprof malloc'");
	if (m->module && m->rate)
		usage_refuse("--module is exact, and -r a sample: give one of them");
	if (m->by && m->rate)
		usage_refuse("--by is exact, and -r a sample: give one of them");
	if (m->by && (m->flame || m->is_mixed || m->depth != DEPTH))
		usage_refuse("--flame, -m, -s are about stacks, of which there are none with --by");
	if (m->is_created && !strchr(m->way->options, 'C'))
		usage_refuse("-C is an option of 'memprof objects'");
	if (m->pid && m->command)
		usage_refuse("there are both -p and a command: memprof is about one process");
	if (!m->pid && !m->command)
		usage_refuse("which process? -p PID, -c COMMAND, or a command");
	if (m->command && !m->command[strspn(m->command, " \t")])
		usage_refuse("-c: the command is empty");
	if (m->flame && m->is_json)
		usage_refuse("--flame and --json are two forms of output");
	if (m->flame && m->interval_s > 0)
		usage_refuse("--flame is one picture, made at the end: there is no -i with it");
}

/* ---- ways that look at memory as it is ------------------------------------------------------- */

/* Refuses options of ways that trace. */
static void look_flag_check(const struct way *w, int f)
{
	static const char all[] = "pnJvhV?";

	if (strchr(all, f) || strchr(w->options, f))
		return;
	if (f == 'F' || f == 'S')
		usage_refuse("%s is no option of 'memprof %s', which traces nothing",
			     f == 'F' ? "--flame" : "--show", w->name);
	if (f == 'B' || f == 'M')
		usage_refuse("--%s is an option of 'memprof malloc'", f == 'B' ? "by" : "module");
	usage_refuse("-%c is no option of 'memprof %s', which looks at what is there", f, w->name);
}

/* Without -p, the first operand is a core file. */
static void look_words_take(struct memprof *m, char **words)
{
	if (!m->pid && *words)
		m->core = *words++;
	if (!m->pid && !m->core)
		usage_refuse("which process? -p PID, or a core file");
	if (strchr(m->way->options, 'w') && !*words)
		usage_refuse("who holds what? A type, as 'memprof alive' shows it, or an address");
	if (strchr(m->way->options, 'w'))
		m->what = *words++;
	if (*words)
		usage_refuse("there is one word too many: '%s'", *words);
	if (m->interval_s > 0 && m->core)
		usage_refuse("-i: a core file does not change");
	if (strchr(m->way->options, 'i')) {
		if (m->duration_s > 0 && !(m->interval_s > 0))
			usage_refuse("-d: there is nothing to wait for without -i");
	} else if (m->duration_s > 0 && m->core) {
		usage_refuse("-d: nothing can be traced in a core file");
	} else if (!(m->duration_s > 0) && (m->is_mixed || m->noptions || m->depth != DEPTH)) {
		usage_refuse("-m, -s, -x are about places, which are traced with -d SECONDS");
	}
}

static void flags_read(struct memprof *m, int argc, char **argv)
{
	static const struct option longs[] =
		{{"mixed", no_argument, NULL, 'm'},    {"created", no_argument, NULL, 'C'},
		 {"by", required_argument, NULL, 'B'}, {"module", required_argument, NULL, 'M'},
		 {"json", no_argument, NULL, 'J'},     {"flame", required_argument, NULL, 'F'},
		 {"show", no_argument, NULL, 'S'},     {"help", no_argument, NULL, 'h'},
		 {"version", no_argument, NULL, 'V'},  {0}};
	static char name[] = "memprof";
	int f;

	if (argc > 0)
		argv[0] = name; /* what getopt_long() calls the command in its messages */
	m->way = way_find("");
	if (argc > 1 && argv[1][0] != '-' && way_find(argv[1])) {
		m->way = way_find(argv[1]);
		argv[1] = argv[0];
		argv++;
		argc--;
	}
	/* "+": what follows the first word of a command is the command's own */
	while ((f = getopt_long(argc, argv,
				m->way->is_look ? "p:c:d:i:n:s:o:r:Cmvx:hV"
						: "+p:c:d:i:n:s:o:r:Cmvx:hV",
				longs, NULL)) != -1) {
		if (m->way->is_look)
			look_flag_check(m->way, f);
		flag_take(m, f);
	}
	if (m->way->is_look) {
		look_words_take(m, argv + optind);
		return;
	}
	if (optind < argc) {
		if (m->command)
			usage_refuse("there are both -c and the command '%s'", argv[optind]);
		m->command = command_join(argv + optind);
	}
	flags_check(m);
}

/* Ways that trace nothing read as the user: capabilities of the command's file are given up. */
static void capabilities_drop(void)
{
	int error;

	dtrace_close(dtrace_open(DTRACE_VERSION, DTRACE_O_LEVELS | DTRACE_O_NODEV, &error));
}

int main(int argc, char **argv)
{
	struct memprof m = {.top = 20, .depth = DEPTH, .maxrate = 100000};
	int status;

	flags_read(&m, argc, argv);
	if (m.way->is_look && !(m.way->run == leaks_run && m.duration_s > 0))
		capabilities_drop();
	status = m.way->run(&m);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == E_SUCCESS) {
		say("cannot write to the standard output: %s", strerror(errno));
		status = E_ERROR;
	}
	session_close(&m);
	free(m.command);
	free(m.options);
	return status;
}
