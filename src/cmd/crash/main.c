/* SPDX-License-Identifier: MIT */
/* Entry point of fathom-crash: flags, the table of subcommands. */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/text.h"
#include "cmd.h"
#include "crash/config.h"
#include "crash/entries.h"
#include "crash/format.h"
#include "crash/server.h"
#include "crash/users.h"

enum {
	OPT_ROOT = 256,
	OPT_STORE,
	OPT_CONFIG,
	OPT_CAPTURER,
	OPT_ANALYSER,
	OPT_KEEP_CORE,
	OPT_MAIL,
	OPT_POST,
	OPT_ENV,
	OPT_CHAIN,
	OPT_PURGE,
	OPT_LIMIT,
	OPT_KEEP,
	OPT_USERS,
	OPT_SOCKET,
	OPT_CONTAINER,
	OPT_ENTRY,
	OPT_INTO,
};

static const struct option longs[] = {{"analyser", required_argument, NULL, OPT_ANALYSER},
				      {"capturer", required_argument, NULL, OPT_CAPTURER},
				      {"chain", no_argument, NULL, OPT_CHAIN},
				      {"config", required_argument, NULL, OPT_CONFIG},
				      {"container", required_argument, NULL, OPT_CONTAINER},
				      {"dry-run", no_argument, NULL, 'n'},
				      {"entry", required_argument, NULL, OPT_ENTRY},
				      {"env", required_argument, NULL, OPT_ENV},
				      {"follow", no_argument, NULL, 'f'},
				      {"help", no_argument, NULL, 'h'},
				      {"into-container", required_argument, NULL, OPT_INTO},
				      {"keep", no_argument, NULL, OPT_KEEP},
				      {"keep-core", required_argument, NULL, OPT_KEEP_CORE},
				      {"limit", required_argument, NULL, OPT_LIMIT},
				      {"mail", required_argument, NULL, OPT_MAIL},
				      {"post", required_argument, NULL, OPT_POST},
				      {"purge", no_argument, NULL, OPT_PURGE},
				      {"root", required_argument, NULL, OPT_ROOT},
				      {"socket", optional_argument, NULL, OPT_SOCKET},
				      {"store", required_argument, NULL, OPT_STORE},
				      {"users", required_argument, NULL, OPT_USERS},
				      {"version", no_argument, NULL, 'V'},
				      {0}};

/*
 * A subcommand. To add one: its function (cmd.h), a row here, doc/fathom-crash.1, completion/.
 */
struct command {
	const char *name, *usage, *what;
	const char *options; /* letters, and names between blanks, that it has */
	int least, most;     /* operands */
	int (*run)(struct run *r);
};

/* clang-format off */
static const struct command commands[] = {
	{ "install", "[--keep-core=no|stacks|heap|full] [--mail=ADDRESS] [--post=URL] [--env=list|all] [--chain] [--socket[=PATH]] [--into-container=DIRECTORY]",
	  "has the kernel hand over each process that dies of a signal",
	  " keep-core mail post env chain socket into-container capturer analyser ", 0, 0, install_run },
	{ "status", "", "whether crashes are captured, and what is wrong if not", " capturer ", 0, 0, status_run },
	{ "list", "", "the crashes, the newest first", " ", 0, 0, list_run },
	{ "show", "ID", "the report of a crash", " ", 1, 1, show_run },
	{ "core", "ID [FILE]", "writes the core file, to standard output or FILE", " ", 1, 2, core_run },
	{ "debug", "ID [ARGUMENT...]", "opens mdb on the core file", " ", 1, INT_MAX, debug_run },
	{ "test", "[--keep]", "lets a child crash, and shows what came of it", " keep capturer ", 0, 0, test_run },
	{ "watch", "[-f] -p PID | -c COMMAND", "captures a process that dies, without install",
	  " follow p c ", 0, 0, watch_run },
	{ "capture", "PID", "captures a process that lives, which goes on", " ", 1, 1, capture_run },
	{ "analyse", "[ID]", "makes the report of a crash, or all that are missing", " container entry ", 0, 1, analyse_run },
	{ "gc", "[-n] [--limit=BYTES]", "removes the oldest cores where the store is too large",
	  " dry-run limit ", 0, 0, gc_run },
	{ "serve", "[SOCKET]", "gives each user the crashes of their own programs", " ", 0, 1, serve_run },
	{ "uninstall", "[--purge]", "restores what was there before install", " purge capturer ", 0, 0, uninstall_run },
};
/* clang-format on */

/* ---- what subcommands share ------------------------------------------------------------------ */

void say(const char *fmt, ...)
{
	va_list ap;
	char *text;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		oom();
	va_end(ap);
	text_clean_bytes(text, strlen(text), "\n\t", '?');
	(void)fflush(stdout);
	fprintf(stderr, "fathom-crash: %s\n", text);
	free(text);
}

int error_report(struct err *e)
{
	CLEANUP(free) char *hint = err_get_hint(e) ? xstrdup(err_get_hint(e)) : NULL;

	say("%s", err_text(e));
	if (hint) {
		text_clean_bytes(hint, strlen(hint), "\n\t", '?');
		fprintf(stderr, "hint: %s\n", hint);
	}
	err_destroy(e);
	return E_ERROR;
}

void notes_say(crash_notes *notes)
{
	for (uint32_t i = 0; i < notes->len; i++)
		say("%s", notes->data[i]);
	crash_notes_deinit(notes);
}

void output_begin(struct run *r, const char *command)
{
	r->out.is_json = r->is_json;
	emit_begin(&r->out, command);
}

int output_end(struct run *r)
{
	bool is_good;

	emit_finish(&r->out, NULL);
	is_good = fwrite(r->out.text.data, 1, r->out.text.len, stdout) == r->out.text.len &&
		  fflush(stdout) == 0;
	emit_deinit(&r->out);
	if (!is_good && errno != EPIPE)
		return error_report(err_sys(errno, "cannot write the output"));
	return E_SUCCESS;
}

struct err *store_open(struct run *r, struct crash_store *ret)
{
	struct err *e = crash_store_open(r->paths.store, ret);

	if (!e || err_get_sys(e) != EACCES || !crash_users_are_served(r->users))
		return e;
	err_destroy(e);
	*ret = (struct crash_store){.path = xstrdup(r->paths.store),
				    .fd = -1,
				    .users = xstrdup(r->users)};
	return NULL;
}

struct err *entry_find(struct run *r, struct crash_store *ret, char *ret_id)
{
	struct err *e = store_open(r, ret);

	if (!e)
		e = crash_entry_pick(ret, r->argv[0], ret_id);
	return e;
}

void bytes_add(struct strbuf *out, uint64_t bytes)
{
	static const char units[] = "KMGTPE";
	double size = (double)bytes / 1024;
	uint32_t i = 0;

	while (size >= 999.5 && units[i + 1]) {
		size /= 1024;
		i++;
	}
	strbuf_addf(out, size < 9.95 && i ? "%.1f %c" : "%.0f %c", size, units[i]);
}

void time_add(struct strbuf *out, int64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / 1000000000);
	char text[64] = "-";
	struct tm tm;

	if (time_ns > 0 && localtime_r(&seconds, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	strbuf_adds(out, text);
}

/* ---- flags ----------------------------------------------------------------------------------- */

static int usage_print(FILE *to)
{
	fputs("usage: fathom-crash [-o text|json] [--store DIRECTORY] COMMAND ...\n"
	      "Reports of processes that have died of a signal.\n",
	      to);
	for (uint32_t i = 0; i < ARRAY_LEN(commands); i++)
		fprintf(to, "  %s%s%s\n      %s\n", commands[i].name, *commands[i].usage ? " " : "",
			commands[i].usage, commands[i].what);
	fputs("ID is an id of 'list', the begin of one, a process id, or \"last\".\n"
	      "  -o json            a document of JSON\n"
	      "      --store DIR    where the crashes are (/var/lib/fathom/crash)\n"
	      "      --config FILE  the configuration (/etc/fathom/crash.conf)\n"
	      "      --users SOCKET where a user who cannot open the store asks for crashes\n"
	      "      --root DIR     install, status, uninstall: files below DIR\n"
	      "  -h, --help, -V, --version\n",
	      to);
	return to == stdout ? E_SUCCESS : E_USAGE;
}

static bool number_parse(const char *text, int64_t max, int64_t *ret)
{
	char *end;
	long long n;

	errno = 0;
	n = strtoll(text, &end, 10);
	if (end == text || *end || errno || n < 0 || n > max) {
		say("'%s' is no number up to %lld", text, (long long)max);
		return false;
	}
	*ret = n;
	return true;
}

struct places {
	const char *root, *store, *config, *capturer;
};

/* Whether the subcommand has an option; NULL: those of all. */
static bool option_is_known(const struct command *c, int opt)
{
	char word[64] = "";

	switch (opt) {
	case 'o':
	case 'h':
	case 'V':
	case OPT_ROOT:
	case OPT_STORE:
	case OPT_CONFIG:
	case OPT_USERS: return true;
	}
	for (uint32_t i = 0; longs[i].name; i++)
		if (longs[i].val == opt)
			(void)snprintf(word, sizeof(word), " %s ", longs[i].name);
	if (!*word)
		(void)snprintf(word, sizeof(word), " %c ", opt);
	return c && strstr(c->options, word);
}

/* Checks a value as the configuration does. */
static bool wish_take(const char *key, const char *value, const char **ret)
{
	struct err *e = *value ? crash_config_check(key, value) : NULL;

	*ret = value;
	return !e || (error_report(e), false);
}

static bool option_take(struct run *r, struct places *p, int opt, const char *value)
{
	int64_t n = 0;

	switch (opt) {
	case OPT_ROOT: p->root = value; return true;
	case OPT_STORE: p->store = value; return true;
	case OPT_CONFIG: p->config = value; return true;
	case OPT_CAPTURER: p->capturer = value; return true;
	case OPT_USERS: r->users = value; return true;
	case OPT_ANALYSER: return wish_take("analyser", value, &r->wishes.analyser);
	case OPT_KEEP_CORE: return wish_take("keep_core", value, &r->wishes.keep_core);
	case OPT_MAIL: return wish_take("mail", value, &r->wishes.mail);
	case OPT_POST: return wish_take("post", value, &r->wishes.post);
	case OPT_ENV: return wish_take("env", value, &r->wishes.env);
	case OPT_SOCKET:
		return wish_take("socket", value ? value : CRASH_SOCKET, &r->wishes.socket);
	case OPT_INTO: return wish_take("into_container", value, &r->wishes.into_container);
	case OPT_CONTAINER:
		if (!number_parse(value, INT_MAX, &n))
			return false;
		r->container = (int)n;
		return true;
	case OPT_ENTRY:
		if (!number_parse(value, INT_MAX, &n))
			return false;
		r->entry = (int)n;
		return true;
	case OPT_CHAIN: r->wishes.is_chain = true; return true;
	case OPT_PURGE: r->is_purge = true; return true;
	case OPT_KEEP: r->is_kept = true; return true;
	case OPT_LIMIT:
		if (!number_parse(value, INT64_MAX, &n))
			return false;
		r->limit = (uint64_t)n;
		return true;
	case 'c': r->command = value; return true;
	case 'f': r->is_following = true; return true;
	case 'n': r->is_dry = true; return true;
	case 'p':
		if (!number_parse(value, INT_MAX, &n))
			return false;
		r->pid = (pid_t)n;
		return true;
	case 'o':
		r->is_json = strcmp(value, "json") == 0;
		return r->is_json || strcmp(value, "text") == 0;
	}
	return false;
}

/* Reads options, as many as stand there; returns an exit status, -1: go on. */
static int options_read(struct run *r, struct places *p, const struct command *c, int argc,
			char **argv)
{
	/* behind "debug ID" and before a subcommand, options are those of others */
	bool is_posix = !c || c->run == debug_run;
	int opt;

	optind = 0;
	while ((opt = getopt_long(argc, argv, is_posix ? "+c:fhno:p:V" : "c:fhno:p:V", longs,
				  NULL)) != -1) {
		if (opt == 'h')
			return usage_print(stdout);
		if (opt == 'V') {
			puts("fathom-crash: Fathom " FATHOM_VERSION);
			return E_SUCCESS;
		}
		if (opt != '?' && !option_is_known(c, opt)) {
			say("%s%s has no such option", c ? c->name : "fathom-crash",
			    c ? "" : " without a command");
			return usage_print(stderr);
		}
		if (opt == '?' || !option_take(r, p, opt, optarg))
			return usage_print(stderr);
	}
	return -1;
}

static const struct command *command_find(const char *name)
{
	for (uint32_t i = 0; i < ARRAY_LEN(commands); i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

/* An absolute path, since the kernel has another working directory. */
static char *path_absolute(const char *path)
{
	CLEANUP(free) char *here = NULL;

	if (!path || *path == '/')
		return path ? xstrdup(path) : NULL;
	here = getcwd(NULL, 0);
	return path_join(here ? here : "", path);
}

static int command_run(struct run *r, const struct places *p, const struct command *command)
{
	CLEANUP(free) char *root = path_absolute(p->root);
	CLEANUP(free) char *store = path_absolute(p->store);
	CLEANUP(free) char *config = path_absolute(p->config);
	struct crash_config c = {0};
	struct err *e;
	int status;

	/* The configuration knows where the store is, unless it is damaged, which status says. */
	e = crash_config_read(config ? config : CRASH_CONFIG, &c);
	if (!e && !store && !root)
		store = xstrdup(c.store);
	r->has_analyser = !e && *c.analyser;
	err_destroy(e);
	crash_config_deinit(&c);
	crash_paths_make(root, config, store, p->capturer ? p->capturer : FATHOM_CAPTURER,
			 &r->paths);
	status = command->run(r);
	crash_paths_deinit(&r->paths);
	return status;
}

int main(int argc, char **argv)
{
	struct run r = {.limit = UINT64_MAX, .users = CRASH_USERS_SOCKET};
	struct places p = {0};
	const struct command *c;
	int status;

	(void)signal(SIGPIPE, SIG_IGN);
	(void)umask(022);
	status = options_read(&r, &p, NULL, argc, argv);
	if (status >= 0)
		return status;
	argc -= optind;
	argv += optind;
	c = argc ? command_find(argv[0]) : NULL;
	if (!c) {
		if (argc)
			say("there is no command '%s'", argv[0]);
		return usage_print(stderr);
	}
	status = options_read(&r, &p, c, argc, argv);
	if (status >= 0)
		return status;
	r.argc = argc - optind;
	r.argv = argv + optind;
	if (r.argc < c->least || r.argc > c->most) {
		fprintf(stderr, "usage: fathom-crash %s %s\n", c->name, c->usage);
		return E_USAGE;
	}
	return command_run(&r, &p, c);
}
